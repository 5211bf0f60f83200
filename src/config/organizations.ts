/**
 * Organizations in D1: one row each, with the settings of the organization as a whole.
 */

import { asc, eq, gt, sql } from 'drizzle-orm';
import { asOrganizationId, type OrganizationId } from '../domain/ids.ts';
import type { ModelMappings } from '../domain/model-mappings.ts';
import type { Env } from '../env.ts';
import { configDatabase, type Statement } from './database.ts';
import { organizations } from './schema/index.ts';

export type OrganizationRow = typeof organizations.$inferSelect;
type NewOrganization = typeof organizations.$inferInsert;

export async function findOrganizationRow(env: Env, organizationId: OrganizationId): Promise<OrganizationRow | null> {
  const [row] = await configDatabase(env)
    .select()
    .from(organizations)
    .where(eq(organizations.organizationId, organizationId));
  return row ?? null;
}

/** Organizations by id; one more than requested shows whether more exist. */
export function findOrganizations(env: Env, after: string | null, limit: number): Promise<OrganizationRow[]> {
  return configDatabase(env)
    .select()
    .from(organizations)
    .where(after === null ? undefined : gt(organizations.organizationId, asOrganizationId(after)))
    .orderBy(asc(organizations.organizationId))
    .limit(limit + 1);
}

export type OrganizationName = Pick<OrganizationRow, 'organizationId' | 'name'>;

/** The same, with only their names. */
export function findOrganizationNames(env: Env, limit: number): Promise<OrganizationName[]> {
  return configDatabase(env)
    .select({ organizationId: organizations.organizationId, name: organizations.name })
    .from(organizations)
    .orderBy(asc(organizations.organizationId))
    .limit(limit + 1);
}

export function insertOrganization(env: Env, row: NewOrganization): Statement {
  return configDatabase(env).insert(organizations).values(row);
}

export function updateOrganizationRow(
  env: Env,
  organizationId: OrganizationId,
  change: Partial<NewOrganization>,
): Statement {
  return configDatabase(env).update(organizations).set(change).where(eq(organizations.organizationId, organizationId));
}

/**
 * Replaces the mappings that were read. If they have changed meanwhile, the statement and its transaction fail with an
 * error that `isTaken` recognizes: only JSON functions can make a statement fail, on invalid JSON.
 */
export function replaceMappings(
  env: Env,
  organizationId: OrganizationId,
  before: ModelMappings,
  after: ModelMappings,
): Statement {
  const models = sql`CASE models WHEN ${JSON.stringify(before)} THEN ${JSON.stringify(after)} ELSE json('changed') END`;
  return configDatabase(env)
    .update(organizations)
    .set({ models })
    .where(eq(organizations.organizationId, organizationId));
}
