/**
 * The latest seven completed UTC days against the seven before them.
 */
import { DAY_MS, DAYS_PER_WEEK } from './calendar.ts';
import type { UsageHour } from './history.ts';
import { rounded } from './statistics.ts';

const RATIO_DECIMALS = 4;
const CHANGE_DECIMALS = 9;

export interface WeekPeriods {
  latest: { startMs: number; endMs: number };
  preceding: { startMs: number; endMs: number };
}

export interface WeekComparison {
  latest: number;
  preceding: number;
  change: number;
  /** Latest over preceding; `null` where nothing preceded. */
  ratio: number | null;
}

/** Both periods end on UTC midnight; today is in neither. */
export function weekPeriods(nowMs: number): WeekPeriods {
  const endMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const middleMs = endMs - DAYS_PER_WEEK * DAY_MS;
  return { latest: { startMs: middleMs, endMs }, preceding: { startMs: middleMs - DAYS_PER_WEEK * DAY_MS, endMs: middleMs } };
}

export function compareWeeks(hours: readonly UsageHour[], nowMs: number): WeekComparison {
  const { latest, preceding } = weekPeriods(nowMs);
  let now = 0;
  let before = 0;
  for (const { startMs, quantity } of hours) {
    if (startMs >= latest.startMs && startMs < latest.endMs) now += quantity;
    else if (startMs >= preceding.startMs && startMs < preceding.endMs) before += quantity;
  }
  return {
    latest: now,
    preceding: before,
    change: rounded(now - before, CHANGE_DECIMALS),
    ratio: before === 0 ? null : rounded(now / before, RATIO_DECIMALS),
  };
}
