/**
 * The cost of usage and the amount that customers' balances pay for it, in D1: for customers as differences of their
 * running totals, plus the charges of custom meters.
 */

import { type SQL, sql } from 'drizzle-orm';
import { database, prepare } from '../config/database.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { type AskedCustomers, customerIdsQuery } from './asked-customers.ts';
import { meterEvents } from './schema/index.ts';
import { addFigures, COST_AND_CHARGE, type CostAndCharge, moreThanEarlier, totalsBefore } from './usage-figures.ts';

/** A part of a period, of whole hours. */
export interface Part {
  startMs: number;
  endMs: number;
}

type Row = Record<string, unknown> & { customerId: CustomerId; part: number };

/**
 * The figures of customers in each of the parts, by customer and position of the part. Parts without usage and charges
 * are left out. The amount that is read grows with customers, parts and charged increments of custom meters, not with
 * calls.
 */
export async function sumCustomerEarnings(
  env: Env,
  organizationId: OrganizationId,
  customers: AskedCustomers,
  parts: readonly Part[],
): Promise<Map<string, Map<number, CostAndCharge>>> {
  const db = await database(env, organizationId);
  const asked = sql`asked AS MATERIALIZED (
    SELECT ids.id AS customer_id, parts.key AS part, parts.value ->> 'startMs' AS start_ms, parts.value ->> 'endMs' AS end_ms
    FROM ${customerIdsQuery(organizationId, customers)} ids CROSS JOIN json_each(${JSON.stringify(parts)}) parts)`;
  const among = (table: SQL) => sql`${table}.organization_id = ${organizationId}`;
  const before = (name: string, end: string) =>
    totalsBefore(name, { among, customer: sql.raw('asked.customer_id'), atMs: sql.raw(end) });
  const usage = sql`WITH ${asked} SELECT asked.customer_id AS customerId, part, ${COST_AND_CHARGE.selectText(moreThanEarlier)}
    FROM asked CROSS JOIN ${before('later', 'end_ms')} LEFT JOIN ${before('earlier', 'start_ms')}`;
  const meters = sql`WITH ${asked} SELECT asked.customer_id AS customerId, part, 0 AS calls, 0 AS unpriced_calls, 0 AS cost_usd,
      0 AS cost_rest_nano_usd, CAST(SUM(charged_usd) AS TEXT) AS charge_usd, CAST(SUM(charged_rest_nano_usd) AS TEXT) AS charge_rest_nano_usd
    FROM asked CROSS JOIN ${meterEvents} events INDEXED BY meter_events_charged_of_customer
      ON events.organization_id = ${organizationId} AND events.customer_id = asked.customer_id
        AND at_ms >= start_ms AND at_ms < end_ms AND charge_nano_usd IS NOT NULL
    GROUP BY 1, 2`;
  const results = await db.$client.batch<Row>([prepare(db, usage), prepare(db, meters)]);
  const found = new Map<string, Map<number, CostAndCharge>>();
  for (const row of results.flatMap((result) => result.results)) {
    const ofCustomer = found.get(row.customerId) ?? new Map<number, CostAndCharge>();
    const place = Number(row.part);
    const figures = COST_AND_CHARGE.read(row);
    const before = ofCustomer.get(place);
    ofCustomer.set(place, before ? addFigures(before, figures) : figures);
    found.set(row.customerId, ofCustomer);
  }
  return found;
}
