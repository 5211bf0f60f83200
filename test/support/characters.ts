/**
 * Any character of Unicode, as the unit of fast-check's strings, and web addresses with any of them.
 * `fc.string({ unit: CHARACTER })` makes the same strings as fast-check's own unit `binary`. That one, and `fc.webUrl`,
 * which uses it, build a table of all 1.1 million characters, which takes more than a second in each process.
 */
import fc from 'fast-check';

/** The first half of a surrogate pair, which is no character, and how many halves there are. */
const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;
const LAST = 0x10ffff;

export const CHARACTER: fc.Arbitrary<string> = fc
  .nat(LAST - SURROGATES)
  .map((place) => String.fromCodePoint(place < SURROGATES_FROM ? place : place + SURROGATES), sortRank);

/** fast-check asks with any value which number it was made of. */
function sortRank(value: unknown): number {
  const [character, ...others] = typeof value === 'string' ? value : [];
  const code = character?.codePointAt(0);
  if (code === undefined || others.length > 0 || !character?.isWellFormed()) throw new Error('no character');
  return code < SURROGATES_FROM ? code : code - SURROGATES;
}

/** A character of a path as it is, or as its bytes. */
const pathCharacter = fc.oneof(fc.constantFrom(..."aZ09-._~!$&'()*+,;=:@"), CHARACTER.map(encodeURIComponent));

export const WEB_ADDRESS: fc.Arbitrary<string> = fc
  .record({
    scheme: fc.constantFrom('http', 'https'),
    host: fc.domain(),
    path: fc.array(fc.string({ unit: pathCharacter, maxLength: 8 }), { maxLength: 5 }),
  })
  .map(({ scheme, host, path }) => `${scheme}://${[host, ...path].join('/')}`);
