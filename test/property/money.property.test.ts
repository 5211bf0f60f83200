/**
 * Money survives every conversion: text and back is the same amount, the JSON number is the nearest there is, and
 * nothing is lost between the lines of a cost and its sum.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  divideHalfUp,
  formatUsd,
  nanoFromUsd,
  nanoOfParts,
  parseUsd,
  partsOfNano,
  usdFromNano,
} from '../../src/domain/money.ts';

const NANO = 1_000_000_000n;
/** Everything that `parseUsd` reads: up to twelve digits before the point. */
const amounts = fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 21n - 1n }), fc.bigInt({ min: 0n, max: 3n * NANO }));

describe('text', () => {
  test('printing and parsing an amount returns the same amount', () => {
    fc.assert(
      fc.property(amounts, (nano) => {
        expect(parseUsd(formatUsd(nano))).toBe(nano);
      }),
    );
  });

  test('an amount is printed as its shortest decimal', () => {
    fc.assert(
      fc.property(amounts, (nano) => {
        const text = formatUsd(nano);
        expect(text).toMatch(/^(0|[1-9]\d*)(\.\d{0,8}[1-9])?$/);
        const [whole = '', fraction = ''] = text.split('.');
        expect(BigInt(whole) * NANO + BigInt(`${fraction}000000000`.slice(0, 9))).toBe(nano);
      }),
    );
  });

  test('a negative amount is printed as the positive one with a minus sign', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 21n }), (nano) => {
        expect(formatUsd(-nano)).toBe(`-${formatUsd(nano)}`);
      }),
    );
  });

  test('the stored parts of a sum add up to the sum of all amounts, including reversed ones', () => {
    const amounts = fc.array(fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }), { maxLength: 40 });
    fc.assert(
      fc.property(amounts, (nanos) => {
        const parts = nanos.map(partsOfNano);
        const sum = (part: 'usd' | 'restNanoUsd') => parts.reduce((all, one) => all + BigInt(one[part]), 0n).toString();
        expect(nanoOfParts(sum('usd'), sum('restNanoUsd'))).toBe(nanos.reduce((all, one) => all + one, 0n));
      }),
    );
  });

  test('leading and trailing zeros do not change an amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (nano) => {
        const digits = nano.toString().padStart(10, '0');
        expect(parseUsd(`${digits.slice(0, -9)}.${digits.slice(-9)}`)).toBe(nano);
        expect(parseUsd(`00${formatUsd(nano)}`)).toBe(nano);
      }),
    );
  });

  test.each([
    '',
    '.',
    '1.',
    '.5',
    '-1',
    '+1',
    '1e3',
    '1,5',
    ' 1',
    '1 ',
    '1.0000000001',
    '1234567890123',
    'NaN',
    '0x10',
    '１',
  ])('%j is no amount', (text) => {
    expect(parseUsd(text)).toBeNull();
  });

  test('only a plain decimal is an amount', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), (text) => {
        if (!/^[0-9]+(\.[0-9]+)?$/.test(text)) expect(parseUsd(text)).toBeNull();
      }),
    );
  });
});

/** The exact value of a finite positive double, as numerator / 2^exponent or numerator x 2^-exponent. */
function exactly(value: number): { numerator: bigint; denominator: bigint } {
  const bits = new BigUint64Array(new Float64Array([value]).buffer)[0] ?? 0n;
  const biased = Number((bits >> 52n) & 0x7ffn);
  const mantissa = (bits & 0xfffffffffffffn) | (biased === 0 ? 0n : 1n << 52n);
  const exponent = Math.max(biased, 1) - 1075;
  return exponent >= 0
    ? { numerator: mantissa << BigInt(exponent), denominator: 1n }
    : { numerator: mantissa, denominator: 1n << BigInt(-exponent) };
}

/** The next double above (+1n) or below (-1n) a positive one. */
function neighbour(value: number, step: bigint): number {
  const bits = new BigUint64Array(new Float64Array([value]).buffer)[0] ?? 0n;
  return new Float64Array(new BigUint64Array([bits + step]).buffer)[0] ?? 0;
}

/** How far `value` lies from `nano`, times 10^9 x 2^1100, so that distances compare as integers. */
function distance(value: number, nano: bigint): bigint {
  const { numerator, denominator } = exactly(value);
  const difference = ((numerator << 1100n) / denominator) * NANO - (nano << 1100n);
  return difference < 0n ? -difference : difference;
}

describe('numbers', () => {
  test('an amount becomes the nearest JSON number', () => {
    fc.assert(
      fc.property(fc.oneof(fc.bigInt({ min: 1n, max: 10n ** 21n }), fc.bigInt({ min: 1n, max: NANO })), (nano) => {
        const given = usdFromNano(nano);
        expect(distance(given, nano)).toBeLessThanOrEqual(distance(neighbour(given, 1n), nano));
        expect(distance(given, nano)).toBeLessThanOrEqual(distance(neighbour(given, -1n), nano));
      }),
      { numRuns: 1000 },
    );
    expect(usdFromNano(0n)).toBe(0);
  });

  test('an amount up to a million USD survives as a JSON number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1_000_000n * NANO }), (nano) => {
        expect(nanoFromUsd(usdFromNano(nano))).toBe(nano);
      }),
    );
  });

  test('a JSON number is read to the nearest nano-USD', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-12, max: 1e11, noNaN: true }), (usd) => {
        const { numerator, denominator } = exactly(usd);
        // |nano - usd x 10^9| is at most a half.
        const off = 2n * (nanoFromUsd(usd) * denominator - numerator * NANO);
        expect(off <= denominator && -off <= denominator).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([-1, -0.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e21, 1e13])(
    '%d is refused',
    (usd) => {
      expect(() => nanoFromUsd(usd)).toThrow(RangeError);
    },
  );
});

describe('division', () => {
  const numerators = fc.bigInt({ min: 0n, max: 10n ** 30n });
  const denominators = fc.oneof(fc.bigInt({ min: 1n, max: 10n ** 12n }), fc.bigInt({ min: 1n, max: 20n }));

  test('rounding half up returns the integer n with the quotient in [n - 1/2, n + 1/2)', () => {
    fc.assert(
      fc.property(numerators, denominators, (numerator, denominator) => {
        const quotient = divideHalfUp(numerator, denominator);
        expect((2n * quotient - 1n) * denominator <= 2n * numerator).toBe(true);
        expect(2n * numerator < (2n * quotient + 1n) * denominator).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test('an exact half goes up', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.bigInt({ min: 1n, max: 10n ** 9n }), (whole, half) => {
        expect(divideHalfUp((2n * whole + 1n) * half, 2n * half)).toBe(whole + 1n);
      }),
    );
  });
});
