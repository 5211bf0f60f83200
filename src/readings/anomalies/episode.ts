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
  /** In USD. */
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

/** The least figures that are of medium and of high severity. */
type Grades = Readonly<Record<'MEDIUM' | 'HIGH', number>>;

/** The least amounts of an episode of medium and of high severity, however unusual the episode is. */
const AMOUNT_GRADES = {
  USD: { MEDIUM: 1, HIGH: 10 },
  calls: { MEDIUM: 10, HIGH: 50 },
} as const satisfies Record<string, Grades>;

/** What an episode is about: the dollars or the calls that were too many or too few. */
type Amount = { value: number; unit: keyof typeof AMOUNT_GRADES };

/** The severity of an episode: the lower one of how unusual it is and of its amount. */
export function gradeSeverity(figure: number, grades: Grades, { value, unit }: Amount): Severity {
  const reaches = (grade: keyof Grades) => figure >= grades[grade] && value >= AMOUNT_GRADES[unit][grade];
  if (reaches('HIGH')) return 'HIGH';
  return reaches('MEDIUM') ? 'MEDIUM' : 'LOW';
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
