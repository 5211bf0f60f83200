/**
 * A private IPv4 address is refused in every notation of a URL and inside of every IPv6 address that contains it; a
 * public one is allowed in every notation.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkVendorUrl } from '../../src/vendors/address.ts';
import { CHARACTER, WEB_ADDRESS } from '../support/characters.ts';

type Address = readonly [number, number, number, number];
const byte = fc.nat({ max: 255 });

const refused: fc.Arbitrary<Address> = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, 127), byte, byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(198), fc.integer({ min: 18, max: 19 }), byte, byte),
  fc.tuple(fc.integer({ min: 224, max: 255 }), byte, byte, byte),
);
/** First bytes without special addresses. */
const open: fc.Arbitrary<Address> = fc.tuple(fc.constantFrom(1, 8, 13, 52, 104, 140, 151, 199, 223), byte, byte, byte);

/** One number, written in a base that the URL parser knows. */
const base = fc.constantFrom(
  (value: number) => String(value),
  (value: number) => `0x${value.toString(16)}`,
  (value: number) => `0X${value.toString(16).toUpperCase()}`,
  (value: number) => (value === 0 ? '00' : `0${value.toString(8)}`),
  (value: number) => `0x000${value.toString(16)}`,
);
/** In one to four parts: the last part holds the rest of the address. */
const notation = fc.tuple(fc.integer({ min: 1, max: 4 }), base, base, base, base);
const disguise = fc.constantFrom(
  (text: string) => text,
  (text: string) => `${text}.`,
  (text: string) => text.replaceAll('.', '。'),
  (text: string) => text.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  (text: string) => text.replace(/\d/g, (digit) => `%3${digit}`),
);

function write([a, b, c, d]: Address, [parts, ...bases]: readonly [number, ...((value: number) => string)[]]): string {
  const bytes = [a, b, c, d];
  const last = bytes.slice(parts - 1).reduce((sum, value) => sum * 256 + value, 0);
  return [...bytes.slice(0, parts - 1), last].map((value, index) => bases[index]?.(value)).join('.');
}

test('private addresses are refused in every notation', () => {
  fc.assert(
    fc.property(refused, notation, disguise, fc.constantFrom('', ':8443'), (address, how, hide, port) => {
      expect(checkVendorUrl(`https://${hide(write(address, how))}${port}/v1`, []).ok).toBe(false);
    }),
    { numRuns: 3_000 },
  );
});

test('public addresses are allowed in every notation', () => {
  fc.assert(
    fc.property(open, notation, disguise, (address, how, hide) => {
      const checked = checkVendorUrl(`https://${hide(write(address, how))}/v1`, []);
      expect(checked.ok && checked.url.hostname).toBe(address.join('.'));
    }),
    { numRuns: 1_000 },
  );
});

test('addresses inside IPv6 are refused: mapped, compatible, translated, NAT64, 6to4', () => {
  const hex = (high: number, low: number) => (high * 256 + low).toString(16);
  const carriers = fc.constantFrom(
    (dotted: string) => `[::ffff:${dotted}]`,
    (dotted: string) => `[::${dotted}]`,
    (dotted: string) => `[::ffff:0:${dotted}]`,
    (dotted: string) => `[64:ff9b::${dotted}]`,
    (dotted: string) => `[64:ff9b:1::${dotted}]`,
    (dotted: string) => {
      const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
      return `[2002:${hex(a, b)}:${hex(c, d)}::1]`;
    },
  );
  fc.assert(
    fc.property(refused, carriers, (address, carry) => {
      expect(checkVendorUrl(`https://${carry(address.join('.'))}/v1`, []).ok).toBe(false);
    }),
    { numRuns: 1_000 },
  );
});

test('no input makes the check throw, and everything it allows is https', () => {
  const near = fc
    .tuple(fc.constantFrom('https://', 'http://', 'HTTPS:', '//', ''), fc.string({ unit: CHARACTER }))
    .map(([scheme, rest]) => scheme + rest);
  fc.assert(
    fc.property(fc.oneof(near, WEB_ADDRESS), (url) => {
      const checked = checkVendorUrl(url, []);
      if (checked.ok) expect(checked.url.protocol).toBe('https:');
    }),
    { numRuns: 2_000 },
  );
});
