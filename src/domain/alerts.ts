/**
 * Alerts: which parts of a limit, and which balance, an organization wants to be told of, and when usage crosses them.
 *
 * A rule compares what was before a change with what is after it, so nothing has to be remembered of what was told. Usage
 * only grows within a period but for corrections, so a threshold is crossed once in a period, or once more for each time
 * that usage fell below it. What open calls hold is not used yet: it would cross thresholds and fall below them with every
 * call.
 */
import { limitOf } from './allowances.ts';
import { METER_NAMES, type MeterName, type Quantities } from './meters.ts';
import { type NanoUsd, parseUsd } from './money.ts';
import type { Alerts, Plan } from './plan.ts';

export const THRESHOLDS_PERCENT_DEFAULT: readonly number[] = [50, 80, 100];

/** A plan, and what its customer has consumed in the current period. */
export interface Consumption {
  plan: Plan;
  /** What the organization wants of all its plans that say nothing of it. */
  defaults?: Alerts | undefined;
  consumed: Quantities;
}

export interface Crossing {
  meter: MeterName;
  /** The highest of those that were crossed. */
  threshold: number;
  /** Those that usage reached, ascending; `null` where usage fell below `threshold`. */
  crossed: number[] | null;
  used: number;
  /** `null` where the plan no longer limits the meter. */
  limit: number | null;
}

/** The thresholds that a change of plan or consumption crosses: of each meter one at most. */
export function crossings(before: Consumption, after: Consumption): Crossing[] {
  const isSamePlan = before.plan === after.plan;
  if (isSamePlan && before.consumed === after.consumed) return [];
  return METER_NAMES.flatMap((meter) => {
    const isSame = isSamePlan && before.consumed[meter] === after.consumed[meter];
    return isSame ? [] : (crossingOf(meter, before, after) ?? []);
  });
}

function crossingOf(meter: MeterName, before: Consumption, after: Consumption): Crossing | null {
  const [was, is] = [shareOf(meter, before), shareOf(meter, after)];
  const state = { meter, used: after.consumed[meter] ?? 0, limit: limitOf(after.plan, meter) };
  const crossed = between(thresholdsOf(after.plan, after.defaults), was, is);
  const reached = crossed.at(-1);
  if (reached !== undefined) return { ...state, threshold: reached, crossed };
  const left = between(thresholdsOf(before.plan, before.defaults), is, was).at(-1);
  return left === undefined ? null : { ...state, threshold: left, crossed: null };
}

/**
 * The part of the limit that is used. A quotient is rounded as `threshold / 100` is, so a share that equals a threshold is
 * one. A meter without a limit, or of which the plan includes nothing, has no parts.
 */
function shareOf(meter: MeterName, { plan, consumed }: Consumption): number {
  const limit = limitOf(plan, meter);
  return limit === null || limit === 0 ? 0 : (consumed[meter] ?? 0) / limit;
}

/** The thresholds above one share, up to another, ascending. */
function between(thresholds: readonly number[], from: number, to: number): number[] {
  return to <= from
    ? []
    : thresholds.filter((threshold) => from < threshold / 100 && threshold / 100 <= to).sort((a, b) => a - b);
}

/** The thresholds of a plan: its own, else the organization's, else the default. */
export function thresholdsOf({ alerts }: Pick<Plan, 'alerts'>, defaults?: Alerts): readonly number[] {
  return alerts?.thresholdsPercent ?? defaults?.thresholdsPercent ?? THRESHOLDS_PERCENT_DEFAULT;
}

/** Whether a change of the balance used it up, or brought it below the amount; else `null`. */
export function balanceFall({
  below,
  before,
  after,
}: {
  below: NanoUsd | null;
  before: NanoUsd;
  after: NanoUsd;
}): 'exhausted' | 'low' | null {
  if (after >= before) return null;
  if (after <= 0n) return before > 0n ? 'exhausted' : null;
  return below !== null && before >= below && after < below ? 'low' : null;
}

/** The amount below which a balance is low: of the plan, else of the organization; `null` where none is. */
export function lowBalance({ alerts }: Pick<Plan, 'alerts'>, defaults?: Alerts): NanoUsd | null {
  const amount = alerts?.balanceBelowUsd === undefined ? defaults?.balanceBelowUsd : alerts.balanceBelowUsd;
  return amount == null ? null : parseUsd(amount);
}

/** The days of forecast spend below which a balance is low: of the plan, else of the organization; `null` where none are. */
export function lowBalanceDays({ alerts }: Pick<Plan, 'alerts'>, defaults?: Alerts): number | null {
  const days = alerts?.balanceBelowDays === undefined ? defaults?.balanceBelowDays : alerts.balanceBelowDays;
  return days ?? null;
}
