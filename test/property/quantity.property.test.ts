/**
 * Fractions of a second add up exactly: any sum of thousandths is the thousandths' sum, in any order, and subtracting
 * everything leaves zero.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addQuantity, subtractQuantity, thousandths } from '../../src/domain/quantity.ts';

const millis = fc.integer({ min: 0, max: 1_000_000_000 });

test('a sum of thousandths is exact, however many are added', () => {
  fc.assert(
    fc.property(fc.array(millis, { maxLength: 200 }), (amounts) => {
      const sum = amounts.map((milli) => milli / 1000).reduce(addQuantity, 0);
      const expected = amounts.reduce((total, milli) => total + milli, 0);
      expect(sum).toBe(expected / 1000);
      expect(thousandths(sum)).toBe(BigInt(expected));
    }),
  );
});

test('ten times a tenth of a second is one second', () => {
  expect(Array.from({ length: 10 }, () => 0.1).reduce(addQuantity, 0)).toBe(1);
});

test('added quantities can be subtracted in any order, down to zero', () => {
  fc.assert(
    fc.property(
      fc
        .array(millis, { maxLength: 50 })
        .chain((amounts) =>
          fc.tuple(fc.constant(amounts), fc.shuffledSubarray(amounts, { minLength: amounts.length })),
        ),
      ([amounts, shuffled]) => {
        const sum = amounts.map((milli) => milli / 1000).reduce(addQuantity, 0);
        expect(shuffled.map((milli) => milli / 1000).reduce(subtractQuantity, sum)).toBe(0);
      },
    ),
  );
});

test('a difference is exact and never negative', () => {
  fc.assert(
    fc.property(millis, millis, (a, b) => {
      expect(subtractQuantity(a / 1000, b / 1000)).toBe(a > b ? (a - b) / 1000 : 0);
    }),
  );
});

test('whole numbers are added as they are', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 52 }), fc.integer({ min: 0, max: 2 ** 52 }), (a, b) => {
      expect(BigInt(addQuantity(a, b))).toBe(BigInt(a) + BigInt(b));
      expect(thousandths(a)).toBe(BigInt(a) * 1000n);
    }),
  );
});
