/**
 * Rewrites JSON as TOON in a fenced block, where that is lossless.
 *
 * The fence names the format for the model and protects the rows from every other technique and a second compression.
 * JSON stays unchanged where it has a duplicate member, a number that would not keep its spelling (`-0`, `1.0`, `1e5`,
 * beyond 2^53, more digits than a double has), members that JavaScript would reorder, or half a surrogate pair.
 */
import { decode, encode } from '@toon-format/toon';
import { respellStrings } from './json-text.ts';

const FENCE = '```';

/** The fenced TOON of a JSON text, or `null` where it would not be lossless. It is not always shorter. */
export function fencedToon(json: string): string | null {
  let safe = true;
  const value: unknown = JSON.parse(json, (_name, member: unknown) => {
    if (typeof member === 'number' && Math.abs(member) > Number.MAX_SAFE_INTEGER) safe = false;
    return member;
  });
  const spelled = JSON.stringify(value);
  // Duplicate members, reordered members and respelled numbers all differ here.
  if (!safe || spelled !== respellStrings(json)) return null;
  const toon = lossless(value, spelled);
  return toon === null || toon.includes(FENCE) ? null : `${FENCE}toon\n${toon}\n${FENCE}`;
}

/** The TOON of a value; `null` where the library rejects it, or cannot read its own output back. */
function lossless(value: unknown, spelled: string): string | null {
  try {
    const toon = encode(value);
    return JSON.stringify(decode(toon)) === spelled ? toon : null;
  } catch {
    return null;
  }
}
