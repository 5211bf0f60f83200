/**
 * The factor by which the interval at the horizon must widen, estimated from the backtest of shorter windows.
 *
 * The widths of all windows are smoothed together with a prior, so that few trials change little (the finite-sample
 * correction), and extrapolated to longer horizons by their growth.
 */
import { outcomeWidth, type Trial, type Window } from './backtest.ts';
import { blend } from './blend.ts';
import type { Spread } from './interval.ts';

/** Weight of the assumed spread, in non-overlapping windows. */
const PRIOR_WINDOWS = 3;
/** Prior growth of the width with the horizon, and its weight: the level drifts in most series. */
const GROWTH_PRIOR = 0.35;
const GROWTH_PRIOR_WEIGHT = 10;
const GROWTH_MAX = 1;
/** The minimum number of trials for a width. */
const TRIALS_MIN = 3;
/** A smaller width would be overconfident. */
const WIDTH_MIN = 0.2;
/** A single change of level in the history is probably an accident, so its trials get this small weight. */
const CHANGE_SHARE = 0.1;
/** Days after a change during which the new level is uncertain. */
const SETTLING_DAYS = 7;

interface Point {
  logDays: number;
  logWidth: number;
  /** Number of non-overlapping windows. */
  weight: number;
}

export function calibratedWidth(
  windows: readonly Window[],
  trials: readonly (readonly Trial[])[],
  weights: readonly number[],
  spread: Spread,
  changes: readonly number[],
  horizonDays: number,
): number {
  const longest = Math.log(windows[windows.length - 1]?.days ?? 1);
  const points: Point[] = [];
  windows.forEach((window, at) => {
    const blended = (trials[at] ?? []).map((trial) => ({ ...trial, total: blend(trial.totals, weights) }));
    const calm = blended.filter((trial) => !straddles(trial, window, changes));
    if (calm.length < TRIALS_MIN) return;
    const quiet = outcomeWidth(calm, spread);
    const all = calm.length === blended.length ? quiet : outcomeWidth(blended, spread);
    if (quiet === null || all === null) return;
    const width = Math.max(WIDTH_MIN, quiet ** (1 - CHANGE_SHARE) * all ** CHANGE_SHARE);
    points.push({ logDays: Math.log(window.days), logWidth: Math.log(width), weight: calm.length / window.days });
  });

  let weight = PRIOR_WINDOWS;
  let logWidth = 0;
  let logDays = 0;
  for (const point of points) {
    // Windows nearer to the horizon weigh more.
    const near = point.weight * Math.exp(point.logDays - longest);
    weight += near;
    logWidth += near * point.logWidth;
    logDays += near * point.logDays;
  }
  const beyond = Math.max(0, Math.log(Math.max(1, horizonDays)) - logDays / weight);
  return Math.exp(logWidth / weight + growth(points) * beyond);
}

/**
 * Whether a trial's window contains the only change of level. If levels change often, changes are normal for the
 * series.
 */
export function straddles({ origin }: Trial, window: Window, changes: readonly number[]): boolean {
  const [change] = changes;
  return (
    changes.length === 1 && change !== undefined && origin < change + SETTLING_DAYS && origin + window.days > change
  );
}

/** The slope of the widths over the logarithm of the days, shrunk towards the prior. */
function growth(points: readonly Point[]): number {
  let weight = 0;
  let meanDays = 0;
  let meanWidth = 0;
  for (const point of points) {
    weight += point.weight;
    meanDays += point.weight * point.logDays;
    meanWidth += point.weight * point.logWidth;
  }
  if (weight === 0) return GROWTH_PRIOR;
  meanDays /= weight;
  meanWidth /= weight;
  let along = GROWTH_PRIOR_WEIGHT;
  let across = GROWTH_PRIOR_WEIGHT * GROWTH_PRIOR;
  for (const point of points) {
    along += point.weight * (point.logDays - meanDays) ** 2;
    across += point.weight * (point.logDays - meanDays) * (point.logWidth - meanWidth);
  }
  return Math.min(GROWTH_MAX, Math.max(0, across / along));
}
