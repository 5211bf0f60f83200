/**
 * The cost and the earnings of each customer of an organization in a period: their exact sum, their order by a figure,
 * and the position in that order at which a page ends.
 *
 * A page is read as of its own time. If figures change between two pages, the next one continues after the last
 * customer's figure.
 */

import type { CUSTOMER_MARGIN_SORTS } from '../../contract/margin.ts';
import { asCustomerId, type CustomerId, type OrganizationId } from '../../domain/ids.ts';
import type { Env } from '../../env.ts';
import { hasFewCustomers } from '../../history/asked-customers.ts';
import { type PageEarnings, readCustomersEarnings, type Window } from './customer-earnings.ts';
import { type Earnings, sumEarnings } from './earnings.ts';

export interface CustomerEarned extends PageEarnings {
  customerId: CustomerId;
}

export interface CustomerMargins {
  /** The exact sum of all customers. */
  total: Earnings;
  /** Customers who had a subscription in the period, or had usage or charges. */
  customers: CustomerEarned[];
  customersWithoutPrice: number;
}

/** `null` if the organization has too many customers to read each. */
export async function readCustomerMargins(
  env: Env,
  organizationId: OrganizationId,
  window: Window,
  nowMs: number,
): Promise<CustomerMargins | null> {
  if (!(await hasFewCustomers(env, organizationId))) return null;
  const read = await readCustomersEarnings(env, organizationId, 'ALL', window, nowMs);
  const customers = [...read]
    .map(([customerId, earnings]) => ({ customerId, ...earnings }))
    .filter((one) => one.isSubscribed || one.calls > 0 || one.costNanoUsd !== 0n || one.chargedNanoUsd !== 0n);
  return {
    total: sumEarnings(customers),
    customers,
    customersWithoutPrice: customers.filter(({ isPlanPriced }) => !isPlanPriced).length,
  };
}

export type MarginSort = (typeof CUSTOMER_MARGIN_SORTS)[number];

export interface MarginOrder {
  sort: MarginSort;
  descends: boolean;
}

/** The order of a list if none is asked for: the customers that need attention come first. */
export function marginOrder(sort: MarginSort, order: 'ascending' | 'descending' | undefined): MarginOrder {
  const rises = sort === 'margin' || sort === 'marginPercent' || sort === 'customerId';
  return { sort, descends: order === undefined ? !rises : order === 'descending' };
}

/** The figure that a sort uses before the id; `null` if a customer has none. */
const FIGURES: Record<MarginSort, (one: CustomerEarned) => bigint | null> = {
  margin: ({ marginNanoUsd }) => marginNanoUsd,
  // In millionths, so that two are hardly ever the same.
  marginPercent: ({ marginNanoUsd, revenueNanoUsd }) =>
    revenueNanoUsd > 0n ? (marginNanoUsd * 1_000_000n) / revenueNanoUsd : null,
  revenue: ({ revenueNanoUsd }) => revenueNanoUsd,
  charged: ({ chargedNanoUsd }) => chargedNanoUsd,
  plan: ({ planNanoUsd }) => planNanoUsd,
  cost: ({ costNanoUsd }) => costNanoUsd,
  calls: ({ calls }) => BigInt(calls),
  customerId: () => null,
};

/** A customer's position in an order. */
interface Place {
  figure: bigint | null;
  customerId: CustomerId;
}

function compared(a: Place, b: Place, { sort, descends }: MarginOrder): number {
  const figures =
    a.figure === null || b.figure === null
      ? Number(a.figure === null) - Number(b.figure === null)
      : a.figure === b.figure
        ? 0
        : a.figure < b.figure === descends
          ? 1
          : -1;
  if (figures !== 0) return figures;
  const ids = a.customerId === b.customerId ? 0 : a.customerId < b.customerId ? -1 : 1;
  return sort === 'customerId' && descends ? -ids : ids;
}

/** The customers in an order, after a position. */
export function inOrder(
  customers: readonly CustomerEarned[],
  order: MarginOrder,
  after: Place | null = null,
): CustomerEarned[] {
  const readFigure = FIGURES[order.sort];
  return customers
    .map((customer) => ({ customer, figure: readFigure(customer), customerId: customer.customerId }))
    .filter((one) => after === null || compared(one, after, order) > 0)
    .sort((a, b) => compared(a, b, order))
    .map(({ customer }) => customer);
}

/** The text of a cursor after a customer: it is valid only in its order. */
export function placeText(customer: CustomerEarned, { sort, descends }: MarginOrder): string {
  return `${sort} ${descends ? '>' : '<'} ${FIGURES[sort](customer) ?? ''} ${customer.customerId}`;
}

/** `null` for a text of another list or order. */
export function parsePlace(text: string, { sort, descends }: MarginOrder): Place | null {
  const [, named, direction, figure, customerId] = /^(\w+) ([<>]) (-?\d*) (.+)$/.exec(text) ?? [];
  if (named !== sort || direction !== (descends ? '>' : '<') || figure === '-' || customerId === undefined) return null;
  return {
    figure: figure === '' || figure === undefined ? null : BigInt(figure),
    customerId: asCustomerId(customerId),
  };
}
