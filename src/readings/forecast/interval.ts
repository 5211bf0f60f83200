/**
 * The interval of a forecast, from the customer's own errors alone: the distances between outcomes and the expectations
 * that the same forecast would have had at the end of every past day, window by window.
 *
 * Errors are differences of square roots: roots of counts vary alike at any size, and no quantity is below zero.
 * Overlapping windows are one piece of evidence, so a long window has few of them: then quantiles are those of
 * Student's t, and the errors of shorter windows count too.
 */
import { studentsT90, Z_90 } from '../statistics.ts';
import { ERROR_MEMORY, type Trial, type Window } from './backtest.ts';

/** The evidence of the next shorter window counts as much as this many windows of its own. */
const SHORTER_WINDOWS = 2;
/** The relative error that is assumed before any is known, and the number of windows that it counts as. */
const USUAL_ERROR = 0.17;
const USUAL_WINDOWS = 0.75;
/** Errors below and above are told apart by half at most: a quantity that fell lately may rise next. */
const SIDES_SHARE = 0.5;

/** The squared distances of P10 and P90 from the root of a window's expectation, for each day. */
export interface WindowSpread {
  days: number;
  low: number;
  high: number;
}

/** One for each window, in ascending order; `expected` is its expected quantity now. */
export function windowSpreads(
  windows: readonly { window: Window; trials: readonly Trial[]; expected: number }[],
): WindowSpread[] {
  let known = { days: 1, count: 0, low: 0, high: 0 };
  return windows.map(({ window, trials, expected }) => {
    const days = window.hours < 24 ? window.hours / 24 : window.days;
    const errors = ownErrors(trials, window.days);
    // A longer window keeps the same relative error.
    const longer = days / known.days;
    const carried = { ...known, low: known.low * longer, high: known.high * longer };
    if (errors) {
      const before = Math.min(SHORTER_WINDOWS, known.count);
      const count = errors.count + before;
      const pooled = (own: number, shorter: number) => (errors.count * own + before * shorter) / count;
      known = { days, count, low: pooled(errors.low, carried.low), high: pooled(errors.high, carried.high) };
    } else {
      const count = Math.max(Math.min(SHORTER_WINDOWS, known.count), known.count / longer);
      known = { ...carried, days, count };
    }
    const usual = usualFactor((known.low + known.high) / 2, known.count, expected);
    const wide = (studentsT90(known.count + USUAL_WINDOWS) ** 2 * usual) / days;
    return { days, low: known.low * wide, high: known.high * wide };
  });
}

/**
 * The quantities of a total: one outcome of ten lies below the first, and as many above the last. Half lie below the
 * expectation, as nearly as can be known.
 */
export function computeQuantiles(spreads: readonly WindowSpread[], expected: number, days: number) {
  if (expected <= 0) return { p10: 0, p50: 0, p90: 0 };
  const { low, high } = spreadAt(spreads, days);
  const at = (distance: number) => Math.max(0, Math.sqrt(expected) + distance) ** 2;
  const [p10, p90] = [at(-Math.sqrt(low * days)), at(Math.sqrt(high * days))];
  return { p10: Math.min(p10, expected), p50: expected, p90: Math.max(p90, expected) };
}

/** Between two windows the spread is interpolated; before the first and after the last it stays constant. */
function spreadAt(spreads: readonly WindowSpread[], days: number): WindowSpread {
  const last = spreads.at(-1) as WindowSpread;
  const next = spreads.findIndex((spread) => spread.days >= days);
  const after = spreads[next] ?? last;
  const before = spreads[next - 1];
  if (!before) return after;
  const part = (days - before.days) / (after.days - before.days);
  const between = (a: number, b: number) => a + part * (b - a);
  return { days, low: between(before.low, after.low), high: between(before.high, after.high) };
}

interface OwnErrors {
  /** The number of windows of this length that the trials are worth. */
  count: number;
  low: number;
  high: number;
}

/** Variances as if errors were normal: from the smallest 80 percent, and from one in ten at each side. */
function ownErrors(trials: readonly Trial[], days: number): OwnErrors | null {
  if (trials.length === 0) return null;
  let all = 0;
  let squares = 0;
  const errors = trials.map(({ expected, outcome }, at) => {
    const weight = ERROR_MEMORY ** (trials.length - 1 - at);
    all += weight;
    squares += weight * weight;
    return { value: Math.sqrt(outcome) - Math.sqrt(expected), weight };
  });
  const count = (all ** 2 / squares + days - 1) / days;
  const [size = 0] = weightedQuantiles(
    errors.map(({ value, weight }) => ({ value: Math.abs(value), weight })),
    [0.8],
  );
  const [below = 0, above = 0] = weightedQuantiles(errors, [0.1, 0.9]);
  const apart = (SIDES_SHARE * count) / (count + SHORTER_WINDOWS);
  const side = (distance: number) => ((1 - apart) * size ** 2 + apart * Math.max(0, distance) ** 2) / Z_90 ** 2;
  return { count, low: side(-below), high: side(above) };
}

/**
 * Moves a variance towards the usual one, by the number of windows that support each. Usage without any error stays
 * without.
 */
function usualFactor(variance: number, count: number, expected: number): number {
  if (variance <= 0 || expected <= 0) return 1;
  // The root of a quantity has half of its relative error.
  const usual = (USUAL_ERROR / 2) ** 2 * expected;
  return (usual / variance) ** (USUAL_WINDOWS / (count + USUAL_WINDOWS));
}

/** Like `quantiles`, for values with weights. */
function weightedQuantiles(values: readonly { value: number; weight: number }[], shares: readonly number[]): number[] {
  const sorted = [...values].sort((a, b) => a.value - b.value);
  let sum = 0;
  const middles = sorted.map(({ weight }) => {
    sum += weight;
    return sum - weight / 2;
  });
  const [first = 0, last = 0] = [middles[0], middles.at(-1)];
  return shares.map((share) => {
    const at = first + (last - first) * share;
    const high = middles.findIndex((middle) => middle >= at);
    const low = Math.max(0, high - 1);
    const [from = 0, to = 0] = [middles[low], middles[high]];
    const part = to > from ? (at - from) / (to - from) : 0;
    const [below = 0, above = 0] = [sorted[low]?.value, sorted[high]?.value];
    return below + (above - below) * part;
  });
}
