/**
 * Waking the watch of an organization. A wake is best effort: the next run finds the events that a lost one would have
 * found.
 */
import type { OrganizationId } from '../domain/ids.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { remember } from '../platform/isolate-memory.ts';
import { log } from '../platform/log.ts';
import { HOUR_MS } from '../platform/time.ts';
import { withTimeout } from '../platform/timeout.ts';
import type { ObjectBindings } from './bindings.ts';
import type { OrganizationWatchRpc } from './rpc.ts';

/** The operators' changes that organizations are told of. */
export const TOLD_ACTIONS = ['key.create', 'key.rotate', 'key.revoke', 'price.put', 'price.delete'] as const;
export type ToldAction = (typeof TOLD_ACTIONS)[number];

/** Changes after which a watch may have more to look for. */
const WAKING_ACTIONS: readonly string[] = [...TOLD_ACTIONS, 'models.put', 'models.delete'];

/** The most organizations whose watch an isolate remembers to have woken. */
const REMEMBERED_MAX = 20_000;
/** A watch that does not answer in time is left alone. */
const TIMEOUT_MS = 2_000;

type Watches = Pick<ObjectBindings, 'ORGANIZATION_WATCHES'>;

/** The time at which each was last woken. */
const woken = remember(() => new BoundedMap<string, number>(REMEMBERED_MAX));

export function organizationWatch(
  env: Watches,
  organizationId: OrganizationId,
): DurableObjectStub<OrganizationWatchRpc> {
  return env.ORGANIZATION_WATCHES.getByName(organizationId);
}

/** Call this when D1 has changes of these organizations. An isolate wakes each at most once an hour. */
export async function wakeWatches(
  env: Watches,
  organizationIds: Iterable<OrganizationId>,
  nowMs: number,
): Promise<void> {
  const due = [...new Set(organizationIds)].filter((id) => nowMs - (woken.value.get(id) ?? 0) >= HOUR_MS);
  await Promise.all(
    due.map(async (organizationId) => {
      woken.value.set(organizationId, nowMs);
      await wake(env, organizationId, false);
    }),
  );
}

/** Call this after the commit of an operator's change. */
export async function wakeAfterChange(
  env: Watches,
  organizationId: OrganizationId | null,
  action: string,
): Promise<void> {
  if (organizationId === null || !WAKING_ACTIONS.includes(action)) return;
  await wake(env, organizationId, true);
}

async function wake(env: Watches, organizationId: OrganizationId, isNews: boolean): Promise<void> {
  try {
    await withTimeout(organizationWatch(env, organizationId).wake(organizationId, isNews), TIMEOUT_MS, 'the watch');
  } catch (error) {
    log('warn', 'watch_not_woken', { organizationId }, error);
  }
}
