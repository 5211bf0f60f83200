/**
 * The earnings of a plan's price over time. Pure.
 *
 * A price per month or year accrues evenly over each calendar month or year (UTC), whatever its length: even if the
 * start of a customer's usage periods changes, a month of a monthly plan earns its price exactly. Hours, days and weeks
 * have one length. A plan that never replenishes has no period, and earns nothing over time.
 */
import { DAY_MS, HOUR_MS } from '../platform/time.ts';
import { divideHalfUp, type NanoUsd, parseUsd } from './money.ts';
import type { Replenish } from './period.ts';
import type { Plan } from './plan.ts';

const FIXED_MS = { HOUR: HOUR_MS, DAY: DAY_MS, WEEK: 7 * DAY_MS } as const;
const MONTHS_PER_YEAR = 12;

/** A price that accrues: the amount that a customer pays for `every` units. */
export interface PricePerPeriod {
  priceNanoUsd: NanoUsd;
  replenish: NonNullable<Replenish>;
}

/** `null` if the plan has no price, or no period in which to earn it. */
export function pricePerPeriod({ priceUsd, replenish }: Pick<Plan, 'priceUsd' | 'replenish'>): PricePerPeriod | null {
  const priceNanoUsd = priceUsd == null ? null : parseUsd(priceUsd);
  return priceNanoUsd === null || replenish === null ? null : { priceNanoUsd, replenish };
}

/**
 * The earnings of a subscription from `fromMs` to `toMs`. It is the difference of two sums since 1970, each of them
 * rounded, so that the parts of any time add up to the whole.
 */
export function accruedNanoUsd(price: PricePerPeriod, { fromMs, toMs }: { fromMs: number; toMs: number }): NanoUsd {
  return toMs <= fromMs ? 0n : accruedUntil(price, toMs) - accruedUntil(price, fromMs);
}

function accruedUntil({ priceNanoUsd, replenish }: PricePerPeriod, atMs: number): NanoUsd {
  const { units, restMs, unitMs } = unitsUntil(replenish.unit, atMs);
  const elapsed = BigInt(units) * BigInt(unitMs) + BigInt(restMs);
  return divideHalfUp(priceNanoUsd * elapsed, BigInt(replenish.every) * BigInt(unitMs));
}

/** The total time, in milliseconds, that subscriptions of one price had within one calendar month (UTC). */
export interface SubscribedMonth {
  monthMs: number;
  subscribedMs: bigint;
}

/** The earnings of all of them together, rounded once. */
export function accruedOfMonths(
  { priceNanoUsd, replenish }: PricePerPeriod,
  months: readonly SubscribedMonth[],
): NanoUsd {
  const perUnit = new Map<number, bigint>();
  for (const { monthMs, subscribedMs } of months) {
    const { unitMs } = unitsUntil(replenish.unit, monthMs);
    perUnit.set(unitMs, (perUnit.get(unitMs) ?? 0n) + subscribedMs);
  }
  // Months have four lengths and years two, so the common denominator stays small.
  const common = [...perUnit.keys()].reduce((product, unitMs) => product * BigInt(unitMs), 1n);
  const units = [...perUnit].reduce(
    (sum, [unitMs, subscribedMs]) => sum + subscribedMs * (common / BigInt(unitMs)),
    0n,
  );
  return divideHalfUp(priceNanoUsd * units, BigInt(replenish.every) * common);
}

/** Whole units since 1970, the elapsed part of the next one, and its length. */
function unitsUntil(
  unit: PricePerPeriod['replenish']['unit'],
  atMs: number,
): { units: number; restMs: number; unitMs: number } {
  if (unit !== 'MONTH' && unit !== 'YEAR') {
    const unitMs = FIXED_MS[unit];
    const units = Math.floor(atMs / unitMs);
    return { units, restMs: atMs - units * unitMs, unitMs };
  }
  const at = new Date(atMs);
  const year = at.getUTCFullYear();
  const month = unit === 'MONTH' ? at.getUTCMonth() : 0;
  const months = unit === 'MONTH' ? 1 : MONTHS_PER_YEAR;
  const startMs = Date.UTC(year, month);
  const units = unit === 'MONTH' ? (year - 1970) * MONTHS_PER_YEAR + month : year - 1970;
  return { units, restMs: atMs - startMs, unitMs: Date.UTC(year, month + months) - startMs };
}
