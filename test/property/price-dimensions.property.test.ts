/**
 * Whatever dimensions a price and a usage have: each token is on one line, each line is rounded once, the lines sum to
 * the cost, and uses without a rate are named.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { COMPONENTS, isUse } from '../../src/domain/price.ts';
import { type Cost, cardFor, computeCost } from '../../src/domain/pricing.ts';
import { excessiveParts } from '../../src/domain/usage.ts';
import { card, mode, usage } from '../support/price-arbitraries.ts';

const INPUTS = COMPONENTS.filter((component) => /input|cache/i.test(component));
const OUTPUTS = COMPONENTS.filter((component) => /output/i.test(component));

function sumQuantities({ lines }: Cost, components: readonly string[]): number {
  return lines.reduce((sum, { component, quantity }) => sum + (components.includes(component) ? quantity : 0), 0);
}

test('a whole below zero is no fault of parts that are not there', () => {
  expect(excessiveParts({ inputTokens: -1 })).toBeNull();
  expect(excessiveParts({ inputTokens: -1, cachedInputTokens: 1 })?.field).toBe('cachedInputTokens');
});

describe('a price with any dimensions', () => {
  test('charges each token on one line, and each use on its own or names it as not included', () => {
    let known = 0;
    fc.assert(
      fc.property(card, usage, mode, (price, used, pricing) => {
        expect(excessiveParts(used)).toBeNull();
        const priced = computeCost(price, used, pricing);
        if (!priced.known) return;
        known += 1;
        const { cost } = priced;
        if (used.inputTokens + used.responseTokens > 0) {
          expect(sumQuantities(cost, INPUTS)).toBe(used.inputTokens);
          expect(sumQuantities(cost, OUTPUTS)).toBe(used.responseTokens);
        }
        const uses = { webSearch: used.searches, fileSearch: used.toolUses?.fileSearch ?? 0, images: used.images ?? 0 };
        for (const [component, quantity] of Object.entries(uses)) {
          const isNamed = cost.assumptions.some((words) => words.startsWith(`${component}:`));
          expect(sumQuantities(cost, [component])).toBe(isNamed ? 0 : quantity);
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
        const priced = computeCost(price, used, pricing);
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
        const priced = computeCost(without, used, pricing);
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
        expect(computeCost(cardFor(price, used), used, pricing)).toEqual(computeCost(price, used, pricing));
      }),
      { numRuns: 2_000 },
    );
  });
});
