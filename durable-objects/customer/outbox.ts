/**
 * The transactional outbox: what commands recorded goes to D1, in order of nothing but arrival, until D1 has it.
 *
 * A round sends one batch as a single D1 transaction (projection.ts): sending a row twice, or late, changes nothing. While D1 is away the backlog waits, tried again
 * with a capped backoff, and is announced in KV under `backlog:` for the operator's health page.
 */
import { backlogKey } from '../../src/env.ts';
import { errorText, log } from '../../src/platform/log.ts';
import { withTimeout } from '../../src/platform/timeout.ts';
import { projectionStatements } from './projection.ts';
import type { CustomerStore } from './store.ts';

/** Changes that one D1 batch brings. */
const BATCH_CHANGES_MAX = 400;
/** Batches of one alarm; the next alarm goes on. */
const BATCHES_MAX = 25;
/** A D1 that does not answer counts as away. */
const D1_TIMEOUT_MS = 15_000;
const BACKOFF_BASE_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;
/** The announcement of a backlog outlives its owner by this at most. */
const ANNOUNCEMENT_TTL_SECONDS = 24 * 3600;
/** The second failure in a row is announced, and every hundredth after it. */
const ANNOUNCE_EVERY_FAILURES = 100;

export interface OutboxContext {
  store: CustomerStore;
  db: D1Database;
  kv: KVNamespace;
  objectId: string;
  now: () => number;
}

/** Sends what is due. Never throws: a failure is recorded, and the next attempt is scheduled. */
export async function deliver(context: OutboxContext): Promise<void> {
  const { store, now } = context;
  const before = store.delivery();
  // The first attempt waits for company only; an alarm that fires for another reason may as well take it along.
  if (before.dueAtMs === null || (before.failures > 0 && before.dueAtMs > now())) return;
  try {
    for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
      const account = store.account();
      const page = store.outboxPage(BATCH_CHANGES_MAX);
      if (!account || page.rows.length === 0) break;
      await withTimeout(context.db.batch(projectionStatements(context.db, account, page.rows)), D1_TIMEOUT_MS, 'D1');
      store.transaction(now(), () => store.outboxSent(page, now()));
    }
    store.transaction(now(), () => store.saveDelivery({ failures: 0, dueAtMs: store.hasOutbox ? now() : null, lastError: null }));
    if (before.failures > 0) await announce(context, organizationIdOf(store), null);
  } catch (error) {
    const failures = before.failures + 1;
    const lastError = errorText(error);
    const delayMs = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (failures - 1));
    store.transaction(now(), () => store.saveDelivery({ failures, dueAtMs: now() + delayMs, lastError }));
    log('warn', 'outbox_delivery_failed', { objectId: context.objectId, failures }, error);
    if (failures % ANNOUNCE_EVERY_FAILURES === 2) await announce(context, organizationIdOf(store), store.outboxState().oldestMs);
  }
}

/** Best effort: the backlog itself is in the object; this only lets the operator see that there is one, or none any more. */
export async function announce(
  { kv, objectId }: Pick<OutboxContext, 'kv' | 'objectId'>,
  organizationId: string,
  oldestMs: number | null,
): Promise<void> {
  const key = backlogKey(organizationId, objectId);
  try {
    if (oldestMs === null) await kv.delete(key);
    else await kv.put(key, '', { metadata: { oldestMs }, expirationTtl: ANNOUNCEMENT_TTL_SECONDS });
  } catch (error) {
    log('warn', 'backlog_not_announced', { objectId }, error);
  }
}

/** Whoever has rows for D1 has an account. */
function organizationIdOf(store: CustomerStore): string {
  return store.account()?.organizationId ?? '';
}
