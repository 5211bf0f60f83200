/**
 * Change points: the days on which a series moved to a new lasting level.
 *
 * A level is estimated only from days that share it. A change counts if the days before and after differ by more than
 * chance would produce at the best split of a series.
 */

import { DAYS_PER_WEEK } from '../calendar.ts';
import { clamp } from '../statistics.ts';

/** A shorter stretch counts as outliers, not as a level. */
const STRETCH_DAYS_MIN = 4;
/**
 * A level this old has covered every weekday and counts as lasting. At STRETCH_DAYS_MIN it is as likely to be
 * temporary: a long weekend, a campaign, an outage.
 */
const LASTING_DAYS = 8;
const ODD_DAYS_BELIEF = 0.5;
/** Two weeks: usage does not return to a level that lasted less. */
const SETTLED_DAYS = 14;
/** Maximum number of splits in the search for changes. */
const CHANGES_MAX = 4;
/** The statistic of the best split exceeds this in about 1 of 100 series without a change (measured by tests). */
const SPLIT_STATISTIC_MIN = 4;

/**
 * The days of `days[0, length)` on which a new level begins, in order. Day `index` has the factor at `index %
 * DAYS_PER_WEEK`.
 */
export function levelChanges(days: readonly number[], length: number, factors: readonly number[]): number[] {
  const changes: number[] = [];
  let start = 0;
  for (let round = 0; round < CHANGES_MAX; round += 1) {
    const split = bestSplit(days, start, length, factors);
    if (split === null) break;
    changes.push(split);
    start = split;
  }
  return changes;
}

/**
 * The probability, 0 to 1, that `days` days on another level are outliers and the former level, which lasted
 * `formerDays`, returns.
 */
export function oddDaysBelief(days: number, formerDays: number): number {
  if (formerDays < SETTLED_DAYS) return 0;
  return ODD_DAYS_BELIEF * clamp((LASTING_DAYS - days) / (LASTING_DAYS - STRETCH_DAYS_MIN), 0, 1);
}

function bestSplit(days: readonly number[], start: number, end: number, factors: readonly number[]): number | null {
  const count = end - start;
  if (count < 2 * STRETCH_DAYS_MIN) return null;
  const used = [0];
  const expected = [0];
  let squares = 0;
  const line = { t: 0, tt: 0, ty: 0 };
  for (let at = 0; at < count; at += 1) {
    const day = days[start + at] ?? 0;
    const factor = factors[(start + at) % DAYS_PER_WEEK] ?? 1;
    used.push((used[at] ?? 0) + day);
    expected.push((expected[at] ?? 0) + factor);
    if (factor > 0) squares += (day * day) / factor;
    line.t += at * factor;
    line.tt += at * at * factor;
    line.ty += at * day;
  }
  let best = Math.max(
    SPLIT_STATISTIC_MIN ** 2,
    lineStatistic(line, { used: used[count] ?? 0, expected: expected[count] ?? 0 }, squares, count),
  );
  let split: number | null = null;
  for (let at = STRETCH_DAYS_MIN; at <= count - STRETCH_DAYS_MIN; at += 1) {
    const left = { used: used[at] ?? 0, expected: expected[at] ?? 0 };
    const right = { used: (used[count] ?? 0) - left.used, expected: (expected[count] ?? 0) - left.expected };
    const statistic = squaredStatistic(left, right, squares, count);
    if (statistic > best) {
      best = statistic;
      split = start + at;
    }
  }
  return split;
}

/**
 * The same statistic for a straight line: if it explains more than the best step, the series has a trend and not a
 * jump.
 */
function lineStatistic(
  line: { t: number; tt: number; ty: number },
  { used, expected }: Stretch,
  squares: number,
  count: number,
): number {
  const determinant = expected * line.tt - line.t * line.t;
  if (expected <= 0 || determinant <= 0) return 0;
  const covariance = expected * line.ty - line.t * used;
  const gain = covariance ** 2 / (expected * determinant);
  const residual = Math.max(1e-9 * squares, squares - used ** 2 / expected - gain) / (count - 2);
  return residual > 0 ? gain / residual : 0;
}

interface Stretch {
  used: number;
  expected: number;
}

/** Student's t of the two levels, squared; each day is weighted by its factor. */
function squaredStatistic(left: Stretch, right: Stretch, squares: number, count: number): number {
  if (left.expected <= 0 || right.expected <= 0) return 0;
  const explained = left.used ** 2 / left.expected + right.used ** 2 / right.expected;
  // The floor keeps rounding errors of a perfect fit from counting as a residual.
  const residual = Math.max(1e-9 * squares, squares - explained) / (count - 2);
  const difference = right.used / right.expected - left.used / left.expected;
  return residual > 0 ? difference ** 2 / (1 / left.expected + 1 / right.expected) / residual : 0;
}
