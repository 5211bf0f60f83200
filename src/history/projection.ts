/**
 * The delivery of customers' changes to D1, as one batch, which D1 runs as one transaction.
 *
 * Each table is written by one `INSERT ... SELECT` of a JSON array with the rows of all customers, guarded by the row's
 * revision: a row that is sent twice, or late, changes nothing. It is guarded by its subscription too: one that was
 * erased gets no row any more. What calls and denied calls change of the usage is found under the same guards, and
 * counted once for the whole batch.
 */

import type { Change, ChangeKind, ProjectionPage } from '../objects/projection-page.ts';
import { DAY_MS, SECOND_MS } from '../platform/time.ts';
import { COUNT_USAGE, COUNTED_COLUMNS, noteChanges, USAGE_FIGURES, usageOfCalls } from './roll-ups.ts';

/** Characters of one bound value. D1 takes 2 MB, and a character has up to three bytes. */
const VALUE_LENGTH_MAX = 500_000;

interface Table {
  name: string;
  key: readonly string[];
  /** Columns whose decimal strings become 64-bit integers. */
  integers: readonly string[];
  /** The column that comes packed, in hexadecimal, or as text. */
  packed?: string;
  /**
   * Columns that never change. An update leaves them out, because SQLite writes every index anew of which a column is set.
   */
  fixed?: readonly string[];
  /**
   * Columns that seldom change. A statement of its own sets them, in the rows in which one does, so that a change of the
   * others leaves their indexes alone.
   */
  rare?: readonly string[];
  /** What a column becomes in an update, where that is not what came. */
  merged?: Readonly<Record<string, string>>;
  /** Rows never change, and one that another of its key or of a unique index came before is left out. */
  isOnce?: true;
}

/** D1's own clock, in milliseconds. */
export const CLOCK_MS = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

const TABLES: Record<ChangeKind, Table> = {
  customer: {
    name: 'customers',
    key: ['organization_id', 'customer_id'],
    integers: ['period_cost_usd', 'period_cost_rest_nano_usd'],
    rare: [
      'friendly_name',
      'customer_id_lower',
      'friendly_name_lower',
      'email',
      'email_lower',
      'stripe_customer_id',
      'subscription_id',
      'subscription_version',
      'plan_id',
      'usage_plan_version_id',
      'pending_usage_plan_version_id',
      'created_at_ms',
      'last_replenished_at_ms',
      'next_replenish_at_ms',
      'canceled_at_ms',
    ],
    merged: {
      // The object no longer has old calls.
      last_call_at_ms: 'MAX(excluded.last_call_at_ms, customers.last_call_at_ms)',
      lowered_at_ms: `CASE WHEN COALESCE(excluded.worst_meter_used / excluded.worst_meter_limit, 0) < customers.worst_meter_share
        OR (excluded.period_cost_usd, excluded.period_cost_rest_nano_usd) < (customers.period_cost_usd, customers.period_cost_rest_nano_usd)
        THEN ${CLOCK_MS} ELSE customers.lowered_at_ms END`,
    },
  },
  call: {
    name: 'calls',
    key: ['organization_id', 'call_id'],
    integers: ['standard_cost_nano_usd', 'cost_nano_usd', 'charge_nano_usd', 'cost_avoided_nano_usd'],
    packed: 'record',
    fixed: ['customer_id', 'started_at_ms', 'denial_code'],
  },
  denied_hour: { name: 'denied_hours', key: ['organization_id', 'customer_id', 'hour_ms', 'feature'], integers: [] },
  failed_hour: { name: 'failed_hours', key: ['organization_id', 'customer_id', 'hour_ms'], integers: [] },
  meter_event: {
    name: 'meter_events',
    key: ['organization_id', 'customer_id', 'event_id'],
    integers: ['charged_usd', 'charged_rest_nano_usd'],
    fixed: ['at_ms'],
  },
  credit_entry: { name: 'credit_entries', key: ['organization_id', 'customer_id', 'entry_id'], integers: [] },
  event: {
    name: 'organization_events',
    key: ['organization_id', 'event_id'],
    integers: [],
    isOnce: true,
  },
};

/** Changes of one kind whose rows have the same columns, for one statement. */
interface Chunk {
  kind: ChangeKind;
  columns: readonly string[];
  rows: PlacedChange[];
}

interface PlacedChange {
  page: ProjectionPage;
  change: Change;
}

/** How many numbers the deliveries of a second choose from. */
const NUMBERS_OF_SECOND = 2 ** 20;

/** The least number that a delivery at that time may have. */
export const firstDelivery = (atMs: number) => Math.floor(atMs / SECOND_MS) * NUMBERS_OF_SECOND;

/** The statements that bring the changes to D1, for one batch. Of a row that changed several times, the newest counts. */
export function projectionStatements(
  db: D1Database,
  pages: readonly ProjectionPage[],
  nowMs = Date.now(),
): D1PreparedStatement[] {
  const chunks = chunksOf(newest(pages));
  const statements = chunks.flatMap((chunk) => {
    if (chunk.kind === 'call') return upsertCalls(db, chunk, nowMs);
    const { rare } = TABLES[chunk.kind];
    if (rare) return [updateRare(db, chunk), upsert(db, chunk)];
    const count = chunk.kind === 'denied_hour' ? countDenied : chunk.kind === 'failed_hour' ? countFailed : null;
    return [...(count ? [count(db, chunk)] : []), upsert(db, chunk)];
  });
  const isCounted = chunks.some(({ kind }) => kind === 'call' || kind === 'denied_hour' || kind === 'failed_hour');
  return isCounted ? [...statements, ...COUNT_USAGE.map((sql) => db.prepare(sql))] : statements;
}

/** Whether the row is of a subscription that was not erased. */
const NOT_ERASED = (subscription: string) =>
  `NOT EXISTS (SELECT 1 FROM erased_subscriptions WHERE subscription_id = ${subscription})`;

/** Inserts the rows, or updates older ones. `delivery` marks calls. */
function upsert(db: D1Database, chunk: Chunk, delivery?: number): D1PreparedStatement {
  const { name, key, fixed = [], rare = [], merged = {}, isOnce } = TABLES[chunk.kind];
  const kept = [...key, ...fixed, ...rare, ...Object.keys(merged)];
  const names = [...chunk.columns, ...(delivery === undefined ? [] : ['delivery'])];
  const values = [...valuesOf(chunk), ...(delivery === undefined ? [] : ['?2'])];
  const updates = names
    .filter((column) => !kept.includes(column))
    .map((column) => `${column} = excluded.${column}`)
    .concat(Object.entries(merged).map(([column, value]) => `${column} = ${value}`));
  const sql = `WITH sent AS MATERIALIZED (SELECT jsonb(value) AS row FROM json_each(?1))
    INSERT INTO ${name} (${names.join(', ')}) SELECT ${values.join(', ')} FROM sent
    WHERE ${NOT_ERASED('row ->> 0')}
    ON CONFLICT ${
      isOnce
        ? 'DO NOTHING'
        : `(${key.join(', ')}) DO UPDATE SET ${updates.join(', ')} WHERE excluded.revision > ${name}.revision`
    }`;
  return db.prepare(sql).bind(textOf(chunk.rows), ...(delivery === undefined ? [] : [delivery]));
}

/** Sets the columns that seldom change, in the rows in which one does. To be run before the upsert, which sets the revision. */
function updateRare(db: D1Database, { kind, columns, rows }: Chunk): D1PreparedStatement {
  const { name, key, rare = [] } = TABLES[kind];
  // A page of before a column was added does not have it.
  const set = rare.filter((column) => columns.includes(column));
  const sent = (column: string) => `row ->> ${placeOf(column, columns)}`;
  const sql = `WITH sent AS MATERIALIZED (SELECT jsonb(value) AS row FROM json_each(?1))
    UPDATE ${name} SET ${set.map((column) => `${column} = ${sent(column)}`).join(', ')} FROM sent
    WHERE ${key.map((column) => `${name}.${column} = ${sent(column)}`).join(' AND ')} AND ${sent('revision')} > ${name}.revision
      AND ${NOT_ERASED('row ->> 0')} AND (${set.map((column) => `${name}.${column} IS NOT ${sent(column)}`).join(' OR ')})`;
  return db.prepare(sql).bind(textOf(rows));
}

/**
 * Calls count as they are after the upsert, and no longer as they were before it: as their row says, or as the change
 * itself does if the retention has deleted the row. `delivery` is a number by time and chance that the upsert writes to the rows
 * that it changes: those count again afterwards. Rows that bear it already, because the same batch runs twice or two numbers are
 * equal by chance, are taken back first, so that the sums are exact in any case.
 */
function upsertCalls(db: D1Database, chunk: Chunk, nowMs: number): D1PreparedStatement[] {
  const [chance = 0] = crypto.getRandomValues(new Uint32Array(1));
  const delivery = firstDelivery(nowMs) + (chance % NUMBERS_OF_SECOND);
  const keys = chunk.rows.map(({ page, change: { id, revision, replaced = 'null' } }) => {
    const key = JSON.stringify([page.organizationId, id, revision, page.subscriptionId]);
    return `${key.slice(0, -1)},${replaced}]`;
  });
  const count = (sql: string) => db.prepare(sql).bind(`[${keys}]`, delivery);
  return [count(UNCOUNT_CALLS), upsert(db, chunk, delivery), count(COUNT_CALLS), count(RAISE_OUTPUT_RATES)];
}

const SENT_CALLS = `json_each(?1) sent CROSS JOIN calls
  ON calls.organization_id = sent.value ->> 0 AND calls.call_id = sent.value ->> 1`;
/** What a change says that the call counted before. Amounts are decimal strings there, which compare as text. */
const REPLACED = COUNTED_COLUMNS.map((name) => {
  const value = `sent.value -> 4 ->> '${name}'`;
  return name.endsWith('_nano_usd') ? `CAST(${value} AS INTEGER)` : value;
});
const UNCOUNT_CALLS = noteChanges(
  usageOfCalls(`(
  SELECT -1 AS sign, ${COUNTED_COLUMNS.map((name) => `calls.${name}`).join(', ')} FROM ${SENT_CALLS}
  WHERE (sent.value ->> 2 > calls.revision OR calls.delivery = ?2) AND ${NOT_ERASED('sent.value ->> 3')}
  UNION ALL
  SELECT -1, ${REPLACED.join(', ')} FROM json_each(?1) sent
  CROSS JOIN deleted_calls ON deleted_calls.organization_id = sent.value ->> 0
    AND before_ms > sent.value -> 4 ->> 'started_at_ms'
  WHERE NOT EXISTS (SELECT 1 FROM calls WHERE calls.organization_id = sent.value ->> 0 AND calls.call_id = sent.value ->> 1)
    AND ${NOT_ERASED('sent.value ->> 3')})`),
);
const COUNT_CALLS = noteChanges(
  usageOfCalls(`(
  SELECT 1 AS sign, calls.* FROM ${SENT_CALLS} WHERE calls.delivery = ?2 AND ${NOT_ERASED('sent.value ->> 3')})`),
);

/** Of each model and day the highest rate stays, so that it may run twice. */
const RAISE_OUTPUT_RATES = `INSERT INTO output_rates (model_key, day_ms, tokens_per_second)
  SELECT model_key, finished_at_ms - finished_at_ms % ${DAY_MS}, MAX(output_rate) FROM ${SENT_CALLS}
  WHERE calls.delivery = ?2 AND output_rate IS NOT NULL AND model_key IS NOT NULL AND finished_at_ms IS NOT NULL
    AND ${NOT_ERASED('sent.value ->> 3')}
  GROUP BY 1, 2
  ON CONFLICT DO UPDATE SET tokens_per_second = excluded.tokens_per_second
    WHERE excluded.tokens_per_second > output_rates.tokens_per_second`;

const DENIED_COLUMNS = ['organization_id', 'customer_id', 'hour_ms', 'feature', 'calls'];

/** Denied calls that come as a count, which only grows: what it grew by counts. To be run before the upsert. */
function countDenied(db: D1Database, { columns, rows }: Chunk): D1PreparedStatement {
  const sql = noteChanges(`WITH sent AS MATERIALIZED (
      SELECT ${DENIED_COLUMNS.map((name) => `value ->> ${placeOf(name, columns)} AS ${name}`).join(', ')}
      FROM json_each(?1) WHERE ${NOT_ERASED('value ->> 0')})
    SELECT organization_id, customer_id, feature, '', '', 'NOT_ALLOWED', '', hour_ms, sent.calls - COALESCE(denied_hours.calls, 0),
      ${USAGE_FIGURES.slice(1)
        .map(() => 0)
        .join(', ')}
    FROM sent LEFT JOIN denied_hours USING (organization_id, customer_id, hour_ms, feature)
    WHERE sent.calls > COALESCE(denied_hours.calls, 0)`);
  return db.prepare(sql).bind(textOf(rows));
}

const FAILED_COLUMNS = ['organization_id', 'customer_id', 'hour_ms', 'calls', 'unpriced_calls', 'revision'];

/** Failed calls that come as a count, of which a correction takes one out: the difference counts. To be run before the upsert. */
function countFailed(db: D1Database, { columns, rows }: Chunk): D1PreparedStatement {
  const sql = noteChanges(`WITH sent AS MATERIALIZED (
      SELECT ${FAILED_COLUMNS.map((name) => `value ->> ${placeOf(name, columns)} AS ${name}`).join(', ')}
      FROM json_each(?1) WHERE ${NOT_ERASED('value ->> 0')})
    SELECT organization_id, customer_id, '', '', '', 'FAILED', '', hour_ms, sent.calls - COALESCE(failed_hours.calls, 0),
      sent.unpriced_calls - COALESCE(failed_hours.unpriced_calls, 0),
      ${USAGE_FIGURES.slice(2)
        .map(() => 0)
        .join(', ')}
    FROM sent LEFT JOIN failed_hours USING (organization_id, customer_id, hour_ms)
    WHERE sent.revision > COALESCE(failed_hours.revision, 0)`);
  return db.prepare(sql).bind(textOf(rows));
}

const textOf = (rows: readonly PlacedChange[]) => `[${rows.map(({ change }) => change.values).join(',')}]`;

/** The place of a column in a row's array: the subscription is the first. */
const placeOf = (column: string, columns: readonly string[]) => columns.indexOf(column) + 1;

/**
 * Each value of a row by its place: rows cross as arrays, because a value is found by its place at less cost than by
 * its name, and in JSONB without parsing the row again.
 */
function valuesOf({ kind, columns }: Chunk): string[] {
  const { integers, packed } = TABLES[kind];
  return columns.map((column) => {
    const value = `row ->> ${placeOf(column, columns)}`;
    // Text is JSON, which is never hexadecimal: `unhex` answers NULL.
    if (column === packed) return `COALESCE(unhex(${value}), ${value})`;
    return integers.includes(column) ? `CAST(${value} AS INTEGER)` : value;
  });
}

/**
 * The newest of the changes of each row, in the order in which the rows came first. It replaces what the oldest of them
 * does.
 */
function newest(pages: readonly ProjectionPage[]): PlacedChange[] {
  const found = new Map<string, PlacedChange>();
  for (const page of pages)
    for (const change of page.changes) {
      const row = JSON.stringify([page.subscriptionId, change.kind, change.id]);
      const known = found.get(row);
      found.set(row, known ? merged(known, { page, change }) : { page, change });
    }
  return [...found.values()];
}

function merged(one: PlacedChange, other: PlacedChange): PlacedChange {
  const isOlder = other.change.revision < one.change.revision;
  const [older, newer] = isOlder ? [other, one] : [one, other];
  const { replaced: _, ...change } = newer.change;
  const { replaced } = older.change;
  return { page: newer.page, change: { ...change, ...(replaced !== undefined && { replaced }) } };
}

/** The changes by kind and columns, in as many parts as their values need, which must not be too long for a statement. */
function chunksOf(rows: readonly PlacedChange[]): Chunk[] {
  const chunks: Chunk[] = [];
  const open = new Map<string, { chunk: Chunk; length: number }>();
  for (const row of rows) {
    const { kind, values, replaced = '' } = row.change;
    const length = values.length + replaced.length;
    const columns = row.page.columns[kind] ?? [];
    const shape = `${kind} ${columns}`;
    const last = open.get(shape);
    if (last && last.length + length <= VALUE_LENGTH_MAX) {
      last.chunk.rows.push(row);
      last.length += length;
    } else {
      const chunk = { kind, columns, rows: [row] };
      chunks.push(chunk);
      open.set(shape, { chunk, length });
    }
  }
  return chunks;
}
