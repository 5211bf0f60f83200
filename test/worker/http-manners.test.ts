/**
 * How the service behaves as an HTTP service: scopes, media types, sizes, methods, and bad input. Permissions are
 * in access.test.ts.
 */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { ErrorEnvelope, MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { type Operation, operations } from '../../src/contract/operations.ts';
import { type KeyPrefix, SCOPES } from '../../src/contract/scopes.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { operator, worker } from '../support/worker.ts';

const BASE = 'https://callmeter.test';
const keyed = Object.values<Operation>(operations).filter(({ security }) => security.kind === 'apiKey');

let tenant: Tenant;
let keyOf: (scopes: readonly string[], prefix?: KeyPrefix) => Promise<string>;
let full: string;
/** `embeds:read` is on a key of its own. */
let embed: string;
beforeAll(async () => {
  tenant = await createTenant(operator);
  keyOf = async (scopes, prefix = 'utk-') => {
    const body = { name: 'k', prefix, ...(scopes.length > 0 && { scopes }) };
    return (await operator.send('createKey', { params: { org: tenant.organizationId }, body })).data.key;
  };
  embed = await keyOf([], 'ek-');
  full = await keyOf(SCOPES.filter((scope) => scope !== 'embeds:read'));
});

async function request(operation: Operation, headers: Record<string, string>, body: string | undefined = '{}') {
  const path = operation.path.replace(/\{\w+\}/g, 'x');
  const sent = operation.method === 'GET' || operation.method === 'DELETE' ? undefined : body;
  const type: Record<string, string> = sent === undefined ? {} : { 'Content-Type': 'application/json' };
  const response = await worker.fetch(BASE + path, {
    method: operation.method,
    headers: { ...type, ...headers },
    ...(sent && { body: sent }),
  });
  const answer = await response.json<{
    result: { code: string };
    error: Record<string, unknown>;
    correlationId: string;
  }>();
  return { status: response.status, headers: response.headers, code: answer.result.code, error: answer.error, answer };
}

describe.each(keyed.map((operation) => [operation.operationId, operation] as const))('%s', (_, operation) => {
  const accept = { Accept: MEDIA_TYPE };
  const embeds = operation.security.kind === 'apiKey' && operation.security.scopes.includes('embeds:read');

  test('accepts x-api-key, but Authorization takes precedence', async () => {
    expect((await request(operation, { ...accept, 'x-api-key': full })).status).not.toBe(401);
    expect((await request(operation, { ...accept, 'x-api-key': full, Authorization: 'Bearer nonsense' })).status).toBe(
      401,
    );
  });

  test('is 406 without the vendor media type, also when the scope is missing', async () => {
    const Authorization = `Bearer ${embeds ? await keyOf(['gateway:invoke']) : embed}`;
    for (const Accept of [undefined, '', 'application/json', `*/*, ${MEDIA_TYPE};q=0`, 'text/html']) {
      const headers = { Authorization, ...(Accept !== undefined && { Accept }) };
      expect(await request(operation, headers), Accept).toMatchObject({ status: 406, code: 'NOT_ACCEPTABLE' });
    }
  });

  test("is answered in the vendor media type that was asked for, the contract's own for a wildcard", async () => {
    const Authorization = `Bearer ${embeds ? await keyOf(['gateway:invoke']) : embed}`;
    for (const [Accept, type] of [
      ['*/*', MEDIA_TYPE],
      ['application/json, text/plain, */*', MEDIA_TYPE],
      [`text/html, ${MEDIA_TYPE.toUpperCase()}; q=0.5`, MEDIA_TYPE],
      ['application/vnd.acme.v1+json', 'application/vnd.acme.v1+json'],
    ] as const) {
      const { status, headers } = await request(operation, { Authorization, Accept });
      expect([status, headers.get('Content-Type')], Accept).toEqual([403, type]);
    }
  });

  test('is 403 with the name of a missing scope, before the body is read', async () => {
    if (operation.security.kind !== 'apiKey') throw new Error('only keyed operations are tested here');
    const { scopes, anyScope } = operation.security;
    for (const missing of anyScope ? scopes.slice(0, 1) : scopes) {
      const lacking: readonly string[] = anyScope ? scopes : [missing];
      const Authorization = `Bearer ${await keyOf(SCOPES.filter((scope) => !lacking.includes(scope) && scope !== 'embeds:read'))}`;
      const { status, error } = await request(operation, { ...accept, Authorization }, '{bad');
      expect(status).toBe(403);
      expect(error).toMatchObject({
        code: 'API_KEY_SCOPE_REQUIRED',
        reason: 'API_KEY_SCOPE_REQUIRED',
        requiredScope: missing,
      });
    }
  });

  test('is 405 with Allow for another method, before credentials', async () => {
    const { status, headers, code } = await request({ ...operation, method: 'PATCH' }, {});
    expect([status, code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    const answered = keyed
      .filter(({ path }) => path === operation.path)
      .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    expect(headers.get('Allow')).toBe(answered.sort().join(', '));
  });

  if (operation.body) {
    const authorized = () => ({ ...accept, Authorization: `Bearer ${embeds ? embed : full}` });

    test('is 415 for a body of another type', async () => {
      const type = { 'Content-Type': 'text/plain' };
      expect(await request(operation, { ...authorized(), ...type })).toMatchObject({
        status: 415,
        code: 'UNSUPPORTED_MEDIA_TYPE',
      });
    });

    test('is 413 above 64 KiB or its own limit, and not at it', async () => {
      const { bodyBytesMax = 64 * 1024 } = operation;
      const paddedBody = (bytes: number) => `{"pad":"${'x'.repeat(bytes - 10)}"}`;
      expect((await request(operation, authorized(), paddedBody(bodyBytesMax))).status).not.toBe(413);
      expect(await request(operation, authorized(), paddedBody(bodyBytesMax + 1))).toMatchObject({
        status: 413,
        code: 'PAYLOAD_TOO_LARGE',
      });
    });

    test.each([
      ['nests 101 levels', 'must not nest deeper than 100 levels', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`],
      ['nests 60,000 levels, without an end', 'must not nest deeper than 100 levels', '['.repeat(60_000)],
      // The smaller bodies cannot hold so many.
      ...((operation.bodyBytesMax ?? 0) > 500_000
        ? [['has 200,001 values', 'must have at most 200000 JSON values', `[${'1,'.repeat(199_999)}1]`]]
        : []),
    ] as [string, string, string][])('is 413 where it %s', async (_name, rule, body) => {
      const { status, code, error } = await request(operation, authorized(), body);
      expect([status, code, error.message]).toEqual([413, 'PAYLOAD_TOO_LARGE', `the body ${rule}`]);
    });

    test.each([
      ['no JSON', '{bad'],
      ['an array', '[]'],
      ['a string', '"x"'],
      ['null', 'null'],
      // If nothing is required, an absent body is valid.
      ...(operation.body.safeParse({}).success ? [] : [['nothing', '']]),
    ] as [string, string][])('is 400 for %s', async (_name, body) => {
      const { status, code, answer } = await request(operation, authorized(), body || undefined);
      expect([status, code]).toEqual([400, 'BAD_REQUEST']);
      expect(ErrorEnvelope.parse(answer).error.details?.length).toBeGreaterThan(0);
    });
  }
});

/** That the scopes are asked for, the tests above hold for every operation. */
test.each([
  ['readModelRadar', ['usage:read']],
  ['readEvents', ['events:read']],
  ['readUsageContext', ['customers:read', 'usage:read']],
  ['readForecast', ['customers:read', 'usage:read']],
  ['listLedger', ['customers:read', 'usage:read']],
] as const)('%s needs %j', (id, scopes) => {
  expect([...operations[id].security.scopes].sort()).toEqual(scopes);
});

describe('every answer', () => {
  test("has the caller's correlation id, or a new one", async () => {
    const { answer, headers } = await request(operations.beginCall, { 'x-usage-correlation-id': 'mine-1' });
    expect([answer.correlationId, headers.get('x-usage-correlation-id')]).toEqual(['mine-1', 'mine-1']);
    expect((await request(operations.beginCall, {})).answer.correlationId).toMatch(/^[0-9a-f-]{36}$/);
    expect(
      (await request(operations.beginCall, { 'x-usage-correlation-id': 'x'.repeat(300) })).answer.correlationId,
    ).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('for an organization is not cacheable', async () => {
    const { headers } = await tenant.api.send('provisionCustomer', { body: { customerId: 'cached' } });
    expect(headers.get('Cache-Control')).toBe('private, no-store');
  });

  test('for an unknown route is 404 without asking for a credential', async () => {
    expect(await request({ ...operations.readCall, path: '/nowhere' }, {})).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
    });
  });
});

describe('bad input', () => {
  const BAD_BEGINS: [string, unknown][] = [
    ['customerId', {}],
    ['customerId', { customerId: '' }],
    ['customerId', { customerId: null }],
    ['customerId', { customerId: 7 }],
    ['customerId', { customerId: ['a'] }],
    ['customerId', { customerId: 'x'.repeat(256) }],
    ['customerId', { customerId: 'a\u0000b' }],
    ['customerId', { customerId: '\ud800' }],
    ['customerId', { customerId: '..' }],
    ['customerId', { customerId: '  ' }],
    ['customerId', { customerId: 'a\u0085b' }],
    ['customerId', { customer: { id: {} } }],
    ['customerUserId', { customerId: 'v', customerUserId: 1 }],
    ['customerUserName', { customerId: 'v', customerUserName: 'x'.repeat(201) }],
    ['feature', { customerId: 'v', feature: {} }],
    ['feature', { customerId: 'v', feature: ' ' }],
    ['requested', { customerId: 'v', requested: 'premium' }],
    ['requested', { customerId: 'v', requested: [] }],
    ['requested.premium', { customerId: 'v', requested: { premium: 'yes' } }],
    ['requested.search', { customerId: 'v', requested: { search: 1 } }],
    ['requested.reasoningLevel', { customerId: 'v', requested: { reasoningLevel: 'EXTREME' } }],
    ['holdUsd', { customerId: 'v', holdUsd: -1 }],
    ['holdUsd', { customerId: 'v', holdUsd: '5' }],
    ['idempotencyKey', { customerId: 'v', idempotencyKey: '' }],
    ['idempotencyKey', { customerId: 'v', idempotencyKey: 'a b' }],
    ['idempotencyKey', { customerId: 'v', idempotencyKey: 'x'.repeat(256) }],
    ['idempotencyKey', { customerId: 'v', idempotencyKey: 5 }],
    ['idempotency', { customerId: 'v', idempotency: {} }],
    ['tags', { customerId: 'v', tags: 'a' }],
    ['tags.0', { customerId: 'v', tags: [1] }],
    ['tags.1', { customerId: 'v', tags: ['a', ''] }],
    ['tags', { customerId: 'v', tags: Array(51).fill('t') }],
    ['batch', { customerId: 'v', batch: 'true' }],
    ['pricingMode', { customerId: 'v', pricingMode: 'BATCH' }],
    ['stripeCustomerId', { customerId: 'v', stripeCustomerId: false }],
  ];
  const BAD_ENDS: [string, unknown][] = [
    ['callId', {}],
    ['callId', { callId: 5 }],
    ['callId', { callId: '' }],
    ['inputTokens', { callId: 'bad', inputTokens: -1 }],
    ['inputTokens', { callId: 'bad', inputTokens: 1.5 }],
    ['inputTokens', { callId: 'bad', inputTokens: '10' }],
    ['inputTokens', { callId: 'bad', inputTokens: 1e300 }],
    ['responseTokens', { callId: 'bad', responseTokens: -5 }],
    ['responseTokens', { callId: 'bad', responseTokens: true }],
    ['reasoningTokens', { callId: 'bad', reasoningTokens: 0.1 }],
    ['cachedInputTokens', { callId: 'bad', inputTokens: 10, cachedInputTokens: 11 }],
    ['cachedInputTokens', { callId: 'bad', cachedTokens: 1 }],
    ['cacheWriteInputTokens', { callId: 'bad', inputTokens: 10, cachedInputTokens: 6, cacheWriteInputTokens: 5 }],
    ['searches', { callId: 'bad', searches: -1 }],
    ['searches', { callId: 'bad', searches: 1.5 }],
    ['audio', { callId: 'bad', audio: -0.5 }],
    ['audioSeconds', { callId: 'bad', audioSeconds: 0.0001 }],
    ['reasoningEffort', { callId: 'bad', reasoningEffort: 'extreme' }],
    ['reasoningEffortSource', { callId: 'bad', reasoningEffortSource: 'guess' }],
    ['reasoningBudgetTokens', { callId: 'bad', reasoningBudgetTokens: -1 }],
    ['isPremium', { callId: 'bad', isPremium: 'true' }],
    ['error', { callId: 'bad', error: 'boom' }],
    ['error.code', { callId: 'bad', error: { code: null, message: 'm' } }],
    ['error', { callId: 'bad', error: [] }],
    ['error.code', { callId: 'bad', error: {} }],
    ['error.message', { callId: 'bad', error: { code: 'X' } }],
    ['error.code', { callId: 'bad', error: { code: '', message: 'm' } }],
    ['error.message', { callId: 'bad', error: { code: 'X', message: '   ' } }],
    ['error.code', { callId: 'bad', error: { code: ' ', message: 'm' } }],
    [
      'promptCompression.provider',
      { callId: 'bad', promptCompression: { provider: 'zip', originalTokens: 1, compressedTokens: 1 } },
    ],
    [
      'promptCompression.originalTokens',
      { callId: 'bad', promptCompression: { provider: 'toon', originalTokens: -1, compressedTokens: 1 } },
    ],
    [
      'promptCompression.compressedTokens',
      { callId: 'bad', promptCompression: { provider: 'toon', originalTokens: 1 } },
    ],
    ['pricingMode', { callId: 'bad', pricingMode: 'half' }],
    ['modelUsed', { callId: 'bad', modelUsed: '' }],
    ['providerUsed', { callId: 'bad', providerUsed: 9 }],
  ];

  test.each(BAD_BEGINS)('begin: %s in %j', async (field, body) => {
    const { status, refusal } = await tenant.api.send('beginCall', { body });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect(refusal.message).toContain(field);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
  });

  test.each(BAD_ENDS)('end: %s in %j', async (field, body) => {
    const { status, refusal } = await tenant.api.send('endCall', { body });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
  });

  test('records nothing: no customer, and the call stays open', async () => {
    expect((await tenant.api.send('readUsage', { params: { customerId: 'v' } })).refusal.code).toBe(
      'SUBSCRIPTION_NOT_FOUND',
    );
    await tenant.api.send('beginCall', { body: { customerId: 'w' }, headers: { 'Idempotency-Key': 'bad' } });
    for (const [, body] of BAD_ENDS) await tenant.api.send('endCall', { body });
    expect((await tenant.api.send('readCall', { params: { callId: 'bad' } })).data.status).toBe('IN_PROGRESS');
  });

  test.each(['', 'a b', 'ä', 'x'.repeat(256)])('the header Idempotency-Key is 400 as %j', async (key) => {
    const reply = await tenant.api.send('beginCall', {
      body: { customerId: 'v' },
      headers: { 'Idempotency-Key': key },
    });
    expect(reply.refusal).toMatchObject({ code: 'BAD_REQUEST', details: [{ path: 'Idempotency-Key' }] });
  });

  test('bytes that are not UTF-8 are refused, because replacement characters could merge two customers', async () => {
    const headers = { Authorization: `Bearer ${full}`, Accept: MEDIA_TYPE, 'Content-Type': 'application/json' };
    for (const bytes of [[0xff], [0xfe], [0xc0, 0xaf], [0xed, 0xa0, 0x80]]) {
      const body = new Uint8Array([
        ...new TextEncoder().encode('{"customerId":"m'),
        ...bytes,
        ...new TextEncoder().encode('"}'),
      ]);
      expect((await worker.fetch(`${BASE}/call_begin`, { method: 'POST', headers, body })).status).toBe(400);
    }
    const packed = await worker.fetch(`${BASE}/call_begin`, {
      method: 'POST',
      headers: { ...headers, 'Content-Encoding': 'gzip' },
      body: '{}',
    });
    expect(packed.status).toBe(415);
  });

  test('what the service itself sends comes back as it is: an item of a list is provisioned again', async () => {
    const own = await createTenant(operator);
    await own.api.send('provisionCustomer', { body: { customerId: 'listed' } });
    const listed = async () => (await own.api.send('listCustomers')).data.items;
    await vi.waitFor(async () => expect(await listed()).toHaveLength(1), { timeout: 60_000, interval: 100 });
    const [item] = await listed();
    expect(item).toMatchObject({ customerEmail: null, stripeCustomerId: null });
    expect((await own.api.send('provisionCustomer', { body: item })).data.newCustomer).toBe(false);
  });

  test('null is absent: the end of a call with null in every other field is recorded', async () => {
    const begin = { customerId: 'nulls', customer: null, feature: '', tags: null, requested: { premium: null } };
    const { callId, feature } = (await tenant.api.send('beginCall', { body: begin })).data;
    expect(feature).toBe('');
    const body = { callId, inputTokens: 7, responseTokens: null, error: null, promptCompression: null, tags: null };
    const ended = (await tenant.api.send('endCall', { body })).data;
    expect(ended).toMatchObject({ status: 'COMPLETED', usage: { inputTokens: 7, responseTokens: 0 } });
    // The same payload, without the nulls.
    const again = await tenant.api.send('endCall', { body: { callId, inputTokens: 7 } });
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
  });

  test.each([
    ['readUsageSummary', 'customerid'],
    ['readUsageAnomalies', 'customer'],
    ['readUsageContext', 'organization_id'],
    ['readForecast', 'horizon'],
    ['listCustomers', 'plan'],
    ['readCompressionSummary', 'feature'],
  ] as const)('a parameter that the query of %s does not have is 400 that names it', async (id, name) => {
    const query = { ...(id === 'readForecast' && { metric: 'calls' }), [name]: 'alice' };
    const { status, refusal } = await tenant.api.send(id, { params: { customerId: 'alice' }, query });
    expect([status, refusal.details]).toMatchObject([400, [{ path: name }]]);
  });

  test('the parameters of a query may be in snake_case, and camelCase wins', async () => {
    const send = (query: Record<string, string>) => tenant.api.send('readUsageSummary', { query });
    expect((await send({ customer_id: '..' })).refusal.details).toMatchObject([{ path: 'customerId' }]);
    expect((await send({ customer_id: '..', customerId: 'alice' })).status).toBe(200);
    const params = { customerId: 'nulls' };
    const context = { forecast_metric: 'dollars', include_forecast: 'false', include_signals: 'false' };
    const read = await tenant.api.send('readUsageContext', { params, query: context });
    expect([read.status, read.data.forecast, read.data.signals]).toEqual([200, undefined, undefined]);
  });

  test('members such as __proto__ are ignored like every unknown field', async () => {
    const body =
      '{"customerId":"proto","__proto__":{"customerId":"x"},"constructor":{"prototype":1},"responseStatusCode":200}';
    expect((await tenant.api.send('beginCall', { body })).data.newCustomer).toBe(true);
  });
});
