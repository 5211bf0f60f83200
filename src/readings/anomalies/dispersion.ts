/**
 * The distance of a quantity from its expectation, in the usual standard deviations of the series.
 *
 * Quantities are treated as counts of a typical unit (one call, or the cost of one call) with variance mean + s^2
 * mean^2: Poisson for small counts, proportional for large ones. The transform (2 / s) asinh(s sqrt(count)) makes that
 * variance 1 everywhere; s is chosen so that the usual deviation of the series is 1.
 */
import { SD_PER_MAD } from '../statistics.ts';

/** The smallest relative noise: five percent. */
const RELATIVE_NOISE_MIN = 0.05;
const RELATIVE_NOISE_MAX = 4;
/** Bisections of the logarithm of s, which give it within one percent. */
const BISECTIONS = 10;
/** Anscombe's shift, which stabilizes the variance of small counts. */
const COUNT_SHIFT = 3 / 8;
/** With fewer deviations than this, the largest may be the anomaly, and their 95th percentile is not reliable. */
const TAIL_FROM = 150;
/** A bucket with a smaller expected count, such as an hour at night, is not used to measure noise. */
const EXPECTED_MIN = 0.5;

export type Score = (observed: number, expected: number) => number;

/**
 * In a normal distribution, half of the deviations are larger than the first, and a known share is larger than the
 * second.
 */
const MEDIAN_DEVIATION = 1 / SD_PER_MAD;
const TAIL_DEVIATION = 1.96;
const TAIL_SHARE = 0.05;

/**
 * The relative noise s of a series around its expectation; `unit` is the quantity of one count. It follows from the
 * median deviation, or of the 95th percentile if that is larger: a series whose quantities often jump is a noisy one.
 */
export function relativeNoise(observed: readonly number[], expected: readonly number[], unit: number): number {
  const counts: number[] = [];
  const means: number[] = [];
  observed.forEach((value, at) => {
    const mean = (expected[at] ?? 0) / unit;
    if (mean < EXPECTED_MIN) return;
    counts.push(shiftedRoot(value / unit));
    means.push(shiftedRoot(mean));
  });
  if (counts.length === 0) return RELATIVE_NOISE_MAX;
  // Whether deviations are larger than in a normal distribution. They are counted, because that needs no sorting.
  const isTooSmall = (noise: number) => {
    let overHalf = 0;
    let overTail = 0;
    for (let at = 0; at < counts.length; at += 1) {
      const score = Math.abs(stable(counts[at] as number, noise) - stable(means[at] as number, noise));
      if (score > MEDIAN_DEVIATION) overHalf += 1;
      if (score > TAIL_DEVIATION) overTail += 1;
    }
    return overHalf > counts.length / 2 || (counts.length >= TAIL_FROM && overTail > TAIL_SHARE * counts.length);
  };
  let low = Math.log(RELATIVE_NOISE_MIN);
  let high = Math.log(RELATIVE_NOISE_MAX);
  for (let step = 0; step < BISECTIONS; step += 1) {
    const middle = (low + high) / 2;
    if (isTooSmall(Math.exp(middle))) low = middle;
    else high = middle;
  }
  return Math.exp(high);
}

/**
 * The noise of days that is assumed before any is known: its size, and the number of days that it weighs as much as.
 */
const PRIOR_NOISE = 0.2;
const PRIOR_DAYS = 32;

/** The noise to use if it was measured on few deviations. */
export function believedNoise(measured: number, deviations: number): number {
  return Math.sqrt((PRIOR_DAYS * PRIOR_NOISE ** 2 + deviations * measured ** 2) / (PRIOR_DAYS + deviations));
}

/** The limit of usual scores if the noise was measured on few deviations: Student's t by Cornish and Fisher. */
export function limitForFew(limit: number, deviations: number): number {
  // A median deviation is about as reliable as a standard deviation of half as many values.
  const freedom = PRIOR_DAYS + deviations / 2;
  return limit * (1 + (limit * limit + 1) / (4 * freedom));
}

/** The score in standard deviations: positive above the expectation, negative below. */
export function scoreFor(unit: number, noise: number): Score {
  return (observed, expected) => scoreOfCounts(observed / unit, expected / unit, noise);
}

function scoreOfCounts(count: number, mean: number, noise: number): number {
  return stable(shiftedRoot(count), noise) - stable(shiftedRoot(mean), noise);
}

function shiftedRoot(count: number): number {
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
