/**
 * What an operator's change writes: its statements, its event and the answer for a repeated request, as one
 * transaction.
 *
 * The transaction is one of the database with the configuration. History may be in another one, so a change of history
 * is made before, and may be repeated.
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
 * Events of one organization that the log keeps of those that it can cause by itself, the newest ones: fewer than a page has,
 * so that one organization never fills it.
 */
const TENANT_EVENTS_MAX = 100;
/** Older ones that one change removes. */
const REMOVED_EVENTS_MAX = 500;

/** Commits the change. Throws where another one came first, which `isTaken` recognizes. */
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
 * Whether a commit failed because another request has taken a unique key, or changed what this one was to replace
 * or relied on (`replaceMappings`, `failIfArchived`). D1 says so in words alone, and drizzle wraps them.
 */
export function isTaken(error: unknown): boolean {
  const { message, cause } = error as Error;
  return /UNIQUE constraint failed|malformed JSON/.test(message) || (cause instanceof Error && isTaken(cause));
}
