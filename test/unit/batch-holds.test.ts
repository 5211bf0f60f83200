/**
 * What batches hold adds up: nobody's own hold counts against it, one that is over does not count, and what was
 * recorded is no longer held.
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
  test('what others hold is all that is held, less the own', () => {
    fc.assert(
      fc.property(holds, fc.constantFrom('a', 'x'), (all, own) => {
        expect(heldByOthers(all, own, 'premium') + (all[own]?.lines.premium ?? 0)).toBe(total(all));
      }),
    );
  });

  test('a request holds once, however often it is put; taken away, nothing of it is left', () => {
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

  test('at the last expiry none stands, and a moment before one does', () => {
    fc.assert(
      fc.property(holds, (all) => {
        const atMs = lastExpiry(all);
        expect(atMs === null).toBe(Object.keys(all).length === 0);
        expect(standing(all, atMs ?? 0)).toEqual({});
        expect(Object.keys(standing(all, (atMs ?? 0) - 1)).length > 0).toBe(atMs !== null);
      }),
    );
  });

  test('a line is held or recorded, and never held below nothing', () => {
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

test('searches are held until the batch is over: which lines could search is not known when they are recorded', () => {
  const held = { premium: 3, search: 2 };
  expect(unrecorded(held, { premium: 3 })).toEqual({ standard: 0, premium: 0, search: 2 });
  expect(heldByOthers({ a: { lines: held, expiresAtMs: 9 } }, 'b', 'search')).toBe(2);
});

describe("a request's name in its metadata", () => {
  test("stands beside the caller's entries, and above one of the same name", () => {
    expect(taggedBody({ x: 1 }, 'n')).toEqual({ x: 1, metadata: { service_request_id: 'n' } });
    expect(taggedBody({ metadata: null }, 'n')).toEqual({ metadata: { service_request_id: 'n' } });
    expect(taggedBody({ metadata: { a: 'b', service_request_id: 'forged' } }, 'n')).toEqual({
      metadata: { a: 'b', service_request_id: 'n' },
    });
  });

  test('needs room; what is no metadata is left to the vendor', () => {
    const entries = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
    expect(Object.keys(taggedBody({ metadata: entries(15) }, 'n')?.metadata as object)).toHaveLength(16);
    expect(taggedBody({ metadata: entries(16) }, 'n')).toBeNull();
    expect(metadataFull().status).toBe(400);
    for (const metadata of ['x', 7, ['a']]) expect(taggedBody({ metadata }, 'n')).toEqual({ metadata });
  });
});
