/**
 * Prompt compression over HTTP: savings recorded on calls, who may be billed, the profile, and the summary (contract
 * 4.2 rule 6, 4.15, 4.16).
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_COMPRESSION_PROFILE, TECHNIQUE_NAMES } from '../../src/contract/compression.ts';
import type { Call } from '../../src/domain/call.ts';
import { type Api, createTenant, type Tenant } from '../support/api.ts';
import { readRecords } from '../support/call-records.ts';
import { fundedCustomer } from '../support/customer.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';

const COUNTS = { provider: 'toon', originalTokens: 1_000, compressedTokens: 600, techniques: ['toon', 'whitespace'] };
/** 2.50 USD per million input tokens. */
const MODEL = 'gpt-4o';
const NANO_PER_TOKEN = 2_500n;

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator);
});

async function begin(callId: string, more: object = {}, of = tenant): Promise<string> {
  const body = { customerId: 'ann', ...more };
  return (await of.api.send('beginCall', { body, headers: { 'Idempotency-Key': callId } })).data.callId;
}
const end = async (callId: string, more: object = {}, of = tenant) =>
  (await of.api.send('endCall', { body: { callId, modelUsed: MODEL, inputTokens: 600, responseTokens: 10, ...more } }))
    .data;
const compress = (callId: string, change: object = {}, headers: Record<string, string> = {}, of = tenant) =>
  of.api.send('compressPrompt', { body: { callId, promptCompression: { ...COUNTS, ...change } }, headers });

/** The data of a call in D1, after everything has arrived there. */
async function projected(callId: string, customerId = 'ann', of = tenant) {
  await deliverToD1(of.organizationId, customerId);
  const sql = `SELECT original_tokens, compressed_tokens, saved_tokens, CAST(cost_avoided_nano_usd AS TEXT) AS avoided, compression_techniques
    FROM calls WHERE organization_id = ? AND call_id = ?`;
  const row = await bindings.DB.prepare(sql)
    .bind(of.organizationId, callId)
    .first<Record<string, string | number | null>>();
  const records = await readRecords(bindings.DB, 'organization_id = ? AND call_id = ?', of.organizationId, callId);
  return { row, call: JSON.parse(records.get(callId) ?? '') as Call };
}

describe('recorded savings', () => {
  test('answer every field, with figures derived from the counts', async () => {
    const callId = await begin('fields');
    const reply = await compress(callId, { savedTokens: 999, tokenSavingsRatio: 0.99 });
    expect(reply.body.result.code).toBe('PROMPT_COMPRESSION_RECORDED');
    expect(reply.data).toEqual({ callId, updated: true, ...COUNTS, savedTokens: 400, tokenSavingsRatio: 0.4 });
  });

  test.each([
    ['a prompt that grew', { compressedTokens: 1_001 }, 0, 0],
    ['one that stayed', { compressedTokens: 1_000 }, 0, 0],
    ['an empty one', { originalTokens: 0, compressedTokens: 0 }, 0, 0],
    ['an empty one that grew', { originalTokens: 0, compressedTokens: 5 }, 0, 0],
    ['one that was dropped whole', { compressedTokens: 0 }, 1_000, 1],
    ['one of the largest', { originalTokens: 1_000_000_000, compressedTokens: 0, techniques: [] }, 1_000_000_000, 1],
  ])('of %s are never negative', async (of, change, savedTokens, tokenSavingsRatio) => {
    const { data } = await compress(await begin(`of ${of}`.replaceAll(' ', '-')), change);
    expect(data).toMatchObject({ savedTokens, tokenSavingsRatio });
  });

  test('get their price with the end, or at once after it, and reach D1', async () => {
    const early = await begin('early');
    await compress(early);
    expect((await projected(early)).row).toMatchObject({ original_tokens: 1_000, saved_tokens: 400, avoided: null });
    await end(early);
    const avoided = String(400n * NANO_PER_TOKEN);
    const { row, call } = await projected(early);
    const columns = { original_tokens: 1_000, compressed_tokens: 600, saved_tokens: 400, avoided };
    expect(row).toMatchObject({ ...columns, compression_techniques: '["toon","whitespace"]' });
    expect(call.compression).toEqual({
      ...COUNTS,
      savedTokens: 400,
      tokenSavingsRatio: 0.4,
      inputCostAvoidedNanoUsd: avoided,
      recordedAtMs: expect.any(Number),
    });

    const late = await begin('late');
    await end(late);
    expect((await projected(late)).row).toMatchObject({
      original_tokens: null,
      avoided: null,
      compression_techniques: null,
    });
    await compress(late);
    expect((await projected(late)).row).toMatchObject(columns);
    // Nothing else of the call changed.
    expect((await projected(late)).call).toMatchObject({
      status: 'COMPLETED',
      outcome: { usage: { inputTokens: 600 } },
    });
  });

  test('reported with the end replace earlier ones, and a later record replaces both', async () => {
    const callId = await begin('thrice');
    await compress(callId);
    const promptCompression = { provider: 'heuristic', originalTokens: 800, compressedTokens: 700 };
    await end(callId, { promptCompression });
    expect((await projected(callId)).row).toMatchObject({
      saved_tokens: 100,
      avoided: '250000',
      compression_techniques: '[]',
    });
    await compress(callId, { compressedTokens: 999 });
    expect((await projected(callId)).row).toMatchObject({ saved_tokens: 1, avoided: '2500' });
  });

  test('have no cost if the price is not known, and half of it in batch mode', async () => {
    const unknown = await begin('unknown-price');
    await compress(unknown);
    await end(unknown, { modelUsed: 'no-such-model-anywhere' });
    expect((await projected(unknown)).row).toMatchObject({ saved_tokens: 400, avoided: null });
    const batch = await begin('batch', { pricingMode: 'batch' });
    await compress(batch);
    await end(batch);
    expect((await projected(batch)).row).toMatchObject({ avoided: String((400n * NANO_PER_TOKEN) / 2n) });
  });

  test('do not change the cost of the call or its consumption', async () => {
    const [plain, compressed] = [
      await begin('plain', { customerId: 'bob' }),
      await begin('saved', { customerId: 'bob' }),
    ];
    await compress(compressed);
    const [a, b] = [await end(plain), await end(compressed)];
    expect([b.costUsdNano, b.usage, b.metered]).toEqual([a.costUsdNano, a.usage, a.metered]);
  });

  test('can also be recorded for a denied call and for one that timed out', async () => {
    const own = await createTenant(operator, { name: 'None', limitType: 'BLOCK', limits: { standardCalls: 0 } });
    const callId = await begin('denied', {}, own);
    expect((await compress(callId, {}, {}, own)).data.updated).toBe(true);
    expect((await own.api.send('readCall', { params: { callId } })).data.status).toBe('NOT_ALLOWED');
  });

  test('are recorded once for a key: replayed, and 409 with another payload', async () => {
    const callId = await begin('keyed');
    const headers = { 'Idempotency-Key': 'compress-1' };
    const first = await compress(callId, {}, headers);
    const again = await compress(callId, {}, headers);
    expect([again.headers.get('Idempotency-Replayed'), again.body.result, again.data]).toEqual([
      'true',
      first.body.result,
      first.data,
    ]);
    expect((await compress(callId, { compressedTokens: 1 }, headers)).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    // The key of a call is another key.
    expect((await compress(callId, {}, { 'Idempotency-Key': callId })).status).toBe(200);
  });

  test.each([
    ['promptCompression.techniques', { techniques: undefined }],
    ['promptCompression.techniques', { techniques: 'toon' }],
    ['promptCompression.techniques.0', { techniques: [1] }],
    ['promptCompression.provider', { provider: 'other' }],
    ['promptCompression.provider', { provider: undefined }],
    ['promptCompression.originalTokens', { originalTokens: -1 }],
    ['promptCompression.originalTokens', { originalTokens: undefined }],
    ['promptCompression.originalTokens', { originalTokens: 1.5 }],
    ['promptCompression.originalTokens', { originalTokens: 1_000_000_000_001 }],
    ['promptCompression.compressedTokens', { compressedTokens: -1 }],
    ['promptCompression.compressedTokens', { compressedTokens: '600' }],
  ])('refuse %s in %j', async (field, change) => {
    const { status, refusal } = await compress('bad', change);
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
  });

  test('refuse a body without a call, or without counts', async () => {
    for (const [field, body] of [
      ['callId', { promptCompression: COUNTS }],
      ['promptCompression', { callId: 'bad' }],
    ] as const) {
      const { refusal } = await tenant.api.send('compressPrompt', { body });
      expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
    }
  });
});

describe("a browser's session", () => {
  let session: Api;
  beforeAll(async () => {
    await begin('session-of-ann');
    await begin('session-of-bob', { customerId: 'bob' });
    const { token, scopes } = (await tenant.api.send('createClientSession', { body: { customerId: 'ann' } })).data;
    expect(scopes).toContain('compression:run');
    session = operator.with(token);
  });
  const compressBy = (api: Api, callId: string) =>
    api.send('compressPrompt', { body: { callId, promptCompression: COUNTS } });

  test("records savings on its own customer's calls alone", async () => {
    expect((await compressBy(session, 'session-of-ann')).data.updated).toBe(true);
    const reply = await compressBy(session, 'session-of-bob');
    expect([reply.status, reply.refusal.code]).toEqual([404, 'CALL_NOT_FOUND']);
    expect((await compressBy(tenant.api, 'session-of-bob')).status).toBe(200);
  });

  test('reads the profile, and is authorized for its own customer alone', async () => {
    expect((await session.send('readCompressionProfile')).data.techniques.length).toBeGreaterThan(0);
    const { refusal } = await session.send('authorizeCompression', { body: { customerId: 'bob' } });
    expect(refusal.code).toBe('CUSTOMER_FORBIDDEN');
    const { data } = await session.send('authorizeCompression', { body: { customerId: 'ann' } });
    expect(data).toEqual({ authorized: true, organizationId: tenant.organizationId, customerId: 'ann' });
  });
});

describe('authorize', () => {
  const PAYG = { name: 'Pay', limitType: 'BLOCK', payg: { enabled: true } };
  let own: Tenant;
  beforeAll(async () => {
    own = await createTenant(operator, PAYG);
  });
  const authorize = (body?: object, headers: Record<string, string> = {}, of = own) =>
    of.api.send('authorizeCompression', { body, headers });

  test('accepts an empty body, for the customer `default`', async () => {
    for (const reply of [
      await authorize(),
      await authorize({}),
      await authorize(undefined, { 'Content-Type': 'application/json' }),
    ]) {
      expect(reply.body.result.code).toBe('COMPRESSION_AUTHORIZED');
      expect(reply.data).toEqual({ authorized: true, organizationId: own.organizationId, customerId: 'default' });
    }
    // Nobody was provisioned by asking.
    expect((await own.api.send('readUsage', { params: { customerId: 'default' } })).status).toBe(404);
  });

  test('is 402 for a pay-as-you-go customer without credit, until there is some', async () => {
    const { grant } = await fundedCustomer(own, 'broke');
    const reply = await authorize({ customerId: 'broke' });
    expect([reply.status, reply.refusal.code, reply.refusal.customerId]).toEqual([402, 'CREDIT_REQUIRED', 'broke']);
    await grant({ kind: 'USD', amountUsd: '0.000000001' });
    expect((await authorize({ customer_id: 'broke' })).data.customerId).toBe('broke');
    expect((await authorize({ customer: { id: 'never-seen' } })).data.customerId).toBe('never-seen');
  });

  test('subtracts what open calls hold: a balance that is held completely is no credit', async () => {
    const held = await createTenant(operator, { ...PAYG, limits: { standardCalls: 0 } });
    await fundedCustomer(held, 'holder', { usd: '1' });
    expect((await authorize({ customerId: 'holder' }, {}, held)).status).toBe(200);
    await begin('hold', { customerId: 'holder', holdUsd: 1 }, held);
    expect((await authorize({ customerId: 'holder' }, {}, held)).status).toBe(402);
  });

  test('needs no credit for a customer whose plan does not require it', async () => {
    await fundedCustomer(tenant, 'flat');
    expect((await authorize({ customerId: 'flat' }, {}, tenant)).status).toBe(200);
  });

  test('names customerId if it is invalid', async () => {
    expect((await authorize({ customerId: 5 })).refusal.details).toEqual([
      { path: 'customerId', message: expect.any(String) },
    ]);
  });
});

describe('the profile', () => {
  test('is the default until it is set, and then the one that was set, for that organization only', async () => {
    const own = await createTenant(operator);
    const first = await own.api.send('readCompressionProfile');
    expect(first.body.result.code).toBe('COMPRESSION_PROFILE_READ');
    expect(first.data).toEqual({
      techniques: [...TECHNIQUE_NAMES],
      aggressiveness: 0.3,
      protectedPhrases: [],
      minInputTokens: 0,
      meaningMayChange: false,
    });
    const profile = {
      techniques: ['toon', 'json'],
      aggressiveness: 1,
      protectedPhrases: ['Acme\nCorp'],
      minInputTokens: 250,
    };
    const saved = await own.api.send('saveCompressionProfile', { body: profile });
    expect([saved.body.result.code, saved.data]).toEqual([
      'COMPRESSION_PROFILE_SAVED',
      { ...profile, meaningMayChange: true },
    ]);
    expect((await own.api.send('readCompressionProfile')).data).toEqual({ ...profile, meaningMayChange: true });
    expect((await tenant.api.send('readCompressionProfile')).data).toEqual({
      ...DEFAULT_COMPRESSION_PROFILE,
      meaningMayChange: false,
    });
    // An omitted field returns to its default.
    await own.api.send('saveCompressionProfile', { body: { aggressiveness: 0 } });
    expect((await own.api.send('readCompressionProfile')).data).toEqual({
      ...DEFAULT_COMPRESSION_PROFILE,
      aggressiveness: 0,
      meaningMayChange: false,
    });
  });

  test.each([
    ['techniques.0', { techniques: ['magic'] }],
    ['techniques', { techniques: ['toon', 'toon'] }],
    ['techniques', { techniques: 'toon' }],
    ['aggressiveness', { aggressiveness: -0.1 }],
    ['aggressiveness', { aggressiveness: 1.1 }],
    ['aggressiveness', { aggressiveness: '1' }],
    ['protectedPhrases.0', { protectedPhrases: [' '] }],
    ['protectedPhrases.0', { protectedPhrases: ['x'.repeat(201)] }],
    ['protectedPhrases', { protectedPhrases: Array(101).fill('x') }],
    ['minInputTokens', { minInputTokens: -1 }],
    ['minInputTokens', { minInputTokens: 0.5 }],
  ])('refuses %s in %j', async (field, body) => {
    const { status, refusal } = await tenant.api.send('saveCompressionProfile', { body });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
  });
});

describe('the summary', () => {
  let own: Tenant;
  beforeAll(async () => {
    own = await createTenant(operator);
    const calls: [string, object, object, object | null][] = [
      [
        'a',
        { feature: 'chat' },
        {},
        { originalTokens: 1_000, compressedTokens: 600, techniques: ['toon', 'whitespace'] },
      ],
      ['b', { feature: 'chat' }, {}, { originalTokens: 500, compressedTokens: 400, techniques: ['toon', 'toon'] }],
      [
        'c',
        { feature: 'search' },
        { modelUsed: 'no-such-model' },
        { originalTokens: 100, compressedTokens: 90, techniques: [] },
      ],
      ['d', {}, {}, { originalTokens: 100, compressedTokens: 200, techniques: ['filler'] }],
      ['e', { feature: 'chat' }, {}, null],
    ];
    for (const [callId, begun, ended, counts] of calls) {
      await begin(callId, begun, own);
      if (counts) await compress(callId, counts, {}, own);
      await end(callId, ended, own);
    }
    await deliverToD1(own.organizationId, 'ann');
  });
  const summary = async (query: Record<string, string> = {}, of = own) =>
    (await of.api.send('readCompressionSummary', { query })).data;
  const figures = (
    calls: number,
    unpricedCalls: number,
    originalTokens: number,
    compressedTokens: number,
    savedTokens: number,
    avoided: number,
  ) => ({
    calls,
    unpricedCalls,
    originalTokens,
    compressedTokens,
    savedTokens,
    tokenSavingsRatio: savedTokens / originalTokens,
    costAvoidedUSD: avoided / 1e9,
    costAvoidedUsdNano: String(avoided),
  });

  test('sums what the calls recorded, by feature and by technique', async () => {
    const { period, asOf, ...rest } = await summary();
    expect(rest).toEqual({
      ...figures(4, 1, 1_700, 1_290, 510, 500 * 2_500),
      byFeature: [
        { feature: 'chat', ...figures(2, 0, 1_500, 1_000, 500, 500 * 2_500) },
        { feature: 'search', ...figures(1, 1, 100, 90, 10, 0) },
        { feature: null, ...figures(1, 0, 100, 200, 0, 0) },
      ],
      byTechnique: [
        { technique: 'toon', ...figures(2, 0, 1_500, 1_000, 500, 500 * 2_500) },
        { technique: 'whitespace', ...figures(1, 0, 1_000, 600, 400, 400 * 2_500) },
        { technique: 'filler', ...figures(1, 0, 100, 200, 0, 0) },
      ],
    });
    expect(Date.parse(period.endedAt) - Date.parse(period.startedAt)).toBe(30 * 86_400_000);
    expect(asOf).toBe(period.endedAt);
  });

  test('covers the requested period, including its start and excluding its end', async () => {
    const startedAtMs = (await projected('a', 'ann', own)).call.startedAtMs;
    const at = (ms: number) => new Date(ms).toISOString();
    expect((await summary({ from: at(startedAtMs) })).originalTokens).toBe(1_700);
    expect((await summary({ to: at(startedAtMs) })).calls).toBe(0);
    expect(await summary({ to: at(startedAtMs) })).toMatchObject({
      tokenSavingsRatio: 0,
      costAvoidedUsdNano: '0',
      byFeature: [],
      byTechnique: [],
    });
    expect((await summary({ from: at(startedAtMs), to: at(startedAtMs + 1) })).calls).toBeGreaterThanOrEqual(1);
    const period = { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' };
    expect((await summary(period)).period).toEqual({
      startedAt: '2026-01-01T00:00:00.000Z',
      endedAt: '2026-02-01T00:00:00.000Z',
    });
  });

  test("covers only the organization's own calls", async () => {
    expect((await summary({}, await createTenant(operator))).calls).toBe(0);
  });

  test.each([
    ['from', { from: '2026-01-01' }],
    ['to', { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }],
    ['to', { from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }],
    ['from', { from: '9999-01-01T00:00:00Z' }],
  ])('names %s in %j', async (field, query) => {
    const { status, refusal } = await own.api.send('readCompressionSummary', { query });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
  });
});

describe('an operator', () => {
  let own: Tenant;
  let params: { org: string };
  beforeAll(async () => {
    own = await createTenant(operator);
    params = { org: own.organizationId };
  });
  const events = async () =>
    (await operator.send('listEvents', { query: { organizationId: own.organizationId, limit: '200' } })).data.items;

  test("sets and reads the profile and the summary that the organization's own key has, with an event", async () => {
    const body = { techniques: ['json' as const], aggressiveness: 0.7 };
    const saved = await operator.send('operatorSaveCompressionProfile', { params, body });
    expect(saved.data).toEqual({ ...DEFAULT_COMPRESSION_PROFILE, ...body, meaningMayChange: true });
    expect((await own.api.send('readCompressionProfile')).data).toEqual(saved.data);
    expect((await operator.send('readOrganizationCompressionProfile', { params })).data).toEqual(saved.data);
    const [event] = await events();
    expect(event).toMatchObject({ action: 'compression_profile.put', before: { aggressiveness: 0.3 }, after: body });

    const query = { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' };
    const { asOf: _asOf, ...summary } = (await operator.send('readOrganizationCompressionSummary', { params, query }))
      .data;
    expect((await own.api.send('readCompressionSummary', { query })).data).toMatchObject(summary);
  });

  test('starts an estimate once per idempotency key, with one event, and follows it', async () => {
    await own.api.send('storeSample', { body: { provider: 'openai', customerId: 'ann', input: 'Please be brief.' } });
    const body = { customerId: 'ann' };
    const start = (change = {}) => {
      const headers = { 'Idempotency-Key': 'an-estimate' };
      return operator.send('operatorStartCompressionJob', { params, body: { ...body, ...change }, headers });
    };
    const { jobId } = (await start()).data;
    expect((await start()).data.jobId).toBe(jobId);
    expect((await start({ customerId: 'bob' })).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    const started = (await events()).filter(({ action }) => action === 'compression_job.start');
    expect(started).toEqual([expect.objectContaining({ before: null, after: { jobId, ...body } })]);
    const read = async () =>
      (await operator.send('readOrganizationCompressionJob', { params: { ...params, jobId } })).data;
    await expect.poll(async () => (await read()).status, { timeout: 60_000 }).toBe('COMPLETED');
    expect(await read()).toEqual((await own.api.send('readCompressionJob', { params: { jobId } })).data);
    expect((await read()).progress).toEqual({ total: 1, done: 1 });
  });

  test('is told of an organization and an estimate that do not exist', async () => {
    const nobody = { org: crypto.randomUUID() };
    expect((await operator.send('readOrganizationCompressionProfile', { params: nobody })).refusal.code).toBe(
      'NOT_FOUND',
    );
    const { refusal } = await operator.send('readOrganizationCompressionJob', { params: { ...params, jobId: 'none' } });
    expect(refusal.code).toBe('COMPRESSION_JOB_NOT_FOUND');
    const wrong = await operator.send('operatorSaveCompressionProfile', {
      params,
      body: { aggressiveness: 2 } as never,
    });
    expect(wrong.refusal).toMatchObject({ details: [{ path: 'aggressiveness' }] });
  });
});
