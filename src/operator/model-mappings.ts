/**
 * An organization's model mappings: set as a whole, with warnings.
 */
import { warned } from '../catalog/named-models.ts';
import type { Answer } from '../contract/errors.ts';
import type { SavedModels, SetModelsRequest } from '../contract/model-mappings.ts';
import { type ModelMappings, mappedModels } from '../domain/model-mappings.ts';
import type { Env } from '../env.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { findOrganizationRow, updateOrganizationRow } from '../storage/organizations.ts';
import { listOwnPrices } from '../storage/prices.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { noOrganization } from './organizations.ts';

type Defer = (work: Promise<unknown>) => void;

export function setModels(
  request: OperatorRequest,
  organizationId: string,
  requested: SetModelsRequest,
  defer: Defer,
): Promise<Answer<SavedModels>> {
  return commitChange(request, async (nowMs) => {
    const { env } = request;
    const row = await findOrganizationRow(env, organizationId);
    if (!row) return noOrganization();
    const models = mappingsOf(requested);
    return {
      action: 'models.put',
      organizationId,
      subject: organizationId,
      before: row.models,
      after: models,
      statements: [updateOrganizationRow(env, organizationId, { models })],
      replaces: true,
      code: 'MODELS_SAVED',
      data: await savedModels(env, organizationId, models, nowMs, defer),
    };
  });
}

/** The mappings with warnings of models that nobody knows, and of those that end. */
export async function savedModels(
  env: Env,
  organizationId: string,
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
