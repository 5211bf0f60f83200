/**
 * An organization's model mappings: set as a whole. What the autopilot remembers of its switches stays with an entry that
 * keeps its model and its autopilot.
 */
import { warned } from '../catalog/named-models.ts';
import type { Answer } from '../contract/errors.ts';
import type { SavedModels, SetModelsRequest } from '../contract/model-mappings.ts';
import { entriesByMapping, type MappingEntry, type ModelMappings, mappedModels } from '../domain/model-mappings.ts';
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
    const models = mappingsOf(requested, row.models);
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

function mappingsOf(
  { standard, premium, aliases = {} }: SetModelsRequest,
  before: ModelMappings | null,
): ModelMappings {
  const earlier = new Map(before === null ? [] : entriesByMapping(before));
  const kept = (mapping: string, entries: readonly MappingEntry[]) =>
    entries.map((entry) => withMemory(entry, earlier.get(mapping) ?? []));
  const named = Object.entries(aliases).map(([name, entries]) => [name, kept(name, entries)] as const);
  return {
    standard: kept('standard', standard),
    premium: kept('premium', premium),
    ...(named.length > 0 && { aliases: Object.fromEntries(named) }),
  };
}

function withMemory(entry: MappingEntry, earlier: readonly MappingEntry[]): MappingEntry {
  if (typeof entry === 'string') return entry;
  const same = earlier.find((other) => typeof other !== 'string' && other.model === entry.model);
  if (same === undefined || typeof same === 'string' || same.switchedFrom === undefined) return entry;
  return { ...entry, switchedFrom: same.switchedFrom, switchedAt: same.switchedAt };
}
