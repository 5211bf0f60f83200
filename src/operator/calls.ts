/**
 * An organization's calls, as the operator lists them.
 */

import type { CallList, CallsQuery } from '../contract/call-list.ts';
import type { Answer } from '../contract/errors.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { readCalls } from '../metering/list-calls.ts';
import type { PageRequest } from '../platform/page.ts';
import { findOrganization, noOrganization } from './organizations.ts';

export async function readOrganizationCalls(
  env: Env,
  organizationId: OrganizationId,
  query: Omit<CallsQuery, 'limit' | 'cursor'>,
  page: PageRequest | null,
): Promise<Answer<CallList>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  return readCalls(env, organizationId, query, page);
}
