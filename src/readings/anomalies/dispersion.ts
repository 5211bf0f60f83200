/**
 * The distance of a quantity from its expectation, in standard deviations that are usual for the series.
 *
 * Quantities are treated as counts of a typical unit (one call, or the cost of one call) with variance mean + s^2
 * mean^2: Poisson for small counts, proportional for large ones. The transform (2 / s) asinh(s sqrt(count)) makes that
 * variance 1 everywhere; s is chosen so that the usual deviation of the series is 1.
 */
import { median, SD_PER_MAD } from '../statistics.ts';

/** The smallest relative noise: five percent. */
const RELATIVE_NOISE_MIN = 0.05;
const RELATIVE_NOISE_MAX = 4;
/** Bisections of the logarithm of s, which give it within one percent. */
const BISECTIONS = 10;
/** Anscombe's shift, which stabilizes the variance of small counts. */
const COUNT_SHIFT = 3 / 8;
/** A bucket with a smaller expected count, such as an hour at night, is not used to measure noise. */
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
 * The expectation is fitted to the series itself, so residuals are too small, by a quarter as tests measure. Scores are
 * divided by this factor.
 */
const ESTIMATION_WIDTH = 1.25;

/** The score in standard deviations: positive above the expectation, negative below. */
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
 * The score that a usual series of this many buckets exceeds with the given probability: the normal quantile of 1 -
 * chance / buckets.
 */
export function scoreLimit(buckets: number, chance: number): number {
  // Abramowitz and Stegun 26.2.23, within 0.0005.
  const t = Math.sqrt(-2 * Math.log(chance / Math.max(1, buckets)));
  return (
    t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t)
  );
}
