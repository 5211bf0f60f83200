/**
 * The times of many requests in little memory: a count for each upper bound, from which the share of fast requests is
 * known to within a bound.
 */

/** Upper bounds in milliseconds; slower requests are in a last place of their own. */
export const LATENCY_BOUNDS_MS = [2, 5, 10, 15, 25, 50, 75, 100, 150, 250, 500, 1_000, 2_500, 5_000, 10_000] as const;

/** One count for each bound, and one for slower requests. */
export type LatencyCounts = number[];

export function noLatencies(): LatencyCounts {
  return new Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0);
}

export function countLatency(counts: LatencyCounts, tookMs: number): void {
  const found = LATENCY_BOUNDS_MS.findIndex((boundMs) => tookMs <= boundMs);
  const place = found === -1 ? LATENCY_BOUNDS_MS.length : found;
  counts[place] = (counts[place] ?? 0) + 1;
}

export function addLatencies(counts: LatencyCounts, more: LatencyCounts): LatencyCounts {
  return counts.map((count, place) => count + (more[place] ?? 0));
}

/**
 * The least bound within which this share of all requests was; `null` if there are none, or it is beyond the last
 * bound.
 */
export function latencyWithin(counts: LatencyCounts, share: number): number | null {
  const needed = share * counts.reduce((sum, count) => sum + count, 0);
  if (needed === 0) return null;
  let sum = 0;
  for (const [place, boundMs] of LATENCY_BOUNDS_MS.entries()) {
    sum += counts[place] ?? 0;
    if (sum >= needed) return boundMs;
  }
  return null;
}
