/**
 * Use cases: list the models that an organization can use, and read one. The list has the catalog's models at vendors
 * with credentials, the mapped models, and the models that the organization prices itself.
 */
import { statusOn } from '../catalog/lifecycle.ts';
import { findModelLimits } from '../catalog/limits.ts';
import { matchModel } from '../catalog/matching.ts';
import type { Catalog, CatalogModel } from '../catalog/model.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { OrganizationConfig } from '../config/credentials.ts';
import type { ModelList, ModelObject } from '../contract/gateway/answers.ts';
import { MAPPED_PREFIX, modelsByName } from '../domain/model-mappings.ts';
import type { Caller } from '../metering/caller.ts';
import { keyModelLimit } from '../metering/key-limits.ts';
import { aliased, type Candidate, candidatesFor, mappedTier, nameModel } from '../metering/model-names.ts';
import { utcDay } from '../platform/time.ts';
import type { GatewayAnswer } from './answer.ts';
import type { ErrorBody } from './dialects/dialect.ts';
import { refusalAnswer } from './error-envelope.ts';
import { modelNotFound, type OfferedEndpoint, resolveAttempts } from './models.ts';

/** The kinds of model that the gateway's routes can run. */
const KINDS = new Set(['chat', 'completion', 'embedding']);

export async function listModels(caller: Caller): Promise<GatewayAnswer> {
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const list: ModelList = { object: 'list', data: usableModels(caller, catalog, Date.now()) };
  return found(list);
}

export async function retrieveModel(caller: Caller, name: string): Promise<GatewayAnswer> {
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const nowMs = Date.now();
  const model = findModel(caller.organization, catalog, name, nowMs);
  if (!model) return refusalAnswer(modelNotFound(name).refusal);
  const limit = keyModelLimit(caller, catalog, nowMs);
  return limit && !limit.open.allowsAny(name) ? refusalAnswer(limit.refuse(name, 'model').refusal) : found(model);
}

export function found(body: object): GatewayAnswer {
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

/** The model that an endpoint can be asked for by this name, in the form of the endpoint's API. */
export async function retrieveModelAt(
  caller: Caller,
  endpoint: OfferedEndpoint & { errorBody: ErrorBody },
  name: string,
  present: (model: DescribedModel, catalog: Catalog, nowMs: number) => object,
): Promise<GatewayAnswer> {
  const { organization } = caller;
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const nowMs = Date.now();
  const resolved = await resolveAttempts(caller, catalog, endpoint, [name], nowMs);
  if (!resolved.ok) return refusalAnswer(resolved.refusal, endpoint.errorBody);
  const model = findModel(organization, catalog, name, nowMs);
  return model
    ? found(present(describeModel(organization, catalog, model, nowMs), catalog, nowMs))
    : refusalAnswer(modelNotFound(name).refusal, endpoint.errorBody);
}

/** Models that the API key may not use are not listed. */
function usableModels(caller: Pick<Caller, 'organization' | 'limits'>, catalog: Catalog, nowMs: number): ModelObject[] {
  const { organization, limits } = caller;
  const { vendors, models, aliases, prices } = organization;
  const day = utcDay(nowMs);
  const live = catalog.models.filter(
    (model) =>
      vendors.has(model.provider) &&
      KINDS.has(model.kind) &&
      !isElsewhereAlone(model) &&
      statusOn(model, day) !== 'RETIRED',
  );
  const mappings = modelsByName(models, aliases);
  const named = [...mappings.flatMap(([, names]) => names), ...prices.keys(), ...(limits?.models ?? [])].flatMap(
    (name) => {
      const model = nameModel(organization, catalog, name, nowMs);
      return model && vendors.has(model.provider)
        ? [presentModel(catalog, `${model.provider}/${model.model}`, model.provider, nowMs)]
        : [];
    },
  );
  const listed = [
    ...mappings.filter(([, names]) => names.length > 0).map(([id]) => presentMapped(id)),
    ...live.flatMap((model) =>
      listedNames(model).map((name) => present(`${model.provider}/${name}`, model.provider, model)),
    ),
    ...named,
  ];
  const unique = [...new Map(listed.map((model) => [model.id, model])).values()];
  const limit = keyModelLimit(caller, catalog, nowMs);
  return limit ? unique.filter(({ id }) => limit.open.allowsAny(id)) : unique;
}

/** A model as the vendors' own lists describe theirs. */
export interface DescribedModel {
  /** The vendor's own name, or the name of a mapping. */
  id: string;
  displayName: string;
  /** Release date, in seconds; 0 if it is not known. */
  created: number;
  contextTokens: number | undefined;
  maxOutputTokens: number | undefined;
}

/** The listed models that an endpoint can be asked for. */
export function modelsAt(
  caller: Pick<Caller, 'organization' | 'limits'>,
  catalog: Catalog,
  endpoint: Pick<OfferedEndpoint, 'isOfferedBy' | 'takesModel'>,
  nowMs: number,
): DescribedModel[] {
  const { organization } = caller;
  const isOffered = ({ provider, model, onDowngrade }: Candidate) => {
    const vendor = organization.vendors.get(provider);
    const isTaken = endpoint.takesModel?.(model) !== false;
    return !onDowngrade && vendor !== undefined && endpoint.isOfferedBy(vendor.kind) && isTaken;
  };
  return usableModels(caller, catalog, nowMs)
    .filter(({ id }) => candidatesFor(organization, catalog, id, nowMs).some(isOffered))
    .map((model) => describeModel(organization, catalog, model, nowMs));
}

function describeModel(
  organization: OrganizationConfig,
  catalog: Catalog,
  { id, owned_by: provider, created }: ModelObject,
  nowMs: number,
): DescribedModel {
  // A mapping is no model, whatever its name.
  const isMapped = id.startsWith(MAPPED_PREFIX);
  const { contextTokens, maxOutputTokens } = isMapped ? {} : findModelLimits(catalog, id, nowMs);
  const ownName = id.slice(id.indexOf('/') + 1);
  const named = nameModel(organization, catalog, ownName, nowMs);
  return {
    // A name that the catalog does not know says nothing of its vendor.
    id: named?.provider === provider && named.model === ownName ? ownName : id,
    displayName: (isMapped ? null : matchModel(catalog, id, nowMs)?.model.displayName) ?? id,
    created,
    contextTokens,
    maxOutputTokens,
  };
}

/** The model that a name stands for; `null` if no vendor could be asked for it. */
function findModel(
  organization: OrganizationConfig,
  catalog: Catalog,
  name: string,
  nowMs: number,
): ModelObject | null {
  const tier = mappedTier(name);
  const mapped = tier === null ? aliased(organization, name) : (organization.models?.[tier] ?? []);
  if (mapped !== null) return mapped.length === 0 ? null : presentMapped(name);
  const named = nameModel(organization, catalog, name, nowMs);
  if (!named || !organization.vendors.has(named.provider)) return null;
  const known = matchModel(catalog, named.model, nowMs)?.model.provider === named.provider;
  // The catalog knows all models of its own vendors. It does not know the models of any other vendor.
  const own = [`${named.provider}/${named.model}`, named.model].some((key) =>
    organization.prices.has(key.toLowerCase()),
  );
  const foreign = !catalog.models.some(({ provider }) => provider === named.provider);
  return known || own || foreign
    ? presentModel(catalog, `${named.provider}/${named.model}`, named.provider, nowMs)
    : null;
}

/** The name, and the alias that people prefer. */
function listedNames({ model, preferredAlias }: CatalogModel): string[] {
  return preferredAlias === undefined ? [model] : [preferredAlias, model];
}

function presentModel(catalog: Catalog, id: string, provider: string, nowMs: number): ModelObject {
  return present(id, provider, matchModel(catalog, id, nowMs)?.model);
}

function presentMapped(id: string): ModelObject {
  return { id, object: 'model', created: 0, owned_by: 'service' };
}

function present(id: string, provider: string, model: CatalogModel | undefined): ModelObject {
  const releasedMs = model?.releasedAt === undefined ? 0 : Date.parse(`${model.releasedAt}T00:00:00Z`);
  return { id, object: 'model', created: Math.floor((releasedMs || 0) / 1000), owned_by: provider };
}

/** Whether the provider's own API lacks the model but other companies have it: open weights. */
function isElsewhereAlone({ channels, endpoints }: CatalogModel): boolean {
  return channels !== undefined && endpoints.length === 0;
}
