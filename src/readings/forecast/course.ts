/**
 * A forecast day by day: how fast an allowance may be used up, and the days of a chart.
 *
 * These are two different questions. The day by which a quantity is used up depends on the totals of the first days,
 * each with its own uncertainty. A chart shows the parts of the horizon's total.
 */
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { instantOfClock, zoneClock } from '../calendar.ts';
import { rounded } from '../statistics.ts';
import type { Expectation } from './backtest.ts';
import type { AheadDay } from './history.ts';

/** A day from the current hour on. */
export interface PaceDay {
  phase: number;
  /** The expected quantity of the part of the day before the horizon, and of the whole day. */
  expected: number;
  wholeDay: number;
  /** The amount that the day adds to the 10th and the 90th percentile of the total so far. */
  p10: number;
  p90: number;
}

/** The expected quantity from the current hour to the end of the period. */
export interface Pace {
  days: PaceDay[];
  /** By phase of the week: the share of a day's quantity in each of its hours. */
  profiles: number[][];
}

/**
 * `computeQuantiles` returns the quantiles of the total of the first days, which end so many days from now. A percentile of
 * a longer total never falls, and rises only on days with usage.
 */
export function paceDays(
  ahead: readonly AheadDay[],
  { level, factors }: Expectation,
  computeQuantiles: (expected: number, days: number) => { p10: number; p90: number },
): PaceDay[] {
  let total = 0;
  let low = 0;
  let high = 0;
  return ahead.map(({ phase, share }, index) => {
    const wholeDay = level * (factors[phase] ?? 1);
    const expected = share * wholeDay;
    total += expected;
    const quantiles = computeQuantiles(total, index + 1);
    const to = (quantity: number, reached: number) => (expected > 0 ? Math.max(reached, quantity) : reached);
    const [p10, p90] = [to(quantiles.p10, low) - low, to(quantiles.p90, high) - high];
    low += p10;
    high += p90;
    return { phase, expected, wholeDay, p10, p90 };
  });
}

/** The figures that are split among the days. */
const FIGURES = ['expected', 'p10', 'p50', 'p90'] as const;
type Figures = Record<(typeof FIGURES)[number], number>;

export interface ChartDay extends Figures {
  startedAtMs: number;
  endedAtMs: number;
}

/** A longer horizon has no days in the response. */
const CHART_DAYS_MAX = 400;

/**
 * Each day's share of the total: every figure is scaled by the day's expectation, so its sum over the days is the
 * total's. P10 to P90 of a single day is therefore narrower than what that day alone may bring. `null` above
 * CHART_DAYS_MAX.
 */
export function chartDays(
  days: readonly PaceDay[],
  total: Figures,
  {
    nowMs,
    horizonEndMs,
    timeZone,
    decimals,
  }: { nowMs: number; horizonEndMs: number; timeZone: string; decimals: number },
): ChartDay[] | null {
  if (days.length > CHART_DAYS_MAX) return null;
  const presentMs = nowMs - (nowMs % HOUR_MS);
  const clock = zoneClock(timeZone, { fromMs: presentMs - 2 * DAY_MS, toMs: horizonEndMs + 3 * DAY_MS });
  const wallMs = clock.wallAt(presentMs);
  const dayStartMs = (index: number) => (index === 0 ? nowMs : instantOfClock(wallMs + index * DAY_MS, clock));
  const all = days.reduce((sum, { expected }) => sum + expected, 0);
  const last = days.length - 1;
  let before = 0;
  return days.map(({ expected }, index) => {
    const from = before;
    before += expected;
    // Differences of rounded sums, so that the days' rounding adds up too.
    const share = (figure: (typeof FIGURES)[number]) => {
      const upTo = (sum: number, whole: boolean) =>
        whole ? total[figure] : all > 0 ? rounded((total[figure] * sum) / all, decimals) : 0;
      return rounded(upTo(before, index === last) - upTo(from, false), decimals);
    };
    return {
      startedAtMs: dayStartMs(index),
      endedAtMs: index === last ? horizonEndMs : dayStartMs(index + 1),
      expected: share('expected'),
      p10: share('p10'),
      p50: share('p50'),
      p90: share('p90'),
    };
  });
}
