/**
 * How the service runs, as one object keeps it for the last days: the requests that the isolates of the Worker answered, and
 * the runs of the cron. What the projectors delivered is kept by each of them.
 */
import type { CronName, RequestKind } from '../contract/health-history.ts';
import type { Env } from '../env.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import type { LatencyCounts } from '../platform/latency.ts';
import { ask } from './addresses.ts';
import { projectorsOf } from './projectors.ts';

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

/** The one that keeps what is of no database: the first of the configuration database. */
function keeper(env: Pick<Env, 'PROJECTORS'>) {
  const [first] = projectorsOf(env, 'DB');
  if (!first) throw new Error('there is no projector');
  return first;
}

export async function recordRequests(env: Pick<Env, 'PROJECTORS'>, figures: readonly RequestFigures[]): Promise<void> {
  await ask(keeper(env), (projector) => projector.recordRequests([...figures]));
}

export async function recordRun(env: Pick<Env, 'PROJECTORS'>, run: CronRun): Promise<void> {
  await ask(keeper(env), (projector) => projector.recordRun(run));
}

/** The figures of all projectors of some databases, since an hour. */
export async function serviceFigures(
  env: Pick<Env, 'PROJECTORS'>,
  databases: readonly DatabaseName[],
  sinceMs: number,
): Promise<ServiceFigures> {
  const addresses = databases.flatMap((database) => projectorsOf(env, database));
  const all = await Promise.all(addresses.map((address) => ask(address, (projector) => projector.figures(sinceMs))));
  return {
    deliveries: all.flatMap(({ deliveries }) => deliveries),
    requests: all.flatMap(({ requests }) => requests),
    runs: all.flatMap(({ runs }) => runs),
  };
}
