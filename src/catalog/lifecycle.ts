/**
 * Where a model stands on a day, computed from its cited dates, and what the provider says to use instead.
 *
 * A shutdown that has come is RETIRED; one still to come, or an announcement, is DEPRECATED. A day begins at 00:00 UTC.
 * Absence from a list is no date and changes nothing.
 */
import { matchModel } from './matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf } from './model.ts';

export type ModelStatus = 'ACTIVE' | 'DEPRECATED' | 'RETIRED';

/** No chain of replacements is followed further. */
const CHAIN_LENGTH_MAX = 20;

export function statusOn(model: CatalogModel, day: string): ModelStatus {
  const { announcedAt, shutdownAt, status } = model.lifecycle;
  if (shutdownAt !== undefined && shutdownAt <= day) return 'RETIRED';
  if (shutdownAt !== undefined || (announcedAt !== undefined && announcedAt <= day)) return 'DEPRECATED';
  // Without a date, the provider's own word stands.
  return announcedAt === undefined ? status : 'ACTIVE';
}

export interface Replacement {
  /** As the provider names it. */
  modelKey: string;
  /** What it is in the catalog; `null` for a model that the catalog does not have. */
  model: CatalogModel | null;
  /** The live model at the end of the provider's chain, under the name that the last link gives it. */
  live: { modelKey: string; model: CatalogModel } | null;
}

/** The provider's replacement of a model, followed from link to link until one is live. `null` where none is named. */
export function replacementOf(catalog: Catalog, model: CatalogModel, day: string): Replacement | null {
  const named = model.lifecycle.replacement;
  if (named === undefined) return null;
  const first = findByKey(catalog, named);
  let link: { modelKey: string; model: CatalogModel | null } = { modelKey: named, model: first };
  const seen = new Set([modelKeyOf(model)]);
  for (let hop = 0; hop < CHAIN_LENGTH_MAX && link.model; hop += 1) {
    if (statusOn(link.model, day) === 'ACTIVE')
      return { modelKey: named, model: first, live: { ...link, model: link.model } };
    const next: string | undefined = link.model.lifecycle.replacement;
    if (next === undefined || seen.has(modelKeyOf(link.model))) break;
    seen.add(modelKeyOf(link.model));
    link = { modelKey: next, model: findByKey(catalog, next) };
  }
  return { modelKey: named, model: first, live: null };
}

/** The model behind a key that the catalog's own data use: its name or an alias, and nothing looser. */
function findByKey(catalog: Catalog, modelKey: string): CatalogModel | null {
  const match = matchModel(catalog, modelKey);
  return match && (match.strategy === 'exact' || match.strategy === 'alias') ? match.model : null;
}
