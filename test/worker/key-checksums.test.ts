/**
 * An invalid key costs no read, older keys keep working, and failures of one address are limited; valid credentials are
 * not.
 */
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { Hono } from 'hono';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { signSession } from '../../src/config/session-token.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { asCustomerId, asKeyId, asOrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import type { AppEnv } from '../../src/http/middleware/context.ts';
import { createApiKey } from '../../src/platform/api-key.ts';
import { sha256Hex } from '../../src/platform/hash.ts';
import { createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { bindings, operator, worker } from '../support/worker.ts';

const BASE = 'https://callmeter.test';
const MINUTE_MS = 60_000;
const PATH = '/customers';
const random = (length: number) =>
  Array.from({ length }, () => 'abcdefghjkmnpqrstuvwxyz'[Math.floor(Math.random() * 23)]).join('');
const oldKey = () => `utk-${random(43)}`;

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator);
});

/** As a Worker of the version before would have stored it: the column has its default. */
async function storeOldKey(key: string): Promise<string> {
  const keyId = `key_${crypto.randomUUID()}`;
  await bindings.DB.prepare(
    `INSERT INTO api_keys (key_id, organization_id, key_hash, prefix, hint, name, scopes, created_at_ms, revoked_at_ms)
     VALUES (?, ?, ?, 'utk-', ?, 'old', NULL, 0, NULL)`,
  )
    .bind(keyId, tenant.organizationId, await sha256Hex(key), key.slice(-4))
    .run();
  return keyId;
}

/** D1 that counts the statements it is asked for, and can be away. */
class Database {
  statements = 0;
  away = false;
  readonly db = new Proxy(bindings.DB, {
    get: (target, name) => {
      const member = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (name === 'prepare') this.statements += 1;
        if (this.away) throw new Error('D1 is away');
        return member.apply(target, args);
      };
    },
  });
}

type Ask = (request: Request, env: Env, context: ExecutionContext) => Promise<Response>;

/**
 * A route that asks for an API key and for nothing else, in an isolate that has just begun: nothing is in its memory.
 */
async function freshRoute(): Promise<Ask> {
  vi.resetModules();
  const { requireCredential } = await import('../../src/http/middleware/credentials.ts');
  const { onError, refusalResponse } = await import('../../src/http/middleware/error-envelopes.ts');
  const app = new Hono<AppEnv>().onError(onError).get('/', async (c) => {
    const authenticated = await requireCredential(c, { kind: 'apiKey', scopes: [] });
    return authenticated.ok ? c.text('served') : refusalResponse(c, authenticated.refusal);
  });
  return async (request, env, context) => app.fetch(request, env, context);
}

class Isolate {
  readonly database = new Database();
  #route: Ask | null = null;

  async status(key: string): Promise<number> {
    this.#route ??= await freshRoute();
    const context = createExecutionContext();
    const env = { ...bindings, DB: this.database.db } as Env;
    const response = await this.#route(
      new Request(BASE, { headers: { Authorization: `Bearer ${key}` } }),
      env,
      context,
    );
    await waitOnExecutionContext(context);
    return response.status;
  }

  /** The statements that a request with the key costs. */
  async cost(key: string): Promise<{ status: number; statements: number }> {
    const before = this.database.statements;
    const status = await this.status(key);
    return { status, statements: this.database.statements - before };
  }
}

describe('a key without a checksum', () => {
  let isolate: Isolate;
  beforeEach(() => {
    isolate = new Isolate();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const later = (ms: number) => vi.setSystemTime(Date.now() + ms);

  test('needs one read a minute for all credentials that are no key', async () => {
    expect(await isolate.cost(oldKey())).toEqual({ status: 401, statements: 1 });
    for (let attempt = 0; attempt < 50; attempt += 1)
      expect(await isolate.cost(oldKey())).toEqual({ status: 401, statements: 0 });
    later(MINUTE_MS - 1);
    expect(await isolate.cost(oldKey())).toEqual({ status: 401, statements: 0 });
    later(1);
    expect(await isolate.cost(oldKey())).toEqual({ status: 401, statements: 1 });
    expect(await isolate.cost(oldKey())).toEqual({ status: 401, statements: 0 });
  });

  test('is valid if it is stored, until it is revoked', async () => {
    const key = oldKey();
    const keyId = await storeOldKey(key);
    await isolate.status(oldKey());
    expect(await isolate.status(key)).toBe(200);
    expect((await operator.send('revokeKey', { params: { org: tenant.organizationId, keyId } })).status).toBe(200);
    later(2_000);
    expect(await isolate.status(key)).toBe(401);
    expect(await new Isolate().status(key)).toBe(401);
  });

  test('that the previous version of the Worker created during the upgrade is valid everywhere after a minute', async () => {
    await isolate.status(oldKey());
    const key = oldKey();
    await storeOldKey(key);
    expect(await isolate.status(key)).toBe(401);
    expect(await new Isolate().status(key)).toBe(200);
    later(MINUTE_MS);
    expect(await isolate.status(key)).toBe(200);
  });

  test('that the isolate has cached works while D1 is unavailable; any other is 503', async () => {
    const key = oldKey();
    await storeOldKey(key);
    expect(await isolate.status(key)).toBe(200);
    const fresh = new Isolate();
    for (const { database } of [isolate, fresh]) database.away = true;
    later(9 * MINUTE_MS);
    expect(await isolate.status(key)).toBe(200);
    expect(await isolate.status(oldKey())).toBe(503);
    expect([await fresh.status(key), await fresh.status(oldKey())]).toEqual([503, 503]);
    fresh.database.away = false;
    later(3_000);
    expect([await fresh.status(key), await fresh.status(oldKey())]).toEqual([200, 401]);
  });

  test('is looked up directly while another request reads the list', async () => {
    const key = oldKey();
    await storeOldKey(key);
    expect(await Promise.all([isolate.status(oldKey()), isolate.status(key), isolate.status(oldKey())])).toEqual([
      401, 200, 401,
    ]);
  });

  test('is looked up directly if there are more than 10,000 of them', async () => {
    const { organizationId } = await createTenant(operator);
    const rows = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
      INSERT INTO api_keys (key_id, organization_id, key_hash, prefix, hint, name, created_at_ms)
      SELECT 'many-' || i, ?, printf('%064x', i), 'utk-', 'xxxx', 'many', 0 FROM n`;
    await bindings.DB.prepare(rows).bind(organizationId).run();
    const key = oldKey();
    await storeOldKey(key);
    expect(await isolate.status(oldKey())).toBe(401);
    expect((await isolate.cost(oldKey())).statements).toBe(1);
    expect(await isolate.status(key)).toBe(200);
    await bindings.DB.prepare("DELETE FROM api_keys WHERE key_id LIKE 'many-%'").run();
  });

  test('is found by an index that contains only such keys', async () => {
    const plan = await bindings.DB.prepare(
      'EXPLAIN QUERY PLAN SELECT substr(key_hash, 1, 16) FROM api_keys WHERE has_checksum = 0 AND revoked_at_ms IS NULL LIMIT 10001',
    ).all<{ detail: string }>();
    expect(plan.results.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('USING INDEX api_keys_without_checksum'),
    ]);
  });
});

test('a new key needs no list, and an invented one with a valid checksum is looked up and refused', async () => {
  const isolate = new Isolate();
  const { key } = (await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'new' } }))
    .data;
  const row = await bindings.DB.prepare('SELECT has_checksum FROM api_keys WHERE key_hash = ?')
    .bind(await sha256Hex(key))
    .first();
  expect(row).toEqual({ has_checksum: 1 });
  expect(await isolate.status(key)).toBe(200);
  expect(await isolate.cost(createApiKey('utk-'))).toEqual({ status: 401, statements: 1 });
});

describe('failed authentications of one address', () => {
  const LIMIT = 100;
  const session = () =>
    signSession(
      'another secret than that of the service',
      {
        kind: 'client',
        keyId: asKeyId('k'),
        organizationId: asOrganizationId('o'),
        customerId: asCustomerId('c'),
        customerUserId: null,
        scopes: [],
      },
      Date.now(),
      300,
    );
  /** Sends until a 429 comes. The minute is the clock's: if it ends in between, another hundred are answered 401. */
  async function untilLimited(send: () => Promise<Response>): Promise<{ failures: number; limited: Response }> {
    for (let failures = 0; failures <= 2 * LIMIT; failures += 1) {
      const response = await send();
      if (response.status !== 401) return { failures, limited: response };
      await response.text();
    }
    throw new Error('nothing was limited');
  }
  const fetchFrom = (address: string, path: string, token: string, init: RequestInit = {}) =>
    worker.fetch(BASE + path, {
      ...init,
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: MEDIA_TYPE,
        'Content-Type': 'application/json',
        'CF-Connecting-IP': address,
      },
    } as never) as unknown as Promise<Response>;

  test('are 429 after a hundred with any credential, and a valid one is served', async () => {
    const address = '198.51.100.20';
    const token = await session();
    const credentials = [oldKey(), createApiKey('gk-'), token, 'nonsense'];
    let at = 0;
    const { failures, limited } = await untilLimited(() =>
      fetchFrom(address, PATH, credentials[at++ % credentials.length] ?? ''),
    );
    expect(failures).toBeGreaterThanOrEqual(LIMIT);
    expect([limited.status, limited.headers.get('Retry-After')]).toEqual([429, '60']);
    expect(await limited.json()).toMatchObject({
      result: { status: 'ERROR', code: 'RATE_LIMITED' },
      error: { code: 'RATE_LIMITED' },
    });
    const { key } = (
      await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'valid' } })
    ).data;
    expect((await fetchFrom(address, PATH, key)).status).toBe(200);
    const { data } = await operator.with(key).send('createClientSession', { body: { customerId: 'alice' } });
    expect((await fetchFrom(address, '/v1/chat/completions', data.token, { method: 'POST', body: '{}' })).status).toBe(
      400,
    );
    expect((await fetchFrom(address, '/operator/organizations', OPERATOR_TOKEN)).status).toBe(200);
    expect((await fetchFrom('198.51.100.21', PATH, oldKey())).status).toBe(401);
  });

  test("are 429 in OpenAI's envelope on the gateway's routes, and no SDK retries them", async () => {
    const { limited } = await untilLimited(() => fetchFrom('2001:db8:a:b::1', '/v1/models', oldKey()));
    expect([limited.status, limited.headers.get('Retry-After'), limited.headers.get('x-should-retry')]).toEqual([
      429,
      '60',
      'false',
    ]);
    expect(await limited.json()).toMatchObject({ error: { code: 'RATE_LIMITED', type: 'rate_limit_exceeded' } });
    // The neighbour in the same network is the same holder.
    expect((await fetchFrom('2001:db8:a:b::2', '/v1/models', oldKey())).status).toBe(429);
  });

  test('include those with an operator token', async () => {
    const { limited } = await untilLimited(() => fetchFrom('198.51.100.30', '/operator/organizations', oldKey()));
    expect(await limited.json()).toMatchObject({ error: { code: 'RATE_LIMITED' } });
  });

  test('are not limited if the address is unknown', async () => {
    const headers = { Authorization: `Bearer ${oldKey()}`, Accept: MEDIA_TYPE };
    const statuses = await Promise.all(
      Array.from({ length: 120 }, async () => (await worker.fetch(BASE + PATH, { headers })).status),
    );
    expect(new Set(statuses)).toEqual(new Set([401]));
  });

  test('stay 401 if the rate limiter is unavailable', async () => {
    const { default: service } = (await import('../../src/index.ts')) as unknown as {
      default: { fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> };
    };
    const headers = { Authorization: `Bearer ${oldKey()}`, Accept: MEDIA_TYPE, 'CF-Connecting-IP': '198.51.100.40' };
    const broken = { limit: () => Promise.reject(new Error('the limit is away')) } as unknown as RateLimit;
    const { FAILED_AUTHENTICATIONS: _, ...without } = bindings;
    for (const env of [{ ...bindings, FAILED_AUTHENTICATIONS: broken }, without]) {
      const response = await service.fetch(new Request(BASE + PATH, { headers }), env as Env, createExecutionContext());
      expect(response.status).toBe(401);
    }
  });
});
