/**
 * The statistics of the readings are defined for empty input, and never return negative zero.
 */
import { describe, expect, test } from 'vitest';
import { mean, quantiles, rounded, studentsT90, sum } from '../../src/readings/statistics.ts';

describe('no values', () => {
  test('have a sum, a mean and quantiles of zero', () => {
    expect([sum([]), mean([]), ...quantiles([], [0, 0.5, 1])]).toEqual([0, 0, 0, 0, 0]);
  });
});

describe('rounding', () => {
  test.each([-0, -0.0001, 0.0001])('%d to two decimals is zero, not negative zero', (value) => {
    expect(Object.is(rounded(value, 2), 0)).toBe(true);
  });

  test.each([
    [1.005001, 2, 1.01],
    [-1.25, 1, -1.2],
    [2 ** 53, 6, 2 ** 53],
  ])('%d to %d decimals is %d', (value, decimals, expected) => {
    expect(rounded(value, decimals)).toBe(expected);
  });
});

test('quantiles are interpolated between neighbours', () => {
  expect(quantiles([4, 1, 3, 2], [0, 0.5, 0.9, 1])).toEqual([1, 2.5, 3.7, 4]);
});

test.each([
  [1, 3.078, 0.13],
  [2, 1.886, 0.01],
  [5, 1.476, 0.001],
  [30, 1.31, 0.001],
])("the 90th percentile of Student's t with %d degrees of freedom is %d", (freedom, table, miss) => {
  expect(Math.abs(studentsT90(freedom) - table)).toBeLessThanOrEqual(miss);
});
