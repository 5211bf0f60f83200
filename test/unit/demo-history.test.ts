/**
 * Promise: the demo's history is the same for the same end, lies before it, and has everything that a newcomer should
 * see.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { simulateEvents } from '../../src/demo/events.ts';
import { DEMO_CUSTOMERS } from '../../src/demo/people.ts';
import { swept } from '../support/sweep.ts';

const DAY_MS = 86_400_000;
const untilMs = fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2030-01-01') });
const customer = fc.constantFrom(...DEMO_CUSTOMERS);

describe('the history of any customer, up to any instant,', () => {
  test('is the same each time, in order, and ends before that instant', () => {
    fc.assert(
      fc.property(customer, untilMs, (one, end) => {
        const events = simulateEvents(one, end);
        expect(simulateEvents(one, end)).toEqual(events);
        const times = events.map(({ atMs }) => atMs);
        expect(times).toEqual(times.toSorted((first, second) => first - second));
        expect(Math.min(...times)).toBeGreaterThanOrEqual(end - (one.cameDaysAgo + 1) * DAY_MS);
        expect(Math.max(...times)).toBeLessThan(end);
      }),
      { numRuns: swept(30, 10) },
    );
  });

  test('has no call twice, and no call with more cached than input tokens', () => {
    fc.assert(
      fc.property(customer, untilMs, (one, end) => {
        const calls = simulateEvents(one, end).filter((event) => event.kind === 'call');
        expect(new Set(calls.map(({ hash }) => hash)).size).toBe(calls.length);
        for (const { hash, usage, endsAtMs, atMs, originalTokens } of calls) {
          expect(hash).toMatch(/^[0-9a-f]{32}$/);
          expect(usage.cachedInputTokens).toBeLessThanOrEqual(usage.inputTokens);
          expect(usage.reasoningTokens).toBeLessThanOrEqual(usage.responseTokens);
          expect(endsAtMs).toBeGreaterThan(atMs);
          if (originalTokens !== null) expect(originalTokens).toBeGreaterThan(usage.inputTokens);
        }
      }),
      { numRuns: swept(30, 10) },
    );
  });
});

test('the day of a spike is higher than its neighbours', () => {
  const end = Date.parse('2026-11-20T12:00:00Z');
  for (const one of DEMO_CUSTOMERS.filter(({ spike }) => spike)) {
    const daysAgo = one.spike?.daysAgo ?? 0;
    const startMs = end - (end % DAY_MS) - daysAgo * DAY_MS;
    const calls = simulateEvents(one, end).filter(
      ({ kind, atMs }) => kind === 'call' && atMs >= startMs - 7 * DAY_MS && atMs < startMs + DAY_MS,
    );
    const onTheDay = calls.filter(({ atMs }) => atMs >= startMs).length;
    expect(onTheDay).toBeGreaterThan((2 * (calls.length - onTheDay)) / 7);
  }
});
