/**
 * The interval around an expectation: the spread of a total by the number of its days, and the quantiles of a quantity
 * that cannot be negative.
 *
 * Quantiles of a gamma distribution by the cube root of Wilson and Hilferty: bell-shaped for large steady quantities,
 * skewed for small erratic ones, and never below zero.
 */
import { Z_90 } from '../statistics.ts';

export interface Spread {
  /** Variance of one day, relative to the squared level. */
  dayVariance: number;
  /** The level at which `dayVariance` was measured. */
  levelMeasured: number;
}

/** A forecast total: what its days contribute, and how uncertain their level is. */
export interface Total {
  expected: number;
  /** The sum of `ownSpread` over the days. */
  own: number;
  /** Expected quantity of an average day of the total. */
  level: number;
  /**
   * Variance of the level and of the slope in units of one day's variance, and the number of slope steps in the total.
   */
  levelVariance: number;
  slopeVariance: number;
  slopeSteps: number;
  /** Variance between the possible levels. */
  doubtVariance: number;
  /** Variance between the blended methods. */
  betweenVariance: number;
}

/** A day's variance grows with the quantity to the power of 1.5, between counts (1) and proportional noise (2). */
export function ownSpread(day: number): number {
  return day * Math.sqrt(day);
}

/**
 * The standard deviation of a total: the days' own noise adds up, the uncertainty of the level is common to all days,
 * and that of the slope grows with distance.
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
 * Below this shape the cube root no longer approximates the gamma distribution: its 90th percentile would fall as the
 * deviation grows. The turning point of 1 - 1 / 9k + z / 3 sqrt(k) at z of the 90th percentile is (2 / 3z)^2.
 */
const SHAPE_MIN = (2 / (3 * Z_90)) ** 2;

function shapeOf(expected: number, deviation: number): number {
  return Math.max(SHAPE_MIN, (expected / deviation) ** 2);
}

/** The quantity at `z` standard deviations from the middle of the cube-root scale. */
export function quantityAt(expected: number, deviation: number, z: number): number {
  if (expected <= 0) return 0;
  if (deviation <= 0) return expected;
  const shape = shapeOf(expected, deviation);
  return expected * Math.max(0, 1 - 1 / (9 * shape) + z / (3 * Math.sqrt(shape))) ** 3;
}

/** The inverse of `quantityAt`: an outcome's position on the cube-root scale. */
export function scoreOf(outcome: number, expected: number, deviation: number): number {
  const shape = shapeOf(expected, deviation);
  return 3 * Math.sqrt(shape) * (Math.cbrt(outcome / expected) - 1 + 1 / (9 * shape));
}
