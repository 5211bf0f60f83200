/**
 * Organizations: create, read, change.
 */
import type { z } from 'zod';
import { type Answer, accept, planIsArchived, refuse } from '../contract/errors.ts';
import {
  type CreateOrganizationRequest,
  type Organization,
  RETENTION_DEFAULTS,
  type Retention,
  SAMPLE_BYTES_MAX_DEFAULT,
  type UpdateOrganizationRequest,
} from '../contract/operator.ts';
import { THRESHOLDS_PERCENT_DEFAULT, thresholdsOf } from '../domain/alerts.ts';
import type { Env } from '../env.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { retentionOf } from '../storage/kept-part.ts';
import {
  findOrganizationRow,
  findOrganizations,
  insertOrganization,
  type OrganizationRow,
  updateOrganizationRow,
} from '../storage/organizations.ts';
import { failIfArchived, findPlan } from '../storage/plans.ts';
import { roomiestDatabase } from '../storage/sizes.ts';
import { commitChange, type OperatorRequest } from './change.ts';

const RETENTIONS = Object.keys(RETENTION_DEFAULTS) as (keyof Retention)[];

export const noOrganization = () => refuse('NOT_FOUND', 'no such organization');

export function createOrganization(
  request: OperatorRequest,
  body: z.infer<typeof CreateOrganizationRequest>,
): Promise<Answer<Organization>> {
  return commitChange(request, async (nowMs) => {
    const code = 'ORGANIZATION_CREATED';
    const existing =
      body.organizationId === undefined ? null : await findOrganization(request.env, body.organizationId);
    if (existing?.name === body.name) return accept(code, existing, nowMs);
    if (existing) return refuse('CONFLICT', 'organizationId: an organization with this id and another name exists');
    const row = {
      organizationId: body.organizationId ?? crypto.randomUUID(),
      name: body.name,
      database: await roomiestDatabase(request.env),
      defaultPlanId: null,
      models: null,
      sampling: null,
      compressionProfile: null,
      sampleBytesMax: SAMPLE_BYTES_MAX_DEFAULT,
      allowUnpricedModels: false,
      creditOpen: [],
      upgradeUrl: null,
      retention: null,
      alerts: null,
      createdAtMs: nowMs,
    };
    const data = present(row);
    return {
      action: 'organization.create',
      organizationId: row.organizationId,
      subject: row.organizationId,
      before: null,
      after: data,
      statements: [insertOrganization(request.env, row)],
      replaces: false,
      code,
      data,
    };
  });
}

export async function listOrganizations(env: Env, page: PageRequest): Promise<Answer<Page<Organization>>> {
  const rows = await findOrganizations(env, page.after, page.limit);
  return accept(
    'ORGANIZATIONS_LISTED',
    pageOf(rows.map(present), page.limit, (item) => item.organizationId),
    Date.now(),
  );
}

export async function readOrganization(env: Env, organizationId: string): Promise<Answer<Organization>> {
  const organization = await findOrganization(env, organizationId);
  return organization ? accept('ORGANIZATION_READ', organization, Date.now()) : noOrganization();
}

export function updateOrganization(
  request: OperatorRequest,
  organizationId: string,
  body: z.infer<typeof UpdateOrganizationRequest>,
): Promise<Answer<Organization>> {
  return commitChange(request, async () => {
    const before = await findOrganization(request.env, organizationId);
    if (!before) return noOrganization();
    const { defaultPlanId } = body;
    if (defaultPlanId != null) {
      const found = await findPlan(request.env, organizationId, defaultPlanId);
      if (!found) return refuse('PLAN_NOT_FOUND', 'defaultPlanId: no such plan');
      if (found.isArchived) return planIsArchived('defaultPlanId');
    }
    const change = {
      ...(body.name !== undefined && { name: body.name }),
      ...(body.defaultPlanId !== undefined && { defaultPlanId: body.defaultPlanId }),
      ...(body.sampleBytesMax !== undefined && { sampleBytesMax: body.sampleBytesMax }),
      ...(body.allowUnpricedModels !== undefined && { allowUnpricedModels: body.allowUnpricedModels }),
      ...(body.creditOpen !== undefined && { creditOpen: body.creditOpen }),
      ...(body.upgradeUrl !== undefined && { upgradeUrl: body.upgradeUrl }),
    };
    const days = Object.fromEntries(
      RETENTIONS.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])),
    );
    const { alertThresholdsPercent, alertBalanceBelowUsd, alertBalanceBelowDays } = body;
    const told = {
      ...(alertThresholdsPercent !== undefined && {
        alertThresholdsPercent: alertThresholdsPercent ?? [...THRESHOLDS_PERCENT_DEFAULT],
      }),
      ...(alertBalanceBelowUsd !== undefined && { alertBalanceBelowUsd }),
      ...(alertBalanceBelowDays !== undefined && { alertBalanceBelowDays }),
    };
    const after = { ...before, ...change, ...told, ...days };
    const alerts = {
      thresholdsPercent: after.alertThresholdsPercent,
      balanceBelowUsd: after.alertBalanceBelowUsd,
      balanceBelowDays: after.alertBalanceBelowDays,
    };
    const retention = Object.fromEntries(RETENTIONS.map((name) => [name, after[name]])) as Retention;
    return {
      action: 'organization.update',
      organizationId,
      subject: organizationId,
      before,
      after,
      statements: [
        ...(defaultPlanId == null ? [] : [failIfArchived(request.env, organizationId, defaultPlanId)]),
        updateOrganizationRow(request.env, organizationId, {
          ...change,
          ...(Object.keys(told).length > 0 && { alerts }),
          ...(Object.keys(days).length > 0 && { retention }),
        }),
      ],
      replaces: true,
      code: 'ORGANIZATION_UPDATED',
      data: after,
    };
  });
}

export async function findOrganization(env: Env, organizationId: string): Promise<Organization | null> {
  const row = await findOrganizationRow(env, organizationId);
  return row ? present(row) : null;
}

function present(row: OrganizationRow): Organization {
  const { organizationId, name, defaultPlanId, allowUnpricedModels, creditOpen, models, sampleBytesMax } = row;
  const { upgradeUrl, retention, alerts, createdAtMs } = row;
  return {
    organizationId,
    name,
    defaultPlanId,
    allowUnpricedModels,
    creditOpen,
    models,
    upgradeUrl,
    sampleBytesMax,
    alertThresholdsPercent: [...thresholdsOf({}, alerts ?? {})],
    alertBalanceBelowUsd: alerts?.balanceBelowUsd ?? null,
    alertBalanceBelowDays: alerts?.balanceBelowDays ?? null,
    ...retentionOf(retention),
    createdAt: new Date(createdAtMs).toISOString(),
  };
}
