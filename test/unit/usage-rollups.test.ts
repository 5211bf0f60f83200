/**
 * Promise: the roll-ups of usage in D1 are what the calls sum to, whatever is sent twice, late or otherwise, for an
 * organization that had calls before there were roll-ups too; and nothing is left of a customer whose hours are erased.
 *
 * The migrations run on SQLite itself, as D1 runs them.
 */
import type { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { COUNT_USAGE } from '../../durable-objects/customer/projection.ts';
import { nanoOfParts } from '../../src/domain/money.ts';
import { ERASED_TABLES } from '../../src/storage/erasure.ts';
import { applyMigration, openD1 } from '../support/d1.ts';

const EXACT_SUMS = '0009_exact_sums.sql';
const ROLLUPS = [
  '0006_usage_rollups.sql',
  '0007_feature_rollups.sql',
  '0008_usage_changes.sql',
  EXACT_SUMS,
  '0014_denied_hours.sql',
];
/** What an erasure removes rows of, in its order, as far as it touches usage. */
const OF_CUSTOMERS = [...ERASED_TABLES.calls, ...ERASED_TABLES.usageHours];
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2027, 2, 1, 20);
const ORGANIZATIONS = ['one', 'other'];
const FIGURES = [
  'calls',
  'unpriced_calls',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'searches',
  'cost_usd',
  'cost_rest_nano_usd',
];
const COST = '(cost_usd * 1000000000 + cost_rest_nano_usd)';
/** Not empty: also of a row without calls, nothing may be left. */
const SOME_LEFT = `(${[...FIGURES.slice(0, -2), COST].map((name) => `${name} <> 0`).join(' OR ')})`;
const SUMS = FIGURES.map((name) => `SUM(${name}) AS ${name}`).join(', ');
/** The most that a column of 64 bits holds, which a call from before there were bounds may have cost. */
const COST_MAX = 2n ** 63n - 1n;

const open: DatabaseSync[] = [];
afterEach(() => {
  for (const db of open.splice(0)) db.close();
});

/** A database with the migrations up to one, and that one with `upTo`. */
function migrated(upTo?: string): DatabaseSync {
  const db = openD1(upTo);
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
  tokens: number;
  costNanoUsd: bigint;
  revision: number;
}

const sentOfCost = (costMax: bigint): fc.Arbitrary<Sent> =>
  fc.record({
    organizationId: fc.constantFrom(...ORGANIZATIONS),
    call: fc.nat(4),
    customerId: fc.constantFrom('ann', 'bob', 'cid'),
    feature: fc.constantFrom('chat', 'search', null),
    status: fc.constantFrom('IN_PROGRESS', 'COMPLETED', 'COMPLETED', 'FAILED', 'TIMEOUT', 'NOT_ALLOWED'),
    // Over three days, so that some come long after later ones.
    atMs: fc.nat(3 * DAY).map((after) => START + after),
    model: fc.constantFrom('openai/gpt-4o', 'mistral/small', null),
    isPriced: fc.boolean(),
    tokens: fc.oneof(fc.nat(1_000), fc.constant(1_000_000_000)),
    costNanoUsd: fc.oneof(fc.bigInt(0n, 10_000n), fc.bigInt(0n, costMax), fc.constant(costMax)),
    revision: fc.integer({ min: 1, max: 9 }),
  });
const sent = sentOfCost(COST_MAX);
/** Of which all calls of an organization fit into one 64-bit sum, as sums were before they had two columns. */
const sentBefore = sentOfCost(COST_MAX / 5n);

/** As the outbox sends it: a row that is no newer than the known one changes nothing. A call stays its customer's. */
function send(
  db: DatabaseSync,
  { organizationId, call, status, atMs, model, isPriced, tokens, costNanoUsd, revision, ...row }: Sent,
): void {
  const isEnded = status === 'COMPLETED' || status === 'FAILED';
  const used = isEnded ? model : null;
  db.prepare(
    `INSERT INTO calls (organization_id, call_id, customer_id, feature, status, started_at_ms, finished_at_ms, usage_plan_version_id, pricing_mode,
       provider_used, model_used, model_key, input_tokens, cached_input_tokens, response_tokens, reasoning_tokens, searches, cost_nano_usd,
       record, revision)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'v', 'standard', 'OpenAI', ?, ?, ?, ?, ?, ?, ?, ?, '{}', ?)
     ON CONFLICT (organization_id, call_id) DO UPDATE SET feature = excluded.feature, status = excluded.status,
       finished_at_ms = excluded.finished_at_ms, model_used = excluded.model_used, model_key = excluded.model_key,
       input_tokens = excluded.input_tokens, cached_input_tokens = excluded.cached_input_tokens, response_tokens = excluded.response_tokens,
       reasoning_tokens = excluded.reasoning_tokens, searches = excluded.searches, cost_nano_usd = excluded.cost_nano_usd, revision = excluded.revision
     WHERE excluded.revision > calls.revision`,
  ).run(
    ...[
      organizationId,
      `call-${call}`,
      row.customerId,
      row.feature,
      status,
      START,
      status === 'IN_PROGRESS' ? null : atMs,
    ],
    ...[used, isPriced ? used : null],
    ...[5, 1, 2, 3, 4].map((factor) => (isEnded ? tokens * factor : null)),
    ...[isPriced && used ? costNanoUsd : null, revision],
  );
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

/** As the outbox sends it: the larger count is the newer one. */
function sendDenied(db: DatabaseSync, { organizationId, customerId, feature, hour, calls }: Denied): void {
  db.prepare(
    `INSERT INTO denied_hours (organization_id, customer_id, hour_ms, feature, calls, revision) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (organization_id, customer_id, hour_ms, feature) DO UPDATE SET calls = excluded.calls, revision = excluded.revision
     WHERE excluded.revision > denied_hours.revision`,
  ).run(organizationId, customerId, START + hour * HOUR, feature, calls, calls);
}

/** As the batch ends that brought the calls. */
function count(db: DatabaseSync): void {
  for (const sql of COUNT_USAGE) db.exec(sql);
}

function sendBatch(db: DatabaseSync, calls: readonly Sent[]): void {
  for (const call of calls) send(db, call);
  count(db);
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

/** What the hours must hold, from the calls; and every roll-up, as it is and as the hours sum to. */
function pairs(): [name: string, kept: string, summed: string][] {
  const inFull = `SELECT organization_id, customer_id, finished_at_ms / ${HOUR} * ${HOUR}, COALESCE(feature, ''), status,
    COALESCE(model_key, model_used, ''), CASE WHEN model_key IS NULL THEN 'openai' ELSE SUBSTR(model_key, 1, INSTR(model_key, '/') - 1) END,
    COUNT(*), SUM(status IN ('COMPLETED', 'FAILED') AND cost_nano_usd IS NULL), SUM(COALESCE(input_tokens, 0)),
    SUM(COALESCE(cached_input_tokens, 0)), SUM(COALESCE(response_tokens, 0)), SUM(COALESCE(reasoning_tokens, 0)), SUM(COALESCE(searches, 0)),
    SUM(COALESCE(cost_nano_usd, 0) / 1000000000) AS cost_usd, SUM(COALESCE(cost_nano_usd, 0) % 1000000000) AS cost_rest_nano_usd
    FROM calls WHERE status <> 'IN_PROGRESS' GROUP BY 1, 2, 3, 4, 5, 6, 7`;
  const ofCalls = `SELECT organization_id, customer_id, hour_ms, feature, status, model, provider, SUM(calls), SUM(unpriced), SUM(input),
    SUM(cached), SUM(output), SUM(reasoning), SUM(searches), SUM(cost_usd) AS cost_usd, SUM(cost_rest) AS cost_rest_nano_usd FROM (
      SELECT NULL AS organization_id, NULL AS customer_id, NULL AS hour_ms, NULL AS feature, NULL AS status, NULL AS model, NULL AS provider,
        NULL AS calls, NULL AS unpriced, NULL AS input, NULL AS cached, NULL AS output, NULL AS reasoning, NULL AS searches,
        NULL AS cost_usd, NULL AS cost_rest WHERE false
      UNION ALL ${inFull}
      UNION ALL SELECT organization_id, customer_id, hour_ms, feature, 'NOT_ALLOWED', '', '', calls, 0, 0, 0, 0, 0, 0, 0, 0 FROM denied_hours
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
      `SELECT organization_id, feature, start_ms, provider, model, outcome, ${FIGURES.join(', ')} FROM feature_usage
       WHERE unit = '${unit}' AND ${SOME_LEFT}`,
      `SELECT organization_id, feature, ${time}, provider, model, outcome, ${SUMS} FROM usage_hours
       GROUP BY 1, 2, 3, 4, 5, 6 HAVING SUM(calls) <> 0`,
    ];
  });
  return [
    ['hours', ofHours, ofCalls],
    ...dimensions,
    ...features,
    [
      'totals within a feature',
      `SELECT organization_id, feature, customer_id, last_hour_ms, ${FIGURES.join(', ')} FROM feature_customer_totals`,
      `SELECT organization_id, feature, customer_id, MAX(hour_ms), ${SUMS} FROM usage_hours GROUP BY 1, 2, 3`,
    ],
    [
      'running totals within a feature',
      `SELECT organization_id, customer_id, feature, hour_ms, ${FIGURES.join(', ')} FROM feature_running_totals`,
      running('organization_id, customer_id, feature'),
    ],
    [
      'totals',
      `SELECT organization_id, customer_id, last_hour_ms, ${FIGURES.join(', ')} FROM customer_totals`,
      `SELECT organization_id, customer_id, MAX(hour_ms), ${SUMS} FROM usage_hours GROUP BY 1, 2`,
    ],
    [
      'running totals',
      `SELECT organization_id, customer_id, hour_ms, ${FIGURES.join(', ')} FROM customer_running_totals`,
      running('organization_id, customer_id'),
    ],
    [
      'days of customers',
      `SELECT organization_id, customer_id, day_ms, model, calls, failed_calls, cost_usd, cost_rest_nano_usd FROM customer_days WHERE calls <> 0`,
      `SELECT organization_id, customer_id, hour_ms / ${DAY} * ${DAY}, CASE WHEN ${COST} > 0 THEN model ELSE '' END, SUM(calls),
         SUM(CASE WHEN outcome = 'FAILED' THEN calls ELSE 0 END), SUM(cost_usd) AS cost_usd, SUM(cost_rest_nano_usd) AS cost_rest_nano_usd
       FROM usage_hours WHERE outcome IN ('COMPLETED', 'FAILED') GROUP BY 1, 2, 3, 4 HAVING SUM(calls) <> 0`,
    ],
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

/** Where the costs of all calls are, each once. */
const COSTS_IN_ALL = [
  ...['usage_hours', 'customer_totals', 'customer_days', 'feature_customer_totals'],
  ...['feature', 'provider', 'model', 'outcome'].map(
    (dimension) => `organization_days WHERE dimension = '${dimension}'`,
  ),
  ...['hour', 'day'].map((unit) => `feature_usage WHERE unit = '${unit}'`),
];

describe('the roll-ups', () => {
  test('are what the calls sum to, in whatever order and however often these are sent', () => {
    fc.assert(
      fc.property(batches, (sentBatches) => {
        const db = migrated();
        for (const calls of sentBatches) {
          sendBatch(db, calls);
          expectExact(db);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('are also what denied calls count, in whatever order and however often their numbers are sent', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.array(sent, { maxLength: 8 }), fc.array(denied, { maxLength: 8 })), { maxLength: 5 }),
        (sentBatches) => {
          const db = migrated();
          for (const [calls, numbers] of sentBatches) {
            for (const number of numbers) sendDenied(db, number);
            sendBatch(db, calls);
            expectExact(db);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  test('are the same for calls that were there before them, or before some of them', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(sentBefore, { maxLength: 25 }), {
          minLength: ROLLUPS.length + 1,
          maxLength: ROLLUPS.length + 1,
        }),
        (stages) => {
          const db = migrated('0006');
          for (const [stage, calls] of stages.entries()) {
            for (const call of calls) send(db, call);
            const rollups = ROLLUPS[stage];
            if (rollups !== undefined) applyMigration(db, rollups);
          }
          // The last calls came by a version that counts nothing itself.
          count(db);
          expectExact(db);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('can be read where sums had left 64 bits before they had two columns, and go on from there', () => {
    const db = migrated('0008_usage_changes.sql');
    const call: Sent = {
      ...{
        organizationId: 'one',
        call: 0,
        customerId: 'ann',
        feature: 'chat',
        status: 'COMPLETED',
        atMs: START,
        model: 'openai/gpt-4o',
      },
      ...{ isPriced: true, tokens: 1_000_000_000, costNanoUsd: COST_MAX, revision: 1 },
    };
    const figures = FIGURES.slice(0, -2).join(', ');
    // As a version before this one counted, one call a batch.
    const countBefore = () => {
      db.exec(`INSERT INTO usage_hours (organization_id, customer_id, hour_ms, feature, provider, model, outcome, ${figures}, cost_nano_usd)
        SELECT organization_id, customer_id, hour_ms, feature, provider, model, outcome, ${figures}, cost_nano_usd FROM usage_changes WHERE true
        ON CONFLICT DO UPDATE SET calls = calls + 1, cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd`);
      db.exec('DELETE FROM usage_changes');
    };
    for (let n = 0; n < 3; n += 1) {
      send(db, { ...call, call: n });
      countBefore();
    }
    expect(db.prepare('SELECT typeof(cost_nano_usd) AS type FROM customer_totals').get()?.type).toBe('real');
    // One that could not be counted waits.
    send(db, { ...call, call: 3 });
    applyMigration(db, EXACT_SUMS);
    sendBatch(db, [{ ...call, call: 4 }]);
    for (const source of COSTS_IN_ALL) {
      const [sum] = exactRows(db, `SELECT SUM(cost_usd) AS usd, SUM(cost_rest_nano_usd) AS rest FROM ${source}`);
      const lost = 5n * COST_MAX - nanoOfParts(String(sum?.usd), String(sum?.rest));
      // Of 46 billion dollars less than two.
      expect([source, lost < 2_000_000_000n && lost > -2_000_000_000n]).toEqual([source, true]);
    }
  });

  test('do not move for a row that is sent again, nor for one that changes nothing of what is counted', () => {
    const db = migrated();
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
      ...{ isPriced: true, tokens: 10, costNanoUsd: 70n, revision: 1 },
    };
    sendBatch(db, [call]);
    const before = db.prepare('SELECT total_changes() AS n').get()?.n as number;
    sendBatch(db, [call]);
    expect(db.prepare('SELECT total_changes() AS n').get()?.n).toBe(before);
    sendBatch(db, [{ ...call, revision: 2 }]);
    // The call alone.
    expect(db.prepare('SELECT total_changes() AS n').get()?.n).toBe(before + 1);
    expectExact(db);
  });

  test('do not grow with the customers, features and models of an organization, but for the keys of a dimension', () => {
    const db = migrated();
    const of = (n: number): Sent => ({
      ...{
        organizationId: 'one',
        call: n,
        customerId: `c${n}`,
        feature: `f${n % 5}`,
        status: 'COMPLETED',
        atMs: START,
      },
      ...{ model: `vendor/m${n % 7}`, isPriced: true, tokens: 1, costNanoUsd: 1n, revision: 1 },
    });
    sendBatch(
      db,
      Array.from({ length: 350 }, (_, n) => of(n)),
    );
    expect(db.prepare('SELECT COUNT(*) AS n FROM usage_hours').get()?.n).toBe(350);
    // Features, models, one vendor and one outcome.
    for (const table of ['organization_hours', 'organization_days'])
      expect(db.prepare(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n).toBe(5 + 7 + 1 + 1);
    // The models of each feature, by the hour and by the day.
    expect(db.prepare('SELECT COUNT(*) AS n FROM feature_usage').get()?.n).toBe(2 * 5 * 7);
  });
});

test('calls that come together change each sum once, however many they are', () => {
  const changes = (calls: number) => {
    const db = migrated();
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
      ...{ isPriced: true, tokens: 10, costNanoUsd: 70n, revision: 1 },
    };
    sendBatch(
      db,
      Array.from({ length: calls }, (_, n) => ({ ...call, call: n })),
    );
    return (db.prepare('SELECT total_changes() AS n').get()?.n as number) - before;
  };
  // The call, and what it changes, written and forgotten.
  expect(changes(101) - changes(1)).toBe(100 * 3);
});

describe('an erasure', () => {
  test("takes a customer's hours out of every sum of the organization, and leaves no empty one", () => {
    fc.assert(
      fc.property(
        fc.array(sent, { maxLength: 60 }),
        fc.array(sent, { maxLength: 20 }),
        fc.constantFrom(...OF_CUSTOMERS),
        (counted, uncounted, last) => {
          const db = migrated();
          sendBatch(db, counted);
          for (const call of uncounted) send(db, call);
          const removed = `organization_id = 'one' AND customer_id = 'ann'`;
          for (const table of OF_CUSTOMERS) {
            db.exec(`DELETE FROM ${table} WHERE ${removed}`);
            // Another customer's batch may come at any time.
            if (table === last) count(db);
          }
          expectExact(db);
          const keys = rows(db, `SELECT DISTINCT feature FROM usage_hours WHERE organization_id = 'one'`);
          expect(
            rows(
              db,
              `SELECT DISTINCT key FROM organization_hours WHERE organization_id = 'one' AND dimension = 'feature' AND calls <> 0`,
            ),
          ).toEqual(rows(db, `SELECT DISTINCT feature FROM usage_hours WHERE organization_id = 'one' AND calls <> 0`));
          if (keys.length > 0) return;
          for (const table of ['organization_days', 'feature_usage'])
            expect(rows(db, `SELECT calls FROM ${table} WHERE organization_id = 'one'`)).toEqual([]);
        },
      ),
      { numRuns: 40 },
    );
  });
});
