/**
 * Creates customers with a history: the data of their calls of the last hundred days are written to the files of D1 and
 * of the customer's object while the service is down.
 */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { CHANGE_COLUMNS, COUNT_USAGE, USAGE_FIGURES } from '../../src/history/roll-ups.ts';
import { readDerivedCallId } from '../../src/objects/derived-call-id.ts';
import { chance } from '../support/series.ts';
import { noteUsage } from '../support/usage.ts';
import { createTenantKey, operatorOf, PLAN, type TenantKey } from './service.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** An hour less than the object keeps, so that nothing is pruned while it is measured. */
const HISTORY_HOURS = 100 * 24 - 1;
/** Finished calls stay in the object for a week. */
const OBJECT_CALLS_MS = 7 * DAY_MS - HOUR_MS;
/** The most memory that SQLite may use while it writes. */
const CACHE_KIB = 512 * 1_024;
const PIECE_ROWS = 5_000;
const PREFIX = 'in ';
const ARRIVAL_MS_MAX = 30_000;
const POLL_MS = 100;

/** An organization with one customer, who has made one call. */
export interface Subject extends TenantKey {
  customerId: string;
  /** The object's, hexadecimal. */
  objectId: string;
}

export async function provisionSubject(url: string, customerId: string, plan: object = PLAN): Promise<Subject> {
  const tenant = await createTenantKey(url, plan);
  const api = operatorOf(url).with(tenant.key);
  const { callId } = (await api.send('beginCall', { body: { customerId, feature: 'chat' } })).data;
  await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 } });
  const objectId = readDerivedCallId(callId)?.objectId;
  if (!objectId) throw new Error(`the call id ${callId} names no object`);
  for (const giveUpAtMs = Date.now() + ARRIVAL_MS_MAX; Date.now() < giveUpAtMs; await sleep(POLL_MS)) {
    const { totals } = (await api.send('readUsageSummary')).data;
    if (totals.calls === 1) return { ...tenant, customerId, objectId };
  }
  throw new Error('the call did not come to D1');
}

/** The rows that so many more calls leave, at random hours: the same for every customer except their number. */
export async function writeHistory(stateDir: string, subject: Subject, calls: number): Promise<void> {
  const presentMs = Date.now() - (Date.now() % HOUR_MS);
  const { uniform } = chance(calls);
  const ago = () => Math.floor(uniform() * HISTORY_HOURS * HOUR_MS) + 1;
  // In the order in which they came.
  const endedAt = Array.from({ length: calls }, () => presentMs - ago()).sort((a, b) => a - b);
  await writeProjection(await openD1(stateDir), subject, endedAt);
  await writeObject(await databaseWith(stateDir, 'account', subject.objectId), endedAt, presentMs);
}

/**
 * So many more customers of the subject's organization, in D1 alone: an object comes into being when it is first used.
 */
export async function writeCustomers(stateDir: string, { organizationId }: Subject, customers: number): Promise<void> {
  const db = await openD1(stateDir);
  const columns = readColumns(db, 'customers');
  const values = columns.map((name) => (name === 'customer_id' ? `'other-' || n` : name)).join(', ');
  await inTransaction(db, () => {
    db.prepare(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 WHERE ?1 > 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
       INSERT INTO customers (${columns.join(', ')}) SELECT ${values} FROM numbers CROSS JOIN customers WHERE organization_id = ?2`,
    ).run(customers, organizationId);
  });
}

/** Throws if the service does not know the written history: the figures would be meaningless. */
export async function checkHistory(url: string, { key, customerId }: Subject, calls: number): Promise<void> {
  const api = operatorOf(url).with(key);
  const from = new Date(Date.now() - 110 * DAY_MS).toISOString().slice(0, 10);
  const { totals } = (await api.send('readUsageSummary', { query: { from } })).data;
  if (totals.calls !== calls + 1) throw new Error(`${customerId}: ${totals.calls} calls instead of ${calls + 1}`);
  if (calls === 0) return;
  const { historyDays, status } = (
    await api.send('readForecast', { params: { customerId }, query: { metric: 'calls' } })
  ).data;
  if (status !== 'available' || historyDays < 99)
    throw new Error(`${customerId}: forecast ${status} from ${historyDays} days`);
}

/** Copies of the one call that was made, without its record, which no reading looks at. */
async function writeProjection(
  db: DatabaseSync,
  { organizationId }: Subject,
  endedAt: readonly number[],
): Promise<void> {
  const columns = readColumns(db, 'calls');
  const changed: Record<string, string> = {
    call_id: `'${PREFIX}' || ?1`,
    started_at_ms: '?2 - 2000',
    finished_at_ms: '?2',
    record: `'{}'`,
  };
  const values = columns.map((name) => changed[name] ?? name).join(', ');
  const model = db.prepare('SELECT call_id AS id FROM calls WHERE organization_id = ?').get(organizationId)?.id;
  const insert = db.prepare(
    `INSERT INTO calls (${columns.join(', ')}) SELECT ${values} FROM calls WHERE organization_id = ?3 AND call_id = ?4`,
  );
  await inTransaction(db, async () => {
    await forEach(endedAt, (atMs, n) => insert.run(n, atMs, organizationId, String(model)));
    writeHours(db, organizationId, callsByHour(endedAt));
  });
}

/** The hour of the one call that was made, so many times over. */
function writeHours(db: DatabaseSync, organizationId: string, hours: Map<number, number>): void {
  const columns = {
    ...Object.fromEntries(CHANGE_COLUMNS.map((name) => [name, name])),
    ...Object.fromEntries(USAGE_FIGURES.map((name) => [name, `${name} * CAST(?2 AS INTEGER)`])),
    ...{ paid_model: 'model', hour_ms: 'CAST(?1 AS INTEGER)' },
  };
  const insert = db.prepare(noteUsage(columns, 'FROM usage_hours WHERE organization_id = ?3 AND hour_ms = ?4'));
  const made = db
    .prepare('SELECT hour_ms AS hourMs FROM usage_hours WHERE organization_id = ?')
    .get(organizationId)?.hourMs;
  for (const [hourMs, calls] of hours) insert.run(hourMs, calls, organizationId, Number(made));
  for (const sql of COUNT_USAGE) db.exec(sql);
}

function callsByHour(endedAt: readonly number[]): Map<number, number> {
  const hours = new Map<number, number>();
  for (const atMs of endedAt) hours.set(atMs - (atMs % HOUR_MS), (hours.get(atMs - (atMs % HOUR_MS)) ?? 0) + 1);
  return hours;
}

async function writeObject(db: DatabaseSync, endedAt: readonly number[], presentMs: number): Promise<void> {
  const createdAtMs = presentMs - (HISTORY_HOURS + 1) * HOUR_MS;
  const addHour = db.prepare(
    `INSERT INTO usage_hours (hour_ms, completed_calls, input_tokens, output_tokens, completed_cost_rest_nano_usd)
     VALUES (?1, ?2, ?2 * 1000, ?2 * 500, ?2 * 7500000)
     ON CONFLICT (hour_ms) DO UPDATE SET completed_calls = completed_calls + excluded.completed_calls`,
  );
  const model = db.prepare('SELECT call_id AS id FROM calls').get()?.id;
  const addCall = db.prepare(
    `INSERT INTO calls (call_id, status, started_at_ms, deadline_at_ms, finished_at_ms, record, begin_fingerprint, begin_answer,
       end_fingerprint, end_answer)
     SELECT '${PREFIX}' || ?1, status, ?2 - 2000, deadline_at_ms, ?2, record, begin_fingerprint, NULL, end_fingerprint, NULL FROM calls
     WHERE call_id = ?3`,
  );
  await inTransaction(db, async () => {
    db.prepare(`UPDATE account SET value = json_set(value, '$.createdAtMs', ?)`).run(createdAtMs);
    for (const [hourMs, calls] of callsByHour(endedAt)) addHour.run(hourMs, calls);
    const recent = endedAt.filter((atMs) => atMs > presentMs - OBJECT_CALLS_MS);
    await forEach(recent, (atMs, n) => addCall.run(n, atMs, String(model)));
  });
}

export function readColumns(db: DatabaseSync, table: string): string[] {
  return db
    .prepare('SELECT name FROM pragma_table_info(?)')
    .all(table)
    .map(({ name }) => String(name));
}

async function inTransaction(db: DatabaseSync, write: () => void | Promise<void>): Promise<void> {
  db.exec('BEGIN');
  await write();
  db.exec('COMMIT');
  db.close();
}

/** In pieces, so that an interruption is heard in between. */
async function forEach<Item>(items: readonly Item[], write: (item: Item, index: number) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    if (index % PIECE_ROWS === 0) await setImmediate();
    write(item, index);
  }
}

/** To be closed by who opens it. */
export function openD1(stateDir: string): Promise<DatabaseSync> {
  return databaseWith(stateDir, 'organizations');
}

/** The one database under the folder that has the table, and whose file has the name if one is given. */
export async function databaseWith(stateDir: string, table: string, name = ''): Promise<DatabaseSync> {
  const files = await readdir(stateDir, { recursive: true });
  for (const file of files.filter((path) => path.endsWith('.sqlite') && path.includes(name))) {
    const db = new DatabaseSync(join(stateDir, file));
    if (db.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`).get(table)) {
      db.exec(`PRAGMA synchronous = OFF; PRAGMA cache_size = -${CACHE_KIB}`);
      return db;
    }
    db.close();
  }
  throw new Error(`no database with the table ${table}`);
}
