/**
 * Money is exact: the cost of every class of model follows from its published rates, to the nano-USD, and an assumption
 * is named.
 *
 * All expected amounts are computed by hand: one USD per million tokens is 1,000 nano-USD per token.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { resolvePrice } from '../../src/catalog/prices.ts';
import { type Component, type RateCard, tierOfPrice } from '../../src/domain/price.ts';
import { buildBreakdown, type PricingMode, pricingMultiplier } from '../../src/domain/pricing.ts';
import { billableInputTokens, type Usage } from '../../src/domain/usage.ts';
import { knownCost, rateCard, type ShortRates, type ShortTier } from '../support/rate-cards.ts';
import { usage } from './fixtures.ts';

const TODAY = Date.UTC(2026, 10, 20);

async function resolveCard(modelUsed: string, nowMs = TODAY): Promise<RateCard> {
  const price = await resolvePrice(BUILT_IN_CATALOG, new Map(), { modelUsed }, nowMs);
  if (!price.available) throw new Error(`${modelUsed}: ${price.reason}`);
  return price.card;
}

/** A model that the catalog does not have, for rates that it does not have either. Rates in nano-USD per million. */
function madeUp(rates: ShortRates, tiers: ShortTier[] = []): RateCard {
  return rateCard({ input: 0n, output: 0n, ...rates }, tiers);
}

function price(card: RateCard, change: Partial<Usage>, mode: PricingMode = 'standard') {
  const cost = knownCost(card, usage(change), mode);
  const lines = Object.fromEntries(cost.lines.map(({ component, costNanoUsd }) => [component, costNanoUsd]));
  return { ...cost, lines };
}

const tokens = (
  inputTokens: number,
  cachedInputTokens: number,
  cacheWriteInputTokens: number,
  responseTokens: number,
) => ({
  inputTokens,
  cachedInputTokens,
  cacheWriteInputTokens,
  responseTokens,
});

interface Row {
  of: string;
  model: string;
  /** Input, cache reads, cache writes, output. */
  usage: readonly [number, number, number, number];
  lines: Partial<Record<Component, bigint>>;
  total: bigint;
  tier?: string;
  assumes?: string[];
}

const ROWS: Row[] = [
  {
    of: 'plain chat',
    model: 'gpt-4o',
    usage: [1_000, 0, 0, 500],
    lines: { input: 2_500_000n, output: 5_000_000n },
    total: 7_500_000n,
  },
  {
    of: 'chat with cache reads',
    model: 'gpt-4o',
    usage: [1_000, 400, 0, 500],
    lines: { input: 1_500_000n, cachedInput: 500_000n, output: 5_000_000n },
    total: 7_000_000n,
  },
  {
    of: 'chat with cache reads and writes',
    model: 'claude-sonnet-4-5',
    usage: [10_000, 6_000, 1_000, 800],
    lines: { input: 9_000_000n, cachedInput: 1_800_000n, cacheWrite: 3_750_000n, output: 12_000_000n },
    total: 26_550_000n,
  },
  {
    of: 'a handful of tokens',
    model: 'claude-haiku-4-5-20251001',
    usage: [7, 3, 2, 1],
    lines: { input: 2_000n, cachedInput: 300n, cacheWrite: 2_500n, output: 5_000n },
    total: 9_800n,
  },
  {
    of: 'a prompt exactly at the long-prompt threshold, cache reads counted',
    model: 'gemini-2.5-pro',
    usage: [200_000, 50_000, 0, 1_000],
    lines: { input: 187_500_000n, cachedInput: 6_250_000n, output: 10_000_000n },
    total: 203_750_000n,
    tier: 'base INPUT_TOKENS_UP_TO_200000',
  },
  {
    of: 'one token above the threshold: the whole call at the higher rates',
    model: 'gemini-2.5-pro',
    usage: [200_001, 50_000, 0, 1_000],
    lines: { input: 375_002_500n, cachedInput: 12_500_000n, output: 15_000_000n },
    total: 402_502_500n,
    tier: 'input_above_200000 INPUT_TOKENS_ABOVE_200000',
  },
  {
    of: 'a prompt above the threshold by cache reads alone',
    model: 'gemini-2.5-pro',
    usage: [200_001, 200_001, 0, 0],
    lines: { input: 0n, cachedInput: 50_000_250n, output: 0n },
    total: 50_000_250n,
    tier: 'input_above_200000 INPUT_TOKENS_ABOVE_200000',
  },
  {
    of: 'cache writes at the threshold',
    model: 'claude-haiku-5-5',
    usage: [100_000, 0, 50_000, 10],
    lines: { input: 5_000_000n, cacheWrite: 6_250_000n, output: 5_000n },
    total: 11_255_000n,
    tier: 'base INPUT_TOKENS_UP_TO_100000',
  },
  {
    of: 'cache writes above the threshold, at the published long-prompt rate',
    model: 'claude-haiku-5-5',
    usage: [100_001, 1, 50_000, 10],
    lines: { input: 25_000_000n, cachedInput: 50n, cacheWrite: 31_250_000n, output: 25_000n },
    total: 56_275_050n,
    tier: 'input_above_100000 INPUT_TOKENS_ABOVE_100000',
  },
  {
    of: 'cache writes above the threshold without a published rate: 5.00 scaled by 8.00 / 4.00',
    model: 'gpt-daybreak-blue-latest',
    usage: [272_001, 2_001, 10_000, 100],
    lines: { input: 2_080_000_000n, cachedInput: 1_600_800n, cacheWrite: 100_000_000n, output: 3_000_000n },
    total: 2_184_600_800n,
    tier: 'input_above_272000 INPUT_TOKENS_ABOVE_272000',
    assumes: ['cacheWrite'],
  },
  {
    of: 'cache reads without a published rate, at the input rate',
    model: 'gpt-3.5-turbo-16k',
    usage: [1_000, 400, 0, 100],
    lines: { input: 1_800_000n, cachedInput: 1_200_000n, output: 400_000n },
    total: 3_400_000n,
    assumes: ['cachedInput'],
  },
  {
    of: 'cache writes without a published rate, at the input rate',
    model: 'gpt-4o',
    usage: [1_000, 200, 300, 0],
    lines: { input: 1_250_000n, cachedInput: 250_000n, cacheWrite: 750_000n, output: 0n },
    total: 2_250_000n,
    assumes: ['cacheWrite'],
  },
  {
    of: 'cache reads without a published rate above the threshold, at the long-prompt input rate',
    model: 'gpt-5.4-pro-2026-03-05',
    usage: [300_000, 100_000, 0, 10],
    lines: { input: 12_000_000_000n, cachedInput: 6_000_000_000n, output: 2_700_000n },
    total: 18_002_700_000n,
    tier: 'input_above_272000 INPUT_TOKENS_ABOVE_272000',
    assumes: ['cachedInput'],
  },
  {
    of: 'an embedding',
    model: 'text-embedding-3-small',
    usage: [1_234_567, 0, 0, 0],
    lines: { input: 24_691_340n, output: 0n },
    total: 24_691_340n,
  },
  {
    of: 'a moderation',
    model: 'omni-moderation-2024-09-26',
    usage: [5_000, 0, 0, 10],
    lines: { input: 0n, output: 0n },
    total: 0n,
  },
  {
    of: 'an image',
    model: 'gpt-image-1',
    usage: [100, 0, 0, 1_000],
    lines: { input: 500_000n, output: 40_000_000n },
    total: 40_500_000n,
  },
  {
    of: 'a realtime session',
    model: 'gpt-realtime-2.1-mini',
    usage: [1_000, 500, 0, 250],
    lines: { input: 300_000n, cachedInput: 30_000n, output: 600_000n },
    total: 930_000n,
  },
  {
    of: 'a transcription',
    model: 'gpt-4o-transcribe',
    usage: [800, 0, 0, 50],
    lines: { input: 2_000_000n, output: 500_000n },
    total: 2_500_000n,
  },
  {
    of: 'speech',
    model: 'gpt-4o-mini-tts-2025-12-15',
    usage: [30, 0, 0, 900],
    lines: { input: 18_000n, output: 10_800_000n },
    total: 10_818_000n,
  },
  {
    of: 'a video model',
    model: 'gemini-omni-flash-preview',
    usage: [11, 0, 0, 7],
    lines: { input: 16_500n, output: 63_000n },
    total: 79_500n,
  },
  {
    of: 'an agent',
    model: 'deep-research-preview-04-2026',
    usage: [200_001, 0, 0, 3],
    lines: { input: 800_004_000n, output: 54_000n },
    total: 800_058_000n,
    tier: 'input_above_200000 INPUT_TOKENS_ABOVE_200000',
  },
  {
    of: 'a completion',
    model: 'claude-instant-1',
    usage: [3, 0, 0, 2],
    lines: { input: 4_890n, output: 11_020n },
    total: 15_910n,
  },
];

describe('the cost of a call', () => {
  test.each(ROWS)('$of: $model costs $total nano-USD', async ({ model, usage, lines, total, tier, assumes = [] }) => {
    const cost = price(await resolveCard(model), tokens(...usage));
    expect(cost.lines).toEqual(lines);
    expect([cost.standardNanoUsd, cost.totalNanoUsd]).toEqual([total, total]);
    expect(`${cost.tier} ${cost.tierReason}`).toBe(tier ?? 'base SINGLE_TIER');
    expect(cost.assumptions.map((assumption) => assumption.split(':')[0])).toEqual(assumes);
  });

  test('reasoning tokens are inside the output tokens and are not charged again', async () => {
    const cost = price(await resolveCard('gpt-4o'), { inputTokens: 1_000, responseTokens: 500, reasoningTokens: 300 });
    expect(cost.totalNanoUsd).toBe(7_500_000n);
  });

  test('billable input is the input minus cache reads and writes, and negative if the parts exceed it', () => {
    expect(billableInputTokens(usage({ inputTokens: 100, cachedInputTokens: 30, cacheWriteInputTokens: 20 }))).toBe(50);
    expect(billableInputTokens(usage({ inputTokens: 10, cachedInputTokens: 6, cacheWriteInputTokens: 5 }))).toBe(-1);
  });

  test('the highest exceeded threshold applies, in any order of the tiers', () => {
    const card = madeUp({ input: 1_000_000n }, [
      { inputTokensAbove: 200, rates: { input: 3_000_000n, output: 0n } },
      { inputTokensAbove: 100, rates: { input: 2_000_000n, output: 0n } },
    ]);
    const costs = [100, 101, 200, 201].map((inputTokens) => price(card, { inputTokens }));
    expect(costs.map(({ totalNanoUsd }) => totalNanoUsd)).toEqual([100n, 202n, 400n, 603n]);
    expect(costs[0]?.tierReason).toBe('INPUT_TOKENS_UP_TO_100');
  });

  test.each([
    { base: 2n, write: 5n, tier: 3n, scaled: 8n, of: '7.5' },
    { base: 4n, write: 5n, tier: 5n, scaled: 6n, of: '6.25' },
    { base: 3n, write: 5n, tier: 4n, scaled: 7n, of: '6.67' },
  ])('a scaled cache-write rate of $of is rounded half up to $scaled', ({ base, write, tier, scaled }) => {
    const card = madeUp({ input: base, cacheWrite: write }, [
      { inputTokensAbove: 1, rates: { input: tier, output: 0n } },
    ]);
    const { lines } = knownCost(card, usage({ inputTokens: 2, cacheWriteInputTokens: 2 }), 'standard');
    expect(lines.find(({ component }) => component === 'cacheWrite')?.rateNanoUsdPerMillion).toBe(scaled);
  });

  test('a free base rate cannot be scaled by: cache writes above the threshold take its input rate and say so', () => {
    const card = madeUp({ input: 0n, cacheWrite: 5_000_000n }, [
      { inputTokensAbove: 1, rates: { input: 2_000_000n, output: 0n } },
    ]);
    const cost = price(card, { inputTokens: 10, cacheWriteInputTokens: 10 });
    expect(cost.lines).toMatchObject({ cacheWrite: 20n });
    expect(cost.assumptions).toEqual([expect.stringMatching(/^cacheWrite: .*input rate/)]);
  });
});

describe('rounding', () => {
  test.each([
    { rate: 499_999n, quantity: 1, nano: 0n },
    { rate: 500_000n, quantity: 1, nano: 1n },
    { rate: 500_000n, quantity: 3, nano: 2n },
    { rate: 1_499_999n, quantity: 1, nano: 1n },
    { rate: 1n, quantity: 499_999, nano: 0n },
    { rate: 1n, quantity: 500_000, nano: 1n },
    { rate: 312_500_000n, quantity: 1, nano: 313n },
  ])('$quantity tokens at $rate nano-USD per million are $nano nano-USD', ({ rate, quantity, nano }) => {
    expect(price(madeUp({ output: rate }), { responseTokens: quantity }).lines.output).toBe(nano);
  });

  test('each line is rounded separately: four halves are four nano-USD', () => {
    const half = 500_000n;
    const card = madeUp({ input: half, cachedInput: half, cacheWrite: half, output: half });
    const cost = price(card, tokens(3, 1, 1, 1));
    expect(cost.lines).toEqual({ input: 1n, cachedInput: 1n, cacheWrite: 1n, output: 1n });
    expect(cost.totalNanoUsd).toBe(4n);
  });

  test.each([
    { cached: 1, standard: 125n, batch: 63n },
    { cached: 2, standard: 250n, batch: 125n },
    { cached: 0, standard: 0n, batch: 0n },
  ])('batch is half of $standard nano-USD, rounded half up to $batch', async ({ cached, standard, batch }) => {
    const cost = price(await resolveCard('gemini-2.5-pro'), tokens(cached, cached, 0, 0), 'batch');
    expect([cost.standardNanoUsd, cost.totalNanoUsd]).toEqual([standard, batch]);
  });

  test('the multiplier of batch is 0.5 and of standard 1', () => {
    expect([pricingMultiplier('batch'), pricingMultiplier('standard')]).toEqual([0.5, 1]);
  });
});

describe('searches and audio', () => {
  const card = madeUp({ webSearch: 10_000_000_000n, audioSeconds: 100_000_500n });

  test('are priced at their rates, fractions of a second included', () => {
    const cost = price(card, { searches: 3, audioSeconds: 0.1 });
    // 3 x 10,000 nano-USD; 0.1 x 100.0005 nano-USD = 10.00005.
    expect(cost.lines).toMatchObject({ webSearch: 30_000n, audioSeconds: 10n });
    expect(cost.totalNanoUsd).toBe(30_010n);
    expect(cost.assumptions).toEqual([]);
  });

  test('keep a thousandth of a second: 1.005 s at 1,000 nano-USD is 1,005', () => {
    expect(price(madeUp({ audioSeconds: 1_000_000_000n }), { audioSeconds: 1.005 }).totalNanoUsd).toBe(1_005n);
  });

  test('without a rate are listed and cost nothing', async () => {
    const cost = price(await resolveCard('gpt-4o'), { characters: 2, audioSeconds: 1.5 });
    expect(cost.assumptions).toEqual([
      expect.stringMatching(/^characters: .*not included/),
      expect.stringMatching(/^audioSeconds: .*not included/),
    ]);
    expect(cost.lines).toEqual({ input: 0n, output: 0n });
    expect(cost.totalNanoUsd).toBe(0n);
  });

  test('audio units without a rate are listed too', async () => {
    expect(price(await resolveCard('gpt-4o'), { audio: 1 }).assumptions).toEqual([expect.stringMatching(/^audio: /)]);
  });
});

describe('an announced price change', () => {
  const used = tokens(1_000, 400, 0, 200);
  test.each([
    { model: 'gemini-3.8-flash', at: '2026-11-20T00:00:00.000Z', nano: 1_230_000n },
    { model: 'gemini-3.8-flash', at: '2026-12-31T23:59:59.999Z', nano: 1_230_000n },
    { model: 'gemini-3.8-flash', at: '2027-01-01T00:00:00.000Z', nano: 2_460_000n },
    { model: 'gemini-3.8-flash', at: '2028-06-01T12:00:00.000Z', nano: 2_460_000n },
    { model: 'gemini-4-argon', at: '2026-11-30T23:59:59.999Z', nano: 3_240_000n },
    { model: 'gemini-4-argon', at: '2026-12-01T00:00:00.000Z', nano: 6_480_000n },
  ])('$model costs $nano nano-USD at $at', async ({ model, at, nano }) => {
    expect(price(await resolveCard(model, Date.parse(at)), used).totalNanoUsd).toBe(nano);
  });

  test('has its own snapshot, and the previous price keeps its own', async () => {
    const ids = [];
    for (const at of ['2026-11-30', '2026-12-01', '2026-11-30'])
      ids.push((await resolveCard('gemini-4-argon', Date.parse(at))).snapshotId);
    expect(ids[0]).toMatch(/^google\/gemini-4-argon@[0-9a-f]{12}$/);
    expect(ids[1]).not.toBe(ids[0]);
    expect(ids[2]).toBe(ids[0]);
  });

  test('makes the model premium from its effective day', async () => {
    const before = await resolveCard('gemini-3.8-flash', Date.UTC(2026, 11, 31));
    const after = await resolveCard('gemini-3.8-flash', Date.UTC(2027, 0, 1));
    expect([tierOfPrice(before), tierOfPrice(after)]).toEqual(['standard', 'premium']);
  });
});

describe('premium by price', () => {
  test.each([
    { model: 'gpt-3.5-turbo-16k', output: '4.00', premium: false },
    { model: 'claude-3-5-haiku-20241022', output: '4.00', premium: false },
    { model: 'o3-mini', output: '4.40', premium: true },
    { model: 'gemini-3.8-flash', output: '3.75', premium: false },
    { model: 'gpt-4o', output: '10.00', premium: true },
    { model: 'text-embedding-3-large', output: '0.00', premium: false },
  ])('$model at $output USD of output is premium: $premium', async ({ model, premium }) => {
    expect(tierOfPrice(await resolveCard(model))).toBe(premium ? 'premium' : 'standard');
  });

  test('begins one nano-USD above 4.00 USD per million, by the base rate and not by a long-prompt rate', () => {
    expect(tierOfPrice(madeUp({ output: 4_000_000_000n }))).toBe('standard');
    expect(tierOfPrice(madeUp({ output: 4_000_000_001n }))).toBe('premium');
    expect(
      tierOfPrice(madeUp({ output: 1n }, [{ inputTokensAbove: 1, rates: { input: 1n, output: 9_000_000_000n } }])),
    ).toBe('standard');
  });
});

describe('an unknown price is never zero', () => {
  test.each([
    { of: 'no model reported', modelUsed: undefined, reason: 'MODEL_NOT_REPORTED' },
    { of: 'a model of nobody', modelUsed: 'gpt-4o-min', reason: 'MODEL_NOT_IN_CATALOG' },
    { of: 'an empty name', modelUsed: '', reason: 'MODEL_NOT_IN_CATALOG' },
    { of: 'a fine-tuned model', modelUsed: 'ft:gpt-4o-2024-08-06:acme::abc', reason: 'MODEL_NOT_IN_CATALOG' },
    { of: 'a known model without a price', modelUsed: 'claude-1', reason: 'PRICE_NOT_IN_CATALOG' },
  ])('$of is $reason', async ({ modelUsed, reason }) => {
    expect(await resolvePrice(BUILT_IN_CATALOG, new Map(), { modelUsed }, TODAY)).toEqual({ available: false, reason });
  });
});

test('a breakdown shows every exact amount as a string and a number, and only lines that are not empty', async () => {
  const card = await resolveCard('gpt-4o');
  expect(buildBreakdown(knownCost(card, usage(tokens(1_000, 400, 0, 500)), 'batch'))).toEqual({
    currency: 'USD',
    snapshotId: card.snapshotId,
    provider: 'openai',
    modelKey: 'openai/gpt-4o-2024-08-06',
    pricingTier: 'base',
    pricingTierReason: 'SINGLE_TIER',
    lines: [
      {
        component: 'input',
        quantity: 600,
        usdPerMillion: 2.5,
        rateNanoUsdPerMillion: '2500000000',
        costUSD: 0.0015,
        costUsdNano: '1500000',
      },
      {
        component: 'cachedInput',
        quantity: 400,
        usdPerMillion: 1.25,
        rateNanoUsdPerMillion: '1250000000',
        costUSD: 0.0005,
        costUsdNano: '500000',
      },
      {
        component: 'output',
        quantity: 500,
        usdPerMillion: 10,
        rateNanoUsdPerMillion: '10000000000',
        costUSD: 0.005,
        costUsdNano: '5000000',
      },
    ],
    standardCostUSD: 0.007,
    standardCostUsdNano: '7000000',
    assumptions: [],
  });
});
