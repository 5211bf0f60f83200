/**
 * The main job over HTTP: begin, end, read, on real prices; the stored parts of a call, and those that are not.
 */
import { runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, customerStub, deliverToD1, operator } from '../support/worker.ts';

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, {
    name: 'Pro',
    limitType: 'DOWNGRADE',
    reasoningLevel: 'MEDIUM',
    limits: {
      premiumCalls: 2,
      standardCalls: 10,
      premiumTokens: 1_000,
      standardTokens: 500,
      searches: 3,
      audioSeconds: 60,
    },
    features: { image: false },
  });
});

let serial = 0;
async function begin(customerId: string, body: object = {}) {
  serial += 1;
  return (
    await tenant.api.send('beginCall', {
      body: { customerId, ...body },
      headers: { 'Idempotency-Key': `call-${serial}` },
    })
  ).data;
}
const end = async (callId: string, body: object = {}) =>
  (await tenant.api.send('endCall', { body: { callId, ...body } })).data;
const read = async (callId: string) => (await tenant.api.send('readCall', { params: { callId } })).data;
const meters = async (customerId: string) =>
  (await tenant.api.send('readUsage', { params: { customerId } })).data.meters;

describe('the main job', () => {
  test('a call is begun, ended, priced to the nano-USD, read back, and projected to D1', async () => {
    const begun = await begin('main', {
      requested: { premium: true, reasoningLevel: 'HIGH' },
      feature: 'chat',
      tags: ['x'],
    });
    expect(begun).toMatchObject({
      newCustomer: true,
      feature: 'chat',
      tags: ['x'],
      allowed: { premium: true, standard: false, audio: false, image: false, search: false, reasoningLevel: 'MEDIUM' },
      entitlementHints: { suggestedModelTier: 'premium', reasoningLevel: 'MEDIUM', policy: 'DOWNGRADE' },
      remainingRatios: { premiumCalls: 0.5, premiumTokens: 1 },
      balances: { tokensRemaining: 1_500, searchesRemaining: 3, audioSecondsRemaining: 60 },
      plan: { id: 'test', name: 'Pro', version: '1' },
    });
    expect(await read(begun.callId)).toMatchObject({
      status: 'IN_PROGRESS',
      pricingStatus: 'PENDING',
      costUSD: null,
      endTime: null,
    });

    const ended = await end(begun.callId, {
      providerUsed: 'openai',
      modelUsed: 'gpt-4o',
      inputTokens: 1_000,
      cachedTokens: 200,
      responseTokens: 500,
      reasoningTokens: 100,
      searches: 1,
      audioSeconds: 12.5,
      reasoningEffort: 'low',
      reasoningEffortSource: 'provider_response',
    });
    // 800 x 2.50 + 200 x 1.25 + 500 x 10.00 USD per million, and a search at 10.00 USD per thousand
    expect(ended).toMatchObject({
      status: 'COMPLETED',
      costUsdNano: '17250000',
      costUSD: 0.01725,
      standardCostUSD: 0.01725,
      usage: {
        inputTokens: 1_000,
        cachedInputTokens: 200,
        cacheWriteInputTokens: 0,
        billableInputTokens: 800,
        responseTokens: 500,
      },
      metered: { calls: 1, tokens: 500, reasoningTokens: 100, searches: 1, audio: 0, audioSeconds: 12.5 },
      balances: { tokensRemaining: 1_000, searchesRemaining: 2, audioSecondsRemaining: 47.5 },
      reasoningEffort: 'low',
      reasoningEffortSource: 'provider_response',
    });
    expect(await read(begun.callId)).toMatchObject({
      status: 'COMPLETED',
      pricingStatus: 'FINAL',
      costUsdNano: '17250000',
      customerId: 'main',
      modelPricingSnapshotId: ended.costBreakdown?.snapshotId,
      pricingTier: 'base',
    });
    expect((await meters('main')).premiumCalls).toEqual({
      remaining: 1,
      limit: 2,
      used: 1,
      unlimited: false,
      ratio: 0.5,
    });

    await deliverToD1(tenant.organizationId, 'main');
    const { results } = await bindings.DB.prepare(
      'SELECT call_id, status, cost_nano_usd, tags FROM calls WHERE customer_id = ?',
    )
      .bind('main')
      .all();
    expect(results).toEqual([{ call_id: begun.callId, status: 'COMPLETED', cost_nano_usd: 17_250_000, tags: '["x"]' }]);
  });

  test('when the premium allowance is used up, the next call is offered standard, and then nothing', async () => {
    for (let n = 0; n < 2; n += 1)
      await end((await begin('dry', { requested: { premium: true } })).callId, { modelUsed: 'claude-opus-4-6' });
    const downgraded = await begin('dry', { requested: { premium: true } });
    expect(downgraded).toMatchObject({
      allowed: { premium: false, standard: true },
      entitlementHints: {
        suggestedModelTier: 'standard',
        downgrade: { reason: 'PREMIUM_QUOTA_EXHAUSTED', fallbackTier: 'standard' },
      },
    });
    expect(await end(downgraded.callId, { modelUsed: 'gpt-4o-mini', responseTokens: 500 })).toMatchObject({
      metered: { calls: 1, tokens: 500 },
    });
    const denied = await begin('dry', { requested: { premium: true } });
    expect(denied).toMatchObject({
      allowed: { premium: false, standard: false },
      entitlementHints: { suggestedModelTier: 'none', downgrade: { fallbackTier: 'none' } },
    });
    expect((await read(denied.callId)).status).toBe('NOT_ALLOWED');
  });

  test('a call may be allowed in part: search is used up, standard is not', async () => {
    await end((await begin('partial', { requested: { search: true } })).callId, { searches: 3 });
    const begun = await begin('partial', { requested: { standard: true, search: true, image: true } });
    expect(begun.allowed).toMatchObject({ standard: true, search: false, image: false });
    expect((await read(begun.callId)).status).toBe('IN_PROGRESS');
    expect((await meters('partial')).standardCalls?.used).toBe(1);
  });
});

describe('prices', () => {
  const price = async (body: object, requested: object = {}) => end((await begin('prices', requested)).callId, body);

  test.each([
    ['gpt-4o', 'openai/gpt-4o-2024-08-06'],
    ['openai/gpt-4o-2024-08-06', 'openai/gpt-4o-2024-08-06'],
    ['models/gemini-2.5-pro', 'google/gemini-2.5-pro'],
  ])('%s finds its price', async (modelUsed, modelKey) => {
    expect((await price({ modelUsed, inputTokens: 1 })).costBreakdown?.modelKey).toBe(modelKey);
  });

  test.each([
    [{}, 'MODEL_NOT_REPORTED'],
    [{ modelUsed: 'gpt-99' }, 'MODEL_NOT_IN_CATALOG'],
    [{ modelUsed: 'ft:gpt-4o:acme::x' }, 'MODEL_NOT_IN_CATALOG'],
    [{ modelUsed: 'sora-2' }, 'PRICE_NOT_IN_CATALOG'],
  ])('an unknown price is never zero: %j is %s', async (body, reason) => {
    const begun = await begin('prices');
    const ended = await end(begun.callId, { ...body, inputTokens: 1_000 });
    expect(ended).toMatchObject({ pricingStatus: 'UNAVAILABLE', pricingUnavailableReason: reason, costUSD: 0 });
    expect(ended).not.toHaveProperty('costUsdNano');
    expect(ended).not.toHaveProperty('costBreakdown');
    expect(await read(begun.callId)).toMatchObject({
      pricingStatus: 'UNAVAILABLE',
      pricingUnavailableReason: reason,
      costUSD: null,
      standardCostUSD: null,
      costUsdNano: null,
      costBreakdown: null,
    });
  });

  test.each([
    [{}, {}, 1],
    [{ batch: true }, {}, 0.5],
    [{ pricingMode: 'batch' }, {}, 0.5],
    [{ pricingMode: 'standard', batch: true }, {}, 1],
    [{ batch: true }, { batch: false }, 1],
    [{ batch: true }, { pricingMode: 'standard' }, 1],
    [{}, { batch: true }, 0.5],
    [{ pricingMode: 'batch' }, { pricingMode: 'standard', batch: true }, 1],
  ])('begun with %j and ended with %j, a call has the multiplier %d', async (begun, ended, multiplier) => {
    const result = await price({ modelUsed: 'gpt-4o', inputTokens: 1_001, ...ended }, begun);
    const standard = 2_502_500;
    expect(result).toMatchObject({
      pricingMultiplier: multiplier,
      batch: multiplier === 0.5,
      pricingMode: multiplier === 0.5 ? 'batch' : 'standard',
      costUsdNano: String(standard * multiplier),
      standardCostUSD: 0.0025025,
    });
  });

  test.each([
    ['claude-haiku-4-5', undefined, 'premium'],
    ['gpt-4o-mini', undefined, 'standard'],
    ['gpt-4o-mini', true, 'premium'],
    ['gpt-4o', false, 'standard'],
    ['nobody-knows-this', undefined, 'standard'],
  ])('%s with isPremium %s is billed as %s', async (modelUsed, isPremium, tier) => {
    const customerId = `tier-${modelUsed}-${isPremium}`;
    await end((await begin(customerId)).callId, {
      modelUsed,
      responseTokens: 5,
      ...(isPremium === undefined ? {} : { isPremium }),
    });
    expect(await meters(customerId)).toMatchObject({ [`${tier}Calls`]: { used: 1 }, [`${tier}Tokens`]: { used: 5 } });
  });
});

describe("an organization's own price", () => {
  test('overrides the catalog, prices models that the catalog does not have, and has its own snapshot', async () => {
    const other = await createTenant(operator);
    const put = (modelKey: string, body: object) =>
      operator.send('setPrice', { params: { org: other.organizationId, modelKey }, body });
    const negotiated = (
      await put('openai/gpt-4o', { inputUsdPerMillion: 2, outputUsdPerMillion: 8, cachedInputUsdPerMillion: 0.5 })
    ).data;
    expect(negotiated).toMatchObject({ modelKey: 'openai/gpt-4o', inputUsdPerMillion: 2 });
    await put('ft:gpt-4o-mini:acme::1', { inputUsdPerMillion: 1, outputUsdPerMillion: 4.5 });
    const cost = async (callId: string, modelUsed: string) => {
      await other.api.send('beginCall', { body: { customerId: 'c' }, headers: { 'Idempotency-Key': callId } });
      return (
        await other.api.send('endCall', {
          body: { callId, modelUsed, inputTokens: 1_000, cachedInputTokens: 400, responseTokens: 100 },
        })
      ).data;
    };
    // 600 x 2 + 400 x 0.50 + 100 x 8 USD per million, by every name of the model
    for (const [n, name] of ['gpt-4o', 'openai/gpt-4o-2024-08-06', 'GPT-4o'].entries()) {
      expect(await cost(`own-${n}`, name)).toMatchObject({
        costUsdNano: '2200000',
        costBreakdown: { snapshotId: expect.stringContaining(`${negotiated.snapshotId}+openai/gpt-4o-2024-08-06@`) },
      });
    }
    // 1,000 x 1 (no cached rate) + 100 x 4.50
    expect(await cost('own-ft', 'ft:gpt-4o-mini:acme::1')).toMatchObject({
      costUsdNano: '1450000',
      costBreakdown: { assumptions: [expect.stringContaining('cachedInput')] },
    });
    expect((await other.api.send('readUsage', { params: { customerId: 'c' } })).data.meters.premiumCalls?.used).toBe(4);
    const row = await bindings.DB.prepare('SELECT model_key FROM pricing_snapshots WHERE snapshot_id = ?')
      .bind(negotiated.snapshotId)
      .first();
    expect(row).toEqual({ model_key: 'openai/gpt-4o-2024-08-06' });
    // A model has one own price, whatever spelling set it: the newest one.
    const newest = (await put('gpt-4o', { inputUsdPerMillion: 3, outputUsdPerMillion: 9 })).data;
    // Cached input is half of input, by the catalog's relation: 600 x 3 + 400 x 1.50 + 100 x 9.
    expect(await cost('own-newest', 'openai/gpt-4o')).toMatchObject({
      costUsdNano: '3300000',
      costBreakdown: { snapshotId: expect.stringContaining(`${newest.snapshotId}+openai/gpt-4o-2024-08-06@`) },
    });
    expect((await put('openai/gpt-4o', { inputUsdPerMillion: -1, outputUsdPerMillion: 8 })).refusal.message).toContain(
      'inputUsdPerMillion',
    );
  });
});

describe('the largest call', () => {
  test('at the highest rate is exact in every place, and a larger one is refused by name', async () => {
    const other = await createTenant(operator);
    const params = { org: other.organizationId, modelKey: 'ft:largest' };
    const rates = { inputUsdPerMillion: 2_000, outputUsdPerMillion: 1_999.999999999 };
    expect((await operator.send('setPrice', { params, body: rates })).status).toBe(200);
    expect(
      (await operator.send('setPrice', { params, body: { ...rates, inputUsdPerMillion: 2_000.1 } })).refusal.code,
    ).toBe('BAD_REQUEST');
    await other.api.send('beginCall', { body: { customerId: 'whale' }, headers: { 'Idempotency-Key': 'whale-1' } });
    const body = { callId: 'whale-1', modelUsed: 'ft:largest', inputTokens: 1e9, responseTokens: 1e9 - 1 };
    for (const field of ['inputTokens', 'responseTokens', 'reasoningTokens', 'searches', 'audio', 'audioSeconds']) {
      const { refusal } = await other.api.send('endCall', { body: { ...body, [field]: 1e9 + 1 } });
      expect([refusal.code, refusal.message]).toEqual([
        'BAD_REQUEST',
        expect.stringMatching(new RegExp(`^${field}: .*1000000000`)),
      ]);
    }
    const ended = (await other.api.send('endCall', { body })).data;
    // 10^9 x 2,000 and (10^9 - 1) x 1,999.999999999 USD per million, in nano-USD; the second is rounded half up
    const exact = (2_000_000_000_000_000n + (999_999_999n * 1_999_999_999_999n + 500_000n) / 1_000_000n).toString();
    expect(ended.costUsdNano).toBe(exact);
    expect(ended.spendVelocity?.windows.day.completedCostUsd).toBe(ended.costUSD);
    await deliverToD1(other.organizationId, 'whale');
    const row = await bindings.DB.prepare('SELECT CAST(cost_nano_usd AS TEXT) AS nano FROM calls WHERE call_id = ?')
      .bind('whale-1')
      .first();
    expect(row).toEqual({ nano: exact });
  });
});

describe('a failed call', () => {
  test('keeps a cleaned message, its usage and its cost', async () => {
    const { callId } = await begin('failed');
    const message =
      'Incorrect API key provided: sk-proj-abcdefghijklmnop1234. Contact ada@example.com {"prompt":"secret plans"}';
    const ended = await end(callId, {
      error: { code: 'AUTH', message },
      modelUsed: 'gpt-4o',
      inputTokens: 100,
      responseTokens: 3,
    });
    expect(ended).toMatchObject({
      status: 'FAILED',
      error: { code: 'AUTH' },
      costUsdNano: '280000',
      metered: { calls: 1, tokens: 3 },
    });
    expect(ended.error?.message).toMatch(/^Incorrect API key provided: \[credential\]/);
    for (const leak of ['sk-proj', 'ada@', 'secret plans']) expect(JSON.stringify(ended)).not.toContain(leak);
    expect(await read(callId)).toMatchObject({ status: 'FAILED', pricingStatus: 'FINAL' });
  });

  test('without usage consumes nothing of the allowance', async () => {
    const { callId } = await begin('failed-empty');
    expect(await end(callId, { error: { code: 'TIMEOUT', message: 'no answer' } })).toMatchObject({
      metered: { calls: 0, tokens: 0 },
    });
    expect((await meters('failed-empty')).standardCalls?.used).toBe(0);
  });
});

describe('identity', () => {
  test('may come in snake_case or as the nested legacy object, and only ids are read back', async () => {
    const personal = {
      customer_user_id: 'u-1',
      customer_user_name: 'PERSONAL-NAME',
      customerUserEmail: 'PERSONAL@mail.example',
    };
    const first = await tenant.api.send('beginCall', {
      body: {
        customer_id: 'snake',
        ...personal,
        customer_name: 'PERSONAL-CUSTOMER',
        stripe_customer_id: 'cus_PERSONAL',
      },
      headers: { 'Idempotency-Key': 'identity-1' },
    });
    expect(first.data.subscription).toMatchObject({
      customerFriendlyName: 'PERSONAL-CUSTOMER',
      stripeCustomerId: 'cus_PERSONAL',
    });
    const reading = await tenant.api.send('readCall', { params: { callId: 'identity-1' } });
    expect(reading.data).toMatchObject({ customerId: 'snake', customerUserId: 'u-1' });
    expect(JSON.stringify(reading.body)).not.toContain('PERSONAL');
    const nested = {
      customerId: 'top-wins',
      customer: { customer_id: 'nested', friendlyName: 'Nested', user_id: 'u-2' },
    };
    expect(
      (await tenant.api.send('beginCall', { body: nested, headers: { 'Idempotency-Key': 'identity-2' } })).data
        .subscription,
    ).toMatchObject({
      customerFriendlyName: 'Nested',
    });
    expect(await read('identity-2')).toMatchObject({ customerId: 'top-wins', customerUserId: 'u-2' });
  });

  test.each(['a/b', 'ä?#%', '日本 🙂', '...', 'a+b c', '%2F', '__proto__'])(
    'a customer may be called %j',
    async (customerId) => {
      await begin(customerId);
      expect((await tenant.api.send('readUsage', { params: { customerId } })).data.customerId).toBe(customerId);
    },
  );

  test('the Stripe customer of the end overrides that of the subscription', async () => {
    const first = await begin('stripe', { stripeCustomerId: 'cus_1' });
    expect((await end(first.callId)).stripeCustomerId).toBe('cus_1');
    await tenant.api.send('provisionCustomer', { body: { customerId: 'stripe-2', stripeCustomerId: 'cus_2' } });
    const second = await begin('stripe');
    expect((await end(second.callId, { stripeCustomerId: 'cus_2' })).stripeCustomerId).toBe('cus_2');
  });
});

describe('a call that its object has deleted', () => {
  test('is read from D1 with the same fields', async () => {
    const { callId } = await begin('old');
    await end(callId, { modelUsed: 'gpt-4o', inputTokens: 10 });
    const before = await read(callId);
    const stub = customerStub(tenant.organizationId, 'old');
    await deliverToD1(tenant.organizationId, 'old');
    await runInDurableObject(stub, (_, state) => void state.storage.sql.exec('DELETE FROM calls'));
    expect(await read(callId)).toEqual(before);
  });
});

describe('an organization without a default plan', () => {
  test('cannot provision a customer, and the error says so', async () => {
    const other = await createTenant(operator);
    await operator.send('updateOrganization', { params: { org: other.organizationId }, body: { defaultPlanId: null } });
    expect((await other.api.send('beginCall', { body: { customerId: 'x' } })).refusal.code).toBe(
      'SUBSCRIPTION_NOT_FOUND',
    );
    expect((await other.api.send('provisionCustomer', { body: { customerId: 'x' } })).refusal.code).toBe(
      'SUBSCRIPTION_NOT_FOUND',
    );
  });
});
