/**
 * When the client waits, and for how long.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  delayAfter,
  parseRetryAfter,
  RETRY_AFTER_MS_MAX,
  RETRY_DEFAULTS,
  retryPolicy,
} from '../../src/client/retry.ts';

const NOW_MS = Date.parse('2026-11-20T12:00:00.000Z');

test('the defaults are those of the contract', () => {
  expect(retryPolicy()).toEqual({ attempts: 3, baseDelayMs: 250, maxDelayMs: 5000, jitterRatio: 0.2 });
});

describe('the delay', () => {
  test.each([
    [1, 250],
    [2, 500],
    [3, 1000],
    [6, 5000],
    [9, 5000],
  ])('after attempt %i is %i ms without jitter', (attempt, delayMs) => {
    expect(delayAfter({ ...RETRY_DEFAULTS, attempts: 10 }, attempt, undefined, 0.5)).toBe(delayMs);
  });

  test('stays within the jitter of exponential backoff, and below the maximum', () => {
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), chance, (attempt, drawn) => {
        const doubled = Math.min(5000, 250 * 2 ** (attempt - 1));
        const delayMs = delayAfter({ ...RETRY_DEFAULTS, attempts: 10 }, attempt, undefined, drawn) as number;
        expect(delayMs).toBeGreaterThanOrEqual(Math.floor(doubled * 0.8));
        expect(delayMs).toBeLessThanOrEqual(Math.min(5000, Math.ceil(doubled * 1.2)));
      }),
    );
  });

  test('is spread: another random number gives another delay', () => {
    const delays = [0, 0.25, 0.5, 0.75, 0.999].map((chance) => delayAfter(RETRY_DEFAULTS, 1, undefined, chance));
    expect(delays).toEqual([200, 225, 250, 275, 300]);
  });

  test('does not exist after the last attempt', () => {
    expect([1, 2, 3, 4].map((attempt) => delayAfter(RETRY_DEFAULTS, attempt, undefined, 0.5))).toEqual([
      250,
      500,
      null,
      null,
    ]);
    expect(delayAfter({ ...RETRY_DEFAULTS, attempts: 1 }, 1, undefined, 0.5)).toBeNull();
  });

  test('after a Retry-After is never shorter than it says, and spread over the jitter beyond it', () => {
    const delays = [0, 0.25, 0.5, 0.75, 0.999].map((chance) => delayAfter(RETRY_DEFAULTS, 1, 1_000, chance));
    expect(delays).toEqual([1_200, 1_100, 1_000, 1_100, 1_200]);
  });

  test('Retry-After takes precedence, and above the limit there are no more attempts', () => {
    expect(delayAfter(RETRY_DEFAULTS, 1, 0, 0.5)).toBe(0);
    expect(delayAfter(RETRY_DEFAULTS, 1, 12_000, 0.5)).toBe(12_000);
    expect(delayAfter(RETRY_DEFAULTS, 1, RETRY_AFTER_MS_MAX, 0.5)).toBe(RETRY_AFTER_MS_MAX);
    expect(delayAfter(RETRY_DEFAULTS, 1, RETRY_AFTER_MS_MAX + 1, 0.5)).toBeNull();
    expect(delayAfter(RETRY_DEFAULTS, 3, 0, 0.5)).toBeNull();
  });
});

test.each([
  ['2', 2000],
  ['0', 0],
  [' 7 ', 7000],
  ['1.5', 1500],
  ['Fri, 20 Nov 2026 12:00:03 GMT', 3000],
  ['Fri, 20 Nov 2026 11:59:00 GMT', 0],
  ['-1', undefined],
  ['soon', undefined],
  ['', undefined],
  ['2026', 2_026_000],
])('Retry-After %j is %s ms', (header, delayMs) => {
  expect(parseRetryAfter(header, NOW_MS)).toBe(delayMs);
});

test('a missing or invalid Retry-After counts as absent', () => expect(parseRetryAfter(null, NOW_MS)).toBeUndefined());

test.each([
  [{ attempts: 0 }, 'retry.attempts'],
  [{ attempts: 11 }, 'retry.attempts'],
  [{ attempts: 1.5 }, 'retry.attempts'],
  [{ attempts: Number.NaN }, 'retry.attempts'],
  [{ baseDelayMs: -1 }, 'retry.baseDelayMs'],
  [{ maxDelayMs: Number.POSITIVE_INFINITY }, 'retry.maxDelayMs'],
  [{ jitterRatio: 1.1 }, 'retry.jitterRatio'],
])('a policy of %j is refused', (policy, field) => {
  expect(() => retryPolicy(policy)).toThrow(
    expect.objectContaining({ code: 'SERVICE_BAD_REQUEST', message: expect.stringContaining(field) }),
  );
});
