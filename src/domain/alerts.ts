/**
 * Alerts: the parts of a limit, and the balance, at which an organization wants an event, and the moments at which
 * usage crosses them.
 *
 * A rule compares the state before a change with the state after it, so no earlier alert has to be remembered. Usage
 * only grows within a period except for corrections, so a threshold is crossed once in a period, and once more after
 * each time that usage fell below it. The holds of open calls are not used yet: they would cross thresholds and fall
 * below them with every call.
 */
import { planLimit } from './allowances.ts';
import { METER_NAMES, type MeterName, type Quantities } from './meters.ts';
import { type NanoUsd, parseUsd } from './money.ts';
import type { Alerts, Plan } from './plan.ts';

export const THRESHOLDS_PERCENT_DEFAULT: readonly number[] = [50, 80, 100];

/** A plan, and its customer's consumption in the current period. */
export interface Consumption {
  plan: Plan;
  /** The organization's alerts for all of its plans that set none. */
  defaults?: Alerts | undefined;
  consumed: Quantities;
}

export interface Crossing {
  meter: MeterName;
  /** The highest threshold that was crossed. */
  threshold: number;
  /** The thresholds that usage reached, ascending; `null` if usage fell below `threshold`. */
  crossed: number[] | null;
  used: number;
  /** `null` if the plan no longer limits the meter. */
  limit: number | null;
}

/** The thresholds that a change of plan or consumption crosses: at most one for each meter. */
export function crossings(before: Consumption, after: Consumption): Crossing[] {
  const isSamePlan = before.plan === after.plan;
  if (isSamePlan && before.consumed === after.consumed) return [];
  return METER_NAMES.flatMap((meter) => {
    const isSame = isSamePlan && before.consumed[meter] === after.consumed[meter];
    return isSame ? [] : (findCrossing(meter, before, after) ?? []);
  });
}

function findCrossing(meter: MeterName, before: Consumption, after: Consumption): Crossing | null {
  const [was, is] = [usedShare(meter, before), usedShare(meter, after)];
  const state = { meter, used: after.consumed[meter] ?? 0, limit: planLimit(after.plan, meter) };
  const crossed = between(alertThresholds(after.plan, after.defaults), was, is);
  const reached = crossed.at(-1);
  if (reached !== undefined) return { ...state, threshold: reached, crossed };
  const left = between(alertThresholds(before.plan, before.defaults), is, was).at(-1);
  return left === undefined ? null : { ...state, threshold: left, crossed: null };
}

/**
 * The used part of the limit. A quotient is rounded like `threshold / 100`, so a share that equals a threshold reaches
 * it. A meter without a limit, or that the plan does not include, has no parts.
 */
function usedShare(meter: MeterName, { plan, consumed }: Consumption): number {
  const limit = planLimit(plan, meter);
  return limit === null || limit === 0 ? 0 : (consumed[meter] ?? 0) / limit;
}

/** The thresholds above one share, up to and including another, ascending. */
function between(thresholds: readonly number[], from: number, to: number): number[] {
  return to <= from
    ? []
    : thresholds.filter((threshold) => from < threshold / 100 && threshold / 100 <= to).sort((a, b) => a - b);
}

/** The thresholds of a plan: its own, or the organization's, or the default. */
export function alertThresholds({ alerts }: Pick<Plan, 'alerts'>, defaults?: Alerts): readonly number[] {
  return alerts?.thresholdsPercent ?? defaults?.thresholdsPercent ?? THRESHOLDS_PERCENT_DEFAULT;
}

/** Whether a change used up the balance, or brought it below the amount; otherwise `null`. */
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

/** The amount below which a balance is low: from the plan, or from the organization; `null` if neither sets one. */
export function lowBalance({ alerts }: Pick<Plan, 'alerts'>, defaults?: Alerts): NanoUsd | null {
  const amount = alerts?.balanceBelowUsd === undefined ? defaults?.balanceBelowUsd : alerts.balanceBelowUsd;
  return amount == null ? null : parseUsd(amount);
}

/**
 * The days of forecast spend below which a balance is low: from the plan, or from the organization; `null` if neither
 * sets them.
 */
export function lowBalanceDays({ alerts }: Pick<Plan, 'alerts'>, defaults?: Alerts): number | null {
  const days = alerts?.balanceBelowDays === undefined ? defaults?.balanceBelowDays : alerts.balanceBelowDays;
  return days ?? null;
}
