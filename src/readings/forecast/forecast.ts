/**
 * The forecast of one metric of one customer: the expected quantity from now to the end of the period, its uncertainty,
 * and the method.
 *
 * It uses only the customer's own hours; the same input gives the same bytes. A long horizon uses the recent level with
 * a damped slope and a widening interval; its quality is LOW if the horizon is longer than the history.
 */

import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { DAYS_PER_WEEK } from '../calendar.ts';
import { mean, rounded, Z_90 } from '../statistics.ts';
import { backtest, knowledgeAt, type Trial, totalsAhead, type Window, weightedError } from './backtest.ts';
import { blend, blendWeights, leadingMethod } from './blend.ts';
import { CANDIDATES, type Candidate, type ForecastMethod, type Past, SEASONAL, trendBelief } from './candidates.ts';
import { type ChartDay, chartDays, type Pace, type PaceDay, paceDays } from './course.ts';
import { type AheadDay, daysAhead, type History, HORIZON_DAYS_MAX, readHistory, type UsageHour } from './history.ts';
import { quantityAt, type Total, totalDeviation } from './interval.ts';
import type { LevelChange } from './regime.ts';
import { calibratedWidth, steadyFactor } from './width.ts';

export const FORECAST_STATUSES = [
  'available',
  'insufficient_history',
  'not_applicable',
  'incomplete',
  'temporarily_unavailable',
] as const;
export type ForecastStatus = (typeof FORECAST_STATUSES)[number];

export const FORECAST_QUALITIES = ['HIGH', 'MEDIUM', 'LOW'] as const;
export type ForecastQuality = (typeof FORECAST_QUALITIES)[number];

export const FORECAST_REASONS = ['HISTORY_TOO_SHORT', 'NO_BOUNDARY', 'METRIC_NOT_ENABLED', 'EVIDENCE_PARTIAL'] as const;
export type ForecastReason = (typeof FORECAST_REASONS)[number];

/** One week: the minimum that contains every weekday. */
export const HISTORY_DAYS_MIN = 7;
/** Two weeks: before that no weekday has occurred twice, and nothing can be backtested. */
export const BACKTEST_DAYS_MIN = 14;

/** Decimals in the response: metered quantities have at most three, USD nine. */
const DECIMALS = { quantity: 3, usd: 9 } as const;
const SHARE_DECIMALS = 4;
/**
 * Factor by which an outcome spreads wider than its days suggest if there is only one week of history; measured on
 * weeks of all test series.
 */
const WIDTH_OF_ONE_WEEK = 2.4;
/** With this many horizons of history, the backtest alone decides. */
const SEEN_HORIZONS = 1.5;
/** Days after a change of level during which the new level is uncertain. */
const SETTLING_DAYS = 7;
/** Backtested windows in days, as far as history and horizon allow. */
const WINDOW_DAYS = [1, 2, 3, 5, 7, 10, 14, 21, 28, 42] as const;

const QUALITY_BOUNDS = [
  { quality: 'HIGH', historyDaysMin: 28, errorMax: 0.15 },
  { quality: 'MEDIUM', historyDaysMin: 14, errorMax: 0.4 },
] as const;

export interface ForecastInput {
  /** UTC hours with usage, in any order; a missing hour had none. */
  hours: readonly UsageHour[];
  /** When recording started; `null` if it never did. */
  firstDataMs: number | null;
  nowMs: number;
  /** Hours that start from then on are of the period. */
  periodStartMs: number;
  /** The next replenishment; `null` if there is none. */
  horizonEndMs: number | null;
  timeZone: string;
  kind: 'quantity' | 'usd';
  /** Whether the hours are complete or partial, or the customer does not have the metric. */
  evidence: 'complete' | 'partial' | 'not_applicable';
}

export interface Quantiles {
  expected: number;
  p10: number;
  p50: number;
  p90: number;
}

export interface BacktestSummary {
  /**
   * Weighted absolute percentage error: the sum of absolute errors of window totals divided by the sum of outcomes; 0.1
   * is 10 percent. `null` if nothing was used.
   */
  weightedAbsolutePercentageError: number | null;
  windowHours: number;
  windows: number;
}

export interface ForecastResult {
  status: ForecastStatus;
  reason: ForecastReason | null;
  historyDays: number;
  /** Quantity recorded in the period so far. */
  recorded: number;
  /** Forecast from now to the end of the period; `null` if there is no forecast. */
  remaining: Quantiles | null;
  /** The whole period: recorded plus remaining. */
  period: Quantiles | null;
  method: ForecastMethod | null;
  backtest: BacktestSummary | null;
  quality: ForecastQuality | null;
  /** `remaining` day by day; `null` above CHART_DAYS_MAX days. */
  days: ChartDay[] | null;
  /** Input of `exhaustionOf`; not part of the response. */
  pace: Pace | null;
}

export function forecast(input: ForecastInput): ForecastResult {
  const { horizonEndMs, nowMs, firstDataMs, evidence } = input;
  const decimals = DECIMALS[input.kind];
  const recorded = rounded(recordedSince(input.hours, input.periodStartMs, nowMs), decimals);
  const none = (status: ForecastStatus, reason: ForecastReason, historyDays = 0): ForecastResult => {
    return {
      status,
      reason,
      historyDays,
      recorded,
      remaining: null,
      period: null,
      method: null,
      backtest: null,
      quality: null,
      days: null,
      pace: null,
    };
  };
  if (evidence === 'not_applicable') return none('not_applicable', 'METRIC_NOT_ENABLED');
  if (horizonEndMs === null || horizonEndMs - nowMs > HORIZON_DAYS_MAX * DAY_MS)
    return none('not_applicable', 'NO_BOUNDARY');
  if (firstDataMs === null) return none('insufficient_history', 'HISTORY_TOO_SHORT');
  const history = readHistory({ ...input, firstDataMs });
  const historyDays = history.days.length;
  if (historyDays < HISTORY_DAYS_MIN) return none('insufficient_history', 'HISTORY_TOO_SHORT', historyDays);

  const ahead = daysAhead(history, nowMs, horizonEndMs, input.timeZone);
  const estimated = estimate(history, ahead, horizonEndMs - nowMs);
  const remaining = quantiles(estimated, decimals);
  const quality = grade(historyDays, ahead.length, estimated.summary, evidence === 'partial');
  return {
    status: evidence === 'partial' ? 'incomplete' : 'available',
    reason: evidence === 'partial' ? 'EVIDENCE_PARTIAL' : null,
    historyDays,
    recorded,
    remaining,
    period: addRecorded(remaining, recorded, decimals),
    method: estimated.method,
    backtest: estimated.summary,
    quality,
    days: chartDays(estimated.days, remaining, { nowMs, horizonEndMs, timeZone: input.timeZone, decimals }),
    pace: { days: estimated.days, profiles: history.profiles },
  };
}

interface Estimate {
  total: Total;
  days: PaceDay[];
  deviation: number;
  /** The deviation of the days alone, without the uncertainty of their level. */
  ownDeviation: number;
  method: ForecastMethod;
  summary: BacktestSummary | null;
}

function estimate(history: History, ahead: readonly AheadDay[], horizonMs: number): Estimate {
  const knowledge = knowledgeAt(history, history.days.length);
  const spread = { dayVariance: knowledge.rhythm.dayVariance, levelMeasured: mean(history.days) };
  const backtested = history.days.length >= BACKTEST_DAYS_MIN;
  const windows = backtested ? windowsFor(history.days.length, horizonMs) : [];
  const trials = backtested ? backtest(history, windows) : [];
  const calm = calmTrials(windows, trials, knowledge.changes);
  const weights = backtested
    ? anchored(blendWeights(windows, calm), knowledge.past, ahead.length)
    : CANDIDATES.map(seasonalAlone);
  const shares = ahead.map(({ share }) => share);
  const lengths = ahead.map((_, index) => index + 1);
  const byCandidate = CANDIDATES.map((candidate) => totalsAhead(candidate, knowledge.past, shares, lengths));
  const totals = lengths.map((_, at) => {
    const totalsOfLength = byCandidate.map((ofCandidate) => ofCandidate[at] as Total);
    return blend(totalsOfLength, weights);
  });
  const total = totals[totals.length - 1] ?? blend([], weights);
  const width = backtested ? calibratedWidth(windows, calm, weights, spread, ahead.length) : WIDTH_OF_ONE_WEEK;
  const historyWeeks = history.days.length / DAYS_PER_WEEK;
  const deviationOf = (of: Total): number => {
    // Stable days before a change of level do not make the forecast after it more certain.
    const deviation = Math.hypot(
      width * totalDeviation({ ...of, doubtVariance: 0 }, spread),
      Math.max(1, width) * Math.sqrt(of.doubtVariance),
    );
    return of.expected > 0 ? deviation * steadyFactor(deviation / of.expected, historyWeeks) : deviation;
  };
  return {
    total,
    days: paceDays(ahead, totals, deviationOf),
    deviation: deviationOf(total),
    ownDeviation: totalDeviation(
      { ...total, levelVariance: 0, slopeVariance: 0, doubtVariance: 0, betweenVariance: 0 },
      spread,
    ),
    method: leadingMethod(weights),
    summary: backtested ? summarize(windows, trials, weights) : null,
  };
}

/**
 * The backtest sees nothing of a horizon that is long against the history. There the mean of the whole level decides,
 * because what moved lately may move back; less so where a trend is significant.
 */
function anchored(weights: readonly number[], past: Past, horizonDays: number): number[] {
  const unseen = Math.max(0, 1 - past.length / (SEEN_HORIZONS * horizonDays));
  const share = unseen * (1 - trendBelief(past));
  return weights.map((weight, index) => (1 - share) * weight + share * seasonalAlone(CANDIDATES[index] as Candidate));
}

function seasonalAlone(candidate: Candidate): number {
  return candidate === SEASONAL ? 1 : 0;
}

/**
 * Windows as long as the horizon and shorter ones, at most long enough that half of the history remains to learn from.
 */
function windowsFor(historyDays: number, horizonMs: number): Window[] {
  if (horizonMs < DAY_MS) return [{ days: 1, hours: Math.max(1, Math.round(horizonMs / HOUR_MS)) }];
  const longest = Math.max(1, Math.min(Math.round(horizonMs / DAY_MS), Math.floor((historyDays - DAYS_PER_WEEK) / 2)));
  const shorter = WINDOW_DAYS.filter((days) => days < longest);
  return [...shorter, longest].map((days) => ({ days, hours: 24 }));
}

/**
 * Trials that compare the candidates fairly: their windows contain no change of level, which no candidate could
 * predict. All trials if there are no such ones.
 */
function calmTrials(
  windows: readonly Window[],
  trials: readonly Trial[][],
  changes: readonly LevelChange[],
): Trial[][] {
  return windows.map((window, at) => {
    const all = trials[at] ?? [];
    const calm = all.filter((trial) => !straddles(trial, window, changes));
    return calm.length > 0 ? calm : all;
  });
}

/**
 * Whether a trial's window contains the only change of level. If levels change often, changes are normal for the
 * series.
 */
function straddles({ origin }: Trial, window: Window, changes: readonly LevelChange[]): boolean {
  const [change] = changes;
  return (
    changes.length === 1 &&
    change !== undefined &&
    origin < change.day + SETTLING_DAYS &&
    origin + window.days > change.day
  );
}

function summarize(
  windows: readonly Window[],
  trials: readonly Trial[][],
  weights: readonly number[],
): BacktestSummary {
  const window = windows[windows.length - 1] as Window;
  const pairs = (trials[trials.length - 1] ?? []).map(({ totals, outcome }) => ({
    expected: blend(totals, weights).expected,
    outcome,
  }));
  const error = weightedError(pairs);
  return {
    weightedAbsolutePercentageError: error === null ? null : rounded(error, SHARE_DECIMALS),
    windowHours: window.hours < 24 ? window.hours : window.days * 24,
    windows: pairs.length,
  };
}

/** Only the days' own noise skews the median: an uncertain level widens the interval but does not lower its middle. */
function quantiles({ total, deviation, ownDeviation }: Estimate, decimals: number): Quantiles {
  const p10 = quantityAt(total.expected, deviation, -Z_90);
  const p90 = quantityAt(total.expected, deviation, Z_90);
  const p50 = Math.min(p90, Math.max(p10, quantityAt(total.expected, ownDeviation, 0)));
  return {
    expected: rounded(total.expected, decimals),
    p10: rounded(p10, decimals),
    p50: rounded(p50, decimals),
    p90: rounded(p90, decimals),
  };
}

function addRecorded(remaining: Quantiles, recorded: number, decimals: number): Quantiles {
  const add = (quantity: number) => rounded(quantity + recorded, decimals);
  return {
    expected: add(remaining.expected),
    p10: add(remaining.p10),
    p50: add(remaining.p50),
    p90: add(remaining.p90),
  };
}

function recordedSince(hours: readonly UsageHour[], fromMs: number, toMs: number): number {
  let recorded = 0;
  for (const { startMs, quantity } of hours) if (startMs >= fromMs && startMs < toMs) recorded += quantity;
  return recorded;
}

/**
 * HIGH: four weeks of history and a backtest error of at most 15 percent. MEDIUM: two weeks and 40 percent. LOW:
 * everything else.
 */
function grade(
  historyDays: number,
  horizonDays: number,
  summary: BacktestSummary | null,
  partial: boolean,
): ForecastQuality {
  if (summary === null || partial || horizonDays > historyDays) return 'LOW';
  const error = summary.weightedAbsolutePercentageError ?? 0;
  return (
    QUALITY_BOUNDS.find((bound) => historyDays >= bound.historyDaysMin && error <= bound.errorMax)?.quality ?? 'LOW'
  );
}
