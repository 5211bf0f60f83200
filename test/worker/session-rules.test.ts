/**
 * A browser's use of its session harms nobody else: the backend fixes the customer of a call, its labels and the models
 * that may answer, keys are apart from the organization's, and savings stay within the call's own input.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import { asCallId } from '../../src/domain/ids.ts';
import { type Api, createTenant, type Tenant } from '../support/api.ts';
import { answers, ask, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, customerStub, deliverToD1, operator } from '../support/worker.ts';

mockVendor();

const CHAT = '/v1/chat/completions';

let tenant: Tenant & { key: string };
beforeAll(async () => {
  tenant = await newTenant();
});

const createToken = async (body: object = {}, of: Tenant = tenant) =>
  (await of.api.send('createClientSession', { body: { customerId: 'ann', ...body } })).data.token;

/** The gateway's answer to a session, and the resulting call. */
async function chat(token: string, body: object = {}, headers: Record<string, string> = {}, path = CHAT) {
  const { response, callId, rest } = await ask(token, body, bindings, path, headers);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  const json = (await response.json()) as any;
  await rest();
  const call =
    callId === ''
      ? null
      : await customerStub(tenant.organizationId, 'ann').readCall(tenant.organizationId, asCallId(callId));
  return { status: response.status, headers: response.headers, json, error: json.error, callId, call };
}

describe('creating a session', () => {
  const create = (body: object) => tenant.api.send('createClientSession', { body: { customerId: 'ann', ...body } });

  test.each<[string, object]>([
    ['feature', { feature: 7 }],
    ['feature', { feature: 'x'.repeat(201) }],
    ['tags.0', { tags: ['x'.repeat(201)] }],
    ['tags', { tags: Array.from({ length: 51 }, () => 'x') }],
    ['tags', { tags: Array.from({ length: 20 }, () => 'x'.repeat(200)) }],
    ['tags', { tags: Array.from({ length: 10 }, () => '語'.repeat(110)) }],
    ['models', { models: [] }],
    ['models', { models: Array.from({ length: 21 }, (_, n) => `a/${n}`) }],
    ['models', { models: Array.from({ length: 11 }, () => `a/${'x'.repeat(300)}`) }],
    ['models.0', { models: ['x'.repeat(331)] }],
  ])('is refused by the field %s', async (path, body) => {
    const { refusal } = await create(body);
    expect(refusal.code).toBe('BAD_REQUEST');
    expect((refusal.details as { path: string }[]).map((detail) => detail.path)).toEqual([path]);
  });

  test('returns a token that fits into a header of 8 KiB, with any claims', async () => {
    const wide = '語';
    const { token } = (
      await create({
        customerId: wide.repeat(255),
        customerUserId: wide.repeat(255),
        feature: wide.repeat(200),
        tags: Array.from({ length: 4 }, () => wide.repeat(150)),
        models: ['openai/gpt-5.2', ...Array.from({ length: 9 }, (_, n) => `openai/model-${n}`)],
      })
    ).data;
    expect(token.length).toBeGreaterThan(6_000);
    expect(`Authorization: Bearer ${token}`.length).toBeLessThan(8 * 1024);
    vendor.answers = answers;
    const { response } = await ask(token, { model: 'openai/gpt-5.2' }, bindings);
    expect(response.status).toBe(200);
  });
});

describe('a request with a session', () => {
  test('is filed under the feature and the tags of the session', async () => {
    vendor.answers = answers;
    const { call } = await chat(await createToken({ feature: 'helper', tags: ['web', 'beta'] }));
    expect(call).toMatchObject({ status: 'COMPLETED', customerId: 'ann', feature: 'helper', tags: ['web', 'beta'] });
    const plain = await chat(await createToken(), { customer: null, feature: null, tags: null });
    expect([plain.call?.feature, plain.call?.tags]).toEqual([undefined, undefined]);
  });

  test('may name its own customer, in the body and in the header, and a user', async () => {
    vendor.answers = answers;
    const { call } = await chat(
      await createToken(),
      { customer: 'ann', user: 'u-1' },
      { 'x-usage-customer-id': 'ann' },
    );
    expect(call).toMatchObject({ customerId: 'ann', customerUserId: 'u-1' });
  });

  test.each<[string, object]>([
    ['customer', { customer: { id: 'ann', stripeCustomerId: 'cus_other' } }],
    ['customer', { customer: { customer_id: 'ann' } }],
    ['stripe_customer_id', { stripe_customer_id: 'cus_other' }],
    ['feature', { feature: 'other' }],
    ['tags', { tags: ['x'] }],
    ['metadata', { metadata: { a: 'b' } }],
    ['service_tier', { service_tier: 'priority' }],
    [
      'messages.0.content.0.file.file_id',
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] },
    ],
  ])('is refused by the field %s, and no vendor is asked', async (param, body) => {
    const { status, error, call } = await chat(await createToken(), body);
    expect([status, error.code, error.param, call]).toEqual([400, 'FIELD_NOT_ALLOWED', param, null]);
  });

  test('is refused by its field on the other route as well', async () => {
    const { status, error } = await chat(
      await createToken(),
      { messages: null, input: 'x', previous_response_id: 'resp_1' },
      {},
      '/v1/responses',
    );
    expect([status, error.code, error.param]).toEqual([400, 'FIELD_NOT_ALLOWED', 'previous_response_id']);
  });

  test.each<[string, object, Record<string, string>]>([
    ['customer', { customer: 'bob' }, {}],
    ['x-usage-customer-id', {}, { 'x-usage-customer-id': 'bob' }],
  ])('speaks for nobody else by %s', async (param, body, headers) => {
    const { status, error } = await chat(await createToken(), body, headers);
    expect([status, error.code, error.param]).toEqual([403, 'CUSTOMER_FORBIDDEN', param]);
  });

  test('of a backend may send all of these fields', async () => {
    vendor.answers = answers;
    const { status, call } = await chat(tenant.key, {
      customer: { id: 'ann', stripeCustomerId: 'cus_own' },
      feature: 'f',
      tags: ['t'],
      metadata: { a: 'b' },
      from_tomorrow: true,
    });
    expect([status, call?.feature, call?.tags]).toEqual([200, 'f', ['t']]);
  });

  test('uses only the models of the session, and three at most', async () => {
    vendor.answers = answers;
    const token = await createToken({ models: ['gpt-4o-mini', 'openai/gpt-5.2'] });
    expect((await chat(token, { model: 'openai/gpt-4o-mini', models: ['gpt-5.2'] })).status).toBe(200);
    const other = await chat(token, { model: 'gpt-5.2', models: ['gpt-4o'] });
    expect([other.status, other.error.code, other.error.param, other.call]).toEqual([
      403,
      'MODEL_NOT_ALLOWED',
      'models',
      null,
    ]);
    const four = { model: 'gpt-5.2', models: ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1'] };
    const many = await chat(await createToken(), four);
    expect([many.status, many.error.code, many.error.param]).toEqual([400, 'BAD_REQUEST', 'models']);
    expect((await chat(tenant.key, four)).status).toBe(200);
  });
});

describe('the metering interface', () => {
  let session: Api;
  beforeAll(async () => {
    session = operator.with(await createToken());
  });

  test.each<[string, object]>([
    ['customer', { customer: { id: 'ann' } }],
    ['customer', { customer: { stripeCustomerId: 'cus_other' } }],
    ['stripeCustomerId', { stripeCustomerId: 'cus_other' }],
    ['customer_user_id', { customer_user_id: 'u' }],
    ['customerEmail', { customerEmail: 'a@b.example' }],
    ['feature', { feature: 'f' }],
    ['tags', { tags: ['t'] }],
  ])('refuses %s of a session, naming it', async (path, body) => {
    for (const id of ['authorizeCompression', 'compressPrompt'] as const) {
      const { status, refusal } = await session.send(id, { body: { callId: 'x', ...body } });
      expect([status, refusal.code, (refusal.details as { path: string }[])[0]?.path]).toEqual([
        400,
        'FIELD_NOT_ALLOWED',
        path,
      ]);
    }
  });

  test.each([{ customerId: 'ann' }, { customer_id: 'ann' }, { customer: 'ann', tags: null }, {}])(
    'accepts %j',
    async (body) => {
      expect((await session.send('authorizeCompression', { body })).data.customerId).toBe('ann');
    },
  );

  test.each([{ customerId: 'bob' }, { customer_id: 'bob' }, { customer: 'bob' }])(
    'refuses another customer in %j',
    async (body) => {
      const { status, refusal } = await session.send('authorizeCompression', { body });
      expect([status, refusal.code]).toEqual([403, 'CUSTOMER_FORBIDDEN']);
    },
  );
});

describe("a session's idempotency key", () => {
  const key = (name: string) => ({ 'Idempotency-Key': name });

  test('belongs to its own customer: the backend may use the same one for any customer', async () => {
    vendor.answers = answers;
    const { status, callId } = await chat(await createToken(), {}, key('order-1'));
    expect([status, callId]).toEqual([200, expect.stringMatching(/^dk-[\w-]{43}\.s[\w-]{22}\.[0-9a-z]+$/)]);
    const { data } = await tenant.api.send('beginCall', { body: { customerId: 'bob' }, headers: key('order-1') });
    expect(data.callId).toBe('order-1');
    const own = await tenant.api.send('beginCall', { body: { customerId: 'ann' }, headers: key('order-2') });
    expect((await chat(await createToken(), {}, key('order-2'))).status).toBe(200);
    expect(
      (await tenant.api.send('endCall', { body: { callId: own.data.callId, modelUsed: 'gpt-4o' } })).data.status,
    ).toBe('COMPLETED');
    expect((await chat(await createToken({ customerId: 'bob' }), {}, key('order-1'))).status).toBe(200);
  });

  test('replays the answer of the same request, also in another session of the customer, and refuses another request', async () => {
    let asked = 0;
    vendor.answers = (url, body) => {
      asked += 1;
      return answers(url, body);
    };
    const first = await chat(await createToken(), {}, key('again'));
    const second = await chat(await createToken(), {}, key('again'));
    expect([second.callId, second.json, second.headers.get('idempotency-replayed'), asked]).toEqual([
      first.callId,
      first.json,
      'true',
      1,
    ]);
    const other = await chat(await createToken(), { seed: 1 }, key('again'));
    expect([other.status, other.error.code, asked]).toEqual([409, 'IDEMPOTENCY_KEY_CONFLICT', 1]);
    const another = await chat(await createToken({ tags: ['x'] }), {}, key('again'));
    expect([another.status, another.error.code, asked]).toEqual([409, 'IDEMPOTENCY_KEY_CONFLICT', 1]);
  });

  test('names a call that the backend can read', async () => {
    vendor.answers = answers;
    const { callId } = await chat(await createToken(), {}, key('readable'));
    const { data } = await tenant.api.send('readCall', { params: { callId } });
    expect(data).toMatchObject({ callId, customerId: 'ann', status: 'COMPLETED', modelUsed: 'gpt-5.2' });
    const stranger = await createTenant(operator);
    expect((await stranger.api.send('readCall', { params: { callId } })).refusal.code).toBe('CALL_NOT_FOUND');
  });

  test('of a reserved form is an ordinary key, and reaches no call of the backend', async () => {
    vendor.answers = answers;
    const { data } = await tenant.api.send('beginCall', { body: { customerId: 'ann' } });
    const { status, callId } = await chat(await createToken(), {}, key(data.callId));
    expect([status, callId === data.callId]).toEqual([200, false]);
  });

  test('of a savings record does not collide with those of the backend', async () => {
    const { callId } = (await tenant.api.send('beginCall', { body: { customerId: 'ann' }, headers: key('savings') }))
      .data;
    const compress = (api: Api, originalTokens: number) => {
      const promptCompression = { provider: 'toon', originalTokens, compressedTokens: 10, techniques: [] };
      return api.send('compressPrompt', { body: { callId, promptCompression }, headers: key('record-1') });
    };
    const session = operator.with(await createToken());
    expect((await compress(session, 20)).data.savedTokens).toBe(10);
    expect((await compress(tenant.api, 30)).data.savedTokens).toBe(20);
    expect((await compress(session, 20)).headers.get('idempotency-replayed')).toBe('true');
    expect((await compress(session, 21)).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
  });
});

describe('savings that a session reports', () => {
  let session: Api;
  beforeAll(async () => {
    session = operator.with(await createToken());
  });
  const begin = async () =>
    (await tenant.api.send('beginCall', { body: { customerId: 'ann', feature: crypto.randomUUID() } })).data.callId;
  const end = (callId: string, inputTokens: number, more: object = {}) =>
    tenant.api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens, responseTokens: 1, ...more } });
  const report = (api: Api, callId: string, originalTokens: number, compressedTokens: number) =>
    api.send('compressPrompt', {
      body: { callId, promptCompression: { provider: 'toon', originalTokens, compressedTokens, techniques: [] } },
    });
  const compressionOf = async (callId: string) =>
    (await customerStub(tenant.organizationId, 'ann').readCall(tenant.organizationId, asCallId(callId)))?.compression;
  const refused = (field: string, max: number) => ({
    code: 'BAD_REQUEST',
    details: [{ path: `promptCompression.${field}`, message: expect.stringContaining(`at most ${max}:`) }],
  });

  test('are bounded by a constant before the end of the call', async () => {
    const callId = await begin();
    expect((await report(session, callId, 1_000_001, 1_000_000)).refusal).toMatchObject(
      refused('originalTokens', 1_000_000),
    );
    expect((await report(session, callId, 0, 1_000_001)).refusal).toMatchObject(refused('compressedTokens', 1_000_000));
    expect(await compressionOf(callId)).toBeUndefined();
    expect((await report(session, callId, 1_000_000, 0)).data.savedTokens).toBe(1_000_000);
  });

  test('are bounded by the input of the call after its end', async () => {
    const callId = await begin();
    await end(callId, 600);
    expect((await report(session, callId, 700, 601)).refusal).toMatchObject(refused('compressedTokens', 600));
    expect((await report(session, callId, 1_001, 400)).refusal).toMatchObject(refused('originalTokens', 1_000));
    expect(await compressionOf(callId)).toBeUndefined();
    expect((await report(session, callId, 1_000, 400)).data.savedTokens).toBe(600);
  });

  test('before the end are cut to what the end reports', async () => {
    const [large, fair, foreign] = await Promise.all([begin(), begin(), begin()]);
    await report(session, large, 1_000_000, 900);
    await report(session, fair, 1_000, 600);
    await report(tenant.api, foreign, 1_000_000, 0);
    for (const callId of [large, fair, foreign]) await end(callId, 600);
    // 600 tokens at 2,500 nano-USD.
    const cut = { originalTokens: 1_200, compressedTokens: 600, savedTokens: 600, inputCostAvoidedNanoUsd: '1500000' };
    expect(await compressionOf(large)).toMatchObject(cut);
    expect(await compressionOf(fair)).toMatchObject({ originalTokens: 1_000, compressedTokens: 600, savedTokens: 400 });
    // The backend is believed.
    expect(await compressionOf(foreign)).toMatchObject({ originalTokens: 1_000_000, savedTokens: 1_000_000 });
    await deliverToD1(tenant.organizationId, 'ann');
    const sql = 'SELECT saved_tokens AS saved FROM calls WHERE organization_id = ? AND call_id = ?';
    expect(await bindings.DB.prepare(sql).bind(tenant.organizationId, large).first('saved')).toBe(600);
  });

  test('are replaced by those of the end, and are zero on a call that was denied', async () => {
    const callId = await begin();
    await report(session, callId, 1_000_000, 0);
    await end(callId, 600, { promptCompression: { provider: 'toon', originalTokens: 5_000, compressedTokens: 600 } });
    expect(await compressionOf(callId)).toMatchObject({ savedTokens: 4_400 });
    const none = await createTenant(operator, {
      name: 'None',
      limitType: 'BLOCK',
      limits: { standardCalls: 0, premiumCalls: 0 },
    });
    const denied = (await none.api.send('beginCall', { body: { customerId: 'ann' } })).data;
    const own = operator.with(await createToken({}, none));
    expect((await report(own, denied.callId, 1, 0)).refusal).toMatchObject(refused('originalTokens', 0));
  });
});
