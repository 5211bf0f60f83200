/**
 * How far an outcome may lie from its expectation: the spread of a total by the number of days it spans, and the
 * quantiles of a quantity that cannot be negative.
 *
 * Quantiles are those of a gamma distribution by Wilson and Hilferty's cube root: a bell for what is large and steady,
 * skewed for what is small and erratic, and never below zero.
 */
import { Z_90 } from '../statistics.ts';

export interface Spread {
  /** Variance of one day, relative to the squared level. */
  dayVariance: number;
  /** The level that `dayVariance` was measured at. */
  levelMeasured: number;
}

/** A total ahead: what its days contribute, and how sure their level is. */
export interface Total {
  expected: number;
  /** Sum of `ownSpread` of what each day contributes. */
  own: number;
  /** Expected quantity of an average day ahead. */
  level: number;
  /**
   * Variance of the level and of the slope in units of one day's variance, and how many steps of the slope the total
   * holds.
   */
  levelVariance: number;
  slopeVariance: number;
  slopeSteps: number;
  /** Variance between the levels that it may have. */
  doubtVariance: number;
  /** Variance between the methods that were blended. */
  betweenVariance: number;
}

/**
 * How a day's variance grows with its quantity: power 1.5, between that of counts (1) and that of noise in proportion
 * (2).
 */
export function ownSpread(day: number): number {
  return day * Math.sqrt(day);
}

/**
 * The standard deviation of a total: each day's own noise adds up, the uncertainty of the level is common to all of
 * them, and that of the slope grows with the distance.
 */
export function totalDeviation(total: Total, spread: Spread): number {
  if (total.expected <= 0) return 0;
  const perDay = spread.dayVariance * Math.sqrt(spread.levelMeasured);
  const days = total.expected / total.level;
  const common = total.levelVariance * days ** 2 + total.slopeVariance * total.slopeSteps ** 2;
  return Math.sqrt(
    perDay * (total.own + ownSpread(total.level) * common) + total.doubtVariance + total.betweenVariance,
  );
}

/**
 * Below this shape the cube root no longer follows the gamma distribution: its 90th percentile would fall where the
 * deviation grows. The turning point of 1 - 1 / 9k + z / 3 sqrt(k) at z of the 90th percentile is (2 / 3z)^2.
 */
const SHAPE_MIN = (2 / (3 * Z_90)) ** 2;

function shapeOf(expected: number, deviation: number): number {
  return Math.max(SHAPE_MIN, (expected / deviation) ** 2);
}

/** The quantity that lies `z` standard deviations of the cube-root scale from the middle. */
export function quantityAt(expected: number, deviation: number, z: number): number {
  if (expected <= 0) return 0;
  if (deviation <= 0) return expected;
  const shape = shapeOf(expected, deviation);
  return expected * Math.max(0, 1 - 1 / (9 * shape) + z / (3 * Math.sqrt(shape))) ** 3;
}

/** The inverse of `quantityAt`: where an outcome lies on the cube-root scale. */
export function scoreOf(outcome: number, expected: number, deviation: number): number {
  const shape = shapeOf(expected, deviation);
  return 3 * Math.sqrt(shape) * (Math.cbrt(outcome / expected) - 1 + 1 / (9 * shape));
}
