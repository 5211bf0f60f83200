/**
 * API keys tell by their last characters that they are keys; addresses are told apart by who holds them.
 */
import { describe, expect, test } from 'vitest';
import { API_KEY_PATTERN, KEY_PREFIXES } from '../../src/contract/scopes.ts';
import { addressNetwork } from '../../src/http/middleware/address-limits.ts';
import { createApiKey, hasChecksum } from '../../src/platform/api-key.ts';

describe('an API key', () => {
  test('has the form of every key, and a checksum', () => {
    for (const prefix of KEY_PREFIXES) {
      const keys = Array.from({ length: 50 }, () => createApiKey(prefix));
      for (const key of keys) expect([key, API_KEY_PATTERN.test(key), hasChecksum(key)]).toEqual([key, true, true]);
      expect(new Set(keys).size).toBe(50);
    }
  });

  test('has the same checksum in every release, so issued keys stay valid', () => {
    expect(hasChecksum('utk-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789_CM44PY')).toBe(true);
  });

  test('is invalid after any changed character, swapped characters, or a changed prefix', () => {
    const key = createApiKey('utk-');
    for (let at = 'utk-'.length; at < key.length; at += 1) {
      const other = key[at] === 'A' ? 'B' : 'A';
      expect(hasChecksum(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
    }
    for (let at = 'utk-'.length; at < key.length - 7; at += 1) {
      const swapped = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2);
      expect(hasChecksum(swapped)).toBe(swapped === key);
    }
    expect(hasChecksum(`gk-${key.slice(4)}`)).toBe(false);
  });
});

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:0001:0002:ffff::1', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::ffff:203.0.113.7', '::ffff:203.0.113.7'],
])('the address %s counts as %s', (address, network) => {
  expect(addressNetwork(address)).toBe(network);
});
