/**
 * The events that an organization is told of, as the operator reads them.
 */

import type { Answer } from '../contract/errors.ts';
import type { EventsQuery, OrganizationEvent } from '../contract/events.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { readEvents } from '../metering/events.ts';
import type { Page, PageRequest } from '../platform/page.ts';
import { findOrganization, noOrganization } from './organizations.ts';

export async function readOrganizationEvents(
  env: Env,
  organizationId: OrganizationId,
  query: Omit<EventsQuery, 'limit' | 'cursor'>,
  page: PageRequest | null,
): Promise<Answer<Page<OrganizationEvent>>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  return readEvents(env, organizationId, query, page);
}
