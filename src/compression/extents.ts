/**
 * Half-open ranges [start, end) of a text, in ordered lists. In a disjoint list no two ranges overlap.
 */
export interface Extent {
  start: number;
  end: number;
}

/** The first range of a disjoint list that ends after a position, by binary search. */
export function firstEndingAfter<E extends Extent>(extents: readonly E[], position: number): E | null {
  let low = 0;
  let high = extents.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((extents[middle]?.end ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return extents[low] ?? null;
}

/** The range of a disjoint list that contains a position. */
export function extentAround<E extends Extent>(extents: readonly E[], position: number): E | null {
  const extent = firstEndingAfter(extents, position);
  return extent && extent.start <= position ? extent : null;
}

/** Merges ranges in any order into a disjoint list; overlapping and adjacent ranges become one. */
export function union(extents: readonly Extent[]): Extent[] {
  const merged: Extent[] = [];
  for (const { start, end } of [...extents].sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
}

/** The matches of a global expression. */
export function findMatches(text: string, pattern: RegExp): Extent[] {
  return Array.from(text.matchAll(pattern), (match) => ({ start: match.index, end: match.index + match[0].length }));
}

/** The non-overlapping occurrences of a string, from the left. The empty string has none. */
export function findOccurrences(text: string, part: string): Extent[] {
  const found: Extent[] = [];
  if (part === '') return found;
  for (let start = text.indexOf(part); start >= 0; start = text.indexOf(part, start + part.length)) {
    found.push({ start, end: start + part.length });
  }
  return found;
}
