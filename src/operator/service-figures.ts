/**
 * The service's figures that projectors keep for the last days (src/objects/service-figures.ts): the Worker's isolates
 * and its cron write them, the health of the service reads them.
 */
import type { Env } from '../env.ts';
import { ask } from '../objects/addresses.ts';
import { listProjectors } from '../objects/projectors.ts';
import type { CronRun, RequestFigures, ServiceFigures } from '../objects/service-figures.ts';
import type { DatabaseName } from '../platform/database-name.ts';

/** For modules that report figures and do not know objects. */
export type { CronOutcome, RequestFigures } from '../objects/service-figures.ts';

/** The projector that keeps figures of no particular database: the first one of the configuration database. */
function keeper(env: Pick<Env, 'PROJECTORS'>) {
  const [first] = listProjectors(env, 'DB');
  if (!first) throw new Error('there is no projector');
  return first;
}

export async function recordRequests(env: Pick<Env, 'PROJECTORS'>, figures: readonly RequestFigures[]): Promise<void> {
  await ask(keeper(env), (projector) => projector.recordRequests([...figures]));
}

export async function recordRun(env: Pick<Env, 'PROJECTORS'>, run: CronRun): Promise<void> {
  await ask(keeper(env), (projector) => projector.recordRun(run));
}

/** The figures of all projectors of some databases, from an hour on. */
export async function serviceFigures(
  env: Pick<Env, 'PROJECTORS'>,
  databases: readonly DatabaseName[],
  sinceMs: number,
): Promise<ServiceFigures> {
  const addresses = databases.flatMap((database) => listProjectors(env, database));
  const all = await Promise.all(addresses.map((address) => ask(address, (projector) => projector.figures(sinceMs))));
  return {
    deliveries: all.flatMap(({ deliveries }) => deliveries),
    requests: all.flatMap(({ requests }) => requests),
    runs: all.flatMap(({ runs }) => runs),
  };
}
