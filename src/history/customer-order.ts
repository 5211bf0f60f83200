/**
 * The orders of the list of customers, each backed by an index, and the positions between pages.
 *
 * If an order follows figures that change, a page continues below the last customer of the previous page. A customer
 * whose figures fell after the list began could appear there again: later pages leave such a customer out, so that none
 * appears twice.
 */
import { type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { CLOCK_MS } from './projection.ts';
import { customers } from './schema/index.ts';

export type CustomerRow = typeof customers.$inferSelect;

export const CUSTOMER_SORTS = ['customerId', 'worstMeter', 'cost', 'lastCall'] as const;
export type CustomerSort = (typeof CUSTOMER_SORTS)[number];

interface Order {
  columns: readonly SQLiteColumn[];
  orderedValues: (row: CustomerRow) => readonly (number | string)[];
  descends: boolean;
  /** Its figures may fall while somebody reads the list. */
  falls: boolean;
}

const ORDERS: Record<CustomerSort, Order> = {
  customerId: {
    columns: [customers.customerId],
    orderedValues: ({ customerId }) => [customerId],
    descends: false,
    falls: false,
  },
  worstMeter: {
    columns: [customers.worstMeterShare, customers.customerId],
    orderedValues: ({ worstMeterShare, customerId }) => [worstMeterShare ?? 0, customerId],
    descends: true,
    falls: true,
  },
  cost: {
    columns: [customers.periodCostUsd, customers.periodCostRestNanoUsd, customers.customerId],
    orderedValues: ({ periodCostUsd, periodCostRestNanoUsd, customerId }) => [
      periodCostUsd,
      periodCostRestNanoUsd,
      customerId,
    ],
    descends: true,
    falls: true,
  },
  lastCall: {
    columns: [customers.lastCallAtMs, customers.customerId],
    orderedValues: ({ lastCallAtMs, customerId }) => [lastCallAtMs, customerId],
    descends: true,
    falls: false,
  },
};

/** The end of a page: the ordering values of its last customer. */
export interface CustomerPlace {
  /** The time at which the list began, by the clock of D1. */
  beganAtMs: number;
  values: readonly (number | string)[];
}

export const placeOfRow = (sort: CustomerSort, row: CustomerRow, beganAtMs: number): CustomerPlace => ({
  beganAtMs,
  values: ORDERS[sort].orderedValues(row),
});

/** The clock by which a list begins. */
export const NOW_IN_D1 = sql<number>`${sql.raw(CLOCK_MS)}`;

export function orderBy(sort: CustomerSort): SQL[] {
  const { columns, descends } = ORDERS[sort];
  return columns.map((column) => (descends ? sql`${column} DESC` : sql`${column} ASC`));
}

/** Customers after a position. */
export function isAfter(sort: CustomerSort, { beganAtMs, values }: CustomerPlace): SQL {
  const { descends, falls } = ORDERS[sort];
  const after = compared(sort, descends ? sql`<` : sql`>`, values);
  return falls ? sql`(${after} AND ${customers.loweredAtMs} < ${beganAtMs})` : after;
}

/** Customers up to a position, including the one there. */
export function isUpTo(sort: CustomerSort, { values }: CustomerPlace): SQL {
  return compared(sort, ORDERS[sort].descends ? sql`>=` : sql`<=`, values);
}

function compared(sort: CustomerSort, operator: SQL, values: CustomerPlace['values']): SQL {
  const list = (parts: readonly SQL[]) => sql.join([...parts], sql`, `);
  const columns = ORDERS[sort].columns.map((column) => sql`${column}`);
  return sql`(${list(columns)}) ${operator} (${list(values.map((value) => sql`${value}`))})`;
}

export function placeText(sort: CustomerSort, { beganAtMs, values }: CustomerPlace): string {
  // In the order of ids, the position is only the id.
  if (sort === 'customerId') return String(values[0]);
  return `${sort} ${JSON.stringify([beganAtMs, ...values])}`;
}

/** `null` for a cursor of another list or order. */
export function parsePlace(sort: CustomerSort, text: string): CustomerPlace | null {
  if (sort === 'customerId') return { beganAtMs: 0, values: [text] };
  if (!text.startsWith(`${sort} `)) return null;
  const parsed = parseArray(text.slice(sort.length + 1));
  if (!parsed) return null;
  const [beganAtMs, ...values] = parsed;
  const { columns } = ORDERS[sort];
  const isRight =
    typeof beganAtMs === 'number' &&
    values.length === columns.length &&
    values.every((value, index) => typeof value === (index === columns.length - 1 ? 'string' : 'number'));
  return isRight ? { beganAtMs, values: values as (number | string)[] } : null;
}

function parseArray(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
