/**
 * The expected quantity of each bucket, from the other days alone: a level that follows steps and trends, times the
 * weekday factor, times the hour's share.
 *
 * A day is never part of its own expectation, so an anomaly cannot hide in it. Every part is a median or a trimmed
 * mean, so that anomalies do not distort the expectation of other days either. If only two values are known and they
 * differ, the earlier one counts as usual.
 */
import { DAYS_PER_WEEK } from '../calendar.ts';
import { clamp, mean, median, SD_PER_MAD, sum } from '../statistics.ts';

/**
 * Days on each side of a running median over fifteen days. More than half of these days must be unusual before the
 * level moves, so an episode of a week does not move it.
 */
const LEVEL_DAYS_ASIDE = 7;
/** From this many values on, the mean omits the largest and the smallest. */
const TRIM_FROM = 3;
/** If more than this share of days is idle, the level is a mean, because the median would be misleading. */
const IDLE_SHARE_MAX = 0.4;
/** A weekday with less than this share of the mean counts as idle. */
const IDLE_FACTOR_MAX = 0.02;
/** Weight of the average profile against an hour's own share, in weeks. */
const PROFILE_PRIOR_WEEKS = 2;

/**
 * Expected quantity of each bucket. The length of `values` is a multiple of `perDay`. Days in `skipped` are not usual
 * days.
 */
export function seasonalExpectation(
  values: readonly number[],
  perDay: number,
  skipped: readonly boolean[] = [],
): number[] {
  const days: number[] = [];
  for (let start = 0; start < values.length; start += perDay) days.push(sum(values.slice(start, start + perDay)));
  const daily = expectedDays(days.map((day, at) => (skipped[at] ? null : day)));
  return perDay === 1 ? daily : expectedParts(values, daily, perDay, skipped);
}

function expectedDays(days: readonly (number | null)[]): number[] {
  const known = days.filter((day) => day !== null);
  const idle = known.filter((day) => day === 0).length;
  if (idle > IDLE_SHARE_MAX * known.length) {
    const level = trimmedMean(known);
    const factors = weekdayFactors(days, new Array<number>(days.length).fill(level));
    return factors.map((factor) => level * factor);
  }
  const factors = weekdayFactors(days, runningMedian(days));
  const plain = days.map((day, at) => {
    const factor = factors[at] ?? 0;
    // An idle weekday carries no information about the level.
    return day !== null && factor > IDLE_FACTOR_MAX ? day / factor : null;
  });
  return medianOfOthers(plain).map((level, at) => level * (factors[at] ?? 1));
}

/**
 * The factor of each day's weekday, from the other days of that weekday. It is shrunk towards 1, depending on how much
 * weekdays differ beyond the noise of single days (empirical Bayes).
 */
function weekdayFactors(days: readonly (number | null)[], levels: readonly number[]): number[] {
  const ratios = days.map((day, at) => {
    const level = levels[at] ?? 0;
    return day !== null && level > 0 ? day / level : null;
  });
  if (days.length < 2 * DAYS_PER_WEEK) return ratios.map(() => 1);
  const weekdays = Array.from({ length: DAYS_PER_WEEK }, (_, weekday) => {
    const own = ratios.filter((ratio, at) => ratio !== null && at % DAYS_PER_WEEK === weekday) as number[];
    return { count: own.length, usual: median(own) };
  });
  const typical = usualOfOthers(ratios, DAYS_PER_WEEK).map((ratio) => ratio ?? 1);
  const strays = ratios.flatMap((ratio, at) => (ratio === null ? [] : [Math.abs(ratio - (typical[at] ?? 1))]));
  const within = (SD_PER_MAD * median(strays)) ** 2;
  return typical.map((factor, at) => {
    const own = ratios[at] ?? null;
    const others = (weekdays[at % DAYS_PER_WEEK]?.count ?? 0) - (own === null ? 0 : 1);
    if (others < 1) return 1;
    const error = within / others;
    const rest = weekdays.filter(({ count }, weekday) => count > 0 && weekday !== at % DAYS_PER_WEEK);
    // One day does not show that a weekday differs: at least two have to.
    const difference = (factor - 1) ** 2;
    const agreed = others > 1 || own === null ? difference : Math.min(difference, (own - 1) ** 2);
    const real = Math.max(0, variance(rest.map(({ usual }) => usual)) - error, agreed - error);
    // Without noise and without a rhythm, there is nothing to shrink.
    const weight = real + error > 0 ? real / (real + error) : 1;
    return 1 + weight * (factor - 1);
  });
}

/**
 * The usual value at each position, from the same position of the other periods; `null` if nothing is known. It is
 * their mean without the largest and the smallest. If there are two others, the nearer one counts; a single one counts
 * only if it is earlier: only a third value can show which of two is unusual.
 */
function usualOfOthers(values: readonly (number | null)[], period: number): (number | null)[] {
  const usual: (number | null)[] = [...values];
  for (let place = 0; place < period; place += 1) {
    const known: number[] = [];
    for (let at = place; at < values.length; at += period) {
      const value = values[at];
      if (value !== null && value !== undefined) known.push(value);
    }
    const sorted = [...known].sort((a, b) => a - b);
    const total = sum(known);
    for (let at = place; at < values.length; at += period) {
      const own = values[at] ?? null;
      if (own === null) usual[at] = known.length === 0 ? null : trimmedMean(known);
      else if (known.length > 1) usual[at] = withoutOwn(own, values[at - period] ?? null, sorted, total);
    }
  }
  return usual;
}

/** `sorted` also contains the value itself and at least one other; `previous` is the value of the period before. */
function withoutOwn(own: number, previous: number | null, sorted: readonly number[], total: number): number {
  const [first = own, second = own] = sorted;
  const [beforeLast = own, last = own] = sorted.slice(-2);
  const low = own === first ? second : first;
  const high = own === last ? beforeLast : last;
  if (sorted.length === 2) return previous === null ? own : previous;
  if (sorted.length === 3) return clamp(own, low, high);
  return Math.max(0, (total - own - low - high) / (sorted.length - 3));
}

function runningMedian(values: readonly (number | null)[]): number[] {
  return values.map((_, at) => {
    const [start, end] = levelWindow(at, values.length);
    return median(values.slice(start, end).filter((value) => value !== null));
  });
}

/**
 * The same without the value itself. If there are two middle values, the nearer one counts: a step is not an anomaly.
 */
function medianOfOthers(values: readonly (number | null)[]): number[] {
  return values.map((own, at) => {
    const [start, end] = levelWindow(at, values.length);
    const others: number[] = [];
    for (let other = start; other < end; other += 1) {
      const value = values[other];
      if (other !== at && value !== null && value !== undefined) others.push(value);
    }
    const sorted = new Float64Array(others).sort();
    const low = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
    const high = sorted[Math.floor(sorted.length / 2)] ?? 0;
    return own === null || own === undefined ? (low + high) / 2 : clamp(own, low, high);
  });
}

function levelWindow(at: number, length: number): [number, number] {
  const size = Math.min(length, 2 * LEVEL_DAYS_ASIDE + 1);
  const start = Math.min(Math.max(0, at - LEVEL_DAYS_ASIDE), length - size);
  return [start, start + size];
}

/** Each day's expectation, spread over its buckets by the pattern of the other weeks. */
function expectedParts(
  values: readonly number[],
  daily: readonly number[],
  perDay: number,
  skipped: readonly boolean[],
): number[] {
  const shares = values.map((value, at) => {
    const day = Math.floor(at / perDay);
    const expected = daily[day] ?? 0;
    return expected > 0 && !skipped[day] ? value / expected : null;
  });
  const byHour: number[][] = Array.from({ length: perDay }, () => []);
  shares.forEach((share, at) => {
    if (share !== null) byHour[at % perDay]?.push(share);
  });
  const common = byHour.map(trimmedMean);
  const perWeek = perDay * DAYS_PER_WEEK;
  const profile = usualOfOthers(shares, perWeek).map((own, at) => {
    const usual = common[at % perDay] ?? 0;
    const weeks = Math.floor((values.length - 1 - (at % perWeek)) / perWeek);
    return ((own ?? usual) * weeks + PROFILE_PRIOR_WEEKS * usual) / (weeks + PROFILE_PRIOR_WEEKS);
  });
  const totals = daily.map((_, day) => sum(profile.slice(day * perDay, (day + 1) * perDay)));
  return profile.map((share, at) => {
    const day = Math.floor(at / perDay);
    const total = totals[day] ?? 0;
    return (daily[day] ?? 0) * (total > 0 ? share / total : 1 / perDay);
  });
}

function trimmedMean(values: readonly number[]): number {
  if (values.length < TRIM_FROM) return mean(values);
  const cut = Math.max(1, Math.floor(values.length / 20));
  // A typed array sorts numerically without a comparison function.
  const sorted = new Float64Array(values).sort();
  let total = 0;
  for (let at = cut; at < sorted.length - cut; at += 1) total += sorted[at] ?? 0;
  return total / (sorted.length - 2 * cut);
}

function variance(values: readonly number[]): number {
  const centre = mean(values);
  return values.length < 2 ? 0 : sum(values.map((value) => (value - centre) ** 2)) / (values.length - 1);
}
