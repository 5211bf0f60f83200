/**
 * Parts that the sums of usage in D1 share: figures as text, because D1 rounds numbers above 2^53, and a customer's
 * usage before an instant, which is one row of running totals.
 */
import { type SQL, sql } from 'drizzle-orm';
import { type NanoUsd, nanoOfParts } from '../domain/money.ts';
import { customerRunningTotals, type featureRunningTotals } from './schema/index.ts';

export interface CostAndCharge {
  calls: number;
  unpricedCalls: number;
  costNanoUsd: NanoUsd;
  chargedNanoUsd: NanoUsd;
}

/** The columns of `CostAndCharge`. */
export const COST_AND_CHARGE = {
  calls: 'calls',
  unpricedCalls: 'unpriced_calls',
  costUsd: 'cost_usd',
  costRest: 'cost_rest_nano_usd',
  chargeUsd: 'charge_usd',
  chargeRest: 'charge_rest_nano_usd',
} as const;

export type CostAndChargeRow = Record<keyof typeof COST_AND_CHARGE, string>;

export function costAndChargeOf(row: CostAndChargeRow): CostAndCharge {
  return {
    calls: Number(row.calls),
    unpricedCalls: Number(row.unpricedCalls),
    costNanoUsd: nanoOfParts(row.costUsd, row.costRest),
    chargedNanoUsd: nanoOfParts(row.chargeUsd, row.chargeRest),
  };
}

/** Expressions as text, under their names, for a SELECT. */
export function asText(figures: Readonly<Record<string, string>>): SQL {
  return sql.raw(
    Object.entries(figures)
      .map(([name, value]) => `CAST(${value} AS TEXT) AS ${name}`)
      .join(', '),
  );
}

/** The sum of each column. */
export function sumsOf(columns: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, `SUM(${column})`]));
}

interface TotalsBefore {
  table?: typeof customerRunningTotals | typeof featureRunningTotals;
  /** The condition that selects the organization's rows of a table. */
  among: (table: SQL) => SQL;
  customer: SQL;
  atMs: SQL;
}

/** The customer's usage before an instant, as the table `name`, for a join: no row if that was nothing. */
export function totalsBefore(
  name: string,
  { table = customerRunningTotals, among, customer, atMs }: TotalsBefore,
): SQL {
  const own = (of: SQL) => sql`${among(of)} AND ${of}.customer_id = ${customer}`;
  const [found, other] = [sql.raw(name), sql.raw('other')];
  return sql`${table} ${found} ON ${own(found)} AND ${found}.hour_ms = (
    SELECT MAX(hour_ms) FROM ${table} other WHERE ${own(other)} AND other.hour_ms < ${atMs})`;
}
