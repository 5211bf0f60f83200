/**
 * From the spelling a client uses to the model it means: an ordered pipeline of rules, the first that finds wins.
 *
 * | rule       | example                                     | finds                        |
 * |------------|---------------------------------------------|------------------------------|
 * | exact      | `gpt-4o-2024-08-06`                         | itself                       |
 * | alias      | `gpt-4o`                                    | `gpt-4o-2024-08-06`          |
 * | snapshot   | `claude-3-haiku` (pin removed)              | `claude-3-haiku-20240307`    |
 * | snapshot   | `gpt-5.6-sol-2026-07-30` (pin added)        | `gpt-5.6-sol`                |
 * | normalized | `models/gemini-2.5-pro`, `GPT-4o`, `openai:gpt-4o`, `us.anthropic.claude-3-5-sonnet-20241022-v2:0` | the model without decoration |
 *
 * Every rule is certain enough to price a call by. A fine-tuned model (`ft:`) never takes its base model's price.
 */
import type { Catalog, CatalogModel, Provider } from './model.ts';

export type MatchStrategy = 'exact' | 'alias' | 'snapshot' | 'normalized';

export interface Match {
  model: CatalogModel;
  strategy: MatchStrategy;
}

/** Longer names are nobody's model. */
const MODEL_NAME_LENGTH_MAX = 300;

/** A date pin at the end of a name: `-2024-08-06`, `-20240620`, `@20240620`. */
const DATE_PIN = /[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$/;

/** Channel and path decorations in front of a name, removed one after the other. */
const PREFIXES = [
  /^models\//,
  /^publishers\/[a-z]+\/models\//,
  /^(?:openrouter|azure|azure_ai|azure-openai|bedrock|aws-bedrock|vertex|vertex_ai|vertexai|litellm|service)[/:]/,
  /^(?:openai|anthropic|google|gemini)[/:]/,
  /^(?:us-gov|us|eu|apac|jp|au|global)\.(?=anthropic\.)/,
  /^anthropic\./,
] as const;

/** Prefixes that name the provider of the catalog that the model is of. */
const PROVIDER_PREFIXES: Record<string, Provider> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  gemini: 'google',
};

/** More prefixes than this on one name are not a name any more. */
const PREFIXES_MAX = 4;

interface NameIndex {
  exact: Map<string, CatalogModel>;
  alias: Map<string, CatalogModel>;
  /** Names without their date pin, where exactly one model has that name. */
  unpinned: Map<string, CatalogModel | null>;
}

const indexes = new WeakMap<Catalog, NameIndex>();

/** The model that `name` means, or `null`. Names are unique across providers, so nothing but the name is needed. */
export function matchModel(catalog: Catalog, name: string): Match | null {
  if (name.length > MODEL_NAME_LENGTH_MAX || /(?:^|[/:])ft[:-]/i.test(name)) return null;
  const index = indexOf(catalog);
  const qualified = /^(openai|anthropic|google)\/(.+)$/.exec(name);
  const found = lookUp(index, qualified?.[2] ?? name);
  if (found) return !qualified || found.model.provider === qualified[1] ? found : null;
  const normalized = normalizeName(name);
  const again = lookUp(index, normalized.name);
  if (!again || (normalized.provider && again.model.provider !== normalized.provider)) return null;
  return { model: again.model, strategy: 'normalized' };
}

function lookUp(index: NameIndex, name: string): Match | null {
  const exact = index.exact.get(name);
  if (exact) return { model: exact, strategy: 'exact' };
  const alias = index.alias.get(name);
  if (alias) return { model: alias, strategy: 'alias' };
  const pinAdded = DATE_PIN.test(name) ? name.replace(DATE_PIN, '') : null;
  if (pinAdded !== null && DATE_PIN.test(pinAdded)) return null;
  const unpinned = pinAdded === null ? index.unpinned.get(name) : index.exact.get(pinAdded);
  return unpinned ? { model: unpinned, strategy: 'snapshot' } : null;
}

/**
 * The bare name under its decorations: lower case, no path, no channel, no Bedrock or Vertex version, Vertex `@` as `-`;
 * and the provider, where a decoration names one. Channels that resell several providers name none.
 */
function normalizeName(name: string): { name: string; provider: Provider | null } {
  let plain = name.trim().toLowerCase();
  let provider: Provider | null = null;
  for (let round = 0; round < PREFIXES_MAX; round += 1) {
    const prefix = PREFIXES.map((candidate) => candidate.exec(plain)?.[0]).find((found) => found);
    if (!prefix) break;
    provider = PROVIDER_PREFIXES[prefix.slice(0, -1)] ?? provider;
    plain = plain.slice(prefix.length);
  }
  plain = plain
    .replace(/-v\d+:\d+(?::\d+k)?$/, '')
    .replace(/-v\d(?=@\d{8}$)/, '')
    .replace(/@(?=\d{8}$)/, '-')
    .replace(/@(?:latest|default)$/, '')
    .replace(/^gpt-35-/, 'gpt-3.5-');
  return { name: plain, provider };
}

function indexOf(catalog: Catalog): NameIndex {
  const known = indexes.get(catalog);
  if (known) return known;
  const index: NameIndex = { exact: new Map(), alias: new Map(), unpinned: new Map() };
  for (const model of catalog.models) {
    index.exact.set(model.model, model);
    for (const alias of model.aliases) index.alias.set(alias, model);
    const unpinned = model.model.replace(DATE_PIN, '');
    if (unpinned !== model.model) index.unpinned.set(unpinned, index.unpinned.has(unpinned) ? null : model);
  }
  indexes.set(catalog, index);
  return index;
}
