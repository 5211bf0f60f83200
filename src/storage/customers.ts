/**
 * Customers in D1, as lists and the search show them.
 *
 * A page costs the same whether an organization has a thousand customers or a million, and however many of them a search
 * finds: the search goes through ranges of two indexes over lower-case columns in their own order, and stops at the end
 * of its page.
 */
import { and, asc, eq, gt, type SQL, sql } from 'drizzle-orm';
import { endOfPrefix, soughtForms } from '../domain/case-search.ts';
import type { Env } from '../env.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { database } from './database.ts';
import { customers } from './schema/index.ts';

export type CustomerRow = typeof customers.$inferSelect;

export interface CustomerFilter {
  /** Beginning of the id or of the display name, whatever the case. */
  search?: string | undefined;
  planId?: string | undefined;
}

/** Customers by id; of a search first those whose id matches, then by name those whose name alone does. */
export function findCustomers(
  env: Env,
  organizationId: string,
  { search, planId }: CustomerFilter,
  page: PageRequest,
): Promise<Page<CustomerRow>> {
  const among = and(
    eq(customers.organizationId, organizationId),
    planId === undefined ? undefined : eq(customers.planId, planId),
  );
  return search === undefined
    ? listCustomers(env, organizationId, among, page)
    : searchCustomers(env, organizationId, search, among, page);
}

async function listCustomers(
  env: Env,
  organizationId: string,
  among: SQL | undefined,
  { after, limit }: PageRequest,
): Promise<Page<CustomerRow>> {
  const rows = await (await database(env, organizationId))
    .select()
    .from(customers)
    .where(and(among, after === null ? undefined : gt(customers.customerId, after)))
    .orderBy(asc(customers.customerId))
    .limit(limit + 1);
  return pageOf(rows, limit, ({ customerId }) => customerId);
}

/** Indexes of the search, with their columns. */
const SEARCHED = {
  customers_by_id_search: customers.customerIdLower,
  customers_by_name_search: customers.friendlyNameLower,
};

/** Where a page of a search ends. */
interface Place {
  /** Of the ranges that the search goes through. */
  range: number;
  /** What was found there, in lower case. */
  text: string;
  customerId: string;
}

/** Each form of the search is a range of each index: one after the other. D1 allows five parts of a UNION. */
async function searchCustomers(
  env: Env,
  organizationId: string,
  search: string,
  among: SQL | undefined,
  { after, limit }: PageRequest,
): Promise<Page<CustomerRow>> {
  const forms = soughtForms(search);
  const ranges = Object.entries(SEARCHED).flatMap(([index, column]) => forms.map((form) => ({ index, column, form })));
  const place = placeOf(after);
  const sought = ranges[place?.range ?? 0];
  const start = place && sought && place.text.startsWith(sought.form) ? place : null;
  // Whoever was found by the id is not found by the name again.
  const byId = sql.join(
    forms.map((form) => inRange(sql`COALESCE(${customers.customerIdLower}, '')`, form)),
    sql` OR `,
  );
  const parts = ranges.flatMap(({ index, column, form }, number) => {
    if (number < (start?.range ?? 0)) return [];
    const from = start?.range === number ? start : null;
    return [
      sql`SELECT * FROM (SELECT ${number} AS number, ${column} AS text, customer_id AS id FROM ${customers} INDEXED BY ${sql.identifier(index)}
        WHERE ${inRange(sql`${column}`, form, from)} AND ${among} ${column === customers.customerIdLower ? sql`` : sql`AND NOT (${byId})`}
        ORDER BY ${column}, customer_id LIMIT ${limit + 1})`,
    ];
  });
  const rows = await (await database(env, organizationId))
    .select({ customer: customers, number: sql<number>`found.number`, text: sql<string>`found.text` })
    .from(
      sql`(SELECT * FROM (${sql.join(parts, sql` UNION ALL `)}) ORDER BY number, text, id LIMIT ${limit + 1}) found`,
    )
    .innerJoin(customers, and(eq(customers.organizationId, organizationId), sql`${customers.customerId} = found.id`))
    .orderBy(sql`found.number, found.text, found.id`);
  const found = pageOf(rows, limit, ({ number, text, customer }) =>
    cursorText({ range: number, text, customerId: customer.customerId }),
  );
  return { ...found, items: found.items.map(({ customer }) => customer) };
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
