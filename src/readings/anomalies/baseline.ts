/**
 * The expected quantity of each bucket: a level that follows steps and trends, times the weekday factor, times the
 * hour's share.
 *
 * Every part is a median or a trimmed mean, so that anomalies do not distort the expectation. The level is a running
 * median over two weeks, which keeps steps sharp; it uses the days before and after each bucket.
 */
import { DAYS_PER_WEEK } from '../calendar.ts';
import { mean, median } from '../statistics.ts';

/**
 * Days on each side of a running median over fifteen days, more than half of which must be unusual before the level
 * moves: an episode of a week does not move it.
 */
const LEVEL_DAYS_ASIDE = 7;
/** From this many values on, the mean omits the largest and the smallest. */
const TRIM_FROM = 4;
/** If more than this share of days is idle, the level is a mean, because the median would be misleading. */
const IDLE_SHARE_MAX = 0.4;
/** A weekday with less than this share of the mean counts as idle. */
const IDLE_FACTOR_MAX = 0.02;
/** Weight of the average profile against an hour's own share, in weeks. */
const PROFILE_PRIOR_WEEKS = 2;

/**
 * Expected quantity of each bucket. The length of `values` is a multiple of `perDay`. Days in `skipped` do not count as
 * usual.
 */
export function seasonalExpectation(
  values: readonly number[],
  perDay: number,
  skipped: readonly boolean[] = [],
): number[] {
  const days: number[] = [];
  for (let start = 0; start < values.length; start += perDay) {
    let total = 0;
    for (let at = start; at < start + perDay; at += 1) total += values[at] ?? 0;
    days.push(total);
  }
  const daily = expectedDays(days.map((day, at) => (skipped[at] ? null : day)));
  if (perDay === 1) return daily;
  const profile = weekProfile(values, daily, perDay, skipped);
  return values.map((_, at) => (daily[Math.floor(at / perDay)] ?? 0) * (profile[at % profile.length] ?? 0));
}

function expectedDays(days: readonly (number | null)[]): number[] {
  const known = days.filter((day) => day !== null);
  const idle = known.filter((day) => day === 0).length;
  if (idle > IDLE_SHARE_MAX * known.length) {
    const level = trimmedMean(known);
    const factors = weekdayFactors(
      days,
      days.map(() => level),
    );
    return days.map((_, at) => level * (factors[at % DAYS_PER_WEEK] ?? 1));
  }
  const factors = weekdayFactors(days, runningMedian(days));
  const plain = days.map((day, at) => {
    const factor = factors[at % DAYS_PER_WEEK] ?? 0;
    // An idle weekday carries no information about the level.
    return day !== null && factor > IDLE_FACTOR_MAX ? day / factor : null;
  });
  const levels = runningMedian(plain);
  return levels.map((level, at) => level * (factors[at % DAYS_PER_WEEK] ?? 1));
}

/** One per day of the week; their mean is 1. With less than two weeks of days all are 1. */
function weekdayFactors(days: readonly (number | null)[], levels: readonly number[]): number[] {
  const flat = new Array<number>(DAYS_PER_WEEK).fill(1);
  if (days.length < 2 * DAYS_PER_WEEK) return flat;
  const ratios: number[][] = Array.from({ length: DAYS_PER_WEEK }, () => []);
  days.forEach((day, at) => {
    const level = levels[at] ?? 0;
    if (day !== null && level > 0) ratios[at % DAYS_PER_WEEK]?.push(day / level);
  });
  const factors = ratios.map((some) => (some.length > 0 ? median(some) : 1));
  const scale = mean(factors);
  return scale > 0 ? factors.map((factor) => factor / scale) : flat;
}

function runningMedian(values: readonly (number | null)[]): number[] {
  return values.map((_, at) => {
    const size = Math.min(values.length, 2 * LEVEL_DAYS_ASIDE + 1);
    const start = Math.min(Math.max(0, at - LEVEL_DAYS_ASIDE), values.length - size);
    return median(values.slice(start, start + size).filter((value) => value !== null));
  });
}

/** The share of a day's quantity in each bucket of the week. */
function weekProfile(
  values: readonly number[],
  daily: readonly number[],
  perDay: number,
  skipped: readonly boolean[],
): number[] {
  const byPhase: number[][] = Array.from({ length: DAYS_PER_WEEK * perDay }, () => []);
  const byHour: number[][] = Array.from({ length: perDay }, () => []);
  values.forEach((value, at) => {
    const expected = daily[Math.floor(at / perDay)] ?? 0;
    if (expected <= 0 || skipped[Math.floor(at / perDay)]) return;
    byPhase[at % byPhase.length]?.push(value / expected);
    byHour[at % perDay]?.push(value / expected);
  });
  const common = byHour.map(trimmedMean);
  const profile = byPhase.map((shares, phase) => {
    const hour = common[phase % perDay] ?? 0;
    return (trimmedMean(shares) * shares.length + PROFILE_PRIOR_WEEKS * hour) / (shares.length + PROFILE_PRIOR_WEEKS);
  });
  return profile.map((share, phase) => {
    const start = phase - (phase % perDay);
    let day = 0;
    for (let at = start; at < start + perDay; at += 1) day += profile[at] ?? 0;
    return day > 0 ? share / day : 1 / perDay;
  });
}

function trimmedMean(values: readonly number[]): number {
  if (values.length < TRIM_FROM) return mean(values);
  const cut = Math.max(1, Math.floor(values.length / 20));
  return mean([...values].sort((a, b) => a - b).slice(cut, -cut));
}
