/**
 * Money as integer nano-USD (1 USD = 1,000,000,000 nano-USD), in bigint.
 *
 * Every amount is computed in integers and rounded once, half up. JSON numbers and decimal strings of USD exist only at
 * the edges, and are read and printed digit by digit.
 */

export type NanoUsd = bigint;

const NANO_DIGITS = 9;
export const NANO_PER_USD = 10n ** BigInt(NANO_DIGITS);

const DECIMAL = /^(\d{1,12})(?:\.(\d{1,9}))?$/;

/** Reads a non-negative decimal amount of USD with at most nine decimals; `null` when it is anything else. */
export function parseUsd(text: string): NanoUsd | null {
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const [, whole = '0', fraction = ''] = match;
  return BigInt(whole) * NANO_PER_USD + BigInt(fraction.padEnd(NANO_DIGITS, '0'));
}

/**
 * Reads a JSON number of USD; digits beyond the ninth decimal are rounded away. Throws on a negative or non-finite one.
 */
export function nanoFromUsd(usd: number): NanoUsd {
  const nano = parseUsd(usd.toFixed(NANO_DIGITS));
  if (nano === null) throw new RangeError(`not an amount of USD: ${usd}`);
  return nano;
}

/** The shortest exact decimal of an amount: `1500000000n` is `"1.5"`. */
export function formatUsd(nano: NanoUsd): string {
  const sign = nano < 0n ? '-' : '';
  const digits = (nano < 0n ? -nano : nano).toString().padStart(NANO_DIGITS + 1, '0');
  const whole = digits.slice(0, -NANO_DIGITS);
  const fraction = digits.slice(-NANO_DIGITS).replace(/0+$/, '');
  return `${sign}${whole}${fraction && `.${fraction}`}`;
}

/** The JSON number nearest to the exact amount. The exact one travels beside it as a string. */
export function usdFromNano(nano: NanoUsd): number {
  return Number(formatUsd(nano));
}

/**
 * An amount as the two columns of a sum in a database, as text: whole dollars, and the rest in nano-USD. A sum of
 * nano-USD alone could exceed 64 bits.
 */
export function partsOfNano(nano: NanoUsd): { usd: string; restNanoUsd: string } {
  return { usd: (nano / NANO_PER_USD).toString(), restNanoUsd: (nano % NANO_PER_USD).toString() };
}

/** The amount that the two columns hold together. */
export function nanoOfParts(usd: string, restNanoUsd: string): NanoUsd {
  return BigInt(usd) * NANO_PER_USD + BigInt(restNanoUsd);
}

/** `numerator / denominator` for non-negative integers, rounded half up. */
export function divideHalfUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator * 2n + denominator) / (denominator * 2n);
}

/** Of numbers that are not negative. */
export function divideUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/** Parts of an amount in proportion to the weights, which sum to it exactly. */
export function share(amount: bigint, weights: readonly bigint[]): bigint[] {
  const sum = weights.reduce((all, weight) => all + weight, 0n);
  if (sum === 0n) return weights.map((_, index) => (index === 0 ? amount : 0n));
  let [weighed, given] = [0n, 0n];
  return weights.map((weight) => {
    weighed += weight;
    const part = (amount * weighed) / sum - given;
    given += part;
    return part;
  });
}
