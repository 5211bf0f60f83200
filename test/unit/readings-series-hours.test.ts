/**
 * The columns from a customer's object give the usage of each hour, in any order and for any size of the sums.
 */
import { expect, test } from 'vitest';
import { joinSeries, latestHour, parseHours, sumBetween } from '../../src/objects/series-hours.ts';
import { rounded } from '../../src/readings/statistics.ts';
import { HOUR_MS } from '../support/series.ts';

const TEXT = JSON.stringify({
  hour: [12, 10, 11],
  completedCalls: [0, 3, 0],
  failedCalls: [2, 1, 0],
  inputTokens: [0, 30, 0],
  outputTokens: [0, 20, 0],
  costNanoUsd: [0, 1_500_000_000, 0],
  agenticApi: [0, 0, 7],
  customMeter1: [0, 0, 0],
  customMeter2: [0, 0, 0],
  unpricedCalls: [2, 0, 0],
});

test('a series is the sum of its columns, without empty hours', () => {
  const hours = parseHours(TEXT);
  expect(joinSeries(hours, ['agenticApi'])).toEqual([{ startMs: 11 * HOUR_MS, quantity: 7 }]);
  expect(joinSeries(hours, ['costUsd'])).toEqual([{ startMs: 10 * HOUR_MS, quantity: 1.5 }]);
  expect(joinSeries(hours, ['completedCalls', 'failedCalls'])).toEqual([
    { startMs: 10 * HOUR_MS, quantity: 3 },
    { startMs: 12 * HOUR_MS, quantity: 2 },
    { startMs: 10 * HOUR_MS, quantity: 1 },
  ]);
});

test('sums include the first hour and exclude the last', () => {
  const hours = parseHours(TEXT);
  const failed = (from: number, to: number) =>
    sumBetween(hours, ['failedCalls'], { fromMs: from * HOUR_MS, toMs: to * HOUR_MS });
  expect([failed(10, 12), failed(10, 13), failed(11, 12), failed(13, 20)]).toEqual([1, 3, 0, 0]);
});

test('the latest hour with usage is found in any order of the hours', () => {
  const hours = parseHours(TEXT);
  expect(latestHour(hours, ['completedCalls', 'failedCalls'])).toBe(12 * HOUR_MS);
  expect(latestHour(hours, ['completedCalls'])).toBe(10 * HOUR_MS);
  expect(latestHour(hours, ['customMeter1'])).toBeNull();
});

test('a cost above 2^53 nano-USD is off by less than the sixteenth digit', () => {
  const { columns } = parseHours(TEXT.replace('1500000000', '92233720368547758'));
  expect(Math.abs((columns.costUsd?.[1] ?? 0) / Number('92233720.368547758') - 1)).toBeLessThan(1e-15);
});

test('rounding leaves every integer as it is', () => {
  for (let quantity = 1; quantity < Number.MAX_SAFE_INTEGER; quantity = quantity * 3 + 1)
    expect(rounded(quantity, 9)).toBe(quantity);
  expect(Object.is(rounded(-0, 9), 0)).toBe(true);
});
