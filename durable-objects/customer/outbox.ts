/**
 * The transactional outbox: what commands recorded is handed over to a projector, oldest first, until the projector has
 * stored it. The projector brings it to D1.
 *
 * While the projector cannot be reached the changes wait, and are handed over again with a capped backoff. A page that
 * is handed over twice changes nothing the second time.
 */
import type { Env } from '../../src/env.ts';
import { projectorOf } from '../../src/objects/projectors.ts';
import type { DatabaseName } from '../../src/platform/database-name.ts';
import { errorText, log } from '../../src/platform/log.ts';
import { withTimeout } from '../../src/platform/timeout.ts';
import { databaseNameOf } from '../../src/storage/database.ts';
import type { ProjectionPage } from '../../src/storage/projection-page.ts';
import { projectPage } from '../../src/storage/projection-rows.ts';
import type { CustomerStore } from './store.ts';

/** Changes in one page. */
const PAGE_CHANGES_MAX = 400;
/** Pages of one alarm; the next alarm continues. */
const PAGES_MAX = 25;
/** A projector that does not answer counts as away. */
const TIMEOUT_MS = 15_000;
const BACKOFF_BASE_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;

export interface OutboxContext {
  store: CustomerStore;
  env: Env;
  objectId: string;
  now: () => number;
}

/**
 * Hands over what is due. Never throws for what the projector does: a failure is recorded, and the next attempt is
 * scheduled.
 */
export async function deliver({ store, env, objectId, now }: OutboxContext): Promise<void> {
  const before = store.delivery();
  // A first attempt is only delayed to fill its page, so an alarm that fires for another reason may make it earlier.
  if (before.dueAtMs === null || (before.failures > 0 && before.dueAtMs > now())) return;
  try {
    let isEmpty = false;
    for (let pages = 0; pages < PAGES_MAX && !isEmpty; pages += 1) {
      const { rows, place, sinceMs } = store.outboxPage(PAGE_CHANGES_MAX);
      const account = store.account();
      const page = account && rows.length > 0 ? projectPage(account, rows) : null;
      if (page && page.changes.length > 0) await handOver(store, env, page, sinceMs);
      isEmpty = store.transaction(now(), () => store.handedOver(place, now()));
    }
  } catch (error) {
    // Erased during the hand-over: nothing is left to hand over.
    if (!store.account()) return;
    const failures = before.failures + 1;
    const dueAtMs = now() + Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (failures - 1));
    store.transaction(now(), () => store.saveDelivery({ failures, dueAtMs, lastError: errorText(error) }));
    log('warn', 'hand_over_failed', { objectId, failures }, error);
  }
}

async function handOver(
  store: CustomerStore,
  env: OutboxContext['env'],
  page: ProjectionPage,
  sinceMs: number,
): Promise<void> {
  const { organizationId, customerId, subscriptionId, changes } = page;
  const database = await databaseOf(store, env, organizationId);
  const projector = projectorOf(env, database, page, store.isProjectorBusy)();
  const taken = projector.take({
    database,
    organizationId,
    customerId,
    subscriptionId,
    sinceMs,
    changes: changes.length,
    page: JSON.stringify(page),
  });
  store.isProjectorBusy = (await withTimeout(Promise.resolve(taken), TIMEOUT_MS, 'the projector')).isBusy;
}

/** The database of the organization. The object keeps it, so that a hand-over needs nothing of the configuration. */
async function databaseOf(store: CustomerStore, env: Env, organizationId: string): Promise<DatabaseName> {
  const known = store.historyDatabase();
  if (known) return known;
  const name = await databaseNameOf(env, organizationId);
  store.saveHistoryDatabase(name);
  return name;
}
