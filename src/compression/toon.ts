/**
 * JSON as TOON, in a fence that says so, and only where nothing is lost on the way.
 *
 * The fence tells the model what it reads, and keeps every other technique, and a second compression, off the rows.
 * Left alone is JSON with a member named twice, with a number that does not come back as it was written (`-0`, `1.0`,
 * `1e5`, beyond 2^53, more digits than a double has), with members that JavaScript would reorder, or with half a
 * surrogate pair.
 */
import { decode, encode } from '@toon-format/toon';
import { respellStrings } from './json-text.ts';

const FENCE = '```';

/** The fenced TOON of a JSON text, or `null` where TOON cannot carry it unharmed. It is not always shorter. */
export function fencedToon(json: string): string | null {
  let safe = true;
  const value: unknown = JSON.parse(json, (_name, member: unknown) => {
    if (typeof member === 'number' && Math.abs(member) > Number.MAX_SAFE_INTEGER) safe = false;
    return member;
  });
  const spelled = JSON.stringify(value);
  // Members named twice, moved members and numbers that would change their spelling all differ here.
  if (!safe || spelled !== respellStrings(json)) return null;
  const toon = lossless(value, spelled);
  return toon === null || toon.includes(FENCE) ? null : `${FENCE}toon\n${toon}\n${FENCE}`;
}

/** The TOON of a value; `null` where the library refuses it, or does not read back what it wrote. */
function lossless(value: unknown, spelled: string): string | null {
  try {
    const toon = encode(value);
    return JSON.stringify(decode(toon)) === spelled ? toon : null;
  } catch {
    return null;
  }
}
