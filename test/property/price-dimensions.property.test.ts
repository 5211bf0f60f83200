/**
 * Whatever dimensions a price and a usage have: each token is on one line, each line is rounded once, the lines sum to the
 * cost, and what has no rate is named.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { COMPONENTS, isUse, purposeOf, type Rate, type RateCard } from '../../src/domain/price.ts';
import { type Cost, cardFor, costOf } from '../../src/domain/pricing.ts';
import { excessiveParts, SERVICE_TIERS, SPEEDS, takeUsage, type Usage } from '../../src/domain/usage.ts';

const REGIONS = ['eu', 'us', 'global'] as const;

const when = fc.record(
  {
    promptTokensAbove: fc.constantFrom(100, 5_000),
    serviceTier: fc.constantFrom(...SERVICE_TIERS),
    region: fc.constantFrom('eu', 'us'),
    speed: fc.constantFrom(...SPEEDS),
  },
  { requiredKeys: [] },
);
const rate: fc.Arbitrary<Rate> = fc.record(
  {
    component: fc.constantFrom(...COMPONENTS),
    nanoUsdPerMillion: fc.bigInt({ min: 0n, max: 10n ** 12n }).map(String),
    when,
  },
  { requiredKeys: ['component', 'nanoUsdPerMillion'] },
);
const standard = COMPONENTS.map((component): Rate => ({ component, nanoUsdPerMillion: '1000000007' }));
const card: fc.Arbitrary<RateCard> = fc
  .record(
    {
      // Often all of them: otherwise the cost of hardly any usage would be known.
      some: fc.oneof(fc.constant(standard), fc.subarray(standard)),
      others: fc.uniqueArray(rate, { maxLength: 40, selector: purposeOf }),
      billedAsWhole: fc.subarray(['imageInput' as const, 'cachedImageInput' as const]),
      regionalPercent: fc.constantFrom(100, 110),
      region: fc.constantFrom(...REGIONS),
    },
    { requiredKeys: ['some', 'others'] },
  )
  .map(({ some, others, ...more }) => ({
    snapshotId: 'a/b@1',
    provider: 'a',
    modelKey: 'a/b',
    rates: [...some, ...others.filter((other) => !some.some((known) => purposeOf(known) === purposeOf(other)))],
    ...more,
  }));

/** Mostly none: under other conditions the cost is seldom known. */
const seldom = <T>(values: readonly T[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...values) });

const count = fc.nat({ max: 10_000 });
const part = fc.nat({ max: 500 });
/** Details that are not larger than what they are part of. */
const usage: fc.Arbitrary<Usage> = fc
  .record({
    text: count,
    cachedText: part,
    write: part,
    write1h: part,
    write12h: part,
    audio: part,
    cachedAudio: part,
    image: part,
    cachedImage: part,
    answer: count,
    audioOutput: part,
    imageOutput: part,
    searches: part,
    fileSearch: part,
    codeMinutes: part,
    images: part,
    characters: count,
    audioSeconds: part,
    serviceTier: seldom(SERVICE_TIERS),
    region: seldom(REGIONS),
    speed: seldom(SPEEDS),
    isCachedSplitSaid: fc.boolean(),
  })
  .map((of) => {
    const cachedInputTokens = of.cachedText + of.cachedAudio + of.cachedImage;
    const cacheWriteInputTokens = of.write + of.write1h + of.write12h;
    return takeUsage({
      inputTokens: of.text + of.audio + of.image + cachedInputTokens + cacheWriteInputTokens,
      cachedInputTokens,
      cacheWriteInputTokens,
      cacheWrite1hInputTokens: of.write1h,
      cacheWrite12hInputTokens: of.write12h,
      audioInputTokens: of.audio + of.cachedAudio,
      imageInputTokens: of.image + of.cachedImage,
      ...(of.isCachedSplitSaid && { cachedAudioInputTokens: of.cachedAudio, cachedImageInputTokens: of.cachedImage }),
      responseTokens: of.answer + of.audioOutput + of.imageOutput,
      audioOutputTokens: of.audioOutput,
      imageOutputTokens: of.imageOutput,
      searches: of.searches,
      toolUses: { fileSearch: of.fileSearch, codeMinutes: of.codeMinutes },
      images: of.images,
      characters: of.characters,
      audioSeconds: of.audioSeconds,
      serviceTier: of.serviceTier,
      region: of.region,
      speed: of.speed,
    }).usage;
  });
const mode = fc.constantFrom('standard' as const, 'batch' as const);

const INPUTS = COMPONENTS.filter((component) => /input|cache/i.test(component));
const OUTPUTS = COMPONENTS.filter((component) => /output/i.test(component));

function quantityOf({ lines }: Cost, components: readonly string[]): number {
  return lines.reduce((sum, { component, quantity }) => sum + (components.includes(component) ? quantity : 0), 0);
}

describe('a price with any dimensions', () => {
  test('charges each token on one line, and each use on its own or names it as not included', () => {
    let known = 0;
    fc.assert(
      fc.property(card, usage, mode, (price, used, pricing) => {
        expect(excessiveParts(used)).toBeNull();
        const priced = costOf(price, used, pricing);
        if (!priced.known) return;
        known += 1;
        const { cost } = priced;
        if (used.inputTokens + used.responseTokens > 0) {
          expect(quantityOf(cost, INPUTS)).toBe(used.inputTokens);
          expect(quantityOf(cost, OUTPUTS)).toBe(used.responseTokens);
        }
        const uses = { webSearch: used.searches, fileSearch: used.toolUses?.fileSearch ?? 0, images: used.images ?? 0 };
        for (const [component, quantity] of Object.entries(uses)) {
          const isNamed = cost.assumptions.some((words) => words.startsWith(`${component}:`));
          expect(quantityOf(cost, [component])).toBe(isNamed ? 0 : quantity);
        }
        expect(cost.lines.every(({ quantity }) => quantity >= 0)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
    expect(known).toBeGreaterThan(25);
  });

  test('rounds each line once, and its lines sum to the standard cost', () => {
    fc.assert(
      fc.property(card, usage, mode, (price, used, pricing) => {
        const priced = costOf(price, used, pricing);
        if (!priced.known) return;
        const { lines, standardNanoUsd, totalNanoUsd } = priced.cost;
        expect(lines.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n)).toBe(standardNanoUsd);
        const isHalved = pricing === 'batch' && priced.cost.conditions.serviceTier !== 'batch';
        expect(totalNanoUsd).toBe(isHalved ? (standardNanoUsd + 1n) / 2n : standardNanoUsd);
        for (const { quantity, rateNanoUsdPerMillion, costNanoUsd } of lines) {
          // A regional rate is shown rounded to a nano-USD per million, which moves a line by less than its quantity.
          const off = 2n * (costNanoUsd * 1_000_000n - BigInt(quantity) * rateNanoUsdPerMillion);
          const bound = 1_000_000n + BigInt(quantity);
          expect(off <= bound && off >= -bound).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('names what has no rate, and never prices it as something else', () => {
    fc.assert(
      fc.property(card, usage, mode, (price, used, pricing) => {
        const without = {
          ...price,
          billedAsWhole: [],
          rates: price.rates.filter(
            ({ component }) => isUse(component) || component === 'input' || component === 'output',
          ),
        };
        const priced = costOf(without, used, pricing);
        const media = (used.audioOutputTokens ?? 0) + (used.imageOutputTokens ?? 0);
        if (priced.known) expect(media).toBe(0);
        else expect(priced.reason).toMatch(/^RATE_NOT_IN_CATALOG: \S/);
      }),
      { numRuns: 1_000 },
    );
  });

  test('costs the same by the part of it that travels with a call', () => {
    fc.assert(
      fc.property(card, usage, mode, (price, used, pricing) => {
        expect(costOf(cardFor(price, used), used, pricing)).toEqual(costOf(price, used, pricing));
      }),
      { numRuns: 2_000 },
    );
  });
});
