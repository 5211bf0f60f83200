/**
 * The forecast of one metric of one customer: the expected quantity from now to the end of the period, its uncertainty,
 * and the method.
 *
 * It uses only the customer's own hours; the same input gives the same bytes. The same forecast is made at the end of
 * every past day, and its errors determine the interval and the quality.
 */

import type { UsageHour } from '../../objects/series-hours.ts';
import { DAY_MS } from '../../platform/time.ts';
import { DAYS_PER_WEEK } from '../calendar.ts';
import { rounded, sum } from '../statistics.ts';
import {
  type Expectation,
  expectations,
  expectedTotal,
  runTrials,
  type Trial,
  type Window,
  weightedError,
} from './backtest.ts';
import { type ChartDay, chartDays, type Pace, paceDays } from './course.ts';
import { daysAhead, HORIZON_DAYS_MAX, readHistory } from './history.ts';
import { computeQuantiles, windowSpreads } from './interval.ts';

export const FORECAST_STATUSES = [
  'available',
  'insufficient_history',
  'not_applicable',
  'incomplete',
  'temporarily_unavailable',
] as const;
type ForecastStatus = (typeof FORECAST_STATUSES)[number];

const FORECAST_QUALITIES = ['HIGH', 'MEDIUM', 'LOW'] as const;
export type ForecastQuality = (typeof FORECAST_QUALITIES)[number];

const FORECAST_REASONS = ['HISTORY_TOO_SHORT', 'NO_BOUNDARY', 'METRIC_NOT_ENABLED', 'EVIDENCE_PARTIAL'] as const;
type ForecastReason = (typeof FORECAST_REASONS)[number];

/** The level of the latest weeks, with their weekly rhythm or, if they show none, without. */
type ForecastMethod = 'weekday_seasonal' | 'recent_level';

/** One week: the minimum that contains every weekday. */
const HISTORY_DAYS_MIN = 7;
/** Two weeks: before that, no weekday has occurred twice, and no backtest is possible. */
const BACKTEST_DAYS_MIN = 14;

/** Decimals in the response: metered quantities have at most three, USD nine. */
const DECIMALS = { quantity: 3, usd: 9 } as const;
const SHARE_DECIMALS = 4;
/** Backtested windows in days, as far as history and horizon allow. */
const WINDOW_DAYS = [1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90] as const;

/**
 * Bounds of the quality: days since the first usage, the number of times that the horizon fits into the backtested
 * days, and half of P10 to P90 relative to the expectation. The less of the past supports an interval, the more often
 * it is narrow by chance.
 */
const QUALITY_BOUNDS = [
  { quality: 'HIGH', daysMin: 28, horizonsMin: 2, widthMax: 0.25 },
  { quality: 'MEDIUM', daysMin: BACKTEST_DAYS_MIN, horizonsMin: 1, widthMax: 0.5 },
] as const;

export interface ForecastInput {
  /** UTC hours with usage, in any order; a missing hour had none. */
  hours: readonly UsageHour[];
  /** When recording started; `null` if it never did. */
  firstDataMs: number | null;
  nowMs: number;
  /** Hours that start at or after this time belong to the period. */
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

interface BacktestSummary {
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
  /** Input of `forecastExhaustion`; not part of the response. */
  pace: Pace | null;
}

export function forecast(input: ForecastInput): ForecastResult {
  const { horizonEndMs, nowMs, firstDataMs, evidence } = input;
  const decimals = DECIMALS[input.kind];
  const recorded = rounded(recordedSince(input.hours, { fromMs: input.periodStartMs, toMs: nowMs }), decimals);
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
  const historyDays = history.recordedDays;
  if (historyDays < HISTORY_DAYS_MIN) return none('insufficient_history', 'HISTORY_TOO_SHORT', historyDays);

  const ahead = daysAhead(history, { nowMs, horizonEndMs }, input.timeZone);
  const horizonDays = (horizonEndMs - nowMs) / DAY_MS;
  const made = expectations(history);
  const present = made.at(-1) as Expectation;
  const windows = windowsFor(horizonDays).map((window) => ({ window, trials: runTrials(history, made, window) }));
  const spreads = windowSpreads(
    windows.map(({ window, trials }) => {
      const share = window.hours < 24 ? history.shareOfDay(0, 0, window.hours) : 1;
      return { window, trials, expected: share * expectedTotal(present, window.days, history.days.length) };
    }),
  );
  const days = paceDays(ahead, present, (expected, end) =>
    computeQuantiles(spreads, expected, Math.min(end, horizonDays)),
  );
  const expected = sum(days.map((day) => day.expected));
  const remaining = roundedAll({ expected, ...computeQuantiles(spreads, expected, horizonDays) }, decimals);
  return {
    status: evidence === 'partial' ? 'incomplete' : 'available',
    reason: evidence === 'partial' ? 'EVIDENCE_PARTIAL' : null,
    historyDays,
    recorded,
    remaining,
    period: addRecorded(remaining, recorded, decimals),
    method: present.factors.every((factor) => factor === 1) ? 'recent_level' : 'weekday_seasonal',
    backtest: historyDays < BACKTEST_DAYS_MIN ? null : summarize(windows, history.days.length, horizonDays),
    quality: evidence === 'partial' ? 'LOW' : grade(history.days.length, horizonDays, remaining),
    days: chartDays(days, remaining, { nowMs, horizonEndMs, timeZone: input.timeZone, decimals }),
    pace: { days, profiles: history.profiles },
  };
}

/** Windows up to the first one that is as long as the horizon. */
function windowsFor(horizonDays: number): Window[] {
  if (horizonDays < 1) return [{ days: 1, hours: Math.max(1, Math.round(horizonDays * 24)) }];
  const longest = WINDOW_DAYS.find((days) => days >= horizonDays) ?? Number.POSITIVE_INFINITY;
  return WINDOW_DAYS.filter((days) => days <= longest).map((days) => ({ days, hours: 24 }));
}

/** The error of the longest window that is within the horizon and fits twice into the backtested days. */
function summarize(
  windows: readonly { window: Window; trials: readonly Trial[] }[],
  days: number,
  horizonDays: number,
): BacktestSummary {
  const longest = Math.max(1, Math.min(horizonDays, (days - DAYS_PER_WEEK) / 2));
  const within = windows.filter(({ window }) => window.days <= longest);
  const { window, trials } = within.at(-1) as (typeof within)[number];
  const error = weightedError(trials);
  return {
    weightedAbsolutePercentageError: error === null ? null : rounded(error, SHARE_DECIMALS),
    windowHours: window.hours < 24 ? window.hours : window.days * 24,
    windows: trials.length,
  };
}

function roundedAll({ expected, p10, p50, p90 }: Quantiles, decimals: number): Quantiles {
  return {
    expected: rounded(expected, decimals),
    p10: rounded(p10, decimals),
    p50: rounded(p50, decimals),
    p90: rounded(p90, decimals),
  };
}

function addRecorded({ expected, p10, p50, p90 }: Quantiles, recorded: number, decimals: number): Quantiles {
  return roundedAll(
    { expected: expected + recorded, p10: p10 + recorded, p50: p50 + recorded, p90: p90 + recorded },
    decimals,
  );
}

function recordedSince(hours: readonly UsageHour[], { fromMs, toMs }: { fromMs: number; toMs: number }): number {
  let recorded = 0;
  for (const { startMs, quantity } of hours) if (startMs >= fromMs && startMs < toMs) recorded += quantity;
  return recorded;
}

function grade(days: number, horizonDays: number, { expected, p10, p90 }: Quantiles): ForecastQuality {
  const horizons = (days - DAYS_PER_WEEK) / horizonDays;
  const width = expected > 0 ? (p90 - p10) / 2 / expected : 0;
  const bound = QUALITY_BOUNDS.find(
    ({ daysMin, horizonsMin, widthMax }) => days >= daysMin && horizons >= horizonsMin && width <= widthMax,
  );
  return bound?.quality ?? 'LOW';
}
