/**
 * Blends the candidates: each is weighted by its backtest error, and disagreement between them widens the interval.
 *
 * A blend has a smaller error than the apparently best candidate, which is often best by chance. The reported method is
 * the one with the largest weight.
 */
import type { Trial, Window } from './backtest.ts';
import { weightedError } from './backtest.ts';
import { CANDIDATES, type ForecastMethod } from './candidates.ts';
import type { Total } from './interval.ts';

/** A candidate's weight is 1 / error^p, where p grows with the number of non-overlapping windows from 3 to 8. */
const POWER_MIN = 3;
const POWER_PER_WINDOW = 1;
const POWER_MAX = 8;
/** Errors below this count as equal. */
const ERROR_FLOOR = 1e-3;

/** Weights in the order of CANDIDATES; their sum is 1. */
export function blendWeights(windows: readonly Window[], trials: readonly (readonly Trial[])[]): number[] {
  const longest = windows[windows.length - 1]?.days ?? 1;
  const longestTrials = trials[trials.length - 1] ?? [];
  const power = Math.min(POWER_MAX, POWER_MIN + POWER_PER_WINDOW * (longestTrials.length / longest));
  const weights = CANDIDATES.map(({ plausibility }, index) => {
    let logs = 0;
    let count = 0;
    windows.forEach((window, at) => {
      // Windows shorter than half of the longest one say little about it.
      if (window.days * 2 < longest) return;
      const pairs = (trials[at] ?? []).map(({ totals, outcome }) => ({
        expected: totals[index]?.expected ?? 0,
        outcome,
      }));
      const error = weightedError(pairs);
      if (error === null) return;
      logs += Math.log(error + ERROR_FLOOR);
      count += 1;
    });
    return count === 0 ? plausibility : plausibility * Math.exp(-power * (logs / count));
  });
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / all);
}

export function blend(totals: readonly Total[], weights: readonly number[]): Total {
  const result = {
    expected: 0,
    own: 0,
    level: 0,
    levelVariance: 0,
    slopeVariance: 0,
    slopeSteps: 0,
    doubtVariance: 0,
    betweenVariance: 0,
  };
  totals.forEach((total, index) => {
    const weight = weights[index] ?? 0;
    result.expected += weight * total.expected;
    result.own += weight * total.own;
    result.level += weight * total.level;
    result.levelVariance += weight * total.levelVariance;
    result.slopeVariance += weight * total.slopeVariance;
    result.doubtVariance += weight * total.doubtVariance;
    // Only the trend has slope steps.
    result.slopeSteps = Math.max(result.slopeSteps, total.slopeSteps);
  });
  totals.forEach((total, index) => {
    result.betweenVariance += (weights[index] ?? 0) * (total.expected - result.expected) ** 2;
  });
  return result;
}

/** The method with the largest weight; of equal ones the first. */
export function leadingMethod(weights: readonly number[]): ForecastMethod {
  const byMethod = new Map<ForecastMethod, number>();
  CANDIDATES.forEach(({ method }, index) => {
    byMethod.set(method, (byMethod.get(method) ?? 0) + (weights[index] ?? 0));
  });
  let leading: ForecastMethod = 'weekday_seasonal';
  for (const [method, weight] of byMethod) if (weight > (byMethod.get(leading) ?? 0)) leading = method;
  return leading;
}
