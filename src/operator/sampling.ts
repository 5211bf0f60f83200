/**
 * The sampling policy of an organization: which calls are stored for review, and for how long.
 */

import { type Answer, accept } from '../contract/errors.ts';
import type { SamplingPolicy, SetSamplingRequest } from '../contract/sampling.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { DEFAULT_SAMPLING_POLICY } from '../domain/sampling.ts';
import type { Env } from '../env.ts';
import { findOrganizationRow, updateOrganizationRow } from '../storage/organizations.ts';
import { versionedPolicy } from '../storage/sampling.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { noOrganization } from './organizations.ts';

export async function readSampling(env: Env, organizationId: OrganizationId): Promise<Answer<SamplingPolicy>> {
  const organization = await findOrganizationRow(env, organizationId);
  if (!organization) return noOrganization();
  const { version, policy } = await versionedPolicy(organization.sampling ?? DEFAULT_SAMPLING_POLICY);
  return accept('SAMPLING_READ', { version, ...policy }, Date.now());
}

export function setSampling(
  request: OperatorRequest,
  organizationId: OrganizationId,
  policy: SetSamplingRequest,
): Promise<Answer<SamplingPolicy>> {
  return replaceSampling(request, organizationId, policy);
}

/** Without a policy no call is kept. */
export function deleteSampling(
  request: OperatorRequest,
  organizationId: OrganizationId,
): Promise<Answer<SamplingPolicy>> {
  return replaceSampling(request, organizationId, null);
}

function replaceSampling(
  request: OperatorRequest,
  organizationId: OrganizationId,
  sampling: SetSamplingRequest | null,
): Promise<Answer<SamplingPolicy>> {
  return commitChange<SamplingPolicy>(request, async () => {
    const organization = await findOrganizationRow(request.env, organizationId);
    if (!organization) return noOrganization();
    const { version, policy } = await versionedPolicy(sampling ?? DEFAULT_SAMPLING_POLICY);
    return {
      action: sampling ? 'sampling.put' : 'sampling.delete',
      organizationId,
      subject: organizationId,
      before: organization.sampling ?? DEFAULT_SAMPLING_POLICY,
      after: policy,
      statements: [updateOrganizationRow(request.env, organizationId, { sampling })],
      replaces: true,
      code: sampling ? 'SAMPLING_SAVED' : 'SAMPLING_DELETED',
      data: { version, ...policy },
    };
  });
}
