/**
 * The event log in D1: ids of its rows, and what the service itself writes there.
 */
import { database } from './database.ts';
import { operatorEvents } from './schema.ts';

/** For the event log. */
const ACTOR = 'service';

export interface ServiceEvent {
  action: string;
  organizationId: string;
  subject: string;
  after: unknown;
  correlationId: string;
}

/** Events that one statement inserts: D1 binds 100 values in one. */
const EVENTS_MAX = 10;

export async function recordServiceEvents(
  db: D1Database,
  events: readonly ServiceEvent[],
  nowMs: number,
): Promise<void> {
  const rows = events.map((event) => ({
    ...event,
    eventId: newEventId(nowMs),
    atMs: nowMs,
    actor: ACTOR,
    before: null,
  }));
  for (let from = 0; from < rows.length; from += EVENTS_MAX) {
    await database(db)
      .insert(operatorEvents)
      .values(rows.slice(from, from + EVENTS_MAX));
  }
}

/** Ascending in time, unique at any moment. */
export function newEventId(nowMs: number): string {
  return `evt_${nowMs.toString(36).padStart(9, '0')}${crypto.randomUUID().replaceAll('-', '').slice(0, 12)}`;
}
