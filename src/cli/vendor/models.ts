/**
 * The lists of models, from the catalog: a vendor's models that have not ended. A request may name any model.
 */
import { BUILT_IN_CATALOG } from '../../catalog/built-in.ts';
import { statusOn } from '../../catalog/lifecycle.ts';
import { utcDay } from '../../platform/time.ts';
import type { Fields, VendorName } from '../../vendors/usage/figures.ts';

const CREATED_AT = '2026-01-01T00:00:00Z';

export function listModels(vendor: VendorName): Fields {
  const all = listNames(vendor);
  if (vendor === 'openai') return { object: 'list', data: all.map(({ model }) => openaiModel(model)) };
  if (vendor === 'anthropic')
    return { data: all.map(anthropicModel), has_more: false, first_id: all[0]?.model, last_id: all.at(-1)?.model };
  return { models: all.map(googleModel) };
}

/** Google's list in OpenAI's form. */
export function listGoogleAsOpenai(): Fields {
  return { object: 'list', data: listNames('google').map(({ model }) => openaiModel(`models/${model}`, 'google')) };
}

export function oneModel(vendor: VendorName, model: string): Fields {
  const named = { model, displayName: model };
  if (vendor === 'openai') return openaiModel(model);
  return vendor === 'anthropic' ? anthropicModel(named) : googleModel(named);
}

interface Named {
  model: string;
  displayName: string;
}

function listNames(vendor: VendorName): Named[] {
  const today = utcDay(Date.now());
  return BUILT_IN_CATALOG.models.filter((model) => model.provider === vendor && statusOn(model, today) !== 'RETIRED');
}

function openaiModel(id: string, owner = 'system'): Fields {
  return { id, object: 'model', created: Date.parse(CREATED_AT) / 1_000, owned_by: owner };
}

function anthropicModel({ model, displayName }: Named): Fields {
  return { type: 'model', id: model, display_name: displayName, created_at: CREATED_AT };
}

function googleModel({ model, displayName }: Named): Fields {
  const supportedGenerationMethods = ['generateContent', 'countTokens', 'embedContent'];
  return { name: `models/${model}`, displayName, version: '001', supportedGenerationMethods };
}
