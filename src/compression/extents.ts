/**
 * Stretches of a text, from `start` up to, not including, `end`, in lists that are in order.
 *
 * "Disjoint" says that no two of a list overlap.
 */
export interface Extent {
  start: number;
  end: number;
}

/** The first of a disjoint list that ends after a position. Halves the list at each step. */
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

/** The one of a disjoint list that holds a position. */
export function extentAround<E extends Extent>(extents: readonly E[], position: number): E | null {
  const extent = firstEndingAfter(extents, position);
  return extent && extent.start <= position ? extent : null;
}

/** All of these in any order, as a disjoint list: those that overlap or touch become one. */
export function union(extents: readonly Extent[]): Extent[] {
  const merged: Extent[] = [];
  for (const { start, end } of [...extents].sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
}

/** Where a global expression matches. */
export function matchesOf(text: string, pattern: RegExp): Extent[] {
  return Array.from(text.matchAll(pattern), (match) => ({ start: match.index, end: match.index + match[0].length }));
}

/** Where a string occurs, read from the left, no two overlapping. The empty string occurs nowhere. */
export function occurrencesOf(text: string, part: string): Extent[] {
  const found: Extent[] = [];
  if (part === '') return found;
  for (let start = text.indexOf(part); start >= 0; start = text.indexOf(part, start + part.length)) {
    found.push({ start, end: start + part.length });
  }
  return found;
}
