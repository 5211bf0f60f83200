/**
 * Promise: an organization prices every dimension of a model itself, from its chosen day; its prices can be listed,
 * read and removed; and usage with a part that exceeds its whole, or a price with a broken component, changes nothing.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { operator } from '../support/worker.ts';

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator);
});

let serial = 0;
const priceParams = (modelKey: string) => ({ org: tenant.organizationId, modelKey });
const put = (modelKey: string, body: object) => operator.send('setPrice', { params: priceParams(modelKey), body });
async function cost(body: object) {
  serial += 1;
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId: `c-${serial}`, feature: 'chat' } }))
    .data;
  return (await tenant.api.send('endCall', { body: { callId, ...body } })).data;
}
const component = (name: string, usd: string, more: object = {}) => ({ component: name, per: 1_000_000, usd, ...more });

describe('a price of components', () => {
  test('charges each of them, under the conditions that the call reports, and shows them with the call', async () => {
    const components = [
      component('input', '1'),
      component('output', '2'),
      component('cacheWrite1h', '2.5'),
      component('imageOutput', '30'),
      component('input', '3', { when: { serviceTier: 'priority' } }),
      component('output', '6', { when: { serviceTier: 'priority' } }),
      component('webSearch', '10', { per: 1_000 }),
      component('codeMinutes', '0.0015', { per: 1 }),
    ];
    const saved = await put('house-image', { components });
    expect(saved.data).toMatchObject({ modelKey: 'house-image', effectiveFrom: null, components });
    const used = {
      modelUsed: 'house-image',
      inputTokens: 100,
      cacheWriteInputTokens: 40,
      cacheWrite1hInputTokens: 40,
      responseTokens: 50,
      imageOutputTokens: 30,
      searches: 2,
      toolUses: { codeMinutes: 1.5 },
    };
    const ended = await cost(used);
    // 60 x 1 + 40 x 2.5 + 20 x 2 + 30 x 30 millionths of a USD, two searches and one and a half minutes.
    expect(ended.costUsdNano).toBe(String(60_000 + 100_000 + 40_000 + 900_000 + 20_000_000 + 2_250_000));
    expect(ended.usage).toMatchObject({
      cacheWrite1hInputTokens: 40,
      imageOutputTokens: 30,
      toolUses: { codeMinutes: 1.5 },
    });
    const served = await cost({
      ...{ modelUsed: 'house-image', inputTokens: 10, responseTokens: 10 },
      ...{ serviceTier: 'priority', requestedServiceTier: 'auto' },
    });
    const fast = await cost({ modelUsed: 'house-image', inputTokens: 10, responseTokens: 10, serviceTier: 'fast' });
    expect([fast.costUsdNano, fast.usage.serviceTier]).toEqual(['90000', 'priority']);
    expect(served).toMatchObject({
      costUsdNano: '90000',
      requestedServiceTier: 'auto',
      costBreakdown: { conditions: { serviceTier: 'priority' } },
    });
    const { data } = await tenant.api.send('readCall', { params: { callId: served.callId } });
    expect(data).toMatchObject({ requestedServiceTier: 'auto', pricingStatus: 'FINAL' });
  });

  test('without a rate for tokens or a condition leaves the cost unknown, and says for what', async () => {
    const unknown = await cost({ modelUsed: 'house-image', inputTokens: 10, audioInputTokens: 5, responseTokens: 1 });
    expect(unknown).toMatchObject({
      pricingStatus: 'UNAVAILABLE',
      pricingUnavailableReason: 'RATE_NOT_IN_CATALOG: audioInput',
    });
    const flex = await cost({ modelUsed: 'house-image', inputTokens: 10, responseTokens: 1, serviceTier: 'flex' });
    expect(flex.pricingUnavailableReason).toBe('RATE_NOT_IN_CATALOG: input, output (serviceTier flex)');
  });

  test.each([
    ['components.0.usd', { components: [component('input', 'one')] }],
    ['components.0.usd', { components: [component('webSearch', '2', { per: 1 })] }],
    ['components.0.per', { components: [component('input', '1', { per: 10 })] }],
    ['components.0.component', { components: [component('inputs', '1')] }],
    ['components.0.when.serviceTier', { components: [component('input', '1', { when: { serviceTier: 'slow' } })] }],
    ['components.1', { components: [component('input', '1'), component('input', '2', { when: {} })] }],
    ['inputUsdPerMillion', { inputUsdPerMillion: 1, components: [component('input', '1')] }],
    ['outputUsdPerMillion', { inputUsdPerMillion: 1 }],
    ['effectiveFrom', { inputUsdPerMillion: 1, outputUsdPerMillion: 1, effectiveFrom: 'soon' }],
  ])('is refused with %s for %j', async (path, body) => {
    const { refusal } = await put('refused-model', body);
    expect(refusal).toMatchObject({
      code: 'BAD_REQUEST',
      details: expect.arrayContaining([{ path, message: expect.any(String) }]),
    });
    expect((await operator.send('readPrices', { params: priceParams('refused-model') })).status).toBe(404);
  });
});

describe('a price with a date', () => {
  const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString();

  test('is in force from then on, and the one before it until then', async () => {
    await put('dated', { inputUsdPerMillion: 1, outputUsdPerMillion: 1 });
    await put('dated', { inputUsdPerMillion: 2, outputUsdPerMillion: 1, effectiveFrom: day(-1) });
    await put('dated', { inputUsdPerMillion: 3, outputUsdPerMillion: 1, effectiveFrom: day(1) });
    expect((await cost({ modelUsed: 'dated', inputTokens: 1 })).costUsdNano).toBe('2000');
    const { items } = (await operator.send('readPrices', { params: priceParams('dated') })).data;
    expect(items.map(({ inputUsdPerMillion }) => inputUsdPerMillion)).toEqual([3, 2, 1]);
    const effectiveFrom = items[1]?.effectiveFrom ?? '';
    const deleted = await operator.send('deletePrices', { params: priceParams('dated'), query: { effectiveFrom } });
    expect(deleted.data).toEqual({ modelKey: 'dated', deleted: 1 });
    expect((await cost({ modelUsed: 'dated', inputTokens: 1 })).costUsdNano).toBe('1000');
    expect((await operator.send('deletePrices', { params: priceParams('dated') })).data.deleted).toBe(2);
    expect((await operator.send('deletePrices', { params: priceParams('dated') })).status).toBe(404);
    expect((await cost({ modelUsed: 'dated', inputTokens: 1 })).pricingUnavailableReason).toBe('MODEL_NOT_IN_CATALOG');
  });

  test('is listed with all others, page by page', async () => {
    const fresh = await createTenant(operator);
    const params = { org: fresh.organizationId };
    for (const modelKey of ['a', 'b', 'c'])
      await operator.send('setPrice', {
        params: { ...params, modelKey },
        body: { inputUsdPerMillion: 1, outputUsdPerMillion: 1 },
      });
    const first = (await operator.send('listPrices', { params, query: { limit: '2' } })).data;
    const second = (
      await operator.send('listPrices', { params, query: { limit: '2', cursor: first.nextCursor ?? '' } })
    ).data;
    expect([...first.items, ...second.items].map(({ modelKey }) => modelKey)).toEqual(['a', 'b', 'c']);
    expect(second.nextCursor).toBeNull();
  });
});

describe('a price that states few rates', () => {
  const used = {
    ...{ modelUsed: 'claude-sonnet-4-6', inputTokens: 1_000, responseTokens: 10 },
    ...{ cacheWriteInputTokens: 500, cacheWrite1hInputTokens: 500 },
  };
  const rates = { inputUsdPerMillion: 2, outputUsdPerMillion: 10 };

  test('has the others by the relations of the catalog, unless it is strict; recorded costs stay', async () => {
    expect((await put('claude-sonnet-4-6', rates)).data).toMatchObject({ ...rates, strict: false });
    const related = await cost(used);
    // A cache write for an hour costs twice the input.
    expect(related.costUsdNano).toBe(String(500 * 2_000 + 500 * 4_000 + 10 * 10_000));
    expect(related.costBreakdown).toMatchObject({
      snapshotId: expect.stringMatching(
        /^organization\/anthropic\/claude-sonnet-4-6@\w{12}\+anthropic\/claude-sonnet-4-6@/,
      ),
      assumptions: ["cacheWrite1h: by the catalog's relation to input, because the own price states none"],
    });
    const strict = await put('claude-sonnet-4-6', { ...rates, strict: true });
    expect(strict.data.strict).toBe(true);
    const { items } = (await operator.send('readPrices', { params: priceParams('claude-sonnet-4-6') })).data;
    expect(items).toEqual([{ ...strict.data, modelKey: 'anthropic/claude-sonnet-4-6' }]);
    expect((await cost(used)).pricingUnavailableReason).toBe('RATE_NOT_IN_CATALOG: cacheWrite1h');
    const { data } = await tenant.api.send('readCall', { params: { callId: related.callId } });
    expect(data).toMatchObject({ costUsdNano: related.costUsdNano, costBreakdown: related.costBreakdown });
    const query = { organizationId: tenant.organizationId, limit: '1' };
    expect((await operator.send('listEvents', { query })).data.items[0]).toMatchObject({
      action: 'price.put',
      before: rates,
      after: { ...rates, strict: true },
    });
  });

  test('is refused if strict is no boolean', async () => {
    const { status, refusal } = await put('claude-sonnet-4-6', { ...rates, strict: 'yes' });
    expect([status, refusal.details]).toEqual([400, [expect.objectContaining({ path: 'strict' })]]);
  });
});

describe('a channel', () => {
  test('has its own price, whatever spelling its calls report; other channels do not', async () => {
    await put('bedrock/claude-opus-4-6', { inputUsdPerMillion: 7, outputUsdPerMillion: 7 });
    for (const modelUsed of ['global.anthropic.claude-opus-4-6-v1', 'bedrock/anthropic.claude-opus-4-6-v1:0'])
      expect((await cost({ modelUsed, inputTokens: 1 })).costUsdNano).toBe('7000');
    const regional = await cost({ modelUsed: 'us.anthropic.claude-opus-4-6-v1', inputTokens: 1 });
    expect(regional.costUsdNano, 'what the provider adds for a region').toBe('7700');
    expect(
      (await cost({ modelUsed: 'claude-opus-4-6', providerUsed: 'aws-bedrock', inputTokens: 1 })).costUsdNano,
    ).toBe('7000');
    expect((await cost({ modelUsed: 'claude-opus-4-6', inputTokens: 1 })).costUsdNano).toBe('5000');
  });

  test('of a region costs what the provider says that it adds', async () => {
    const ended = await cost({ modelUsed: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', inputTokens: 1_000 });
    expect(ended.costUsdNano).toBe('3300000');
    expect(ended.costBreakdown?.assumptions).toEqual([expect.stringMatching(/^region eu: token rates are 110 %/)]);
    expect(
      (await cost({ modelUsed: 'global.anthropic.claude-sonnet-4-5-20250929-v1:0', inputTokens: 1_000 })).costUsdNano,
    ).toBe('3000000');
  });
});

describe("a vendor's own figure", () => {
  test('is recorded, and is the cost if the organization says so', async () => {
    const used = { modelUsed: 'gpt-4o', providerUsed: 'reseller', inputTokens: 1_000, responseTokens: 0 };
    const ours = await cost({ ...used, vendorReportedCostUSD: 0.001 });
    expect(ours).toMatchObject({ costUsdNano: '2500000', vendorReportedCostUSD: 0.001 });
    const params = { org: tenant.organizationId, provider: 'reseller' };
    const body = { apiKey: 'k', baseUrl: 'https://reseller.example.com/v1', useReportedCost: true };
    expect((await operator.send('setVendor', { params, body })).data.useReportedCost).toBe(true);
    const theirs = await cost({ ...used, vendorReportedCostUSD: 0.001 });
    expect(theirs).toMatchObject({
      costUsdNano: '1000000',
      costBreakdown: { lines: [{ component: 'vendorReported', quantity: 1 }], snapshotId: 'vendor-reported' },
    });
    expect((await cost(used)).costUsdNano, 'it reported none').toBe('2500000');
    for (const reported of [0.5, 0]) {
      const inBatch = await cost({ ...used, pricingMode: 'batch', vendorReportedCostUSD: reported });
      const figures = { costUSD: reported, standardCostUSD: reported, pricingMultiplier: 1, batch: true };
      expect(inBatch).toMatchObject(figures);
      expect((await tenant.api.send('readCall', { params: { callId: inBatch.callId } })).data).toMatchObject(figures);
    }
    const { data } = await operator.send('readVendor', { params });
    expect(data).toEqual({
      provider: 'reseller',
      baseUrl: body.baseUrl,
      kind: 'compatible',
      keyHint: '',
      useReportedCost: true,
    });
    expect((await operator.send('deleteVendor', { params })).data).toEqual({ provider: 'reseller' });
    expect((await operator.send('readVendor', { params })).status).toBe(404);
    expect((await operator.send('listVendors', { params: { org: tenant.organizationId } })).data.items).toEqual([]);
  });
});

describe('usage with a part that exceeds its whole', () => {
  test.each([
    ['reasoningTokens', 'responseTokens', { responseTokens: 10, reasoningTokens: 500 }],
    ['imageOutputTokens', 'responseTokens', { responseTokens: 10, imageOutputTokens: 11 }],
    ['cacheWrite1hInputTokens', 'cacheWriteInputTokens', { inputTokens: 10, cacheWrite1hInputTokens: 1 }],
    [
      'cachedAudioInputTokens',
      'cachedInputTokens',
      { inputTokens: 10, audioInputTokens: 5, cachedAudioInputTokens: 1 },
    ],
    ['audioInputTokens', 'inputTokens', { inputTokens: 10, audioInputTokens: 11 }],
  ])('is refused, naming %s and %s', async (path, whole, body) => {
    const { callId } = (await tenant.api.send('beginCall', { body: { customerId: 'parts', feature: path } })).data;
    const { refusal } = await tenant.api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', ...body } });
    expect(refusal).toMatchObject({
      code: 'BAD_REQUEST',
      details: [{ path, message: expect.stringContaining(whole) }],
    });
    const unified = await tenant.api.send('makeCall', {
      body: { customerId: 'parts', usage: { modelUsed: 'gpt-4o', ...body } },
    });
    expect(unified.refusal).toMatchObject({ code: 'BAD_REQUEST', details: [{ path: `usage.${path}` }] });
    expect((await tenant.api.send('readCall', { params: { callId } })).data.status).toBe('IN_PROGRESS');
  });
});
