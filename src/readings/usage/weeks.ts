/**
 * Compares the latest seven completed UTC days with the seven before them.
 */

import { type HourColumn, type SeriesHours, sumBetween } from '../../objects/series-hours.ts';
import { DAY_MS } from '../../platform/time.ts';
import { DAYS_PER_WEEK } from '../calendar.ts';
import { rounded } from '../statistics.ts';

const RATIO_DECIMALS = 4;
const SUM_DECIMALS = 9;

export interface WeekPeriods {
  latest: { startMs: number; endMs: number };
  preceding: { startMs: number; endMs: number };
}

export interface WeekComparison {
  latest: number;
  preceding: number;
  change: number;
  /** `latest` divided by `preceding`; `null` if `preceding` is zero. */
  ratio: number | null;
}

/** Both periods end at midnight UTC and exclude today. */
export function weekPeriods(nowMs: number): WeekPeriods {
  const endMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const middleMs = endMs - DAYS_PER_WEEK * DAY_MS;
  return {
    latest: { startMs: middleMs, endMs },
    preceding: { startMs: middleMs - DAYS_PER_WEEK * DAY_MS, endMs: middleMs },
  };
}

/** Compares the sum of the columns. Sums are rounded to nine decimals, for money a nano-USD. */
export function compareWeeks(hours: SeriesHours, names: readonly HourColumn[], nowMs: number): WeekComparison {
  const { latest, preceding } = weekPeriods(nowMs);
  const now = rounded(sumBetween(hours, names, { fromMs: latest.startMs, toMs: latest.endMs }), SUM_DECIMALS);
  const before = rounded(sumBetween(hours, names, { fromMs: preceding.startMs, toMs: preceding.endMs }), SUM_DECIMALS);
  return {
    latest: now,
    preceding: before,
    change: rounded(now - before, SUM_DECIMALS),
    ratio: before === 0 ? null : rounded(now / before, RATIO_DECIMALS),
  };
}
