/**
 * The lifecycle status of a model on a day, computed from its cited dates, and the provider's replacement.
 *
 * After its shutdown a model is RETIRED; with a future shutdown or an announcement it is DEPRECATED. A day begins at
 * 00:00 UTC. A missing list entry is not a date and changes nothing.
 */
import { DAY_MS } from '../platform/time.ts';
import { servedBy } from './channel.ts';
import { modelOfKey } from './matching.ts';
import { type Catalog, type CatalogModel, type Lifecycle, modelKeyOf } from './model.ts';

export type ModelStatus = 'ACTIVE' | 'DEPRECATED' | 'RETIRED';

/** Maximum length of a chain of replacements. */
const CHAIN_LENGTH_MAX = 20;

export function statusOn(model: CatalogModel, day: string): ModelStatus {
  const { announcedAt, shutdownAt, status } = model.lifecycle;
  if (shutdownAt !== undefined && shutdownAt <= day) return 'RETIRED';
  if (shutdownAt !== undefined || (announcedAt !== undefined && announcedAt <= day)) return 'DEPRECATED';
  // Without a date the provider's own status applies.
  return announcedAt === undefined ? status : 'ACTIVE';
}

/**
 * Whether the model has certainly ended: its provider gives a date that has come. Google's dates are the earliest
 * possible ones, and count only if its pages were read on that day or later.
 */
export function isCertainlyRetired(model: CatalogModel, day: string): boolean {
  const { shutdownAt, confidence, source } = model.lifecycle;
  if (shutdownAt === undefined || shutdownAt > day || confidence === 'secondary') return false;
  return model.provider !== 'google' || source.checkedAt >= shutdownAt;
}

/**
 * The model with the dates of the channel that its name states. Bedrock and Google Cloud set their own dates for
 * others' models: then the channel's dates apply, or, if the catalog has none, no dates at all.
 */
export function asServed(model: CatalogModel, name: string): CatalogModel {
  const there = lifecycleThere(model, name);
  return there === null ? model : { ...model, lifecycle: there.lifecycle };
}

/** Whether the provider's own dates do not apply to the channel in the name, and no others are known. */
export function areDatesUnknown(model: CatalogModel, name: string): boolean {
  return lifecycleThere(model, name)?.isKnown === false;
}

/**
 * The lifecycle at another channel; `null` if the provider's applies, or if the catalog has nothing that could differ.
 */
function lifecycleThere(model: CatalogModel, name: string): { lifecycle: Lifecycle; isKnown: boolean } | null {
  const { channel } = servedBy(name);
  if ((channel !== 'bedrock' && channel !== 'vertex') || model.provider === 'google') return null;
  const { shutdownAt, announcedAt, earliestShutdownAt: _earliest, status, ...rest } = model.lifecycle;
  const own = model.channels?.find((each) => each.channel === channel)?.lifecycle;
  if (own) return { lifecycle: { ...rest, ...own }, isKnown: true };
  if (status === 'ACTIVE' && shutdownAt === undefined && announcedAt === undefined) return null;
  const { source, confidence } = rest;
  return { lifecycle: { status: 'ACTIVE', source, confidence }, isKnown: false };
}

/** Whole days until the shutdown: 0 on its day, below 0 after it, `null` without a date. */
export function daysLeft({ lifecycle: { shutdownAt } }: CatalogModel, day: string): number | null {
  return shutdownAt === undefined ? null : Math.round((Date.parse(shutdownAt) - Date.parse(day)) / DAY_MS);
}

export interface Replacement {
  /** The key that the provider names. */
  modelKey: string;
  /** The catalog's model; `null` if the catalog does not have it. */
  model: CatalogModel | null;
  /** The live model at the end of the chain, with the key in the last link. */
  live: { modelKey: string; model: CatalogModel } | null;
}

/** The provider's replacement of a model, followed until a live one. `null` if the provider names none. */
export function findReplacement(catalog: Catalog, model: CatalogModel, day: string): Replacement | null {
  const named = model.lifecycle.replacement;
  if (named === undefined) return null;
  const first = modelOfKey(catalog, named);
  let link: { modelKey: string; model: CatalogModel | null } = { modelKey: named, model: first };
  const seen = new Set([modelKeyOf(model)]);
  for (let hop = 0; hop < CHAIN_LENGTH_MAX && link.model; hop += 1) {
    if (statusOn(link.model, day) === 'ACTIVE')
      return { modelKey: named, model: first, live: { ...link, model: link.model } };
    const next: string | undefined = link.model.lifecycle.replacement;
    if (next === undefined || seen.has(modelKeyOf(link.model))) break;
    seen.add(modelKeyOf(link.model));
    link = { modelKey: next, model: modelOfKey(catalog, next) };
  }
  return { modelKey: named, model: first, live: null };
}
