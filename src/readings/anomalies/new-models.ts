/**
 * New expensive models: a model that was never used before and immediately takes a large share of the spend.
 *
 * Models used in the first two weeks of a series are known. A new model is judged by the week after its first use.
 */

import { DAY_MS } from '../../platform/time.ts';
import { DAYS_PER_WEEK } from '../calendar.ts';
import { rounded, sum } from '../statistics.ts';
import { ANOMALY_DAYS_MIN, type Episode, type Severity, type UsageBucket } from './episode.ts';

const SHARE_MIN = 0.2;
const SEVERE_SHARES = { MEDIUM: 0.35, HIGH: 0.6 } as const;

export function newExpensiveModels(buckets: readonly UsageBucket[]): Episode[] {
  const startMs = buckets[0]?.startMs ?? 0;
  const known = new Set<string>();
  const episodes: Episode[] = [];
  buckets.forEach((bucket, at) => {
    for (const [model, spend] of Object.entries(bucket.models)) {
      if (spend <= 0 || known.has(model)) continue;
      known.add(model);
      if (bucket.startMs < startMs + ANOMALY_DAYS_MIN * DAY_MS) continue;
      const episode = firstWeek(buckets, at, model);
      if (episode) episodes.push(episode);
    }
  });
  return episodes;
}

function firstWeek(buckets: readonly UsageBucket[], first: number, model: string): Episode | null {
  const { startMs } = buckets[first] as UsageBucket;
  let endMs = startMs;
  let observed = 0;
  let all = 0;
  for (let at = first; at < buckets.length; at += 1) {
    const bucket = buckets[at] as UsageBucket;
    if (bucket.startMs >= startMs + DAYS_PER_WEEK * DAY_MS) break;
    endMs = bucket.endMs;
    observed += bucket.models[model] ?? 0;
    all += bucket.spend;
  }
  const share = observed / all;
  // The week so far may contain a single call, so the spend must also be large compared with a usual day.
  if (share < SHARE_MIN || observed < SHARE_MIN * usualDay(buckets, first)) return null;
  const evidence = { modelKey: model, shareOfSpend: rounded(share, 4), days: rounded((endMs - startMs) / DAY_MS, 2) };
  // The expected spend of a new model is zero.
  return {
    kind: 'NEW_EXPENSIVE_MODEL',
    startMs,
    endMs,
    expected: 0,
    observed: rounded(observed, 3),
    severity: severityOf(share),
    evidence,
  };
}

/** The mean spend per day before `end`. */
function usualDay(buckets: readonly UsageBucket[], end: number): number {
  const before = buckets.slice(0, end);
  const days = ((buckets[end] as UsageBucket).startMs - (buckets[0] as UsageBucket).startMs) / DAY_MS;
  return sum(before.map((bucket) => bucket.spend)) / Math.max(1, days);
}

function severityOf(share: number): Severity {
  if (share >= SEVERE_SHARES.HIGH) return 'HIGH';
  return share >= SEVERE_SHARES.MEDIUM ? 'MEDIUM' : 'LOW';
}
