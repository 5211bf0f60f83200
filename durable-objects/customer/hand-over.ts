/**
 * Hands what commands recorded over to a projector, oldest first, which brings it to D1.
 *
 * A timer in memory does it soon after a change. That writes nothing and wakes nobody; the object forgets what the
 * projector has with its next transaction. A call that has begun starts no timer: it goes with the next change, which is its
 * end if nothing else happens, or with the alarm if it is open for half a minute. The alarm hands over for an object, too, that is
 * gone before its timer fires. While the projector cannot be reached the changes wait, and the alarm hands them over again with a
 * capped backoff, one page each time. A page that is handed over twice changes nothing the second time.
 */

import { findDatabaseName } from '../../src/config/database.ts';
import type { Account } from '../../src/domain/account.ts';
import type { OrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { projectPage, type RecordedChange } from '../../src/history/projection-rows.ts';
import type { Change, ProjectionPage } from '../../src/objects/projection-page.ts';
import { customerProjector } from '../../src/objects/projectors.ts';
import type { DatabaseName } from '../../src/platform/database-name.ts';
import { errorText, log } from '../../src/platform/log.ts';
import { DAY_MS, MINUTE_MS } from '../../src/platform/time.ts';
import { withTimeout } from '../../src/platform/timeout.ts';
import type { CustomerStore } from './store.ts';
import type { Delivery, OutboxPage } from './tables/outbox.ts';

/**
 * Changes wait this long for others before they are handed over in one page: a page costs much more than another change
 * in it. Then the object waits at its projector, a second at most while D1 answers, and gathers what follows.
 */
export const HAND_OVER_DELAY_MS = 500;
/** Changes in one page, which is bounded by its bytes too (`tables/outbox.ts`). */
const PAGE_CHANGES_MAX = 400;
/** Pages of one run; the next one continues. */
const PAGES_MAX = 25;
/** A projector that does not answer counts as away. */
const TIMEOUT_MS = 15_000;
const BACKOFF_BASE_MS = 1_000;
const BACKOFF_MAX_MS = MINUTE_MS;

const NO_FAILURE: Delivery = { failures: 0, dueAtMs: null, lastError: null };

export interface HandOverContext {
  store: CustomerStore;
  env: Env;
  objectId: string;
  now: () => number;
  /** The timer hands over: the row that lists show may wait (listed-row.ts). */
  isTimer?: boolean;
  /** The projector is not to wait for pages of other customers. */
  isAlone?: boolean;
}

/**
 * Hands over what waits, unless an attempt after a failure is not due yet, or an erasure is under way. Answers whether more waits. Never throws for
 * what the projector does: a failure is recorded, and the alarm is set for the next attempt.
 */
export async function handOver({
  store,
  env,
  objectId,
  now,
  isTimer = false,
  isAlone = false,
}: HandOverContext): Promise<{ more: boolean }> {
  const before = store.delivery();
  if (Math.max(before.dueAtMs ?? 0, store.erasure?.heldUntilMs ?? 0) > now()) return { more: false };
  try {
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const waiting = store.outboxPage(PAGE_CHANGES_MAX);
      const account = store.account();
      const brings = account !== null && !waiting.more && bringsRow(store, account, isTimer, now());
      if (!account || (waiting.rows.length === 0 && !brings)) return { more: false };
      const others = waiting.rows.filter(({ kind }) => kind !== 'customer');
      const row: RecordedChange = { kind: 'customer', id: account.customerId, record: null };
      const page = projectPage(account, brings ? [...others, row] : others, () => store.figures());
      if (brings) store.listedRow.leaves(account);
      if (page.changes.length > 0) await send(store, env, page, { ...waiting, more: waiting.more || isAlone }, now());
      store.handedOver(waiting, now());
      if (store.delivery().failures > 0) store.transaction(now(), () => store.saveDelivery(NO_FAILURE));
      if (!waiting.more) return { more: false };
    }
    return { more: true };
  } catch (error) {
    // Erased during the hand-over: nothing is left to hand over.
    if (!store.account()) return { more: false };
    store.listedRow.returned();
    const failures = before.failures + 1;
    const dueAtMs = now() + retryAfterMs(failures, Math.random());
    store.transaction(now(), () => store.saveDelivery({ failures, dueAtMs, lastError: errorText(error) }));
    log('warn', 'hand_over_failed', { objectId, failures }, error);
    return { more: false };
  }
}

/**
 * The wait after so many failures in a row. `chance`, from 0 to 1, spreads the customers of a projector that was away over half
 * of the time, because all of them failed at once.
 */
export function retryAfterMs(failures: number, chance: number): number {
  return Math.round(Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (failures - 1)) * (0.5 + chance / 2));
}

/** Whether the row that lists show goes with the last page: it has the customer in short, however many changes wait. */
function bringsRow(store: CustomerStore, account: Account, isTimer: boolean, nowMs: number): boolean {
  const { listedRow } = store;
  return isTimer ? listedRow.isDue(account, nowMs, () => store.hasOpenCalls()) : listedRow.owedSinceMs !== null;
}

async function send(
  store: CustomerStore,
  env: Env,
  page: ProjectionPage,
  { sinceMs, more }: OutboxPage,
  nowMs: number,
): Promise<void> {
  const { organizationId, customerId, subscriptionId, changes } = page;
  const database = await databaseOf(store, env, organizationId);
  // Events of a customer, and changes of calls whose rows may be deleted, pass one projector, whatever it has to do, so that
  // they reach D1 in their order.
  const mayMove = !changes.some((change) => change.kind === 'event' || isOfOldCall(change, nowMs));
  const projector = customerProjector(env, database, page, mayMove && store.isProjectorBusy)();
  const taken = projector.take({
    database,
    organizationId,
    customerId,
    subscriptionId,
    sinceMs: sinceMs ?? nowMs,
    changes: changes.length,
    more,
    page: JSON.stringify(page),
  });
  store.isProjectorBusy = (await withTimeout(Promise.resolve(taken), TIMEOUT_MS, 'the projector')).isBusy;
}

/** Whether the change is of a call that a retention of a day, the shortest, may have deleted. */
function isOfOldCall({ replaced }: Change, nowMs: number): boolean {
  if (replaced === undefined) return false;
  const { started_at_ms: startedAtMs } = JSON.parse(replaced) as { started_at_ms: number };
  return startedAtMs < nowMs - DAY_MS;
}

/** The database of the organization. The object keeps it, so that a hand-over needs nothing of the configuration. */
async function databaseOf(store: CustomerStore, env: Env, organizationId: OrganizationId): Promise<DatabaseName> {
  const known = store.historyDatabase();
  if (known) return known;
  const name = await findDatabaseName(env, organizationId);
  store.saveHistoryDatabase(name);
  return name;
}
