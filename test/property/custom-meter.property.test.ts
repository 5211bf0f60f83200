/**
 * Overage is priced exactly: its components are its units, cutting it up changes no total, more never costs less, and
 * the total equals the count unit by unit. An increment is paid for once, by somebody or by nobody.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { incrementMeter, priceOverage } from '../../src/domain/custom-meter.ts';
import type { CustomMeter, OverageTier } from '../../src/domain/plan.ts';
import { type Credit, EMPTY_WALLET, grantCredit, sumBalance } from '../../src/domain/wallet.ts';
import { account, plan } from '../unit/fixtures.ts';

const prices = fc.constantFrom('0', '0.000000001', '0.01', '0.333333333', '1.5', '999999999.999999999');
const quantities = fc.constantFrom('1', '2', '3', '7', '1000', '999999999999999');

function tiersUpTo(borderMax: number): fc.Arbitrary<OverageTier[]> {
  const borders = fc
    .uniqueArray(fc.integer({ min: 1, max: borderMax }), { maxLength: 5 })
    .map((list) => list.sort((a, b) => a - b));
  return borders.chain((list) =>
    fc.tuple(
      ...[...list, null].map((upTo) =>
        fc.record({ upTo: fc.constant(upTo === null ? null : String(upTo)), priceUsd: prices, per: quantities }),
      ),
    ),
  );
}

/** Small borders, and such as 2^53 has. */
const tiers = fc.oneof(tiersUpTo(30), tiersUpTo(999_999_999_999_999));
const parts = fc.array(fc.oneof(fc.bigInt({ min: 1n, max: 12n }), fc.bigInt({ min: 1n, max: 2n ** 53n - 1n })), {
  minLength: 1,
  maxLength: 12,
});

const nano = (decimal: string) => {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
};

describe('priceOverage', () => {
  test('its components add up to the units, in tier order, each within its tier and at its rate', () => {
    fc.assert(
      fc.property(
        tiers,
        fc.bigInt({ min: 0n, max: 10n ** 16n }),
        fc.bigInt({ min: 0n, max: 10n ** 16n }),
        (list, before, units) => {
          const { components } = priceOverage(list, { before, after: before + units });
          expect(components.reduce((sum, { unitsExact }) => sum + BigInt(unitsExact), 0n)).toBe(units);
          let at = before;
          for (const [index, { tierIndex, upTo, unitsExact, priceNanoUsd, priceQuantity }] of components.entries()) {
            if (index > 0) expect(tierIndex).toBe((components[index - 1]?.tierIndex ?? 0) + 1);
            const tier = list[tierIndex] as OverageTier;
            expect({ upTo, priceNanoUsd, priceQuantity }).toEqual({
              upTo: tier.upTo,
              priceNanoUsd: nano(tier.priceUsd).toString(),
              priceQuantity: tier.per,
            });
            expect(BigInt(unitsExact)).toBeGreaterThan(0n);
            // The first of its units is after the tier before, the last one not after its own end.
            expect(at).toBeGreaterThanOrEqual(BigInt(list[tierIndex - 1]?.upTo ?? 0));
            at += BigInt(unitsExact);
            if (upTo !== null) expect(at).toBeLessThanOrEqual(BigInt(upTo));
          }
          expect(at).toBe(before + units);
        },
      ),
    );
  });

  test('splitting an overage into parts does not change its cost, in total and by tier', () => {
    fc.assert(
      fc.property(tiers, fc.bigInt({ min: 0n, max: 100n }), parts, (list, start, cuts) => {
        let at = start;
        let total = 0n;
        const byTier = new Map<number, bigint>();
        for (const cut of cuts) {
          const { components, totalNanoUsd } = priceOverage(list, { before: at, after: at + cut });
          at += cut;
          total += totalNanoUsd;
          for (const { tierIndex, unitsExact } of components)
            byTier.set(tierIndex, (byTier.get(tierIndex) ?? 0n) + BigInt(unitsExact));
        }
        const whole = priceOverage(list, { before: start, after: at });
        expect(total).toBe(whole.totalNanoUsd);
        expect([...byTier].sort(([a], [b]) => a - b)).toEqual(
          whole.components.map((part) => [part.tierIndex, BigInt(part.unitsExact)]),
        );
      }),
    );
  });

  test('more units never cost less, and zero units cost nothing', () => {
    fc.assert(
      fc.property(tiers, fc.bigInt({ min: 0n, max: 10n ** 16n }), parts, (list, before, [first = 1n, second = 1n]) => {
        const less = priceOverage(list, { before, after: before + first }).totalNanoUsd;
        const more = priceOverage(list, { before, after: before + first + second }).totalNanoUsd;
        expect(less).toBeGreaterThanOrEqual(0n);
        expect(more).toBeGreaterThanOrEqual(less);
        expect(priceOverage(list, { before, after: before })).toEqual({ components: [], totalNanoUsd: 0n });
      }),
    );
  });

  test('the total equals unit-by-unit counting, with each tier rounded once, half up', () => {
    fc.assert(
      fc.property(tiersUpTo(30), fc.nat(60), (list, units) => {
        // The number of units in each tier; then the price of all of them, as a fraction, to the nearest whole.
        const counts = list.map(() => 0n);
        for (let unit = 1; unit <= units; unit += 1) {
          const index = list.findIndex(({ upTo }) => upTo === null || unit <= Number(upTo));
          counts[index] = (counts[index] ?? 0n) + 1n;
        }
        const expected = list.reduce((sum, { priceUsd, per }, index) => {
          const numerator = (counts[index] ?? 0n) * nano(priceUsd);
          const [whole, rest] = [numerator / BigInt(per), numerator % BigInt(per)];
          return sum + whole + (rest * 2n >= BigInt(per) ? 1n : 0n);
        }, 0n);
        expect(priceOverage(list, { before: 0n, after: BigInt(units) }).totalNanoUsd).toBe(expected);
      }),
    );
  });
});

const meters: fc.Arbitrary<CustomMeter> = fc.record({
  enabled: fc.constant(true),
  label: fc.constant('x'),
  included: fc.nat(20),
  unlimited: fc.constant(false),
  funding: fc.record({ credits: fc.boolean(), payg: fc.boolean() }),
  overage: fc.option(
    tiersUpTo(15).map((list) => ({ model: 'GRADUATED' as const, tiers: list })),
    { nil: undefined },
  ),
});

const credit = (unit: Credit['unit'], amount: bigint): Credit => {
  const granted = amount.toString();
  return { creditId: unit, unit, granted, remaining: granted, grantedAtMs: 0, expiresAtMs: null, reference: null };
};

test('each unit is paid for once, in this order: allowance, credits, balance, unpaid', () => {
  const purse = fc.record({
    usd: fc.bigInt({ min: 0n, max: 10n ** 10n }),
    units: fc.bigInt({ min: 0n, max: 15n }),
    payg: fc.boolean(),
  });
  fc.assert(
    fc.property(
      meters,
      purse,
      fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 12 }),
      (meter, { usd, units, payg }, amounts) => {
        let current = account(plan({ customMeters: { CUSTOM1: meter }, payg: { enabled: payg, markupPercent: 0 } }));
        const granted = [...(usd > 0n ? [credit('USD', usd)] : []), ...(units > 0n ? [credit('CUSTOM1', units)] : [])];
        current = { ...current, wallet: granted.reduce(grantCredit, EMPTY_WALLET) };
        let included = meter.included;
        let credits = meter.funding.credits ? Number(units) : 0;
        let owed = 0n;
        let usage = 0;
        for (const [index, amount] of amounts.entries()) {
          const ids = { eventId: `event-${index}`, chargeId: `charge-${index}` };
          const incremented = incrementMeter(current, { slot: 'CUSTOM1', amount }, ids, 1);
          if (!incremented) throw new Error('the slot is enabled');
          const { event } = incremented;
          const fromIncluded = Math.min(amount, included);
          const fromCredits = Math.min(amount - fromIncluded, credits);
          const rest = amount - fromIncluded - fromCredits;
          const onBalance = meter.funding.payg && payg && meter.overage !== undefined && usd > owed;
          expect(event.funding).toEqual({
            included: fromIncluded,
            credits: fromCredits,
            overage: onBalance ? rest : 0,
            unfunded: onBalance ? 0 : rest,
          });
          expect([event.periodUsageBefore, event.periodUsageAfter]).toEqual([String(usage), String(usage + amount)]);
          expect(event.components.reduce((sum, { unitsExact }) => sum + Number(unitsExact), 0)).toBe(
            event.funding.overage,
          );
          expect(event.charge === null).toBe(event.funding.overage === 0);
          included -= fromIncluded;
          credits -= fromCredits;
          usage += amount;
          owed += BigInt(event.charge?.amountNanoUsd ?? 0);
          current = incremented.account;
          expect(BigInt(current.wallet.unsettled)).toBe(owed);
          expect(sumBalance(current.wallet, 'USD')).toBe(usd);
          expect(sumBalance(current.wallet, 'CUSTOM1')).toBe(meter.funding.credits ? BigInt(credits) : units);
          expect(current.meters.consumed.customMeter1 ?? 0).toBe(meter.included - included);
        }
      },
    ),
    { numRuns: 500 },
  );
});
