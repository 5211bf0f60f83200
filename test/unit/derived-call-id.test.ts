/**
 * Promise: an id without a key of the caller's names the customer's object and tells when the call began, in at most 80
 * characters that need no escaping in an address; the ids of earlier releases still do.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asCallId } from '../../src/domain/ids.ts';
import { keyCallId, readDerivedCallId, requestCallId } from '../../src/objects/derived-call-id.ts';
import { timeOrderedId } from '../../src/platform/time-ordered-id.ts';

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((array) => array.toHex());
const objectIds = hex(32);
const hashes = hex(16);
const times = fc.integer({ min: 0, max: 8_640_000_000_000_000 });
const isPlain = /^dk-[A-Za-z0-9_.-]+$/;

test('of a request: 69 characters with its object and its time', () => {
  fc.assert(
    fc.property(objectIds, fc.integer({ min: 0, max: 2 ** 48 - 1 }), (objectId, madeAtMs) => {
      const id = requestCallId(objectId, timeOrderedId(madeAtMs));
      expect(id).toMatch(isPlain);
      expect(id).toHaveLength(69);
      expect(readDerivedCallId(id)).toEqual({ objectId, madeAtMs, isOfPayload: false });
    }),
  );
});

test.each([
  { of: 'a hash of the request', prefix: '', isOfPayload: true },
  { of: "a session's key", prefix: 's', isOfPayload: false },
])('of $of: its object and its time', ({ prefix, isOfPayload }) => {
  fc.assert(
    fc.property(objectIds, hashes, times, (objectId, hash, madeAtMs) => {
      const id = keyCallId(objectId, prefix + hash, madeAtMs);
      expect(id).toMatch(isPlain);
      expect(id.length).toBeLessThanOrEqual(82);
      expect(readDerivedCallId(id)).toEqual({ objectId, madeAtMs, isOfPayload });
    }),
  );
});

test('different parts make different ids', () => {
  const parts = fc.record({
    objectId: objectIds,
    key: fc.oneof(
      hashes,
      hashes.map((hash) => `s${hash}`),
    ),
    at: times,
  });
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      fc.pre(JSON.stringify(one) !== JSON.stringify(other));
      expect(keyCallId(one.objectId, one.key, one.at)).not.toBe(keyCallId(other.objectId, other.key, other.at));
    }),
  );
});

test('of a batch without a time: its object', () => {
  const id = requestCallId('5f'.repeat(32), `key-${'ab'.repeat(32)}-premium-plan`);
  expect(readDerivedCallId(id)).toEqual({ objectId: '5f'.repeat(32), madeAtMs: null, isOfPayload: false });
});

describe('an id of an earlier release is read:', () => {
  const object = '5f'.repeat(32);
  test.each([
    [`dk-${object}-0195d2f0-c3a2-7c1e-9f6b-5d0c7f1a2b3e`, { madeAtMs: 0x0195d2f0c3a2, isOfPayload: false }],
    [`dk-${object}-${'0c'.repeat(16)}-mh2zk4s0`, { madeAtMs: Number.parseInt('mh2zk4s0', 36), isOfPayload: true }],
    [`dk-${object}-s${'0c'.repeat(16)}-mh2zk4s0`, { madeAtMs: Number.parseInt('mh2zk4s0', 36), isOfPayload: false }],
    [`dk-${object}-once-0195d2f0-premium-plan`, { madeAtMs: null, isOfPayload: false }],
  ])('%s', (id, expected) => {
    expect(readDerivedCallId(asCallId(id))).toEqual({ objectId: object, ...expected });
  });
});

test.each([
  '',
  'dk-',
  'dk-mine',
  `dk-${'A'.repeat(43)}`,
  `dk-${'A'.repeat(42)}.abc`,
  `dk-${'g'.repeat(64)}-x`,
  'order-1',
])('no other id is read: %s', (id) => {
  expect(readDerivedCallId(asCallId(id))).toBeNull();
});
