/**
 * Customers in D1, as lists and the search show them.
 *
 * A search reads a range of two indexes over lower-case columns. What it reads grows with the customers that match, not
 * with all customers of the organization.
 */
import { and, asc, eq, gt, type SQL, sql } from 'drizzle-orm';
import { endOfPrefix, soughtForms } from '../domain/case-search.ts';
import type { Env } from '../env.ts';
import { database } from './database.ts';
import { customers } from './schema/index.ts';

export type CustomerRow = typeof customers.$inferSelect;

export interface CustomerFilter {
  /** Beginning of the id or of the display name, whatever the case. */
  search?: string | undefined;
  planId?: string | undefined;
}

/** Customers by id; one more than asked for tells whether there are more. */
export async function findCustomers(
  env: Env,
  organizationId: string,
  filter: CustomerFilter,
  after: string | null,
  limit: number,
): Promise<CustomerRow[]> {
  const { search, planId } = filter;
  const ofOrganization = eq(customers.organizationId, organizationId);
  const narrowed = and(
    ofOrganization,
    planId === undefined ? undefined : eq(customers.planId, planId),
    after === null ? undefined : gt(customers.customerId, after),
  );
  return (await database(env, organizationId))
    .select()
    .from(customers)
    .where(
      search === undefined
        ? narrowed
        : and(ofOrganization, sql`${customers.customerId} IN (${matching(search, narrowed, limit)})`),
    )
    .orderBy(asc(customers.customerId))
    .limit(limit + 1);
}

/** Indexes of the search, with their columns. */
const SEARCHED = {
  customers_by_id_search: customers.customerIdLower,
  customers_by_name_search: customers.friendlyNameLower,
};

/** The ids of a page: each form of the search is looked up in each index. D1 allows five parts of a UNION. */
function matching(search: string, narrowed: SQL | undefined, limit: number): SQL {
  const parts = soughtForms(search).flatMap((form) => {
    const end = endOfPrefix(form);
    return Object.entries(SEARCHED).map(([index, column]) => {
      const range = end === null ? sql`${column} >= ${form}` : sql`${column} >= ${form} AND ${column} < ${end}`;
      return sql`SELECT customer_id FROM (SELECT ${customers.customerId} FROM ${customers} INDEXED BY ${sql.identifier(index)}
        WHERE ${range} AND ${narrowed} ORDER BY ${customers.customerId} LIMIT ${limit + 1})`;
    });
  });
  return sql`SELECT customer_id FROM (${sql.join(parts, sql` UNION `)}) ORDER BY customer_id LIMIT ${limit + 1}`;
}
