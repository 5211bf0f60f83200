/**
 * Rewrites JSON as TOON in a fenced block, if that is lossless: the library's own reader returns the same value, which
 * property tests show for every accepted value.
 *
 * The fence names the format for the model and protects the rows from every other technique and a second compression.
 * JSON stays unchanged if it has a duplicate member, a number that would not keep its spelling (`-0`, `1.0`, `1e5`,
 * beyond 2^53, more digits than a double has), members that JavaScript would reorder, or half a surrogate pair.
 */
import { encode } from '@toon-format/toon';
import { respellStrings } from './json-text.ts';

const FENCE = '```';

/** The fenced TOON of a JSON text, or `null` if it would not be lossless. It is not always shorter. */
export function fencedToon(json: string): string | null {
  let safe = true;
  const value: unknown = JSON.parse(json, (name, member: unknown) => {
    if (typeof member === 'number' && Math.abs(member) > Number.MAX_SAFE_INTEGER) safe = false;
    if (!name.isWellFormed() || (typeof member === 'string' && !member.isWellFormed())) safe = false;
    return member;
  });
  // Duplicate members, reordered members and respelled numbers all differ here.
  if (!safe || JSON.stringify(value) !== respellStrings(json)) return null;
  const toon = encode(value);
  return toon.includes(FENCE) ? null : `${FENCE}toon\n${toon}\n${FENCE}`;
}
