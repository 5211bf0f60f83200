/**
 * Customers in D1, as lists and the search show them.
 *
 * A list follows an index in its order (customer-order.ts) and stops at the end of its page. If a filter is not in the
 * index, a page looks at a bounded number of customers, and continues after the last of them. The search matches any
 * part of the id, the display name and the e-mail address. One index has all three in lower case: the search reads only
 * that index, so it can look at many more customers.
 */

import { and, eq, getTableColumns, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import { type Database, database, prepare } from '../config/database.ts';
import { NEAR_LIMIT_SHARE } from '../contract/attention.ts';
import { soughtForms } from '../domain/case-search.ts';
import { asCustomerId, type CustomerId, type OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { encodeCursor, type Page, type PageRequest } from '../platform/page.ts';
import {
  type CustomerPlace,
  type CustomerRow,
  type CustomerSort,
  isAfter,
  isUpTo,
  NOW_IN_D1,
  orderBy,
  parsePlace,
  placeOfRow,
  placeText,
} from './customer-order.ts';
import { customerDays, customers } from './schema/index.ts';

/** The most customers that one page looks at if no index covers the list's filter. */
export const CUSTOMERS_SEARCHED_MAX = 10_000;
/** The same if an index covers the whole filter, including the search. */
const CUSTOMERS_INDEXED_MAX = 100_000;

export interface CustomerFilter {
  /** A part of the id, of the display name or of the e-mail address, in upper or lower case. */
  search?: string | undefined;
  planId?: string | undefined;
  canceled?: boolean | undefined;
  /** The least used share of the worst meter's limit. */
  nearLimit?: number | undefined;
  /** Credit pays for a tier. */
  onCredit?: boolean | undefined;
  /** A call was denied in the usage period. */
  denied?: boolean | undefined;
  /** At least this share of the calls since a UTC day failed. */
  failing?: { share: number; sinceMs: number } | undefined;
  /** Whether one of these models has cost something since a UTC day. */
  uses?: { models: readonly string[]; sinceMs: number; wanted: boolean } | undefined;
  /** Only these, or all others. A few hundred at most. */
  among?: { customerIds: readonly CustomerId[]; wanted: boolean } | undefined;
}

/** Customers in an order; in the order of ids, a search returns the exact id first. */
export async function findCustomers(
  env: Env,
  organizationId: OrganizationId,
  filter: CustomerFilter,
  { after, limit }: PageRequest,
  { sort = 'customerId', nowMs = Date.now() }: { sort?: CustomerSort; nowMs?: number } = {},
): Promise<Page<CustomerRow>> {
  const db = await database(env, organizationId);
  const listing = buildListing(organizationId, filter, sort, nowMs);
  if (sort === 'customerId' && filter.search !== undefined)
    return searchCustomers(db, listing, filter.search, { after, limit });
  const { items, next } = await listCustomers(db, listing, after === null ? null : parsePlace(sort, after), limit);
  return { items, nextCursor: next && encodeCursor(placeText(sort, next)) };
}

/** The number of customers in a list, among as many as one page looks at: more may exist if `isAll` is false. */
export async function countCustomers(
  env: Env,
  organizationId: OrganizationId,
  filter: CustomerFilter,
  nowMs: number,
): Promise<Counted> {
  const db = await database(env, organizationId);
  const { from, indexed, searched, looksMax } = buildListing(organizationId, filter, 'customerId', nowMs);
  const inOrder = db
    .select({ customerId: ALL_COLUMNS.customerId })
    .from(from)
    .where(and(...indexed));
  const [last] = await inOrder
    .orderBy(customers.customerId)
    .limit(1)
    .offset(looksMax - 1);
  const end = last && isUpTo('customerId', { beganAtMs: 0, values: [last.customerId] });
  const [row] = await db
    .select({ count: sql<number>`COUNT(*)` })
    .from(from)
    .where(and(...indexed, ...searched, end));
  return { count: row?.count ?? 0, isAll: last === undefined };
}

/** The most customers that are counted for one filter. */
const MARKED_MAX = 1_000;

interface Counted {
  count: number;
  /** False if there may be more. */
  isAll: boolean;
}

/** The number of customers for each filter that has an index: by their usage periods, if those are not over. */
export async function countMarked(
  env: Env,
  organizationId: OrganizationId,
  nowMs: number,
): Promise<Record<'nearLimit' | 'onCredit' | 'denied', Counted>> {
  const db = await database(env, organizationId);
  const counted = (condition: SQL) => sql`SELECT TOTAL(next_replenish_at_ms > ${nowMs}) AS count, COUNT(*) AS looked
    FROM (SELECT next_replenish_at_ms FROM ${customers} WHERE organization_id = ${organizationId} AND ${condition} LIMIT ${MARKED_MAX})`;
  const conditions = [
    sql`${customers.worstMeterShare} >= ${NEAR_LIMIT_SHARE} AND worst_meter IS NOT NULL`,
    sql`on_credit = 1`,
    sql`denied = 1`,
  ];
  const results = await db.$client.batch<{ count: number; looked: number }>(
    conditions.map((condition) => prepare(db, counted(condition))),
  );
  const [nearLimit, onCredit, denied] = conditions.map((_, index) => {
    const { count = 0, looked = 0 } = results[index]?.results[0] ?? {};
    return { count, isAll: looked < MARKED_MAX };
  }) as [Counted, Counted, Counted];
  return { nearLimit, onCredit, denied };
}

/** As expressions, because drizzle does not know the columns of a table with a named index. */
const ALL_COLUMNS = Object.fromEntries(
  Object.entries(getTableColumns(customers)).map(([name, column]) => [name, sql`${column}`.mapWith(column)]),
) as unknown as { [Name in keyof CustomerRow]: SQL<CustomerRow[Name]> };

interface Listing {
  /** The customers, with the index to use. */
  from: SQL;
  /** The conditions that the index covers; and those that it does not cover. */
  indexed: readonly SQL[];
  searched: readonly SQL[];
  sort: CustomerSort;
  /** The most customers that a page looks at. */
  looksMax: number;
}

function buildListing(
  organizationId: OrganizationId,
  filter: CustomerFilter,
  sort: CustomerSort,
  nowMs: number,
): Listing {
  const { search, planId, among, onCredit, denied } = filter;
  const ofOrganization = eq(customers.organizationId, organizationId);
  const ofPlan = planId === undefined ? [] : [eq(customers.planId, planId)];
  const found = search === undefined ? [] : [isFound(search)];
  const narrowed = narrowedBy(organizationId, filter, nowMs);
  if (among?.wanted) {
    // CROSS JOIN keeps SQLite from reading all customers in their order first.
    const from = sql`json_each(${JSON.stringify(among.customerIds)}) named CROSS JOIN ${customers} ON ${customers.customerId} = named.value`;
    return {
      from,
      indexed: [ofOrganization, ...ofPlan, ...found, ...narrowed],
      searched: [],
      sort,
      looksMax: CUSTOMERS_INDEXED_MAX,
    };
  }
  const looksMax = narrowed.length === 0 ? CUSTOMERS_INDEXED_MAX : CUSTOMERS_SEARCHED_MAX;
  if (sort !== 'customerId')
    return {
      from: sql`${customers}`,
      indexed: [ofOrganization],
      searched: [...ofPlan, ...found, ...narrowed],
      sort,
      looksMax: CUSTOMERS_SEARCHED_MAX,
    };
  if (search !== undefined)
    return {
      from: sql`${customers} INDEXED BY customers_by_search`,
      indexed: [ofOrganization],
      searched: [...ofPlan, ...found, ...narrowed],
      sort,
      looksMax,
    };
  // In the form that the indexes of few customers have.
  const few =
    planId === undefined ? [...(onCredit ? [sql`on_credit = 1`] : []), ...(denied ? [sql`denied = 1`] : [])] : [];
  return { from: sql`${customers}`, indexed: [ofOrganization, ...ofPlan, ...few], searched: narrowed, sort, looksMax };
}

/** The conditions that no index covers. Figures of a usage period that is over do not count in the present one. */
function narrowedBy(organizationId: OrganizationId, filter: CustomerFilter, nowMs: number): SQL[] {
  const { canceled, nearLimit, onCredit, denied, failing, uses, among } = filter;
  const isCurrent = sql`${customers.nextReplenishAtMs} > ${nowMs}`;
  const holds = (condition: SQL, wanted: boolean) => (wanted ? condition : sql`NOT ${condition}`);
  const daysSince = (sinceMs: number) =>
    sql`organization_id = ${organizationId} AND customer_id = ${customers.customerId} AND day_ms >= ${sinceMs}`;
  return [
    ...(canceled === undefined ? [] : [canceled ? isNotNull(customers.canceledAtMs) : isNull(customers.canceledAtMs)]),
    ...(nearLimit === undefined
      ? []
      : [sql`(${isNotNull(customers.worstMeter)} AND ${customers.worstMeterShare} >= ${nearLimit} AND ${isCurrent})`]),
    ...(onCredit === undefined ? [] : [holds(sql`(${customers.onCredit} = 1 AND ${isCurrent})`, onCredit)]),
    ...(denied === undefined ? [] : [holds(sql`(${customers.denied} = 1 AND ${isCurrent})`, denied)]),
    ...(failing === undefined
      ? []
      : [
          sql`(SELECT SUM(failed_calls) > 0 AND SUM(failed_calls) >= ${failing.share} * SUM(calls)
            FROM ${customerDays} WHERE ${daysSince(failing.sinceMs)})`,
        ]),
    ...(uses === undefined
      ? []
      : [
          holds(
            sql`EXISTS (SELECT 1 FROM ${customerDays} INDEXED BY customer_days_by_model
              WHERE paid_model IN (SELECT value FROM json_each(${JSON.stringify(uses.models)})) AND ${daysSince(uses.sinceMs)} AND calls > 0)`,
            uses.wanted,
          ),
        ]),
    ...(among === undefined || among.wanted
      ? []
      : [sql`${customers.customerId} NOT IN (SELECT value FROM json_each(${JSON.stringify(among.customerIds)}))`]),
  ];
}

/** After it has looked at the most customers, a page may be shorter than requested although the list goes on. */
async function listCustomers(
  db: Database,
  { from, indexed, searched, sort, looksMax }: Listing,
  place: CustomerPlace | null,
  limit: number,
): Promise<{ items: CustomerRow[]; next: CustomerPlace | null }> {
  const after = and(...indexed, place ? isAfter(sort, place) : undefined);
  const rows = (where: SQL | undefined, count: number, offset = 0) =>
    db
      .select({ customer: ALL_COLUMNS, nowMs: NOW_IN_D1 })
      .from(from)
      .where(where)
      .orderBy(...orderBy(sort))
      .limit(count)
      .offset(offset);
  const [last] = searched.length === 0 ? [] : await rows(after, 1, looksMax - 1);
  const placeAt = ({ customer, nowMs }: { customer: CustomerRow; nowMs: number }): CustomerPlace =>
    placeOfRow(sort, customer, place?.beganAtMs ?? nowMs);
  const end = last && placeAt(last);
  const found = await rows(and(after, ...searched, end && isUpTo(sort, end)), limit + 1);
  const shown = found.slice(0, limit);
  const lastShown = shown.at(-1);
  const next = found.length > limit ? (lastShown ? placeAt(lastShown) : START) : (end ?? null);
  return { items: shown.map(({ customer }) => customer), next };
}

/** Before every id. */
const START: CustomerPlace = { beganAtMs: 0, values: [''] };
/** The beginning of a search's cursor. */
const SEARCH = 'search ';

/** The customer with this id comes first, and is not found again. */
async function searchCustomers(
  db: Database,
  listing: Listing,
  search: string,
  { after, limit }: PageRequest,
): Promise<Page<CustomerRow>> {
  const place = after?.startsWith(SEARCH) ? { beganAtMs: 0, values: [after.slice(SEARCH.length)] } : null;
  const { indexed, searched } = listing;
  const named = place
    ? []
    : await db
        .select({ customer: ALL_COLUMNS })
        .from(listing.from)
        .where(and(...indexed, ...searched, eq(customers.customerId, asCustomerId(search))))
        .limit(1);
  const others = { ...listing, searched: [...searched, sql`${customers.customerId} <> ${search}`] };
  const { items, next } = await listCustomers(db, others, place, limit - named.length);
  return {
    items: [...named.map(({ customer }) => customer), ...items],
    nextCursor: next && encodeCursor(SEARCH + String(next.values[0])),
  };
}

const SEARCHED_COLUMNS = [customers.customerIdLower, customers.friendlyNameLower, customers.emailLower];

/** Whether any of the searched columns contains the text. */
function isFound(search: string): SQL {
  const contains = soughtForms(search).flatMap((form) =>
    SEARCHED_COLUMNS.map((column) => sql`INSTR(${column}, ${form}) > 0`),
  );
  return sql`(${sql.join(contains, sql` OR `)})`;
}

/** The display names of those of these customers that have one. */
export async function findCustomerNames(
  env: Env,
  organizationId: OrganizationId,
  customerIds: readonly CustomerId[],
): Promise<Map<string, string>> {
  if (customerIds.length === 0) return new Map();
  const rows = await (await database(env, organizationId))
    .select({ customerId: customers.customerId, name: customers.friendlyName })
    .from(customers)
    .where(and(eq(customers.organizationId, organizationId), inArray(customers.customerId, [...customerIds])));
  return new Map(rows.flatMap(({ customerId, name }) => (name === null ? [] : [[customerId, name] as const])));
}
