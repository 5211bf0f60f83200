/**
 * The sampling policy of an organization: which calls are stored for review, and how long they are kept.
 */

import { updateOrganizationRow } from '../config/organizations.ts';
import { readSamplingPolicy, versionedPolicy } from '../config/sampling.ts';
import { operations } from '../contract/operations.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { DEFAULT_SAMPLING_POLICY, type SamplingPolicy } from '../domain/sampling.ts';
import type { Env } from '../env.ts';
import { change, read } from './operation.ts';

export const readSampling = read(operations.readSampling, async ({ env, params }) => {
  const { version, policy } = await readSamplingPolicy(env, params.org);
  return { version, ...policy };
});

export const setSampling = change(operations.setSampling, {
  action: 'sampling.put',
  subject: ({ params }) => params.org,
  decide: ({ env, params, body }) => replaceSampling(env, params.org, body),
});

/** Without a policy, no call is kept. */
export const deleteSampling = change(operations.deleteSampling, {
  action: 'sampling.delete',
  subject: ({ params }) => params.org,
  decide: ({ env, params }) => replaceSampling(env, params.org, null),
});

async function replaceSampling(env: Env, organizationId: OrganizationId, sampling: SamplingPolicy | null) {
  const before = await readSamplingPolicy(env, organizationId);
  const { version, policy } = await versionedPolicy(sampling ?? DEFAULT_SAMPLING_POLICY);
  return {
    before: before.policy,
    after: policy,
    statements: [updateOrganizationRow(env, organizationId, { sampling })],
    replaces: true,
    data: { version, ...policy },
  };
}
