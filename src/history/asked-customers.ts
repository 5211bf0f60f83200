/**
 * The customers that a query reads one by one, in D1: the named ones, or all of an organization that has few enough.
 */

import { type SQL, sql } from 'drizzle-orm';
import { database } from '../config/database.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { customers, organizationSizes } from './schema/index.ts';

/** If there are more customers, no query reads each of them: that takes two running totals of every one. */
export const CUSTOMERS_READ_MAX = 10_000;

/** Use `ALL` only after `hasFewCustomers` has allowed it. */
export type AskedCustomers = readonly string[] | 'ALL';

/** Their ids as a table with the column `id`. */
export function customerIdsQuery(organizationId: OrganizationId, asked: AskedCustomers): SQL {
  return asked === 'ALL'
    ? sql`(SELECT customer_id AS id FROM ${customers} WHERE organization_id = ${organizationId})`
    : sql`(SELECT value AS id FROM json_each(${JSON.stringify(asked)}))`;
}

export async function hasFewCustomers(env: Env, organizationId: OrganizationId): Promise<boolean> {
  const [row] = await (await database(env, organizationId)).all<{ customers: number }>(
    sql`SELECT customers FROM ${organizationSizes} WHERE organization_id = ${organizationId}`,
  );
  return (row?.customers ?? 0) <= CUSTOMERS_READ_MAX;
}
