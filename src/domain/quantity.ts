/**
 * Metered quantities: counts, tokens and seconds as JSON numbers with at most three decimals.
 *
 * Sums stay exact, because each is rounded to three decimals: ten times 0.1 seconds is one second. Only audio has
 * fractions; every other quantity is an integer.
 */

/** Fractions finer than a thousandth of a unit do not exist. */
export const QUANTITY_SCALE = 1000;

export function addQuantity(a: number, b: number): number {
  return snap(a + b);
}

/** `a - b`, never below zero. */
export function subtractQuantity(a: number, b: number): number {
  return Math.max(0, snap(a - b));
}

/** The quantity in thousandths, for exact multiplication with a price. */
export function thousandths(quantity: number): bigint {
  return Number.isSafeInteger(quantity)
    ? BigInt(quantity) * BigInt(QUANTITY_SCALE)
    : BigInt(Math.round(quantity * QUANTITY_SCALE));
}

function snap(sum: number): number {
  return Number.isInteger(sum) ? sum : Math.round(sum * QUANTITY_SCALE) / QUANTITY_SCALE;
}
