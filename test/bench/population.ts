/**
 * Fills an organization with customers and their usage of the last hundred and twenty days, while the service is down:
 * names, plans, usage hours in every roll-up, and a call of each fifth customer. A few customers use much, most a little.
 *
 * A customer's facts come from its number, multiplied by large primes modulo 2^32, so they are the same in every run.
 */
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { CHANGE_COLUMNS, COUNT_USAGE, noteChanges } from '../../src/history/roll-ups.ts';
import { openD1, readColumns, type Subject } from './history.ts';
import type { Options } from './suite.ts';

const HOUR_MS = 3_600_000;
const HISTORY_HOURS = 120 * 24;
/** Customers that one transaction writes. */
const CHUNK_CUSTOMERS = 20_000;
/** One of this many customers has a call in the list of calls. */
const CALLS_EVERY = 5;
export const ID_PREFIX = 'cus_';
/** Every tenth customer has it. */
export const SMALL_PLAN = 'small';
export const FIRST_NAMES = [
  'Ada',
  'Bela',
  'Chen',
  'Dara',
  'Emil',
  'Fay',
  'Gita',
  'Hugo',
  'Ines',
  'Jun',
  'Kofi',
  'Lena',
];
const LAST_NAMES = ['Adler', 'Brandt', 'Costa', 'Diaz', 'Eriksen', 'Fofana', 'Grant', 'Haas', 'Ito', 'Jensen', 'Kaya'];
const FEATURES = 8;

const hashed = (number: string, prime: number) => `(${number} * ${prime} % 4294967296)`;
const among = (texts: readonly string[], number: string) =>
  `json_extract('${JSON.stringify(texts)}', '$[' || (${number} % ${texts.length}) || ']')`;

/** The numbers from ?1 up to ?2, each with the properties of its customer; `share` is 0 for the one that uses most. */
const PEOPLE = `numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?2),
  people AS (SELECT n, printf('${ID_PREFIX}%08x', ${hashed('n', 2_654_435_761)}) AS id, ${hashed('n', 668_265_263)} / 4294967296.0 AS share FROM numbers)`;

/** The id of the customer with this number. */
export function customerId(number: number): string {
  const hash = (BigInt(number) * 2_654_435_761n) % 4_294_967_296n;
  return `${ID_PREFIX}${hash.toString(16).padStart(8, '0')}`;
}

/** So many customers more, with numbers from 1. */
export async function writePopulation(
  stateDir: string,
  { organizationId }: Subject,
  customers: number,
  progress: Options['progress'],
): Promise<void> {
  using db = await openD1(stateDir);
  const nowMs = BigInt(Date.now() - (Date.now() % HOUR_MS));
  const [writeCustomers, writeUsage, writeCalls] = [customerStatement(db), usageStatement(db), callStatement(db)];
  for (let first = 1; first <= customers; first += CHUNK_CUSTOMERS) {
    progress(`writing customer ${first} of ${customers}`);
    // Numbers would be read as floating.
    const range = [BigInt(first), BigInt(Math.min(first + CHUNK_CUSTOMERS, customers + 1))];
    db.exec('BEGIN');
    writeCustomers.run(...range, organizationId);
    writeUsage.run(...range, organizationId, nowMs);
    for (const sql of COUNT_USAGE) db.exec(sql);
    writeCalls.run(...range, organizationId, nowMs);
    db.exec('COMMIT');
    // An interruption is heard in between.
    await setImmediate();
  }
}

/** Copies of the one customer that was made. */
function customerStatement(db: DatabaseSync) {
  const name = `${among(FIRST_NAMES, hashed('n', 3_266_489_917))} || ' ' || ${among(LAST_NAMES, hashed('n', 374_761_393))} || ' ' || n`;
  const changed: Record<string, string> = {
    customer_id: 'id',
    customer_id_lower: 'id',
    friendly_name: name,
    friendly_name_lower: `LOWER(${name})`,
    email: `id || '@example.com'`,
    subscription_id: `'sub_' || n || made.subscription_id`,
    plan_id: `IIF(n % 10 = 0, '${SMALL_PLAN}', made.plan_id)`,
  };
  const columns = readColumns(db, 'customers');
  return db.prepare(`WITH RECURSIVE ${PEOPLE}
    INSERT INTO customers (${columns.join(', ')}) SELECT ${columns.map((column) => changed[column] ?? `made.${column}`).join(', ')}
    FROM people CROSS JOIN (SELECT * FROM customers WHERE organization_id = ?3 ORDER BY created_at_ms LIMIT 1) made`);
}

/** Usage in one to a hundred hours of each customer: the smaller the share, the more hours and the more of each. */
function usageStatement(db: DatabaseSync) {
  const seed = '(n * 61 + k)';
  const atMs = `?4 - ${hashed(seed, 2_246_822_519)} % ${HISTORY_HOURS} * ${HOUR_MS}`;
  const model = hashed(seed, 374_761_393);
  const values: Record<(typeof CHANGE_COLUMNS)[number], string> = {
    organization_id: '?3',
    customer_id: 'id',
    feature: `'feature ' || (${hashed(seed, 3_266_489_917)} % ${FEATURES})`,
    provider: `'vendor-' || (${model} % 4)`,
    model: `'vendor-' || (${model} % 4) || '/model-' || (${model} % 12)`,
    outcome: `IIF(${hashed(seed, 668_265_263)} % 50 = 0, 'FAILED', 'COMPLETED')`,
    paid_model: `'vendor-' || (${model} % 4) || '/model-' || (${model} % 12)`,
    hour_ms: `CAST(${atMs} AS INTEGER)`,
    calls: 'CAST(1 + 0.2 / (share + 0.001) AS INTEGER)',
    unpriced_calls: '0',
    input_tokens: '1000',
    cached_input_tokens: '0',
    output_tokens: '500',
    reasoning_tokens: '0',
    searches: '0',
    provisional_calls: '0',
    provisional_cost_usd: '0',
    provisional_cost_rest_nano_usd: '0',
    cost_usd: '0',
    cost_rest_nano_usd: `CAST(${hashed(seed, 3_266_489_917)} % 1000000 * (1 + 0.05 / (share + 0.0001)) AS INTEGER)`,
    charge_usd: '0',
    charge_rest_nano_usd: '0',
  };
  const used = `WITH RECURSIVE ${PEOPLE},
    used (n, id, share, k, hours) AS (
      SELECT n, id, share, 1, CAST(1 + 0.5 / (share + 0.005) AS INTEGER) FROM people
      UNION ALL SELECT n, id, share, k + 1, hours FROM used WHERE k < hours)
    SELECT ${CHANGE_COLUMNS.map((column) => values[column]).join(', ')} FROM used`;
  return db.prepare(noteChanges(used));
}

/** Copies of the one call that was made. */
function callStatement(db: DatabaseSync) {
  const atMs = `?4 - ${hashed('n', 2_246_822_519)} % ${HISTORY_HOURS * HOUR_MS}`;
  const changed: Record<string, string> = {
    call_id: `'in ' || n`,
    customer_id: 'id',
    started_at_ms: `${atMs} - 2000`,
    finished_at_ms: atMs,
    record: `'{}'`,
  };
  const columns = readColumns(db, 'calls');
  return db.prepare(`WITH RECURSIVE ${PEOPLE}
    INSERT INTO calls (${columns.join(', ')}) SELECT ${columns.map((column) => changed[column] ?? `made.${column}`).join(', ')}
    FROM people CROSS JOIN (SELECT * FROM calls WHERE organization_id = ?3 ORDER BY call_id DESC LIMIT 1) made
    WHERE n % ${CALLS_EVERY} = 0`);
}
