/**
 * The model radar of an organization, as its own key reads it.
 */

import type { Answer } from '../contract/errors.ts';
import type { ModelRadarData, ModelRadarQuery } from '../contract/model-radar.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import type { PageRequest } from '../platform/page.ts';
import { readModelRadar } from '../radar/read-radar.ts';
import { loadOrganization } from '../storage/credentials.ts';
import { noOrganization } from './organizations.ts';

export async function readOrganizationRadar(
  env: Env,
  organizationId: OrganizationId,
  query: ModelRadarQuery,
  page: PageRequest | null,
  defer: (work: Promise<unknown>) => void,
): Promise<Answer<ModelRadarData>> {
  const organization = await loadOrganization(env, organizationId);
  return organization ? readModelRadar({ env, organization, defer }, query, page) : noOrganization();
}
