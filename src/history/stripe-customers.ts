/**
 * D1: the organization that has an id at Stripe. An id belongs to the organization whose customer got it first. Older
 * ids that several organizations have stay with all of them, until an operator releases them.
 */

import { and, eq, sql } from 'drizzle-orm';
import {
  CONFIG_DATABASE,
  configDatabase,
  type Database,
  database,
  findDatabaseName,
  namedDatabase,
  prepare,
  type Statement,
} from '../config/database.ts';
import type { CustomerId, CustomerKey, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import { remember } from '../platform/isolate-memory.ts';
import { stripeCustomers } from './schema/index.ts';

/** A customer, and the id at Stripe that it gets. */
export interface StripeCustomer extends CustomerKey {
  stripeCustomerId: string;
}

/** The most ids that an isolate remembers as an organization's. */
const REMEMBERED_MAX = 20_000;
/** The most rows that one statement moves, and the most statements of one run. */
const GATHERED_ROWS_MAX = 1_000;
const GATHER_ROUNDS_MAX = 100;

/** The time at which an id was read as an organization's. */
const known = remember(() => new BoundedMap<string, number>(REMEMBERED_MAX));

/** Gives the customer the id, unless only another organization has it. Returns whether the customer has it. */
export async function claimStripeCustomer(env: Env, claimed: StripeCustomer): Promise<boolean> {
  const { organizationId, customerId, stripeCustomerId } = claimed;
  const db = configDatabase(env);
  const ofId = sql`SELECT 1 FROM ${stripeCustomers} WHERE stripe_customer_id = ${stripeCustomerId}`;
  const own = sql`EXISTS (${ofId} AND organization_id = ${organizationId})`;
  const results = await db.$client.batch<{ own: number }>([
    prepare(
      db,
      sql`INSERT INTO stripe_customers (stripe_customer_id, organization_id, customer_id)
        SELECT ${stripeCustomerId}, ${organizationId}, ${customerId} WHERE ${own} OR NOT EXISTS (${ofId})
        ON CONFLICT DO NOTHING`,
    ),
    prepare(db, sql`SELECT ${own} AS own`),
  ]);
  return results[1]?.results[0]?.own === 1 || isUngathered(env, organizationId, stripeCustomerId);
}

/** Whether a customer of the organization has the id. A release is known to all isolates when it is acknowledged. */
export async function hasStripeCustomer(
  env: Env,
  organizationId: OrganizationId,
  stripeCustomerId: string,
): Promise<boolean> {
  const key = `${organizationId} ${stripeCustomerId}`;
  const nowMs = Date.now();
  if (nowMs - (known.value.get(key) ?? Number.NEGATIVE_INFINITY) < env.CONFIG_TTL_MS) return true;
  const has =
    (await isIn(configDatabase(env), organizationId, stripeCustomerId)) ||
    (await isUngathered(env, organizationId, stripeCustomerId));
  if (has) known.value.set(key, nowMs);
  return has;
}

async function isIn(db: Database, organizationId: OrganizationId, stripeCustomerId: string): Promise<boolean> {
  return (await db.$count(stripeCustomers, ofOrganization(organizationId, stripeCustomerId))) > 0;
}

/** Whether the organization's own database has the id, if that is another database. */
async function isUngathered(env: Env, organizationId: OrganizationId, stripeCustomerId: string): Promise<boolean> {
  const name = await findDatabaseName(env, organizationId);
  return name !== CONFIG_DATABASE && isIn(namedDatabase(env, name), organizationId, stripeCustomerId);
}

function ofOrganization(organizationId: OrganizationId, stripeCustomerId: string) {
  return and(
    eq(stripeCustomers.stripeCustomerId, stripeCustomerId),
    eq(stripeCustomers.organizationId, organizationId),
  );
}

/** Moves older rows of another database to the one with the configuration. */
export async function gatherStripeCustomers(env: Env, name: DatabaseName): Promise<void> {
  if (name === CONFIG_DATABASE) return;
  const from = namedDatabase(env, name);
  for (let round = 0; round < GATHER_ROUNDS_MAX; round += 1) {
    const rows = await from.select().from(stripeCustomers).limit(GATHERED_ROWS_MAX);
    if (rows.length === 0) return;
    const member = (path: string) => sql`value ->> ${path}`;
    const moved = sql`SELECT ${member('$.stripeCustomerId')}, ${member('$.organizationId')}, ${member('$.customerId')}
      FROM json_each(${JSON.stringify(rows)})`;
    await configDatabase(env).run(
      sql`INSERT INTO stripe_customers (stripe_customer_id, organization_id, customer_id) ${moved} WHERE true ON CONFLICT DO NOTHING`,
    );
    await from.run(
      sql`DELETE FROM stripe_customers WHERE (stripe_customer_id, organization_id, customer_id) IN (${moved})`,
    );
  }
}

/** Call this when the customer is erased. */
export async function forgetStripeCustomers(env: Env, { organizationId, customerId }: CustomerKey): Promise<void> {
  for (const db of [configDatabase(env), await database(env, organizationId)])
    await db
      .delete(stripeCustomers)
      .where(and(eq(stripeCustomers.organizationId, organizationId), eq(stripeCustomers.customerId, customerId)));
}

/** Ids that customers of more than one organization have, in order; one more than `limit` if more exist. */
export async function listSharedStripeCustomers(env: Env, after: string | null, limit: number) {
  const rows = await configDatabase(env).all<{ stripeCustomerId: string; organizations: string }>(sql`
    SELECT stripe_customer_id AS stripeCustomerId,
      json_group_array(json_object('organizationId', organization_id, 'customers', customers)) AS organizations
    FROM (SELECT stripe_customer_id, organization_id, COUNT(*) AS customers FROM ${stripeCustomers}
      WHERE stripe_customer_id > ${after ?? ''} GROUP BY stripe_customer_id, organization_id)
    GROUP BY stripe_customer_id HAVING COUNT(*) > 1 ORDER BY stripe_customer_id LIMIT ${limit + 1}`);
  return rows.map(({ stripeCustomerId, organizations }) => ({
    stripeCustomerId,
    organizations: JSON.parse(organizations) as { organizationId: OrganizationId; customers: number }[],
  }));
}

/** At most `limit` customers of the organization that have the id. */
export async function customersAtStripe(
  env: Env,
  organizationId: OrganizationId,
  stripeCustomerId: string,
  limit: number,
): Promise<CustomerId[]> {
  const rows = await configDatabase(env)
    .select({ customerId: stripeCustomers.customerId })
    .from(stripeCustomers)
    .where(ofOrganization(organizationId, stripeCustomerId))
    .limit(limit);
  return rows.map(({ customerId }) => customerId);
}

/** Removes the id from these customers. */
export function releaseStripeCustomer(
  env: Env,
  organizationId: OrganizationId,
  stripeCustomerId: string,
  customerIds: readonly CustomerId[],
): Statement {
  return configDatabase(env)
    .delete(stripeCustomers)
    .where(
      and(
        ofOrganization(organizationId, stripeCustomerId),
        sql`${stripeCustomers.customerId} IN (SELECT value FROM json_each(${JSON.stringify(customerIds)}))`,
      ),
    );
}
