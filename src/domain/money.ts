/**
 * Money as integer nano-USD (1 USD = 1,000,000,000 nano-USD), in bigint.
 *
 * Every amount is computed in integers and rounded once, half up. JSON numbers and decimal strings of USD exist only at
 * the edges, and are read and printed digit by digit.
 */

export type NanoUsd = bigint;

export const NANO_DIGITS = 9;
/** Significant digits of an amount below a dollar. */
const SMALL_DIGITS = 3;
export const NANO_PER_USD = 10n ** BigInt(NANO_DIGITS);

const DECIMAL = /^(\d{1,12})(?:\.(\d{1,9}))?$/;

/** Reads a non-negative decimal amount of USD with at most nine decimals; `null` for any other text. */
export function parseUsd(text: string): NanoUsd | null {
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const [, whole = '0', fraction = ''] = match;
  return BigInt(whole) * NANO_PER_USD + BigInt(fraction.padEnd(NANO_DIGITS, '0'));
}

/** Reads a JSON number of USD; it is rounded to nine decimals. Throws on a negative or non-finite one. */
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

/** The direction in which the hidden digits of an amount are rounded. */
export type Rounding = 'half' | 'up' | 'down';

/**
 * For people: `$1,234.50`, `$0.0123`, `$0.0000425`: cents from a dollar up, three digits below. `formatUsd` gives the
 * exact amount. `up` and `down` are away from zero and towards it.
 */
export function usd(nano: NanoUsd, rounding: Rounding = 'half'): string {
  const size = nano < 0n ? -nano : nano;
  const text = fixedUsd(size, significantDecimals(size), rounding);
  const short = size < NANO_PER_USD ? text.replace(/(\.\d\d\d*?)0+$/, '$1') : text;
  return `${nano < 0n ? '-' : ''}$${short}`;
}

/** A non-negative amount with this many decimals: `1,234.50`. */
export function fixedUsd(size: NanoUsd, decimals: number, rounding: Rounding = 'half'): string {
  const unit = 10n ** BigInt(NANO_DIGITS - decimals);
  const units = rounding === 'half' ? divideHalfUp(size, unit) : rounding === 'up' ? divideUp(size, unit) : size / unit;
  const [whole = '0', fraction = ''] = formatUsd(units * unit).split('.');
  return `${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}.${fraction.padEnd(decimals, '0')}`;
}

/** Decimals with which a small amount has three significant digits; two from a dollar up. */
export function significantDecimals(nano: NanoUsd): number {
  const size = nano < 0n ? -nano : nano;
  if (size === 0n || size >= NANO_PER_USD) return 2;
  return Math.min(NANO_DIGITS, Math.max(2, NANO_DIGITS - size.toString().length + SMALL_DIGITS));
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

/** For non-negative numbers. */
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
