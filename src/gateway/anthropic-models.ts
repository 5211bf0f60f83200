/**
 * Use cases: list the models and read one, in Anthropic's form, for clients of its API such as Claude Code. Only models
 * that `/v1/messages` can be asked for are listed, under the names that its clients use.
 */
import { limitsOf } from '../catalog/limits.ts';
import { matchModel } from '../catalog/matching.ts';
import type { Catalog } from '../catalog/model.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { OrganizationConfig } from '../config/credentials.ts';
import type { AnthropicModel, AnthropicModelList, ModelObject } from '../contract/gateway/answers.ts';
import { MAPPED_PREFIX } from '../domain/model-mappings.ts';
import type { Caller } from '../metering/caller.ts';
import { candidatesFor, nameModel } from '../metering/model-names.ts';
import type { GatewayAnswer } from './answer.ts';
import { anthropicError } from './dialects/anthropic.ts';
import { messages } from './dialects/messages.ts';
import { refusalAnswer } from './error-envelope.ts';
import { findModel, found, modelsOf } from './list-models.ts';
import { modelNotFound, resolveAttempts } from './models.ts';

export async function listAnthropicModels(caller: Caller): Promise<GatewayAnswer> {
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const data = anthropicModelsOf(caller, catalog, Date.now());
  const list: AnthropicModelList = {
    data,
    has_more: false,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
  return found(list);
}

export async function retrieveAnthropicModel(caller: Caller, name: string): Promise<GatewayAnswer> {
  const { organization } = caller;
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const nowMs = Date.now();
  const resolved = await resolveAttempts(caller, catalog, messages, [name], nowMs);
  if (!resolved.ok) return refusalAnswer(resolved.refusal, anthropicError);
  const model = findModel(organization, catalog, name, nowMs);
  return model
    ? found(present(organization, catalog, model, nowMs))
    : refusalAnswer(modelNotFound(name).refusal, anthropicError);
}

/** Newest first, as in Anthropic's own list. */
function anthropicModelsOf(
  caller: Pick<Caller, 'organization' | 'limits'>,
  catalog: Catalog,
  nowMs: number,
): AnthropicModel[] {
  const { organization } = caller;
  return modelsOf(caller, catalog, nowMs)
    .filter(({ id }) =>
      candidatesFor(organization, catalog, id, nowMs).some(({ provider, onDowngrade }) => {
        const vendor = organization.vendors.get(provider);
        return !onDowngrade && vendor !== undefined && messages.isOfferedBy(vendor.kind);
      }),
    )
    .sort((a, b) => b.created - a.created)
    .map((model) => present(organization, catalog, model, nowMs));
}

function present(
  organization: OrganizationConfig,
  catalog: Catalog,
  { id, owned_by: provider, created }: ModelObject,
  nowMs: number,
): AnthropicModel {
  // A mapping is no model, whatever its name.
  const isMapped = id.startsWith(MAPPED_PREFIX);
  const { contextTokens, maxOutputTokens } = isMapped ? {} : limitsOf(catalog, id, nowMs);
  const ownName = id.slice(id.indexOf('/') + 1);
  const named = nameModel(organization, catalog, ownName, nowMs);
  return {
    type: 'model',
    // A name that the catalog does not know does not identify its vendor.
    id: named?.provider === provider && named.model === ownName ? ownName : id,
    display_name: (isMapped ? null : matchModel(catalog, id, nowMs)?.model.displayName) ?? id,
    created_at: new Date(created * 1_000).toISOString(),
    max_input_tokens: contextTokens ?? null,
    max_tokens: maxOutputTokens ?? null,
  };
}
