/**
 * Any character of Unicode, as the unit of fast-check's strings: `fc.string({ unit: CHARACTER })` makes the same strings
 * as its own unit `binary`. That one builds a table of all 1.1 million characters, more than a second in each process.
 */
import fc from 'fast-check';

/** The first half of a surrogate pair, which is no character, and how many halves there are. */
const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;
const LAST = 0x10ffff;

export const CHARACTER: fc.Arbitrary<string> = fc
  .nat(LAST - SURROGATES)
  .map((place) => String.fromCodePoint(place < SURROGATES_FROM ? place : place + SURROGATES), placeOf);

/** fast-check asks with any value which number it was made of. */
function placeOf(value: unknown): number {
  const [character, ...others] = typeof value === 'string' ? value : [];
  const code = character?.codePointAt(0);
  if (code === undefined || others.length > 0 || !character?.isWellFormed()) throw new Error('no character');
  return code < SURROGATES_FROM ? code : code - SURROGATES;
}
