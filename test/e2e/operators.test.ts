/**
 * Named operators on a real server behind a real key server: each role may do exactly what the table of operations
 * allows, in the API and in the console, no other site acts for them, and every change is in the event log under a
 * name.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import type { ConsoleEnv } from '../../src/console/context.ts';
import { mayOpen } from '../../src/console/page-roles.tsx';
import { mountPages } from '../../src/console/pages.ts';
import { OPERATOR_HEADER } from '../../src/contract/envelope.ts';
import { type Operation, type OperationId, operations } from '../../src/contract/operations.ts';
import { type OperatorRole, ROLES } from '../../src/contract/roles.ts';
import { type AccessServer, AUDIENCE, startAccess, startFrontDoor } from '../support/access-server.ts';
import { Api, type Reply, type Sent } from '../support/api.ts';
import { type LocalServer, preparedState, startPrepared } from './local-server.ts';

let access: AccessServer;
let server: LocalServer;
const OPERATOR_TOKEN = 'operators-test-token-of-32-characters-or-more';
beforeAll(async () => {
  access = await startAccess();
  const state = await preparedState({ OPERATOR_TOKEN, ACCESS_TEAM_DOMAIN: access.url, ACCESS_AUD: AUDIENCE });
  server = await startPrepared(state);
  for (const role of ROLES)
    expect((await server.operator.send('putOperator', { params: { name: named(role) }, body: { role } })).status).toBe(
      200,
    );
});
afterAll(async () => {
  await server?.stop();
  await access?.close();
});

const named = (role: OperatorRole | 'nobody') => `${role}@example.com`;
const assertion = (name: string) => ({ 'Cf-Access-Jwt-Assertion': access.token(name) });

/** The header that a page of this origin sends. */
const OWN_PAGE = { 'Sec-Fetch-Site': 'same-origin', [OPERATOR_HEADER]: '1' };

/** A request as Access passes it on: with its token, and without `Authorization`. */
const withoutCredential = () =>
  new Api(
    (url, init) => {
      const { Authorization: _, ...headers } = init.headers as Record<string, string>;
      return fetch(url, { ...init, headers });
    },
    server.url,
    '',
  );

const fillPath = (id: OperationId, params: Record<string, string>) =>
  operations[id].path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '');

function as<Id extends OperationId>(name: string, id: Id, sent: Sent = {}): Promise<Reply<Id>> {
  return withoutCredential().send(id, { ...sent, headers: { ...assertion(name), ...OWN_PAGE, ...sent.headers } });
}

const OF_OPERATOR = Object.entries<Operation>(operations).flatMap(([id, { security }]) =>
  security.kind === 'operator' ? [[id as OperationId, security.role] as const] : [],
);

describe('every operation of the operator API', () => {
  test.each(OF_OPERATOR)('%s is open from the role %s on, and closed below', async (id, required) => {
    // Nothing of these names exists, so that a request that is let in changes nothing.
    const names = [...operations[id].path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const params = Object.fromEntries(names.map((name) => [name, 'none']));
    for (const role of ROLES) {
      const { status, body } = await as(named(role), id, { params });
      if (ROLES.indexOf(role) < ROLES.indexOf(required)) {
        expect([status, body.result?.code], role).toEqual([403, 'OPERATOR_ROLE_REQUIRED']);
        expect(body.error, role).toMatchObject({ requiredRole: required, role });
      } else expect([200, 400, 404, 415], `${role}: ${status}`).toContain(status);
    }
  });
});

describe('a request that another site may have made the browser of an admin send', () => {
  const header = { [OPERATOR_HEADER]: '1' };
  const MADE_BY_OTHERS: readonly Record<string, string>[] = [
    {},
    header,
    { 'Sec-Fetch-Site': 'same-origin' },
    ...['cross-site', 'same-site', 'none', ''].map((site) => ({ ...header, 'Sec-Fetch-Site': site })),
    ...['https://evil.example', 'null', 'http://127.0.0.1'].map((origin) => ({ ...header, Origin: origin })),
  ];

  test.each(OF_OPERATOR)('%s: is refused, whatever its role, and changes nothing', async (id) => {
    const { organizationId: org } = (await server.operator.send('createOrganization', { body: { name: 'Own' } })).data;
    const params = Object.fromEntries(
      [...operations[id].path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, name === 'org' ? org : 'none']),
    );
    const events = async () => (await server.operator.send('listEvents', { query: { limit: '1' } })).data.items;
    const before = await events();
    const own = { 'Sec-Fetch-Site': 'cross-site', Origin: server.url, ...header };
    for (const headers of [...MADE_BY_OTHERS, own]) {
      // As a form or a simple request of a script: without a body, or with one that needs no preflight.
      for (const type of [undefined, 'text/plain']) {
        const response = await fetch(server.url + fillPath(id, params), {
          method: operations[id].method,
          headers: { ...assertion(named('admin')), ...headers, ...(type && { 'Content-Type': type }) },
          ...(type && operations[id].method !== 'GET' && { body: '{}' }),
        });
        const { result } = (await response.json()) as { result: { code: string } };
        expect([response.status, result.code], JSON.stringify(headers)).toEqual([403, 'CROSS_SITE_REQUEST']);
      }
    }
    expect(await events()).toEqual(before);
  });

  test('is told from one of this origin, by Sec-Fetch-Site or else by Origin; a bearer token needs neither', async () => {
    const headers = { ...assertion(named('admin')), ...header };
    const read = (sent: Record<string, string>) => fetch(`${server.url}/operator/identity`, { headers: sent });
    expect((await read({ ...headers, Origin: server.url })).status).toBe(200);
    expect((await read({ ...headers, 'Sec-Fetch-Site': 'same-origin', Origin: 'null' })).status).toBe(200);
    const bearer = { Authorization: `Bearer ${OPERATOR_TOKEN}`, 'Sec-Fetch-Site': 'cross-site', Origin: 'null' };
    expect((await read(bearer)).status).toBe(200);
  });

  test('gets no preflight that would let it send the header', async () => {
    const response = await fetch(`${server.url}/operator/organizations`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://evil.example', 'Access-Control-Request-Headers': OPERATOR_HEADER },
    });
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

test('whom Access let in without a role is told so, by name, and may read nothing', async () => {
  const { status, refusal } = await as(named('nobody'), 'listOrganizations');
  expect([status, refusal.code, refusal.role]).toEqual([403, 'OPERATOR_ROLE_REQUIRED', null]);
  expect(refusal.message).toContain(named('nobody'));
});

test('a token that Access did not sign for this application is no credential', async () => {
  const tokens = [
    access.forged(named('admin')),
    access.token(named('admin'), { aud: ['another'] }),
    access.token(named('admin'), { exp: 1 }),
    access.token(named('admin'), {}, { alg: 'none' }),
    'nonsense',
  ];
  for (const token of tokens) {
    const { status } = await withoutCredential().send('listOrganizations', {
      headers: { 'Cf-Access-Jwt-Assertion': token },
    });
    expect(status).toBe(401);
  }
});

test('an Authorization header decides alone: a wrong one is refused beside a token of an admin', async () => {
  const headers = assertion(named('admin'));
  expect((await server.operator.with('x'.repeat(40)).send('listOrganizations', { headers })).status).toBe(401);
  expect((await server.operator.send('readIdentity', { headers })).data).toEqual({ name: 'operator', role: 'admin' });
});

test('a role counts from the next request on, and so does its end', async () => {
  const name = 'temp@example.com';
  const organization = { name: 'Temp' };
  expect((await as(name, 'createOrganization', { body: organization })).status).toBe(403);
  await as(named('admin'), 'putOperator', { params: { name }, body: { role: 'admin' } });
  expect((await as(name, 'readIdentity')).data).toEqual({ name, role: 'admin' });
  await as(named('admin'), 'putOperator', { params: { name: 'TEMP@example.com' }, body: { role: 'viewer' } });
  expect((await as(name, 'createOrganization', { body: organization })).status).toBe(403);
  expect((await as(named('admin'), 'deleteOperator', { params: { name } })).status).toBe(200);
  expect((await as(name, 'readIdentity')).status).toBe(403);
});

test('the event log names who changed what', async () => {
  const { organizationId } = (await as(named('admin'), 'createOrganization', { body: { name: 'By name' } })).data;
  const params = { org: organizationId, planId: 'free' };
  await as(named('editor'), 'putPlan', { params, body: { name: 'Free', limitType: 'BLOCK' } });
  await server.operator.send('updateOrganization', { params, body: { defaultPlanId: 'free' } });
  const { items } = (await as(named('viewer'), 'listEvents', { query: { organizationId } })).data;
  expect(items.map(({ actor, action }) => [actor, action])).toEqual([
    ['operator', 'organization.update'],
    [named('editor'), 'plan.put'],
    [named('admin'), 'organization.create'],
  ]);
});

test('an idempotency key is of one operator: nobody is given the new API key of another', async () => {
  const { organizationId } = (await as(named('admin'), 'createOrganization', { body: { name: 'Keys' } })).data;
  await as(named('admin'), 'putOperator', { params: { name: 'other@example.com' }, body: { role: 'admin' } });
  const sent = {
    params: { org: organizationId },
    body: { name: 'backend' },
    headers: { 'Idempotency-Key': 'one-key' },
  };
  const first = await as(named('admin'), 'createKey', sent);
  const other = await as('other@example.com', 'createKey', sent);
  const byToken = await server.operator.send('createKey', sent);
  expect(new Set([first, other, byToken].map(({ data }) => data.key)).size).toBe(3);
  expect((await as(named('admin'), 'createKey', sent)).data.key).toBe(first.data.key);
});

/** Forms that change only the view in the operator's own browser. */
const OWN_BROWSER = /\/setup\/(hide|show)$/;

describe('the console', () => {
  const visit = (name: string, path: string, form?: Record<string, string>) =>
    fetch(`${server.url}/console${path}`, {
      redirect: 'manual',
      headers: { ...assertion(name), ...(form && { Origin: server.url }) },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
  const csrfIn = (html: string) => /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? '';

  test('needs no token from whom Access let in, and shows who is signed in', async () => {
    const response = await visit(named('viewer'), '');
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(`${named('viewer')}, viewer`);
    expect((await visit(named('nobody'), '')).status).toBe(403);
    expect((await fetch(`${server.url}/console`, { redirect: 'manual' })).status).toBe(303);
  });

  test('lets who has no role sign in with the operator token, and give one; then the name counts', async () => {
    const name = 'first@example.com';
    const refused = await visit(name, '');
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain('href="/console/sign-in"');
    const signedIn = await visit(name, '/sign-in', { token: OPERATOR_TOKEN });
    const cookie = signedIn.headers.get('Set-Cookie')?.split(';')[0] ?? '';
    const read = async () =>
      (await fetch(`${server.url}/console/operators`, { headers: { ...assertion(name), Cookie: cookie } })).text();
    expect(csrfIn(await read())).not.toBe('');
    expect(await read()).not.toContain(`${name}, `);
    await server.operator.send('putOperator', { params: { name }, body: { role: 'viewer' } });
    expect(await read()).toContain(`${name}, viewer`);
  });

  test('refuses a form that the role may not send, although its token is right, and changes nothing', async () => {
    const csrf = csrfIn(await (await visit(named('viewer'), '')).text());
    expect(csrf).not.toBe('');
    const form = { csrf, nonce: 'nonce-of-this-form', name: 'Sneaked in' };
    const response = await visit(named('viewer'), '/organizations', form);
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('This needs the role admin');
    const { items } = (await server.operator.send('listOrganizations', { query: { limit: '200' } })).data;
    expect(items.map(({ name }) => name)).not.toContain('Sneaked in');
    // A viewer sees the data, without the controls that a viewer may not use.
    const page = await (await visit(named('viewer'), '/organizations/new')).text();
    expect(page).toContain('Only an operator with the role admin may send this.');
    expect(page).toContain('<fieldset disabled');
  });

  test.each(ROLES)('shows %s no link to a page that this role may not open', async (role) => {
    const { organizationId: org } = (await server.operator.send('createOrganization', { body: { name: 'Linked' } }))
      .data;
    const { data } = await server.operator.send('createKey', { params: { org }, body: { name: 'Samples' } });
    const sample = { sampleId: 'sample-1', provider: 'openai', input: 'Hello' };
    expect((await new Api(fetch, server.url, data.key).send('storeSample', { body: sample })).status).toBe(200);
    const webhook = { url: 'https://example.com/hook', enabled: false };
    expect(
      (await server.operator.send('putWebhook', { params: { org, webhookId: 'ops' }, body: webhook })).status,
    ).toBe(200);

    const pages = new Hono<ConsoleEnv>();
    mountPages(pages);
    const own = pages.routes
      .filter(({ method, path }) => method === 'GET' && !path.replace(':org', '').includes(':'))
      .map(({ path }) => path.replace(':org', org));
    const status = new Map<string, number>();
    const links = new Set<string>();
    for (const path of new Set([...own, `/organizations/${org}/webhooks/ops`, '/search?q=webhooks'])) {
      const answer = await visit(named(role), path);
      status.set(path, answer.status);
      for (const [, href = ''] of (await answer.text()).matchAll(/<a [^>]*href="\/console([^"#?]*)/g)) links.add(href);
    }
    expect([...status].filter(([path, code]) => (code === 403) === mayOpen(role, `/console${path}`))).toEqual([]);
    expect(links.size).toBeGreaterThan(40);
    // One link to each page: the pages of two models answer alike.
    const routeOf = (href: string) => pages.router.match('GET', href || '/')[0][0]?.[0][1].path;
    const closed: string[] = [];
    for (const href of new Map([...links].map((link) => [routeOf(link), link])).values())
      if ((await visit(named(role), href)).status === 403) closed.push(href);
    expect(closed).toEqual([]);
    expect([...links].some((href) => href.endsWith(`/${org}/webhooks/ops`))).toBe(role !== 'viewer');
    expect([...links].some((href) => href.endsWith(`/${org}/samples/sample-1`))).toBe(role !== 'viewer');
  });

  test('refuses each form of a viewer that changes something, whatever is in it', async () => {
    const pages = new Hono<ConsoleEnv>();
    mountPages(pages);
    const forms = new Set(pages.routes.filter(({ method }) => method === 'POST').map(({ path }) => path));
    expect(forms.size).toBeGreaterThan(30);
    const { organizationId } = (await server.operator.send('createOrganization', { body: { name: 'Formed' } })).data;
    const csrf = csrfIn(await (await visit(named('viewer'), '')).text());
    const answered: [path: string, status: number, due: number][] = [];
    for (const path of forms) {
      const sent = path.replace(':org', organizationId).replaceAll(/:\w+/g, 'none');
      const { status } = await visit(named('viewer'), sent, { csrf, nonce: 'nonce-of-this-form' });
      answered.push([path, status, OWN_BROWSER.test(path) ? 303 : 403]);
    }
    expect(answered.filter(([, status, due]) => status !== due)).toEqual([]);
  });

  test('refuses a form without the token of the person, or from another site', async () => {
    const admin = csrfIn(await (await visit(named('admin'), '/organizations/new')).text());
    const editor = csrfIn(await (await visit(named('editor'), '')).text());
    expect(admin).not.toBe(editor);
    for (const csrf of ['', editor]) {
      const form = { csrf, nonce: 'nonce-of-this-form', name: 'Forged' };
      expect((await visit(named('admin'), '/organizations', form)).status).toBe(403);
    }
    const foreign = await fetch(`${server.url}/console/organizations`, {
      method: 'POST',
      redirect: 'manual',
      headers: { ...assertion(named('admin')), Origin: 'https://evil.example' },
      body: new URLSearchParams({ csrf: admin, nonce: 'nonce-of-this-form', name: 'Forged' }),
    });
    expect(foreign.status).toBe(403);
  });

  test('names the person in the event log, gives roles, and signs out at Access', async () => {
    const csrf = csrfIn(await (await visit(named('admin'), '/operators')).text());
    const form = { csrf, nonce: 'nonce-of-this-form' };
    const given = await visit(named('admin'), '/operators', { ...form, name: 'New@Example.com', role: 'editor' });
    expect(given.headers.get('Location')).toBe('/console/operators?done=operator');
    const wrong = await visit(named('admin'), '/operators', { ...form, name: 'with space', role: 'owner' });
    expect(wrong.status).toBe(400);
    const { items } = (await server.operator.send('listEvents', { query: { limit: '1' } })).data;
    expect(items[0]).toMatchObject({ actor: named('admin'), action: 'operator.put', subject: 'new@example.com' });
    const out = await visit(named('admin'), '/sign-out', form);
    expect(out.headers.get('Location')).toBe('/cdn-cgi/access/logout');
  });
});

test('the command line comes through Access with a service token, and is named by it', async () => {
  const token = { id: '88bf3b6d86161464f6509f7219099e57.access', secret: 'bdd31cbc4dec990953e39163fbbb194c' };
  await server.operator.send('putOperator', { params: { name: token.id }, body: { role: 'viewer' } });
  const door = await startFrontDoor(server.url, access, token);
  try {
    const { OPERATOR_TOKEN: _, ...inherited } = process.env;
    const env = { ...inherited, CF_ACCESS_CLIENT_ID: token.id, CF_ACCESS_CLIENT_SECRET: token.secret };
    const run = (...args: string[]) =>
      promisify(execFile)(process.execPath, ['src/cli/operator.ts', ...args, '--url', door.url], {
        cwd: PROJECT_DIR,
        env,
      });
    expect(JSON.parse((await run('operators', 'me', '--json')).stdout)).toEqual({ name: token.id, role: 'viewer' });
    await expect(run('organizations', 'create', '--name', 'X')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('OPERATOR_ROLE_REQUIRED'),
    });
  } finally {
    await door.close();
  }
});

test('while the keys cannot be read, no stranger is let in: 503, and the operator token still works', async () => {
  const away = await startAccess();
  away.failing = 500;
  const state = await preparedState({ ACCESS_TEAM_DOMAIN: away.url, ACCESS_AUD: AUDIENCE });
  const other = await startPrepared(state);
  try {
    const response = await fetch(`${other.url}/operator/organizations`, {
      headers: { 'Cf-Access-Jwt-Assertion': away.token(named('admin')) },
    });
    expect(response.status).toBe(503);
    expect((await other.operator.send('readIdentity')).data.role).toBe('admin');
  } finally {
    await other.stop();
    await away.close();
  }
});
