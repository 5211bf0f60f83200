/**
 * Plans: each is a list of immutable versions. Saving the content of the newest version changes nothing; other content
 * becomes the next version.
 */
import type { z } from 'zod';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import { warnedOfPlan } from '../contract/funding-warnings.ts';
import type { MigratePlanRequest, PlanMigration } from '../contract/operator-customers.ts';
import type { Plan, PlanDetail, PlanVersion, SavedPlan } from '../contract/plans.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { planVersionIdOf } from '../domain/plan.ts';
import type { Env } from '../env.ts';
import { ask } from '../objects/addresses.ts';
import { sha256Hex } from '../platform/hash.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { countOlderSubscriptions } from '../storage/plan-migration.ts';
import {
  deleteArchivedPlan,
  findArchivedPlans,
  findNewestPlan,
  findPlanIds,
  findPlanVersions,
  insertArchivedPlan,
  insertPlanVersion,
  type PlanVersionRow,
} from '../storage/plans.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

type Detail = z.infer<typeof PlanDetail>;
type Version = z.infer<typeof PlanVersion>;
type Saved = z.infer<typeof SavedPlan>;

/** Versions that one plan's detail shows, newest first. */
const VERSIONS_SHOWN_MAX = 100;

export function putPlan(
  request: OperatorRequest,
  organizationId: string,
  planId: string,
  { priceUsd, ...rest }: Plan,
): Promise<Answer<Saved>> {
  // A price of null is no price, and no other content than without one.
  const plan: Plan = priceUsd == null ? rest : { ...rest, priceUsd };
  return commitChange<Saved>(request, async (nowMs) => {
    const code = 'PLAN_SAVED';
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const [newest] = await findPlanVersions(request.env, organizationId, [planId], 1);
    if (newest && canonicalJson(newest.content) === canonicalJson(plan))
      return accept(code, { ...presentVersion(newest), ...warnedOfPlan(plan) }, nowMs);
    const version = (newest?.version ?? 0) + 1;
    const row = {
      organizationId,
      planId,
      version,
      usagePlanVersionId: planVersionIdOf(planId, version),
      content: plan,
      createdAtMs: nowMs,
    };
    return {
      action: 'plan.put',
      organizationId,
      subject: planId,
      before: newest ? { version: newest.version, plan: newest.content } : null,
      after: { version, plan },
      statements: [insertPlanVersion(request.env, row)],
      replaces: newest !== undefined,
      code,
      data: { ...presentVersion(row), ...warnedOfPlan(plan) },
    };
  });
}

export async function listPlans(env: Env, organizationId: string, page: PageRequest): Promise<Answer<Page<Detail>>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  const ids = await findPlanIds(env, organizationId, page.after, page.limit);
  const rows = await findPlanVersions(env, organizationId, ids, VERSIONS_SHOWN_MAX);
  const archived = await findArchivedPlans(env, organizationId, ids);
  const details = ids.map((planId) =>
    presentDetail(
      rows.filter((row) => row.planId === planId),
      archived.get(planId),
    ),
  );
  return accept(
    'PLANS_LISTED',
    pageOf(details, page.limit, (item) => item.planId),
    Date.now(),
  );
}

export async function readPlan(env: Env, organizationId: string, planId: string): Promise<Answer<Detail>> {
  const [rows, archived] = await Promise.all([
    findPlanVersions(env, organizationId, [planId], VERSIONS_SHOWN_MAX),
    findArchivedPlans(env, organizationId, [planId]),
  ]);
  return rows.length > 0
    ? accept('PLAN_READ', presentDetail(rows, archived.get(planId)), Date.now())
    : refuse('PLAN_NOT_FOUND', 'no such plan');
}

/**
 * Archives a plan, or takes it back. Subscriptions, scheduled changes and migrations to a newer version go on. Isolates
 * keep only the default plan in memory, which cannot be archived. A plan that is as requested is answered as it is.
 */
export function setArchived(
  request: OperatorRequest,
  organizationId: string,
  planId: string,
  archive: boolean,
): Promise<Answer<Detail>> {
  return commitChange<Detail>(request, async (nowMs) => {
    const { env } = request;
    const organization = await findOrganization(env, organizationId);
    if (!organization) return noOrganization();
    const read = await readPlan(env, organizationId, planId);
    if (!read.ok) return read;
    const code = archive ? 'PLAN_ARCHIVED' : 'PLAN_RESTORED';
    if ((read.data.archivedAt !== null) === archive) return accept(code, read.data, nowMs);
    if (archive && organization.defaultPlanId === planId) {
      return refuse('CONFLICT', 'the plan is the default plan: choose another default plan before you archive it');
    }
    const archivedAt = archive ? new Date(nowMs).toISOString() : null;
    return {
      action: archive ? 'plan.archive' : 'plan.restore',
      organizationId,
      subject: planId,
      before: { archivedAt: read.data.archivedAt },
      after: { archivedAt },
      statements: archive
        ? insertArchivedPlan(env, { organizationId, planId, archivedAtMs: nowMs })
        : [deleteArchivedPlan(env, organizationId, planId)],
      replaces: false,
      code,
      data: { ...read.data, archivedAt },
    };
  });
}

/**
 * Starts a job that moves every subscription of the plan to its newest version. The job's id comes from the idempotency
 * key, so that a repeated request finds its job again.
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

/** How many customers a migration to the plan's newest version would look at now. */
export function countMigration(
  env: Env,
  organizationId: string,
  target: Pick<Detail, 'planId' | 'version'>,
  when: MigratePlanRequest['when'],
): Promise<number> {
  return countOlderSubscriptions(env, { organizationId, target, when });
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

function presentVersion({ planId, usagePlanVersionId, version }: PlanVersionRow): Version {
  return { planId, usagePlanVersionId, version };
}

function presentDetail(rows: PlanVersionRow[], archivedAtMs: number | undefined): Detail {
  const [newest] = rows;
  if (!newest) throw new Error('a plan has at least one version');
  return {
    ...presentVersion(newest),
    archivedAt: archivedAtMs === undefined ? null : new Date(archivedAtMs).toISOString(),
    plan: newest.content,
    versions: rows.map(({ usagePlanVersionId, version, content, createdAtMs }) => ({
      usagePlanVersionId,
      version,
      plan: content,
      createdAt: new Date(createdAtMs).toISOString(),
    })),
  };
}
