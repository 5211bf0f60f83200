/**
 * A charge by the hold, whatever has no rate: never below the lines that have one, within the hold if the vendor kept
 * to its bound, and exact on a side that has all its rates.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withMarkup } from '../../src/domain/charge.ts';
import { chargeByHold } from '../../src/domain/held-charge.ts';
import { isOutput } from '../../src/domain/price.ts';
import { computeCharges } from '../../src/domain/pricing.ts';
import { card, mode, usage } from '../support/price-arbitraries.ts';

const amount = fc.oneof(fc.bigInt({ min: 0n, max: 1_000n }), fc.bigInt({ min: 0n, max: 10n ** 12n }));
const markup = fc.constantFrom(0, 20, 33.3333, 250.75);

test('a charge by the hold is never below its lines, nor above the greater of hold and lines on any side', () => {
  let seen = 0;
  fc.assert(
    fc.property(card, usage, mode, amount, amount, markup, (price, used, pricing, forInput, forOutput, percent) => {
      const resolved = { available: true, card: price } as const;
      const charge = (input: bigint, output: bigint) =>
        chargeByHold({ nanoUsd: input + output, inputNanoUsd: input }, resolved, used, pricing, percent);
      const charged = charge(forInput, forOutput);
      const { missing, unlisted, totalNanoUsd } = computeCharges(price, used, pricing, used.inputTokens);
      const lacking = [...missing, ...unlisted];
      expect(charged === null).toBe(lacking.length === 0);
      if (charged === null) return;
      seen += 1;
      const lines = withMarkup({ costNanoUsd: totalNanoUsd, markupPercent: percent });
      expect(charged).toBeGreaterThanOrEqual(lines);
      expect(charged).toBeLessThanOrEqual(forInput + forOutput + lines);
      // The hold of a side counts only if something of that side has no rate.
      if (!lacking.some(isOutput)) expect(charge(forInput, 0n)).toBe(charged);
      if (lacking.every(isOutput)) expect(charge(0n, forOutput)).toBe(charged);
      const whole = chargeByHold(
        { nanoUsd: forInput + forOutput, inputNanoUsd: null },
        resolved,
        used,
        pricing,
        percent,
      );
      expect(whole).toBe(lines > forInput + forOutput ? lines : forInput + forOutput);
      // A vendor that kept to its bound on both sides: the hold covers the charge.
      expect(charge(forInput + lines, forOutput + lines)).toBeLessThanOrEqual(forInput + forOutput + lines * 2n);
    }),
    { numRuns: 3_000 },
  );
  expect(seen).toBeGreaterThan(500);
});
