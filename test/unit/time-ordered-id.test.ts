/**
 * Promise: ids are UUIDs of version 7, sort by the time at which they were made, and are unique within it.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { timeOrderedId } from '../../src/platform/time-ordered-id.ts';

/** The range of 48 bits of milliseconds. */
const times = fc.integer({ min: 0, max: 2 ** 48 - 1 });

test('an id is a UUID of version 7 that contains its time', () => {
  fc.assert(
    fc.property(times, (atMs) => {
      const id = timeOrderedId(atMs);
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(Number.parseInt(id.slice(0, 13).replace('-', ''), 16)).toBe(atMs);
    }),
  );
});

test('ids sort by their times', () => {
  fc.assert(
    fc.property(times, times, (a, b) => {
      if (a < b) expect(timeOrderedId(a) < timeOrderedId(b)).toBe(true);
    }),
  );
});

test('ids of the same millisecond differ', () => {
  expect(new Set(Array.from({ length: 1_000 }, () => timeOrderedId(1_795_000_000_000))).size).toBe(1_000);
});
