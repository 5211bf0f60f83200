/**
 * Plan versions in D1, as metering reads them.
 */
import { and, asc, desc, eq, gt, sql } from 'drizzle-orm';
import type { PlanVersion } from '../domain/plan.ts';
import type { Env } from '../env.ts';
import { database } from './database.ts';
import { planVersions } from './schema.ts';

type Row = typeof planVersions.$inferSelect;

export async function findNewestPlan(env: Env, organizationId: string, planId: string): Promise<PlanVersion | null> {
  const [row] = await database(env.DB)
    .select()
    .from(planVersions)
    .where(and(eq(planVersions.organizationId, organizationId), eq(planVersions.planId, planId)))
    .orderBy(desc(planVersions.version))
    .limit(1);
  return row ? toPlanVersion(row) : null;
}

export async function findPlanVersion(
  env: Env,
  organizationId: string,
  usagePlanVersionId: string,
): Promise<PlanVersion | null> {
  const [row] = await database(env.DB)
    .select()
    .from(planVersions)
    .where(
      and(eq(planVersions.organizationId, organizationId), eq(planVersions.usagePlanVersionId, usagePlanVersionId)),
    );
  return row ? toPlanVersion(row) : null;
}

/** Plans in their newest version, by id; one more than asked for tells whether there are more. */
export async function listNewestPlans(
  env: Env,
  organizationId: string,
  after: string | null,
  limit: number,
): Promise<PlanVersion[]> {
  const newest = sql`(SELECT MAX(newest.version) FROM plan_versions newest
    WHERE newest.organization_id = ${planVersions.organizationId} AND newest.plan_id = ${planVersions.planId})`;
  const rows = await database(env.DB)
    .select()
    .from(planVersions)
    .where(
      and(
        eq(planVersions.organizationId, organizationId),
        eq(planVersions.version, newest),
        after === null ? undefined : gt(planVersions.planId, after),
      ),
    )
    .orderBy(asc(planVersions.planId))
    .limit(limit + 1);
  return rows.map(toPlanVersion);
}

function toPlanVersion({ planId, usagePlanVersionId, version, content }: Row): PlanVersion {
  return { planId, usagePlanVersionId, version, plan: content };
}
