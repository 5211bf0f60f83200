/**
 * Spend spikes: periods in which far more was spent than the level, the weekday and the hour predict.
 *
 * A bucket is a spike if its score exceeds what 1 of 50 usual series of this length reaches, and it is at least 75
 * percent larger than expected. Neighbours with raised scores belong to the episode.
 */

import { rounded, sum } from '../statistics.ts';
import { seasonalExpectation } from './baseline.ts';
import { relativeNoise, scoreFor, scoreLimit } from './dispersion.ts';
import type { Episode, Severity, UsageBucket } from './episode.ts';
import { FALSE_ALARM_CHANCE, type Grain, grainsOf, runs, unlessFoundBefore } from './grain.ts';

const RATIO_MIN = 1.75;
/** A neighbour of a spike belongs to the episode from this share of the limit on. */
const NEIGHBOUR_SHARE = 0.5;
const SEVERE_RATIOS = { MEDIUM: 2.5, HIGH: 5 } as const;
/** The smallest expectation used for ratios, in units of spend: a ratio to zero has no meaning. */
const EXPECTED_UNITS_MIN = 1;

/** Finds spend spikes. Days inside the episodes in `silent` do not count as usual. */
export function spendSpikes(buckets: readonly UsageBucket[], perDay: number, silent: readonly Episode[]): Episode[] {
  const calls = sum(buckets.map((bucket) => bucket.calls));
  const spend = sum(buckets.map((bucket) => bucket.spend));
  if (calls === 0 || spend <= 0) return [];
  const unit = spend / calls;
  const skipped: boolean[] = [];
  for (let at = 0; at < buckets.length; at += perDay) {
    const dayMs = (buckets[at] as UsageBucket).startMs;
    skipped.push(silent.some(({ startMs, endMs }) => startMs <= dayMs && dayMs < endMs));
  }
  const found: Episode[] = [];
  for (const grain of grainsOf(buckets, perDay))
    found.push(...unlessFoundBefore(found, spikesAt(grain, unit, skipped)));
  return found;
}

function spikesAt({ buckets, perDay }: Grain, unit: number, skipped: readonly boolean[]): Episode[] {
  const observed = buckets.map((bucket) => bucket.spend);
  const expected = seasonalExpectation(observed, perDay, skipped);
  const noise = relativeNoise(observed, expected, unit);
  const score = scoreFor(unit, noise);
  const limit = scoreLimit(buckets.length, FALSE_ALARM_CHANCE);
  const scores = observed.map((value, at) => score(value, expected[at] ?? 0));
  const high = (at: number, least: number) =>
    (scores[at] ?? 0) > least &&
    (observed[at] ?? 0) >= RATIO_MIN * Math.max(expected[at] ?? 0, EXPECTED_UNITS_MIN * unit);
  const marked = observed.map((_, at) => high(at, NEIGHBOUR_SHARE * limit));
  return runs(marked)
    .filter(([start, end]) => scores.slice(start, end).some((_, at) => high(start + at, limit)))
    .map(([start, end]) => {
      const was = sum(observed.slice(start, end));
      const would = sum(expected.slice(start, end));
      const ratio = was / Math.max(would, unit);
      return {
        kind: 'SPEND_SPIKE',
        startMs: (buckets[start] as UsageBucket).startMs,
        endMs: (buckets[end - 1] as UsageBucket).endMs,
        expected: rounded(would, 3),
        observed: rounded(was, 3),
        severity: severityOf(ratio),
        evidence: {
          ratio: rounded(ratio, 2),
          score: rounded(Math.max(...scores.slice(start, end)), 2),
          scoreLimit: rounded(limit, 2),
          relativeNoise: rounded(noise, 3),
        },
      };
    });
}

function severityOf(ratio: number): Severity {
  if (ratio >= SEVERE_RATIOS.HIGH) return 'HIGH';
  return ratio >= SEVERE_RATIOS.MEDIUM ? 'MEDIUM' : 'LOW';
}
