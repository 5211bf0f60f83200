/**
 * Plans: a list of immutable versions. The same content again keeps the version; other content makes the next one.
 */
import { and, asc, desc, eq, gt, inArray, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { MigratePlanRequest, PlanMigration } from '../contract/operator-customers.ts';
import type { Plan, PlanDetail, PlanVersion } from '../contract/plans.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Env } from '../env.ts';
import { ask } from '../objects/addresses.ts';
import { sha256Hex } from '../platform/hash.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { database } from '../storage/database.ts';
import { findNewestPlan } from '../storage/plans.ts';
import { planVersions } from '../storage/schema.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

type Detail = z.infer<typeof PlanDetail>;
type Version = z.infer<typeof PlanVersion>;

/** Versions that one plan's detail shows, newest first. */
const VERSIONS_SHOWN_MAX = 100;

export function putPlan(
  request: OperatorRequest,
  organizationId: string,
  planId: string,
  plan: Plan,
): Promise<Answer<Version>> {
  return commitChange(request, async (nowMs) => {
    const code = 'PLAN_SAVED';
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const [newest] = await versionsOf(request.env, organizationId, [planId], 1);
    if (newest && canonicalJson(newest.content) === canonicalJson(plan))
      return accept(code, presentVersion(newest), nowMs);
    const version = (newest?.version ?? 0) + 1;
    const row = {
      organizationId,
      planId,
      version,
      usagePlanVersionId: `${planId}:v${version}`,
      content: plan,
      createdAtMs: nowMs,
    };
    return {
      action: 'plan.put',
      organizationId,
      subject: planId,
      before: newest ? { version: newest.version, plan: newest.content } : null,
      after: { version, plan },
      statements: [database(request.env.DB).insert(planVersions).values(row)],
      replaces: newest !== undefined,
      code,
      data: presentVersion(row),
    };
  });
}

export async function listPlans(env: Env, organizationId: string, page: PageRequest): Promise<Answer<Page<Detail>>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  const ids = await database(env.DB)
    .selectDistinct({ planId: planVersions.planId })
    .from(planVersions)
    .where(
      and(
        eq(planVersions.organizationId, organizationId),
        page.after === null ? undefined : gt(planVersions.planId, page.after),
      ),
    )
    .orderBy(asc(planVersions.planId))
    .limit(page.limit + 1);
  const rows = await versionsOf(
    env,
    organizationId,
    ids.map(({ planId }) => planId),
    VERSIONS_SHOWN_MAX,
  );
  const details = ids.map(({ planId }) => presentDetail(rows.filter((row) => row.planId === planId)));
  return accept(
    'PLANS_LISTED',
    pageOf(details, page.limit, (item) => item.planId),
    Date.now(),
  );
}

export async function readPlan(env: Env, organizationId: string, planId: string): Promise<Answer<Detail>> {
  const rows = await versionsOf(env, organizationId, [planId], VERSIONS_SHOWN_MAX);
  return rows.length > 0
    ? accept('PLAN_READ', presentDetail(rows), Date.now())
    : refuse('PLAN_NOT_FOUND', 'no such plan');
}

/**
 * Starts a job that moves every subscription of the plan to its newest version. The job's id comes from the idempotency
 * key, so that a request that broke half-way finds its job again.
 */
export function migratePlan(
  request: OperatorRequest,
  organizationId: string,
  planId: string,
  { when }: MigratePlanRequest,
): Promise<Answer<{ jobId: string }>> {
  return commitChange(request, async () => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const target = await findNewestPlan(request.env, organizationId, planId);
    if (!target) return refuse('PLAN_NOT_FOUND', 'no such plan');
    const { idempotencyKey } = request;
    const jobId =
      idempotencyKey === null
        ? crypto.randomUUID()
        : (await sha256Hex(canonicalJson({ organizationId, planId, idempotencyKey }))).slice(0, 32);
    await ask(
      () => jobOf(request.env, jobId),
      (job) => job.start({ jobId, organizationId, target, when }),
    );
    return {
      action: 'plan.migrate',
      organizationId,
      subject: planId,
      before: null,
      after: { jobId, when, usagePlanVersionId: target.usagePlanVersionId },
      statements: [],
      replaces: false,
      code: 'MIGRATION_STARTED',
      data: { jobId },
    };
  });
}

export async function readMigration(env: Env, organizationId: string, jobId: string): Promise<Answer<PlanMigration>> {
  const progress = await ask(
    () => jobOf(env, jobId),
    (job) => job.read(organizationId),
  );
  return progress ? accept('MIGRATION_READ', progress, Date.now()) : refuse('NOT_FOUND', 'no such migration');
}

function jobOf(env: Env, jobId: string) {
  return env.PLAN_MIGRATIONS.getByName(jobId);
}

type Row = typeof planVersions.$inferSelect;

/** The newest versions of each plan, newest first. */
async function versionsOf(env: Env, organizationId: string, planIds: string[], versionsMax: number): Promise<Row[]> {
  if (planIds.length === 0) return [];
  const newest = sql`(SELECT MAX(newest.version) FROM plan_versions newest
    WHERE newest.organization_id = ${planVersions.organizationId} AND newest.plan_id = ${planVersions.planId})`;
  return database(env.DB)
    .select()
    .from(planVersions)
    .where(
      and(
        eq(planVersions.organizationId, organizationId),
        inArray(planVersions.planId, planIds),
        gt(planVersions.version, sql`${newest} - ${versionsMax}`),
      ),
    )
    .orderBy(asc(planVersions.planId), desc(planVersions.version));
}

function presentVersion({ planId, usagePlanVersionId, version }: Row): Version {
  return { planId, usagePlanVersionId, version };
}

function presentDetail(rows: Row[]): Detail {
  const [newest] = rows;
  if (!newest) throw new Error('a plan has at least one version');
  return {
    ...presentVersion(newest),
    plan: newest.content,
    versions: rows.map(({ usagePlanVersionId, version, content, createdAtMs }) => ({
      usagePlanVersionId,
      version,
      plan: content,
      createdAt: new Date(createdAtMs).toISOString(),
    })),
  };
}
