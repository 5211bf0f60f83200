/**
 * New expensive models and features: one that was never used before and immediately takes a large share of the spend.
 *
 * What was used in the first two weeks of a series is not new. A new model or feature is judged by the week after its
 * first use.
 */

import { ANOMALY_DAYS_MIN } from '../../contract/readings.ts';
import { DAY_MS } from '../../platform/time.ts';
import { DAYS_PER_WEEK } from '../calendar.ts';
import { rounded, sum } from '../statistics.ts';
import { type Episode, gradeSeverity, type UsageBucket } from './episode.ts';

const SHARE_MIN = 0.2;
const SEVERE_SHARES = { MEDIUM: 0.35, HIGH: 0.6 } as const;

/**
 * The dimensions that can have a new member: the field of its spend, the kind of its episode, and its name in the
 * evidence.
 */
const NEWCOMERS = [
  { of: 'models', kind: 'NEW_EXPENSIVE_MODEL', name: 'modelKey' },
  { of: 'features', kind: 'NEW_EXPENSIVE_FEATURE', name: 'feature' },
] as const;
type Newcomers = (typeof NEWCOMERS)[number];

export function newcomers(buckets: readonly UsageBucket[]): Episode[] {
  return NEWCOMERS.flatMap((newcomer) => findNewcomers(buckets, newcomer));
}

function findNewcomers(buckets: readonly UsageBucket[], newcomer: Newcomers): Episode[] {
  const startMs = buckets[0]?.startMs ?? 0;
  const known = new Set<string>();
  const episodes: Episode[] = [];
  buckets.forEach((bucket, at) => {
    for (const [key, spend] of Object.entries(bucket[newcomer.of])) {
      if (spend <= 0 || known.has(key)) continue;
      known.add(key);
      if (bucket.startMs < startMs + ANOMALY_DAYS_MIN * DAY_MS) continue;
      const episode = firstWeek(buckets, at, key, newcomer);
      if (episode) episodes.push(episode);
    }
  });
  return episodes;
}

function firstWeek(buckets: readonly UsageBucket[], first: number, key: string, newcomer: Newcomers): Episode | null {
  const { startMs } = buckets[first] as UsageBucket;
  let endMs = startMs;
  let observed = 0;
  let all = 0;
  for (let at = first; at < buckets.length; at += 1) {
    const bucket = buckets[at] as UsageBucket;
    if (bucket.startMs >= startMs + DAYS_PER_WEEK * DAY_MS) break;
    endMs = bucket.endMs;
    observed += bucket[newcomer.of][key] ?? 0;
    all += bucket.spend;
  }
  const share = observed / all;
  // A young week may contain a single call, so the spend must also be large compared with a usual day.
  if (share < SHARE_MIN || observed < SHARE_MIN * usualDay(buckets, first)) return null;
  const evidence = {
    [newcomer.name]: key,
    shareOfSpend: rounded(share, 4),
    days: rounded((endMs - startMs) / DAY_MS, 2),
  };
  // An unused model or feature is expected to cost nothing.
  return {
    kind: newcomer.kind,
    startMs,
    endMs,
    expected: 0,
    observed: rounded(observed, 6),
    severity: gradeSeverity(share, SEVERE_SHARES, { value: observed, unit: 'USD' }),
    evidence,
  };
}

/** The mean spend per day before `end`. */
function usualDay(buckets: readonly UsageBucket[], end: number): number {
  const before = buckets.slice(0, end);
  const days = ((buckets[end] as UsageBucket).startMs - (buckets[0] as UsageBucket).startMs) / DAY_MS;
  return sum(before.map((bucket) => bucket.spend)) / Math.max(1, days);
}
