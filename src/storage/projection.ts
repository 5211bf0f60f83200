/**
 * The delivery of a customer's changes to D1, as one batch, which D1 runs as one transaction.
 *
 * Each table is written by one `INSERT ... SELECT` of a JSON array, guarded by the row's revision: a row that is sent
 * twice, or late, changes nothing. It is guarded by the subscription too: one that was erased gets no row any more.
 * What calls and denied calls change of the usage is found under the same guards, and counted once for the whole batch.
 */
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { CHANGE_COLUMNS, COUNT_USAGE, USAGE_FIGURES, usageOfCalls } from './roll-ups.ts';
import type { calls, creditEntries, customers, deniedHours, meterEvents } from './schema/index.ts';

/** Characters of one bound value. D1 takes 2 MB, and a character has up to three bytes. */
const VALUE_LENGTH_MAX = 500_000;

/** The projection's tables: their key, and the columns whose decimal strings become 64-bit integers. */
const TABLES = {
  customers: { key: ['organization_id', 'customer_id'], integers: [] },
  calls: {
    key: ['organization_id', 'call_id'],
    integers: ['standard_cost_nano_usd', 'cost_nano_usd', 'cost_avoided_nano_usd'],
  },
  denied_hours: { key: ['organization_id', 'customer_id', 'hour_ms', 'feature'], integers: [] },
  meter_events: { key: ['organization_id', 'event_id'], integers: [] },
  credit_entries: { key: ['organization_id', 'customer_id', 'entry_id'], integers: [] },
} as const;

type Table = keyof typeof TABLES;

/** The names of a table's columns in D1. */
type ColumnOf<T> = {
  [Name in keyof T]: T[Name] extends SQLiteColumn ? T[Name]['_']['name'] : never;
}[keyof T];

/**
 * A row in all its columns; the record is JSON already. A column that is added to the schema has to be added to each.
 */
interface Row<T> {
  columns: Record<Exclude<ColumnOf<T>, 'record' | 'delivery'>, unknown>;
  record?: string;
}

export interface ProjectedRows {
  customers: Row<typeof customers>[];
  calls: Row<typeof calls>[];
  deniedHours: Row<typeof deniedHours>[];
  meterEvents: Row<typeof meterEvents>[];
  creditEntries: Row<typeof creditEntries>[];
}

type AnyRow = { columns: Record<string, unknown>; record?: string };

/** The statements that bring the rows of a subscription to D1, for one batch. No row is there twice. */
export function projectionStatements(
  db: D1Database,
  subscriptionId: string,
  rows: ProjectedRows,
): D1PreparedStatement[] {
  const counted = [
    ...chunksOf(rows.calls).flatMap((chunk) => upsertCalls(db, subscriptionId, chunk)),
    ...chunksOf(rows.deniedHours).flatMap((chunk) => [
      countDenied(db, subscriptionId, chunk),
      upsert(db, subscriptionId, 'denied_hours', chunk),
    ]),
  ];
  const others = (table: Table, some: readonly AnyRow[]) =>
    chunksOf(some).map((chunk) => upsert(db, subscriptionId, table, chunk));
  return [
    ...others('customers', rows.customers),
    ...counted,
    ...(counted.length > 0 ? COUNT_USAGE.map((sql) => db.prepare(sql)) : []),
    ...others('meter_events', rows.meterEvents),
    ...others('credit_entries', rows.creditEntries),
  ];
}

const NOT_ERASED = 'NOT EXISTS (SELECT 1 FROM erased_subscriptions WHERE subscription_id = ?2)';

/** Inserts the rows, or updates older ones. `delivery` marks calls. */
function upsert(
  db: D1Database,
  subscriptionId: string,
  table: Table,
  chunk: Chunk,
  delivery?: number,
): D1PreparedStatement {
  const { key, integers }: { key: readonly string[]; integers: readonly string[] } = TABLES[table];
  const { columns, record } = chunk.first;
  const sent = [...Object.keys(columns), ...(record === undefined ? [] : ['record'])];
  const names = [...sent, ...(delivery === undefined ? [] : ['delivery'])];
  const values = [...valuesOf(sent, integers), ...(delivery === undefined ? [] : ['?3'])];
  const updates = names.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
  const sql = `WITH sent AS MATERIALIZED (SELECT jsonb(value) AS row FROM json_each(?1))
    INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM sent
    WHERE ${NOT_ERASED}
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${updates.join(', ')} WHERE excluded.revision > ${table}.revision`;
  return db.prepare(sql).bind(textOf(chunk), subscriptionId, ...(delivery === undefined ? [] : [delivery]));
}

/**
 * Calls count as they are after the upsert, and no longer as they were before it. `delivery` is a random number that
 * the upsert writes to the rows that it changes: those count again afterwards. Rows that bear it already, because the
 * same batch runs twice or two numbers are equal by chance, are taken back first, so that the sums are exact in any
 * case.
 */
function upsertCalls(db: D1Database, subscriptionId: string, chunk: Chunk): D1PreparedStatement[] {
  const [delivery = 0] = crypto.getRandomValues(new Uint32Array(1));
  const keys = JSON.stringify(
    chunk.rows.map(({ columns }) => [columns.organization_id, columns.call_id, columns.revision]),
  );
  const count = (sql: string) => db.prepare(sql).bind(keys, subscriptionId, delivery);
  return [count(UNCOUNT_CALLS), upsert(db, subscriptionId, 'calls', chunk, delivery), count(COUNT_CALLS)];
}

const SENT_CALLS = `json_each(?1) sent CROSS JOIN calls
  ON calls.organization_id = sent.value ->> 0 AND calls.call_id = sent.value ->> 1`;
const UNCOUNT_CALLS = `INSERT INTO usage_changes (${CHANGE_COLUMNS}) ${usageOfCalls(`(
  SELECT -1 AS sign, calls.* FROM ${SENT_CALLS}
  WHERE (sent.value ->> 2 > calls.revision OR calls.delivery = ?3) AND ${NOT_ERASED})`)}`;
const COUNT_CALLS = `INSERT INTO usage_changes (${CHANGE_COLUMNS}) ${usageOfCalls(`(
  SELECT 1 AS sign, calls.* FROM ${SENT_CALLS} WHERE calls.delivery = ?3 AND ${NOT_ERASED})`)}`;

const DENIED_COLUMNS = ['organization_id', 'customer_id', 'hour_ms', 'feature', 'calls'];
const COUNT_DENIED = `WITH sent AS MATERIALIZED (
    SELECT ${DENIED_COLUMNS.map((name, place) => `value ->> ${place} AS ${name}`).join(', ')}
    FROM json_each(?1) WHERE ${NOT_ERASED})
  INSERT INTO usage_changes (${CHANGE_COLUMNS})
  SELECT organization_id, customer_id, feature, '', '', 'NOT_ALLOWED', '', hour_ms, sent.calls - COALESCE(denied_hours.calls, 0),
    ${USAGE_FIGURES.slice(1)
      .map(() => 0)
      .join(', ')}
  FROM sent LEFT JOIN denied_hours USING (organization_id, customer_id, hour_ms, feature)
  WHERE sent.calls > COALESCE(denied_hours.calls, 0)`;

/** Denied calls that come as a count, which only grows: what it grew by counts. To be run before the upsert. */
function countDenied(db: D1Database, subscriptionId: string, { rows }: Chunk): D1PreparedStatement {
  const sent = rows.map(({ columns }) => DENIED_COLUMNS.map((name) => columns[name]));
  return db.prepare(COUNT_DENIED).bind(JSON.stringify(sent), subscriptionId);
}

/**
 * Each value of a row by its place: rows cross as arrays, because a value is found by its place at less cost than by
 * its name, and in JSONB without parsing the row again.
 */
function valuesOf(names: readonly string[], integers: readonly string[]): string[] {
  return names.map((name, place) =>
    integers.includes(name) ? `CAST(row ->> ${place} AS INTEGER)` : `row ->> ${place}`,
  );
}

/** Rows for one statement. */
interface Chunk {
  first: AnyRow;
  rows: AnyRow[];
  texts: string[];
}

/** The rows in as many parts as their values need, which must not be too long for one statement. */
function chunksOf(rows: readonly AnyRow[]): Chunk[] {
  const chunks: Chunk[] = [];
  let length = 0;
  for (const row of rows) {
    const text = rowText(row);
    const chunk = chunks.at(-1);
    length += text.length;
    if (chunk && length <= VALUE_LENGTH_MAX) {
      chunk.rows.push(row);
      chunk.texts.push(text);
    } else {
      chunks.push({ first: row, rows: [row], texts: [text] });
      length = text.length;
    }
  }
  return chunks;
}

const textOf = ({ texts }: Chunk) => `[${texts.join(',')}]`;

/** The row as an array. The record goes as it is, and what `->>` makes of it is the same text again. */
function rowText({ columns, record }: AnyRow): string {
  const text = JSON.stringify(Object.values(columns));
  return record === undefined ? text : `${text.slice(0, -1)},${record}]`;
}
