/**
 * The kinds of rows that a customer's object can have many of, and how so many of each are written beneath it. Calls are
 * copies of one that the object has: at least one of each kind is to be made before.
 */

import { dayTable } from '../../durable-objects/customer/tables/keys.ts';

/** Runs a statement in the object's database. */
type Query = (sql: string) => readonly object[];

interface Written {
  query: Query;
  count: number;
  nowMs: number;
  /** The time between copied calls. */
  stepMs?: number;
  /** Columns of copied calls that are to be others, as SQL. */
  changed?: Record<string, string>;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The hash of the derived key that has many payloads. */
export const SHARED_HASH = 'ab'.repeat(32);

/** Numbers from 1 up to `count`, as n. */
const numbers = (count: number) =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;

/** So many copies of one row of which the condition is true, with other values in some columns. */
function copy({ query, count }: Written, table: string, where: string, changed: Record<string, string>): void {
  const columns = query(`SELECT name FROM pragma_table_info('${table}')`).map((row) => (row as { name: string }).name);
  const values = columns.map((name) => changed[name] ?? `made.${name}`);
  query(`${numbers(count)} INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')}
    FROM numbers CROSS JOIN (SELECT * FROM ${table} WHERE ${where} LIMIT 1) made`);
}

/** Calls of the status, the newest of which began so long ago. */
function copyCalls(written: Written, status: string, agoMs = HOUR, changed: Record<string, string> = {}): void {
  const { nowMs, count, stepMs = 1 } = written;
  const atMs = `${nowMs - agoMs} - (${count} - n) * ${stepMs}`;
  copy(written, 'calls', `status = ${status}`, {
    call_id: `'copy-' || n`,
    started_at_ms: atMs,
    deadline_at_ms: `${nowMs + DAY} + n`,
    ended_at_ms: `IIF(made.ended_at_ms IS NULL, NULL, ${atMs})`,
    ...written.changed,
    ...changed,
  });
}

const PRICED = `record ->> '$.outcome.price.status' = 'FINAL'`;
const COMPLETED = `'COMPLETED' AND ${PRICED}`;

export const KINDS: Record<string, (written: Written) => void> = {
  'completed calls': (written) => copyCalls(written, COMPLETED),
  'failed calls': (written) => copyCalls(written, `'FAILED'`),
  'denied calls': (written) => copyCalls(written, `'NOT_ALLOWED'`),
  // More than the account's row lists.
  'open calls': (written) => copyCalls(written, `'LISTED'`, HOUR, { status: `'IN_PROGRESS'` }),
  'timed-out calls': (written) => copyCalls(written, COMPLETED, HOUR, { status: `'TIMEOUT'` }),
  'reversed calls': (written) => copyCalls(written, COMPLETED, HOUR, { status: `'REVERSED'` }),
  'calls without a price': (written) => copyCalls(written, `'COMPLETED' AND NOT ${PRICED}`),
  'calls whose answers were dropped': (written) =>
    copyCalls(written, COMPLETED, 3 * DAY, { begin_answer: 'NULL', end_answer: 'NULL' }),
  'payloads of one derived key': ({ query, count, nowMs }) =>
    query(`${numbers(count)} INSERT INTO derived_keys (hash, fingerprint, generation, call_id, at_ms)
      SELECT '${SHARED_HASH}', 'other ' || n, n, 'completed', ${nowMs} FROM numbers`),
  'idempotency keys': ({ query, count, nowMs }) =>
    query(`${numbers(count)} INSERT INTO ${dayTable(nowMs)} (day, operation, key, fingerprint)
      SELECT ${Math.floor(nowMs / DAY)}, 'end', 'key ' || n, '' FROM numbers`),
  'ledger entries': (written) =>
    copy(written, 'ledger', `unit = 'USD'`, { entry_id: '-n', at_ms: `${written.nowMs - DAY} + n`, balance: `'0'` }),
  'charges that wait for a key': ({ query, count, nowMs }) =>
    query(`${numbers(count)} INSERT INTO charges (charge_id, kind, subject_id, amount_nano_usd, stripe_customer_id, at_ms,
        debited_at_ms, due_at_ms, keyed)
      SELECT 'charge ' || n, 'call', 'waits-' || n, '1', 'cus', ${nowMs - HOUR}, ${nowMs - HOUR}, ${nowMs + DAY} + n, 1 FROM numbers`),
  'expired batches': ({ query, count, nowMs }) =>
    query(`${numbers(count)} INSERT INTO batch_holds (request_name, begun_at_ms, expires_at_ms, hold)
      SELECT 'batch ' || n, ${nowMs - DAY} + n, NULL, '{}' FROM numbers`),
  'meter events': (written) =>
    copy(written, 'meter_events', 'true', { event_id: `'copy-' || n`, at_ms: `${written.nowMs} + n` }),
  events: ({ query, count, nowMs }) =>
    query(
      `${numbers(count)} INSERT INTO events (event_id, at_ms, record) SELECT 'event ' || n, ${nowMs}, '{}' FROM numbers`,
    ),
  'credits of before': ({ query, count }) =>
    query(`${numbers(count)} INSERT INTO credits (credit_id, terms) SELECT 'credit ' || n, '{}' FROM numbers`),
  corrections: ({ query, count, nowMs }) =>
    query(
      `${numbers(count)} INSERT INTO corrections (subject_id, revision, at_ms) SELECT 'subject ' || n, 1, ${nowMs} FROM numbers`,
    ),
};
