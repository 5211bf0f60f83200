/**
 * An event is sent again after 5 s, 30 s, 2 min, 10 min, 1 h and then every 6 h, for 72 hours; an endpoint without any success
 * for five days is lost.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deliveryOutcome, failingSince, isLost, nextAttemptMs } from '../../src/domain/webhook-delivery.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/platform/time.ts';

/** The times of all attempts, if each fails at once. */
function attempts(firstMs: number, tookMs = 0): number[] {
  const times = [firstMs];
  for (let next = nextAttemptMs(1, { firstAttemptMs: firstMs, nowMs: firstMs + tookMs }); next !== null; ) {
    times.push(next);
    next = nextAttemptMs(times.length, { firstAttemptMs: firstMs, nowMs: next + tookMs });
  }
  return times;
}

test('the waits between attempts', () => {
  const times = attempts(0);
  const waits = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
  expect(waits).toEqual([
    5 * SECOND_MS,
    30 * SECOND_MS,
    2 * MINUTE_MS,
    10 * MINUTE_MS,
    HOUR_MS,
    ...Array.from({ length: 11 }, () => 6 * HOUR_MS),
  ]);
});

test('no attempt is made later than 72 hours after the first, and none is left out before', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2e12 }), fc.integer({ min: 0, max: 10_000 }), (firstMs, tookMs) => {
      const times = attempts(firstMs, tookMs);
      const last = times.at(-1) ?? 0;
      expect(last - firstMs).toBeLessThanOrEqual(72 * HOUR_MS);
      expect(last - firstMs + tookMs + 6 * HOUR_MS).toBeGreaterThan(72 * HOUR_MS);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    }),
  );
});

test('only 2xx has taken an event, and only 410 says that there is no endpoint', () => {
  fc.assert(
    fc.property(fc.option(fc.integer({ min: 100, max: 599 })), (status) => {
      const isTaken = status !== null && Math.floor(status / 100) === 2;
      expect(deliveryOutcome(status)).toBe(isTaken ? 'delivered' : status === 410 ? 'gone' : 'failed');
    }),
  );
});

test('an endpoint fails since its first failure, and anew if nothing was sent to it for longer than attempts are apart', () => {
  expect(failingSince({ sinceMs: null, lastFailedMs: null, nowMs: 5 })).toBe(5);
  expect(failingSince({ sinceMs: 5, lastFailedMs: 9, nowMs: 9 + 12 * HOUR_MS })).toBe(5);
  expect(failingSince({ sinceMs: 5, lastFailedMs: 9, nowMs: 10 + 12 * HOUR_MS })).toBe(10 + 12 * HOUR_MS);
});

test('an endpoint is lost after five days without a success', () => {
  expect([
    isLost({ failingSinceMs: 7, nowMs: 7 + 5 * DAY_MS - 1 }),
    isLost({ failingSinceMs: 7, nowMs: 7 + 5 * DAY_MS }),
  ]).toEqual([false, true]);
});
