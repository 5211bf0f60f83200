/**
 * Customers in D1: the projection that lists read.
 */
import { and, asc, eq, gt, or, sql } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { database } from './database.ts';
import { customers } from './schema.ts';

export type CustomerRow = typeof customers.$inferSelect;

export interface CustomerFilter {
  /** Beginning of the id or of the display name. */
  search?: string | undefined;
  planId?: string | undefined;
}

/** Customers by id; one more than asked for tells whether there are more. */
export function findCustomers(
  env: Env,
  organizationId: string,
  filter: CustomerFilter,
  after: string | null,
  limit: number,
): Promise<CustomerRow[]> {
  const { search, planId } = filter;
  return database(env.DB)
    .select()
    .from(customers)
    .where(
      and(
        eq(customers.organizationId, organizationId),
        planId === undefined ? undefined : eq(customers.planId, planId),
        after === null ? undefined : gt(customers.customerId, after),
        search === undefined ? undefined : or(startsWith('customer_id', search), startsWith('friendly_name', search)),
      ),
    )
    .orderBy(asc(customers.customerId))
    .limit(limit + 1);
}

/** By characters, not by pattern: a search for `%` finds what begins with a percent sign. Case does not count. */
function startsWith(column: 'customer_id' | 'friendly_name', prefix: string) {
  return sql`LOWER(SUBSTR(${sql.identifier(column)}, 1, LENGTH(${prefix}))) = LOWER(${prefix})`;
}
