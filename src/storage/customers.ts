/**
 * Customers in D1, as lists and the search show them.
 *
 * A page costs the same whether an organization has a thousand customers or a million, and however many of them a search
 * finds: a list follows an index in its order (customer-order.ts), and the search goes through ranges of three indexes over
 * lower-case columns in their own order. Both stop at the end of their page. Where something narrows a list that the index
 * does not have, a page looks at a bounded number of customers.
 */
import { and, eq, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { endOfPrefix, soughtForms } from '../domain/case-search.ts';
import type { Env } from '../env.ts';
import { cursorOf, type Page, type PageRequest, pageOf } from '../platform/page.ts';
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
import { type Database, database } from './database.ts';
import { customers } from './schema/index.ts';

/** Customers that one page looks at where something narrows the list that no index has. */
export const CUSTOMERS_SEARCHED_MAX = 10_000;

export interface CustomerFilter {
  /** Beginning of the id, of the display name or of the e-mail address, whatever the case. */
  search?: string | undefined;
  planId?: string | undefined;
  canceled?: boolean | undefined;
  /** The least share of the worst meter's limit that is used. */
  nearLimit?: number | undefined;
  /** Credit pays for a tier. */
  onCredit?: boolean | undefined;
  /** A call was denied in the usage period. */
  denied?: boolean | undefined;
}

/** Customers in an order; of a search in that of ids first those whose id matches, then by name, then by e-mail address. */
export async function findCustomers(
  env: Env,
  organizationId: string,
  filter: CustomerFilter,
  page: PageRequest,
  { sort = 'customerId', nowMs = Date.now() }: { sort?: CustomerSort; nowMs?: number } = {},
): Promise<Page<CustomerRow>> {
  const db = await database(env, organizationId);
  const { search, planId } = filter;
  const among = eq(customers.organizationId, organizationId);
  const ofPlan = planId === undefined ? [] : [eq(customers.planId, planId)];
  const narrowed = narrowedBy(filter, nowMs);
  if (sort === 'customerId' && search !== undefined)
    return searchCustomers(db, search, organizationId, and(among, ...ofPlan, ...narrowed), page);
  // By id, an index has the plans.
  const indexed = sort === 'customerId' ? [among, ...ofPlan] : [among];
  const searched = [...(sort === 'customerId' ? [] : ofPlan), ...narrowed];
  if (search !== undefined) searched.push(isFound(search));
  return listCustomers(db, { indexed, searched, sort }, page);
}

/** What no index has. Figures of a usage period that is over say nothing of the present one. */
function narrowedBy({ canceled, nearLimit, onCredit, denied }: CustomerFilter, nowMs: number): SQL[] {
  const isCurrent = sql`${customers.nextReplenishAtMs} > ${nowMs}`;
  const holds = (condition: SQL, wanted: boolean) =>
    wanted ? sql`(${condition} AND ${isCurrent})` : sql`NOT (${condition} AND ${isCurrent})`;
  return [
    ...(canceled === undefined ? [] : [canceled ? isNotNull(customers.canceledAtMs) : isNull(customers.canceledAtMs)]),
    ...(nearLimit === undefined
      ? []
      : [sql`(${isNotNull(customers.worstMeter)} AND ${customers.worstMeterShare} >= ${nearLimit} AND ${isCurrent})`]),
    ...(onCredit === undefined ? [] : [holds(sql`${customers.onCredit} = 1`, onCredit)]),
    ...(denied === undefined ? [] : [holds(sql`${customers.denied} = 1`, denied)]),
  ];
}

interface Listing {
  /** Conditions that an index has, which is in the order too; and those that it does not have. */
  indexed: readonly SQL[];
  searched: readonly SQL[];
  sort: CustomerSort;
}

/** A page; where it looked at as many customers as it may, it can be short of what was asked for and yet go on. */
async function listCustomers(
  db: Database,
  { indexed, searched, sort }: Listing,
  { after, limit }: PageRequest,
): Promise<Page<CustomerRow>> {
  const place = after === null ? null : parsePlace(sort, after);
  const from = and(...indexed, place ? isAfter(sort, place) : undefined);
  const rows = (where: SQL | undefined, count: number, offset = 0) =>
    db
      .select({ customer: customers, nowMs: NOW_IN_D1 })
      .from(customers)
      .where(where)
      .orderBy(...orderBy(sort))
      .limit(count)
      .offset(offset);
  const [last] = searched.length === 0 ? [] : await rows(from, 1, CUSTOMERS_SEARCHED_MAX - 1);
  const placeAt = ({ customer, nowMs }: { customer: CustomerRow; nowMs: number }): CustomerPlace =>
    placeOfRow(sort, customer, place?.beganAtMs ?? nowMs);
  const end = last && placeAt(last);
  const found = await rows(and(from, ...searched, end && isUpTo(sort, end)), limit + 1);
  const page = pageOf(found, limit, (row) => placeText(sort, placeAt(row)));
  return {
    items: page.items.map(({ customer }) => customer),
    nextCursor: page.nextCursor ?? (end ? cursorOf(placeText(sort, end)) : null),
  };
}

/** Indexes of the search, with their columns. */
const SEARCHED = {
  customers_by_id_search: customers.customerIdLower,
  customers_by_name_search: customers.friendlyNameLower,
  customers_by_email_search: customers.emailLower,
};
const SEARCHED_COLUMNS = Object.values(SEARCHED);

/** Where a page of a search ends. */
interface Place {
  /** Of the ranges that the search goes through. */
  range: number;
  /** What was found there, in lower case. */
  text: string;
  customerId: string;
}

/** Each form of the search is a range of each index: one after the other. A part of a UNION for each, in groups that D1 allows. */
async function searchCustomers(
  db: Database,
  search: string,
  organizationId: string,
  among: SQL | undefined,
  { after, limit }: PageRequest,
): Promise<Page<CustomerRow>> {
  const forms = soughtForms(search);
  const ranges = Object.entries(SEARCHED).flatMap(([index, column]) => forms.map((form) => ({ index, column, form })));
  const place = placeOf(after);
  const sought = ranges[place?.range ?? 0];
  const start = place && sought && place.text.startsWith(sought.form) ? place : null;
  const parts = ranges.flatMap(({ index, column, form }, number) => {
    if (number < (start?.range ?? 0)) return [];
    const from = start?.range === number ? start : null;
    // Whoever was found by a column before this one is not found again.
    const before = SEARCHED_COLUMNS.slice(0, SEARCHED_COLUMNS.indexOf(column)).map(
      (earlier) => sql` AND NOT (${isFoundIn(earlier, forms)})`,
    );
    return [
      sql`SELECT * FROM (SELECT ${number} AS number, ${column} AS text, customer_id AS id FROM ${customers} INDEXED BY ${sql.identifier(index)}
        WHERE ${inRange(sql`${column}`, form, from)} AND ${among} ${sql.join(before)}
        ORDER BY ${column}, customer_id LIMIT ${limit + 1})`,
    ];
  });
  const rows = await db
    .select({ customer: customers, number: sql<number>`found.number`, text: sql<string>`found.text` })
    .from(sql`(SELECT * FROM (${unionOf(parts)}) ORDER BY number, text, id LIMIT ${limit + 1}) found`)
    .innerJoin(customers, and(eq(customers.organizationId, organizationId), sql`${customers.customerId} = found.id`))
    .orderBy(sql`found.number, found.text, found.id`);
  const found = pageOf(rows, limit, ({ number, text, customer }) =>
    cursorText({ range: number, text, customerId: customer.customerId }),
  );
  return { ...found, items: found.items.map(({ customer }) => customer) };
}

/** Parts of one UNION that D1 allows. */
const UNION_PARTS_MAX = 5;

function unionOf(parts: readonly SQL[]): SQL {
  const union = (some: readonly SQL[]) => sql.join([...some], sql` UNION ALL `);
  const [first, second] = [parts.slice(0, UNION_PARTS_MAX - 1), parts.slice(UNION_PARTS_MAX - 1)];
  return second.length === 0 ? union(first) : union([...first, sql`SELECT * FROM (${union(second)})`]);
}

/** Whether any of the columns of the search begins with it. */
function isFound(search: string): SQL {
  const forms = soughtForms(search);
  return sql`(${sql.join(
    SEARCHED_COLUMNS.map((column) => isFoundIn(column, forms)),
    sql` OR `,
  )})`;
}

function isFoundIn(column: SQLiteColumn, forms: readonly string[]): SQL {
  return sql.join(
    forms.map((form) => inRange(sql`COALESCE(${column}, '')`, form)),
    sql` OR `,
  );
}

/** Texts that begin with this form; those after a place of the same range. */
function inRange(column: SQL, form: string, from: Place | null = null): SQL {
  const end = endOfPrefix(form);
  const first = from ? sql`(${column}, customer_id) > (${from.text}, ${from.customerId})` : sql`${column} >= ${form}`;
  return end === null ? first : sql`(${first} AND ${column} < ${end})`;
}

function cursorText({ range, text, customerId }: Place): string {
  return `${range} ${text.length} ${text}${customerId}`;
}

/** `null` on the first page, and for a cursor of another list. */
function placeOf(after: string | null): Place | null {
  const [, range, length, rest] = /^(\d) (\d+) (.*)$/s.exec(after ?? '') ?? [];
  if (rest === undefined) return null;
  return { range: Number(range), text: rest.slice(0, Number(length)), customerId: rest.slice(Number(length)) };
}

/** The display names of those of these customers that have one. */
export async function findCustomerNames(
  env: Env,
  organizationId: string,
  customerIds: readonly string[],
): Promise<Map<string, string>> {
  if (customerIds.length === 0) return new Map();
  const rows = await (await database(env, organizationId))
    .select({ customerId: customers.customerId, name: customers.friendlyName })
    .from(customers)
    .where(and(eq(customers.organizationId, organizationId), inArray(customers.customerId, [...customerIds])));
  return new Map(rows.flatMap(({ customerId, name }) => (name === null ? [] : [[customerId, name] as const])));
}
