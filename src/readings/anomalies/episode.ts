/**
 * What every detector of anomalies reads and answers: buckets of usage, and episodes with their evidence.
 */

export const ANOMALY_KINDS = ['SPEND_SPIKE', 'SILENCE', 'ERROR_BURST', 'NEW_EXPENSIVE_MODEL'] as const;
export type AnomalyKind = (typeof ANOMALY_KINDS)[number];

export const SEVERITIES = ['LOW', 'MEDIUM', 'HIGH'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Usage of one day or hour. Buckets follow each other without a gap; one without usage is all zero. */
export interface UsageBucket {
  startMs: number;
  endMs: number;
  /** In any unit of money, the same for all. */
  spend: number;
  /** Ended calls, failed ones included. */
  calls: number;
  failedCalls: number;
  /** Spend by model. */
  models: Readonly<Record<string, number>>;
}

export interface Episode {
  kind: AnomalyKind;
  startMs: number;
  /** Exclusive. Where it is the end of the series, the episode may still go on. */
  endMs: number;
  /** Spend for SPEND_SPIKE and NEW_EXPENSIVE_MODEL, calls for SILENCE, failed calls for ERROR_BURST. */
  expected: number;
  observed: number;
  severity: Severity;
  /** Why: the figures that the rule looked at. */
  evidence: Record<string, number | string>;
}

/** More buckets than a hundred days of hours are refused. */
export const BUCKETS_MAX = 2_500;
/** Two weeks: before that nothing is usual. */
export const ANOMALY_DAYS_MIN = 14;
