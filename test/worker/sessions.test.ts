/**
 * Sessions: a token of five minutes has a safe subset of its key's permissions, for one customer, and ends with the
 * key.
 */
import { createExecutionContext } from 'cloudflare:test';
import { Hono } from 'hono';
import { decode, sign } from 'hono/jwt';
import { beforeAll, describe, expect, test } from 'vitest';
import { type SessionClaims, signSession } from '../../src/config/session-token.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { type Operation, type OperationId, operations } from '../../src/contract/operations.ts';
import type { Scope } from '../../src/contract/scopes.ts';
import { CLIENT_SCOPES, type ClientScope } from '../../src/contract/sessions.ts';
import { asCustomerId, asKeyId, asOrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { type AppEnv, requestContext } from '../../src/http/middleware/context.ts';
import { requireCredential, requireScopes } from '../../src/http/middleware/credentials.ts';
import { refusalResponse } from '../../src/http/middleware/error-envelopes.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, operator, worker } from '../support/worker.ts';

const SECRET = bindings.SESSION_SECRET ?? '';

let tenant: Tenant;
let params: { org: string };
beforeAll(async () => {
  tenant = await createTenant(operator);
  params = { org: tenant.organizationId };
});

const createKey = async (body: object) =>
  (await operator.send('createKey', { params, body: { name: 'k', ...body } })).data;
const createSession = async (key: string, body: object = { customerId: 'alice' }) =>
  (await tenant.api.with(key).send('createClientSession', { body })).data;

/** Routes of each client scope, guarded like the app's own; they answer with the token's customer. */
const probe = new Hono<AppEnv>().use(requestContext);
for (const [scope, clientScope] of Object.entries(CLIENT_SCOPES) as [Scope, ClientScope][]) {
  const security = { kind: 'apiKey', scopes: [scope], clientScope } as const;
  probe.get(`/${clientScope}`, async (c) => {
    const authenticated = await requireCredential(c, security);
    const checked = authenticated.ok ? requireScopes(c, security) : authenticated;
    if (!checked.ok) return refusalResponse(c, checked.refusal);
    const { organization, session = null } = c.get('credential');
    return c.json({ organizationId: organization.organizationId, session });
  });
}

async function ask(
  token: string,
  clientScope: ClientScope,
  headers: Record<string, string> = { Authorization: `Bearer ${token}` },
) {
  const response = await probe.request(`/${clientScope}`, { headers }, bindings, createExecutionContext());
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  return { status: response.status, body: (await response.json()) as any };
}
const statuses = async (token: string) =>
  Promise.all(Object.values(CLIENT_SCOPES).map(async (scope) => (await ask(token, scope)).status));

describe('a client session', () => {
  test('is a token of five minutes for one customer', async () => {
    const { key, keyId } = await createKey({ scopes: ['gateway:invoke', 'usage:read'] });
    const beforeMs = Date.now();
    const session = await createSession(key, { customer_id: 'alice', customer_user_id: 'u-1' });
    expect(session).toEqual({
      token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      tokenType: 'Bearer',
      expiresAt: expect.any(String),
      expiresIn: 300,
      scopes: ['gateway:chat'],
      customerId: 'alice',
      customerUserId: 'u-1',
    });
    const { payload } = decode(session.token);
    expect(payload).toMatchObject({
      kind: 'client',
      keyId,
      organizationId: tenant.organizationId,
      customerId: 'alice',
    });
    expect((payload.exp ?? 0) - Number(payload.iat)).toBe(300);
    expect(Date.parse(session.expiresAt)).toBe((payload.exp ?? 0) * 1_000);
    expect(Date.parse(session.expiresAt) - beforeMs).toBeLessThanOrEqual(300_000 + (Date.now() - beforeMs));
    expect(session.token).not.toContain(key.slice(4));
    expect((await createSession(key)).customerUserId).toBeNull();
  });

  test.each([
    [['gateway:invoke'], ['gateway:chat']],
    [['compression:invoke'], ['compression:run']],
    [
      ['gateway:invoke', 'compression:invoke'],
      ['gateway:chat', 'compression:run'],
    ],
    [['usage:write', 'customers:write', 'compression:invoke'], ['compression:run']],
  ])('of a key with %j may %j', async (scopes, inherited) => {
    const { key } = await createKey({ scopes });
    const { scopes: given, token } = await createSession(key);
    expect(given).toEqual(inherited);
    const expected = Object.values(CLIENT_SCOPES).map((scope) => (inherited.includes(scope) ? 200 : 403));
    expect(await statuses(token)).toEqual(expected);
  });

  test.each([
    ['gk-', ['gateway:chat']],
    ['cmp-', ['compression:run']],
  ])('can be created by a key with the legacy prefix %s', async (prefix, scopes) => {
    expect((await createSession((await createKey({ prefix })).key)).scopes).toEqual(scopes);
  });

  test.each([['usage:read'], ['usage:write', 'customers:read', 'customers:write']])(
    'cannot be created by a key with %s',
    async (...scopes) => {
      const { key } = await createKey({ scopes });
      for (const id of ['createClientSession', 'createGatewaySession'] as const) {
        const { refusal, status } = await tenant.api.with(key).send(id, { body: { customerId: 'alice' } });
        expect([status, refusal.code, refusal.requiredScope]).toEqual([
          403,
          'API_KEY_SCOPE_REQUIRED',
          'gateway:invoke',
        ]);
      }
    },
  );

  test('can be created by the earlier name of the route', async () => {
    const { data, body } = await tenant.api.send('createGatewaySession', { body: { customerId: 'alice' } });
    expect([body.result.code, data.scopes]).toEqual(['CLIENT_SESSION_CREATED', ['gateway:chat', 'compression:run']]);
    expect((await ask(data.token, 'gateway:chat')).status).toBe(200);
  });

  test.each([{}, { customerId: '' }, { customerId: '..' }, { customerId: 7 }, { customerId: 'a', customerUserId: '' }])(
    'is refused for %j',
    async (body) => {
      const { refusal } = await tenant.api.send('createClientSession', { body });
      expect([refusal.code, refusal.message]).toEqual(['BAD_REQUEST', expect.stringContaining('customer')]);
    },
  );

  test('acts for its own organization and customer, whatever else is sent', async () => {
    const { token } = await createSession((await createKey({})).key, { customerId: 'bob', customerUserId: 'u-2' });
    const headers = { Authorization: `Bearer ${token}`, 'x-usage-customer-id': 'alice' };
    expect((await ask(token, 'gateway:chat', headers)).body).toEqual({
      organizationId: tenant.organizationId,
      session: { customerId: 'bob', customerUserId: 'u-2', scopes: ['gateway:chat', 'compression:run'] },
    });
    expect((await ask(token, 'gateway:chat', { 'x-api-key': token })).status).toBe(200);
  });
});

describe('a token', () => {
  const keyed = Object.values<Operation>(operations).filter(({ security }) => security.kind === 'apiKey');

  test.each(keyed.map((operation) => [operation.operationId, operation] as const))(
    'may be sent to %s by a page of another origin where its scope allows it',
    async (_, operation) => {
      const { method, path, security } = operation;
      const isOpen = 'clientScope' in security;
      const ask = (asked: RequestInit) => worker.fetch(`https://callmeter.test${path.replace(/\{\w+\}/g, 'x')}`, asked);
      const Origin = 'https://app.example.com';
      const preflight = await ask({
        method: 'OPTIONS',
        headers: { Origin, 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': 'authorization' },
      });
      const allowed = (preflight.headers.get('Access-Control-Allow-Methods') ?? '').split(',');
      expect(allowed.includes(method)).toBe(isOpen);
      if (isOpen) expect(preflight.headers.get('Access-Control-Allow-Headers')).toBe('authorization');
      // A refusal can be read too.
      const refused = await ask({ method, headers: { Origin } });
      expect([refused.status, refused.headers.get('Access-Control-Allow-Origin')]).toEqual([401, isOpen ? '*' : null]);
      const elsewhere = await ask({ method });
      expect(elsewhere.headers.get('Access-Control-Allow-Origin')).toBeNull();
    },
  );

  const buildClaims = async (change: Partial<SessionClaims> = {}): Promise<SessionClaims> => {
    const { keyId } = await createKey({});
    const scopes = ['gateway:chat', 'compression:run'];
    return {
      kind: 'client',
      keyId,
      organizationId: tenant.organizationId,
      customerId: asCustomerId('alice'),
      customerUserId: null,
      scopes,
      ...change,
    };
  };
  const payload = async (change: object = {}) => {
    const atSeconds = Math.floor(Date.now() / 1_000);
    return { ...(await buildClaims()), iss: 'callmeter', iat: atSeconds, exp: atSeconds + 300, ...change };
  };
  const unsigned = (header: object, claims: object) =>
    `${[header, claims].map((part) => btoa(JSON.stringify(part)).replaceAll('=', '')).join('.')}.`;

  test.each<[string, () => Promise<string>]>([
    ['garbage', async () => 'garbage'],
    ['three parts of garbage', async () => 'a.b.c'],
    ['nothing but dots', async () => '..'],
    [
      'signed by somebody else',
      async () => signSession('another-session-secret-of-32-characters', await buildClaims(), Date.now(), 300),
    ],
    ['past its five minutes', async () => signSession(SECRET, await buildClaims(), Date.now() - 301_000, 300)],
    ['of another issuer', async () => sign(await payload({ iss: 'somebody' }), SECRET, 'HS256')],
    ['of another algorithm', async () => sign(await payload(), SECRET, 'HS512')],
    ['without a signature', async () => unsigned({ alg: 'none', typ: 'JWT' }, await payload())],
    [
      'with its signature cut off',
      async () => (await signSession(SECRET, await buildClaims(), Date.now(), 300)).replace(/[^.]+$/, ''),
    ],
    [
      'of a key that never was',
      async () => signSession(SECRET, await buildClaims({ keyId: asKeyId('key_nobody') }), Date.now(), 300),
    ],
    [
      'of the key of another organization',
      async () => signSession(SECRET, await buildClaims({ organizationId: asOrganizationId('x') }), Date.now(), 300),
    ],
    [
      'for the widget',
      async () => signSession(SECRET, await buildClaims({ kind: 'embed', scopes: ['embeds:read'] }), Date.now(), 300),
    ],
  ])('%s is 401', async (_, make) => {
    const token = await make();
    expect(await statuses(token)).toEqual([401, 401]);
    expect((await tenant.api.with(token).send('readUsage', { params: { customerId: 'alice' } })).refusal.code).toBe(
      'UNAUTHORIZED',
    );
  });

  test('works until its last second, and grants no scope that its key does not have', async () => {
    expect(await statuses(await signSession(SECRET, await buildClaims(), Date.now() - 290_000, 300))).toEqual([
      200, 200,
    ]);
    const { keyId } = await createKey({ scopes: ['compression:invoke'] });
    expect(await statuses(await signSession(SECRET, await buildClaims({ keyId }), Date.now(), 300))).toEqual([
      403, 200,
    ]);
  });

  test('with another payload under its signature is 401', async () => {
    const { token } = await createSession((await createKey({})).key);
    const [header, , signature] = token.split('.');
    const forged = btoa(JSON.stringify(await payload({ customerId: 'eve' }))).replaceAll('=', '');
    expect(await statuses(`${header}.${forged}.${signature}`)).toEqual([401, 401]);
  });

  test('ends at once when its key is revoked', async () => {
    const { key, keyId } = await createKey({});
    const { token } = await createSession(key);
    expect(await statuses(token)).toEqual([200, 200]);
    const keepUsing = Promise.all(Array.from({ length: 10 }, () => statuses(token)));
    await operator.send('revokeKey', { params: { ...params, keyId } });
    expect(await statuses(token)).toEqual([401, 401]);
    await keepUsing;
  });

  test('loses scopes at once with its key, and never gains any', async () => {
    const { key, keyId } = await createKey({ scopes: ['gateway:invoke'] });
    const { token } = await createSession(key);
    const edit = (scopes: Scope[]) => operator.send('updateKey', { params: { ...params, keyId }, body: { scopes } });
    await edit(['gateway:invoke', 'compression:invoke']);
    expect(await statuses(token)).toEqual([200, 403]);
    await edit(['compression:invoke']);
    expect(await statuses(token)).toEqual([403, 403]);
    await edit(['gateway:invoke']);
    expect(await statuses(token)).toEqual([200, 403]);
  });
});

describe('an embed session', () => {
  const embed = async (body: object) =>
    tenant.api.with((await createKey({ prefix: 'ek-' })).key).send('createEmbedSession', { body });

  test('contains the address of the widget, and its token works nowhere else', async () => {
    const origins = ['https://app.example.com', 'http://localhost:3000'];
    const { data } = await embed({ customerId: 'alice', origins, theme: 'dark', variant: 'detailed' });
    expect(data).toMatchObject({
      tokenType: 'Bearer',
      expiresIn: 300,
      scopes: ['embeds:read'],
      customerId: 'alice',
      customerUserId: null,
    });
    expect(data.embedUrl).toBe(`https://callmeter.test/embed#token=${data.token}`);
    expect(decode(data.token).payload).toMatchObject({
      kind: 'embed',
      embed: { origins, theme: 'dark', variant: 'detailed' },
    });
    expect(await statuses(data.token)).toEqual([401, 401]);
  });

  test('cannot be framed unless an origin is named', async () => {
    const { data } = await embed({ customer: { id: 'alice', userId: 'u-1' } });
    expect(data.customerUserId).toBe('u-1');
    expect(decode(data.token).payload.embed).toEqual({ origins: [], theme: 'auto', variant: 'compact' });
  });

  test.each([
    ['origins.0', { origins: ['app.example.com'] }],
    ['origins.0', { origins: ['https://app.example.com/path'] }],
    ['origins.0', { origins: ['*'] }],
    ['origins.1', { origins: ['https://a.example.com', "https://b.example.com; script-src 'self'"] }],
    ['origins', { origins: Array.from({ length: 11 }, (_, n) => `https://a${n}.example.com`) }],
    ['theme', { theme: 'pink' }],
    ['variant', { variant: 'huge' }],
  ])('is refused by the field %s', async (path, body) => {
    const { details } = (await embed({ customerId: 'alice', ...body })).refusal;
    expect((details as { path: string }[]).map((detail) => detail.path)).toEqual([path]);
  });

  test('can be created only by an ek- key, which has no other use', async () => {
    const full = (await createKey({})).key;
    const { refusal } = await tenant.api.with(full).send('createEmbedSession', { body: { customerId: 'alice' } });
    expect([refusal.code, refusal.requiredScope]).toEqual(['API_KEY_SCOPE_REQUIRED', 'embeds:read']);
    const { key } = await createKey({ prefix: 'ek-' });
    for (const id of ['createClientSession', 'createGatewaySession'] satisfies OperationId[]) {
      expect((await tenant.api.with(key).send(id, { body: { customerId: 'alice' } })).status).toBe(403);
    }
  });
});

test('without a secret no session can be created, and no token is valid', async () => {
  const { default: app } = await import('../../src/index.ts');
  const { key } = await createKey({});
  const { token } = await createSession(key);
  const { SESSION_SECRET: _secret, ...env } = bindings;
  const send = async (credential: string) => {
    const headers = { Authorization: `Bearer ${credential}`, Accept: MEDIA_TYPE, 'Content-Type': 'application/json' };
    const request = new Request('https://callmeter.test/v1/client/sessions', {
      method: 'POST',
      headers,
      body: '{"customerId":"a"}',
    });
    return (await app.fetch(request as never, env as Env, createExecutionContext())).status;
  };
  expect([await send(key), await send(token)]).toEqual([503, 401]);
});
