/**
 * The model of a deployment: its arithmetic against cases whose answer is known.
 */
import { describe, expect, test } from 'vitest';
import { countOfCall, PARTS, usageOfCall } from '../bench/simulation/call-cost.ts';
import { amplitudeOf, largestShare, PEAK_BY_MEAN, shareBeyond } from '../bench/simulation/day.ts';
import { answerFor, countRows, placed } from '../bench/simulation/deployment.ts';
import { ASSUMED, ORGANIZATION_ROWS } from '../bench/simulation/measured.ts';
import { marginalDollars, monthDollars, NO_USAGE, total, type Usage } from '../bench/simulation/prices.ts';
import { meanWaitMs, runQueue } from '../bench/simulation/queue.ts';
import { lineThrough } from '../bench/transactions.ts';
import { chance } from '../support/series.ts';

describe('the queue', () => {
  const single = { projectors: 1, handOverDelayMs: 0, gatherMs: 0, changesMax: 1, busyMs: 1e9 };

  test('waits as long as an M/D/1 queue', () => {
    const [rate, serviceMs] = [3, 200];
    const source = { changesPerSecond: rate, projector: 0, variation: 0 };
    const { meanMs, utilization, transactionsPerSecond } = runQueue(
      chance(1),
      { ...single, transactionMs: () => serviceMs },
      [source],
      20_000,
    );
    expect(meanWaitMs(rate, serviceMs)).toBeCloseTo(150);
    expect(meanMs / (serviceMs + meanWaitMs(rate, serviceMs))).toBeCloseTo(1, 1);
    expect(utilization).toBeCloseTo(0.6, 1);
    expect(transactionsPerSecond).toBeCloseTo(rate, 0);
  });

  test('of a full database never ends', () => {
    expect(meanWaitMs(5, 200)).toBe(Number.POSITIVE_INFINITY);
    const source = { changesPerSecond: 10, projector: 0, variation: 0 };
    const { utilization, backlogSeconds } = runQueue(chance(1), { ...single, transactionMs: () => 200 }, [source], 600);
    expect(utilization).toBeCloseTo(1, 1);
    expect(backlogSeconds / 600).toBeCloseTo(0.5, 1);
  });

  test('gathers for a second, after the hand-over', () => {
    const settings = { projectors: 8, handOverDelayMs: 1_500, gatherMs: 1_000, changesMax: 2_000, busyMs: 3_000 };
    const source = { changesPerSecond: 200, projector: 3, variation: 0 };
    const queue = runQueue(chance(1), { ...settings, transactionMs: () => 5 }, [source], 300);
    expect(queue.transactionsPerSecond).toBeCloseTo(1, 1);
    expect(queue.medianMs / 2_005).toBeCloseTo(1, 1);
    expect(queue.p99Ms).toBeLessThanOrEqual(2_525);
    expect(queue.waiting / 100).toBeCloseTo(1, 1);
  });
});

describe('money', () => {
  test('a month costs what is beyond the plan', () => {
    const usage: Usage = { ...NO_USAGE, workerRequests: 100e6, workerCpuMs: 700e6, objectRequests: 0.5e6 };
    // The price list's own example of 100 million requests of 7 ms.
    expect(monthDollars(usage)).toMatchObject({ workerRequests: 27, objectRequests: 0 });
    expect(monthDollars(usage).workerCpuMs).toBeCloseTo(13.4);
    expect(total(monthDollars(usage))).toBeCloseTo(40.4);
  });

  test('one more of each unit costs its price, whatever the plan includes', () => {
    expect(marginalDollars({ ...NO_USAGE, d1RowsWritten: 1e6, objectGbSeconds: 1e6 })).toMatchObject({
      d1RowsWritten: 1,
      objectGbSeconds: 12.5,
      workerRequests: 0,
    });
  });

  test('a call alone writes the rows that calls of its organization would share', () => {
    const d1Rows = (callsPerTransaction: number) =>
      usageOfCall({ callsPerTransaction, organizationsPerTransaction: 1, pastShare: 0 })['rows that D1 writes']
        .d1RowsWritten;
    expect(d1Rows(1)).toBe(countOfCall('d1OwnRows') + ORGANIZATION_ROWS);
    expect(d1Rows(400)).toBeCloseTo(countOfCall('d1OwnRows') + ORGANIZATION_ROWS / 100);
  });

  test('the parts of a bill are the bill', () => {
    const { dollars, dollarsPerMonth, callsPerDay } = answerFor(1e7);
    const ofMillion = PARTS.reduce((sum, part) => sum + dollars[part], 0);
    // What the plan includes is worth less than 200 dollars a month.
    const includedDollars = (ofMillion * callsPerDay * 30) / 1e6 - dollarsPerMonth;
    expect(includedDollars).toBeGreaterThan(0);
    expect(includedDollars).toBeLessThan(200);
  });
});

describe('the deployment', () => {
  test("Zipf's law and the day's sine", () => {
    expect(largestShare(1)).toBe(1);
    expect(largestShare(3)).toBeCloseTo(6 / 11);
    expect(amplitudeOf(3)).toBe(0.5);
    expect(PEAK_BY_MEAN).toBeCloseTo(1.53, 2);
    // The amounts are 6, 3 and 2: 4 and 1 are beyond 2.
    expect(shareBeyond(3, 6, 2)).toBeCloseTo(5 / 11);
    expect(shareBeyond(3, 6, 7)).toBe(0);
  });

  test('every organization is in one database', () => {
    const { largest, typical } = placed(2, 2);
    expect([largest, typical]).toEqual(
      [[2 / 3], [1 / 3]].map((shares) => shares.map((share) => expect.closeTo(share))),
    );
  });

  test('organizations share no row in a transaction', () => {
    const changes = 100 * countOfCall('handOvers');
    expect(countRows(changes, 2) - countRows(changes, 1)).toBeCloseTo(ASSUMED.featuresAndModels * ORGANIZATION_ROWS);
    expect(countRows(changes, 1_000) - countRows(changes, 25)).toBeCloseTo(0);
  });

  test('the same seed gives the same answer, and ten times the calls ten times the growth', () => {
    const [one, again, ten] = [answerFor(1e7), answerFor(1e7), answerFor(1e8)];
    expect(again).toEqual(one);
    expect(ten.d1BytesPerDay).toBeCloseTo(10 * one.d1BytesPerDay);
    expect(ten.peakCallsPerSecond).toBeCloseTo(10 * one.peakCallsPerSecond);
    expect(one.loads[0]?.what).toContain('room');
  });
});

test('a line through points that are on one', () => {
  const points = [1, 5, 20].map((rowsWritten) => ({ rowsWritten, ms: 3 + 0.5 * rowsWritten }));
  expect(lineThrough(points)).toEqual({ msEach: expect.closeTo(3), msOfRow: expect.closeTo(0.5) });
});
