/**
 * How far a quantity lies from its expectation, in standard deviations of what is usual for this series.
 *
 * Quantities are read as counts of a typical unit (one call, or what one call costs) whose variance is mean + s^2
 * mean^2: Poisson where they are small, in proportion to themselves where they are large. The transform (2 / s) asinh(s
 * sqrt(count)) makes that variance 1 everywhere; s is what makes the usual deviation of the series 1.
 */
import { median, SD_PER_MAD } from '../statistics.ts';

/** Nothing that is measured is steadier than five percent. */
const RELATIVE_NOISE_MIN = 0.05;
const RELATIVE_NOISE_MAX = 4;
/** Halvings of the logarithm of s: to within a percent. */
const BISECTIONS = 10;
/** Anscombe's shift, which keeps small counts in place. */
const COUNT_SHIFT = 3 / 8;
/** Pairs that both say nothing, idle hours of an idle night, do not measure noise. */
const EXPECTED_MIN = 0.5;

export type Score = (observed: number, expected: number) => number;

/** The relative noise s of a series around its expectation; `unit` is the quantity of one count. */
export function relativeNoise(observed: readonly number[], expected: readonly number[], unit: number): number {
  const counts: number[] = [];
  const means: number[] = [];
  observed.forEach((value, at) => {
    const mean = (expected[at] ?? 0) / unit;
    if (mean < EXPECTED_MIN) return;
    counts.push(rootOf(value / unit));
    means.push(rootOf(mean));
  });
  if (counts.length === 0) return RELATIVE_NOISE_MAX;
  const scores = new Float64Array(counts.length);
  const spread = (noise: number) => {
    for (let at = 0; at < scores.length; at += 1)
      scores[at] = Math.abs(stable(counts[at] as number, noise) - stable(means[at] as number, noise));
    return SD_PER_MAD * median(scores);
  };
  let low = Math.log(RELATIVE_NOISE_MIN);
  let high = Math.log(RELATIVE_NOISE_MAX);
  for (let step = 0; step < BISECTIONS; step += 1) {
    const middle = (low + high) / 2;
    if (spread(Math.exp(middle)) > 1) low = middle;
    else high = middle;
  }
  return Math.exp(high);
}

/**
 * The expectation is itself estimated from the series, which lies closer to it than the next value would: by a quarter,
 * as tests measure.
 */
const ESTIMATION_WIDTH = 1.25;

/** Standard deviations above (positive) or below the expectation. */
export function scoreFor(unit: number, noise: number): Score {
  return (observed, expected) => scoreOfCounts(observed / unit, expected / unit, noise) / ESTIMATION_WIDTH;
}

function scoreOfCounts(count: number, mean: number, noise: number): number {
  return stable(rootOf(count), noise) - stable(rootOf(mean), noise);
}

function rootOf(count: number): number {
  return Math.sqrt(count + COUNT_SHIFT);
}

function stable(root: number, noise: number): number {
  return (2 / noise) * Math.asinh(noise * root);
}

/**
 * The score that a series of so many usual buckets exceeds with the given chance: the normal quantile of 1 - chance /
 * buckets.
 */
export function scoreLimit(buckets: number, chance: number): number {
  // Abramowitz and Stegun 26.2.23, within 0.0005.
  const t = Math.sqrt(-2 * Math.log(chance / Math.max(1, buckets)));
  return (
    t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t)
  );
}
