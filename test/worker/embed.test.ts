/**
 * The usage widget: a token of five minutes shows one customer's usage, in pages of the origins that it names, and
 * nothing else does.
 */
import { decode, sign } from 'hono/jwt';
import { beforeAll, describe, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { type Api, createTenant, makeCalls, type Tenant } from '../support/api.ts';
import { bindings, operator, worker } from '../support/worker.ts';

const ORIGIN = 'https://callmeter.test';
const PLAN = {
  name: 'Team plan',
  limitType: 'BLOCK',
  limits: { premiumCalls: 40, premiumTokens: 1_000_000 },
  customMeters: { CUSTOM1: { label: 'Pages read', included: 700 } },
};

let tenant: Tenant;
let embeds: Api;
let keyId: string;

beforeAll(async () => {
  tenant = await createTenant(operator, PLAN);
  [embeds, keyId] = await embedKey(tenant);
  await makeCalls(tenant.api, 'ours', 3);
  await makeCalls(tenant.api, 'theirs', 17);
  expect(
    (await tenant.api.send('incrementMeter', { body: { customerId: 'ours', meterSlot: 'CUSTOM1', amount: 123 } }))
      .status,
  ).toBe(200);
});

async function embedKey({ organizationId }: Tenant): Promise<[Api, string]> {
  const { key, keyId: id } = (
    await operator.send('createKey', { params: { org: organizationId }, body: { name: 'widget', prefix: 'ek-' } })
  ).data;
  return [operator.with(key), id];
}

async function session(more: object = {}, api = embeds) {
  return (await api.send('createEmbedSession', { body: { customerId: 'ours', ...more } })).data;
}

const open = (url: string, headers: Record<string, string> = {}) => worker.fetch(url, { headers });
/** As the page does that an address with its token opens. */
const show = ({ token }: { token: string }, query = '') =>
  worker.fetch(`${ORIGIN}/embed${query}`, { method: 'POST', body: new URLSearchParams({ token }).toString() });
const readData = (token: string, query = '') =>
  open(`${ORIGIN}/embed/data${query}`, { Authorization: `Bearer ${token}` });
const words = (html: string) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

describe('a valid token shows', () => {
  test("its customer's plan, calls, meters and renewal, in the page and after a refresh", async () => {
    const { token } = await session();
    const page = await show({ token });
    expect(page.status).toBe(200);
    for (const html of [await page.text(), await (await readData(token)).text()]) {
      const text = words(html);
      expect(text).toMatch(/Team plan Renews \d+ \w+ \d{4}, in \d+ \w+/);
      expect(text).toContain('3 calls in this period');
      expect(text).toContain('Premium calls 3 / 40');
      expect(text).toContain('37 left');
      expect(text).toContain('Pages read 123 / 700');
      expect(text).not.toContain('Standard calls');
    }
  });

  test('calls by day, in the detailed view', async () => {
    const html = await (await show(await session({ variant: 'detailed' }))).text();
    expect(html).toContain('Calls by day');
    expect(words(html)).toMatch(/\d+ \w+ 3 /);
    expect(await (await show(await session({ variant: 'compact' }))).text()).not.toContain('Calls by day');
  });

  test('the theme that it names', async () => {
    for (const theme of ['light', 'dark'])
      expect(await (await show(await session({ theme }))).text()).toContain(`data-theme="${theme}"`);
    expect(await (await show(await session())).text()).not.toContain('data-theme');
  });

  test('nothing for an unknown customer, and provisions nobody', async () => {
    expect(await (await show(await session({ customerId: 'nobody' }))).text()).toContain('No usage yet.');
    expect((await tenant.api.send('readUsage', { params: { customerId: 'nobody' } })).status).toBe(404);
  });
});

describe('the address of a widget', () => {
  test('has its token in the fragment, which no server sees, and the page without it is empty', async () => {
    const { embedUrl, token } = await session();
    const { origin, pathname, search, hash } = new URL(embedUrl);
    expect([origin, pathname, search, hash]).toEqual([ORIGIN, '/embed', '', `#token=${token}`]);
    const page = await open(embedUrl);
    expect([page.status, page.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
    const html = await page.text();
    expect(html).toContain('<form method="post" action="/embed">');
    expect(words(html)).not.toMatch(/in this period|Team plan/);
  });

  test('may be framed by any page, and sends its form only to this service', async () => {
    const page = await open((await session()).embedUrl);
    const policy = page.headers.get('Content-Security-Policy') ?? '';
    for (const part of ["default-src 'none'", "form-action 'self'", 'frame-ancestors *'])
      expect(policy).toContain(part);
    expect([page.headers.get('X-Frame-Options'), page.headers.get('Referrer-Policy')]).toEqual([null, 'no-referrer']);
  });

  test('shows nothing for a token in its query, whatever the token', async () => {
    const { token } = await session();
    for (const query of [`?token=${token}`, `?token=${token}&x=1`, '?token=']) {
      const page = await open(`${ORIGIN}/embed${query}`);
      expect([page.status, page.headers.get('Content-Security-Policy')?.includes("frame-ancestors 'none'")]).toEqual([
        401,
        true,
      ]);
      expect(words(await page.text())).not.toMatch(/in this period|Team plan/);
    }
    // In a form, its query is not read either.
    expect((await show({ token: '' }, `?token=${token}`)).status).toBe(401);
  });

  test('accepts no form above 16 KiB', async () => {
    expect((await show({ token: 'x'.repeat(17_000) })).status).toBe(413);
  });
});

describe('nothing of another customer', () => {
  test('is shown, whatever other parameters the address has', async () => {
    const { token } = await session();
    const more = 'customerId=theirs&customer_id=theirs&org=x&variant=detailed&theme=dark&origins=*';
    for (const response of [
      await show({ token }, `?${more}`),
      await readData(token, `?${more}`),
      await readData(token, `?token=${token}&customerId=theirs`),
    ]) {
      const text = words(await response.text());
      expect(text).toContain('3 calls in this period');
      expect(text).not.toContain('17');
    }
    expect(await (await show({ token }, '?variant=detailed&theme=dark')).text()).not.toMatch(/Calls by day|data-theme/);
  });

  test('is shown for a token that was changed or signed with another secret', async () => {
    const { token } = await session();
    const [header, , signature] = token.split('.');
    const claims = decode(token).payload;
    const changed = btoa(JSON.stringify({ ...claims, customerId: 'theirs' }))
      .replaceAll('=', '')
      .replaceAll('+', '-')
      .replaceAll('/', '_');
    const forged = [
      `${header}.${changed}.${signature}`,
      await sign({ ...claims, customerId: 'theirs' }, 'another-secret-of-at-least-32-characters', 'HS256'),
      `${btoa('{"alg":"none","typ":"JWT"}').replaceAll('=', '')}.${changed}.`,
    ];
    for (const bad of forged) await expectNothing(bad);
  });

  test("is shown for a token of one organization's key that names another organization", async () => {
    const secret = bindings.SESSION_SECRET ?? '';
    const claims = decode((await session()).token).payload;
    await expectNothing(await sign({ ...claims, organizationId: DEMO_ORGANIZATION_ID }, secret, 'HS256'));
  });
});

async function expectNothing(token: string): Promise<void> {
  for (const response of [await show({ token }), await readData(token)]) {
    expect(response.status).toBe(401);
    const html = await response.text();
    expect(html).toContain('This view has ended');
    expect(words(html)).not.toMatch(/calls in this period|Team plan/);
    expect(response.headers.get('Content-Security-Policy')).toContain("frame-ancestors 'none'");
  }
}

describe('only a valid widget token', () => {
  test('shows anything: no token, a client session, an API key and the operator token show nothing', async () => {
    const { token: client } = (await tenant.api.send('createClientSession', { body: { customerId: 'ours' } })).data;
    const { key } = (
      await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'k', prefix: 'ek-' } })
    ).data;
    for (const token of ['', 'nonsense', client, key]) await expectNothing(token);
  });

  test('shows nothing after its end', async () => {
    const secret = bindings.SESSION_SECRET ?? '';
    const claims = decode((await session()).token).payload;
    await expectNothing(await sign({ ...claims, exp: Math.floor(Date.now() / 1000) - 1 }, secret, 'HS256'));
  });

  test('ends with its key', async () => {
    const other = await createTenant(operator, PLAN);
    const [api, id] = await embedKey(other);
    const { token } = await session({}, api);
    expect((await readData(token)).status).toBe(200);
    await operator.send('revokeKey', { params: { org: other.organizationId, keyId: id } });
    await expectNothing(token);
    expect(id).not.toBe(keyId);
  });
});

describe('a frame', () => {
  test.each([
    [[], "'none'"],
    [['https://app.example.com'], 'https://app.example.com'],
    [['https://app.example.com', 'http://localhost:3000'], 'https://app.example.com http://localhost:3000'],
  ])('is allowed only in pages of %j', async (origins, ancestors) => {
    const response = await show(await session({ origins }));
    const policy = response.headers.get('Content-Security-Policy') ?? '';
    expect(policy.split('; ').at(-1)).toBe(`frame-ancestors ${ancestors}`);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(response.headers.get('X-Frame-Options')).toBe(origins.length === 0 ? 'DENY' : null);
  });

  test('is not cached, and sends no referrer', async () => {
    const response = await show(await session());
    expect(response.headers.get('Cache-Control')).toBe('private, no-store');
    expect(response.headers.get('Referrer-Policy')).toBe('no-referrer');
  });
});

describe('the scripts', () => {
  test('the one for embedding pages is below 2 KB, and may be loaded from any origin', async () => {
    const response = await open(`${ORIGIN}/embed.js`);
    expect(response.headers.get('Content-Type')).toContain('javascript');
    expect(response.headers.get('Cross-Origin-Resource-Policy')).toBe('cross-origin');
    expect(response.headers.get('Cache-Control')).toBe('public, max-age=3600');
    const script = await response.text();
    expect(script).toContain('Callmeter usage widget');
    expect(new TextEncoder().encode(script).length).toBeLessThan(2_048);
  });

  test('everything that the page loads comes from this origin', async () => {
    const opened = await session();
    for (const page of [await show(opened), await open(opened.embedUrl)]) {
      const html = await page.text();
      const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address ?? '');
      expect(loaded).toHaveLength(2);
      for (const address of loaded) expect((await open(ORIGIN + address)).status).toBe(200);
      expect(html).not.toMatch(/<script(?! src)|style="/);
    }
  });

  test.each([
    ['/embed', 'PUT', 'GET, HEAD, POST'],
    ['/embed/data', 'POST', 'GET, HEAD'],
  ])('%s answers %s with 405 and the allowed methods', async (path, method, allow) => {
    const response = await worker.fetch(ORIGIN + path, { method });
    expect([response.status, response.headers.get('Allow')]).toEqual([405, allow]);
  });
});
