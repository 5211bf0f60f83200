/**
 * A seeded random number generator (mulberry32).
 */
import { contentHash } from '../platform/content-hash.ts';

/** At least 0 and below 1. */
export type Random = () => number;

export function seededRandom(seed: string): Random {
  let state = Number.parseInt(contentHash(seed), 16);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One of several items, chosen by weight. */
export function weightedFrom<Item extends { weight: number }>(items: readonly Item[], random: Random): Item {
  let left = random() * items.reduce((sum, { weight }) => sum + weight, 0);
  const found = items.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
  const item = found ?? items.at(-1);
  if (!item) throw new Error('there must be something to choose from');
  return item;
}
