/**
 * The usual charge is computed of the last calls that have a price, as corrections leave them.
 */
import { expect, test } from 'vitest';
import type { Call } from '../../src/domain/call.ts';
import { USUAL_CALLS } from '../../src/domain/hold.ts';
import { addCost, correctCost, type RecentCost } from '../../src/domain/recent-costs.ts';

const call = (endedAtMs: number, costNanoUsd: string | null, more: Partial<Call> = {}) =>
  ({
    status: 'COMPLETED',
    outcome: {
      endedAtMs,
      price:
        costNanoUsd === null ? { status: 'UNAVAILABLE', reason: 'MODEL_UNKNOWN' } : { status: 'FINAL', costNanoUsd },
    },
    ...more,
  }) as unknown as Call;

test('calls that have a price count, also failed ones; others do not', () => {
  const ended = [call(1, '5'), call(2, null), call(3, '7', { status: 'FAILED' }), call(4, '9', { status: 'TIMEOUT' })];
  expect(ended.reduce(addCost, [])).toEqual([
    [1, '5'],
    [3, '7'],
  ]);
});

test('the last ones count, whatever the order in which they are recorded', () => {
  const ended = Array.from({ length: USUAL_CALLS + 2 }, (_, n) => call(n, String(n)));
  const costs = ended.toReversed().reduce<readonly RecentCost[]>(addCost, []);
  expect(costs).toHaveLength(USUAL_CALLS);
  expect(costs[0]).toEqual([2, '2']);
});

test('a correction replaces the cost, a reversal takes it out, and a price that comes later is added in its place', () => {
  const costs: RecentCost[] = [
    [1, '5'],
    [3, '7'],
  ];
  expect(correctCost(costs, call(1, '5'), call(1, '6'))).toEqual([
    [1, '6'],
    [3, '7'],
  ]);
  expect(correctCost(costs, call(1, '5'), call(1, '5', { reversedAtMs: 9 }))).toEqual([[3, '7']]);
  expect(correctCost(costs, call(2, null), call(2, '8'))).toEqual([
    [1, '5'],
    [2, '8'],
    [3, '7'],
  ]);
});

test('the correction of a call that is none of the last changes nothing', () => {
  expect(correctCost([[3, '7']], call(1, '5'), call(1, '6'))).toEqual([[3, '7']]);
});
