/**
 * Readings of a customer with a million calls against those of one with a thousand: milliseconds for one reading after
 * the other, in interleaved rounds, and the ratio of the medians.
 *
 * Each customer is an organization's only one. What a thousand or a million calls of the last hundred days leave behind is
 * written into the files of D1, where the triggers of the schema sum it as they do in the service, and of the customer's
 * object, while the service is down.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { bundle, freePort, startServer } from '../../src/cli/server.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { Api, createTenant, OPERATOR_TOKEN } from '../support/api.ts';
import { chance } from '../support/series.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** An hour less than the object keeps, so that nothing is pruned while it is measured. */
const HISTORY_HOURS = 100 * 24 - 1;
/** Finished calls stay in the object for a week. */
const OBJECT_CALLS_MS = 7 * DAY_MS - HOUR_MS;
const PREFIX = 'in ';

const VARS = {
  OPERATOR_TOKEN,
  VENDOR_KEY_SECRET: 'bench-vendor-key-secret-of-32-characters',
  SESSION_SECRET: 'bench-session-secret-of-at-least-32-characters',
};

const SIZES = { thousand: 1_000, million: 1_000_000 } as const;
type Size = keyof typeof SIZES;

/** Readings of one kind in a round, of the one customer and the other in turns. */
const READINGS_PER_ROUND = 20;

export interface MeasuredReading {
  name: string;
  thousandMs: number;
  millionMs: number;
  /** Million to thousand. */
  ratio: number;
}

interface Subject {
  organizationId: string;
  customerId: string;
  key: string;
  /** The object's, hexadecimal. */
  objectId: string;
}

/** Million to thousand: what is promised at the most. */
const PROMISED_RATIO = 1.2;

export interface Machine {
  cpus: number;
  model: string;
  memoryGiB: number;
  node: string;
}

export function describeMachine({ cpus, model, memoryGiB, node }: Machine): string {
  return `${cpus} x ${model}, ${memoryGiB} GiB, Node ${node}`;
}

export function reportReadings(measured: readonly MeasuredReading[], machine: Machine, json: boolean): void {
  const title = 'Readings, milliseconds with a thousand and with a million calls';
  const rows = measured.map((row) => ({ ...row, promised: PROMISED_RATIO }));
  if (json) {
    console.log(JSON.stringify({ suite: title, machine, rows }, null, 2));
    return;
  }
  console.log(`${title}\n${describeMachine(machine)}\n`);
  console.log(`${'reading'.padEnd(24)}${'thousand'.padStart(10)}${'million'.padStart(10)}${'ratio'.padStart(8)}${'promised'.padStart(10)}`);
  for (const { name, thousandMs, millionMs, ratio, promised } of rows) {
    const figures = [thousandMs.toFixed(2).padStart(10), millionMs.toFixed(2).padStart(10), ratio.toFixed(2).padStart(8)];
    console.log(`${name.padEnd(24)}${figures.join('')}${`<= ${promised}`.padStart(10)}`);
  }
}

/** Measures every reading in each round. Throws where one is answered with anything but 200. */
export async function measureReadings(rounds: number): Promise<MeasuredReading[]> {
  const stateDir = await mkdtemp(join(tmpdir(), 'callmeter-bench-'));
  try {
    await bundle(stateDir);
    const port = await freePort(0);
    const first = await startServer({ port, stateDir, vars: VARS });
    const subjects = { thousand: await provision(first.url, 'thousand'), million: await provision(first.url, 'million') };
    await first.stop();
    for (const size of Object.keys(SIZES) as Size[]) await writeHistory(stateDir, subjects[size], SIZES[size]);
    const second = await startServer({ port, stateDir, vars: VARS });
    try {
      await checkHistory(second.url, subjects);
      return await measure(second.url, subjects, rounds);
    } finally {
      await second.stop();
    }
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}

async function provision(url: string, customerId: Size): Promise<Subject> {
  const operator = new Api((address, init) => fetch(address, init), url, OPERATOR_TOKEN);
  const { organizationId, api } = await createTenant(operator, { name: 'Bench', limitType: 'NONE' });
  const { key } = (await operator.send('createKey', { params: { org: organizationId }, body: { name: 'bench' } })).data;
  const { callId } = (await api.send('beginCall', { body: { customerId, feature: 'chat' } })).data;
  await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 } });
  const objectId = /[0-9a-f]{64}/.exec(callId)?.[0];
  if (!objectId) throw new Error(`the call id ${callId} names no object`);
  // The outbox waits a second for company.
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const { totals } = (await api.send('readUsageSummary')).data;
    if (totals.calls === 1) return { organizationId, customerId, key, objectId };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the call did not come to D1');
}

/** What so many calls leave: at random hours, the same for both customers but for their number. */
async function writeHistory(stateDir: string, subject: Subject, calls: number): Promise<void> {
  const presentMs = Date.now() - (Date.now() % HOUR_MS);
  const { uniform } = chance(calls);
  const endedAt = Array.from({ length: calls }, () => presentMs - Math.floor(uniform() * HISTORY_HOURS * HOUR_MS) - 1);
  writeProjection(await databaseWith(stateDir, 'organizations'), subject, endedAt);
  writeObject(await databaseWith(stateDir, 'account', subject.objectId), endedAt, presentMs);
}

/** Copies of the one call that was made, without its record, which no reading looks at. */
function writeProjection(db: DatabaseSync, { organizationId }: Subject, endedAt: readonly number[]): void {
  const columns = db
    .prepare('SELECT name FROM pragma_table_info(?)')
    .all('calls')
    .map(({ name }) => String(name));
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
  inTransaction(db, () => {
    for (const [n, atMs] of endedAt.entries()) insert.run(n, atMs, organizationId, String(model));
  });
}

function writeObject(db: DatabaseSync, endedAt: readonly number[], presentMs: number): void {
  const age = presentMs - (HISTORY_HOURS + 1) * HOUR_MS;
  const hours = new Map<number, number>();
  for (const atMs of endedAt) hours.set(atMs - (atMs % HOUR_MS), (hours.get(atMs - (atMs % HOUR_MS)) ?? 0) + 1);
  const addHour = db.prepare(
    `INSERT INTO usage_hours (hour_ms, completed_calls, input_tokens, output_tokens, completed_cost_nano_usd)
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
  inTransaction(db, () => {
    db.prepare(`UPDATE account SET value = json_set(value, '$.createdAtMs', ?)`).run(age);
    for (const [hourMs, calls] of hours) addHour.run(hourMs, calls);
    for (const [n, atMs] of endedAt.entries()) if (atMs > presentMs - OBJECT_CALLS_MS) addCall.run(n, atMs, String(model));
  });
}

function inTransaction(db: DatabaseSync, write: () => void): void {
  db.exec('BEGIN');
  write();
  db.exec('COMMIT');
  db.close();
}

/** The one database under the folder that has the table, and whose file has the name where one is given. */
async function databaseWith(stateDir: string, table: string, name = ''): Promise<DatabaseSync> {
  const files = await readdir(stateDir, { recursive: true });
  for (const file of files.filter((path) => path.endsWith('.sqlite') && path.includes(name))) {
    const db = new DatabaseSync(join(stateDir, file));
    if (db.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`).get(table)) return db;
    db.close();
  }
  throw new Error(`no database with the table ${table}`);
}

/** The service must know the history that was written, or the figures would be of nothing. */
async function checkHistory(url: string, subjects: Record<Size, Subject>): Promise<void> {
  for (const size of Object.keys(SIZES) as Size[]) {
    const { key, customerId } = subjects[size];
    const api = new Api((address, init) => fetch(address, init), url, key);
    const from = new Date(Date.now() - 110 * DAY_MS).toISOString().slice(0, 10);
    const { totals } = (await api.send('readUsageSummary', { query: { from } })).data;
    const { historyDays, status } = (await api.send('readForecast', { params: { customerId }, query: { metric: 'calls' } })).data;
    if (totals.calls !== SIZES[size] + 1 || status !== 'available' || historyDays < 99)
      throw new Error(`${size}: ${totals.calls} calls, forecast ${status} from ${historyDays} days`);
  }
}

async function measure(url: string, subjects: Record<Size, Subject>, rounds: number): Promise<MeasuredReading[]> {
  const paths: Record<string, (customerId: string) => string> = {
    'usage-context': (id) => `/customers/${id}/usage-context`,
    'forecast, dollars': (id) => `/customers/${id}/forecast?metric=dollars`,
    usage: (id) => `/customers/${id}/usage`,
    'summary, 30 days': () => '/usage/summary',
    'summary of a customer': (id) => `/usage/summary?customerId=${id}`,
  };
  const times: Record<string, Record<Size, number[]>> = {};
  // The first round warms up.
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, path] of Object.entries(paths)) {
      times[name] ??= { thousand: [], million: [] };
      for (let n = 0; n < READINGS_PER_ROUND; n += 1) {
        for (const size of Object.keys(SIZES) as Size[]) {
          const { key, customerId } = subjects[size];
          const takenMs = await timeReading(url + path(customerId), key);
          if (round >= 0) times[name]?.[size].push(takenMs);
        }
      }
      process.stderr.write(`\r  round ${round + 1} of ${rounds}: ${name.padEnd(24)}`);
    }
  }
  process.stderr.write('\r'.padEnd(60, ' ').concat('\r'));
  return Object.entries(times).map(([name, { thousand, million }]) => {
    const [thousandMs, millionMs] = [median(thousand), median(million)];
    return { name, thousandMs, millionMs, ratio: millionMs / thousandMs };
  });
}

async function timeReading(address: string, key: string): Promise<number> {
  const startMs = performance.now();
  const response = await fetch(address, { headers: { Authorization: `Bearer ${key}`, Accept: MEDIA_TYPE } });
  await response.arrayBuffer();
  const takenMs = performance.now() - startMs;
  if (response.status !== 200) throw new Error(`${address} answered ${response.status}`);
  return takenMs;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? Number.NaN) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}
