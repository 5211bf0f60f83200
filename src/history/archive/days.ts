/**
 * The archive's state in D1: days of history that have yet to be written and their rows, erased customers of whom the
 * archive may still have rows, and the lease under which a run of the archive works.
 */

import { and, asc, eq, gt, isNotNull, lt, ne, or, sql } from 'drizzle-orm';
import { database, databaseNames, namedDatabase } from '../../config/database.ts';
import type { CustomerId, CustomerKey, OrganizationId } from '../../domain/ids.ts';
import type { Env } from '../../env.ts';
import type { DatabaseName } from '../../platform/database-name.ts';
import { DAY_MS } from '../../platform/time.ts';
import { PACKED_RATIO_MAX, REPEATED_VALUES, type Repeated, type StoredRecord, unpackRecord } from '../packed-record.ts';
import { archiveErasures, historyDays } from '../schema/index.ts';

/** In the archive's order. */
export const HISTORY_KINDS = ['call', 'meter_event', 'credit_entry'] as const;
type HistoryKind = (typeof HISTORY_KINDS)[number];

/** A row of a day's history. Rows are ordered by kind, time and id, which together are unique. */
export interface HistoryRow {
  kind: HistoryKind;
  atMs: number;
  /** Text compares as in D1: by its bytes. */
  id: string;
  customerId: CustomerId;
  revision: number;
  /** JSON: a `Call`, a `MeterEvent`, or a ledger entry without its time. */
  record: string;
}

/** A row's position in its day. */
export type HistoryPlace = Pick<HistoryRow, 'kind' | 'atMs' | 'id'>;

/** A day of an organization. */
export interface HistoryDay {
  organizationId: OrganizationId;
  dayMs: number;
}

export interface DayToArchive extends HistoryDay {
  /** Present if an earlier run has begun to write the day and nothing has changed since. */
  writing: string | null;
}

export interface ArchivedDay extends HistoryDay {
  archivedAtMs: number;
  archivedRows: number;
}

export interface ArchiveErasure extends CustomerKey {
  erasedAtMs: number;
  doneDayMs: number;
}

/** The most rows of one read, so that a page of rows fits into memory several times. */
const READ_ROWS_MAX = 2_000;
const READ_LENGTH_MAX = 4 * 1024 * 1024;

interface Source {
  table: string;
  at: string;
  id: string;
  revision: string;
  record: string;
  /** What unpacks the record, as SQL; absent if it is text. */
  repeated?: string;
}

const SOURCES: Record<HistoryKind, Source> = {
  call: {
    table: 'calls',
    at: 'started_at_ms',
    id: 'call_id',
    revision: 'revision',
    record: 'record',
    repeated: REPEATED_VALUES,
  },
  meter_event: { table: 'meter_events', at: 'at_ms', id: 'event_id', revision: 'revision', record: 'record' },
  credit_entry: {
    table: 'credit_entries',
    at: 'at_ms',
    // Entries are numbered for each customer.
    id: "printf('%012d', entry_id) || ' ' || customer_id",
    revision: 'revision',
    record: `json_object('unit', unit, 'cause', cause, 'amount', amount, 'balance', balance, 'creditId', credit_id, 'reference', reference,
      'subject', IIF(subject_id IS NULL, NULL, json_object('kind', subject_kind, 'id', subject_id)), 'correction', correction)`,
  },
};

/** A row as D1 answers it; `length` is at least that of its record's text. */
interface StoredRow extends Omit<HistoryRow, 'kind' | 'record'> {
  kind: number;
  record: StoredRecord;
  repeated: string | null;
  length: number;
}

/** Each kind has three bounds: the time to start from, the id at that time to start after, and the organization. */
const READ = `SELECT kind, atMs, id, customerId, revision, record, repeated, length FROM (
    SELECT *, SUM(length) OVER (ORDER BY kind, atMs, id ROWS UNBOUNDED PRECEDING) - length AS lengthBefore FROM (
      ${HISTORY_KINDS.map((kind, index) => {
        const { table, at, id, revision, record, repeated = 'NULL' } = SOURCES[kind];
        const [from, after] = [`?${index * 2 + 3}`, `?${index * 2 + 4}`];
        return `SELECT * FROM (SELECT ${index} AS kind, ${at} AS atMs, ${id} AS id, customer_id AS customerId, ${revision} AS revision, ${record} AS record,
          ${repeated} AS repeated, LENGTH(${record}) * IIF(typeof(${record}) = 'blob', ${PACKED_RATIO_MAX}, 1) AS length
        FROM ${table} WHERE organization_id = ?1 AND ${at} >= ${from} AND ${at} < ?2 AND (${at} > ${from} OR ${id} > ${after})
        ORDER BY ${at}, 3 LIMIT ${READ_ROWS_MAX})`;
      }).join('\n      UNION ALL\n      ')}
      ORDER BY 1, 2, 3 LIMIT ${READ_ROWS_MAX}))
  WHERE lengthBefore < ${READ_LENGTH_MAX} ORDER BY kind, atMs, id`;

/** Some of the day's rows in D1, in their order, from the one after `after`. */
export async function readHistory(
  env: Env,
  { organizationId, dayMs }: HistoryDay,
  after: HistoryPlace | null,
): Promise<{ rows: HistoryRow[]; isLast: boolean }> {
  const db = (await database(env, organizationId)).$client;
  const reached = after === null ? 0 : HISTORY_KINDS.indexOf(after.kind);
  const bounds = HISTORY_KINDS.flatMap((_, kind): [number, string] => {
    if (after === null || kind > reached) return [dayMs, ''];
    return kind < reached ? [dayMs + DAY_MS, ''] : [after.atMs, after.id];
  });
  const { results } = await db
    .prepare(READ)
    .bind(organizationId, dayMs + DAY_MS, ...bounds)
    .all<StoredRow>();
  const length = results.reduce((sum, row) => sum + row.length, 0);
  return {
    rows: results.map(({ kind, record, repeated, length: _, ...row }) => ({
      ...row,
      kind: HISTORY_KINDS[kind] ?? 'call',
      record: unpackRecord(record, JSON.parse(repeated ?? '[]') as Repeated),
    })),
    isLast: results.length < READ_ROWS_MAX && length < READ_LENGTH_MAX,
  };
}

/** Days before `closedBeforeMs` whose present state the archive does not have, the oldest first. */
export async function findDaysToArchive(
  env: Env,
  name: DatabaseName,
  closedBeforeMs: number,
  daysMax: number,
): Promise<DayToArchive[]> {
  const { organizationId, dayMs, state, generation } = historyDays;
  const rows = await namedDatabase(env, name)
    .select({ organizationId, dayMs, state, generation })
    .from(historyDays)
    .where(and(sql`${state} <> 'ARCHIVED'`, lt(dayMs, closedBeforeMs)))
    .orderBy(asc(dayMs))
    .limit(daysMax);
  return rows.map(({ state: now, generation: begun, ...day }) => ({
    ...day,
    writing: now === 'WRITING' ? begun : null,
  }));
}

/** Call this before the first row of a day is read: from then on, a change is noticed. */
export async function beginDay(env: Env, { organizationId, dayMs }: HistoryDay, generation: string): Promise<void> {
  await (await database(env, organizationId))
    .insert(historyDays)
    .values({ organizationId, dayMs, state: 'WRITING', generation })
    .onConflictDoUpdate({
      target: [historyDays.organizationId, historyDays.dayMs],
      set: { state: 'WRITING', generation },
    });
}

/** The day has to be written from its beginning. */
export async function restartDay(env: Env, { organizationId, dayMs }: HistoryDay): Promise<void> {
  await (await database(env, organizationId))
    .update(historyDays)
    .set({ state: 'CHANGED' })
    .where(isDay(organizationId, dayMs));
}

/** Whether the day that is being written is unchanged since the writing began. */
export async function isUnchanged(env: Env, { organizationId, dayMs }: HistoryDay): Promise<boolean> {
  const found = await (await database(env, organizationId))
    .select({ state: historyDays.state })
    .from(historyDays)
    .where(isDay(organizationId, dayMs));
  return found[0]?.state === 'WRITING';
}

/** Records that the archive has the day. If it has changed meanwhile, it remains to be archived. */
export async function finishDay(env: Env, day: HistoryDay, archivedRows: number, nowMs: number): Promise<void> {
  await (await database(env, day.organizationId))
    .update(historyDays)
    .set({
      state: sql`CASE state WHEN 'WRITING' THEN 'ARCHIVED' ELSE state END`,
      generation: null,
      archivedAtMs: nowMs,
      archivedRows,
    })
    .where(isDay(day.organizationId, day.dayMs));
}

const isDay = (organizationId: OrganizationId, dayMs: number) =>
  and(eq(historyDays.organizationId, organizationId), eq(historyDays.dayMs, dayMs));

/** Archived days of all databases after a day of an organization, in the order of organizations and days. */
export async function findArchivedDays(env: Env, after: HistoryDay | null, daysMax: number): Promise<ArchivedDay[]> {
  const { organizationId, dayMs, archivedAtMs, archivedRows } = historyDays;
  const isAfter = after
    ? or(
        gt(organizationId, after.organizationId),
        and(eq(organizationId, after.organizationId), gt(dayMs, after.dayMs)),
      )
    : undefined;
  const found = await Promise.all(
    databaseNames(env).map((name) =>
      namedDatabase(env, name)
        .select({ organizationId, dayMs, archivedAtMs, archivedRows })
        .from(historyDays)
        .where(and(isNotNull(archivedAtMs), isAfter))
        .orderBy(asc(organizationId), asc(dayMs))
        .limit(daysMax),
    ),
  );
  return found
    .flat()
    .map((row) => ({ ...row, archivedAtMs: row.archivedAtMs ?? 0, archivedRows: row.archivedRows ?? 0 }))
    .sort((a, b) =>
      a.organizationId === b.organizationId ? a.dayMs - b.dayMs : a.organizationId < b.organizationId ? -1 : 1,
    )
    .slice(0, daysMax);
}

/** Days of an organization after one, archived or not. */
export async function findHistoryDays(
  env: Env,
  organizationId: OrganizationId,
  afterDayMs: number,
  daysMax: number,
): Promise<{ dayMs: number; isArchived: boolean; writing: string | null }[]> {
  const rows = await (await database(env, organizationId))
    .select({ dayMs: historyDays.dayMs, state: historyDays.state, generation: historyDays.generation })
    .from(historyDays)
    .where(and(eq(historyDays.organizationId, organizationId), gt(historyDays.dayMs, afterDayMs)))
    .orderBy(asc(historyDays.dayMs))
    .limit(daysMax);
  return rows.map(({ dayMs, state, generation }) => {
    return { dayMs, isArchived: state === 'ARCHIVED', writing: state === 'WRITING' ? generation : null };
  });
}

/** The archive's backlog: closed days that it does not have, and erasures that it has not finished. */
export async function readArchiveBacklog(
  env: Env,
  closedBeforeMs: number,
): Promise<{ days: number; oldestDayMs: number | null; erasures: number }> {
  const found = await Promise.all(
    databaseNames(env).map(async (name) => {
      const db = namedDatabase(env, name).$client;
      const sqlText = `SELECT COUNT(*) AS days, MIN(day_ms) AS oldestDayMs, (SELECT COUNT(*) FROM archive_erasures) AS erasures
        FROM history_days WHERE state <> 'ARCHIVED' AND day_ms < ?`;
      return db
        .prepare(sqlText)
        .bind(closedBeforeMs)
        .first<{ days: number; oldestDayMs: number | null; erasures: number }>();
    }),
  );
  const oldest = found.flatMap((row) => row?.oldestDayMs ?? []);
  return {
    days: found.reduce((sum, row) => sum + (row?.days ?? 0), 0),
    oldestDayMs: oldest.length === 0 ? null : Math.min(...oldest),
    erasures: found.reduce((sum, row) => sum + (row?.erasures ?? 0), 0),
  };
}

/**
 * From then on, the archive answers with none of the customer's earlier rows, and a run of the archive rewrites the
 * objects that hold one. Call this before rows are deleted from D1.
 */
export async function markArchiveErased(
  env: Env,
  { organizationId, customerId }: CustomerKey,
  nowMs: number,
): Promise<void> {
  const db = (await database(env, organizationId)).$client;
  await db.batch([
    db
      .prepare(
        `INSERT INTO archive_erasures (organization_id, customer_id, erased_at_ms, done_day_ms)
         SELECT ?1, ?2, ?3, -1 WHERE EXISTS (
           SELECT 1 FROM history_days WHERE organization_id = ?1 AND (archived_at_ms IS NOT NULL OR generation IS NOT NULL))
         ON CONFLICT DO UPDATE SET erased_at_ms = excluded.erased_at_ms, done_day_ms = -1`,
      )
      .bind(organizationId, customerId, nowMs),
    // Earlier reads may hold rows of the customer.
    db
      .prepare(`UPDATE history_days SET state = 'CHANGED' WHERE organization_id = ? AND state = 'WRITING'`)
      .bind(organizationId),
  ]);
}

/** The time before which rows of the customer are erased; `null` if there is none. */
export async function findErasedAt(env: Env, { organizationId, customerId }: CustomerKey): Promise<number | null> {
  const [row] = await (await database(env, organizationId))
    .select({ erasedAtMs: archiveErasures.erasedAtMs })
    .from(archiveErasures)
    .where(isErasure({ organizationId, customerId }));
  return row?.erasedAtMs ?? null;
}

/** Erased customers of an organization of whom the archive may still have rows. */
export async function findArchivedErasures(env: Env, organizationId: OrganizationId): Promise<ArchiveErasure[]> {
  const db = await database(env, organizationId);
  return db.select().from(archiveErasures).where(eq(archiveErasures.organizationId, organizationId));
}

export async function findErasures(env: Env, name: DatabaseName, erasuresMax: number): Promise<ArchiveErasure[]> {
  return namedDatabase(env, name).select().from(archiveErasures).limit(erasuresMax);
}

/**
 * Records that no day up to that one has rows of the customer any more. Changes nothing if the customer was erased
 * again.
 */
export async function advanceErasure(env: Env, erasure: ArchiveErasure, doneDayMs: number): Promise<void> {
  await (await database(env, erasure.organizationId))
    .update(archiveErasures)
    .set({ doneDayMs })
    .where(and(isErasure(erasure), eq(archiveErasures.erasedAtMs, erasure.erasedAtMs)));
}

export async function finishErasure(env: Env, erasure: ArchiveErasure): Promise<void> {
  await (await database(env, erasure.organizationId))
    .delete(archiveErasures)
    .where(and(isErasure(erasure), eq(archiveErasures.erasedAtMs, erasure.erasedAtMs)));
}

const isErasure = ({ organizationId, customerId }: Pick<ArchiveErasure, 'organizationId' | 'customerId'>) =>
  and(eq(archiveErasures.organizationId, organizationId), eq(archiveErasures.customerId, customerId));

/** Takes a database for one run, unless another has it. */
export async function takeLease(
  env: Env,
  name: DatabaseName,
  { nowMs, untilMs }: { nowMs: number; untilMs: number },
): Promise<boolean> {
  const text = `INSERT INTO archive_lease (id, until_ms) VALUES (1, ?1)
    ON CONFLICT DO UPDATE SET until_ms = excluded.until_ms WHERE until_ms <= ?2 RETURNING 1`;
  const { results } = await namedDatabase(env, name).$client.prepare(text).bind(untilMs, nowMs).all();
  return results.length > 0;
}

export async function releaseLease(env: Env, name: DatabaseName, untilMs: number): Promise<void> {
  const text = 'DELETE FROM archive_lease WHERE until_ms = ?';
  await namedDatabase(env, name).$client.prepare(text).bind(untilMs).run();
}

/** Forgets days without stored rows, if there is no archive. */
export async function forgetOldDays(env: Env, name: DatabaseName, beforeMs: number): Promise<void> {
  await namedDatabase(env, name)
    .delete(historyDays)
    .where(and(lt(historyDays.dayMs, beforeMs), ne(historyDays.state, 'WRITING')));
}
