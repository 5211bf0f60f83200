/**
 * The transactional outbox: what commands recorded is sent to D1, oldest first, until D1 has it.
 *
 * Each batch is a single D1 transaction (`src/storage/projection.ts`): sending a row twice, or late, changes nothing.
 * While D1 is away the changes wait and are sent again with a capped backoff. A batch that D1 refuses for its content
 * is halved until single rows are refused; those are set aside, and the others are delivered. A backlog and refused
 * rows are announced to the operator.
 */

import type { Env } from '../../src/env.ts';
import { errorText, log } from '../../src/platform/log.ts';
import { withTimeout } from '../../src/platform/timeout.ts';
import { database } from '../../src/storage/database.ts';
import { recordServiceEvents } from '../../src/storage/events.ts';
import { projectionStatements } from '../../src/storage/projection.ts';
import { announceBacklog, announceSetAside } from './announcements.ts';
import { projectRows } from './projection.ts';
import { refusalReason } from './refusal.ts';
import type { CustomerStore } from './store.ts';
import type { PlacedRow } from './tables/outbox.ts';

/** Changes in one D1 batch. */
const BATCH_CHANGES_MAX = 400;
/**
 * Batches of one alarm, refused ones included; the next alarm continues. Halving the largest batch down to a row takes
 * 10.
 */
const BATCHES_MAX = 25;
/** A D1 that does not answer counts as away. */
const D1_TIMEOUT_MS = 15_000;
const BACKOFF_BASE_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;
/** The second failure in a row is announced, and every hundredth after it. */
const ANNOUNCE_EVERY_FAILURES = 100;
/** A customer's refused changes beyond this number are not written to the event log; the list of them is complete. */
const LOGGED_MAX = 100;

export interface OutboxContext {
  store: CustomerStore;
  env: Pick<Env, 'DB'>;
  kv: KVNamespace;
  objectId: string;
  now: () => number;
}

/** One alarm's deliveries: how many batches may still be sent, and the refused changes that are to be logged. */
interface Round extends OutboxContext {
  batchesLeft: number;
  refused: { kind: string; id: string; reason: string }[];
}

/**
 * Sends what is due, and announces what is set aside. Never throws: a failure is recorded, and the next attempt is
 * scheduled.
 */
export async function deliver(context: OutboxContext): Promise<void> {
  await deliverDue(context);
  await announceSetAside(context, context.store, context.now);
}

async function deliverDue(context: OutboxContext): Promise<void> {
  const { store, now } = context;
  const before = store.delivery();
  // A first attempt is only delayed to fill its batch, so an alarm that fires for another reason may send it earlier.
  if (before.dueAtMs === null || (before.failures > 0 && before.dueAtMs > now())) return;
  const round: Round = { ...context, batchesLeft: BATCHES_MAX, refused: [] };
  try {
    while (round.batchesLeft > 0) {
      const { rows } = store.outboxPage(BATCH_CHANGES_MAX);
      if (!store.account() || rows.length === 0) break;
      await send(round, rows);
    }
    store.transaction(now(), () =>
      store.saveDelivery({ failures: 0, dueAtMs: store.hasOutbox ? now() : null, lastError: null }),
    );
    if (before.failures > 0) await announceBacklog(context, organizationIdOf(store), null);
  } catch (error) {
    const failures = before.failures + 1;
    const lastError = errorText(error);
    const delayMs = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (failures - 1));
    store.transaction(now(), () => store.saveDelivery({ failures, dueAtMs: now() + delayMs, lastError }));
    log('warn', 'outbox_delivery_failed', { objectId: context.objectId, failures }, error);
    if (failures % ANNOUNCE_EVERY_FAILURES === 2)
      await announceBacklog(context, organizationIdOf(store), store.outboxState().oldestMs);
  }
  await logRefused(round);
}

/**
 * Sends the oldest rows as one batch, or as halves of it where D1 refuses it. The result of each batch is stored before
 * the next one is sent, so a round may be interrupted at any point. Throws where D1 is away.
 */
async function send(round: Round, rows: readonly PlacedRow[]): Promise<void> {
  const { store, env, now } = round;
  const account = store.account();
  const last = rows.at(-1);
  if (round.batchesLeft === 0 || !account || !last) return;
  round.batchesLeft -= 1;
  const db = database(env, account.organizationId).$client;
  const statements = projectionStatements(db, account.subscription.id, projectRows(account, rows));
  try {
    if (statements.length > 0) await withTimeout(db.batch(statements), D1_TIMEOUT_MS, 'D1');
  } catch (error) {
    const reason = refusalReason(error);
    if (reason === null) throw error;
    if (rows.length === 1) return setAside(round, last, reason);
    const middle = Math.ceil(rows.length / 2);
    await send(round, rows.slice(0, middle));
    return send(round, rows.slice(middle));
  }
  store.transaction(now(), () => store.outboxSent({ rows: [...rows], place: last.place }, now()));
}

function setAside({ store, objectId, now, refused }: Round, row: PlacedRow, reason: string): void {
  const isNew = store.transaction(now(), () => store.outboxRefused(row, reason, now()));
  if (isNew && store.setAside.state().rows <= LOGGED_MAX) refused.push({ kind: row.kind, id: row.id, reason });
  log('warn', 'outbox_change_set_aside', { objectId, kind: row.kind, reason });
}

/** Best effort: the event log is in the database that refused the rows. */
async function logRefused({ store, env, objectId, now, refused }: Round): Promise<void> {
  const account = store.account();
  if (refused.length === 0 || !account) return;
  const { organizationId, customerId } = account;
  try {
    const event = { action: 'outbox.set_aside', subject: customerId, correlationId: objectId };
    const events = refused.map((after) => ({ ...event, after }));
    await withTimeout(recordServiceEvents(env, organizationId, events, now()), D1_TIMEOUT_MS, 'D1');
  } catch (error) {
    log('warn', 'set_aside_not_logged', { objectId }, error);
  }
}

/** A store that has rows for D1 has an account. */
function organizationIdOf(store: CustomerStore): string {
  return store.account()?.organizationId ?? '';
}
