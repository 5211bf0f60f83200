/**
 * The sampling policy of an organization: which calls it keeps for review, and for how long.
 */
import { eq } from 'drizzle-orm';
import type { Answer } from '../contract/errors.ts';
import type { SamplingPolicy, SetSamplingRequest } from '../contract/sampling.ts';
import { DEFAULT_SAMPLING_POLICY } from '../domain/sampling.ts';
import { database } from '../storage/database.ts';
import { versionedPolicy } from '../storage/sampling.ts';
import { organizations } from '../storage/schema.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { noOrganization } from './organizations.ts';

export function setSampling(
  request: OperatorRequest,
  organizationId: string,
  policy: SetSamplingRequest,
): Promise<Answer<SamplingPolicy>> {
  return commitChange<SamplingPolicy>(request, async () => {
    const db = database(request.env.DB);
    const isIt = eq(organizations.organizationId, organizationId);
    const [organization] = await db.select({ sampling: organizations.sampling }).from(organizations).where(isIt);
    if (!organization) return noOrganization();
    const { version } = await versionedPolicy(policy);
    return {
      action: 'sampling.put',
      organizationId,
      subject: organizationId,
      before: organization.sampling ?? DEFAULT_SAMPLING_POLICY,
      after: policy,
      statements: [db.update(organizations).set({ sampling: policy }).where(isIt)],
      replaces: true,
      code: 'SAMPLING_SAVED',
      data: { version, ...policy },
    };
  });
}
