/**
 * An organization's model mappings: set as a whole, with warnings.
 */

import { warned } from '../catalog/named-models.ts';
import { type Answer, accept } from '../contract/errors.ts';
import type { SavedModels, SetModelsRequest } from '../contract/model-mappings.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { type ModelMappings, mappedModels } from '../domain/model-mappings.ts';
import type { Env } from '../env.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { findOrganizationRow, updateOrganizationRow } from '../storage/organizations.ts';
import { listOwnPrices } from '../storage/prices.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { noOrganization } from './organizations.ts';

type Defer = (work: Promise<unknown>) => void;

const NO_MAPPINGS: ModelMappings = { standard: [], premium: [] };

export function setModels(
  request: OperatorRequest,
  organizationId: OrganizationId,
  requested: SetModelsRequest,
  defer: Defer,
): Promise<Answer<SavedModels>> {
  return replaceModels(request, organizationId, mappingsOf(requested), defer);
}

export function deleteModels(
  request: OperatorRequest,
  organizationId: OrganizationId,
  defer: Defer,
): Promise<Answer<SavedModels>> {
  return replaceModels(request, organizationId, null, defer);
}

export async function readModels(env: Env, organizationId: OrganizationId, defer: Defer): Promise<Answer<SavedModels>> {
  const row = await findOrganizationRow(env, organizationId);
  if (!row) return noOrganization();
  const nowMs = Date.now();
  return accept('MODELS_READ', await savedModels(env, organizationId, row.models ?? NO_MAPPINGS, nowMs, defer), nowMs);
}

function replaceModels(
  request: OperatorRequest,
  organizationId: OrganizationId,
  models: ModelMappings | null,
  defer: Defer,
): Promise<Answer<SavedModels>> {
  return commitChange(request, async (nowMs) => {
    const { env } = request;
    const row = await findOrganizationRow(env, organizationId);
    if (!row) return noOrganization();
    return {
      action: models ? 'models.put' : 'models.delete',
      organizationId,
      subject: organizationId,
      before: row.models,
      after: models,
      statements: [updateOrganizationRow(env, organizationId, { models })],
      replaces: true,
      code: models ? 'MODELS_SAVED' : 'MODELS_DELETED',
      data: await savedModels(env, organizationId, models ?? NO_MAPPINGS, nowMs, defer),
    };
  });
}

/** The mappings with warnings of models that nobody knows, and of those that end. */
export async function savedModels(
  env: Env,
  organizationId: OrganizationId,
  mappings: ModelMappings,
  nowMs: number,
  defer: Defer,
): Promise<SavedModels> {
  const [{ catalog }, prices] = await Promise.all([currentCatalog(env, defer), listOwnPrices(env, organizationId)]);
  const priced = new Set(prices.map(({ modelKey }) => modelKey));
  return { ...mappings, ...warned(catalog, mappedModels(mappings), nowMs, priced) } as SavedModels;
}

/** Without names that have no list. */
function mappingsOf({ aliases = {}, ...tiers }: SetModelsRequest): ModelMappings {
  return { ...tiers, ...(Object.keys(aliases).length > 0 && { aliases }) };
}
