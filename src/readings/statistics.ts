/**
 * Statistics that the readings share: medians, quantiles and scales that are robust against outliers.
 *
 * Sums run in input order and nothing is random, so the same data give the same bytes.
 */

/** The 90th percentile of a normal distribution, in standard deviations. */
export const Z_90 = 1.2815515655446004;
/** The 95th percentile of a normal distribution: nine of ten values are at most this many standard deviations away. */
export const Z_95 = 1.6448536269514722;
/** One standard deviation of a normal distribution in median absolute deviations: 1 / 0.6745. */
export const SD_PER_MAD = 1.4826;

/**
 * The 90th percentile of Student's t, of one degree of freedom or more, by the expansion of Abramowitz and Stegun
 * 26.7.5: 4 percent too small for one degree, and less than half a percent for two.
 */
export function studentsT90(freedom: number): number {
  const z = Z_90;
  const first = (z ** 3 + z) / 4;
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384;
  return z + first / freedom + second / freedom ** 2 + third / freedom ** 3;
}

/** Rounds a value for the response; never returns negative zero. */
export function rounded(value: number, decimals: number): number {
  // A large integer times the scale may not be exact.
  if (Number.isInteger(value)) return value + 0;
  const scale = 10 ** decimals;
  const result = Math.round(value * scale) / scale;
  return Number.isFinite(result) ? result + 0 : value;
}

export function sum(values: readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

/**
 * For each share, the value below which that share of the values lies, with linear interpolation; 0 if there are no
 * values.
 */
export function quantiles(values: ArrayLike<number>, shares: readonly number[]): number[] {
  // A typed array sorts numerically without a comparison function.
  const sorted = new Float64Array(values).sort();
  return shares.map((share) => {
    const at = (sorted.length - 1) * share;
    const low = sorted[Math.floor(at)] ?? 0;
    const high = sorted[Math.ceil(at)] ?? low;
    return low + (high - low) * (at - Math.floor(at));
  });
}

export function median(values: ArrayLike<number>): number {
  return quantiles(values, [0.5])[0] ?? 0;
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
