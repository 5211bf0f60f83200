/**
 * Operator: plans, their versions, and migrations to a new version.
 */
import { ListQuery, pageSchema, text } from '../fields.ts';
import { MigratePlanRequest, PlanMigration, StartedMigration } from '../operator-customers.ts';
import { PlanDetail, PutPlanRequest, planId, SavedPlan } from '../plans.ts';
import { editor, type Operation, operation, organizationParam, viewer } from './operation.ts';

const planParam = organizationParam.extend({ planId });

export const plans = {
  putPlan: operation({
    operationId: 'putPlan',
    summary: 'Create a plan, or a new version of it; the same content keeps the version',
    method: 'PUT',
    path: '/operator/organizations/{org}/plans/{planId}',
    security: editor,
    params: planParam,
    body: PutPlanRequest,
    code: 'PLAN_SAVED',
    data: SavedPlan,
  }),
  listPlans: operation({
    operationId: 'listPlans',
    summary: 'List the plans of an organization with their versions',
    method: 'GET',
    path: '/operator/organizations/{org}/plans',
    security: viewer,
    params: organizationParam,
    query: ListQuery,
    code: 'PLANS_LISTED',
    data: pageSchema(PlanDetail),
  }),
  readPlan: operation({
    operationId: 'readPlan',
    summary: 'Read a plan with its versions',
    method: 'GET',
    path: '/operator/organizations/{org}/plans/{planId}',
    security: viewer,
    params: planParam,
    code: 'PLAN_READ',
    data: PlanDetail,
    refusals: ['PLAN_NOT_FOUND'],
  }),
  archivePlan: operation({
    operationId: 'archivePlan',
    summary: 'Archive a plan: it takes no new subscriptions, and its customers keep it',
    method: 'POST',
    path: '/operator/organizations/{org}/plans/{planId}/archive',
    security: editor,
    params: planParam,
    code: 'PLAN_ARCHIVED',
    data: PlanDetail,
    refusals: ['PLAN_NOT_FOUND', 'CONFLICT'],
  }),
  restorePlan: operation({
    operationId: 'restorePlan',
    summary: 'Restore an archived plan: it takes new subscriptions again',
    method: 'POST',
    path: '/operator/organizations/{org}/plans/{planId}/restore',
    security: editor,
    params: planParam,
    code: 'PLAN_RESTORED',
    data: PlanDetail,
    refusals: ['PLAN_NOT_FOUND'],
  }),
  migratePlan: operation({
    operationId: 'migratePlan',
    summary: 'Move every subscription of a plan to its newest version, in the background',
    method: 'POST',
    path: '/operator/organizations/{org}/plans/{planId}/migrate',
    security: editor,
    params: planParam,
    body: MigratePlanRequest,
    code: 'MIGRATION_STARTED',
    data: StartedMigration,
    refusals: ['PLAN_NOT_FOUND'],
  }),
  readMigration: operation({
    operationId: 'readMigration',
    summary: 'Read the progress of a migration',
    method: 'GET',
    path: '/operator/organizations/{org}/migrations/{jobId}',
    security: viewer,
    params: organizationParam.extend({ jobId: text(64).describe('The job') }),
    code: 'MIGRATION_READ',
    data: PlanMigration,
  }),
} as const satisfies Record<string, Operation>;
