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
/** The evidence that a change needs: four standard deviations in a long series. */
const SPLIT_EVIDENCE_MIN = 16;
/** Days are not independent, so evidence beyond that counts half of what a likelihood ratio would. */
const EVIDENCE_DISCOUNT = 4;
/** A day on which a new level begins. */
export interface LevelChange {
  day: number;
  /**
   * The share of their weight that the days before it keep, 0 to 1: near 1 where chance could just have made the change,
   * near 0 where it is beyond doubt.
   */
  kept: number;
}

/**
 * The changes of level in `days[0, length)`, in order. Day `index` has the factor at `index % DAYS_PER_WEEK`.
 */
export function levelChanges(days: readonly number[], length: number, factors: readonly number[]): LevelChange[] {
  const changes: LevelChange[] = [];
  let start = 0;
  for (let round = 0; round < CHANGES_MAX; round += 1) {
    const change = bestSplit(days, start, length, factors);
    if (change === null) break;
    changes.push(change);
    start = change.day;
  }
  return changes;
}

/** The share of its weight that each of the days up to `end` keeps after all changes. */
export function keptWeights(changes: readonly LevelChange[], end: number): number[] {
  const kept = new Array<number>(end).fill(1);
  let after = 1;
  for (let at = changes.length - 1; at >= 0; at -= 1) {
    const change = changes[at] as LevelChange;
    after *= change.kept;
    kept.fill(after, changes[at - 1]?.day ?? 0, change.day);
  }
  return kept;
}

/**
 * The probability, 0 to 1, that `days` days on another level are outliers and the former level, which lasted
 * `formerDays`, returns.
 */
export function oddDaysBelief(days: number, formerDays: number): number {
  if (formerDays < SETTLED_DAYS) return 0;
  return ODD_DAYS_BELIEF * clamp((LASTING_DAYS - days) / (LASTING_DAYS - STRETCH_DAYS_MIN), 0, 1);
}

function bestSplit(
  days: readonly number[],
  start: number,
  end: number,
  factors: readonly number[],
): LevelChange | null {
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
    (Math.exp(SPLIT_EVIDENCE_MIN / count) - 1) * (count - 2),
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
  return split === null
    ? null
    : { day: split, kept: Math.exp((SPLIT_EVIDENCE_MIN - evidence(best, count)) / EVIDENCE_DISCOUNT) };
}

/** The likelihood ratio of a statistic, as -2 log: the same t says less in a short series. */
function evidence(statistic: number, count: number): number {
  return count * Math.log(1 + statistic / (count - 2));
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
