/**
 * The whole catalog adds up: for every priced model the cost equals its published decimals, computed here a second time
 * from the text of the data file. Snapshot ids name rates, and every name finds its own model.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import type { Catalog, CatalogModel } from '../../src/catalog/model.ts';
import { type OwnPrices, ownPriceKey, priceSnapshots, pricingAt, resolvePrice } from '../../src/catalog/prices.ts';
import { toolUseRates } from '../../src/catalog/provider-rules.ts';
import { changePercent, requestUsd } from '../../src/catalog/ranking.ts';
import { LookupQuery } from '../../src/contract/model-lookup.ts';
import type { RateCard } from '../../src/domain/price.ts';
import { buildBreakdown } from '../../src/domain/pricing.ts';
import { knownCost, rateCard } from '../support/rate-cards.ts';
import { usage } from './fixtures.ts';

/** Prices as the decimal strings that stand in the file, so that no number is read twice in the same way. */
interface RawRates {
  inputUsdPerMillion: string;
  outputUsdPerMillion: string;
  cachedInputUsdPerMillion?: string;
  cacheWriteUsdPerMillion?: string;
}
interface RawPricing extends RawRates {
  tiers?: (RawRates & { inputTokensAbove: string })[];
  scheduled?: (Partial<RawRates> & { from: string })[];
  components?: { component: string; usd: string; when?: object }[];
}
interface RawModel {
  provider: string;
  model: string;
  aliases: string[];
  pricing?: RawPricing;
  channels?: { pricing?: RawPricing }[];
}

const text = readFileSync(join(import.meta.dirname, '../../src/catalog/models.json'), 'utf8');
const MODELS: RawModel[] = JSON.parse(text.replace(/"(\w+UsdPerMillion|inputTokensAbove)": ([\d.]+)/g, '"$1": "$2"'));
/** The models with a text price; price-dimensions.test.ts tests the costs of others. */
const PRICED = MODELS.filter(
  (model): model is RawModel & { pricing: RawPricing } =>
    model.pricing?.inputUsdPerMillion !== undefined && model.pricing.outputUsdPerMillion !== undefined,
);

const NOW = Date.UTC(2026, 10, 23);
const DAYS = ['2026-11-20', '2027-06-01'];
const USAGES = [
  { inputTokens: 1, cachedInputTokens: 0, cacheWriteInputTokens: 0, responseTokens: 1 },
  { inputTokens: 98_765, cachedInputTokens: 12_345, cacheWriteInputTokens: 6_789, responseTokens: 4_321 },
  { inputTokens: 272_000, cachedInputTokens: 3, cacheWriteInputTokens: 1, responseTokens: 7 },
  { inputTokens: 987_653, cachedInputTokens: 123_457, cacheWriteInputTokens: 45_679, responseTokens: 33_331 },
];

function nanoPerMillion(decimal: string): bigint {
  const [whole = '', fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
}

function roundedHalfUp(numerator: bigint, denominator: bigint): bigint {
  const whole = numerator / denominator;
  return (numerator % denominator) * 2n >= denominator ? whole + 1n : whole;
}

function expectedNano(pricing: RawPricing, day: string, used: (typeof USAGES)[number]): bigint {
  const written = pricing.components?.find(({ component, when }) => component === 'cacheWrite' && !when)?.usd;
  const current = { ...(written !== undefined && { cacheWriteUsdPerMillion: written }), ...pricing };
  for (const { from, ...change } of pricing.scheduled ?? []) if (from <= day) Object.assign(current, change);
  let rates: RawRates = current;
  let above = -1;
  for (const tier of current.tiers ?? []) {
    if (used.inputTokens > Number(tier.inputTokensAbove) && Number(tier.inputTokensAbove) > above) {
      rates = tier;
      above = Number(tier.inputTokensAbove);
    }
  }
  const input = nanoPerMillion(rates.inputUsdPerMillion);
  let write = rates.cacheWriteUsdPerMillion ? nanoPerMillion(rates.cacheWriteUsdPerMillion) : input;
  if (rates !== current && !rates.cacheWriteUsdPerMillion && current.cacheWriteUsdPerMillion) {
    write = roundedHalfUp(
      nanoPerMillion(current.cacheWriteUsdPerMillion) * input,
      nanoPerMillion(current.inputUsdPerMillion),
    );
  }
  const lines: [number, bigint][] = [
    [used.inputTokens - used.cachedInputTokens - used.cacheWriteInputTokens, input],
    [used.cachedInputTokens, rates.cachedInputUsdPerMillion ? nanoPerMillion(rates.cachedInputUsdPerMillion) : input],
    [used.cacheWriteInputTokens, write],
    [used.responseTokens, nanoPerMillion(rates.outputUsdPerMillion)],
  ];
  return lines.reduce((sum, [quantity, rate]) => sum + roundedHalfUp(BigInt(quantity) * rate, 1_000_000n), 0n);
}

async function resolveCard(model: RawModel, day: string, catalog = BUILT_IN_CATALOG) {
  const price = await resolvePrice(catalog, new Map(), { modelUsed: model.model }, Date.parse(`${day}T00:00:00Z`));
  if (!price.available) throw new Error(`${model.model}: ${price.reason}`);
  return price.card;
}

test('the catalog contains all models of these cases', () => {
  expect(MODELS.length).toBeGreaterThanOrEqual(311);
  expect(PRICED.length).toBeGreaterThanOrEqual(219);
  expect(PRICED.every(({ pricing }) => typeof pricing.inputUsdPerMillion === 'string')).toBe(true);
});

describe.each(DAYS)('on %s', (day) => {
  test('every priced model costs exactly what its decimal rates give, standard and batch', async () => {
    for (const model of PRICED) {
      const card = await resolveCard(model, day);
      for (const used of USAGES) {
        const expected = expectedNano(model.pricing, day, used);
        const of = `${model.model}, ${used.inputTokens} input tokens`;
        expect(knownCost(card, usage(used)).totalNanoUsd, of).toBe(expected);
        expect(knownCost(card, usage(used), 'batch').totalNanoUsd, of).toBe((expected + (expected % 2n)) / 2n);
      }
    }
  });

  test('the lines of every breakdown sum to its standard cost', async () => {
    for (const model of PRICED) {
      const card = await resolveCard(model, day);
      for (const used of USAGES) {
        const { lines, standardCostUsdNano } = buildBreakdown(knownCost(card, usage(used), 'batch'));
        const sum = lines.reduce((total, { costUsdNano }) => total + BigInt(costUsdNano), 0n);
        expect(standardCostUsdNano, model.model).toBe(expectedNano(model.pricing, day, used).toString());
        expect(sum.toString(), model.model).toBe(standardCostUsdNano);
      }
    }
  });
});

describe('a snapshot id', () => {
  /** Members sorted by name at every depth: plain JSON of plain data. */
  function sorted(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .sort()
        .map(([name, member]) => [name, sorted(member)]),
    );
  }

  const snapshotId = ({ provider, model }: CatalogModel, rates: object) =>
    `${provider}/${model}@${createHash('sha256')
      .update(JSON.stringify(sorted(rates), (name, value) => (name === 'assumption' ? undefined : value)))
      .digest('hex')
      .slice(0, 12)}`;

  /** The same facts as another release would write them: other member order, source and version. */
  const reworded: Catalog = {
    version: 'another',
    publishedAtMs: 0,
    transitions: [],
    models: BUILT_IN_CATALOG.models.map((model) => ({
      ...model,
      ...(model.pricing && {
        pricing: {
          source: 'elsewhere',
          batchMultiplier: 0.25,
          ...Object.fromEntries(Object.entries(rest(model.pricing)).reverse()),
        },
      }),
    })) as CatalogModel[],
  };

  function rest({ source: _source, batchMultiplier: _batch, ...others }: NonNullable<CatalogModel['pricing']>) {
    return others;
  }

  test('is a hash of only the rates', async () => {
    for (const model of BUILT_IN_CATALOG.models) {
      if (!model.pricing) continue;
      const { scheduled = [], ...listed } = rest(model.pricing);
      const uses = toolUseRates(model);
      const rates = { ...listed, ...(uses.length > 0 && { uses }) };
      const before = await resolveCard(model as unknown as RawModel, scheduled[0] ? '2020-01-01' : '2026-11-20');
      expect(before.snapshotId).toBe(snapshotId(model, rates));
      for (const { from, ...change } of scheduled) {
        expect((await resolveCard(model as unknown as RawModel, from)).snapshotId).toBe(
          snapshotId(model, { ...rates, ...change }),
        );
      }
    }
  });

  test('does not change if a release formats the same rates differently', async () => {
    const ids = (catalog: Catalog) =>
      priceSnapshots(catalog).then((snapshots) => snapshots.map(({ snapshotId }) => snapshotId));
    expect(await ids(reworded)).toEqual(await ids(BUILT_IN_CATALOG));
    for (const model of PRICED) {
      expect((await resolveCard(model, '2026-11-20', reworded)).snapshotId).toBe(
        (await resolveCard(model, '2026-11-20')).snapshotId,
      );
    }
  });

  test('is recorded once for every price of every model, including announced prices', async () => {
    const snapshots = await priceSnapshots(BUILT_IN_CATALOG);
    const priced = MODELS.flatMap((model) =>
      [model, ...(model.channels ?? [])].flatMap(({ pricing }) => pricing ?? []),
    );
    const announced = priced.flatMap(({ scheduled }) => scheduled ?? []);
    expect(announced.length).toBeGreaterThanOrEqual(6);
    expect(snapshots).toHaveLength(priced.length + announced.length);
    expect(new Set(snapshots.map(({ snapshotId }) => snapshotId)).size).toBe(snapshots.length);
  });
});

test('a price change is a percentage of the previous price, and unknown without one', () => {
  expect(changePercent(4, 5)).toBe(25);
  expect(changePercent(4, 3)).toBe(-25);
  expect(changePercent(0, 0)).toBe(0);
  expect(changePercent(0, 1)).toBeNull();
  expect(changePercent(null, 1)).toBeNull();
  expect(changePercent(1, null)).toBeNull();
});

describe("an organization's own price", () => {
  const cardFor = (modelKey: string): RateCard =>
    rateCard({ input: '1', output: '1' }, [], { snapshotId: `own:${modelKey}`, provider: 'own', modelKey });
  const own: OwnPrices = new Map(
    ['openai/gpt-4o-2024-08-06', 'house-model', 'groq/llama-9'].map((key) => [
      key,
      [{ fromMs: 0, card: cardFor(key) }],
    ]),
  );
  const resolveOrThrow = async (reported: { modelUsed?: string; providerUsed?: string }, prices = own) => {
    const price = await resolvePrice(BUILT_IN_CATALOG, prices, reported, NOW);
    return price.available ? price.card.snapshotId : price.reason;
  };

  test('is kept under the key of the catalog, or else under the name in lower case', () => {
    expect(ownPriceKey(BUILT_IN_CATALOG, 'GPT-4o', NOW)).toBe('openai/gpt-4o-2024-08-06');
    expect(ownPriceKey(BUILT_IN_CATALOG, ' House-Model ', NOW)).toBe('house-model');
  });

  test('replaces the price of the catalog, by whatever name the model ran', async () => {
    for (const modelUsed of ['gpt-4o', 'openai/gpt-4o-2024-08-06', 'GPT-4O'])
      expect(await resolveOrThrow({ modelUsed })).toMatch(/^own:openai\/gpt-4o-2024-08-06\+openai\/gpt-4o-2024-08-06@/);
    expect(await resolveOrThrow({ modelUsed: ' House-Model' })).toBe('own:house-model');
    expect(await resolveOrThrow({ modelUsed: 'llama-9', providerUsed: 'Groq' })).toBe('own:groq/llama-9');
  });

  test('does not apply to another model or another provider', async () => {
    expect(await resolveOrThrow({ modelUsed: 'gpt-4o-mini' })).toMatch(/^openai\/gpt-4o-mini-2024-07-18@/);
    expect(await resolveOrThrow({ modelUsed: 'llama-9' })).toBe('MODEL_NOT_IN_CATALOG');
    expect(await resolveOrThrow({ modelUsed: 'llama-9', providerUsed: 'other' })).toBe('MODEL_NOT_IN_CATALOG');
    expect(await resolveOrThrow({ modelUsed: 'house-model' }, new Map())).toBe('MODEL_NOT_IN_CATALOG');
    expect(await resolveOrThrow({})).toBe('MODEL_NOT_REPORTED');
  });
});

test('announced changes take effect by their dates, in whatever order they are listed', () => {
  const changes = [
    { from: '2026-03-01', inputUsdPerMillion: 3 },
    { from: '2026-01-01', inputUsdPerMillion: 1, outputUsdPerMillion: 8 },
    { from: '2026-02-01', inputUsdPerMillion: 2 },
  ];
  for (const scheduled of [changes, changes.toReversed()]) {
    const pricing = { inputUsdPerMillion: 9, outputUsdPerMillion: 9, source: 'list', scheduled };
    const on = (day: string) => {
      const { inputUsdPerMillion, outputUsdPerMillion } = pricingAt(pricing, Date.parse(day));
      return [inputUsdPerMillion, outputUsdPerMillion];
    };
    expect(['2025-12-31', '2026-01-01', '2026-02-28', '2026-03-01'].map(on)).toEqual([
      [9, 9],
      [1, 8],
      [2, 8],
      [3, 8],
    ]);
  }
});

test('a typical request costs its tokens, cached ones at their rate, and no searches', () => {
  const rates = {
    input: '2000000000',
    cachedInput: '1000000000',
    output: '8000000000',
    webSearch: '10000000000000000',
  };
  const card = rateCard(rates);
  const policy = LookupQuery.parse({ inputTokens: '1000', outputTokens: '500', cachedInputPercent: '25' });
  // 750 x 2 + 250 x 1 + 500 x 8 millionths of a USD.
  expect(requestUsd(card, policy)).toBe(0.00575);
});

test('a pin that the catalog does not list is priced as its model, and the cost says so', async () => {
  const costFor = async (modelUsed: string) => {
    const price = await resolvePrice(BUILT_IN_CATALOG, new Map(), { modelUsed }, NOW);
    return price.available ? knownCost(price.card, usage({ inputTokens: 1 })) : price.reason;
  };
  const assumptions = ['gpt-5.6-sol-2026-10-01: the catalog does not list it, and prices it as openai/gpt-5.6-sol'];
  expect(await costFor('gpt-5.6-sol-2026-10-01')).toMatchObject({ modelKey: 'openai/gpt-5.6-sol', assumptions });
  expect(await costFor('gpt-5.6-sol')).toMatchObject({ assumptions: [] });
  expect(await costFor('gpt-5.6-sol-2031-01-01'), 'a day to come').toBe('MODEL_NOT_IN_CATALOG');
});
