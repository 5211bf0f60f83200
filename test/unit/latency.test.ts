/**
 * Latency of many requests, kept as counts: the figure that is read is never below the truth, and at most one bound
 * above it.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addLatencies,
  countLatency,
  LATENCY_BOUNDS_MS,
  type LatencyCounts,
  latencyWithin,
  noLatencies,
} from '../../src/platform/latency.ts';

const counted = (times: readonly number[]): LatencyCounts => {
  const counts = noLatencies();
  for (const tookMs of times) countLatency(counts, tookMs);
  return counts;
};
const times = fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 200 });
const shares = fc.constantFrom(0.5, 0.95, 1);

test('a share is within the bound that is told, and not within the bound before it', () => {
  fc.assert(
    fc.property(times, shares, (all, share) => {
      const boundMs = latencyWithin(counted(all), share);
      const within = (limitMs: number) => all.filter((tookMs) => tookMs <= limitMs).length / all.length;
      const last = LATENCY_BOUNDS_MS.at(-1) ?? 0;
      if (boundMs === null) expect(within(last)).toBeLessThan(share);
      else {
        expect(within(boundMs)).toBeGreaterThanOrEqual(share);
        const before = LATENCY_BOUNDS_MS[(LATENCY_BOUNDS_MS as readonly number[]).indexOf(boundMs) - 1];
        if (before !== undefined) expect(within(before)).toBeLessThan(share);
      }
    }),
  );
});

test('figures of two isolates add up to those of one that answered everything', () => {
  fc.assert(
    fc.property(times, times, (some, others) => {
      expect(addLatencies(counted(some), counted(others))).toEqual(counted([...some, ...others]));
    }),
  );
});

test('without requests no time is told', () => {
  expect(latencyWithin(noLatencies(), 0.95)).toBeNull();
});
