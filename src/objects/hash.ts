/**
 * A number that is the same for the same text, everywhere and for good: which shard or projector a name belongs to.
 */

/** FNV-1a over the text's characters; from 0 to 2^32 - 1. */
export function stableHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
