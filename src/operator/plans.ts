/**
 * Plans: each is a list of immutable versions. Saving the content of the newest version changes nothing; other content
 * becomes the next version.
 */

import {
  deleteArchivedPlan,
  findArchivedPlans,
  findNewestPlan,
  findPlanIds,
  findPlanVersions,
  insertArchivedPlan,
  insertPlanVersion,
  type PlanVersionRow,
} from '../config/plans.ts';
import { type Complete, complete } from '../contract/complete.ts';
import { refuse } from '../contract/errors.ts';
import { warnedOfPlan } from '../contract/funding-warnings.ts';
import { type DataOf, operations } from '../contract/operations.ts';
import type { MigratePlanRequest } from '../contract/operator-customers.ts';
import type { Plan } from '../contract/plans.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { planVersionIdOf } from '../domain/plan.ts';
import type { Env } from '../env.ts';
import { countOlderSubscriptions } from '../history/plan-migration.ts';
import { ask } from '../objects/addresses.ts';
import { sha256Hex } from '../platform/hash.ts';
import { makePage, type Page, type PageRequest } from '../platform/page.ts';
import { type ChangeRequest, change, type Decided, list, read } from './operation.ts';

export type PlanDetail = DataOf<typeof operations.readPlan>;

/** Versions that one plan's detail shows, newest first. */
const VERSIONS_SHOWN_MAX = 100;

const noPlan = () => refuse('PLAN_NOT_FOUND', 'no such plan');

export const putPlan = change(operations.putPlan, {
  action: 'plan.put',
  subject: ({ params }) => params.planId,
  decide: async ({ env, params: { org, planId }, body: { priceUsd, ...rest }, nowMs }) => {
    // A price of null is no price, and the same content as a plan without one.
    const plan: Plan = priceUsd == null ? rest : { ...rest, priceUsd };
    const [newest] = await findPlanVersions(env, org, [planId], 1);
    if (newest && canonicalJson(newest.content) === canonicalJson(plan))
      return { unchanged: { ...presentVersion(newest), ...warnedOfPlan(plan) } };
    const version = (newest?.version ?? 0) + 1;
    const row = {
      organizationId: org,
      planId,
      version,
      usagePlanVersionId: planVersionIdOf(planId, version),
      content: plan,
      createdAtMs: nowMs,
    };
    return {
      before: newest ? { version: newest.version, plan: newest.content } : null,
      after: { version, plan },
      statements: [insertPlanVersion(env, row)],
      replaces: newest !== undefined,
      data: { ...presentVersion(row), ...warnedOfPlan(plan) },
    };
  },
});

/** A page of an organization's plans, for the list and the search. */
export async function listPlanPage(
  env: Env,
  organizationId: OrganizationId,
  { after, limit }: PageRequest,
): Promise<Page<Complete<PlanDetail>>> {
  const ids = await findPlanIds(env, organizationId, after, limit);
  const rows = await findPlanVersions(env, organizationId, ids, VERSIONS_SHOWN_MAX);
  const archived = await findArchivedPlans(env, organizationId, ids);
  const details = ids.map((planId) =>
    presentDetail(
      rows.filter((row) => row.planId === planId),
      archived.get(planId),
    ),
  );
  return makePage(details, limit, ({ planId }) => planId);
}

export const listPlans = list(operations.listPlans, ({ env, params, page }) => listPlanPage(env, params.org, page));

async function findDetail(
  env: Env,
  organizationId: OrganizationId,
  planId: string,
): Promise<Complete<PlanDetail> | null> {
  const [rows, archived] = await Promise.all([
    findPlanVersions(env, organizationId, [planId], VERSIONS_SHOWN_MAX),
    findArchivedPlans(env, organizationId, [planId]),
  ]);
  return rows.length > 0 ? presentDetail(rows, archived.get(planId)) : null;
}

export const readPlan = read(
  operations.readPlan,
  async ({ env, params: { org, planId } }) => (await findDetail(env, org, planId)) ?? noPlan(),
);

export const archivePlan = change(operations.archivePlan, {
  action: 'plan.archive',
  subject: ({ params }) => params.planId,
  decide: (request) =>
    request.organization.defaultPlanId === request.params.planId
      ? refuse('CONFLICT', 'the plan is the default plan: choose another default plan before you archive it')
      : setArchived(request, true),
});

export const restorePlan = change(operations.restorePlan, {
  action: 'plan.restore',
  subject: ({ params }) => params.planId,
  decide: (request) => setArchived(request, false),
});

/**
 * Archives a plan, or restores it. Subscriptions, scheduled changes and migrations to a newer version go on. Isolates
 * keep only the default plan in memory, which cannot be archived. A plan that already is as requested is answered
 * unchanged.
 */
async function setArchived(
  { env, params: { org, planId }, nowMs }: ChangeRequest<Archiving>,
  archive: boolean,
): Promise<Decided<typeof operations.restorePlan>> {
  const detail = await findDetail(env, org, planId);
  if (!detail) return noPlan();
  if ((detail.archivedAt !== null) === archive) return { unchanged: detail };
  const archivedAt = archive ? new Date(nowMs).toISOString() : null;
  return {
    before: { archivedAt: detail.archivedAt },
    after: { archivedAt },
    statements: archive
      ? insertArchivedPlan(env, { organizationId: org, planId, archivedAtMs: nowMs })
      : [deleteArchivedPlan(env, org, planId)],
    data: { ...detail, archivedAt },
  };
}

type Archiving = typeof operations.archivePlan | typeof operations.restorePlan;

const JOB_ID_LENGTH = 32;

/**
 * Starts a job that moves every subscription of the plan to its newest version. The job's id comes from the idempotency
 * key, so that a repeated request finds the same job.
 */
export const migratePlan = change(operations.migratePlan, {
  action: 'plan.migrate',
  subject: ({ params }) => params.planId,
  decide: async ({ env, params: { org: organizationId, planId }, body: { when }, onceKey }) => {
    const target = await findNewestPlan(env, organizationId, planId);
    if (!target) return noPlan();
    const job = { organizationId, planId, idempotencyKey: onceKey };
    const jobId = (await sha256Hex(canonicalJson(job))).slice(0, JOB_ID_LENGTH);
    await ask(
      () => planMigrationJob(env, jobId),
      (migration) => migration.start({ jobId, organizationId, target, when }),
    );
    const after = { jobId, when, usagePlanVersionId: target.usagePlanVersionId };
    return { before: null, after, data: { jobId } };
  },
});

/** The number of customers that a migration to the plan's newest version would look at now. */
export function countMigration(
  env: Env,
  organizationId: OrganizationId,
  target: Pick<PlanDetail, 'planId' | 'version'>,
  when: MigratePlanRequest['when'],
): Promise<number> {
  return countOlderSubscriptions(env, { organizationId, target, when });
}

export const readMigration = read(operations.readMigration, async ({ env, params: { org, jobId } }) => {
  const progress = await ask(
    () => planMigrationJob(env, jobId),
    (job) => job.read(org),
  );
  return progress ?? refuse('NOT_FOUND', 'no such migration');
});

function planMigrationJob(env: Env, jobId: string) {
  return env.PLAN_MIGRATIONS.getByName(jobId);
}

function presentVersion({ planId, usagePlanVersionId, version }: PlanVersionRow) {
  return { planId, usagePlanVersionId, version };
}

function presentDetail(rows: PlanVersionRow[], archivedAtMs: number | undefined): Complete<PlanDetail> {
  const [newest] = rows;
  if (!newest) throw new Error('a plan has at least one version');
  return {
    ...presentVersion(newest),
    archivedAt: archivedAtMs === undefined ? null : new Date(archivedAtMs).toISOString(),
    plan: complete(newest.content),
    versions: rows.map(({ usagePlanVersionId, version, content, createdAtMs }) => ({
      usagePlanVersionId,
      version,
      plan: complete(content),
      createdAt: new Date(createdAtMs).toISOString(),
    })),
  };
}
