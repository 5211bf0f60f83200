/**
 * The holds of batches add up: a request's own hold does not count against it, an expired hold does not count, and a
 * recorded line is not held any more.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { metadataFull, taggedBody } from '../../src/gateway/batches/creation.ts';
import {
  type Holds,
  heldByOthers,
  lastExpiry,
  replaced,
  standing,
  unrecorded,
} from '../../src/gateway/batches/holds.ts';

const lines = fc.record({ standard: fc.nat(100), premium: fc.nat(100) }, { requiredKeys: [] });
const holds: fc.Arbitrary<Holds> = fc.dictionary(
  fc.constantFrom('a', 'b', 'c', 'd', '__proto__x'),
  fc.record({ lines, expiresAtMs: fc.integer({ min: 1, max: 20 }) }),
);
const total = (all: Holds) => Object.values(all).reduce((sum, hold) => sum + (hold.lines.premium ?? 0), 0);

describe('holds', () => {
  test('others hold everything except the own hold', () => {
    fc.assert(
      fc.property(holds, fc.constantFrom('a', 'x'), (all, own) => {
        expect(heldByOthers(all, own, 'premium') + (all[own]?.lines.premium ?? 0)).toBe(total(all));
      }),
    );
  });

  test('a request has one hold, however often it is set, and none after it is removed', () => {
    fc.assert(
      fc.property(holds, lines, (all, wanted) => {
        const hold = { lines: wanted, expiresAtMs: 9 };
        const once = replaced(all, 'a', hold);
        expect(replaced(once, 'a', hold)).toEqual(once);
        expect(total(once)).toBe(heldByOthers(all, 'a', 'premium') + (wanted.premium ?? 0));
        expect(total(replaced(once, 'a', null))).toBe(heldByOthers(all, 'a', 'premium'));
      }),
    );
  });

  test('every hold has expired at the latest deadline, and one has not a moment before', () => {
    fc.assert(
      fc.property(holds, (all) => {
        const atMs = lastExpiry(all);
        expect(atMs === null).toBe(Object.keys(all).length === 0);
        expect(standing(all, atMs ?? 0)).toEqual({});
        expect(Object.keys(standing(all, (atMs ?? 0) - 1)).length > 0).toBe(atMs !== null);
      }),
    );
  });

  test('a line is either held or recorded, and a hold is never negative', () => {
    fc.assert(
      fc.property(lines, lines, (held, recorded) => {
        for (const tier of ['standard', 'premium'] as const) {
          const [was, done] = [held[tier] ?? 0, recorded[tier] ?? 0];
          expect(unrecorded(held, recorded)[tier]).toBe(done >= was ? 0 : was - done);
        }
      }),
    );
  });
});

test('searches stay held until the batch is over, because nobody knows which recorded lines could search', () => {
  const held = { premium: 3, search: 2 };
  expect(unrecorded(held, { premium: 3 })).toEqual({ standard: 0, premium: 0, search: 2 });
  expect(heldByOthers({ a: { lines: held, expiresAtMs: 9 } }, 'b', 'search')).toBe(2);
});

describe("a request's name in its metadata", () => {
  test("is added to the caller's entries and replaces one of the same name", () => {
    expect(taggedBody({ x: 1 }, 'n')).toEqual({ x: 1, metadata: { service_request_id: 'n' } });
    expect(taggedBody({ metadata: null }, 'n')).toEqual({ metadata: { service_request_id: 'n' } });
    expect(taggedBody({ metadata: { a: 'b', service_request_id: 'forged' } }, 'n')).toEqual({
      metadata: { a: 'b', service_request_id: 'n' },
    });
  });

  test('needs room, and metadata of another form is left to the vendor', () => {
    const entries = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
    expect(Object.keys(taggedBody({ metadata: entries(15) }, 'n')?.metadata as object)).toHaveLength(16);
    expect(taggedBody({ metadata: entries(16) }, 'n')).toBeNull();
    expect(metadataFull().status).toBe(400);
    for (const metadata of ['x', 7, ['a']]) expect(taggedBody({ metadata }, 'n')).toEqual({ metadata });
  });
});
