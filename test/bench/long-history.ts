/**
 * A long history in D1, written while the service is down: calls with their usage, increments and ledger entries, evenly
 * over time; and whether the sums of days still equal the calls that are left.
 *
 * A call's facts come from its number, multiplied by large primes modulo 2^32, so they are the same in every run.
 */
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { ROLL_UPS, type RollUp, USAGE_FIGURES } from '../../src/history/roll-ups.ts';
import { countCalls } from '../support/usage.ts';
import { openD1, readColumns, type Subject } from './history.ts';
import type { Options } from './suite.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
const CUSTOMERS = 10_000;
/** Calls that one transaction writes. */
const CHUNK_CALLS = 20_000;
/** An increment and a ledger entry come with each fourth call. */
const EVENTS_EVERY = 4;

const hashed = (prime: number) => `(n * ${prime} % 4294967296)`;

export interface Span {
  /** Numbers of calls. */
  from: number;
  to: number;
  /** When the first of them ends, and how long it is to the next. */
  startMs: number;
  stepMs: number;
}

/** Calls with these numbers, one after the other in time, as copies of the one that was made. */
export async function writeLongHistory(
  stateDir: string,
  { organizationId }: Subject,
  { from, to, startMs, stepMs }: Span,
  progress: Options['progress'],
): Promise<void> {
  using db = await openD1(stateDir);
  const customer = `'other-' || CAST(${CUSTOMERS} * facts.who * facts.who * facts.who AS INTEGER)`;
  const writes = [
    copies(db, 'calls', `call_id = (SELECT MAX(call_id) FROM calls WHERE organization_id = ?4)`, 'true', {
      call_id: `'in ' || n`,
      customer_id: customer,
      feature: `'feature ' || MAX(0, facts.feature % 16 - 8)`,
      status: `CASE WHEN facts.outcome < 0.95 THEN 'COMPLETED' ELSE 'FAILED' END`,
      started_at_ms: 'facts.at_ms - 2000',
      finished_at_ms: 'facts.at_ms',
      usage_provider: `'vendor-' || (facts.model % 4)`,
      model_key: `'vendor-' || (facts.model % 4) || '/model-' || (facts.model % 12)`,
      input_tokens: '500 + facts.model % 4000',
      cost_nano_usd: '(500 + facts.model % 4000) * (1 + facts.model % 12) * 1000',
    }),
    copies(db, 'meter_events', 'true', `n % ${EVENTS_EVERY} = 0`, {
      event_id: `'in ' || n`,
      customer_id: customer,
      at_ms: 'facts.at_ms',
    }),
    copies(db, 'credit_entries', 'true', `n % ${EVENTS_EVERY} = 0`, {
      entry_id: 'n + 1000',
      customer_id: customer,
      at_ms: 'facts.at_ms',
    }),
  ];
  for (let first = from; first < to; first += CHUNK_CALLS) {
    progress(`writing call ${first} of ${to}`);
    const before = Number(db.prepare('SELECT MAX(rowid) AS n FROM calls').get()?.n);
    const last = Math.min(first + CHUNK_CALLS, to);
    db.exec('BEGIN');
    // Numbers would be read as floating.
    for (const write of writes)
      write.run(BigInt(first), BigInt(last), BigInt(startMs + first * stepMs), organizationId, BigInt(stepMs));
    for (const sql of countCalls(`rowid > ${before}`)) db.exec(sql);
    db.exec('COMMIT');
    // An interruption is heard in between.
    await setImmediate();
  }
}

/** Numbers from ?1 up to ?2; the first is at ?3, and they are ?5 apart; the rows belong to the organization ?4. */
function copies(db: DatabaseSync, table: string, made: string, where: string, changed: Record<string, string>) {
  const columns = readColumns(db, table);
  return db.prepare(`WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?2),
    facts AS (SELECT n, ${hashed(2_654_435_761)} / 4294967296.0 AS who, ${hashed(668_265_263)} AS feature, ${hashed(3_266_489_917)} AS model,
      ${hashed(374_761_393)} / 4294967296.0 AS outcome, ?3 + (n - ?1) * ?5 AS at_ms FROM numbers)
    INSERT INTO ${table} (${columns.join(', ')}) SELECT ${columns.map((name) => changed[name] ?? `made.${name}`).join(', ')}
    FROM facts CROSS JOIN (SELECT * FROM ${table} WHERE organization_id = ?4 AND ${made} LIMIT 1) made WHERE ${where}`);
}

export interface Fill {
  megabytes: number;
  pages: number;
  freePages: number;
}

/** How full the file of D1 is. */
export async function fillOf(stateDir: string): Promise<Fill> {
  using db = await openD1(stateDir);
  const pragma = (name: string) => Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  const pages = pragma('page_count');
  return { megabytes: (pages * pragma('page_size')) / 2 ** 20, pages, freePages: pragma('freelist_count') };
}

/** Rows by table. */
export async function countRows(
  stateDir: string,
  { organizationId }: Subject,
  tables: readonly string[],
): Promise<Record<string, number>> {
  using db = await openD1(stateDir);
  return Object.fromEntries(
    tables.map((table) => [
      table,
      Number(db.prepare(`SELECT COUNT(*) AS n FROM ${table} WHERE organization_id = ?`).get(organizationId)?.n),
    ]),
  );
}

/** Each call as its addition to the usage, by the names of the roll-ups. */
const CALLS = `SELECT organization_id, customer_id, COALESCE(feature, '') AS feature, usage_provider AS provider,
    COALESCE(model_key, model_used, '') AS model, status AS outcome, IIF(cost_nano_usd > 0, COALESCE(model_key, model_used, ''), '') AS paid_model,
    finished_at_ms / ${HOUR_MS} * ${HOUR_MS} AS hour_ms, finished_at_ms / ${DAY_MS} * ${DAY_MS} AS day_ms,
    finished_at_ms / ${WEEK_MS} * ${WEEK_MS} AS week_ms, 1 AS calls, status = 'FAILED' AS failed_calls, cost_nano_usd IS NULL AS unpriced_calls,
    COALESCE(input_tokens, 0) AS input_tokens, COALESCE(cached_input_tokens, 0) AS cached_input_tokens,
    COALESCE(response_tokens, 0) AS output_tokens, COALESCE(reasoning_tokens, 0) AS reasoning_tokens, COALESCE(searches, 0) AS searches,
    usage_source IS NOT NULL AS provisional_calls, IIF(usage_source IS NULL, 0, COALESCE(cost_nano_usd, 0) / 1000000000) AS provisional_cost_usd,
    IIF(usage_source IS NULL, 0, COALESCE(cost_nano_usd, 0) % 1000000000) AS provisional_cost_rest_nano_usd,
    COALESCE(cost_nano_usd, 0) / 1000000000 AS cost_usd, COALESCE(cost_nano_usd, 0) % 1000000000 AS cost_rest_nano_usd,
    COALESCE(charge_nano_usd, 0) / 1000000000 AS charge_usd, COALESCE(charge_nano_usd, 0) % 1000000000 AS charge_rest_nano_usd
  FROM calls WHERE organization_id = ?1 AND finished_at_ms >= ?2`;

/**
 * Throws if a roll-up from a time on differs from the calls from then on: rows of hours, days and weeks are compared
 * one by one, running totals by their growth since.
 */
export async function checkRollUps(stateDir: string, { organizationId }: Subject, sinceMs: number): Promise<void> {
  using db = await openD1(stateDir);
  for (const rollUp of ROLL_UPS) {
    const [kept, counted] = [keptSums(rollUp), countedSums(rollUp)];
    const wrong = db
      .prepare(
        `SELECT COUNT(*) AS n FROM (SELECT * FROM (${kept} EXCEPT ${counted}) UNION ALL SELECT * FROM (${counted} EXCEPT ${kept}))`,
      )
      .get(organizationId, sinceMs)?.n;
    if (wrong !== 0)
      throw new Error(
        `${wrong} rows of ${rollUp.table} differ from the calls since ${new Date(sinceMs).toISOString()}`,
      );
  }
}

const startColumns = ({ unit }: RollUp) => (unit === 'until hour' ? [] : [`${unit}_ms`]);
const figureColumns = ({ figures }: RollUp) =>
  Object.keys(figures ?? {}).length > 0 ? Object.keys(figures ?? {}) : [...USAGE_FIGURES];
/** A week counts if it lies completely in the time. */
const sinceStart = ({ unit }: RollUp) => (unit === 'until hour' ? 'hour_ms >= ?2' : `${unit}_ms >= ?2`);

function keptSums(rollUp: RollUp): string {
  const { table, keys, unit } = rollUp;
  const names = figureColumns(rollUp);
  if (unit !== 'until hour')
    return `SELECT ${[...keys, ...startColumns(rollUp), ...names].join(', ')} FROM ${table} WHERE organization_id = ?1 AND ${sinceStart(rollUp)} AND calls <> 0`;
  const newest = (where: string) =>
    `(SELECT ${[...keys, 'MAX(hour_ms)', ...names].join(', ')} FROM ${table} WHERE organization_id = ?1 ${where} GROUP BY ${keys.join(', ')})`;
  return `SELECT ${[...keys, ...names.map((name) => `now.${name} - COALESCE(before.${name}, 0)`)].join(', ')}
    FROM ${newest('')} now LEFT JOIN ${newest('AND hour_ms < ?2')} before USING (${keys.join(', ')}) WHERE now.calls > COALESCE(before.calls, 0)`;
}

function countedSums(rollUp: RollUp): string {
  const { keys, where } = rollUp;
  const source = keys.includes('dimension')
    ? `(SELECT calls.*, dimension, CASE dimension WHEN 'feature' THEN feature WHEN 'provider' THEN provider WHEN 'model' THEN model ELSE outcome END AS key
        FROM (${CALLS}) calls CROSS JOIN (SELECT column1 AS dimension FROM (VALUES ('feature'), ('provider'), ('model'), ('outcome'))))`
    : `(${CALLS})`;
  const group = [...keys, ...startColumns(rollUp)];
  return `SELECT ${[...group, ...figureColumns(rollUp).map((name) => `SUM(${name})`)].join(', ')} FROM ${source}
    WHERE ${sinceStart(rollUp)} AND ${where ?? 'true'} GROUP BY ${group.join(', ')}`;
}
