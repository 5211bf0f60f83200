/**
 * Input and output of every anomaly detector: buckets of usage, and episodes with their evidence.
 */

export const ANOMALY_KINDS = ['SPEND_SPIKE', 'USAGE_DROP', 'SILENCE', 'ERROR_BURST', 'NEW_EXPENSIVE_MODEL'] as const;
export type AnomalyKind = (typeof ANOMALY_KINDS)[number];

export const SEVERITIES = ['LOW', 'MEDIUM', 'HIGH'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Usage of one day or hour. Buckets are consecutive; one without usage is all zero. */
export interface UsageBucket {
  startMs: number;
  endMs: number;
  /** In any unit of money, the same for all buckets. */
  spend: number;
  /** Ended calls, including failed ones. */
  calls: number;
  failedCalls: number;
  /** Spend by model. */
  models: Readonly<Record<string, number>>;
}

export interface Episode {
  kind: AnomalyKind;
  startMs: number;
  /** Exclusive. If it is the end of the series, the episode may be ongoing. */
  endMs: number;
  /** The expected spend for SPEND_SPIKE and NEW_EXPENSIVE_MODEL, calls for SILENCE, failed calls for ERROR_BURST. */
  expected: number;
  observed: number;
  severity: Severity;
  /** The figures that the rule used. */
  evidence: Record<string, number | string>;
}

/** Maximum number of buckets, a little above a hundred days of hours. */
export const BUCKETS_MAX = 2_500;
/** Two weeks: the minimum to know what is usual. */
export const ANOMALY_DAYS_MIN = 14;

/** Which days lie inside one of the episodes. */
export function idleDays(buckets: readonly UsageBucket[], perDay: number, episodes: readonly Episode[]): boolean[] {
  const idle: boolean[] = [];
  for (let at = 0; at < buckets.length; at += perDay) {
    const dayMs = (buckets[at] as UsageBucket).startMs;
    idle.push(episodes.some(({ startMs, endMs }) => startMs <= dayMs && dayMs < endMs));
  }
  return idle;
}
