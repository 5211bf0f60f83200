/**
 * The factor by which the interval at the horizon is wider than its days suggest, from the backtest of shorter windows:
 * how far their outcomes lay from what was expected, in standard deviations of the assumed spread.
 *
 * The widths of all windows are averaged with a prior, so that few trials change little, and grow with the horizon.
 */
import { outcomeWidth, type Trial, type Window } from './backtest.ts';
import { blend } from './blend.ts';
import type { Spread } from './interval.ts';

/** What outcomes of a day spread wider than assumed before any trial, and the weight of that in independent windows. */
const PRIOR_WIDTH = 1.1;
const PRIOR_WINDOWS = 3;
/** The width grows with the horizon to this power: the level of most series drifts. */
const GROWTH = 0.11;
/** The minimum number of trials for a width. */
const TRIALS_MIN = 3;
/** A smaller width would be overconfident. */
const WIDTH_MIN = 0.2;

/**
 * Usage that was very steady so far is less steady later (holidays, outages, launches), because a short history holds
 * few of them. The weight of USUAL_DEVIATION is that of STEADY_WEEKS against the weeks of the history and two more; it
 * never widens by more than STEADY_FACTOR_MAX.
 */
const USUAL_DEVIATION = 1;
const STEADY_WEEKS = 0.9;
const STEADY_WEEKS_MORE = 2;
const STEADY_FACTOR_MAX = 1.25;

export function calibratedWidth(
  windows: readonly Window[],
  trials: readonly (readonly Trial[])[],
  weights: readonly number[],
  spread: Spread,
  horizonDays: number,
): number {
  const longest = windows[windows.length - 1]?.days ?? 1;
  let weight = PRIOR_WINDOWS;
  let logWidth = PRIOR_WINDOWS * Math.log(PRIOR_WIDTH);
  let logDays = 0;
  windows.forEach((window, at) => {
    const blended = (trials[at] ?? []).map(({ totals, outcome }) => ({ total: blend(totals, weights), outcome }));
    const width = blended.length < TRIALS_MIN ? null : outcomeWidth(blended, spread);
    if (width === null) return;
    // As many independent windows as fit in the trials; windows nearer to the horizon weigh more.
    const near = (blended.length / window.days) * (window.days / longest);
    weight += near;
    logWidth += near * Math.log(Math.max(WIDTH_MIN, width));
    logDays += near * Math.log(window.days);
  });
  const beyond = Math.max(0, Math.log(Math.max(1, horizonDays)) - logDays / weight);
  return Math.exp(logWidth / weight + GROWTH * beyond);
}

/** The factor by which the relative deviation of a total is wider because the past was steadier than usual. */
export function steadyFactor(relativeDeviation: number, historyWeeks: number): number {
  if (relativeDeviation <= 0) return 1;
  const weight = STEADY_WEEKS / (historyWeeks + STEADY_WEEKS_MORE);
  return Math.min(STEADY_FACTOR_MAX, Math.max(1, (USUAL_DEVIATION / relativeDeviation) ** weight));
}
