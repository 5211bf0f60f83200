/**
 * Input and output of every anomaly detector: buckets of usage, and episodes with their evidence.
 */

import type { Anomaly } from '../../contract/readings.ts';
import type { CustomerId } from '../../domain/ids.ts';
import { DAY_MS, utcDay } from '../../platform/time.ts';

export type AnomalyKind = Anomaly['kind'];
export type Severity = Anomaly['severity'];

/** Usage of one day or hour. Buckets are consecutive; one without usage is all zero. */
export interface UsageBucket {
  startMs: number;
  endMs: number;
  /** In any unit of money, if all buckets use the same. */
  spend: number;
  /** Ended calls, including failed ones. */
  calls: number;
  failedCalls: number;
  /** Requests that were refused before they ran; `calls` does not include them. */
  deniedCalls: number;
  /** The input tokens of all calls, if known. */
  inputTokens: number;
  cachedInputTokens: number;
  /** Spend by model and by feature, only for new ones. */
  models: Readonly<Record<string, number>>;
  features: Readonly<Record<string, number>>;
}

/** The usage of a bucket without activity. */
export const NO_USAGE = {
  spend: 0,
  calls: 0,
  failedCalls: 0,
  deniedCalls: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  models: {},
  features: {},
} satisfies Omit<UsageBucket, 'startMs' | 'endMs'>;

export interface Episode {
  kind: AnomalyKind;
  startMs: number;
  /** Exclusive. If it is the end of the series, the episode may be ongoing. */
  endMs: number;
  /** In the unit of `UNITS`. */
  expected: number;
  observed: number;
  severity: Severity;
  /** The figures that the rule used. */
  evidence: Record<string, number | string>;
}

/** The unit of `expected` and `observed` for each kind. A share is 0 to 1. */
export const UNITS = {
  SPEND_SPIKE: 'USD',
  USAGE_DROP: 'calls',
  SILENCE: 'calls',
  ERROR_BURST: 'calls',
  DENIAL_BURST: 'calls',
  NEW_EXPENSIVE_MODEL: 'USD',
  NEW_EXPENSIVE_FEATURE: 'USD',
  COST_PER_CALL_SHIFT: 'USD',
  CACHE_RATE_DROP: 'share',
  CUSTOMER_SHARE_RISE: 'share',
} as const satisfies Record<AnomalyKind, string>;

/** Maximum number of buckets, a little above a hundred days of hours. */
export const BUCKETS_MAX = 2_500;

/**
 * The identity of an episode: kind, UTC day of the start, customer (none for the organization), and the model or
 * feature that it concerns. It stays the same while an episode grows; no two episodes of one reading share it.
 */
export function episodeId({ kind, startMs, evidence }: Episode, customerId: CustomerId | null): string {
  const day = utcDay(startMs);
  const about = episodeSubject(evidence) ?? '';
  return [kind, day, customerId ?? '', about].map(encodeURIComponent).join(':');
}

/** The model or feature that an episode concerns. */
export function episodeSubject({ modelKey, feature }: { modelKey?: unknown; feature?: unknown }): string | undefined {
  const subject = modelKey ?? feature;
  return subject === undefined ? undefined : String(subject);
}

/** How severe a deviation is that is worse the higher its figure is. */
export function gradeSeverity(figure: number, lowest: { MEDIUM: number; HIGH: number }): Severity {
  if (figure >= lowest.HIGH) return 'HIGH';
  return figure >= lowest.MEDIUM ? 'MEDIUM' : 'LOW';
}

export const dayNumber = (atMs: number) => Math.floor(atMs / DAY_MS);

/** The days that lie inside one of the episodes. */
export function idleDays(buckets: readonly UsageBucket[], perDay: number, episodes: readonly Episode[]): boolean[] {
  const idle: boolean[] = [];
  for (let at = 0; at < buckets.length; at += perDay) {
    const dayMs = (buckets[at] as UsageBucket).startMs;
    idle.push(episodes.some(({ startMs, endMs }) => startMs <= dayMs && dayMs < endMs));
  }
  return idle;
}
