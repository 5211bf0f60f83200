/**
 * FNV-1a over a text's characters: short, synchronous, and not cryptographic. The same text has the same hash
 * everywhere and forever.
 */

/** From 0 to 2^32 - 1: selects the shard or projector of a name. */
export function stableHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** For names that change with the content. */
export function contentHash(text: string): string {
  return stableHash(text).toString(16).padStart(8, '0');
}
