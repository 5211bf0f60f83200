/**
 * Subscriptions that a plan migration moves, as D1 knows them: those on an older version of the plan than its target,
 * or that are to change to one. `src/domain/account.ts` decides which of them really move.
 */
import type { Env } from '../env.ts';
import { database } from './database.ts';

export interface OlderThan {
  organizationId: string;
  target: { planId: string; version: number };
  when: string;
}

const OLDER =
  'SELECT usage_plan_version_id FROM plan_versions WHERE organization_id = ?1 AND plan_id = ?2 AND version < ?3';
const IS_OLDER = `organization_id = ?1 AND (pending_usage_plan_version_id IN (${OLDER})
  OR (usage_plan_version_id IN (${OLDER}) AND (?4 = 'NOW' OR pending_usage_plan_version_id IS NULL)))`;

export async function countOlderSubscriptions(env: Env, of: OlderThan): Promise<number> {
  const row = await database(env, of.organizationId)
    .$client.prepare(`SELECT COUNT(*) AS total FROM customers WHERE ${IS_OLDER}`)
    .bind(...valuesOf(of))
    .first<{ total: number }>();
  return row?.total ?? 0;
}

/** Their customers by id, after one of them. */
export async function findOlderSubscriptions(
  env: Env,
  of: OlderThan,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const { results } = await database(env, of.organizationId)
    .$client.prepare(
      `SELECT customer_id FROM customers WHERE ${IS_OLDER} AND customer_id > ?5 ORDER BY customer_id LIMIT ?6`,
    )
    .bind(...valuesOf(of), after ?? '', limit)
    .all<{ customer_id: string }>();
  return results.map((row) => row.customer_id);
}

function valuesOf({ organizationId, target, when }: OlderThan): unknown[] {
  return [organizationId, target.planId, target.version, when];
}
