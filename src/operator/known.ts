/**
 * The data that every console page has: the models of the catalog, and the first organizations.
 */
import type { Catalog } from '../catalog/model.ts';
import { currentCatalog } from '../config/catalog.ts';
import { findOrganizationNames } from '../config/organizations.ts';
import type { Organization } from '../contract/operator.ts';
import type { Env } from '../env.ts';
import { log } from '../platform/log.ts';
import type { Requester } from './operation.ts';

export type OrganizationName = Pick<Organization, 'organizationId' | 'name'>;

/** The first organizations, by name, and whether more exist. */
export interface KnownOrganizations {
  items: readonly OrganizationName[];
  hasMore: boolean;
}

export async function readKnown(
  { env, defer }: Pick<Requester, 'env' | 'defer'>,
  organizationsMax: number,
): Promise<{ catalog: Catalog; organizations: KnownOrganizations }> {
  const [{ catalog }, organizations] = await Promise.all([
    currentCatalog(env, defer),
    firstOrganizations(env, organizationsMax),
  ]);
  return { catalog, organizations };
}

/** If they cannot be read, a page is shown without them: above all the page of the service's health. */
async function firstOrganizations(env: Env, max: number): Promise<KnownOrganizations> {
  try {
    const names = await findOrganizationNames(env, max);
    const items = names.slice(0, max).sort((a, b) => a.name.localeCompare(b.name, 'en'));
    return { items, hasMore: names.length > max };
  } catch (error) {
    log('warn', 'organization_names_not_read', {}, error);
    return { items: [], hasMore: false };
  }
}
