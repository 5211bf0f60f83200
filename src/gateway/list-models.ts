/**
 * The models that an organization can use: what the catalog knows of the vendors that it has credentials for, what it
 * mapped, and what it has prices of its own for.
 */
import { statusOn } from '../catalog/lifecycle.ts';
import { matchModel } from '../catalog/matching.ts';
import type { Catalog, CatalogModel } from '../catalog/model.ts';
import type { ModelList, ModelObject } from '../contract/gateway.ts';
import type { Caller } from '../metering/caller.ts';
import { currentCatalog } from '../storage/catalog.ts';
import type { OrganizationConfig } from '../storage/credentials.ts';
import { failureAnswer, type GatewayAnswer } from './answer.ts';
import { MAPPED_PREFIX, modelNotFound, nameModel } from './models.ts';

/** What the gateway's routes can run. */
const KINDS = new Set(['chat', 'completion', 'embedding']);

export async function listModels({ env, organization, defer }: Caller): Promise<GatewayAnswer> {
  const { catalog } = await currentCatalog(env, defer);
  const list: ModelList = { object: 'list', data: modelsOf(organization, catalog, Date.now()) };
  return found(list);
}

export async function retrieveModel({ env, organization, defer }: Caller, name: string): Promise<GatewayAnswer> {
  const { catalog } = await currentCatalog(env, defer);
  const model = findModel(organization, catalog, name);
  return model ? found(model) : failureAnswer(modelNotFound(name));
}

function found(body: object): GatewayAnswer {
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

export function modelsOf(organization: OrganizationConfig, catalog: Catalog, nowMs: number): ModelObject[] {
  const { vendors, models, prices } = organization;
  const day = new Date(nowMs).toISOString().slice(0, 'yyyy-mm-dd'.length);
  const live = catalog.models.filter(
    (model) => vendors.has(model.provider) && KINDS.has(model.kind) && statusOn(model, day) !== 'RETIRED',
  );
  const tiers = (['standard', 'premium'] as const).filter((tier) => (models?.[tier].length ?? 0) > 0);
  const named = [...(models?.standard ?? []), ...(models?.premium ?? []), ...prices.keys()].flatMap((name) => {
    const model = nameModel(organization, catalog, name);
    return model && vendors.has(model.provider)
      ? [presentModel(catalog, `${model.provider}/${model.model}`, model.provider)]
      : [];
  });
  const listed = [
    ...tiers.map((tier) => presentMapped(`${MAPPED_PREFIX}${tier}`)),
    ...live.flatMap((model) =>
      namesOf(model).map((name) => present(`${model.provider}/${name}`, model.provider, model)),
    ),
    ...named,
  ];
  return [...new Map(listed.map((model) => [model.id, model])).values()];
}

/** The model that a name means; `null` where nobody could be asked for it. */
export function findModel(organization: OrganizationConfig, catalog: Catalog, name: string): ModelObject | null {
  if (name === 'service/standard' || name === 'service/premium') {
    const mapped = organization.models?.[name === 'service/standard' ? 'standard' : 'premium'] ?? [];
    return mapped.length === 0 ? null : presentMapped(name);
  }
  const named = nameModel(organization, catalog, name);
  if (!named || !organization.vendors.has(named.provider)) return null;
  const known = matchModel(catalog, named.model)?.model.provider === named.provider;
  // Of the three vendors the catalog knows what there is; of any other nobody does.
  const own = [`${named.provider}/${named.model}`, named.model].some((key) =>
    organization.prices.has(key.toLowerCase()),
  );
  const foreign = !catalog.models.some(({ provider }) => provider === named.provider);
  return known || own || foreign ? presentModel(catalog, `${named.provider}/${named.model}`, named.provider) : null;
}

/** The name, and the moving name that people use for it. */
function namesOf({ model, preferredAlias }: CatalogModel): string[] {
  return preferredAlias === undefined ? [model] : [preferredAlias, model];
}

function presentModel(catalog: Catalog, id: string, provider: string): ModelObject {
  return present(id, provider, matchModel(catalog, id)?.model);
}

function presentMapped(id: string): ModelObject {
  return { id, object: 'model', created: 0, owned_by: 'service' };
}

function present(id: string, provider: string, model: CatalogModel | undefined): ModelObject {
  const releasedMs = model?.releasedAt === undefined ? 0 : Date.parse(`${model.releasedAt}T00:00:00Z`);
  return { id, object: 'model', created: Math.floor((releasedMs || 0) / 1000), owned_by: provider };
}
