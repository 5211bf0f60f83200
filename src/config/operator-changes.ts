/**
 * The writes of an operator's change: its statements, its event and the answer for a repeated request, as one
 * transaction.
 *
 * The transaction is in the configuration's database. History may be in another one, so a change of history is made
 * before, and may be repeated.
 */
import { eq, sql } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { newEventId } from '../platform/event-id.ts';
import { configDatabase, type Statement } from './database.ts';
import { BY_TENANT, operatorEvents, operatorIdempotency } from './schema/index.ts';

export type StoredAnswer = typeof operatorIdempotency.$inferInsert;
export type NewEvent = Omit<typeof operatorEvents.$inferInsert, 'eventId'>;

export async function findStoredAnswer(env: Env, idempotencyKey: string): Promise<StoredAnswer | null> {
  const [row] = await configDatabase(env)
    .select()
    .from(operatorIdempotency)
    .where(eq(operatorIdempotency.idempotencyKey, idempotencyKey));
  return row ?? null;
}

/**
 * The most events of one organization, among those that it can cause itself, that the log keeps, the newest ones: fewer
 * than a page has, so that one organization never fills it.
 */
const TENANT_EVENTS_MAX = 100;
/** The most older events that one change removes. */
const REMOVED_EVENTS_MAX = 500;

/** Commits the change. Throws an error that `isTaken` recognizes if another change came first. */
export async function commitStatements(
  env: Env,
  statements: readonly Statement[],
  event: NewEvent,
  answer: StoredAnswer | null,
): Promise<void> {
  const db = configDatabase(env);
  const inserted = db.insert(operatorEvents).values({ ...event, eventId: newEventId(event.atMs) });
  const stored = answer ? [db.insert(operatorIdempotency).values(answer)] : [];
  const beyond = db.delete(operatorEvents).where(
    sql`event_id IN (SELECT event_id FROM operator_events WHERE organization_id = ${event.organizationId} AND ${BY_TENANT}
      ORDER BY event_id DESC LIMIT ${REMOVED_EVENTS_MAX} OFFSET ${TENANT_EVENTS_MAX})`,
  );
  await db.batch([inserted, ...statements, ...stored, ...(event.organizationId === null ? [] : [beyond])]);
}

/**
 * Whether a commit failed because another request has taken a unique key, or changed the row that this one was to
 * replace or relied on (`replaceMappings`, `failIfArchived`). D1 reports this only in words, and drizzle wraps them.
 */
export function isTaken(error: unknown): boolean {
  const { message, cause } = error as Error;
  return /UNIQUE constraint failed|malformed JSON/.test(message) || (cause instanceof Error && isTaken(cause));
}
