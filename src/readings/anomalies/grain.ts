/**
 * A series at several resolutions: an anomaly of one hour is invisible in its day, and one of a day too weak in each of
 * its hours.
 */
import type { Episode, UsageBucket } from './episode.ts';

/**
 * The probability that a detector raises a false alarm on a series without anomalies, over all its buckets, at each
 * resolution.
 */
export const FALSE_ALARM_CHANCE = 0.02;

/** Bucket sizes by resolution: hours are also read as quarters of a day and as days. */
const GRAINS: Record<number, readonly number[]> = { 24: [1, 6, 24], 1: [1] };

export interface Grain {
  buckets: UsageBucket[];
  perDay: number;
}

export function grainsOf(buckets: readonly UsageBucket[], perDay: number): Grain[] {
  return (GRAINS[perDay] ?? [1]).map((size) => ({ buckets: joined(buckets, size), perDay: perDay / size }));
}

function joined(buckets: readonly UsageBucket[], size: number): UsageBucket[] {
  const result: UsageBucket[] = [];
  for (let at = 0; at + size <= buckets.length; at += size) {
    const first = buckets[at] as UsageBucket;
    const total = { startMs: first.startMs, endMs: first.endMs, spend: 0, calls: 0, failedCalls: 0, models: {} };
    for (const bucket of buckets.slice(at, at + size)) {
      total.endMs = bucket.endMs;
      total.spend += bucket.spend;
      total.calls += bucket.calls;
      total.failedCalls += bucket.failedCalls;
    }
    result.push(total);
  }
  return result;
}

/** The runs of consecutive marked places, `[start, end)`; a single unmarked place does not end a run. */
export function runs(marked: readonly boolean[], start = 0, end = marked.length): [number, number][] {
  const result: [number, number][] = [];
  for (let at = start; at < end; at += 1) {
    if (!marked[at]) continue;
    const last = result[result.length - 1];
    if (last && at - last[1] <= 1) last[1] = at + 1;
    else result.push([at, at + 1]);
  }
  return result;
}

/** The episodes of a coarser resolution that do not overlap with one already found. */
export function unlessFoundBefore(found: readonly Episode[], coarser: readonly Episode[]): Episode[] {
  return coarser.filter(
    (episode) => !found.some((finer) => finer.startMs < episode.endMs && episode.startMs < finer.endMs),
  );
}
