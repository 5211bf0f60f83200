/**
 * Promise: what a command of a customer's object reads does not grow with what the object has, whatever the plan: each
 * statement reads as many rows beside ten thousand rows of a kind as beside ten.
 */
import { expect, test } from 'vitest';
import { ENTRIES_MAX } from '../../src/domain/payers.ts';
import { accepted, type Clockwork, type RowsRead, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { usage } from '../unit/fixtures.ts';

const T0 = Date.UTC(2026, 5, 1, 12);
const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const [FEW, MANY] = [10, 10_000];
const CENT = 10_000_000n;
const HASH = 'ab'.repeat(32);

const PAYG = { enabled: true, markupPercent: 10 };
const METERS = { CUSTOM1: { enabled: true, included: 5, overage: { model: 'SINGLE', priceUsd: '0.001' } } };
/** What a plan can have. */
const PLANS: Record<string, object> = {
  'a free plan': { limitType: 'NONE' },
  'an allowance': { limitType: 'BLOCK', limits: { standardCalls: 1_000_000, standardTokens: 1_000_000_000 } },
  'an exhausted allowance': { limitType: 'BLOCK', limits: { standardCalls: 0, premiumCalls: 0 } },
  'pay-as-you-go with an exhausted tier': { limitType: 'BLOCK', limits: { standardCalls: 0 }, payg: PAYG },
  'expected holds': { limitType: 'BLOCK', limits: { standardCalls: 0 }, payg: { ...PAYG, holds: 'EXPECTED' } },
  'a downgrade': { limitType: 'DOWNGRADE', limits: { premiumCalls: 0 } },
  'a rolling limit': { limitType: 'NONE', rollingCalls: { limit: 100_000, windowSeconds: 86_400 } },
  'a reached rolling limit': { limitType: 'NONE', rollingCalls: { limit: 1, windowSeconds: 86_400 } },
  'reserved output tokens': { limitType: 'BLOCK', limits: { standardTokens: 1_000_000 }, reserveOutputTokens: 1_000 },
  'custom meters': { limitType: 'NONE', customMeters: METERS },
};

/** Numbers from 1 up to `count`, as n. */
const numbers = (count: number) =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;

/** So many copies of the rows that a condition names, with other values in some columns. */
function copy(object: Clockwork, table: string, where: string, count: number, changed: Record<string, string>): void {
  const columns = object
    .query<{ name: string }>(`SELECT name FROM pragma_table_info('${table}')`)
    .map(({ name }) => name);
  const values = columns.map((name) => changed[name] ?? `made.${name}`);
  object.query(`${numbers(count)} INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')}
    FROM numbers CROSS JOIN (SELECT * FROM ${table} WHERE ${where} LIMIT 1) made`);
}

/** Calls like one that was made, which began so long ago, a millisecond apart. */
const calls =
  (callId: string, agoMs: number, changed: Record<string, string> = {}) =>
  (object: Clockwork, count: number) =>
    copy(object, 'calls', `call_id = '${callId}'`, count, {
      call_id: `'copy-' || n`,
      started_at_ms: `${T0 - agoMs} + n`,
      deadline_at_ms: `${T0 + DAY} + n`,
      finished_at_ms: `IIF(made.finished_at_ms IS NULL, NULL, ${T0 - agoMs} + n)`,
      ...changed,
    });

/** What an object can have many of. The copied rows lack nothing that a command looks at. */
const KINDS: Record<string, (object: Clockwork, count: number) => void> = {
  'completed calls': calls('completed', HOUR),
  'failed calls': calls('failed', HOUR),
  'denied calls': calls('denied', HOUR),
  'open calls': calls('open', HOUR),
  'timed-out calls': calls('open', HOUR, { status: `'TIMEOUT'`, finished_at_ms: `${T0 - HOUR} + n` }),
  'reversed calls': calls('completed', HOUR, { status: `'REVERSED'` }),
  'calls without a price': calls('unpriced', HOUR),
  'calls whose answers were dropped': calls('completed', 3 * DAY, { begin_answer: 'NULL', end_answer: 'NULL' }),
  'changes of calls that wait': (object, count) =>
    copy(object, 'outbox', 'true', count, {
      place: '1000 + n',
      kind: `'call'`,
      id: `'waits-' || n`,
      queued_at_ms: String(T0),
    }),
  'derived keys of a payload': (object, count) =>
    object.query(`${numbers(count)} INSERT INTO derived_keys (hash, fingerprint, generation, call_id, at_ms)
      SELECT '${HASH}', 'other ' || n, n, 'completed', ${T0} FROM numbers`),
  'idempotency keys': (object, count) =>
    object.query(`${numbers(count)} INSERT INTO idempotency_keys (operation, key, fingerprint, expires_at_ms)
      SELECT 'end', 'key ' || n, '', ${T0 + DAY} FROM numbers`),
  'ledger entries': (object, count) =>
    copy(object, 'ledger', `unit = 'USD'`, count, { entry_id: '-n', at_ms: `${T0 - DAY} + n`, balance: `'0'` }),
  'charges that wait for a key': (object, count) =>
    object.query(`${numbers(count)} INSERT INTO charges (charge_id, kind, subject_id, amount_nano_usd, stripe_customer_id, at_ms,
        debited_at_ms, due_at_ms, keyed)
      SELECT 'charge ' || n, 'call', 'waits-' || n, '1', 'cus', ${T0 - HOUR}, ${T0 - HOUR}, ${T0 + DAY} + n, 1 FROM numbers`),
  'expired batches': (object, count) =>
    object.query(`${numbers(count)} INSERT INTO batch_holds (request_name, begun_at_ms, expires_at_ms, hold)
      SELECT 'batch ' || n, ${T0 - DAY} + n, NULL, '{}' FROM numbers`),
  'meter events': (object, count) =>
    copy(object, 'meter_events', 'true', count, { event_id: `'copy-' || n`, at_ms: `${T0} + n` }),
  events: (object, count) =>
    object.query(
      `${numbers(count)} INSERT INTO events (event_id, at_ms, record) SELECT 'event ' || n, ${T0}, '{}' FROM numbers`,
    ),
  'credits of before': (object, count) =>
    object.query(`${numbers(count)} INSERT INTO credits (credit_id, terms) SELECT 'credit ' || n, '{}' FROM numbers`),
  corrections: (object, count) =>
    object.query(
      `${numbers(count)} INSERT INTO corrections (subject_id, revision, at_ms) SELECT 'subject ' || n, 1, ${T0} FROM numbers`,
    ),
};

const PRICE = { available: true as const, card: rateCard({ input: '1000', output: '1000' }) };
const USED = { modelUsed: 'm', usage: usage({ inputTokens: 1_000, responseTokens: 500 }) };

/** One of each: the rows that are copied. */
function makeOne(object: Clockwork): void {
  accepted(object.begin('completed', T0 - 5 * HOUR));
  accepted(object.end('completed', T0 - 5 * HOUR, USED, PRICE));
  accepted(object.begin('failed', T0 - 5 * HOUR));
  accepted(object.end('failed', T0 - 5 * HOUR, { ...USED, error: { code: 'E', message: 'broken' } }, PRICE));
  accepted(object.begin('unpriced', T0 - 5 * HOUR));
  accepted(object.end('unpriced', T0 - 5 * HOUR));
  accepted(object.begin('open', T0 - HOUR / 2));
  accepted(object.increment(1, T0 - 5 * HOUR));
  accepted(object.grant('USD', 1_000_000n * CENT, T0 - 5 * HOUR));
  accepted(
    object.changePlan(
      { name: 'closed', limitType: 'BLOCK', limits: { standardCalls: 0 } },
      'IMMEDIATE_RESET',
      T0 - 4 * HOUR,
    ),
  );
  accepted(object.begin('denied', T0 - 4 * HOUR, { requested: { standard: true } }));
}

/** Statements whose rows have a bound of their own. A charge that gives back finds in the ledger which credits paid. */
const BOUNDED: RowsRead = { 'SELECT record FROM ledger WHERE unit = ? ORDER BY entry_id DESC LIMIT ?': ENTRIES_MAX };

type Reads = Record<string, RowsRead>;

/** Rows that each command reads on each plan, by statement. */
async function readsBeside(kind: string, count: number): Promise<Reads> {
  const reads: Reads = {};
  await withObject({ name: 'first', limitType: 'NONE', customMeters: METERS }, async (object) => {
    makeOne(object);
    KINDS[kind]?.(object, count);
    object.query('UPDATE account SET begin_figures = NULL');
    let atMs = T0;
    const later = () => {
      atMs += SECOND;
      return atMs;
    };
    for (const [plan, content] of Object.entries(PLANS)) {
      const read = (command: string, run: () => unknown) => {
        later();
        reads[`${command}, ${plan}`] = object.rowsRead(run);
      };
      const asked = { requested: { standard: true, premium: true } };
      await object.restart();
      accepted(object.changePlan({ name: plan, ...content }, 'IMMEDIATE_RESET', later()));
      object.begin(`first ${plan}`, later(), asked);
      object.end(`first ${plan}`, later(), USED, PRICE);
      read('begin', () => object.begin(`b ${plan}`, atMs, asked));
      read('begin again', () => object.begin(`c ${plan}`, atMs, asked));
      read('end', () => object.end(`b ${plan}`, atMs, USED, PRICE));
      read('increment', () => object.increment(1, atMs));
      read('debit', () => void object.settle(atMs));
      read('read usage', () => object.usage(atMs));
      read('correct', () => object.reverseCall(`b ${plan}`, atMs));
      read('void', () => object.void(`c ${plan}`, atMs));
      await object.restart();
      read('first begin of an object', () => object.begin(`d ${plan}`, atMs, asked));
      read('derived begin', () => object.begin('', atMs, asked, { source: 'derived', hash: HASH }));
      read('end', () => object.end(`d ${plan}`, atMs, USED, PRICE));
    }
  });
  return reads;
}

test.each(Object.keys(KINDS))('beside %s', async (kind) => {
  const [few, many] = [await readsBeside(kind, FEW), await readsBeside(kind, MANY)];
  const grown = Object.entries(many).flatMap(([command, statements]) =>
    Object.entries(statements)
      .filter(([sql, rows]) => rows > (few[command]?.[sql] ?? 0) && rows > (BOUNDED[sql] ?? 0))
      .map(([sql, rows]) => `${command}: ${few[command]?.[sql] ?? 0} rows, then ${rows}: ${sql}`),
  );
  expect(grown).toEqual([]);
});
