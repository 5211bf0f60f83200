/**
 * The rights of credentials: every operation, asked with every kind of credential and bodies of every shape. The table
 * grows with the tables of operations. A credential without the right is refused alike for any body, and changes
 * nothing; one with the right never meets a failure.
 */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { type GatewayOperation, gatewayOperations } from '../../src/contract/gateway/operations.ts';
import { type Operation, operations, type Security } from '../../src/contract/operations.ts';
import { KEY_PREFIXES, SCOPES } from '../../src/contract/scopes.ts';
import { createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { bindings, operator, worker } from '../support/worker.ts';

type Entry = Pick<Operation, 'operationId' | 'method' | 'path' | 'security'> & { takesBody: boolean; form?: true };

const entries: readonly Entry[] = [
  ...Object.values<Operation>(operations),
  ...Object.values<GatewayOperation>(gatewayOperations),
].map((operation) => ({ ...operation, takesBody: operation.body !== undefined }));

/** The rights of a credential, in the contract's words; `nobody` if it is not a live one. */
interface Holder {
  credential: string | null;
  header?: string;
  may: 'nobody' | 'operator' | readonly string[];
  /** A browser's token: the client scopes that it has. */
  client?: readonly string[];
}

const holders = new Map<string, Holder>();
let tenant: Tenant;

/** The contract's historical permissions of keys without stored scopes. */
const HISTORICAL: Record<string, readonly string[]> = {
  'utk-': SCOPES.filter((scope) => scope !== 'embeds:read'),
  'ck-': ['usage:read', 'usage:write', 'customers:provision'],
  'ak-': ['usage:read', 'usage:write', 'customers:read', 'customers:write'],
  'cmp-': ['compression:invoke', 'meters:increment'],
  'gk-': ['gateway:invoke'],
  'ek-': ['embeds:read'],
};
const CREDENTIALS = [
  ...[
    'none',
    'another scheme',
    'empty',
    'malformed',
    'unknown',
    'revoked',
    'expired',
    'the operator token',
    'a wrong operator token',
  ],
  ...SCOPES.map((scope) => `scope ${scope}`),
  ...KEY_PREFIXES.map((prefix) => `prefix ${prefix}`),
  ...[
    'session of both',
    'session for the gateway',
    'session for compression',
    'session of a revoked key',
    'session of an expired key',
    'a forged session',
    'embed token',
  ],
];

/** When the key ends that has expired in the tests. */
const SOON_MS = 1_000;

async function createKey(body: object): Promise<{ key: string; keyId: string }> {
  return (await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'k', ...body } }))
    .data;
}

beforeAll(async () => {
  tenant = await createTenant(operator);
  const params = { org: tenant.organizationId };
  const hold = (name: string, credential: string | null, may: Holder['may'], more: Partial<Holder> = {}) =>
    holders.set(name, { credential, may, ...more });
  hold('none', null, 'nobody');
  hold('another scheme', null, 'nobody', { header: 'Basic dTpw' });
  hold('empty', null, 'nobody', { header: 'Bearer ' });
  hold('malformed', 'utk-short', 'nobody');
  hold('unknown', `utk-${'A'.repeat(43)}`, 'nobody');
  hold('the operator token', OPERATOR_TOKEN, 'operator');
  hold('a wrong operator token', `${OPERATOR_TOKEN.slice(0, -1)}x`, 'nobody');
  for (const scope of SCOPES) {
    const prefix = scope === 'embeds:read' ? 'ek-' : 'utk-';
    hold(`scope ${scope}`, (await createKey({ prefix, scopes: [scope] })).key, [scope]);
  }
  for (const prefix of KEY_PREFIXES)
    hold(`prefix ${prefix}`, (await createKey({ prefix })).key, HISTORICAL[prefix] ?? []);
  const session = async (key: string) =>
    (await operator.with(key).send('createClientSession', { body: { customerId: 'x' } })).data.token;
  const of = async (...scopes: string[]) => session((await createKey({ scopes })).key);
  const both = ['gateway:chat', 'compression:run'];
  hold('session of both', await of('gateway:invoke', 'compression:invoke'), [], { client: both });
  hold('session for the gateway', await of('gateway:invoke'), [], { client: ['gateway:chat'] });
  hold('session for compression', await of('compression:invoke'), [], { client: ['compression:run'] });
  hold('a forged session', `${(await of('gateway:invoke')).split('.').slice(0, 2).join('.')}.AAAA`, 'nobody');
  const embedding = operator.with(holders.get('prefix ek-')?.credential ?? '');
  hold('embed token', (await embedding.send('createEmbedSession', { body: { customerId: 'x' } })).data.token, 'nobody');
  const gone = await createKey({});
  hold('session of a revoked key', await session(gone.key), 'nobody');
  hold('revoked', gone.key, 'nobody');
  await operator.send('revokeKey', { params: { ...params, keyId: gone.keyId } });
  const over = await createKey({});
  hold('session of an expired key', await session(over.key), 'nobody');
  hold('expired', over.key, 'nobody');
  const expiresAt = new Date(Date.now() + SOON_MS).toISOString();
  await operator.send('updateKey', { params: { ...params, keyId: over.keyId }, body: { expiresAt } });
  await scheduler.wait(SOON_MS);
  await useEach(params.org);
});

/** Uses each key once: that a key was used is recorded then, and not again within the hour. */
async function useEach(organizationId: string): Promise<void> {
  const [first] = entries;
  if (!first) throw new Error('there are operations');
  await Promise.all([...holders.values()].map((holder) => request(first, holder, undefined)));
  const live = [...holders.values()].filter(({ may }) => Array.isArray(may)).length;
  const used = bindings.DB.prepare('SELECT COUNT(last_used_at_ms) AS used FROM api_keys WHERE organization_id = ?');
  await vi.waitUntil(async () => ((await used.bind(organizationId).first<{ used: number }>())?.used ?? 0) >= live, {
    timeout: 60_000,
  });
}

/** The contract's result for the operation and the credential: allowed, or the status of the refusal. */
function expectStatus(security: Security, { may, client }: Holder): 'allowed' | 401 | 403 {
  if (security.kind === 'operator') return may === 'operator' ? 'allowed' : 401;
  if (may === 'nobody' || may === 'operator') return 401;
  if (client) return security.clientScope !== undefined && client.includes(security.clientScope) ? 'allowed' : 403;
  const { scopes, anyScope, legacyGrant } = security;
  if (legacyGrant !== undefined && may.includes(legacyGrant)) return 'allowed';
  const granted = scopes.filter((scope) => may.includes(scope)).length;
  return granted === scopes.length || (anyScope && granted > 0) ? 'allowed' : 403;
}

const SHAPES: readonly [name: string, body: string][] = [
  ['an empty object', '{}'],
  ['no JSON', '{bad'],
  ['an array', '[]'],
  ['null', 'null'],
  ['101 levels', `{"a":${'['.repeat(101)}${']'.repeat(101)}}`],
  ['200,001 values', `[${'0,'.repeat(200_000)}0]`],
];

const FORM_TYPE = 'multipart/form-data; boundary=b';
const part = (name: string) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nx\r\n`;
const FORM_SHAPES: readonly [name: string, body: string][] = [
  ['no form', '{}'],
  ['a form without fields', '--b--\r\n'],
  ['a form without an end', part('model')],
  ['a form of texts', `${['model', 'prompt', 'image', 'file', 'customer[__proto__]'].map(part).join('')}--b--\r\n`],
  ['200 parts', `${part('x').repeat(200)}--b--\r\n`],
];

interface WireError {
  code: string;
  requiredScope?: string;
}

/** Google's form has both in the details. */
function wireError({
  error,
}: {
  error: WireError | { details: [{ reason: string; metadata: WireError }] };
}): WireError {
  return 'details' in error && 'metadata' in (error.details[0] ?? {})
    ? { ...error.details[0].metadata, code: error.details[0].reason }
    : (error as WireError);
}

async function request({ method, path, form }: Entry, { credential, header }: Holder, body: string | undefined) {
  const headers: Record<string, string> = {
    Accept: MEDIA_TYPE,
    ...(body !== undefined && { 'Content-Type': form ? FORM_TYPE : 'application/json' }),
  };
  const authorization = header ?? (credential === null ? null : `Bearer ${credential}`);
  if (authorization !== null) headers.Authorization = authorization;
  const response = await worker.fetch(`https://callmeter.test${path.replace(/\{\w+\}/g, 'x')}`, {
    method,
    headers,
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const error = response.status >= 400 ? wireError(JSON.parse(text)) : null;
  return { status: response.status, code: error?.code, requiredScope: error?.requiredScope, text };
}

const bodiesOf = ({ takesBody, form }: Entry): readonly (readonly [string, string | undefined])[] =>
  takesBody ? (form ? FORM_SHAPES : SHAPES) : [['no body', undefined]];

/**
 * The bodies that a credential sends that may not. Keys differ in their scopes alone, and share the bodies: every body is sent
 * with one of them at least.
 */
function refusedBodies(entry: Entry, name: string): ReturnType<typeof bodiesOf> {
  const bodies = bodiesOf(entry);
  const keys = [...holders].flatMap(([key, holder]) =>
    /^(?:scope|prefix) /.test(key) && expectStatus(entry.security, holder) !== 'allowed' ? [key] : [],
  );
  const index = keys.indexOf(name);
  return index === -1 ? bodies : bodies.filter((_, at) => index % bodies.length === at % keys.length);
}

/** Every row of D1. */
async function databaseText(): Promise<string> {
  const { results } = await bindings.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite_%'`,
  ).all<{ name: string }>();
  const rows = await Promise.all(
    results.map(async ({ name }) => (await bindings.DB.prepare(`SELECT * FROM "${name}"`).all()).results),
  );
  return JSON.stringify(rows);
}

describe('a credential that may not', () => {
  test.each(CREDENTIALS)('%s: is refused with the same answer for every body, and changes nothing', async (name) => {
    const holder = holders.get(name);
    if (!holder) throw new Error(`no credential ${name}`);
    const before = await databaseText();
    const broken: string[] = [];
    for (const entry of entries) {
      const expected = expectStatus(entry.security, holder);
      if (expected === 'allowed') continue;
      const answers = await Promise.all(refusedBodies(entry, name).map(([, body]) => request(entry, holder, body)));
      for (const { status, code, requiredScope } of answers) {
        const unknown = entry.operationId in gatewayOperations ? 'invalid_api_key' : 'UNAUTHORIZED';
        const right = status === expected && code === (expected === 401 ? unknown : 'API_KEY_SCOPE_REQUIRED');
        if (!right) broken.push(`${entry.operationId}: ${status} ${code}, not ${expected}`);
        if (expected === 403 && requiredScope === undefined)
          broken.push(`${entry.operationId}: the missing scope is not named`);
      }
    }
    expect(broken).toEqual([]);
    expect(await databaseText()).toBe(before);
  });
});

describe('a credential that may', () => {
  test.each(CREDENTIALS)('%s: is accepted, and no body makes the service fail', async (name) => {
    const holder = holders.get(name);
    if (!holder) throw new Error(`no credential ${name}`);
    const broken: string[] = [];
    for (const entry of entries) {
      if (expectStatus(entry.security, holder) !== 'allowed') continue;
      for (const [shape, body] of bodiesOf(entry)) {
        const { status, code, text } = await request(entry, holder, body);
        const refusedAccess = status === 401 || code === 'API_KEY_SCOPE_REQUIRED';
        if (status >= 500 || refusedAccess) broken.push(`${entry.operationId}, ${shape}: ${text.slice(0, 200)}`);
        const bound = shape === '101 levels' || shape === '200,001 values';
        if (bound && status !== 413) broken.push(`${entry.operationId}, ${shape}: ${status}, not 413`);
        if (!bound && shape !== 'an empty object' && body !== undefined && status !== 400)
          broken.push(`${entry.operationId}, ${shape}: ${status}, not 400`);
      }
    }
    expect(broken).toEqual([]);
  });

  test('is tested with every operation', () => {
    for (const entry of entries) {
      const names = CREDENTIALS.filter((name) => {
        const holder = holders.get(name);
        return holder !== undefined && expectStatus(entry.security, holder) === 'allowed';
      });
      expect([entry.operationId, names.length > 0]).toEqual([entry.operationId, true]);
    }
  });
});
