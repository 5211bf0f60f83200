/**
 * An organization's model mappings: set as a whole, with warnings.
 */

import { warned } from '../catalog/named-models.ts';
import { currentCatalog } from '../config/catalog.ts';
import { updateOrganizationRow } from '../config/organizations.ts';
import { listOwnPrices } from '../config/prices.ts';
import { type Complete, complete } from '../contract/complete.ts';
import type { SavedModels, SetModelsRequest } from '../contract/model-mappings.ts';
import { operations } from '../contract/operations.ts';
import type { Organization } from '../contract/operator.ts';
import { type ModelMappings, mappedModels } from '../domain/model-mappings.ts';
import { change, type Requester, read } from './operation.ts';

type OfOrganization = Pick<Requester, 'env' | 'defer'> & { organization: Organization };

const NO_MAPPINGS: ModelMappings = { standard: [], premium: [] };

export const setModels = change(operations.setModels, {
  action: 'models.put',
  subject: ({ params }) => params.org,
  decide: ({ body, nowMs, ...request }) => replaceModels(request, withoutEmptyAliases(body), nowMs),
});

export const deleteModels = change(operations.deleteModels, {
  action: 'models.delete',
  subject: ({ params }) => params.org,
  decide: ({ nowMs, ...request }) => replaceModels(request, null, nowMs),
});

export const readModels = read(operations.readModels, (request) =>
  savedModels(request, request.organization.models ?? NO_MAPPINGS, Date.now()),
);

async function replaceModels(request: OfOrganization, models: ModelMappings | null, nowMs: number) {
  const { env, organization } = request;
  return {
    before: organization.models,
    after: models,
    statements: [updateOrganizationRow(env, organization.organizationId, { models })],
    replaces: true,
    data: await savedModels(request, models ?? NO_MAPPINGS, nowMs),
  };
}

/** The mappings with warnings about unknown models and about models that end. */
export async function savedModels(
  { env, organization, defer }: OfOrganization,
  mappings: ModelMappings,
  nowMs: number,
): Promise<Complete<SavedModels>> {
  const [{ catalog }, prices] = await Promise.all([
    currentCatalog(env, defer),
    listOwnPrices(env, organization.organizationId),
  ]);
  const priced = new Set(prices.map(({ modelKey }) => modelKey));
  const { standard, premium, aliases } = complete(mappings);
  return { standard, premium, aliases, ...warned(catalog, mappedModels(mappings), nowMs, priced) };
}

/** Leaves out names without a list. */
function withoutEmptyAliases({ aliases = {}, ...tiers }: SetModelsRequest): ModelMappings {
  return { ...tiers, ...(Object.keys(aliases).length > 0 && { aliases }) };
}
