/**
 * The count of a rolling window beside a slow, exact count of every begin: it lets no more calls through, and at most the
 * calls of a sixtieth of the window fewer.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addBegun,
  type BegunCalls,
  EXACT_CALLS_MAX,
  partMs,
  readWindow,
  removeBegun,
} from '../../src/domain/rolling-window.ts';

const START = Date.UTC(2026, 0, 1);
const windows = fc.constantFrom(1, 4, 60, 3_600, 86_400);
/** Times between begins, as parts of the window in millionths: bursts, and all that a window can be filled with. */
const waits = fc.array(fc.oneof(fc.constant(0), fc.nat(3_000), fc.nat(30_000), fc.nat(400_000)), {
  minLength: 1,
  maxLength: 600,
});

/** The calls that began in (nowMs - windowMs, nowMs]. */
const exactCount = (begun: readonly number[], windowMs: number, nowMs: number) =>
  begun.filter((atMs) => atMs > nowMs - windowMs).length;

function forEachBegin(
  windowSeconds: number,
  steps: readonly number[],
  see: (seen: { counted: BegunCalls; begun: readonly number[]; nowMs: number }) => void,
): void {
  let counted: BegunCalls = { windowSeconds, parts: [] };
  const begun: number[] = [];
  let nowMs = START;
  for (const step of steps) {
    nowMs += Math.floor((step * windowSeconds) / 1_000);
    counted = addBegun(counted, nowMs);
    begun.push(nowMs);
    see({ counted, begun, nowMs });
  }
}

test('no call leaves the window early, and none stays longer than a part of it', () => {
  fc.assert(
    fc.property(windows, waits, (windowSeconds, steps) => {
      const windowMs = windowSeconds * 1_000;
      forEachBegin(windowSeconds, steps, ({ counted, begun, nowMs }) => {
        for (const atMs of [nowMs, nowMs + Math.floor(windowMs / 7), nowMs + windowMs - 1]) {
          const { used } = readWindow(counted, atMs);
          expect(used).toBeGreaterThanOrEqual(exactCount(begun, windowMs, atMs));
          expect(used).toBeLessThanOrEqual(exactCount(begun, windowMs + partMs(windowSeconds), atMs));
        }
        expect(counted.parts.length).toBeLessThanOrEqual(EXACT_CALLS_MAX);
      });
    }),
    { numRuns: 50 },
  );
});

test('up to 128 calls in the window are counted exactly', () => {
  fc.assert(
    fc.property(
      windows,
      fc.array(fc.nat(400_000), { minLength: 1, maxLength: EXACT_CALLS_MAX }),
      (windowSeconds, steps) => {
        forEachBegin(windowSeconds, steps, ({ counted, begun, nowMs }) => {
          expect(readWindow(counted, nowMs).used).toBe(exactCount(begun, windowSeconds * 1_000, nowMs));
        });
      },
    ),
  );
});

test('it resets when the next calls leave it, and not before', () => {
  fc.assert(
    fc.property(windows, waits, (windowSeconds, steps) => {
      forEachBegin(windowSeconds, steps.slice(0, 200), ({ counted, nowMs }) => {
        const { used, resetsAtMs } = readWindow(counted, nowMs);
        expect(readWindow(counted, resetsAtMs - 1).used).toBe(used);
        expect(readWindow(counted, resetsAtMs).used).toBeLessThan(used);
      });
    }),
    { numRuns: 50 },
  );
});

test('a call that is taken back counts no longer, and every other one does', () => {
  fc.assert(
    fc.property(windows, waits, fc.nat(), (windowSeconds, steps, which) => {
      let last: { counted: BegunCalls; begun: readonly number[]; nowMs: number } | undefined;
      forEachBegin(windowSeconds, steps, (seen) => {
        last = seen;
      });
      if (!last) return;
      const { counted, begun, nowMs } = last;
      const kept = begun.filter((atMs) => atMs > nowMs - windowSeconds * 1_000);
      const startedAtMs = kept[which % kept.length] ?? nowMs;
      expect(readWindow(removeBegun(counted, startedAtMs), nowMs).used).toBe(readWindow(counted, nowMs).used - 1);
    }),
    { numRuns: 50 },
  );
});
