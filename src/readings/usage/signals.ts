/**
 * Signals: facts about a customer that deserve attention now, each with its evidence.
 *
 * The list is closed, and every threshold is a constant here. Signals are sorted by SIGNAL_CODES and meters keep their
 * given order, so the same facts give the same response.
 */

import type { MeterSummary } from '../../domain/allowances.ts';
import type { MeterName } from '../../domain/meters.ts';
import { DAY_MS } from '../../platform/time.ts';
import { DAYS_PER_WEEK } from '../calendar.ts';
import { rounded } from '../statistics.ts';
import type { WeekComparison } from './weeks.ts';

export const SIGNAL_CODES = [
  'ALLOWANCE_EXHAUSTED',
  'ALLOWANCE_NEARLY_USED',
  'ALLOWANCE_PROJECTED_TO_RUN_OUT',
  'CREDIT_LOW',
  'ERRORS_ELEVATED',
  'INACTIVE',
  'USAGE_RISING',
  'USAGE_FALLING',
  'SPEND_RISING',
  'PLAN_CHANGE_PENDING',
] as const;
export type SignalCode = (typeof SIGNAL_CODES)[number];

const SIGNAL_THRESHOLDS = {
  /** An allowance is nearly used if at most this share remains. */
  nearlyUsedRemainingRatio: 0.1,
  /** Ratio of the latest week to the week before it. */
  risingRatio: 1.25,
  fallingRatio: 0.75,
  /** With fewer calls in both weeks together, weeks are not compared. */
  comparedCallsMin: 20,
  /**
   * Minimum for elevated errors in the latest week: failed calls, their share of all calls, and that share as a
   * multiple of the preceding week's.
   */
  failedCallsMin: 5,
  failedShareMin: 0.05,
  failedShareRatio: 2,
  /** Days without a call before a customer counts as inactive. */
  inactiveDays: 7,
  /** Credit is low if the balance lasts fewer days at the pace of the latest week. */
  creditDaysMin: 7,
} as const;

type Severity = 'INFO' | 'WARNING' | 'CRITICAL';

export interface Signal {
  code: SignalCode;
  severity: Severity;
  /** The meter that the signal concerns, if any. */
  meter: MeterName | null;
  evidence: Record<string, number | string | null>;
}

export interface SignalInput {
  nowMs: number;
  calls: WeekComparison;
  failedCalls: WeekComparison;
  /** Recorded provider cost in USD. */
  dollars: WeekComparison;
  /** `null` if the customer never ended a call. */
  lastCallAtMs: number | null;
  meters: readonly { meter: MeterName; summary: MeterSummary; projectedExhaustionAtMs: number | null }[];
  /** Purchased credit in USD, and the charges to it in the latest week; `null` if the customer has no credit. */
  credit: { balanceUsd: number; chargedLatestWeekUsd: number } | null;
  pendingPlan: { usagePlanVersionId: string; effectiveAtMs: number } | null;
}

export function deriveSignals(input: SignalInput): Signal[] {
  const found = [
    ...meterSignals(input),
    ...creditSignals(input),
    ...activitySignals(input),
    ...trendSignals(input),
    ...planSignals(input),
  ];
  // The sort is stable: meters keep their order.
  return found.sort((a, b) => SIGNAL_CODES.indexOf(a.code) - SIGNAL_CODES.indexOf(b.code));
}

function meterSignals({ meters }: SignalInput): Signal[] {
  const found: Signal[] = [];
  for (const { meter, summary, projectedExhaustionAtMs } of meters) {
    const { unlimited, limit, used, remaining, ratio } = summary;
    // An allowance of zero cannot be exhausted.
    if (unlimited || limit === null || limit === 0) continue;
    const evidence = { limit, used, remaining, ratio: ratio === null ? null : rounded(ratio, 4) };
    if (remaining <= 0) found.push({ code: 'ALLOWANCE_EXHAUSTED', severity: 'CRITICAL', meter, evidence });
    else if (ratio !== null && ratio <= SIGNAL_THRESHOLDS.nearlyUsedRemainingRatio) {
      found.push({ code: 'ALLOWANCE_NEARLY_USED', severity: 'WARNING', meter, evidence });
    }
    if (remaining > 0 && projectedExhaustionAtMs !== null) {
      const projected = {
        ...evidence,
        projectedAllowanceExhaustionAt: new Date(projectedExhaustionAtMs).toISOString(),
      };
      found.push({ code: 'ALLOWANCE_PROJECTED_TO_RUN_OUT', severity: 'WARNING', meter, evidence: projected });
    }
  }
  return found;
}

function creditSignals({ credit }: SignalInput): Signal[] {
  if (credit === null) return [];
  const perDay = credit.chargedLatestWeekUsd / DAYS_PER_WEEK;
  const daysLeft = perDay > 0 ? credit.balanceUsd / perDay : null;
  const low = credit.balanceUsd <= 0 || (daysLeft !== null && daysLeft < SIGNAL_THRESHOLDS.creditDaysMin);
  if (!low) return [];
  const evidence = { ...credit, daysLeft: daysLeft === null ? null : rounded(Math.max(0, daysLeft), 2) };
  return [{ code: 'CREDIT_LOW', severity: credit.balanceUsd <= 0 ? 'CRITICAL' : 'WARNING', meter: null, evidence }];
}

function activitySignals({ nowMs, calls, failedCalls, lastCallAtMs }: SignalInput): Signal[] {
  const found: Signal[] = [];
  const { failedCallsMin, failedShareMin, failedShareRatio, inactiveDays } = SIGNAL_THRESHOLDS;
  const share = calls.latest > 0 ? failedCalls.latest / calls.latest : 0;
  const before = calls.preceding > 0 ? failedCalls.preceding / calls.preceding : 0;
  if (failedCalls.latest >= failedCallsMin && share >= failedShareMin && share >= failedShareRatio * before) {
    const evidence = {
      calls: calls.latest,
      failedCalls: failedCalls.latest,
      failedShare: rounded(share, 4),
      failedSharePreceding: rounded(before, 4),
    };
    found.push({ code: 'ERRORS_ELEVATED', severity: 'WARNING', meter: null, evidence });
  }
  if (lastCallAtMs !== null && nowMs - lastCallAtMs >= inactiveDays * DAY_MS) {
    const evidence = {
      lastCallAt: new Date(lastCallAtMs).toISOString(),
      daysSince: Math.floor((nowMs - lastCallAtMs) / DAY_MS),
    };
    found.push({ code: 'INACTIVE', severity: 'WARNING', meter: null, evidence });
  }
  return found;
}

function trendSignals({ calls, dollars }: SignalInput): Signal[] {
  if (calls.latest + calls.preceding < SIGNAL_THRESHOLDS.comparedCallsMin) return [];
  const found: Signal[] = [];
  const compared = ({ latest, preceding, change, ratio }: WeekComparison) => ({ latest, preceding, change, ratio });
  if (isRising(calls)) found.push({ code: 'USAGE_RISING', severity: 'INFO', meter: null, evidence: compared(calls) });
  if (calls.ratio !== null && calls.ratio <= SIGNAL_THRESHOLDS.fallingRatio) {
    found.push({ code: 'USAGE_FALLING', severity: 'WARNING', meter: null, evidence: compared(calls) });
  }
  if (isRising(dollars))
    found.push({ code: 'SPEND_RISING', severity: 'INFO', meter: null, evidence: compared(dollars) });
  return found;
}

/** Any usage after a week without usage counts as rising. */
function isRising({ latest, ratio }: WeekComparison): boolean {
  return ratio === null ? latest > 0 : ratio >= SIGNAL_THRESHOLDS.risingRatio;
}

function planSignals({ pendingPlan }: SignalInput): Signal[] {
  if (pendingPlan === null) return [];
  const { usagePlanVersionId, effectiveAtMs } = pendingPlan;
  const evidence = { usagePlanVersionId, effectiveAt: new Date(effectiveAtMs).toISOString() };
  return [{ code: 'PLAN_CHANGE_PENDING', severity: 'INFO', meter: null, evidence }];
}
