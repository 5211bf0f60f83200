/**
 * Use cases: list the models and read one, in Anthropic's form, for clients of its API such as Claude Code. Only models
 * that `/v1/messages` can be asked for are listed, under the names that its clients use.
 */
import type { Catalog } from '../catalog/model.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { AnthropicModel, AnthropicModelList } from '../contract/gateway/answers.ts';
import type { Caller } from '../metering/caller.ts';
import type { GatewayAnswer } from './answer.ts';
import { messages } from './dialects/messages.ts';
import { type DescribedModel, found, modelsAt, retrieveModelAt } from './list-models.ts';

export async function listAnthropicModels(caller: Caller): Promise<GatewayAnswer> {
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const data = anthropicModels(caller, catalog, Date.now());
  const list: AnthropicModelList = {
    data,
    has_more: false,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
  return found(list);
}

export function retrieveAnthropicModel(caller: Caller, name: string): Promise<GatewayAnswer> {
  return retrieveModelAt(caller, messages, name, present);
}

/** The newest first, as Anthropic lists them. */
function anthropicModels(caller: Caller, catalog: Catalog, nowMs: number): AnthropicModel[] {
  return modelsAt(caller, catalog, messages, nowMs)
    .sort((a, b) => b.created - a.created)
    .map((model) => present(model));
}

function present({ id, displayName, created, contextTokens, maxOutputTokens }: DescribedModel): AnthropicModel {
  return {
    type: 'model',
    id,
    display_name: displayName,
    created_at: new Date(created * 1_000).toISOString(),
    max_input_tokens: contextTokens ?? null,
    max_tokens: maxOutputTokens ?? null,
  };
}
