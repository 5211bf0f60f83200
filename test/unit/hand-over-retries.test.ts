/**
 * Promise: customers whose projector is away ask for it seldom and not all at once, and all of them come back within a minute of
 * its return.
 */
import { expect, test } from 'vitest';
import { retryAfterMs } from '../../durable-objects/customer/hand-over.ts';
import { randomFrom } from '../crash/random.ts';

const CUSTOMERS = 10_000;
const AWAY_MS = 600_000;
const SECOND_MS = 1_000;

test('ten thousand customers, ten minutes', () => {
  const { next: random } = randomFrom(20_261_128);
  const requestsOfCustomer: number[] = [];
  const requestsInSecond = new Map<number, number>();
  let lastBackMs = 0;
  for (let customer = 0; customer < CUSTOMERS; customer += 1) {
    // All of them fail in the first second.
    let atMs = random() * SECOND_MS;
    let failures = 0;
    for (; atMs < AWAY_MS; failures += 1) {
      const second = Math.floor(atMs / SECOND_MS);
      requestsInSecond.set(second, (requestsInSecond.get(second) ?? 0) + 1);
      atMs += retryAfterMs(failures + 1, random());
    }
    requestsOfCustomer.push(failures);
    lastBackMs = Math.max(lastBackMs, atMs - AWAY_MS);
  }
  const requests = requestsOfCustomer.reduce((sum, one) => sum + one, 0);
  const settled = [...requestsInSecond].filter(([second]) => second >= 120).map(([, count]) => count);
  expect(Math.max(...requestsOfCustomer)).toBeLessThanOrEqual(24);
  expect(requests / CUSTOMERS).toBeLessThan(20);
  // A mean of 222 in a second: nobody comes in step with the others.
  expect(Math.max(...settled)).toBeLessThan(500);
  expect(lastBackMs).toBeLessThanOrEqual(60_000);
});

test('the waits grow from a second to a minute, each by half of chance', () => {
  const waits = (chance: number) => [1, 2, 3, 6, 7, 30, 2_000].map((failures) => retryAfterMs(failures, chance));
  expect(waits(0)).toEqual([500, 1_000, 2_000, 16_000, 30_000, 30_000, 30_000]);
  expect(waits(1)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000]);
});
