/**
 * The projectors' figures about the service: the deliveries of each, and, in one of them, the requests that the
 * Worker's isolates answered and the runs of the cron.
 */
import type { CronName, RequestKind } from '../contract/health-history.ts';
import type { LatencyCounts } from '../platform/latency.ts';

/** Requests of one kind in one hour, answered by one isolate or by all of them. */
export interface RequestFigures {
  hourMs: number;
  kind: RequestKind;
  requests: number;
  serverErrors: number;
  latencies: LatencyCounts;
}

export interface CronOutcome {
  ok: boolean;
  /** The result, or the reason of the failure. */
  message: string | null;
}

export interface CronRun extends CronOutcome {
  name: CronName;
  startedMs: number;
  tookMs: number;
}

/** A projector's deliveries in one hour. */
export interface DeliveryFigures {
  hourMs: number;
  deliveries: number;
  changes: number;
  failures: number;
  longestWaitMs: number;
}

/** The figures of one projector. */
export interface ServiceFigures {
  deliveries: DeliveryFigures[];
  requests: RequestFigures[];
  runs: CronRun[];
}
