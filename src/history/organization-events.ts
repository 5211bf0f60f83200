/**
 * The events of organizations, in D1. They come with the projection, a second or so behind the customers' objects. The
 * event log of operators' actions is in `config/events.ts`.
 */

import { and, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm';
import { type Database, database } from '../config/database.ts';
import { EVENT_RETENTION_DAYS } from '../contract/events.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { eventIdsFrom } from '../platform/event-id.ts';
import { makePage, type Page, type PageRequest } from '../platform/page.ts';
import { DAY_MS } from '../platform/time.ts';
import { organizationEvents } from './schema/index.ts';

export interface EventFilter {
  type?: string | undefined;
  customerId?: CustomerId | undefined;
  /** From, inclusive, and to, exclusive. */
  fromMs?: number | undefined;
  toMs?: number | undefined;
}

export interface OrganizationEventRow {
  eventId: string;
  type: string;
  atMs: number;
  data: unknown;
}

/** An event that no customer's object recorded: an operator's change, or a finding of the service. */
export interface NewOrganizationEvent extends OrganizationEventRow {
  /** `null` if it does not concern a customer. */
  customerId: CustomerId | null;
}

/** Events that one statement inserts. */
const INSERT_ROWS_MAX = 500;
/** Events that one statement deletes, and statements of one run. */
const DELETE_ROWS_MAX = 5_000;
const DELETE_ROUNDS_MAX = 100;

/** Events, newest first: their ids sort by time. */
export async function findOrganizationEvents(
  env: Env,
  organizationId: OrganizationId,
  { type, customerId, fromMs, toMs }: EventFilter,
  { after, limit }: PageRequest,
): Promise<Page<OrganizationEventRow>> {
  const { eventId } = organizationEvents;
  const given = <Value>(value: Value | undefined | null, condition: (value: Value) => SQL) =>
    value == null ? undefined : condition(value);
  const rows = await (await database(env, organizationId))
    .select({ eventId, type: organizationEvents.type, atMs: organizationEvents.atMs, data: organizationEvents.record })
    .from(organizationEvents)
    .where(
      and(
        eq(organizationEvents.organizationId, organizationId),
        given(type, (value) => eq(organizationEvents.type, value)),
        given(customerId, (value) => eq(organizationEvents.customerId, value)),
        given(fromMs, (value) => gte(eventId, eventIdsFrom(value))),
        given(toMs, (value) => lt(eventId, eventIdsFrom(value))),
        given(after, (value) => lt(eventId, value)),
      ),
    )
    .orderBy(desc(eventId))
    .limit(limit + 1);
  return makePage(rows, limit, (row) => row.eventId);
}

/** Records events. An event whose id exists is left unchanged, so the same events may be sent again. */
export async function insertOrganizationEvents(
  env: Env,
  organizationId: OrganizationId,
  events: readonly NewOrganizationEvent[],
): Promise<void> {
  const db = await database(env, organizationId);
  for (let from = 0; from < events.length; from += INSERT_ROWS_MAX) {
    const rows = JSON.stringify(events.slice(from, from + INSERT_ROWS_MAX));
    await db.run(
      sql`INSERT INTO organization_events (organization_id, event_id, customer_id, type, at_ms, record, revision)
        SELECT ${organizationId}, value ->> 'eventId', value ->> 'customerId', value ->> 'type', value ->> 'atMs', value -> 'data', 1
        FROM json_each(${rows}) WHERE true
        ON CONFLICT DO NOTHING`,
    );
  }
}

/** An event in the form that is sent: its data is JSON text, as the recorder wrote it. */
export interface RecordedEvent {
  place: number;
  eventId: string;
  customerId: CustomerId | null;
  type: string;
  atMs: number;
  data: string;
}

const RECORDED = sql`place, event_id AS eventId, customer_id AS customerId, type, at_ms AS atMs, record AS data`;

/** Events after a position, in the order in which they were recorded. */
export async function findEventsAfter(
  env: Env,
  organizationId: OrganizationId,
  place: number,
  rowsMax: number,
): Promise<RecordedEvent[]> {
  return (await database(env, organizationId)).all<RecordedEvent>(
    sql`SELECT ${RECORDED} FROM organization_events WHERE organization_id = ${organizationId} AND place > ${place}
      ORDER BY place LIMIT ${rowsMax}`,
  );
}

/** Events after an id and before another, oldest first. */
export async function findEventsBetween(
  env: Env,
  organizationId: OrganizationId,
  afterId: string,
  beforeId: string,
  rowsMax: number,
): Promise<RecordedEvent[]> {
  return (await database(env, organizationId)).all<RecordedEvent>(
    sql`SELECT ${RECORDED} FROM organization_events
      WHERE organization_id = ${organizationId} AND event_id > ${afterId} AND event_id < ${beforeId}
      ORDER BY event_id LIMIT ${rowsMax}`,
  );
}

export async function findRecordedEvent(
  env: Env,
  organizationId: OrganizationId,
  eventId: string,
): Promise<RecordedEvent | null> {
  const [event] = await (await database(env, organizationId)).all<RecordedEvent>(
    sql`SELECT ${RECORDED} FROM organization_events WHERE organization_id = ${organizationId} AND event_id = ${eventId}`,
  );
  return event ?? null;
}

/** The position of the event that was recorded last; 0 if there is none. */
export async function findLastPlace(env: Env, organizationId: OrganizationId): Promise<number> {
  const [row] = await (await database(env, organizationId)).all<{ place: number | null }>(
    sql`SELECT MAX(place) AS place FROM organization_events WHERE organization_id = ${organizationId}`,
  );
  return row?.place ?? 0;
}

/** Deletes events that are past their retention. The next run does the rest. */
export async function deleteExpiredEvents(db: Database, nowMs: number): Promise<void> {
  const beforeMs = nowMs - EVENT_RETENTION_DAYS * DAY_MS;
  for (let round = 0; round < DELETE_ROUNDS_MAX; round += 1) {
    const { meta } = await db.run(
      sql`DELETE FROM organization_events WHERE rowid IN (
        SELECT rowid FROM organization_events WHERE at_ms < ${beforeMs} ORDER BY at_ms LIMIT ${DELETE_ROWS_MAX})`,
    );
    if (meta.changes < DELETE_ROWS_MAX) break;
  }
}
