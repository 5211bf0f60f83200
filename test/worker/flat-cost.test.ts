/**
 * Promise: what a command of a customer's object reads does not grow with what the object has, whatever the plan: each
 * statement reads as many rows beside ten thousand rows of a kind as beside ten, or has a bound.
 */
import { expect, test } from 'vitest';
import { ENTRIES_MAX } from '../../src/domain/payers.ts';
import { accepted, type Clockwork, type Rows, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { KINDS, SHARED_HASH } from '../support/rows-of-kinds.ts';
import { usage } from '../unit/fixtures.ts';

const T0 = Date.UTC(2026, 5, 1, 12);
const SECOND = 1_000;
const HOUR = 3_600_000;
const [FEW, MANY] = [10, 10_000];
const CENT = 10_000_000n;

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

/** No bench has these: an outbox that waits is of objects whose projector is away, and the others take space, not time. */
const ALL_KINDS: typeof KINDS = {
  ...KINDS,
  'changes of calls that wait': ({ query, count, nowMs }) =>
    query(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
      INSERT INTO outbox (place, kind, id, queued_at_ms) SELECT 1000 + n, 'call', 'waits-' || n, ${nowMs} FROM numbers`),
  'past calls': ({ query, count, nowMs }) =>
    query(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
      INSERT INTO past_calls (call_id, status, finished_at_ms, facts, begin_fingerprint)
      SELECT 'past ' || n, 'COMPLETED', ${nowMs - HOUR} + n, '{}', '' FROM numbers`),
  'kept answers of vendors': ({ query, count }) =>
    query(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
      INSERT INTO kept_answers (end_byte, call_id, bytes) SELECT 100000 * n, 'kept ' || n, 100000 FROM numbers`),
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

/** Rows that a statement may read in any case, by its beginning. */
const BOUNDED: Record<string, number> = {
  // A charge that gives back finds in the ledger which credits paid.
  'SELECT record FROM ledger WHERE unit = ? ORDER BY entry_id DESC': ENTRIES_MAX,
  // A round of the housekeeping, which looks at 500 calls.
  'SELECT rowid AS row_id': 1_501,
  'SELECT rowid AS rowId, started_at_ms AS startedAtMs FROM calls WHERE rowid >': 501,
  'DELETE FROM calls WHERE rowid': 501,
  'UPDATE calls SET finished_at_ms': 501,
  'SELECT kept_answers.call_id AS callId': 1_002,
  'DELETE FROM call_answers WHERE call_id IN': 1_002,
  'DELETE FROM kept_answers WHERE call_id IN': 2_002,
  'DELETE FROM past_calls WHERE place IN': 501,
  // What an operator's page of one customer lists, and counts.
  'SELECT record FROM (SELECT record, started_at_ms': 82,
  'SELECT entry_id, record FROM ledger ORDER BY entry_id DESC': 50,
  'SELECT COUNT(*) AS pending FROM (SELECT DISTINCT kind, id FROM outbox': Number.POSITIVE_INFINITY,
  'SELECT COUNT(*) AS count FROM charges WHERE failure_reason IS NULL': Number.POSITIVE_INFINITY,
};
const rowsMax = (sql: string) => Object.entries(BOUNDED).find(([beginning]) => sql.startsWith(beginning))?.[1] ?? 0;

type Reads = Record<string, Rows>;

/** Rows that each command reads on each plan, by statement. */
async function readsBeside(kind: string, count: number): Promise<Reads> {
  const reads: Reads = {};
  await withObject({ name: 'first', limitType: 'NONE', customMeters: METERS }, async (object) => {
    makeOne(object);
    ALL_KINDS[kind]?.({ query: object.query, count, nowMs: T0 });
    object.query('UPDATE account SET begin_figures = NULL');
    object.query("UPDATE calls SET status = 'IN_PROGRESS' WHERE status = 'LISTED'");
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
      read('begin of a service call', () => object.beginServiceCall(`s ${plan}`, atMs, asked));
      read('hold of a batch', () => object.holdBatch(`batch ${plan}`, {}, atMs));
      read('line of a batch', () => object.recordServiceCall(`l ${plan}`, atMs, USED, { price: PRICE }));
      read('end of a batch', () => object.endBatch(`batch ${plan}`, atMs));
      read('step of a stream', () => object.extendHold(`c ${plan}`, 2_048, atMs));
      read('change of the plan', () => object.changePlan({ name: plan, ...content }, 'IMMEDIATE_PRORATED', atMs));
      read('alarm', () => object.wake(atMs));
      read('inspect', () => object.inspect(atMs));
      read('debit', () => void object.settle(atMs));
      read('read usage', () => object.usage(atMs));
      read('correct', () => object.reverseCall(`b ${plan}`, atMs));
      read('void', () => object.void(`c ${plan}`, atMs));
      await object.restart();
      read('first begin of an object', () => object.begin(`d ${plan}`, atMs, asked));
      read('derived begin', () => object.begin('', atMs, asked, { source: 'derived', hash: SHARED_HASH }));
      read('end', () => object.end(`d ${plan}`, atMs, USED, PRICE));
    }
  });
  return reads;
}

test.each(Object.keys(ALL_KINDS))('beside %s', async (kind) => {
  const [few, many] = [await readsBeside(kind, FEW), await readsBeside(kind, MANY)];
  const grown = Object.entries(many).flatMap(([command, statements]) =>
    Object.entries(statements)
      .filter(([sql, rows]) => rows > (few[command]?.[sql] ?? 0) && rows > rowsMax(sql))
      .map(([sql, rows]) => `${command}: ${few[command]?.[sql] ?? 0} rows, then ${rows}: ${sql}`),
  );
  expect(grown).toEqual([]);
});
