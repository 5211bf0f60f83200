/**
 * The event log in D1: what operators and the service itself did.
 */
import { and, asc, desc, eq, gte, inArray, lt } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { eventIdsFrom, newEventId } from '../platform/event-id.ts';
import { configDatabase } from './database.ts';
import { operatorEvents } from './schema/index.ts';

/** For the event log. */
const ACTOR = 'service';

export interface ServiceEvent {
  action: string;
  subject: string;
  after: unknown;
  correlationId: string;
}

/** Events that one statement inserts: D1 binds 100 values in one. */
const EVENTS_MAX = 10;

export async function recordServiceEvents(
  env: Pick<Env, 'DB'>,
  organizationId: string,
  events: readonly ServiceEvent[],
  nowMs: number,
): Promise<void> {
  const rows = events.map((event) => ({
    ...event,
    organizationId,
    eventId: newEventId(nowMs),
    atMs: nowMs,
    actor: ACTOR,
    before: null,
  }));
  for (let from = 0; from < rows.length; from += EVENTS_MAX) {
    await configDatabase(env)
      .insert(operatorEvents)
      .values(rows.slice(from, from + EVENTS_MAX));
  }
}

export type EventRow = typeof operatorEvents.$inferSelect;

/** The newest events, of one organization or of all; one more than asked for tells whether there are more. */
export function findEvents(
  env: Env,
  organizationId: string | undefined,
  after: string | null,
  limit: number,
): Promise<EventRow[]> {
  return configDatabase(env)
    .select()
    .from(operatorEvents)
    .where(
      and(
        organizationId === undefined ? undefined : eq(operatorEvents.organizationId, organizationId),
        after === null ? undefined : lt(operatorEvents.eventId, after),
      ),
    )
    .orderBy(desc(operatorEvents.eventId))
    .limit(limit + 1);
}

/** The newest events of one action, from an instant on. */
export function findEventsSince(
  env: Env,
  organizationId: string,
  action: string,
  sinceMs: number,
  limit: number,
): Promise<EventRow[]> {
  return configDatabase(env)
    .select()
    .from(operatorEvents)
    .where(
      and(
        eq(operatorEvents.organizationId, organizationId),
        gte(operatorEvents.eventId, eventIdsFrom(sinceMs)),
        eq(operatorEvents.action, action),
      ),
    )
    .orderBy(desc(operatorEvents.eventId))
    .limit(limit);
}

/** Events of some actions of an organization from an id on, the oldest first. Their ids sort by the time of the change. */
export function findEventsFrom(
  env: Env,
  organizationId: string,
  actions: readonly string[],
  fromEventId: string,
  limit: number,
): Promise<EventRow[]> {
  const { eventId, action } = operatorEvents;
  return configDatabase(env)
    .select()
    .from(operatorEvents)
    .where(
      and(eq(operatorEvents.organizationId, organizationId), gte(eventId, fromEventId), inArray(action, [...actions])),
    )
    .orderBy(asc(eventId))
    .limit(limit);
}
