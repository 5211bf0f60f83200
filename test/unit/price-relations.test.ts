/**
 * Promise: an own price with few token rates has the catalog's relations for the others, each as an assumption of the
 * calls that use it; its own rates always win, and a strict price has nothing else.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { modelKeyOf } from '../../src/catalog/model.ts';
import { buildRates, type OwnPrice, type OwnPrices, ownPriceKey, resolvePrice } from '../../src/catalog/prices.ts';
import type { OwnRates } from '../../src/contract/prices.ts';
import { isUse, type RateCard, ratePurpose, standardRate } from '../../src/domain/price.ts';
import { withRelations } from '../../src/domain/price-relations.ts';
import { cardFor, computeCost } from '../../src/domain/pricing.ts';
import type { Usage } from '../../src/domain/usage.ts';
import { knownCost, rateCard } from '../support/rate-cards.ts';
import { usage } from './fixtures.ts';

const NOW = Date.UTC(2026, 10, 23);

function ownPrices(name: string, rates: OwnRates): OwnPrices {
  const modelKey = ownPriceKey(BUILT_IN_CATALOG, name, NOW);
  const card = {
    snapshotId: `organization/${modelKey}@1`,
    provider: 'organization',
    modelKey,
    rates: buildRates(rates),
  };
  const price: OwnPrice = { fromMs: 0, card: { ...card, regionalPercent: 100 }, strict: rates.strict };
  return new Map([[modelKey, [price]]]);
}

async function resolveCard(modelUsed: string, own: OwnPrices = new Map(), providerUsed?: string): Promise<RateCard> {
  const price = await resolvePrice(BUILT_IN_CATALOG, own, { modelUsed, providerUsed }, NOW);
  if (!price.available) throw new Error(`${modelUsed}: ${price.reason}`);
  return price.card;
}

async function costWith(rates: OwnRates, modelUsed: string, used: Partial<Usage>) {
  return knownCost(await resolveCard(modelUsed, ownPrices(modelUsed, rates)), usage(used));
}

const OPUS = { inputUsdPerMillion: 4, outputUsdPerMillion: 20 };
const relation = (component: string, base = 'input') =>
  `${component}: by the catalog's relation to ${base}, because the own price states none`;

describe('what an own price does not state', () => {
  test('costs the own rate times the ratio of the catalog, with an assumption for each rate that was used', async () => {
    // The catalog has 5 for input, 0.5 for cache reads, 6.25 and 10 for writes, 25 for output.
    const cost = await costWith(OPUS, 'claude-opus-4-6', {
      ...{ inputTokens: 1_000, cachedInputTokens: 100, cacheWriteInputTokens: 300, cacheWrite1hInputTokens: 200 },
      responseTokens: 10,
    });
    expect(Object.fromEntries(cost.lines.map(({ component, costNanoUsd }) => [component, costNanoUsd]))).toEqual({
      input: 2_400_000n,
      cachedInput: 40_000n,
      cacheWrite: 500_000n,
      cacheWrite1h: 1_600_000n,
      output: 200_000n,
    });
    expect(cost.assumptions).toEqual(['cachedInput', 'cacheWrite', 'cacheWrite1h'].map((name) => relation(name)));
    const plain = await costWith(OPUS, 'claude-opus-4-6', { inputTokens: 1_000, responseTokens: 10 });
    expect(plain.assumptions).toEqual([]);
  });

  test('follows service tiers, long prompts, regions and images as the catalog has them', async () => {
    const sol = { inputUsdPerMillion: 1, outputUsdPerMillion: 10 };
    const priority = await costWith(sol, 'gpt-6-sol', {
      inputTokens: 100,
      responseTokens: 10,
      serviceTier: 'priority',
    });
    expect([priority.totalNanoUsd, priority.assumptions]).toEqual([
      200_000n + 200_000n,
      [relation('input (serviceTier priority)'), relation('output (serviceTier priority)', 'output')],
    ]);
    const long = await costWith(sol, 'gpt-6-sol', { inputTokens: 300_000, responseTokens: 10 });
    expect([long.totalNanoUsd, long.assumptions[0]]).toEqual([
      600_000_000n + 150_000n,
      relation('input (prompts of more than 272000 tokens)'),
    ]);
    const regional = await costWith(OPUS, 'claude-opus-4-6', { inputTokens: 1_000, region: 'us' });
    expect([regional.totalNanoUsd, regional.assumptions]).toEqual([
      4_400_000n,
      ["region us: token rates are 110 % of the others, by the provider's word"],
    ]);
    const image = await costWith(OPUS, 'claude-opus-4-6', { inputTokens: 1_000, imageInputTokens: 400 });
    expect([image.totalNanoUsd, image.assumptions]).toEqual([
      4_000_000n,
      ["imageInput: billed at the rate of text, by the provider's word"],
    ]);
  });

  test('is found behind the name that the operator gave a vendor, and nowhere else', async () => {
    const own = ownPrices('house/claude-opus-4-6', OPUS);
    for (const card of [
      await resolveCard('house/claude-opus-4-6', own),
      await resolveCard('claude-opus-4-6', own, 'house'),
    ])
      expect(standardRate(card, 'cacheWrite1h')).toBe(8_000_000_000n);
    for (const name of ['ft:gpt-4o:acme::1', 'house-model'])
      expect((await resolveCard(name, ownPrices(name, OPUS))).rates).toHaveLength(2);
  });

  test('is rounded up to a nano-USD per million', () => {
    const own = rateCard({ input: 10n, output: 1n });
    const known = rateCard({ input: 3n, cachedInput: 1n, output: 1n });
    expect(standardRate(withRelations(own, known), 'cachedInput')).toBe(4n);
  });

  test('stays without a rate if it is a use, or if the catalog or the own price has no base', async () => {
    const searched = await costWith(OPUS, 'claude-opus-4-6', { inputTokens: 1_000, searches: 1 });
    expect(searched.assumptions).toEqual(['webSearch: no rate is published, not included in the cost']);
    const noOutput = withRelations(rateCard({ input: 1n }), rateCard({ input: 1n, output: 2n, audioOutput: 3n }));
    expect(noOutput.rates.map(({ component }) => component)).toEqual(['input']);
    const free = withRelations(rateCard({ input: 1n, output: 1n }), rateCard({ input: 0n, cachedInput: 1n }));
    expect(free.rates).toHaveLength(2);
  });
});

describe('what an own price states', () => {
  test('wins, and is what its other rates are related to', async () => {
    const rates = {
      components: [
        { component: 'input', per: 1_000_000, usd: '1' },
        { component: 'output', per: 1_000_000, usd: '10' },
        { component: 'cachedInput', per: 1_000_000, usd: '0.9' },
        { component: 'input', per: 1_000_000, usd: '5', when: { serviceTier: 'priority' } },
      ],
    } satisfies OwnRates;
    const card = await resolveCard('gpt-6-sol', ownPrices('gpt-6-sol', rates));
    const nano = (purpose: Parameters<typeof ratePurpose>[0]) =>
      card.rates.find((rate) => ratePurpose(rate) === ratePurpose(purpose))?.nanoUsdPerMillion;
    const [priority, flex] = [{ serviceTier: 'priority' }, { serviceTier: 'flex' }] as const;
    expect(nano({ component: 'cachedInput' })).toBe('900000000');
    expect(nano({ component: 'input', when: priority })).toBe('5000000000');
    expect(nano({ component: 'cachedInput', when: priority }), 'a tenth of its input').toBe('500000000');
    expect(nano({ component: 'cachedInput', when: flex }), 'half of its standard rate').toBe('450000000');
  });

  test('of long prompts has no other thresholds', async () => {
    const long = { promptTokensAbove: 100_000 };
    const rates = {
      components: [
        { component: 'input', per: 1_000_000, usd: '1' },
        { component: 'output', per: 1_000_000, usd: '1' },
        { component: 'input', per: 1_000_000, usd: '3', when: long },
        { component: 'output', per: 1_000_000, usd: '3', when: long },
      ],
    } satisfies OwnRates;
    for (const inputTokens of [200_000, 300_000]) {
      const cost = await costWith(rates, 'gpt-6-sol', { inputTokens });
      expect(cost.totalNanoUsd).toBe(BigInt(inputTokens) * 3_000n);
    }
  });

  test('holds under conditions for which the catalog lists only other components', () => {
    const when = { serviceTier: 'batch' } as const;
    const known = rateCard({ input: 10n, output: 20n });
    known.rates.push(
      { component: 'input', nanoUsdPerMillion: '5', when },
      { component: 'output', nanoUsdPerMillion: '8', when },
    );
    const card = withRelations(rateCard({ input: 20n, output: 40n, audioInput: 100n }), known);
    expect(card.rates.filter((rate) => rate.when)).toEqual([
      { component: 'input', nanoUsdPerMillion: '10', when, relatedTo: 'input' },
      { component: 'output', nanoUsdPerMillion: '16', when, relatedTo: 'output' },
      { component: 'audioInput', nanoUsdPerMillion: '50', when, relatedTo: 'audioInput' },
    ]);
  });

  test('is all there is if the price is strict', async () => {
    const strict = ownPrices('claude-opus-4-6', { ...OPUS, strict: true });
    const card = await resolveCard('claude-opus-4-6', strict);
    expect([card.rates.length, card.snapshotId]).toEqual([2, 'organization/anthropic/claude-opus-4-6@1']);
    const used = usage({ inputTokens: 10, cacheWriteInputTokens: 5, cacheWrite1hInputTokens: 5 });
    expect(computeCost(card, used, 'standard')).toEqual({
      known: false,
      reason: 'RATE_NOT_IN_CATALOG: cacheWrite1h',
    });
  });
});

test('an own price that states twice the catalog doubles every rate of tokens of every model', async () => {
  let compared = 0;
  for (const model of BUILT_IN_CATALOG.models) {
    const key = modelKeyOf(model);
    const known = await resolveCard(key).catch(() => null);
    const [input, output] = known ? [standardRate(known, 'input'), standardRate(known, 'output')] : [];
    if (!known || !input || !output) continue;
    const twice = { component: 'input', per: 1_000_000 } as const;
    const usd = (nano: bigint) => `${nano / 1_000_000_000n}.${String(nano % 1_000_000_000n).padStart(9, '0')}`;
    const components = [
      { ...twice, usd: usd(2n * input) },
      { ...twice, component: 'output' as const, usd: usd(2n * output) },
    ];
    const card = await resolveCard(key, ownPrices(key, { components }));
    const rates = ({ rates: all }: RateCard, times: bigint) =>
      new Map(
        all
          .filter(({ component }) => !isUse(component))
          .map((rate) => [ratePurpose(rate), BigInt(rate.nanoUsdPerMillion) * times]),
      );
    expect(rates(card, 1n), key).toEqual(rates(known, 2n));
    expect(card.snapshotId).toContain(known.snapshotId);
    expect(cardFor(card, usage({ inputTokens: 1 })).rates.length).toBeLessThanOrEqual(card.rates.length);
    compared += 1;
  }
  expect(compared).toBeGreaterThan(150);
});
