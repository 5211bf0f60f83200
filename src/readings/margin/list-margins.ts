/**
 * Use case: list the margin of each customer of an organization over the requested days, in pages and as CSV.
 */

import { accept, badRequest, refuse } from '../../contract/errors.ts';
import type { CustomerMarginsData, CustomerMarginsQuery } from '../../contract/margin.ts';
import type { AnswerTo } from '../../contract/operations.ts';
import { CUSTOMERS_READ_MAX } from '../../history/asked-customers.ts';
import type { Reader } from '../../metering/caller.ts';
import { exact, formatCsv } from '../../platform/csv.ts';
import { makePage, type PageRequest } from '../../platform/page.ts';
import { askedDays } from '../usage/asked-days.ts';
import {
  type CustomerEarned,
  type CustomerMargins,
  inOrder,
  marginOrder,
  parsePlace,
  placeText,
  readCustomerMargins,
} from './customer-margins.ts';
import { daysPeriod, present, presentAsked } from './read-margin.ts';

type Asked = Omit<CustomerMarginsQuery, 'limit' | 'cursor'>;
type Item = CustomerMarginsData['items'][number];

/** The data of a list, for any of its pages. */
export interface ReadMargins {
  asked: Omit<CustomerMarginsData, 'items' | 'nextCursor'>;
  margins: CustomerMargins;
}

export async function readMargins({ env, organization }: Reader, query: Asked) {
  const nowMs = Date.now();
  const days = askedDays(query, nowMs);
  if ('path' in days) return badRequest(days);
  const { organizationId, retention } = organization;
  const asked = daysPeriod(days, nowMs);
  const margins = await readCustomerMargins(env, organizationId, asked, nowMs);
  if (margins === null)
    return refuse(
      'CONFLICT',
      `margins by customer are read of at most ${CUSTOMERS_READ_MAX.toLocaleString('en')} customers, and the organization has more; those of the whole, of a feature, of a model and of one customer have no such limit`,
    );
  const { total, customers, customersWithoutPrice } = margins;
  const data = {
    ...presentAsked(asked, query, retention, nowMs),
    ...{ customers: customers.length, customersWithoutPrice },
    totals: present(total),
  };
  return accept('CUSTOMER_MARGINS_LISTED', { asked: data, margins }, nowMs);
}

/** A page of customers; all of them if `page` is `null`. */
export function pageOfMargins(
  { asked, margins }: ReadMargins,
  query: Pick<Asked, 'sort' | 'order'>,
  page: PageRequest | null,
): AnswerTo<'listCustomerMargins'> {
  const order = marginOrder(query.sort, query.order);
  const place = page?.after == null ? null : parsePlace(page.after, order);
  if (page?.after != null && place === null)
    return badRequest({ path: 'cursor', message: 'must be the nextCursor of an earlier page in the same order' });
  const limit = page?.limit ?? margins.customers.length;
  const { items, nextCursor } = makePage(inOrder(margins.customers, order, place), limit, (one) =>
    placeText(one, order),
  );
  return accept('CUSTOMER_MARGINS_LISTED', { ...asked, items: items.map(presentCustomer), nextCursor }, Date.now());
}

/** The customers with the lowest and the highest margins, in order: at most this many at each end. */
export function endsOfMargins({ margins: { customers } }: ReadMargins, eachMax: number): Item[] {
  const ordered = inOrder(customers, marginOrder('margin', 'ascending'));
  const ends = ordered.length > 2 * eachMax ? [...ordered.slice(0, eachMax), ...ordered.slice(-eachMax)] : ordered;
  return ends.map(presentCustomer);
}

export async function listMargins(
  reader: Reader,
  query: Asked,
  page: PageRequest | null,
): Promise<AnswerTo<'listCustomerMargins'>> {
  const read = await readMargins(reader, query);
  return read.ok ? pageOfMargins(read.data, query, page) : read;
}

function presentCustomer(customer: CustomerEarned): Item {
  return { customerId: customer.customerId, planPriceKnown: customer.isPlanPriced, ...present(customer) };
}

/** A line for each customer; its columns are the members of an item of the list. */
export function marginsCsv({ items }: Pick<CustomerMarginsData, 'items'>): string {
  const number = (name: (typeof NUMBERS)[number]) => (item: Item) => item[name];
  const digits = (name: (typeof DIGITS)[number]) => (item: Item) => exact(item[name]);
  return formatCsv(
    {
      customerId: ({ customerId }: Item) => customerId,
      planPriceKnown: ({ planPriceKnown }) => String(planPriceKnown),
      ...Object.fromEntries(NUMBERS.map((name) => [name, number(name)])),
      ...Object.fromEntries(DIGITS.map((name) => [name, digits(name)])),
    },
    items,
  );
}

const NUMBERS = [
  'calls',
  'unpricedCalls',
  'costUSD',
  'chargedUSD',
  'planUSD',
  'revenueUSD',
  'marginUSD',
  'marginPercent',
] as const satisfies readonly (keyof Item)[];

/** A spreadsheet would round them as numbers of dollars. */
const DIGITS = [
  'costUsdNano',
  'chargedUsdNano',
  'planUsdNano',
  'revenueUsdNano',
  'marginUsdNano',
] as const satisfies readonly (keyof Item)[];
