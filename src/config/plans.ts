/**
 * Plan versions in D1.
 */

import { and, asc, desc, eq, gt, inArray, lt, notExists, type SQL, sql } from 'drizzle-orm';
import type { OrganizationId } from '../domain/ids.ts';
import { ANSWERS_MAX_DEFAULT, hasCapability, type PlanVersion } from '../domain/plan.ts';
import type { Env } from '../env.ts';
import { configDatabase, type Statement } from './database.ts';
import { archivedPlans, organizations, planVersions } from './schema/index.ts';

export type PlanVersionRow = typeof planVersions.$inferSelect;

/** The number of the newest version of a row's plan. */
const NEWEST = sql`(SELECT MAX(newest.version) FROM plan_versions newest
  WHERE newest.organization_id = ${planVersions.organizationId} AND newest.plan_id = ${planVersions.planId})`;

export async function findNewestPlan(
  env: Env,
  organizationId: OrganizationId,
  planId: string,
): Promise<PlanVersion | null> {
  const [row] = await configDatabase(env)
    .select()
    .from(planVersions)
    .where(and(eq(planVersions.organizationId, organizationId), eq(planVersions.planId, planId)))
    .orderBy(desc(planVersions.version))
    .limit(1);
  return row ? toPlanVersion(row) : null;
}

/** The newest version of a plan, and whether it is archived; `null` if the plan does not exist. */
export async function findPlan(
  env: Env,
  organizationId: OrganizationId,
  planId: string,
): Promise<{ newest: PlanVersion; isArchived: boolean } | null> {
  const [newest, archived] = await Promise.all([
    findNewestPlan(env, organizationId, planId),
    findArchivedPlans(env, organizationId, [planId]),
  ]);
  return newest && { newest, isArchived: archived.has(planId) };
}

/** The ids of a plan's versions before one of them. */
export async function findOlderVersions(
  env: Env,
  organizationId: OrganizationId,
  planId: string,
  version: number,
): Promise<string[]> {
  const rows = await configDatabase(env)
    .select({ id: planVersions.usagePlanVersionId })
    .from(planVersions)
    .where(
      and(
        eq(planVersions.organizationId, organizationId),
        eq(planVersions.planId, planId),
        lt(planVersions.version, version),
      ),
    );
  return rows.map(({ id }) => id);
}

/**
 * Plans that take new subscriptions, in their newest version, by id; one more than requested shows whether more exist.
 */
export async function listNewestPlans(
  env: Env,
  organizationId: OrganizationId,
  after: string | null,
  limit: number,
): Promise<PlanVersion[]> {
  const rows = await configDatabase(env)
    .select()
    .from(planVersions)
    .where(
      and(
        eq(planVersions.organizationId, organizationId),
        eq(planVersions.version, NEWEST),
        notExists(
          configDatabase(env)
            .select({ one: sql`1` })
            .from(archivedPlans)
            .where(
              and(
                eq(archivedPlans.organizationId, planVersions.organizationId),
                eq(archivedPlans.planId, planVersions.planId),
              ),
            ),
        ),
        after === null ? undefined : gt(planVersions.planId, after),
      ),
    )
    .orderBy(asc(planVersions.planId))
    .limit(limit + 1);
  return rows.map(toPlanVersion);
}

/** Ids of plans; one more than requested shows whether more exist. */
export async function findPlanIds(
  env: Env,
  organizationId: OrganizationId,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const rows = await configDatabase(env)
    .selectDistinct({ planId: planVersions.planId })
    .from(planVersions)
    .where(
      and(eq(planVersions.organizationId, organizationId), after === null ? undefined : gt(planVersions.planId, after)),
    )
    .orderBy(asc(planVersions.planId))
    .limit(limit + 1);
  return rows.map(({ planId }) => planId);
}

/** The newest versions of each plan, newest first. */
export async function findPlanVersions(
  env: Env,
  organizationId: OrganizationId,
  planIds: string[],
  versionsMax: number,
): Promise<PlanVersionRow[]> {
  if (planIds.length === 0) return [];
  const rows = await configDatabase(env)
    .select()
    .from(planVersions)
    .where(
      and(
        eq(planVersions.organizationId, organizationId),
        inArray(planVersions.planId, planIds),
        gt(planVersions.version, sql`${NEWEST} - ${versionsMax}`),
      ),
    )
    .orderBy(asc(planVersions.planId), desc(planVersions.version));
  // Older versions get a new field's default: the same content with that default is not another version.
  return rows.map(({ content, ...row }) => ({
    ...row,
    content: {
      ...content,
      maxOutputTokens: content.maxOutputTokens ?? null,
      maxAnswers: content.maxAnswers ?? ANSWERS_MAX_DEFAULT,
      features: { ...content.features, tools: hasCapability(content, 'tools') },
    },
  }));
}

/** The time at which each archived plan among these was archived. */
export async function findArchivedPlans(
  env: Env,
  organizationId: OrganizationId,
  planIds: string[],
): Promise<ReadonlyMap<string, number>> {
  if (planIds.length === 0) return new Map();
  const rows = await configDatabase(env)
    .select()
    .from(archivedPlans)
    .where(and(eq(archivedPlans.organizationId, organizationId), inArray(archivedPlans.planId, planIds)));
  return new Map(rows.map(({ planId, archivedAtMs }) => [planId, archivedAtMs]));
}

/** Archives a plan. The commit fails if it has become the default plan meanwhile. */
export function insertArchivedPlan(env: Env, row: typeof archivedPlans.$inferSelect): Statement[] {
  const { organizationId, planId } = row;
  const isDefault = sql`SELECT 1 FROM ${organizations} WHERE organization_id = ${organizationId} AND default_plan_id = ${planId}`;
  return [failIf(env, organizationId, isDefault), configDatabase(env).insert(archivedPlans).values(row)];
}

/** Makes a commit fail if the plan that is to be the default has been archived meanwhile. */
export function failIfArchived(env: Env, organizationId: OrganizationId, planId: string): Statement {
  const found = sql`SELECT 1 FROM ${archivedPlans} WHERE organization_id = ${organizationId} AND plan_id = ${planId}`;
  return failIf(env, organizationId, found);
}

/** Fails in the form that `isTaken` recognizes. The row stays unchanged. */
function failIf(env: Env, organizationId: OrganizationId, found: SQL): Statement {
  return configDatabase(env)
    .update(organizations)
    .set({ name: sql`CASE WHEN EXISTS (${found}) THEN json('changed') ELSE ${organizations.name} END` })
    .where(eq(organizations.organizationId, organizationId));
}

export function deleteArchivedPlan(env: Env, organizationId: OrganizationId, planId: string): Statement {
  return configDatabase(env)
    .delete(archivedPlans)
    .where(and(eq(archivedPlans.organizationId, organizationId), eq(archivedPlans.planId, planId)));
}

export function insertPlanVersion(env: Env, row: PlanVersionRow): Statement {
  return configDatabase(env).insert(planVersions).values(row);
}

function toPlanVersion({ planId, usagePlanVersionId, version, content }: PlanVersionRow): PlanVersion {
  return { planId, usagePlanVersionId, version, plan: content };
}
