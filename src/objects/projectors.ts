/**
 * The projectors of a database, and those that a customer's changes go through.
 *
 * An organization has one, so that the changes of its customers in the same hour are summed before they reach D1. While
 * that one is busy, its customers use all projectors of the database, except for pages with events, which keep their
 * order. Any projector may deliver any change: revisions guard the rows.
 */
import type { CustomerKey } from '../domain/ids.ts';
import { stableHash } from '../platform/content-hash.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import { ask } from './addresses.ts';
import type { ObjectBindings } from './bindings.ts';
import type { ProjectorState, Whose } from './projector-commands.ts';
import type { ProjectorRpc } from './rpc.ts';

const PROJECTORS = 8;

export type ProjectorAddress = () => DurableObjectStub<ProjectorRpc>;

/** The projector that takes a customer's changes. `database` is the organization's. */
export function customerProjector(
  env: Pick<ObjectBindings, 'PROJECTORS'>,
  database: DatabaseName,
  { organizationId, customerId }: CustomerKey,
  isBusy = false,
): ProjectorAddress {
  const place = stableHash(organizationId) + (isBusy ? stableHash(customerId) : 0);
  return projectorAt(env, database, place % PROJECTORS);
}

/** All projectors of a database, each of which may have changes of any of its organizations. */
export function listProjectors(env: Pick<ObjectBindings, 'PROJECTORS'>, database: DatabaseName): ProjectorAddress[] {
  return Array.from({ length: PROJECTORS }, (_, place) => projectorAt(env, database, place));
}

function projectorAt(env: Pick<ObjectBindings, 'PROJECTORS'>, database: DatabaseName, place: number): ProjectorAddress {
  return () => env.PROJECTORS.getByName(`${database}:${place}`);
}

/** The changes that wait for D1 in the projectors of some databases, and those that D1 refused. */
export async function projectorState(
  env: Pick<ObjectBindings, 'PROJECTORS'>,
  databases: readonly DatabaseName[],
  whose: Whose = {},
): Promise<ProjectorState> {
  const addresses = databases.flatMap((database) => listProjectors(env, database));
  const states = await Promise.all(addresses.map((address) => ask(address, (projector) => projector.state(whose))));
  const sum = (figure: (state: ProjectorState) => number) => states.reduce((total, state) => total + figure(state), 0);
  const oldest = (time: (state: ProjectorState) => number | null) => {
    const times = states.map(time).filter((atMs) => atMs !== null);
    return times.length === 0 ? null : Math.min(...times);
  };
  return {
    waiting: {
      changes: sum(({ waiting }) => waiting.changes),
      lateChanges: sum(({ waiting }) => waiting.lateChanges),
      lateCustomers: sum(({ waiting }) => waiting.lateCustomers),
      oldestMs: oldest(({ waiting }) => waiting.oldestMs),
    },
    setAside: { rows: sum(({ setAside }) => setAside.rows), oldestMs: oldest(({ setAside }) => setAside.oldestMs) },
    failures: Math.max(...states.map(({ failures }) => failures)),
    lastError: states.find(({ lastError }) => lastError !== null)?.lastError ?? null,
  };
}
