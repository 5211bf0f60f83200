/**
 * Promise: the customers with the highest cost of a period are found exactly, for any usage, through an index and not
 * among all customers.
 */

import type { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { asOrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { CHANGE_COLUMNS, COUNT_USAGE, USAGE_FIGURES } from '../../src/history/roll-ups.ts';
import { sumUsage } from '../../src/history/usage.ts';
import { asD1, openD1 } from '../support/d1.ts';
import { swept } from '../support/sweep.ts';
import { noteUsage } from '../support/usage.ts';

const HOUR = 3_600_000;
const WEEK = 7 * 24 * HOUR;
const START = Date.UTC(2027, 2, 1);

let db: DatabaseSync;
afterEach(() => db.close());

interface Used {
  customer: number;
  hour: number;
  feature: string;
  cost: number;
}

const used: fc.Arbitrary<Used> = fc.record({
  customer: fc.nat(20),
  // Some periods are longer than a long span.
  hour: fc.nat(40 * 7 * 24),
  feature: fc.constantFrom('chat', 'mail'),
  // Sums that tie, and some that do not.
  cost: fc.oneof(fc.constantFrom(0, 1, 5), fc.nat(3_000_000_000)),
});

const isFigure = (name: string) => name === 'hour_ms' || USAGE_FIGURES.some((figure) => figure === name);

function write(rows: readonly Used[]): void {
  const texts = { organization_id: 'org', provider: 'p', model: 'm', paid_model: 'm', outcome: 'COMPLETED' };
  // Numbers are bound as floating-point ones.
  const bound = CHANGE_COLUMNS.map((name) => [name, isFigure(name) ? `CAST(:${name} AS INTEGER)` : `:${name}`]);
  const insert = db.prepare(noteUsage(Object.fromEntries(bound)));
  for (const { customer, hour, feature, cost } of rows) {
    const own = {
      ...{ ...texts, customer_id: `c${customer}`, feature, hour_ms: START + hour * HOUR, calls: 1 },
      ...{ cost_usd: Math.floor(cost / 1e9), cost_rest_nano_usd: cost % 1e9 },
    };
    insert.run(Object.fromEntries(CHANGE_COLUMNS.map((name) => [name, own[name as keyof typeof own] ?? 0])));
  }
  for (const sql of COUNT_USAGE) db.exec(sql);
}

/** Leaves of what was written what a release had that knew no bounds. */
function asBeforeBounds(): void {
  const [week, sums] = [`hour_ms / ${WEEK} * ${WEEK}`, 'SUM(calls), SUM(cost_usd), SUM(cost_rest_nano_usd)'];
  db.exec(`DELETE FROM customer_cost_bounds; DELETE FROM feature_cost_bounds;
    INSERT INTO customer_weeks (organization_id, customer_id, week_ms, calls, cost_usd, cost_rest_nano_usd)
      SELECT organization_id, customer_id, ${week}, ${sums} FROM usage_hours GROUP BY 1, 2, 3;
    INSERT INTO feature_customer_weeks (organization_id, customer_id, feature, week_ms, calls, cost_usd, cost_rest_nano_usd)
      SELECT organization_id, customer_id, feature, ${week}, ${sums} FROM usage_hours GROUP BY 1, 2, 3, 4`);
}

/** The same from the rows themselves. */
function highestOf(rows: readonly Used[], from: number, to: number, feature: string | undefined) {
  const sums = new Map<string, { calls: number; cost: bigint }>();
  for (const row of rows) {
    if (row.hour < from || row.hour >= to || (feature !== undefined && row.feature !== feature)) continue;
    const { calls, cost } = sums.get(`c${row.customer}`) ?? { calls: 0, cost: 0n };
    sums.set(`c${row.customer}`, { calls: calls + 1, cost: cost + BigInt(row.cost) });
  }
  return [...sums]
    .map(([key, { calls, cost }]) => ({ key, calls, cost }))
    .sort((a, b) => (a.cost === b.cost ? b.calls - a.calls || (a.key < b.key ? -1 : 1) : a.cost < b.cost ? 1 : -1));
}

describe('the customers with the highest cost', () => {
  test('are those of the sums of their hours, in any period', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(used, { maxLength: 120 }),
        fc.integer({ min: -10, max: 6_700 }),
        fc.oneof(fc.integer({ min: 1, max: 900 }), fc.integer({ min: 1, max: 7_000 })),
        fc.integer({ min: 1, max: 3 }),
        fc.constantFrom(undefined, 'chat'),
        fc.oneof(fc.constant(0), fc.nat(120)),
        async (rows, from, hours, most, feature, former) => {
          db = openD1();
          write(rows.slice(0, former));
          if (former > 0) asBeforeBounds();
          write(rows.slice(former));
          const period = { fromMs: START + from * HOUR, toMs: START + (from + hours) * HOUR };
          const env = { DB: asD1(db) } as unknown as Env;
          const { customer } = await sumUsage(env, asOrganizationId('org'), { ...period, feature }, ['customer'], most);
          const found = customer.map(({ key, calls, costNanoUsd }) => ({ key, calls, cost: costNanoUsd }));
          expect(found).toEqual(highestOf(rows, from, from + hours, feature).slice(0, most));
          db.close();
        },
      ),
      { numRuns: swept(150, 75) },
    );
    db = openD1();
  });

  test.each([
    ['is never the highest of a week', [900, 900, 900, 900, 900]],
    ['has weeks with next to nothing', [650, 99, 99, 99, 99]],
  ])('include whoever %s, but is the highest of all', async (_, costs) => {
    db = openD1();
    const row = (customer: number, week: number, cost: number): Used => ({
      ...{ customer, hour: week * 7 * 24 + 80, feature: 'chat', cost },
    });
    write(costs.flatMap((cost, week) => [row(week, week, 1_000), row(9, week, cost)]));
    const period = { fromMs: START, toMs: START + 5 * WEEK };
    const { customer } = await sumUsage(
      { DB: asD1(db) } as unknown as Env,
      asOrganizationId('org'),
      period,
      ['customer'],
      1,
    );
    const sum = costs.reduce((all, cost) => all + cost, 0);
    expect(customer.map(({ key, costNanoUsd }) => [key, costNanoUsd])).toEqual([['c9', BigInt(sum)]]);
  });

  test.each([
    [undefined, 'customer_cost_bounds'],
    [undefined, 'customer_weeks'],
    ['chat', 'feature_cost_bounds'],
    ['chat', 'feature_customer_weeks'],
  ])('are found through an index (feature %s, table %s)', async (feature, table) => {
    db = openD1();
    const plans: string[] = [];
    const d1 = asD1(db);
    const explained = {
      ...d1,
      prepare(sql: string) {
        const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`);
        const statement = d1.prepare(sql);
        return {
          ...statement,
          bind(...values: never[]) {
            plans.push(...rows.all(...values).map(({ detail }) => String(detail)));
            return statement.bind(...values);
          },
        };
      },
    };
    const filter = { fromMs: START, toMs: START + 5 * WEEK, feature };
    await sumUsage({ DB: explained } as unknown as Env, asOrganizationId('org'), filter, ['customer'], 10);
    // Totals are looked up by their customer.
    const totals = plans.filter((detail) => /^SEARCH (\w*running_totals|later|earlier|other) /.test(detail));
    expect(totals).toHaveLength(8);
    for (const detail of totals)
      expect(detail).toMatch(/organization_id=\? AND customer_id=\? AND (feature=\? AND )?hour_ms[<=]\?/);
    const ofTable = plans.filter((detail) => detail.startsWith(`SEARCH ${table} `));
    expect(ofTable).toHaveLength(2);
    for (const detail of ofTable)
      expect(detail).toMatch(
        /^SEARCH \w+ USING COVERING INDEX \w+_by_cost \(organization_id=\?.* AND (week_ms|weeks=\? AND start_ms)=\?/,
      );
    expect(plans.filter((detail) => /^SCAN (customer|feature|usage)/.test(detail))).toEqual([]);
    // Whatever is above a cost is a range of the index.
    expect(ofTable.some((detail) => /_ms=\? AND (<expr>|cost_at_most)>\?/.test(detail))).toBe(true);
  });
});
