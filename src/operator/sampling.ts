/**
 * The sampling policy of an organization: which calls are stored for review, and for how long.
 */
import type { Answer } from '../contract/errors.ts';
import type { SamplingPolicy, SetSamplingRequest } from '../contract/sampling.ts';
import { DEFAULT_SAMPLING_POLICY } from '../domain/sampling.ts';
import { findOrganizationRow, updateOrganizationRow } from '../storage/organizations.ts';
import { versionedPolicy } from '../storage/sampling.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { noOrganization } from './organizations.ts';

export function setSampling(
  request: OperatorRequest,
  organizationId: string,
  policy: SetSamplingRequest,
): Promise<Answer<SamplingPolicy>> {
  return commitChange<SamplingPolicy>(request, async () => {
    const organization = await findOrganizationRow(request.env, organizationId);
    if (!organization) return noOrganization();
    const { version } = await versionedPolicy(policy);
    return {
      action: 'sampling.put',
      organizationId,
      subject: organizationId,
      before: organization.sampling ?? DEFAULT_SAMPLING_POLICY,
      after: policy,
      statements: [updateOrganizationRow(request.env, organizationId, { sampling: policy })],
      replaces: true,
      code: 'SAMPLING_SAVED',
      data: { version, ...policy },
    };
  });
}
