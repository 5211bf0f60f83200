/**
 * Promise: the migration that adds charges to the sums of usage gives older rows the same values as the projection
 * gives new ones.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { projectionStatements } from '../../src/history/projection.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import { asD1, openD1, runBatch } from '../support/d1.ts';
import { customerKey } from '../support/ids.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2027, 2, 1, 20);
const MIGRATIONS = join(import.meta.dirname, '../../d1-migrations');

/** The statements of the migration that fill existing rows. */
const BACKFILL = readdirSync(MIGRATIONS)
  .filter((file) => file.endsWith('.sql'))
  .map((file) => readFileSync(join(MIGRATIONS, file), 'utf8'))
  .filter((text) => text.includes('SET `charge_nano_usd`'))
  .flatMap((text) => text.split('--> statement-breakpoint'))
  .filter((statement) => /^\s*(--.*\n\s*)*UPDATE/.test(statement) && /charge/.test(statement));

const SUMMED = [
  ...['usage_hours', 'organization_hours', 'organization_days', 'feature_hours', 'feature_days'],
  ...['customer_running_totals', 'feature_running_totals'],
];

interface Given {
  customerId: string;
  feature: string | null;
  hour: number;
  status: 'POSTED' | 'PENDING' | 'FAILED' | null;
  chargeNanoUsd: string;
  reversed?: boolean;
}

const CALLS: Given[] = [
  { customerId: 'ann', feature: 'chat', hour: 0, status: 'POSTED', chargeNanoUsd: '1500000000' },
  { customerId: 'ann', feature: 'chat', hour: 5, status: 'PENDING', chargeNanoUsd: '999999999' },
  { customerId: 'ann', feature: null, hour: 5, status: 'POSTED', chargeNanoUsd: '9000000000000000' },
  { customerId: 'ann', feature: 'chat', hour: 30, status: 'FAILED', chargeNanoUsd: '77' },
  { customerId: 'ann', feature: 'chat', hour: 31, status: 'POSTED', chargeNanoUsd: '42', reversed: true },
  { customerId: 'ann', feature: 'search', hour: 40, status: null, chargeNanoUsd: '0' },
  { customerId: 'bob', feature: 'search', hour: 2, status: 'POSTED', chargeNanoUsd: '0' },
];

function projectionPage(
  kind: 'call' | 'meter_event' | 'credit_entry',
  id: string,
  customerId: string,
  row: object,
  record: object,
) {
  const columns = { organization_id: 'one', customer_id: customerId, revision: 1, ...row };
  const values = JSON.stringify(['sub', ...Object.values(columns), record]);
  const page: ProjectionPage = {
    ...{ ...customerKey('one', customerId), subscriptionId: 'sub' },
    columns: { [kind]: [...Object.keys(columns), 'record'] },
    changes: [{ kind, id, revision: 1, values }],
  };
  return page;
}

const pages = [
  ...CALLS.map(({ customerId, feature, hour, status, chargeNanoUsd, reversed }, n) =>
    projectionPage(
      'call',
      `call-${n}`,
      customerId,
      {
        ...{
          call_id: `call-${n}`,
          feature,
          status: 'COMPLETED',
          started_at_ms: START,
          finished_at_ms: START + hour * HOUR,
        },
        ...{ usage_plan_version_id: 'v', pricing_mode: 'standard', usage_provider: 'openai', model_key: 'openai/m' },
        cost_nano_usd: '5',
        charge_nano_usd: status === null || status === 'FAILED' || chargeNanoUsd === '0' ? null : chargeNanoUsd,
        reversed_at_ms: reversed ? START : null,
      },
      { outcome: { charge: status && { status, amountNanoUsd: chargeNanoUsd } } },
    ),
  ),
  ...[
    { amount: '12345678901234567890', refund: null, usd: '12345678901', rest: '234567890' },
    { amount: '2500000001', refund: '-2500000000', usd: '0', rest: '1' },
  ].map(({ amount, refund, usd, rest }, n) =>
    projectionPage(
      'meter_event',
      `event-${n}`,
      'ann',
      {
        ...{
          event_id: `event-${n}`,
          slot: 'CUSTOM1',
          amount: 1,
          at_ms: START,
          usage_plan_version_id: 'v',
          included: 0,
        },
        ...{ credits: 0, overage: 1, unfunded: 0, charge_nano_usd: amount, settlement_status: 'POSTED' },
        ...{ charged_usd: usd, charged_rest_nano_usd: rest },
      },
      { ...(refund && { reversal: { charge: { status: 'POSTED', amountNanoUsd: refund } } }) },
    ),
  ),
];

function state(db: DatabaseSync): unknown[] {
  const rows = (sql: string) => {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all();
  };
  return [
    rows('SELECT call_id, charge_nano_usd FROM calls ORDER BY 1'),
    // A sum of whole dollars and of the rest is one figure.
    rows('SELECT event_id, charged_usd * 1000000000.0 + charged_rest_nano_usd AS charged FROM meter_events ORDER BY 1'),
    ...SUMMED.map((table) =>
      rows(`SELECT * FROM ${table} ORDER BY ${table.includes('running') ? 'hour_ms, 1, 2, 3' : '1, 2, 3, 4, 5'}`),
    ),
  ];
}

test('rows of before have what new rows get: of calls, custom meters, and every sum', () => {
  const db = openD1();
  runBatch(db, projectionStatements(asD1(db), pages));
  db.exec(
    `INSERT INTO credit_entries (organization_id, customer_id, entry_id, at_ms, unit, cause, amount, balance, revision)
     VALUES ('one', 'ann', 1, 0, 'USD', 'GRANT', '1', '1', 1), ('one', 'bob', 1, 0, 'USD', 'GRANT', '1', '1', 1)`,
  );
  const wanted = state(db);
  db.exec(
    'UPDATE calls SET charge_nano_usd = NULL; UPDATE meter_events SET charged_usd = 0, charged_rest_nano_usd = 0;',
  );
  for (const table of SUMMED) db.exec(`UPDATE ${table} SET charge_usd = 0, charge_rest_nano_usd = 0`);
  expect(state(db)).not.toEqual(wanted);
  for (const statement of BACKFILL) db.exec(statement);
  expect(state(db)).toEqual(wanted);
  db.close();
});
