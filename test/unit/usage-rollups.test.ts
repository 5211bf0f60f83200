/**
 * Promise: the roll-ups of usage in D1 are the sums of the calls, however often and in whatever order these are
 * delivered; and nothing is left in them of a customer who is erased.
 *
 * The statements run on SQLite itself, as D1 runs them.
 */

import type { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { nanoOfParts } from '../../src/domain/money.ts';
import type { Env } from '../../src/env.ts';
import { eraseProjection } from '../../src/history/erasure.ts';
import { projectionStatements } from '../../src/history/projection.ts';
import { usageProvider } from '../../src/history/projection-rows.ts';
import { deleteExpiredHistory } from '../../src/history/retention.ts';
import { USAGE_FIGURES } from '../../src/history/roll-ups.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import { asD1, openD1, runBatch } from '../support/d1.ts';
import { customerKey } from '../support/ids.ts';
import { swept } from '../support/sweep.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
const START = Date.UTC(2027, 2, 1, 20);
const ORGANIZATIONS = ['one', 'other'];
const FIGURES = [...USAGE_FIGURES];
const COST = '(cost_usd * 1000000000 + cost_rest_nano_usd)';
/** Not empty: also of a row without calls, nothing may be left. */
const SOME_LEFT = `(${[...FIGURES.filter((name) => !name.startsWith('cost_')), COST].map((name) => `${name} <> 0`).join(' OR ')})`;
const SUMS = FIGURES.map((name) => `SUM(${name}) AS ${name}`).join(', ');
/** The most that a column of 64 bits holds. */
const COST_MAX = 2n ** 63n - 1n;

const open: DatabaseSync[] = [];
afterEach(() => {
  for (const db of open.splice(0)) db.close();
});

function opened(): DatabaseSync {
  const db = openD1();
  open.push(db);
  return db;
}

interface Sent {
  organizationId: string;
  call: number;
  customerId: string;
  feature: string | null;
  status: string;
  atMs: number;
  model: string | null;
  isPriced: boolean;
  isProvisional: boolean;
  tokens: number;
  costNanoUsd: bigint;
  revision: number;
}

const sent: fc.Arbitrary<Sent> = fc.record({
  organizationId: fc.constantFrom(...ORGANIZATIONS),
  call: fc.nat(4),
  customerId: fc.constantFrom('ann', 'bob', 'cid'),
  feature: fc.constantFrom('chat', 'search', null),
  status: fc.constantFrom('IN_PROGRESS', 'COMPLETED', 'COMPLETED', 'FAILED', 'TIMEOUT', 'NOT_ALLOWED'),
  // Over three days, so that some come long after later ones.
  atMs: fc.nat(3 * DAY).map((after) => START + after),
  model: fc.constantFrom('openai/gpt-4o', 'mistral/small', null),
  isPriced: fc.boolean(),
  isProvisional: fc.boolean(),
  tokens: fc.oneof(fc.nat(1_000), fc.constant(1_000_000_000)),
  costNanoUsd: fc.oneof(fc.bigInt(0n, 10_000n), fc.bigInt(0n, COST_MAX), fc.constant(COST_MAX)),
  revision: fc.integer({ min: 1, max: 9 }),
});

/** The columns of the call's row. */
function buildRow(sentCall: Sent) {
  const { status, model, isPriced, isProvisional, tokens, costNanoUsd } = sentCall;
  const isEnded = status === 'COMPLETED' || status === 'FAILED';
  const used = isEnded ? model : null;
  const priced = isPriced ? used : null;
  const countedTokens = (factor: number) => (isEnded ? tokens * factor : null);
  const none = {
    ...{ customer_user_id: null, tags: null, tier: null, error_code: null, pricing_snapshot_id: null },
    ...{ cache_write_input_tokens: null, standard_cost_nano_usd: null, original_tokens: null, compressed_tokens: null },
    ...{ saved_tokens: null, cost_avoided_nano_usd: null, compression_techniques: null },
  };
  return {
    ...none,
    organization_id: sentCall.organizationId,
    call_id: `call-${sentCall.call}`,
    customer_id: sentCall.customerId,
    feature: sentCall.feature,
    status,
    started_at_ms: START,
    finished_at_ms: status === 'IN_PROGRESS' ? null : sentCall.atMs,
    usage_plan_version_id: 'v',
    pricing_mode: 'standard',
    provider_used: 'OpenAI',
    usage_provider: usageProvider(priced, 'OpenAI'),
    model_used: used,
    model_key: priced,
    input_tokens: countedTokens(5),
    cached_input_tokens: countedTokens(1),
    response_tokens: countedTokens(2),
    reasoning_tokens: countedTokens(3),
    searches: countedTokens(4),
    usage_source: isEnded && isProvisional ? 'estimated' : null,
    cost_nano_usd: priced === null ? null : String(costNanoUsd),
    charge_nano_usd: priced === null || isProvisional ? null : String(costNanoUsd / 3n),
    revision: sentCall.revision,
    record: {},
  };
}

/** A number of denied calls of an hour. */
interface Denied {
  organizationId: string;
  customerId: string;
  feature: string;
  hour: number;
  calls: number;
}

const denied: fc.Arbitrary<Denied> = fc.record({
  organizationId: fc.constantFrom(...ORGANIZATIONS),
  customerId: fc.constantFrom('ann', 'bob', 'cid'),
  feature: fc.constantFrom('chat', ''),
  hour: fc.nat(30),
  calls: fc.integer({ min: 1, max: 9 }),
});

/** The columns of the row; the larger count is the newer one. */
function deniedRowOf({ organizationId, customerId, feature, hour, calls }: Denied) {
  const key = { organization_id: organizationId, customer_id: customerId, hour_ms: START + hour * HOUR, feature };
  return { ...key, calls, revision: calls };
}

/** A page of one change. */
function projectionPage(
  kind: 'call' | 'denied_hour',
  id: string,
  row: { organization_id: string; customer_id: string; revision: number },
): ProjectionPage {
  const of = { ...customerKey(row.organization_id, row.customer_id), subscriptionId: row.organization_id };
  const values = JSON.stringify([of.subscriptionId, ...Object.values(row)]);
  return { ...of, columns: { [kind]: Object.keys(row) }, changes: [{ kind, id, revision: row.revision, values }] };
}

/** Delivers a batch, in which a row may be more than once. */
function sendBatch(db: DatabaseSync, calls: readonly Sent[], counts: readonly Denied[] = [], runsTwice = false): void {
  const pages = [
    ...calls.map((call) => projectionPage('call', `call-${call.call}`, buildRow(call))),
    ...counts.map((count) => {
      const { calls: _, ...key } = count;
      return projectionPage('denied_hour', JSON.stringify(key), deniedRowOf(count));
    }),
  ];
  const statements = projectionStatements(asD1(db), pages);
  runBatch(db, statements);
  // D1 may run a batch that it was sent once more than once.
  if (runsTwice) runBatch(db, statements);
}

const batches = fc.array(fc.array(sent, { maxLength: 20 }), { maxLength: 6 });

/** Rows of a query with all digits of their numbers. */
function exactRows(db: DatabaseSync, sql: string): Record<string, unknown>[] {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement.all();
}

/** Rows of a query as text, in one order. The two columns of a sum of cost are one figure. */
const rows = (db: DatabaseSync, sql: string) =>
  exactRows(db, sql)
    .map(({ cost_usd: usd, cost_rest_nano_usd: rest, ...row }) =>
      [...Object.values(row), ...(usd === undefined ? [] : [nanoOfParts(String(usd), String(rest))])].join(' | '),
    )
    .sort();

/** The rows that the hours must have, from the calls; and every roll-up, as stored and as the sum of the hours. */
function pairs(): [name: string, kept: string, summed: string][] {
  const inFull = `SELECT organization_id, customer_id, finished_at_ms / ${HOUR} * ${HOUR}, COALESCE(feature, ''), status,
    COALESCE(model_key, model_used, ''), CASE WHEN model_key IS NULL THEN 'openai' ELSE SUBSTR(model_key, 1, INSTR(model_key, '/') - 1) END,
    COUNT(*), SUM(status IN ('COMPLETED', 'FAILED') AND cost_nano_usd IS NULL), SUM(COALESCE(input_tokens, 0)),
    SUM(COALESCE(cached_input_tokens, 0)), SUM(COALESCE(response_tokens, 0)), SUM(COALESCE(reasoning_tokens, 0)), SUM(COALESCE(searches, 0)),
    COUNT(usage_source), SUM(IIF(usage_source IS NULL, 0, COALESCE(cost_nano_usd, 0) / 1000000000)),
    SUM(IIF(usage_source IS NULL, 0, COALESCE(cost_nano_usd, 0) % 1000000000)),
    SUM(COALESCE(cost_nano_usd, 0) / 1000000000) AS cost_usd, SUM(COALESCE(cost_nano_usd, 0) % 1000000000) AS cost_rest_nano_usd,
    SUM(COALESCE(charge_nano_usd, 0) / 1000000000), SUM(COALESCE(charge_nano_usd, 0) % 1000000000)
    FROM calls WHERE status <> 'IN_PROGRESS' GROUP BY 1, 2, 3, 4, 5, 6, 7`;
  const ofCalls = `SELECT organization_id, customer_id, hour_ms, feature, status, model, provider, SUM(calls), SUM(unpriced), SUM(input),
    SUM(cached), SUM(output), SUM(reasoning), SUM(searches), SUM(provisional), SUM(provisional_usd), SUM(provisional_rest), SUM(cost_usd) AS cost_usd, SUM(cost_rest) AS cost_rest_nano_usd,
    SUM(charge_usd), SUM(charge_rest) FROM (
      SELECT NULL AS organization_id, NULL AS customer_id, NULL AS hour_ms, NULL AS feature, NULL AS status, NULL AS model, NULL AS provider,
        NULL AS calls, NULL AS unpriced, NULL AS input, NULL AS cached, NULL AS output, NULL AS reasoning, NULL AS searches,
        NULL AS provisional, NULL AS provisional_usd, NULL AS provisional_rest,
        NULL AS cost_usd, NULL AS cost_rest, NULL AS charge_usd, NULL AS charge_rest WHERE false
      UNION ALL ${inFull}
      UNION ALL SELECT organization_id, customer_id, hour_ms, feature, 'NOT_ALLOWED', '', '', calls, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM denied_hours
    ) GROUP BY 1, 2, 3, 4, 5, 6, 7`;
  const ofHours = `SELECT organization_id, customer_id, hour_ms, feature, outcome, model, provider, ${FIGURES.join(', ')}
    FROM usage_hours WHERE ${SOME_LEFT}`;
  const dimensions = ['feature', 'provider', 'model', 'outcome'].flatMap((dimension): [string, string, string][] => {
    const of = (table: string, time: string) =>
      `SELECT organization_id, ${time}, key, ${FIGURES.join(', ')} FROM ${table} WHERE dimension = '${dimension}' AND ${SOME_LEFT}`;
    const sum = (time: string) =>
      `SELECT organization_id, ${time}, ${dimension}, ${SUMS} FROM usage_hours GROUP BY 1, 2, 3 HAVING SUM(calls) <> 0`;
    return [
      [`${dimension} by hour`, of('organization_hours', 'hour_ms'), sum('hour_ms')],
      [`${dimension} by day`, of('organization_days', 'day_ms'), sum(`hour_ms / ${DAY} * ${DAY}`)],
    ];
  });
  const running = (key: string) =>
    `SELECT ${key}, hour_ms, ${FIGURES.map((name) => `SUM(${name}) OVER (PARTITION BY ${key} ORDER BY hour_ms) AS ${name}`).join(', ')}
     FROM (SELECT ${key}, hour_ms, ${FIGURES.map((name) => `SUM(${name}) AS ${name}`).join(', ')} FROM usage_hours GROUP BY ${key}, hour_ms)`;
  const features = ['hour', 'day'].map((unit): [string, string, string] => {
    const time = unit === 'hour' ? 'hour_ms' : `hour_ms / ${DAY} * ${DAY}`;
    return [
      `features by ${unit}`,
      `SELECT organization_id, feature, ${unit}_ms, provider, model, outcome, ${FIGURES.join(', ')} FROM feature_${unit}s
       WHERE ${SOME_LEFT}`,
      `SELECT organization_id, feature, ${time}, provider, model, outcome, ${SUMS} FROM usage_hours
       GROUP BY 1, 2, 3, 4, 5, 6 HAVING SUM(calls) <> 0`,
    ];
  });
  return [
    ['hours', ofHours, ofCalls],
    ...dimensions,
    ...features,
    [
      'running totals within a feature',
      `SELECT organization_id, customer_id, feature, hour_ms, ${FIGURES.join(', ')} FROM feature_running_totals`,
      running('organization_id, customer_id, feature'),
    ],
    [
      'running totals',
      `SELECT organization_id, customer_id, hour_ms, ${FIGURES.join(', ')} FROM customer_running_totals`,
      running('organization_id, customer_id'),
    ],
    [
      'days of customers',
      `SELECT organization_id, customer_id, day_ms, paid_model, calls, failed_calls, cost_usd, cost_rest_nano_usd FROM customer_days WHERE calls <> 0`,
      `SELECT organization_id, customer_id, finished_at_ms / ${DAY} * ${DAY}, CASE WHEN cost_nano_usd > 0 THEN model_key ELSE '' END, COUNT(*),
         SUM(status = 'FAILED'), SUM(COALESCE(cost_nano_usd, 0) / 1000000000) AS cost_usd,
         SUM(COALESCE(cost_nano_usd, 0) % 1000000000) AS cost_rest_nano_usd
       FROM calls WHERE status IN ('COMPLETED', 'FAILED') GROUP BY 1, 2, 3, 4`,
    ],
    ...['organization_id, customer_id', 'organization_id, customer_id, feature'].map(boundsOf),
    ['nothing waits to be counted', 'SELECT * FROM usage_change_parts', 'SELECT 1 WHERE false'],
  ];
}

/** The spans that a customer used, with whether their bounds are what they may be: at least the cost, and less than twice it. */
function boundsOf(keys: string): [name: string, kept: string, summed: string] {
  const table = keys.includes('feature') ? 'feature_cost_bounds' : 'customer_cost_bounds';
  const isBound = (figure: string, bound: string) => `${figure} <= ${bound} AND ${bound} <= 2.0 * ${figure}`;
  const start = `hour_ms / (weeks * ${WEEK}) * (weeks * ${WEEK})`;
  const sums = `(SELECT ${keys}, weeks, ${start} AS start_ms, SUM(cost_usd) * 1000000000 + SUM(cost_rest_nano_usd) AS cost, SUM(calls) AS calls
    FROM usage_hours CROSS JOIN (SELECT 1 AS weeks UNION ALL SELECT 16) GROUP BY ${keys}, weeks, start_ms)`;
  return [
    table,
    `SELECT ${keys}, weeks, start_ms, ${isBound('cost', 'cost_at_most')} AND IIF(cost > 0, calls_at_most = 0, ${isBound('calls', 'calls_at_most')}) AS holds
     FROM ${table} JOIN ${sums} USING (${keys}, weeks, start_ms)`,
    `SELECT ${keys}, weeks, start_ms, 1 AS holds FROM ${sums}`,
  ];
}

function expectExact(db: DatabaseSync): void {
  for (const [name, kept, summed] of pairs()) expect([name, ...rows(db, kept)]).toEqual([name, ...rows(db, summed)]);
  for (const organizationId of ORGANIZATIONS) {
    const calls = exactRows(
      db,
      `SELECT cost_nano_usd AS cost FROM calls WHERE organization_id = '${organizationId}' AND cost_nano_usd IS NOT NULL`,
    );
    const cost = calls.reduce((sum, call) => sum + BigInt(String(call.cost)), 0n);
    for (const source of COSTS_IN_ALL) {
      const sql = `SELECT COALESCE(SUM(cost_usd), 0) AS usd, COALESCE(SUM(cost_rest_nano_usd), 0) AS rest FROM ${source}`;
      const sums = exactRows(
        db,
        `${sql} ${source.includes('WHERE') ? 'AND' : 'WHERE'} organization_id = '${organizationId}'`,
      );
      expect([source, ...sums.map(({ usd, rest }) => nanoOfParts(String(usd), String(rest)))]).toEqual([source, cost]);
    }
  }
}

/** The tables with the costs of all calls, each once. */
const COSTS_IN_ALL = [
  ...['usage_hours', 'customer_days'],
  ...['feature', 'provider', 'model', 'outcome'].map(
    (dimension) => `organization_days WHERE dimension = '${dimension}'`,
  ),
  ...['feature_hours', 'feature_days'],
];

describe('the roll-ups', () => {
  test('equal the sums of the calls, in any order and number of deliveries', () => {
    fc.assert(
      fc.property(batches, fc.boolean(), (sentBatches, runsTwice) => {
        const db = opened();
        for (const calls of sentBatches) {
          sendBatch(db, calls, [], runsTwice);
          expectExact(db);
        }
      }),
      { numRuns: swept(60, 20) },
    );
  });

  test('include the numbers of denied calls, in any order and number of deliveries', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.array(sent, { maxLength: 8 }), fc.array(denied, { maxLength: 8 })), { maxLength: 5 }),
        (sentBatches) => {
          const db = opened();
          for (const [calls, numbers] of sentBatches) {
            sendBatch(db, calls, numbers, numbers.length % 2 === 0);
            expectExact(db);
          }
        },
      ),
      { numRuns: swept(40, 20) },
    );
  });

  test('do not change for a row that is delivered again, or for one without a counted change', () => {
    const db = opened();
    const call: Sent = {
      ...{
        organizationId: 'one',
        call: 1,
        customerId: 'ann',
        feature: 'chat',
        status: 'COMPLETED',
        atMs: START,
        model: 'openai/gpt-4o',
      },
      ...{ isPriced: true, isProvisional: false, tokens: 10, costNanoUsd: 70n, revision: 1 },
    };
    sendBatch(db, [call]);
    const before = db.prepare('SELECT total_changes() AS n').get()?.n as number;
    sendBatch(db, [call]);
    expect(db.prepare('SELECT total_changes() AS n').get()?.n).toBe(before);
    sendBatch(db, [{ ...call, revision: 2 }]);
    // The call, and its old and new counts, each noted and forgotten again.
    expect(db.prepare('SELECT total_changes() AS n').get()?.n).toBe(before + 1 + 2 * 2);
    expectExact(db);
  });

  test('have rows for the keys of one dimension, not for combinations of customers, features and models', () => {
    const db = opened();
    const of = (n: number): Sent => ({
      ...{
        organizationId: 'one',
        call: n,
        customerId: `c${n}`,
        feature: `f${n % 5}`,
        status: 'COMPLETED',
        atMs: START,
      },
      ...{ model: `vendor/m${n % 7}`, isPriced: true, isProvisional: false, tokens: 1, costNanoUsd: 1n, revision: 1 },
    });
    sendBatch(
      db,
      Array.from({ length: 350 }, (_, n) => of(n)),
    );
    expect(db.prepare('SELECT COUNT(*) AS n FROM usage_hours').get()?.n).toBe(350);
    // Features, models, one vendor and one outcome.
    for (const table of ['organization_hours', 'organization_days'])
      expect(db.prepare(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n).toBe(5 + 7 + 1 + 1);
    // The models of each feature.
    for (const table of ['feature_hours', 'feature_days'])
      expect(db.prepare(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n).toBe(5 * 7);
  });
});

test('calls that are delivered together change each sum once', () => {
  const changes = (calls: number) => {
    const db = opened();
    const before = db.prepare('SELECT total_changes() AS n').get()?.n as number;
    const call: Omit<Sent, 'call'> = {
      ...{
        organizationId: 'one',
        customerId: 'ann',
        feature: 'chat',
        status: 'COMPLETED',
        atMs: START,
        model: 'openai/gpt-4o',
      },
      ...{ isPriced: true, isProvisional: false, tokens: 10, costNanoUsd: 70n, revision: 1 },
    };
    sendBatch(
      db,
      Array.from({ length: calls }, (_, n) => ({ ...call, call: n })),
    );
    return (db.prepare('SELECT total_changes() AS n').get()?.n as number) - before;
  };
  // The calls alone.
  expect(changes(101) - changes(1)).toBe(100);
});

describe('an erasure', () => {
  test('removes any number of hours from the sums of the organization', async () => {
    const db = opened();
    const hours = 2_300;
    const counts = Array.from({ length: hours }, (_, hour) => ({
      ...{ organizationId: 'one', customerId: 'ann', feature: 'chat', hour, calls: 1 },
    }));
    for (let from = 0; from < hours; from += 400) sendBatch(db, [], counts.slice(from, from + 400));
    sendBatch(db, [], [{ ...(counts[0] as Denied), customerId: 'bob' }]);
    const { usageHours } = await eraseProjection({ DB: asD1(db) } as never, customerKey('one', 'ann'));
    expect(usageHours).toBeGreaterThanOrEqual(hours);
    expect(rows(db, 'SELECT customer_id, calls FROM usage_hours')).toEqual(['bob | 1']);
    for (const table of ['organization_hours', 'organization_days', 'feature_hours', 'feature_days'])
      expect(rows(db, `SELECT DISTINCT calls FROM ${table}`)).toEqual(['1']);
  });

  test("removes a customer's hours from every sum of the organization, and leaves no empty rows", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(sent, { maxLength: 60 }),
        fc.array(denied, { maxLength: 8 }),
        fc.array(sent, { maxLength: 4 }),
        async (calls, counts, meanwhile) => {
          const db = opened();
          sendBatch(db, calls, counts);
          // Another customer's batch may come between any two steps.
          const others = meanwhile.map((call) => ({ ...call, customerId: 'cid', call: call.call + 10 }));
          let step = 0;
          const d1 = asD1(db, () => sendBatch(db, others.slice(step++, step)));
          await eraseProjection({ DB: d1 } as never, customerKey('one', 'ann'));
          expectExact(db);
          const isErased = `organization_id = 'one' AND customer_id = 'ann'`;
          for (const table of ['calls', 'denied_hours', 'usage_hours', 'customer_cost_bounds', 'customer_days'])
            expect([table, ...rows(db, `SELECT 1 FROM ${table} WHERE ${isErased}`)]).toEqual([table]);
          const features = (table: string, of: string) =>
            rows(db, `SELECT DISTINCT ${of} FROM ${table} WHERE organization_id = 'one' AND calls <> 0`);
          expect(features(`(SELECT * FROM organization_hours WHERE dimension = 'feature')`, 'key')).toEqual(
            features('usage_hours', 'feature'),
          );
          if (rows(db, `SELECT 1 FROM usage_hours WHERE organization_id = 'one'`).length > 0) return;
          for (const table of ['organization_hours', 'organization_days', 'feature_hours', 'feature_days'])
            expect(rows(db, `SELECT calls FROM ${table} WHERE organization_id = 'one'`)).toEqual([]);
        },
      ),
      { numRuns: swept(40, 20) },
    );
  });
});

describe('the retention of usage', () => {
  /** Each table with the start of the period that a row sums. */
  const STARTS: Record<string, string> = {
    ...{ usage_hours: 'hour_ms', organization_hours: 'hour_ms', organization_days: 'day_ms', feature_hours: 'hour_ms' },
    ...{ feature_days: 'day_ms', customer_days: 'day_ms' },
  };
  const RUNNING = {
    customer_running_totals: 'organization_id, customer_id',
    feature_running_totals: 'organization_id, customer_id, feature',
  };
  /** A span that ends within the days that are kept stays. */
  const SPANS = ['customer_cost_bounds', 'feature_cost_bounds'];

  test('deletes the days before it, and changes no sum over the days that are kept', async () => {
    await fc.assert(
      fc.asyncProperty(batches, fc.integer({ min: 1, max: 4 }), async (sentBatches, usageRetentionDays) => {
        const db = opened();
        for (const calls of sentBatches) sendBatch(db, calls);
        const retention = JSON.stringify({ usageRetentionDays });
        for (const [organizationId, own] of [
          ['one', retention],
          ['other', null],
        ] as const) {
          db.prepare(
            "INSERT INTO organizations (organization_id, name, retention, created_at_ms) VALUES (?, 'n', ?, 0)",
          ).run(organizationId, own);
          db.prepare('INSERT INTO organization_sizes VALUES (?, 1, 0, 0, 0)').run(organizationId);
        }
        const nowMs = START + 4 * DAY;
        const cutoff = Math.floor(nowMs / DAY) * DAY - usageRetentionDays * DAY;
        const isKept = (start: string) => `(organization_id = 'other' OR ${start} >= ${cutoff})`;
        const read = () => ({
          kept: Object.entries(STARTS).map(([table, start]) =>
            rows(db, `SELECT * FROM ${table} WHERE ${isKept(start)}`),
          ),
          spans: SPANS.map((table) =>
            rows(db, `SELECT * FROM ${table} WHERE ${isKept(`start_ms + weeks * ${WEEK} - 1`)}`),
          ),
          // Also the newest before the cutoff, from which differences are taken.
          running: Object.entries(RUNNING).map(([table, key]) =>
            rows(
              db,
              `SELECT * FROM ${table} WHERE ${isKept('hour_ms')} OR (${key}, hour_ms) IN (
                 SELECT ${key}, MAX(hour_ms) FROM ${table} WHERE hour_ms < ${cutoff} GROUP BY ${key})`,
            ),
          ),
        });
        const before = read();
        const isDone = await deleteExpiredHistory({ DB: asD1(db) } as unknown as Env, 'DB', nowMs);
        expect(isDone).toBe(true);
        expect(read()).toEqual(before);
        const all = [...Object.keys(STARTS), ...SPANS, ...Object.keys(RUNNING)].map((table) =>
          rows(db, `SELECT * FROM ${table}`),
        );
        expect(all).toEqual([...before.kept, ...before.spans, ...before.running]);
      }),
      { numRuns: swept(60, 20) },
    );
  });

  test('finds the few among many customers who have something to delete, and many of them', async () => {
    const db = opened();
    const [customers, many] = [60_000, 5_100];
    const nowMs = START + 10 * DAY;
    const [oldMs, newMs] = [START - (START % HOUR), START + 9 * DAY - (START % HOUR)];
    db.prepare(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${customers}),
        used AS (SELECT n, ${newMs} AS hour_ms FROM numbers
          UNION ALL SELECT n, ${oldMs} FROM numbers WHERE n <= ${many} OR n = ${customers})
       INSERT INTO usage_hours (organization_id, customer_id, hour_ms, feature, provider, model, outcome, ${FIGURES.join(', ')})
       SELECT 'one', printf('%06d', n), hour_ms, '', '', '', 'COMPLETED', ${FIGURES.map(() => 1).join(', ')} FROM used`,
    ).run();
    db.prepare(
      `INSERT INTO organization_days (organization_id, dimension, day_ms, key, ${FIGURES.join(', ')})
       VALUES ('one', 'outcome', ${oldMs - (oldMs % DAY)}, 'COMPLETED', ${FIGURES.map(() => 1).join(', ')})`,
    ).run();
    db.prepare(
      "INSERT INTO organizations (organization_id, name, retention, created_at_ms) VALUES ('one', 'n', ?, 0)",
    ).run(JSON.stringify({ usageRetentionDays: 5 }));
    db.prepare("INSERT INTO organization_sizes VALUES ('one', 1, 0, 0, 0)").run();
    expect(await deleteExpiredHistory({ DB: asD1(db) } as unknown as Env, 'DB', nowMs)).toBe(true);
    expect(rows(db, 'SELECT hour_ms, COUNT(*) AS n FROM usage_hours GROUP BY hour_ms')).toEqual([
      `${newMs} | ${customers}`,
    ]);
    expect(rows(db, 'SELECT * FROM organization_days')).toEqual([]);
  });
});
