/**
 * Waking the watch of an organization. A wake is best effort: what a lost one would have found is found by the next run.
 */
import type { OrganizationId } from '../domain/ids.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { remember } from '../platform/isolate-memory.ts';
import { log } from '../platform/log.ts';
import { HOUR_MS } from '../platform/time.ts';
import { withTimeout } from '../platform/timeout.ts';
import type { ObjectBindings } from './bindings.ts';
import type { OrganizationWatchRpc } from './rpc.ts';

/** The changes of operators that organizations are told of. */
export const TOLD_ACTIONS = ['key.create', 'key.rotate', 'key.revoke', 'price.put', 'price.delete'] as const;
export type ToldAction = (typeof TOLD_ACTIONS)[number];

/** Changes after which there may be more to look for. */
const WAKING_ACTIONS: readonly string[] = [...TOLD_ACTIONS, 'models.put', 'models.delete'];

/** Organizations whose watch an isolate remembers to have woken. */
const REMEMBERED_MAX = 20_000;
/** A watch that does not answer is left. */
const TIMEOUT_MS = 2_000;

type Watches = Pick<ObjectBindings, 'ORGANIZATION_WATCHES'>;

/** When each was woken last. */
const woken = remember(() => new BoundedMap<string, number>(REMEMBERED_MAX));

export function watchOf(env: Watches, organizationId: OrganizationId): DurableObjectStub<OrganizationWatchRpc> {
  return env.ORGANIZATION_WATCHES.getByName(organizationId);
}

/** To be called when D1 has changes of these organizations. Each is woken at most once an hour by an isolate. */
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

/** To be called after the commit of an operator's change. */
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
    await withTimeout(watchOf(env, organizationId).wake(organizationId, isNews), TIMEOUT_MS, 'the watch');
  } catch (error) {
    log('warn', 'watch_not_woken', { organizationId }, error);
  }
}
