/**
 * Detects episodes of unusual usage of a customer or an organization: spend spikes, silence, error bursts, new
 * expensive models.
 *
 * A pure function of one series of days or hours. Each detector states its rule. False alarms are rare: about 1 of 20
 * series without anomalies raises one, and about 1 of 6 with intermittent use.
 */
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { usageDrops } from './drops.ts';
import { ANOMALY_DAYS_MIN, BUCKETS_MAX, type Episode, type UsageBucket } from './episode.ts';
import { errorBursts } from './error-bursts.ts';
import { newExpensiveModels } from './new-models.ts';
import { silences } from './silence.ts';
import { spendSpikes } from './spikes.ts';

/** Episodes, sorted by start and kind. Empty for series shorter than ANOMALY_DAYS_MIN. Throws above BUCKETS_MAX. */
export function detectAnomalies(buckets: readonly UsageBucket[], resolution: 'hour' | 'day'): Episode[] {
  if (buckets.length > BUCKETS_MAX) throw new RangeError('more buckets than BUCKETS_MAX');
  const perDay = resolution === 'hour' ? 24 : 1;
  // Whole days, aligned to the end of the series.
  const whole = buckets.slice(buckets.length % perDay);
  if (whole.length < ANOMALY_DAYS_MIN * perDay) return [];
  const silent = silences(whole, perDay);
  const episodes = [
    ...spendSpikes(whole, perDay, silent),
    ...usageDrops(whole, perDay, silent),
    ...silent,
    ...errorBursts(whole, perDay),
    ...newExpensiveModels(whole),
  ];
  return episodes.sort((a, b) => a.startMs - b.startMs || (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0));
}

/** The buckets of all UTC hours in [fromMs, toMs), from the hours with usage. */
export function hourBuckets(hours: readonly Omit<UsageBucket, 'endMs'>[], fromMs: number, toMs: number): UsageBucket[] {
  return filled(hours, fromMs, toMs, HOUR_MS);
}

/** The buckets of all UTC days in [fromMs, toMs), from the days with usage. */
export function dayBuckets(days: readonly Omit<UsageBucket, 'endMs'>[], fromMs: number, toMs: number): UsageBucket[] {
  return filled(days, fromMs, toMs, DAY_MS);
}

function filled(used: readonly Omit<UsageBucket, 'endMs'>[], fromMs: number, toMs: number, sizeMs: number) {
  const known = new Map(used.map((bucket) => [bucket.startMs, bucket]));
  const buckets: UsageBucket[] = [];
  for (let startMs = Math.ceil(fromMs / sizeMs) * sizeMs; startMs + sizeMs <= toMs; startMs += sizeMs) {
    const bucket = known.get(startMs) ?? { spend: 0, calls: 0, failedCalls: 0, models: {} };
    buckets.push({ ...bucket, startMs, endMs: startMs + sizeMs });
  }
  return buckets;
}
