/**
 * Resolves a client's spelling to a model by an ordered pipeline of rules; the first match wins.
 *
 * `matchModel` is for pricing: it uses only certain rules and finds nothing for a fine-tuned, ambiguous or misspelled
 * name. `lookUpModel` is for the public lookup: the same rules, then those marked "lookup".
 *
 * A date pin that the catalog does not list can only be real from the model's release up to today, so it is certain
 * only then, and marked as unlisted. A fuzzy match only suggests a key.
 *
 * | rule       | example                                               | finds                                     |
 * |------------|-------------------------------------------------------|-------------------------------------------|
 * | exact      | `gpt-4o-2024-08-06`, `openai/gpt-4o-2024-08-06`       | itself                                    |
 * | alias      | `gpt-4o`                                              | `gpt-4o-2024-08-06`                       |
 * | snapshot   | `claude-3-haiku` (pin removed)                        | `claude-3-haiku-20240307`                 |
 * | snapshot   | `gpt-5.6-sol-2026-07-30` (pin added)                  | `gpt-5.6-sol`                             |
 * | snapshot   | `claude-3-5-sonnet` (lookup: several pins, newest)    | `claude-3-5-sonnet-20241022`              |
 * | normalized | `GPT-4o`, ` gpt-4o `, `gpt–4o` (case, spaces, dashes) | `gpt-4o-2024-08-06`                       |
 * | normalized | `openai:gpt-4o`, `gemini/gemini-2.5-pro` (provider)   | the model, of that provider only          |
 * | normalized | `openrouter/openai/gpt-4o`, `azure/eu/gpt-4o`,        | the model under the channel               |
 * |            | `bedrock/us-east-1/anthropic.claude-…`                |                                           |
 * | normalized | `models/gemini-2.5-pro`,                              | the model under the path                  |
 * |            | `projects/p/locations/l/publishers/google/models/…`   |                                           |
 * | normalized | `arn:aws:bedrock:us-east-1::foundation-model/…`,      | the model under the resource name         |
 * |            | `…:inference-profile/us.anthropic.claude-…`           |                                           |
 * | normalized | `us.anthropic.claude-3-5-sonnet-20241022-v2:0`,       | the model without the Bedrock version     |
 * |            | `anthropic.claude-opus-4-6-v1`                        |                                           |
 * | normalized | `claude-3-5-sonnet@20240620`, `gemini-2.5-pro@default`, | the model of that Vertex version        |
 * |            | `claude-3-5-sonnet-v2@20241022`, `gemini-1.5-pro@002` |                                           |
 * | normalized | `gpt-35-turbo-16k-0613` (Azure)                       | `gpt-3.5-turbo-16k-0613`                  |
 * | normalized | `us.openai.gpt-6-sol`, `openai.gpt-oss-20b-1:0`,      | the model on Bedrock                      |
 * |            | `google.gemma-4-31b`                                  |                                           |
 * | normalized | `anthropic/claude-haiku-4.5:beta` (OpenRouter)        | the model without the routing             |
 * | normalized | `openai/gpt-6-sol:batch` (OpenRouter),                | the model, as a variant with another price |
 * |            | `openai/gpt-6-sol-batch`, `…-fast` (Vercel, Foundry)  |                                           |
 * | normalized | `openai/gpt-6-sol-pro` (OpenRouter),                  | the model that a router thinks longer with |
 * |            | `openai/gpt-5.1-thinking` (Vercel)                    | or names otherwise, at the same price     |
 * | normalized | `~openai/gpt-sol-latest` (OpenRouter)                 | the newest model of the line              |
 * | normalized | `gpt-5.4-20260305` (a pin without dashes)             | `gpt-5.4-2026-03-05`                      |
 * | normalized | `claude-opus-5-5[1m]` (Claude Code, long context)     | the model, at the same price              |
 * | normalized | `claude-3.7-sonnet`, `claude-2-1` (dots and dashes)   | `claude-3-7-sonnet-20250219`, `claude-2.1` |
 * | normalized | `claude-4-5-sonnet`, `claude-haiku-3`,                | `claude-sonnet-4-5-20250929`,             |
 * |            | `gemini-pro-1.5` (version and family swapped)         | `claude-3-haiku-20240307`, …              |
 * | normalized | `ft:gpt-3.5-turbo:acme::x`, `davinci:ft-acme` (lookup) | the base model                           |
 * | normalized | `google/gemini-2.5-flash:free` (lookup: costs nothing) | the model                                |
 * | fuzzy      | `gpt-4o-min`, `claude-35-sonet` (lookup; `fuzzy.ts`)  | the nearest name, with a score            |
 */

import { utcDay } from '../platform/time.ts';
import { findNearest, parseSpelling, type Spelling } from './fuzzy.ts';
import type { Catalog, CatalogModel, Provider } from './model.ts';

export type MatchStrategy = 'exact' | 'alias' | 'snapshot' | 'normalized';

export interface Match {
  model: CatalogModel;
  strategy: MatchStrategy;
  /** The name has a date pin that the catalog does not list; absent otherwise. */
  unlistedPin?: true;
  /** The name moves with its line, whose newest model this is; absent otherwise. */
  newestOfLine?: true;
  /** The way of serving that the name states, at another price; absent otherwise. */
  variant?: Variant;
}

/** A model in batches, or in the fast mode of its provider. */
export type Variant = 'batch' | 'fast';

export interface LookUpMatch extends Omit<Match, 'strategy'> {
  strategy: MatchStrategy | 'fuzzy';
  /** The score of a fuzzy match in (0, 1]; absent for a certain match. */
  score?: number;
}

/** Longer names match nothing. */
const MODEL_NAME_LENGTH_MAX = 300;

/** A date pin at the end of a name: `-2024-08-06`, `-20240620`, `@20240620`. */
const DATE_PIN = /[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$/;

/**
 * Fine-tuned models, which never have the price of their base model: `ft:gpt-4o`, `openai/ft:gpt-4o`,
 * `davinci:ft-acme`.
 */
const FINE_TUNED = /(?:^|[/:])ft[:-]/i;

/** Prefixes of channels and paths, removed one after the other. */
const PREFIXES = [
  /^models\//,
  /^(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/(?<provider>openai|anthropic|google)\/models\//,
  /^arn:aws(?:-[a-z-]+)?:bedrock:[a-z0-9-]*:\d*:(?:foundation-model|inference-profile)\//,
  /^(?:azure|azure_ai)\/(?:us|eu|global|global-standard|data-zone|data-zone-standard)\//,
  /^(?:azure|(?<provider>openai))\/responses\//,
  /^(?:bedrock\/)?(?:converse|invoke)\/(?=.*(?:anthropic|openai|google)\.)/,
  /^[a-z]{2}(?:-gov)?-[a-z]+-\d\/(?=(?:anthropic|openai|google)\.)/,
  /^(?:openrouter|litellm|litellm_proxy|vercel_ai_gateway|github_copilot|github-copilot|service)[/:]/,
  /^(?:azure|azure_ai|azure-openai|azure_openai|azure_text)[/:]/,
  /^(?:bedrock|bedrock_converse|bedrock_mantle|aws-bedrock|amazon-bedrock)[/:]/,
  /^(?:vertex|vertex_ai|vertex_ai_beta|vertexai|google-vertex|google_vertexai)[/:]/,
  /^(?<provider>openai|openai-chat|openai-responses|text-completion-openai|anthropic)[/:]/,
  /^(?<provider>google|gemini|googleai|google-ai-studio|google-genai|google_genai|google-gla)[/:]/,
  /^(?:us-gov|us|eu|apac|jp|au|in|global)\.(?=(?:anthropic|openai|google)\.)/,
  /^(?<provider>anthropic|openai|google)\./,
] as const;

/** A name with more prefixes than this is not a model name. */
const PREFIXES_MAX = 6;

/** OpenRouter's routing suffixes, which change neither the model nor its price per token. */
const ROUTING = /:(?:online|beta|nitro|floor|thinking)$/;

/** The end of a name that states how the model is served: OpenRouter's, Vercel's and Foundry's. */
const VARIANT = /(?::|-)(batch)$|-(fast)$/;

/** OpenRouter's names that move with a line: `~anthropic/claude-opus-latest`, `~openai/gpt-sol-latest`. */
const LINE = /^(?:openrouter\/)?~(openai|anthropic|google)\/(claude-|gpt-|gemini-)([a-z]+)-latest$/;

/** Routers' names of models that their providers call differently, at the same price. */
const ROUTER_NAMES: [RegExp, string][] = [
  [/^(gpt-[\d.]+-(?:sol|terra|luna|astra))-pro$/, '$1'],
  [/^(gpt-5\.1)-thinking$/, '$1'],
  [/^(gpt-5(?:\.\d)?-chat)$/, '$1-latest'],
  [/^gpt-(chat-latest)$/, '$1'],
  [/^(gemini-3-flash)$/, '$1-preview'],
  [/^(gpt-oss-\d+b)-1:0$/, '$1'],
  [/^(gemma-4-\d+b(?:-a\d+b)?)$/, '$1-it'],
];

interface NameIndex {
  exact: Map<string, CatalogModel>;
  alias: Map<string, CatalogModel>;
  /** Names without their date pin that exactly one model has. */
  onlyDated: Map<string, CatalogModel>;
  /** Names without their date pin: the newest model of that name. */
  newestDated: Map<string, CatalogModel>;
  newerFirst: CatalogModel[];
  /** Every name and alias, newer models first. */
  spellings: { spelling: Spelling; model: CatalogModel }[];
}

/**
 * A name without its decorations, and the provider if a decoration names it. Channels of several providers name none.
 */
interface PlainName {
  name: string;
  provider: Provider | null;
}

const indexes = new WeakMap<Catalog, NameIndex>();

/**
 * The model that `name` certainly means at `nowMs`, or `null`. Names are unique across providers, so the name is
 * sufficient.
 */
export function matchModel(catalog: Catalog, name: string, nowMs: number): Match | null {
  if (name.length > MODEL_NAME_LENGTH_MAX || FINE_TUNED.test(name)) return null;
  const index = nameIndex(catalog);
  const found = certainMatch({ index, dated: index.onlyDated, nowMs }, name);
  return found && isOfProvider(found.match.model, found.named) ? found.match : null;
}

/**
 * The model that `name` means or is nearest to at `nowMs`, or `null`. With `provider`, only that provider's models are
 * found, unless a decoration of the name identifies another.
 */
export function lookUpModel(catalog: Catalog, name: string, nowMs: number, provider?: Provider): LookUpMatch | null {
  if (name.length > MODEL_NAME_LENGTH_MAX) return null;
  const index = nameIndex(catalog);
  const base = baseName(name);
  const found = certainMatch({ index, dated: index.newestDated, nowMs }, base);
  if (found) {
    if (!isOfProvider(found.match.model, found.named ?? provider ?? null)) return null;
    return base === name ? found.match : { ...found.match, strategy: 'normalized' };
  }
  const plain = plainName(base);
  return fuzzyMatch(index, plain.name, plain.provider ?? provider ?? null);
}

/** The model of a key in the catalog's own data: `provider/` and an exact name or alias. */
export function modelOfKey(catalog: Catalog, modelKey: string): CatalogModel | null {
  const slash = modelKey.indexOf('/');
  const { exact, alias } = nameIndex(catalog);
  const name = modelKey.slice(slash + 1);
  const model = exact.get(name) ?? alias.get(name);
  return model?.provider === modelKey.slice(0, slash) ? model : null;
}

function isOfProvider(model: CatalogModel, provider: Provider | null): boolean {
  return provider === null || model.provider === provider;
}

/** The input of the certain rules: the names, those that a missing pin may mean, and the time of the question. */
interface Search {
  index: NameIndex;
  dated: Map<string, CatalogModel>;
  nowMs: number;
}

function certainMatch(search: Search, name: string): { match: Match; named: Provider | null } | null {
  const qualified = /^(openai|anthropic|google)\/(.+)$/.exec(name);
  const match = findName(search, qualified?.[2] ?? name);
  if (match) return { match, named: readProvider(qualified?.[1]) };
  const line = newestOfLine(search, name);
  if (line) return { match: line, named: null };
  const plain = plainName(name);
  const found = findPlain(search, plain.name);
  if (found) return { match: found, named: plain.provider };
  const [end = '', batch] = VARIANT.exec(plain.name) ?? [];
  const served = end === '' ? null : findPlain(search, plain.name.slice(0, -end.length));
  const variant: Variant = batch === undefined ? 'fast' : 'batch';
  return served && { match: { ...served, variant }, named: plain.provider };
}

/** The model of a name without decorations, in any spelling. */
function findPlain(search: Search, name: string): Match | null {
  for (const spelling of [name, ...listRespellings(name)]) {
    const found = findName(search, spelling);
    if (found) return { ...found, strategy: 'normalized' };
  }
  return null;
}

/** The newest chat model in the line of a moving name of OpenRouter, among those that every account may use. */
function newestOfLine({ index, nowMs }: Search, name: string): Match | null {
  const [, provider, brand = '', line = ''] = LINE.exec(name.trim().toLowerCase()) ?? [];
  // Google's newest models do not have Pro in their names, and the router's name means one of them.
  if (provider === undefined || (brand === 'gemini-' && line === 'pro')) return null;
  const names = brand === 'claude-' ? new RegExp(`^claude-${line}-[\\d-]+$`) : new RegExp(`^${brand}[\\d.]+-${line}$`);
  const released = index.newerFirst.filter(
    (model) =>
      model.provider === provider &&
      model.kind === 'chat' &&
      !model.preview &&
      model.availability === undefined &&
      Date.parse(model.releasedAt ?? '') <= nowMs &&
      [model.model, ...model.aliases].some((candidate) => names.test(candidate)),
  );
  return released[0] ? { model: released[0], strategy: 'normalized', newestOfLine: true } : null;
}

function findName({ index, dated, nowMs }: Search, name: string): Match | null {
  const exact = index.exact.get(name);
  if (exact) return { model: exact, strategy: 'exact' };
  const alias = index.alias.get(name);
  if (alias) return { model: alias, strategy: 'alias' };
  const pin = DATE_PIN.exec(name)?.[0];
  if (pin === undefined) {
    const snapshot = dated.get(name);
    return snapshot ? { model: snapshot, strategy: 'snapshot' } : null;
  }
  const model = index.exact.get(name.slice(0, -pin.length));
  if (!model || DATE_PIN.test(model.model) || !canHavePin(model, pin, nowMs)) return null;
  return { model, strategy: 'snapshot', unlistedPin: true };
}

/** Whether a snapshot of that day can exist: a day of the calendar, from the model's release up to today. */
function canHavePin({ releasedAt }: CatalogModel, pin: string, nowMs: number): boolean {
  const day = pin.replaceAll(/\D/g, '').replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3');
  const dayMs = Date.parse(day);
  if (releasedAt === undefined || Number.isNaN(dayMs) || utcDay(dayMs) !== day) return false;
  return dayMs >= Date.parse(releasedAt) && dayMs <= nowMs;
}

function fuzzyMatch(index: NameIndex, name: string, provider: Provider | null): LookUpMatch | null {
  const candidates = index.spellings.filter(({ model }) => isOfProvider(model, provider));
  let best: { model: CatalogModel; score: number } | null = null;
  for (const spelling of [name, ...listRespellings(name)]) {
    const nearest = findNearest(parseSpelling(spelling), candidates);
    if (nearest && nearest.score > (best?.score ?? 0)) best = { model: nearest.candidate.model, score: nearest.score };
  }
  return best && { ...best, strategy: 'fuzzy' };
}

/** The base name of a fine-tuned or free model; every other name unchanged. */
function baseName(name: string): string {
  return name
    .replace(/(^\s*|[/:])ft:([^:]+)(?::.*)?$/i, '$1$2')
    .replace(/:ft-[^/]*$/i, '')
    .replace(/\.ft-[0-9a-z-]+$/i, '')
    .replace(/:free\s*$/i, '');
}

/** The name without decorations: lower case, without path, channel, and Bedrock or Vertex version. */
function plainName(decorated: string): PlainName {
  let name = decorated
    .trim()
    .toLowerCase()
    .replace(/[\u2010-\u2015\u2212]/g, '-');
  let provider: Provider | null = null;
  for (let round = 0; round < PREFIXES_MAX; round += 1) {
    const prefix = PREFIXES.map((candidate) => candidate.exec(name)).find((found) => found);
    if (!prefix) break;
    provider = readProvider(prefix.groups?.provider) ?? provider;
    name = name.slice(prefix[0].length);
  }
  name = name
    .replace(ROUTING, '')
    .replace(/^(claude-.+)\[1m\]$/, '$1')
    .replace(/^(claude-.*\d)-v\d+(?::\d+(?::\d+k)?)?$/, '$1')
    .replace(/^claude-3-5-sonnet-v2$/, 'claude-3-5-sonnet-20241022')
    .replace(/-v\d(?=@\d{8}$)/, '')
    .replace(/@(?=(?:\d{8}|\d{3})$)/, '-')
    .replace(/@(?:latest|default)$/, '')
    .replace(/^gpt-35-/, 'gpt-3.5-');
  return { name, provider };
}

/** The provider that a decoration names. */
function readProvider(decoration: string | undefined): Provider | null {
  if (decoration === undefined) return null;
  if (decoration === 'anthropic') return 'anthropic';
  return decoration.includes('openai') ? 'openai' : 'google';
}

/**
 * Other spellings of the same version: the provider's name for a router's, dots for dashes, dashes for dots, version
 * and family in the other order.
 */
function listRespellings(name: string): string[] {
  const renamed = ROUTER_NAMES.filter(([pattern]) => pattern.test(name)).map(([pattern, to]) =>
    name.replace(pattern, to),
  );
  if (renamed.length > 0) return renamed;
  if (name.startsWith('gpt-')) return [name.replace(/-(\d{4})(\d{2})(\d{2})$/, '-$1-$2-$3')];
  if (name.startsWith('gemini-'))
    return [name.replace(/^gemini-(pro|flash-lite|flash)-(\d\.\d)(?=-|$)/, 'gemini-$2-$1')];
  if (!name.startsWith('claude-')) return [];
  const dashed = name.replaceAll('.', '-');
  return [
    dashed,
    dashed.replace(/^(claude(?:-instant)?-\d)-(\d)$/, '$1.$2'),
    dashed.replace(/^claude-(\d{1,2}(?:-\d{1,2})?)-([a-z]+)(?=-|@|$)/, 'claude-$2-$1'),
    dashed.replace(/^claude-([a-z]+)-(\d{1,2}(?:-\d{1,2})?)(?=-|@|$)/, 'claude-$2-$1'),
  ];
}

function nameIndex(catalog: Catalog): NameIndex {
  const known = indexes.get(catalog);
  if (known) return known;
  const newerFirst = [...catalog.models].sort(byReleaseThenName);
  const groups = groupDatedModels(catalog.models);
  const index: NameIndex = {
    exact: new Map(catalog.models.map((model) => [model.model, model])),
    alias: new Map(catalog.models.flatMap((model) => model.aliases.map((alias) => [alias, model] as const))),
    onlyDated: new Map(
      groups.flatMap(([name, [only, ...others]]) => (only && others.length === 0 ? [[name, only]] : [])),
    ),
    newestDated: new Map(groups.flatMap(([name, models]) => (areSnapshots(models) ? [[name, newestPin(models)]] : []))),
    newerFirst,
    spellings: newerFirst.flatMap((model) =>
      [model.model, ...model.aliases].map((name) => ({ spelling: parseSpelling(name), model })),
    ),
  };
  indexes.set(catalog, index);
  return index;
}

/** The models with a date pin, by their name without it. */
function groupDatedModels(models: readonly CatalogModel[]): [string, [CatalogModel, ...CatalogModel[]]][] {
  const groups = new Map<string, [CatalogModel, ...CatalogModel[]]>();
  for (const model of models) {
    const name = model.model.replace(DATE_PIN, '');
    if (name === model.model) continue;
    const group = groups.get(name);
    if (group) group.push(model);
    else groups.set(name, [model]);
  }
  return [...groups];
}

/** Whether models with one name are snapshots of the same model: equal provider, family and kind. */
function areSnapshots([first, ...others]: [CatalogModel, ...CatalogModel[]]): boolean {
  return others.every(
    (other) => other.provider === first.provider && other.family === first.family && other.kind === first.kind,
  );
}

function newestPin(models: [CatalogModel, ...CatalogModel[]]): CatalogModel {
  return models.reduce((newest, model) => (datePin(model) > datePin(newest) ? model : newest));
}

function datePin({ model }: CatalogModel): string {
  return (DATE_PIN.exec(model)?.[0] ?? '').replaceAll(/\D/g, '');
}

/** Newer first, unknown dates last; then by name, so that the order does not depend on the catalog's. */
function byReleaseThenName(one: CatalogModel, other: CatalogModel): number {
  return compare(other.releasedAt ?? '', one.releasedAt ?? '') || compare(one.model, other.model);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
