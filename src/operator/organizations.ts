/**
 * Organizations: create, read, change.
 */

import { findOrganizations, insertOrganization, updateOrganizationRow } from '../config/organizations.ts';
import { failIfArchived, findPlan } from '../config/plans.ts';
import { type Complete, complete } from '../contract/complete.ts';
import { planIsArchived, refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import {
  type Organization,
  RETENTION_DEFAULTS,
  type Retention,
  SAMPLE_BYTES_MAX_DEFAULT,
} from '../contract/operator.ts';
import { THRESHOLDS_PERCENT_DEFAULT } from '../domain/alerts.ts';
import { asOrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { roomiestDatabase } from '../history/sizes.ts';
import { makePage, type Page, type PageRequest } from '../platform/page.ts';
import { change, list, read } from './operation.ts';
import { findOrganization, presentOrganization } from './organization.ts';

const RETENTIONS = Object.keys(RETENTION_DEFAULTS) as (keyof Retention)[];

export const createOrganization = change(operations.createOrganization, {
  action: 'organization.create',
  subject: (_, { organizationId }) => organizationId,
  decide: async ({ env, body, nowMs }) => {
    const existing = body.organizationId === undefined ? null : await findOrganization(env, body.organizationId);
    if (existing?.name === body.name) return { unchanged: complete(existing) };
    if (existing) return refuse('CONFLICT', 'organizationId: an organization with this id and another name exists');
    const organizationId = body.organizationId ?? asOrganizationId(crypto.randomUUID());
    const row = {
      organizationId,
      name: body.name,
      database: await roomiestDatabase(env),
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
    const data = presentOrganization(row);
    return { before: null, after: data, statements: [insertOrganization(env, row)], organizationId, data };
  },
});

export const listOrganizations = list(operations.listOrganizations, ({ env, page }) => listOrganizationPage(env, page));

/** A page of all organizations. */
export async function listOrganizationPage(
  env: Env,
  { after, limit }: PageRequest,
): Promise<Page<Complete<Organization>>> {
  const rows = await findOrganizations(env, after, limit);
  return makePage(rows.map(presentOrganization), limit, ({ organizationId }) => organizationId);
}

export const readOrganization = read(operations.readOrganization, ({ organization }) => complete(organization));

export const updateOrganization = change(operations.updateOrganization, {
  action: 'organization.update',
  subject: ({ params }) => params.org,
  decide: async ({ env, organization: before, body }) => {
    const { organizationId } = before;
    const { defaultPlanId } = body;
    if (defaultPlanId != null) {
      const found = await findPlan(env, organizationId, defaultPlanId);
      if (!found) return refuse('PLAN_NOT_FOUND', 'defaultPlanId: no such plan');
      if (found.isArchived) return planIsArchived('defaultPlanId');
    }
    const settings = {
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
    const after = { ...before, ...settings, ...told, ...days };
    const alerts = {
      thresholdsPercent: after.alertThresholdsPercent,
      balanceBelowUsd: after.alertBalanceBelowUsd,
      balanceBelowDays: after.alertBalanceBelowDays,
    };
    const retention = Object.fromEntries(RETENTIONS.map((name) => [name, after[name]])) as Retention;
    return {
      before,
      after,
      statements: [
        ...(defaultPlanId == null ? [] : [failIfArchived(env, organizationId, defaultPlanId)]),
        updateOrganizationRow(env, organizationId, {
          ...settings,
          ...(Object.keys(told).length > 0 && { alerts }),
          ...(Object.keys(days).length > 0 && { retention }),
        }),
      ],
      replaces: true,
      data: complete(after),
    };
  },
});
