/**
 * Merges an upstream list into the curated catalog: prices, limits and capabilities of known models, and new models.
 *
 * Nothing else changes: a model that upstream lacks is not retired, no model is removed, and no lifecycle changes. A
 * price keeps what upstream omits: tiers, future announced changes, the batch share. A capability that upstream does
 * not list stays. Merging the same list again changes nothing.
 */
import { sameRates } from '../diff.ts';
import { type CatalogModel, type CatalogPricing, type CatalogRates, modelKeyOf } from '../model.ts';
import { pricingAt } from '../prices.ts';
import type { ImportedModel, ImportedPricing, Skipped, Upstream } from './imported.ts';
import { newModel, whyNotAdded } from './newcomer.ts';

export interface ImportOptions {
  /** The upstream's name in the catalog. */
  sourceLabel: string;
  /** Date of the copy, such as `2026-11-20`. */
  date: string;
}

export interface Limits {
  contextTokens: number | null;
  maxOutputTokens: number | null;
}

export interface ImportReport {
  added: string[];
  repriced: { modelKey: string; before: CatalogPricing | null; after: CatalogPricing }[];
  limits: { modelKey: string; before: Limits; after: Limits }[];
  capabilities: { modelKey: string; added: string[] }[];
  /** Models of the catalog that upstream lacks. They do not change. */
  absentUpstream: string[];
  skipped: Skipped[];
}

export interface Import {
  models: CatalogModel[];
  report: ImportReport;
}

export function mergeImport(curated: readonly CatalogModel[], upstream: Upstream, options: ImportOptions): Import {
  const { updates, newcomers, skipped } = pairUp(curated, upstream);
  const evidence = { ...options, url: upstream.url };
  const added = newcomers.map((imported) => newModel(withReachableTiers(imported), evidence));
  const pairs = curated.map((before) => ({ before, after: update(before, updates.get(before), options) }));
  return {
    models: [...pairs.map(({ after }) => after), ...added].sort(byKey),
    report: {
      added: added.map(modelKeyOf).sort(),
      repriced: pairs.flatMap(({ before, after }) =>
        after.pricing && after.pricing !== before.pricing
          ? [{ modelKey: modelKeyOf(after), before: before.pricing ?? null, after: after.pricing }]
          : [],
      ),
      limits: pairs.flatMap(({ before, after }) => {
        const change = { modelKey: modelKeyOf(after), before: tokenLimits(before), after: tokenLimits(after) };
        const { contextTokens, maxOutputTokens } = change.before;
        return contextTokens === change.after.contextTokens && maxOutputTokens === change.after.maxOutputTokens
          ? []
          : [change];
      }),
      capabilities: pairs.flatMap(({ before, after }) => {
        const gained = after.capabilities.filter((capability) => !before.capabilities.includes(capability));
        return gained.length > 0 ? [{ modelKey: modelKeyOf(after), added: gained }] : [];
      }),
      absentUpstream: curated.filter((model) => !updates.has(model)).map(modelKeyOf),
      skipped,
    },
  };
}

/**
 * Pairs upstream entries with models. The entry of a model's own name wins over the entry of an alias, and the first
 * entry of a name over the later ones, even if the first is not added: a second import then finds the same pairs.
 */
function pairUp(curated: readonly CatalogModel[], upstream: Upstream) {
  const own = new Map<string, CatalogModel>(curated.map((model) => [modelKeyOf(model), model]));
  const aliases = new Map<string, CatalogModel>(
    curated.flatMap((model) => model.aliases.map((alias) => [`${model.provider}/${alias}`, model] as const)),
  );
  const names = new Set(curated.flatMap((model) => [model.model, ...model.aliases]));
  const updates = new Map<CatalogModel, ImportedModel>();
  const newcomers: ImportedModel[] = [];
  const listed = new Set<string>();
  const skipped = [...upstream.skipped];
  const skip = (imported: ImportedModel, reason: string) => skipped.push({ name: modelKeyOf(imported), reason });

  const ownFirst = Object.groupBy(upstream.models, (imported) => (own.has(modelKeyOf(imported)) ? 'own' : 'others'));
  for (const imported of [...(ownFirst.own ?? []), ...(ownFirst.others ?? [])]) {
    const key = modelKeyOf(imported);
    const model = own.get(key) ?? aliases.get(key);
    const reason = whyNotAdded(imported);
    if (listed.has(key)) skip(imported, 'is listed twice');
    else if (model && updates.has(model))
      skip(imported, `is another name of ${modelKeyOf(model)}, which is read from its own entry`);
    else if (model) updates.set(model, imported);
    else if (names.has(imported.model)) skip(imported, 'has the name of a model of another provider');
    else if (reason) skip(imported, reason);
    else {
      newcomers.push(imported);
      names.add(imported.model);
    }
    listed.add(key);
  }
  return { updates, newcomers, skipped };
}

function update(model: CatalogModel, imported: ImportedModel | undefined, options: ImportOptions): CatalogModel {
  if (!imported) return model;
  const inputTokens = Math.max(model.contextTokens ?? 0, imported.inputTokens ?? 0) || undefined;
  const contextTokens = imported.contextTokens ?? inputTokens;
  const maxOutputTokens = imported.maxOutputTokens ?? model.maxOutputTokens;
  const pricing = updatePricing(model.pricing, reachable(imported.pricing, contextTokens), options);
  const capabilities = union(model.capabilities, imported.capabilities);
  return {
    ...model,
    ...(pricing && { pricing }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    capabilities,
  };
}

function withReachableTiers(imported: ImportedModel): ImportedModel {
  const pricing = reachable(imported.pricing, imported.contextTokens ?? imported.inputTokens);
  return { ...imported, ...(pricing && { pricing }) };
}

/** Removes price tiers for prompts longer than the context. */
function reachable(
  pricing: ImportedPricing | undefined,
  contextTokens = Number.POSITIVE_INFINITY,
): ImportedPricing | undefined {
  if (!pricing?.tiers) return pricing;
  const { tiers, ...rest } = pricing;
  const within = tiers.filter(({ inputTokensAbove }) => inputTokensAbove < contextTokens);
  return within.length > 0 ? { ...rest, tiers: within } : rest;
}

/**
 * The existing price if upstream agrees with the rates in force on the day of its copy; otherwise upstream's rates
 * replace the ones in force. Announced changes that have taken effect are dropped, future ones stay.
 */
function updatePricing(
  was: CatalogPricing | undefined,
  stated: ImportedPricing | undefined,
  { sourceLabel, date }: ImportOptions,
) {
  if (!stated) return was;
  const source = `${sourceLabel} ${date}`;
  if (!was) return { ...stated, source };
  const inForce = pricingAt(was, Date.parse(`${date}T00:00:00Z`));
  const tiers = stated.tiers?.map((tier) =>
    withoutImpossible({ ...knownTier(inForce, tier.inputTokensAbove), ...tier }),
  );
  const merged = withoutImpossible({ ...inForce, ...stated, ...(tiers && { tiers }) });
  if (sameRates(merged, inForce)) return was;
  const scheduled = was.scheduled?.filter(({ from }) => from > date) ?? [];
  const allStated = scheduled.length === 0 && sameRates(merged, { ...stated, source });
  return {
    ...merged,
    ...(scheduled.length > 0 && { scheduled }),
    source: allStated ? source : `${source}; what it does not state: ${origin(was.source)}`,
  };
}

/** The existing rates of a tier, used if upstream omits them. */
function knownTier({ tiers = [] }: CatalogPricing, threshold: number) {
  return tiers.find(({ inputTokensAbove }) => inputTokensAbove === threshold) ?? {};
}

/** Removes a cached rate that upstream did not confirm if it exceeds the new input rate. */
function withoutImpossible<Rated extends CatalogRates>(rated: Rated): Rated {
  const { cachedInputUsdPerMillion: cached, ...rest } = rated;
  const { inputUsdPerMillion: input } = rated;
  return cached !== undefined && input !== undefined && cached > input ? (rest as Rated) : rated;
}

/** The original source of a price after any number of updates. */
function origin(source: string): string {
  return source.split('; what it does not state: ').at(-1) ?? source;
}

function tokenLimits({ contextTokens, maxOutputTokens }: CatalogModel): Limits {
  return { contextTokens: contextTokens ?? null, maxOutputTokens: maxOutputTokens ?? null };
}

function union(known: string[], stated: readonly string[]): string[] {
  return stated.every((capability) => known.includes(capability)) ? known : [...new Set([...known, ...stated])].sort();
}

/** Sorts by provider, then model, like the catalog. */
function byKey(a: CatalogModel, b: CatalogModel): number {
  return modelKeyOf(a) < modelKeyOf(b) ? -1 : 1;
}
