/**
 * Promise: SHA-256 in parts is that of the whole, however the bytes are cut and wherever the state was stored.
 */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { Sha256 } from '../../src/platform/sha256.ts';

const bytes = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 31 + (index >> 8)) & 255);
const whole = (part: Uint8Array) => createHash('sha256').update(part).digest('hex');

test('every length around the borders of blocks has the hash of the standard', () => {
  for (const length of [0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 1_000, 100_003]) {
    const hash = new Sha256();
    hash.update(bytes(length));
    expect(hash.digest(), String(length)).toBe(whole(bytes(length)));
  }
});

test('parts and a stored state change nothing', () => {
  const all = bytes(10_000);
  for (const size of [1, 63, 64, 65, 999]) {
    let hash = new Sha256();
    for (let at = 0; at < all.length; at += size) {
      hash.update(all.subarray(at, at + size));
      hash = Sha256.from(hash.state()) ?? new Sha256();
    }
    expect(hash.digest(), String(size)).toBe(whole(all));
  }
});

test('a text that is no state is not taken', () => {
  const { length } = new Sha256().state();
  for (const text of ['', 'x', '!', 'A'.repeat(length - 4), 'A'.repeat(length + 4), 'A'.repeat(400)])
    expect(Sha256.from(text)).toBeNull();
});
