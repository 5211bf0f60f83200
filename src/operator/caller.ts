/**
 * A use case of the metering interface, run by the operator for an organization: what its own key would read.
 */

import type { Answer } from '../contract/errors.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import type { Caller } from '../metering/caller.ts';
import { loadOrganization } from '../storage/credentials.ts';
import { noOrganization } from './organization.ts';

export async function asOrganization<Result>(
  env: Env,
  organizationId: OrganizationId,
  defer: Caller['defer'],
  run: (caller: Caller) => Promise<Result>,
): Promise<Result | Answer<never>> {
  const organization = await loadOrganization(env, organizationId);
  return organization ? run({ env, organization, defer }) : noOrganization();
}
