/**
 * The guards of the console: sign-in, session, form tokens, headers. And every page exists, for an empty organization
 * and for one that has everything.
 */

import { createExecutionContext } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import scripts from '#scripts';
import { createApp } from '../../src/app.ts';
import { FONT_LICENCE_PATH, FONT_PATH } from '../../src/ui/font.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, deliverToD1, operator, worker } from '../support/worker.ts';
import { ORIGIN, Visitor } from './console-visitor.ts';

async function signedIn(): Promise<Visitor> {
  const visitor = new Visitor();
  expect((await visitor.signIn()).status).toBe(303);
  return visitor;
}

const MIB = 1_024 * 1_024;

/** A form that never ends, and how much of it was asked for. */
class EndlessForm {
  bytes = 0;
  readonly stream: ReadableStream<Uint8Array>;

  constructor(begin: string, unit = begin) {
    const encoder = new TextEncoder();
    const chunk = encoder.encode(unit.repeat(32 * 1_024));
    let next = encoder.encode(begin);
    this.stream = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        this.bytes += next.length;
        controller.enqueue(next);
        next = chunk;
      },
    });
  }
}

function sendStream(
  path: string,
  body: ReadableStream<Uint8Array>,
  { cookie }: { cookie: string } = { cookie: '' },
): Promise<Response> {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: ORIGIN, Cookie: cookie };
  const request = new Request(ORIGIN + path, { method: 'POST', body, headers, redirect: 'manual' });
  return Promise.resolve(createApp().fetch(request, bindings, createExecutionContext()));
}

/** The app with other secrets. */
function appWith(vars: Partial<typeof bindings>, path: string, headers: Record<string, string>): Promise<Response> {
  const request = new Request(ORIGIN + path, { headers, redirect: 'manual' });
  return Promise.resolve(createApp().fetch(request, { ...bindings, ...vars }, createExecutionContext()));
}

describe('the sign-in', () => {
  test('gives access to every page, and nothing is shown without it', async () => {
    const visitor = new Visitor();
    for (const path of [
      '/console',
      '/console/events',
      '/console/catalog',
      '/console/organizations/anything/customers/x',
    ]) {
      const { status, headers } = await visitor.send(path);
      expect([path, status]).toEqual([path, 303]);
      expect(headers.get('Location')).toMatch(/^\/console\/sign-in/);
    }
    expect((await visitor.post('/console/organizations', { name: 'Nobody' })).status).toBe(303);
    const { items } = (await operator.send('listOrganizations')).data;
    expect(items.map(({ name }) => name)).not.toContain('Nobody');
  });

  test('accepts only the operator token, and sets a cookie that is hidden from scripts and other sites', async () => {
    const visitor = new Visitor();
    for (const token of ['', bindings.OPERATOR_TOKEN?.toUpperCase() ?? '']) {
      const refused = await visitor.signIn(token);
      expect([refused.status, refused.headers.get('Set-Cookie')]).toEqual([401, null]);
      expect(refused.text).toContain('That is not the operator token');
    }
    const { headers } = await visitor.signIn();
    const cookie = headers.get('Set-Cookie') ?? '';
    expect(cookie).toMatch(/^callmeter_console=/);
    for (const part of ['HttpOnly', 'SameSite=Strict', 'Path=/console', 'Secure', 'Max-Age=28800'])
      expect(cookie).toContain(part);
    expect(cookie).not.toContain('operator-token');
  });

  test('sets a Secure cookie over https, and works over http', async () => {
    const body = new URLSearchParams({ token: bindings.OPERATOR_TOKEN ?? '' });
    const request = new Request('http://127.0.0.1/console/sign-in', {
      method: 'POST',
      body,
      headers: { Origin: 'http://127.0.0.1' },
    });
    const response = await createApp().fetch(request, bindings, createExecutionContext());
    expect([response.status, response.headers.get('Set-Cookie')?.includes('Secure')]).toEqual([303, false]);
  });

  test('returns to the requested page, and never to another site', async () => {
    const visitor = new Visitor();
    const { headers } = await visitor.send('/console/catalog?status=RETIRED');
    const location = headers.get('Location') ?? '';
    expect((await visitor.post(location, { token: bindings.OPERATOR_TOKEN ?? '' })).headers.get('Location')).toBe(
      '/console/catalog?status=RETIRED',
    );
    for (const next of [
      'https://evil.test',
      '//evil.test',
      '/console\\@evil.test',
      '/console.evil.test',
      '/operator/events',
    ]) {
      const answer = await new Visitor().post(`/console/sign-in?${new URLSearchParams({ next })}`, {
        token: bindings.OPERATOR_TOKEN ?? '',
      });
      expect([next, answer.headers.get('Location')]).toEqual([next, '/console']);
    }
  });

  test('answers an address 429 after 20 wrong tokens in a minute, and still accepts the right one', async () => {
    const guesser = new Visitor();
    guesser.address = '198.51.100.7';
    // The minute is the clock's: if it ends in between, another 20 are answered.
    const guesses = await Promise.all(Array.from({ length: 41 }, () => guesser.signIn('guess')));
    const statuses = guesses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(20);
    const limited = guesses.find(({ status }) => status === 429);
    expect([limited?.headers.get('Retry-After'), limited?.text.includes('Too many wrong tokens')]).toEqual([
      '60',
      true,
    ]);
    expect(statuses.every((status) => status === 401 || status === 429)).toBe(true);
    const other = new Visitor();
    other.address = '198.51.100.8';
    expect((await other.signIn('guess')).status).toBe(401);
    expect((await guesser.signIn()).status).toBe(303);
  });

  test('accepts at most 4 KiB, checked before anything else', async () => {
    const token = bindings.OPERATOR_TOKEN ?? '';
    const rest = 4_096 - `token=${token}&username=`.length;
    expect((await new Visitor().post('/console/sign-in', { token, username: 'x'.repeat(rest) })).status).toBe(303);
    const refused = await new Visitor().post('/console/sign-in', { token, username: 'x'.repeat(rest + 1) });
    expect([
      refused.status,
      refused.text.includes('A sign-in takes at most 4 KiB'),
      refused.headers.get('Set-Cookie'),
    ]).toEqual([413, true, null]);
  });

  test('reads little more than the limit of a longer body, and parses none of it', async () => {
    const endless = new EndlessForm('a&');
    const { status } = await sendStream('/console/sign-in', endless.stream);
    expect([status, endless.bytes < 2 * MIB]).toEqual([413, true]);
  });

  test('does not exist without an operator token, and names the missing setting without a session secret', async () => {
    expect((await appWith({ OPERATOR_TOKEN: '' }, '/console', {})).status).toBe(404);
    const request = new Request(`${ORIGIN}/console/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ token: bindings.OPERATOR_TOKEN ?? '' }),
      headers: { Origin: ORIGIN },
    });
    const response = await createApp().fetch(request, { ...bindings, SESSION_SECRET: '' }, createExecutionContext());
    expect([response.status, (await response.text()).includes('SESSION_SECRET')]).toEqual([503, true]);
  });
});

describe('the session', () => {
  test('ends when the operator token or the session secret changes', async () => {
    const { cookie } = await signedIn();
    expect((await appWith({}, '/console/health', { Cookie: cookie })).status).toBe(200);
    const other = 'another-operator-token-of-at-least-32-characters';
    expect((await appWith({ OPERATOR_TOKEN: other }, '/console/health', { Cookie: cookie })).status).toBe(303);
    expect((await appWith({ SESSION_SECRET: other }, '/console/health', { Cookie: cookie })).status).toBe(303);
  });

  test('cannot be forged, extended or made from a token of another kind', async () => {
    const visitor = await signedIn();
    const value = decodeURIComponent(visitor.cookie.split('=').slice(1).join('='));
    const [expires = '', rest = ''] = [value.slice(0, value.indexOf('.')), value.slice(value.indexOf('.'))];
    const later = `${Number(expires) + 1_000}${rest}`;
    for (const forged of [later, `${value}x`, value.slice(0, -2), `${expires}.id.signature`, '', 'null']) {
      visitor.cookie = `callmeter_console=${encodeURIComponent(forged)}`;
      expect([forged, (await visitor.send('/console/health')).status]).toEqual([forged, 303]);
    }
  });

  test('ends for every copy of the cookie on sign-out', async () => {
    const visitor = await signedIn();
    const copy = visitor.cookie;
    const out = await visitor.submit('/console/health', '/console/sign-out');
    expect([out.status, out.headers.get('Set-Cookie')?.includes('Max-Age=0')]).toEqual([303, true]);
    visitor.cookie = copy;
    expect((await visitor.send('/console/health')).status).toBe(303);
  });
});

describe('the address that a script asks whether the session lives', () => {
  test('answers the CSRF token of the forms to a signed-in operator alone', async () => {
    const visitor = await signedIn();
    const { csrf } = await visitor.form('/console/organizations/new', '/console/organizations');
    const { headers, html } = await visitor.read('/console/session');
    expect(JSON.parse(html)).toEqual({ csrf });
    expect([headers.get('Cache-Control'), headers.get('Access-Control-Allow-Origin')]).toEqual([
      'private, no-store',
      null,
    ]);
    expect((await new Visitor().send('/console/session')).status).toBe(303);
  });
});

describe('a form', () => {
  test('is refused from another origin, without its CSRF token, and with the CSRF token of another session', async () => {
    const visitor = await signedIn();
    const other = await signedIn();
    const values = await visitor.form('/console/organizations/new', '/console/organizations', { name: 'Forged' });
    const foreign = await other.form('/console/organizations/new', '/console/organizations', { name: 'Forged' });
    const attempts = [
      visitor.post('/console/organizations', values, { Origin: 'https://evil.test' }),
      visitor.post('/console/organizations', values, { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' }),
      visitor.post('/console/organizations', { ...values, csrf: '' }),
      visitor.post('/console/organizations', { name: 'Forged' }),
      visitor.post('/console/organizations', foreign),
    ];
    for (const { status, text } of await Promise.all(attempts)) {
      expect([status, text.includes('nothing was changed')]).toEqual([403, true]);
    }
    const { items } = (await operator.send('listOrganizations')).data;
    expect(items.map(({ name }) => name)).not.toContain('Forged');
  });

  test('accepts at most 64 KiB, and the error says so', async () => {
    const visitor = await signedIn();
    const values = await visitor.form('/console/organizations/new', '/console/organizations', { name: 'Large' });
    const rest = 65_536 - `${new URLSearchParams(values as Record<string, string>)}&filler=`.length;
    const refused = await visitor.post('/console/organizations', { ...values, filler: 'x'.repeat(rest + 1) });
    expect([refused.status, refused.text.includes('This form takes at most 64 KiB')]).toEqual([413, true]);
    expect((await visitor.post('/console/organizations', { ...values, filler: 'x'.repeat(rest) })).status).toBe(303);
  });

  test('has at most 2,000 fields', async () => {
    const visitor = await signedIn();
    const values = await visitor.form('/console/organizations/new', '/console/organizations', { name: 'Many' });
    const known = Object.keys(values).length;
    const filled = (fields: number) => ({ ...values, f: Array(fields - known).fill('') });
    const refused = await visitor.post('/console/organizations', filled(2_001));
    expect([refused.status, refused.text.includes('This form takes at most 2000 fields')]).toEqual([413, true]);
    expect((await visitor.post('/console/organizations', filled(2_000))).status).toBe(303);
  });

  test('is not read without a session', async () => {
    for (const path of ['/console/organizations', '/console/catalog/publish']) {
      const endless = new EndlessForm('a&');
      const { status } = await sendStream(path, endless.stream);
      expect([path, status, endless.bytes < MIB]).toEqual([path, 303, true]);
    }
  });

  test('with another content type is refused like one from another origin', async () => {
    const visitor = await signedIn();
    const multipart = { 'Content-Type': 'multipart/form-data; boundary=b', Origin: ORIGIN };
    for (const headers of [multipart, { 'Content-Type': 'application/json', Origin: ORIGIN }]) {
      const { status, text } = await visitor.send('/console/organizations', {
        method: 'POST',
        body: '--b\r\nbroken',
        headers,
      });
      expect([status, text.includes('nothing was changed')]).toEqual([403, true]);
    }
  });
});

describe('the form of a catalog', () => {
  const path = '/console/catalog/publish';

  test('accepts at most 16 MiB', async () => {
    const visitor = await signedIn();
    const values = await visitor.form(path, path, { document: 'x'.repeat(17 * MIB) });
    const refused = await visitor.post(path, values);
    expect([refused.status, refused.text.includes('This form takes at most 16384 KiB')]).toEqual([413, true]);
    const read = await visitor.post(path, { ...values, document: 'x'.repeat(15 * MIB) });
    expect([read.status, read.text.includes('must be valid JSON')]).toEqual([400, true]);
  });

  test('is not read further if it does not begin with the CSRF token of the session', async () => {
    const visitor = await signedIn();
    const other = await signedIn();
    const { csrf } = (await visitor.form(path, path)) as { csrf: string };
    const foreign = (await other.form(path, path)) as { csrf: string };
    for (const token of ['', foreign.csrf]) {
      const endless = new EndlessForm(`csrf=${token}&document=`, 'x');
      const { status } = await sendStream(path, endless.stream, visitor);
      expect([status, endless.bytes < MIB]).toEqual([403, true]);
    }
    // A token beyond the bound does not count either.
    const { document, ...rest } = { document: 'x'.repeat(2_000), csrf };
    expect((await visitor.post(path, { document, ...rest })).status).toBe(403);
  });

  test('can also be uploaded as a file', async () => {
    const visitor = await signedIn();
    const { csrf } = (await visitor.form(path, path)) as { csrf: string };
    const form = new FormData();
    form.set('csrf', csrf);
    form.set('file', new File(['{"models":5}'], 'catalog.json', { type: 'application/json' }));
    const { status, text } = await visitor.send(path, { method: 'POST', body: form, headers: { Origin: ORIGIN } });
    expect([status, text.includes('models')]).toEqual([400, true]);
  });
});

const COMMON = [
  '/console/search',
  '/console/search?q=a',
  '/console',
  '/console/organizations',
  '/console/organizations/new',
  '/console/catalog',
  '/console/catalog/publish',
  '/console/events',
  '/console/health',
];
const OF_ORGANIZATION = [
  '',
  '/setup',
  '/anomalies',
  '/alerts',
  '/webhooks',
  '/new-webhook',
  '/customers',
  '/calls',
  '/plans',
  '/new-plan',
  '/new-plan?as=json',
  '/keys',
  '/keys/new',
  '/models',
  '/vendors',
  '/sampling',
  '/samples',
  '/compression',
  '/events',
  '/settings',
  '/margin',
  '/margin?by=feature',
  '/margin?by=model&days=7',
  '/unpriced',
  '/ending-models',
];

describe('an organization without a call', () => {
  test.each([
    '',
    '/margin',
    '/margin?by=customer',
    '/calls',
    '/customers',
    '/anomalies',
    '/unpriced',
    '/ending-models',
  ])('shows its next steps on the page %s, and no empty list', async (path) => {
    const visitor = await signedIn();
    const { organizationId } = (await operator.send('createOrganization', { body: { name: 'Empty' } })).data;
    const base = `/console/organizations/${organizationId}`;
    const { text, html } = await visitor.read(base + path);
    expect(text).toMatch(/to do Create a plan .*to do Create an API key .*Make the first call .*call_begin/);
    for (const page of ['new-plan', 'keys/new']) expect(html).toContain(`href="${base}/${page}"`);
    expect(html).toContain('data-copy="first-call"');
    expect(html).not.toMatch(/class="(empty|stats)"|<svg|<table/);
  });
});

describe('every page', () => {
  let visitor: Visitor;
  let tenant: Tenant;
  let filled: string[];

  beforeAll(async () => {
    visitor = await signedIn();
    const plan = { name: 'Team <b>', limitType: 'BLOCK', limits: { premiumCalls: 5 }, payg: { enabled: true } };
    tenant = await createTenant(operator, plan);
    const org = tenant.organizationId;
    await operator.send('putPlan', { params: { org, planId: 'test' }, body: { ...plan, name: 'Team <i>' } });
    const job = await operator.send('migratePlan', { params: { org, planId: 'test' }, body: { when: 'NOW' } });
    const begun = await tenant.api.send('beginCall', {
      body: { customerId: 'a/<script>', feature: '"><img>', requested: { premium: true } },
    });
    const { callId } = begun.data;
    await tenant.api.send('endCall', {
      body: { callId, modelUsed: 'openai/gpt-6-luna', inputTokens: 1_000, responseTokens: 100 },
    });
    await operator.send('grantCredit', {
      params: { org, customerId: 'a/<script>' },
      body: { kind: 'USD', amountUsd: '5' },
    });
    await tenant.api.send('storeSample', {
      body: { sampleId: 's-1', provider: 'openai', input: '</pre><script>alert(1)</script>' },
    });
    const { jobId } = (await tenant.api.send('startCompressionJob', { body: {} })).data;
    const { keyId } = (await operator.send('createKey', { params: { org }, body: { name: 'Second' } })).data;
    await operator.send('putWebhook', {
      params: { org, webhookId: 'new' },
      body: { url: 'https://example.com/<b>', description: '<b>', enabled: false },
    });
    await deliverToD1(org, 'a/<script>');
    const { items } = (await tenant.api.send('readEvents')).data;
    const customer = `/customers/${encodeURIComponent('a/<script>')}`;
    filled = [
      customer,
      ...['credit', 'cancel', 'reactivate', 'erase', 'plan', 'plan?planId=test&strategy=IMMEDIATE_RESET'].map(
        (name) => `${customer}/${name}`,
      ),
      `/calls/${callId}`,
      '/plans/test',
      '/plans/test/edit',
      '/plans/test/edit?as=json',
      '/plans/test/compare',
      '/plans/test/migrate?when=NOW',
      `/plans/test/migrations/${job.data.jobId}`,
      `/keys/${keyId}`,
      `/keys/${keyId}/revoke`,
      ...['', '/edit', '/rotate', '/replay', '/delete'].map((name) => `/webhooks/new${name}`),
      `/alerts/${items[0]?.eventId}`,
      '/samples/s-1',
      `/compression/jobs/${jobId}`,
      '?days=7',
      '?customerId=nobody',
    ];
  });

  const check = async (path: string) => {
    const { headers, html } = await visitor.read(path);
    expect(headers.get('Content-Security-Policy')).toBe(
      "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(headers.get('Cache-Control')).toBe('private, no-store');
    expect([headers.get('X-Frame-Options'), headers.get('X-Content-Type-Options')]).toEqual(['DENY', 'nosniff']);
    expect(html).toMatch(/^<!doctype html><html lang="en">/);
    // One script, by its address; nothing that the policy forbids, and nothing that a name of ours could bring in.
    expect([path, html.match(/<script[^>]*>[^<]*<\/script>/g)]).toEqual([
      path,
      [`<script src="${scripts.console}" defer=""></script>`],
    ]);
    const rest = html.replace(`<script src="${scripts.console}" defer=""></script>`, '');
    expect([path, /<script|<style|<img>|<b>|<i>| style="| on[a-z]+="/i.exec(rest)?.[0] ?? null]).toEqual([path, null]);
    expect(html.match(/<h1>/g)).toHaveLength(1);
    const forms = html.match(/<form method="post"/g)?.length ?? 0;
    expect(html.match(/name="csrf"/g) ?? []).toHaveLength(forms);
    return html;
  };

  test('of the service', async () => {
    for (const path of COMMON) await check(path);
    for (const done of ['constructor', '__proto__', '<b>'])
      expect((await visitor.read(`/console?done=${done}`)).html).not.toContain('role="status"');
    await check('/console/catalog/models/openai/gpt-6-luna');
  });

  test('of a model leads to what the public lookup answers of it', async () => {
    const { html } = await visitor.read('/console/catalog/models/openai/gpt-6-luna');
    const lookup = /href="([^"]+)">Public lookup/.exec(html)?.[1];
    const answer = await worker.fetch(ORIGIN + lookup);
    expect([answer.status, await answer.json()]).toMatchObject([200, { requested: { modelKey: 'openai/gpt-6-luna' } }]);
  });

  test('of an empty organization, with a hint on what to do next', async () => {
    const { organizationId } = (await operator.send('createOrganization', { body: { name: 'Empty' } })).data;
    for (const path of OF_ORGANIZATION) await check(`/console/organizations/${organizationId}${path}`);
    const { text } = await visitor.read(`/console/organizations/${organizationId}/customers`);
    expect(text).toContain('to do Set the default plan');
  });

  test('of an organization that has everything', async () => {
    for (const path of [...OF_ORGANIZATION, ...filled])
      await check(`/console/organizations/${tenant.organizationId}${path}`);
  });

  test('that does not exist is a 404 page', async () => {
    const org = `/console/organizations/${tenant.organizationId}`;
    const missing = [
      '/console/nothing',
      '/console/organizations/nobody',
      '/console/organizations/nobody/plans',
      `${org}/nothing`,
    ];
    const inside = [
      'customers/nobody',
      'customers/nobody/credit',
      'calls/none',
      'plans/none',
      'plans/none/edit',
      'plans/test/migrations/none',
      'keys/none',
      'keys/none/revoke',
      'plans/none/migrate?when=NOW',
      ...['', '/edit', '/rotate', '/replay', '/delete'].map((name) => `webhooks/none${name}`),
      'alerts/none',
      'samples/none',
      'compression/jobs/none',
    ];
    for (const path of [...missing, ...inside.map((name) => `${org}/${name}`), '/console/catalog/models/openai/none']) {
      const { status, html } = await visitor.send(path);
      expect([path, status, html.includes('<nav')]).toEqual([path, 404, true]);
    }
  });

  test('names an invalid query parameter, and still shows the page', async () => {
    const org = `/console/organizations/${tenant.organizationId}`;
    for (const query of ['?from=yesterday', '?from=2026-02-01&to=2026-01-01', '?from=2020-01-01']) {
      const { status, text } = await visitor.send(`${org}${query}`);
      expect([query, status, text.includes('Correct this')]).toEqual([query, 400, true]);
    }
    expect((await visitor.send(`${org}/customers?planId=${'x'.repeat(100)}`)).status).toBe(400);
    expect((await visitor.send(`${org}/calls?status=LOST`)).status).toBe(400);
    expect((await visitor.send('/console/catalog?provider=nobody')).status).toBe(400);
    expect((await visitor.send(`${org}/keys?cursor=%00%00`)).status).toBe(200);
  });

  test('uses one stylesheet, which may be cached forever', async () => {
    const { html } = await visitor.read('/console');
    const [, path = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(html) ?? [];
    const { headers, html: css } = await visitor.read(path);
    expect([headers.get('Content-Type'), headers.get('Cache-Control')]).toEqual([
      'text/css; charset=utf-8',
      'public, max-age=31536000, immutable',
    ]);
    expect(css).toContain('light-dark(');
  });

  test('uses one font of our own, with its licence, which may be cached forever', async () => {
    for (const [path, type] of [
      [FONT_PATH, 'font/woff2'],
      [FONT_LICENCE_PATH, 'text/plain; charset=utf-8'],
    ] as const) {
      const { status, headers } = await worker.fetch(ORIGIN + path, { method: 'HEAD' });
      expect([status, headers.get('Content-Type'), headers.get('Cache-Control')]).toEqual([
        200,
        type,
        'public, max-age=31536000, immutable',
      ]);
    }
  });

  test('uses one script under 10 KB, which may be cached forever', async () => {
    const { headers, html: script } = await visitor.read(scripts.console);
    expect([headers.get('Content-Type'), headers.get('Cache-Control')]).toEqual([
      'text/javascript; charset=utf-8',
      'public, max-age=31536000, immutable',
    ]);
    expect(new TextEncoder().encode(script).byteLength).toBeLessThan(10_000);
  });
});
