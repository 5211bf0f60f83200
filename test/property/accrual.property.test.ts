/**
 * Promise: the accrued price of a plan adds up over any parts of a time, never falls, is half of it for half of a price
 * or twice the period, and is the price itself for a whole unit.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { accruedNanoUsd, accruedOfMonths, type PricePerPeriod } from '../../src/domain/accrual.ts';
import { DAY_MS, HOUR_MS } from '../../src/platform/time.ts';

const FIRST = Date.UTC(1999, 0, 1);
const LAST = Date.UTC(2101, 0, 1);

const atMs = fc.integer({ min: FIRST, max: LAST });
const price: fc.Arbitrary<PricePerPeriod> = fc.record({
  priceNanoUsd: fc.bigInt(0n, 999_999_999_999_999_999n),
  replenish: fc.record({
    every: fc.integer({ min: 1, max: 1_000 }),
    unit: fc.constantFrom('HOUR' as const, 'DAY' as const, 'WEEK' as const, 'MONTH' as const, 'YEAR' as const),
  }),
});

test('the parts of a time add up to the whole', () => {
  fc.assert(
    fc.property(price, fc.array(atMs, { minLength: 2, maxLength: 40 }), (of, times) => {
      const borders = times.toSorted((a, b) => a - b);
      const parts = borders
        .slice(1)
        .map((end, index) => accruedNanoUsd(of, { fromMs: borders[index] as number, toMs: end }));
      const [first, last] = [borders[0] as number, borders.at(-1) as number];
      expect(parts.reduce((sum, part) => sum + part, 0n)).toBe(accruedNanoUsd(of, { fromMs: first, toMs: last }));
      expect(parts.every((part) => part >= 0n)).toBe(true);
    }),
  );
});

test('a longer time never earns less, and time that runs backwards earns nothing', () => {
  fc.assert(
    fc.property(price, atMs, fc.nat(400 * DAY_MS), fc.nat(DAY_MS), (of, fromMs, length, more) => {
      const toMs = fromMs + length;
      expect(accruedNanoUsd(of, { fromMs, toMs: toMs + more })).toBeGreaterThanOrEqual(
        accruedNanoUsd(of, { fromMs, toMs }),
      );
      expect(accruedNanoUsd(of, { fromMs: toMs, toMs: fromMs })).toBe(0n);
    }),
  );
});

test('half of a price, or twice the period, earns half, to the rounding of two amounts', () => {
  fc.assert(
    fc.property(price, atMs, fc.nat(400 * DAY_MS), (of, fromMs, length) => {
      const { priceNanoUsd, replenish } = of;
      const whole = accruedNanoUsd({ ...of, priceNanoUsd: 2n * priceNanoUsd }, { fromMs, toMs: fromMs + length });
      const half = accruedNanoUsd(of, { fromMs, toMs: fromMs + length });
      const slower = accruedNanoUsd(
        { priceNanoUsd: 2n * priceNanoUsd, replenish: { ...replenish, every: 2 * replenish.every } },
        { fromMs, toMs: fromMs + length },
      );
      expect(Math.abs(Number(whole - 2n * half))).toBeLessThanOrEqual(3);
      expect(slower).toBe(half);
    }),
  );
});

test('a calendar month of a monthly price, and a year of a yearly one, earn the price, whatever their length', () => {
  fc.assert(
    fc.property(
      fc.bigInt(0n, 10n ** 15n),
      fc.integer({ min: 1999, max: 2100 }),
      fc.nat(11),
      (priceNanoUsd, year, month) => {
        const monthly: PricePerPeriod = { priceNanoUsd, replenish: { every: 1, unit: 'MONTH' } };
        expect(accruedNanoUsd(monthly, { fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) })).toBe(
          priceNanoUsd,
        );
        const yearly: PricePerPeriod = { priceNanoUsd, replenish: { every: 1, unit: 'YEAR' } };
        expect(accruedNanoUsd(yearly, { fromMs: Date.UTC(year, 0), toMs: Date.UTC(year + 1, 0) })).toBe(priceNanoUsd);
      },
    ),
  );
  const daily: PricePerPeriod = { priceNanoUsd: 24n, replenish: { every: 1, unit: 'DAY' } };
  expect(accruedNanoUsd(daily, { fromMs: 5 * HOUR_MS, toMs: 8 * HOUR_MS })).toBe(3n);
});

test('what many subscriptions earn by months is the sum of what each earns, to a nano-USD of each', () => {
  const spans = fc.array(fc.tuple(fc.nat(400 * DAY_MS), fc.nat(400 * DAY_MS)), { maxLength: 12 });
  fc.assert(
    fc.property(price, atMs, spans, (of, baseMs, times) => {
      const each = times.map(([start, length]) => ({ fromMs: baseMs + start, toMs: baseMs + start + length }));
      const months = new Map<number, bigint>();
      for (const { fromMs, toMs } of each)
        for (let startMs = fromMs; startMs < toMs; ) {
          const at = new Date(startMs);
          const monthMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth());
          const endMs = Math.min(toMs, Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1));
          months.set(monthMs, (months.get(monthMs) ?? 0n) + BigInt(endMs - startMs));
          startMs = endMs;
        }
      const together = accruedOfMonths(
        of,
        [...months].map(([monthMs, subscribedMs]) => ({ monthMs, subscribedMs })),
      );
      const apart = each.reduce((sum, { fromMs, toMs }) => sum + accruedNanoUsd(of, { fromMs, toMs }), 0n);
      expect(Math.abs(Number(together - apart))).toBeLessThanOrEqual(each.length + 1);
    }),
  );
});
