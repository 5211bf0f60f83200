/**
 * Subscriptions that a plan migration moves, as D1 knows them: those on an older version of the plan than its target,
 * or with a pending change to one. `src/domain/account.ts` decides which of them really move.
 */

import { database } from '../config/database.ts';
import { findOlderVersions } from '../config/plans.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';

export interface OlderThan {
  organizationId: OrganizationId;
  target: { planId: string; version: number };
  when: string;
}

const OLDER = 'SELECT value FROM json_each(?2)';
const IS_OLDER = `organization_id = ?1 AND (pending_usage_plan_version_id IN (${OLDER})
  OR (usage_plan_version_id IN (${OLDER}) AND (?3 = 'NOW' OR pending_usage_plan_version_id IS NULL)))`;

export async function countOlderSubscriptions(env: Env, of: OlderThan): Promise<number> {
  const row = await (await database(env, of.organizationId)).$client
    .prepare(`SELECT COUNT(*) AS total FROM customers WHERE ${IS_OLDER}`)
    .bind(...(await versionValues(env, of)))
    .first<{ total: number }>();
  return row?.total ?? 0;
}

/** Their customers by id, after one of them. */
export async function findOlderSubscriptions(
  env: Env,
  of: OlderThan,
  after: string | null,
  limit: number,
): Promise<CustomerId[]> {
  const { results } = await (await database(env, of.organizationId)).$client
    .prepare(`SELECT customer_id FROM customers WHERE ${IS_OLDER} AND customer_id > ?4 ORDER BY customer_id LIMIT ?5`)
    .bind(...(await versionValues(env, of)), after ?? '', limit)
    .all<{ customer_id: CustomerId }>();
  return results.map((row) => row.customer_id);
}

/** The versions of plans are in the configuration's database. */
async function versionValues(env: Env, { organizationId, target, when }: OlderThan): Promise<unknown[]> {
  const older = await findOlderVersions(env, organizationId, target.planId, target.version);
  return [organizationId, JSON.stringify(older), when];
}
