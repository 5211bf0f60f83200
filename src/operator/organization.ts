/**
 * An organization in the API's form.
 */

import { withRetentionDefaults } from '../config/kept-part.ts';
import { findOrganizationRow, type OrganizationRow } from '../config/organizations.ts';
import { type Complete, complete } from '../contract/complete.ts';
import { refuse } from '../contract/errors.ts';
import type { Organization } from '../contract/operator.ts';
import { alertThresholds } from '../domain/alerts.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';

export const noOrganization = () => refuse('NOT_FOUND', 'no such organization');

export async function findOrganization(env: Env, organizationId: OrganizationId): Promise<Organization | null> {
  const row = await findOrganizationRow(env, organizationId);
  return row ? presentOrganization(row) : null;
}

export function presentOrganization(row: OrganizationRow): Complete<Organization> {
  const { organizationId, name, defaultPlanId, allowUnpricedModels, creditOpen, models, sampleBytesMax } = row;
  const { upgradeUrl, retention, alerts, createdAtMs } = row;
  return {
    organizationId,
    name,
    defaultPlanId,
    allowUnpricedModels,
    creditOpen,
    models: complete(models),
    upgradeUrl,
    sampleBytesMax,
    alertThresholdsPercent: [...alertThresholds({}, alerts ?? {})],
    alertBalanceBelowUsd: alerts?.balanceBelowUsd ?? null,
    alertBalanceBelowDays: alerts?.balanceBelowDays ?? null,
    ...withRetentionDefaults(retention),
    createdAt: new Date(createdAtMs).toISOString(),
  };
}
