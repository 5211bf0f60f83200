/**
 * What usage cost and what customers' balances pay for it, in D1: of customers as differences of their running totals,
 * with what increments of custom meters charged.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import { type NanoUsd, nanoOfParts } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { type AskedCustomers, idsOf } from './asked-customers.ts';
import { database, prepare } from './database.ts';
import { customerRunningTotals, meterEvents } from './schema/index.ts';

export interface CostAndCharge {
  calls: number;
  unpricedCalls: number;
  costNanoUsd: NanoUsd;
  chargedNanoUsd: NanoUsd;
}

/** A part of a period, of whole hours. */
export interface Part {
  startMs: number;
  endMs: number;
}

type Row = Record<'calls' | 'unpricedCalls' | 'costUsd' | 'costRest' | 'chargeUsd' | 'chargeRest', string> & {
  customerId: CustomerId;
  part: number;
};

const FIGURES = {
  calls: 'calls',
  unpricedCalls: 'unpriced_calls',
  costUsd: 'cost_usd',
  costRest: 'cost_rest_nano_usd',
  chargeUsd: 'charge_usd',
  chargeRest: 'charge_rest_nano_usd',
} as const;

/**
 * The figures of customers in each of the parts, by customer and place of the part. Parts without usage and charges are
 * left out. What is read grows with customers and parts, not with their calls; of custom meters with increments that
 * charged something.
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
    FROM ${idsOf(organizationId, customers)} ids CROSS JOIN json_each(${JSON.stringify(parts)}) parts)`;
  const until = (
    name: SQL,
    atMs: SQL,
  ) => sql`${customerRunningTotals} ${name} ON ${name}.organization_id = ${organizationId}
    AND ${name}.customer_id = asked.customer_id AND ${name}.hour_ms = (SELECT MAX(hour_ms) FROM ${customerRunningTotals} other
      WHERE other.organization_id = ${organizationId} AND other.customer_id = asked.customer_id AND other.hour_ms < ${atMs})`;
  const differences = sql.raw(
    Object.entries(FIGURES)
      .map(([figure, name]) => `CAST(later.${name} - COALESCE(earlier.${name}, 0) AS TEXT) AS ${figure}`)
      .join(', '),
  );
  const usage = sql`WITH ${asked} SELECT asked.customer_id AS customerId, part, ${differences}
    FROM asked CROSS JOIN ${until(sql.raw('later'), sql.raw('end_ms'))} LEFT JOIN ${until(sql.raw('earlier'), sql.raw('start_ms'))}`;
  const meters = sql`WITH ${asked} SELECT asked.customer_id AS customerId, part, '0' AS calls, '0' AS unpricedCalls, '0' AS costUsd,
      '0' AS costRest, CAST(SUM(charged_usd) AS TEXT) AS chargeUsd, CAST(SUM(charged_rest_nano_usd) AS TEXT) AS chargeRest
    FROM asked CROSS JOIN ${meterEvents} events INDEXED BY meter_events_charged_of_customer
      ON events.organization_id = ${organizationId} AND events.customer_id = asked.customer_id
        AND at_ms >= start_ms AND at_ms < end_ms AND charge_nano_usd IS NOT NULL
    GROUP BY 1, 2`;
  const results = await db.$client.batch<Row>([prepare(db, usage), prepare(db, meters)]);
  const found = new Map<string, Map<number, CostAndCharge>>();
  for (const { customerId, part, ...row } of results.flatMap((result) => result.results)) {
    const ofCustomer = found.get(customerId) ?? new Map<number, CostAndCharge>();
    const place = Number(part);
    ofCustomer.set(place, sumOf(ofCustomer.get(place), row));
    found.set(customerId, ofCustomer);
  }
  return found;
}

function sumOf(before: CostAndCharge | undefined, row: Omit<Row, 'customerId' | 'part'>): CostAndCharge {
  return {
    calls: (before?.calls ?? 0) + Number(row.calls),
    unpricedCalls: (before?.unpricedCalls ?? 0) + Number(row.unpricedCalls),
    costNanoUsd: (before?.costNanoUsd ?? 0n) + nanoOfParts(row.costUsd, row.costRest),
    chargedNanoUsd: (before?.chargedNanoUsd ?? 0n) + nanoOfParts(row.chargeUsd, row.chargeRest),
  };
}
