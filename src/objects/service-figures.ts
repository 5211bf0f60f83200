/**
 * What projectors keep of how the service runs: each what it delivered, and one of them the requests that the isolates of the
 * Worker answered, and the runs of the cron.
 */
import type { CronName, RequestKind } from '../contract/health-history.ts';
import type { LatencyCounts } from '../platform/latency.ts';

/** Requests of one kind in one hour, that one isolate answered or all of them. */
export interface RequestFigures {
  hourMs: number;
  kind: RequestKind;
  requests: number;
  serverErrors: number;
  latencies: LatencyCounts;
}

export interface CronOutcome {
  ok: boolean;
  /** What came of it, or why it failed. */
  message: string | null;
}

export interface CronRun extends CronOutcome {
  name: CronName;
  startedMs: number;
  tookMs: number;
}

/** What a projector delivered in one hour. */
export interface DeliveryFigures {
  hourMs: number;
  deliveries: number;
  changes: number;
  failures: number;
  longestWaitMs: number;
}

/** What one projector keeps. */
export interface ServiceFigures {
  deliveries: DeliveryFigures[];
  requests: RequestFigures[];
  runs: CronRun[];
}
