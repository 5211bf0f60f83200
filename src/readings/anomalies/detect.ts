/**
 * Detects episodes of unusual usage of a customer or an organization, of all kinds but a customer's share.
 *
 * A pure function of one series of days or hours. Each detector states its rule. A usual series raises less than one
 * false alarm in 30 days.
 */

import { ANOMALY_DAYS_MIN } from '../../contract/readings.ts';
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { usageDrops } from './drops.ts';
import { BUCKETS_MAX, type Episode, NO_USAGE, type UsageBucket } from './episode.ts';
import { denialBursts, errorBursts } from './error-bursts.ts';
import { buildGrains, dailyGrain } from './grain.ts';
import { newcomers } from './newcomers.ts';
import { cacheRateDrops, costPerCallShifts } from './shifts.ts';
import { silences } from './silence.ts';
import { spendSpikes } from './spikes.ts';

/** Episodes, sorted by start and kind. Empty for series shorter than ANOMALY_DAYS_MIN. Throws above BUCKETS_MAX. */
export function detectAnomalies(buckets: readonly UsageBucket[], resolution: 'hour' | 'day'): Episode[] {
  if (buckets.length > BUCKETS_MAX) throw new RangeError('more buckets than BUCKETS_MAX');
  const perDay = resolution === 'hour' ? 24 : 1;
  // Whole days, aligned to the end of the series.
  const whole = buckets.slice(buckets.length % perDay);
  if (whole.length < ANOMALY_DAYS_MIN * perDay) return [];
  const grains = buildGrains(whole, perDay);
  const days = dailyGrain(grains);
  const silent = silences(days);
  const episodes = [
    ...spendSpikes(grains, silent),
    ...usageDrops(days, silent),
    ...silent,
    ...errorBursts(grains),
    ...denialBursts(grains),
    ...costPerCallShifts(days),
    ...cacheRateDrops(days),
    ...newcomers(whole),
  ];
  return episodes.sort((a, b) => a.startMs - b.startMs || (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0));
}

/** The usage of a bucket; an absent field is zero. */
export type Used = Partial<UsageBucket> & { startMs: number };

/** The buckets of all UTC hours in [fromMs, toMs), from the hours with usage. */
export function hourBuckets(hours: readonly Used[], { fromMs, toMs }: { fromMs: number; toMs: number }): UsageBucket[] {
  return filled(hours, { fromMs, toMs, sizeMs: HOUR_MS });
}

/** The buckets of all UTC days in [fromMs, toMs), from the days with usage. */
export function dayBuckets(days: readonly Used[], { fromMs, toMs }: { fromMs: number; toMs: number }): UsageBucket[] {
  return filled(days, { fromMs, toMs, sizeMs: DAY_MS });
}

function filled(used: readonly Used[], { fromMs, toMs, sizeMs }: { fromMs: number; toMs: number; sizeMs: number }) {
  const known = new Map(used.map((bucket) => [bucket.startMs, bucket]));
  const buckets: UsageBucket[] = [];
  for (let startMs = Math.ceil(fromMs / sizeMs) * sizeMs; startMs + sizeMs <= toMs; startMs += sizeMs) {
    const used: Partial<UsageBucket> = known.get(startMs) ?? NO_USAGE;
    // Copied field by field, because spreading a thousand objects takes longer than searching them for anomalies.
    buckets.push({
      startMs,
      endMs: startMs + sizeMs,
      spend: used.spend ?? 0,
      calls: used.calls ?? 0,
      failedCalls: used.failedCalls ?? 0,
      deniedCalls: used.deniedCalls ?? 0,
      inputTokens: used.inputTokens ?? 0,
      cachedInputTokens: used.cachedInputTokens ?? 0,
      models: used.models ?? NO_USAGE.models,
      features: used.features ?? NO_USAGE.features,
    });
  }
  return buckets;
}
