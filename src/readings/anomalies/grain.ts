/**
 * A series at several resolutions: an anomaly of one hour is invisible in its day, and an anomaly of a day is too weak
 * in each of its hours.
 *
 * Quarters of a day and days follow UTC, so that an episode begins at the same moment in each reading. If a series
 * has less than two weeks of such days, its days end with the series instead.
 */

import { ANOMALY_DAYS_MIN } from '../../contract/readings.ts';
import { DAY_MS } from '../../platform/time.ts';
import { dayNumber, type Episode, NO_USAGE, type UsageBucket } from './episode.ts';

/**
 * The probability that a detector raises a false alarm on a series without anomalies, over all its buckets, at each
 * resolution.
 */
export const FALSE_ALARM_CHANCE = 0.02;

/** Bucket sizes by resolution: hours are also read as quarters of a day and as days. */
const GRAINS: Record<number, readonly number[]> = { 24: [1, 6, 24], 1: [1] };

export interface Grain {
  buckets: readonly UsageBucket[];
  perDay: number;
}

/** The resolutions at which a series has enough whole days, the finest first. */
export function buildGrains(buckets: readonly UsageBucket[], perDay: number): Grain[] {
  const sizes = GRAINS[perDay] ?? [1];
  return sizes
    .map((size) => ({ buckets: size === 1 ? [...buckets] : joined(buckets, perDay, size), perDay: perDay / size }))
    .filter((grain) => grain.buckets.length >= ANOMALY_DAYS_MIN * grain.perDay);
}

/** The series by the day. Empty if it has too few whole days. */
export function dailyGrain(grains: readonly Grain[]): readonly UsageBucket[] {
  return grains.find((grain) => grain.perDay === 1)?.buckets ?? [];
}

function joined(buckets: readonly UsageBucket[], perDay: number, size: number): UsageBucket[] {
  const result: UsageBucket[] = [];
  const midnight = Math.max(
    0,
    buckets.findIndex(({ startMs }) => startMs % DAY_MS === 0),
  );
  const isEnough = buckets.length - midnight >= ANOMALY_DAYS_MIN * perDay;
  const start = isEnough ? midnight : buckets.length % perDay;
  const end = buckets.length - ((buckets.length - start) % perDay);
  for (let first = start; first < end; first += size) {
    const { startMs } = buckets[first] as UsageBucket;
    // Models and features are read only from the finest buckets.
    const total = { ...NO_USAGE, startMs, endMs: startMs };
    for (let at = first; at < first + size; at += 1) {
      const bucket = buckets[at] as UsageBucket;
      total.endMs = bucket.endMs;
      total.spend += bucket.spend;
      total.calls += bucket.calls;
      total.failedCalls += bucket.failedCalls;
      total.deniedCalls += bucket.deniedCalls;
      total.inputTokens += bucket.inputTokens;
      total.cachedInputTokens += bucket.cachedInputTokens;
    }
    result.push(total);
  }
  return result;
}

/** The runs of consecutive marked positions, `[start, end)`; a single unmarked position does not end a run. */
export function runs(marked: readonly boolean[]): [number, number][] {
  const result: [number, number][] = [];
  for (let at = 0; at < marked.length; at += 1) {
    if (!marked[at]) continue;
    const last = result[result.length - 1];
    if (last && at - last[1] <= 1) last[1] = at + 1;
    else result.push([at, at + 1]);
  }
  return result;
}

/** The same runs, with those that begin on one UTC day joined. */
export function oneADay(
  found: readonly [number, number][],
  buckets: readonly { startMs: number }[],
): [number, number][] {
  const result: [number, number][] = [];
  const dayAt = (at: number) => dayNumber(buckets[at]?.startMs ?? 0);
  for (const [start, end] of found) {
    const last = result[result.length - 1];
    if (last && dayAt(last[0]) === dayAt(start)) last[1] = end;
    else result.push([start, end]);
  }
  return result;
}

/** The episodes of a coarser resolution that neither overlap an earlier result nor begin on its day. */
export function unlessFoundBefore(found: readonly Episode[], coarser: readonly Episode[]): Episode[] {
  return coarser.filter((episode) => !isTaken(found, episode));
}

/** Whether a period overlaps a found episode, or begins on the same UTC day. */
export function isTaken(found: readonly Episode[], { startMs, endMs }: { startMs: number; endMs: number }): boolean {
  return found.some(
    (finer) => (finer.startMs < endMs && startMs < finer.endMs) || dayNumber(finer.startMs) === dayNumber(startMs),
  );
}
