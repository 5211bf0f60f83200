/**
 * Search for models: those that match every word of the query, or else those with the most similar names.
 */
import { daysLeft, findReplacement, statusOn } from '../catalog/lifecycle.ts';
import { type Catalog, type CatalogModel, modelKeyOf } from '../catalog/model.ts';
import { pricingAt } from '../catalog/prices.ts';
import { findReviewedReplacement, type Reviews } from '../catalog/reviews.ts';
import { currentCatalog } from '../config/catalog.ts';
import { currentReviews } from '../config/reviews.ts';
import type { Env } from '../env.ts';
import { utcDay } from '../platform/time.ts';

/** The most models in one search result; the catalog has some hundreds. */
const FOUND_MAX = 500;
const NEAR_MAX = 8;
/** Below this similarity, names have only a few letters in common. */
const SIMILARITY_MIN = 0.3;
const WORDS_MAX = 12;

export interface ListedModel {
  modelKey: string;
  displayName: string;
  status: 'ACTIVE' | 'DEPRECATED' | 'RETIRED';
  announcedAt: string | null;
  shutdownAt: string | null;
  /** Whole days until the shutdown; `null` without a future one. */
  daysLeft: number | null;
  /**
   * The replacement of a model that ends, if its provider or an operator's review names one. The best computed
   * candidate is only on the model's page.
   */
  replacementModelKey: string | null;
  releasedAt: string | null;
  inputUsdPerMillion: number | null;
  outputUsdPerMillion: number | null;
}

export interface FoundModels {
  catalogVersion: string;
  /** No model matches every word; these have similar names. */
  nearOnly: boolean;
  models: ListedModel[];
}

export interface ListedCatalog {
  catalogVersion: string;
  total: number;
  /** With a future shutdown, the next one first. */
  ending: ListedModel[];
  /** In use, newest first. */
  newest: ListedModel[];
}

/** The data of a list. */
export interface ListView {
  catalog: Catalog;
  reviews: Reviews;
  nowMs: number;
}

type Defer = (work: Promise<unknown>) => void;

export async function listView(env: Env, nowMs: number, defer: Defer): Promise<ListView> {
  const [{ catalog }, { reviews }] = await Promise.all([currentCatalog(env, defer), currentReviews(env, defer)]);
  return { catalog, reviews, nowMs };
}

export async function findModels(env: Env, query: string, nowMs: number, defer: Defer): Promise<FoundModels> {
  const view = await listView(env, nowMs, defer);
  const { catalog } = view;
  const found = withEveryWord(catalog, query);
  const models = found.length > 0 ? found : nearestModels(catalog, query);
  return {
    catalogVersion: catalog.version,
    nearOnly: found.length === 0,
    models: models.map((model) => listed(view, model)),
  };
}

export async function listCatalog(env: Env, nowMs: number, defer: Defer, rowsMax: number): Promise<ListedCatalog> {
  const view = await listView(env, nowMs, defer);
  const { catalog } = view;
  const day = utcDay(nowMs);
  const models = catalog.models.map((model) => listed(view, model));
  const ending = models.filter(({ daysLeft }) => daysLeft !== null);
  const live = models.filter(
    ({ status, releasedAt }) => status === 'ACTIVE' && releasedAt !== null && releasedAt <= day,
  );
  return {
    catalogVersion: catalog.version,
    total: models.length,
    ending: ending.toSorted((one, other) => compare(one.shutdownAt, other.shutdownAt)).slice(0, rowsMax),
    newest: live.toSorted((one, other) => compare(other.releasedAt, one.releasedAt)).slice(0, rowsMax),
  };
}

/** The models whose names are most similar to a text, the most similar first. */
export function nearestModels(catalog: Catalog, text: string): CatalogModel[] {
  const searched = letterPairs(text);
  return catalog.models
    .map((model) => ({
      model,
      similarity: Math.max(...searchedNames(model).map((name) => similarity(searched, letterPairs(name)))),
    }))
    .filter((candidate) => candidate.similarity >= SIMILARITY_MIN)
    .toSorted((one, other) => other.similarity - one.similarity || newerFirst(one.model, other.model))
    .slice(0, NEAR_MAX)
    .map(({ model }) => model);
}

export function listed(view: ListView, model: CatalogModel): ListedModel {
  const { announcedAt = null, shutdownAt = null } = model.lifecycle;
  const pricing = model.pricing && pricingAt(model.pricing, view.nowMs);
  const day = utcDay(view.nowMs);
  const status = statusOn(model, day);
  return {
    modelKey: modelKeyOf(model),
    displayName: model.displayName,
    status,
    announcedAt,
    shutdownAt,
    daysLeft: status === 'RETIRED' ? null : daysLeft(model, day),
    replacementModelKey: status === 'ACTIVE' ? null : saidReplacement(view, model, day),
    releasedAt: model.releasedAt ?? null,
    inputUsdPerMillion: pricing?.inputUsdPerMillion ?? null,
    outputUsdPerMillion: pricing?.outputUsdPerMillion ?? null,
  };
}

/** The provider's replacement, or a review's. */
function saidReplacement({ catalog, reviews }: ListView, model: CatalogModel, day: string): string | null {
  const official = findReplacement(catalog, model, day)?.live?.modelKey;
  if (official !== undefined) return official;
  const reviewed = findReviewedReplacement(catalog, reviews, model, day)?.model;
  return reviewed ? modelKeyOf(reviewed) : null;
}

/** Exact names first, then names that begin with the query, then newer models. */
function withEveryWord(catalog: Catalog, query: string): CatalogModel[] {
  const text = query.toLowerCase();
  const words = text.split(/\s+/).filter(Boolean).slice(0, WORDS_MAX);
  if (words.length === 0) return [];
  const rank = (model: CatalogModel) => {
    const names = searchedNames(model).map((name) => name.toLowerCase());
    return names.includes(text) ? 0 : names.some((name) => name.startsWith(text)) ? 1 : 2;
  };
  return catalog.models
    .filter((model) => {
      const said = [...searchedNames(model), model.family, model.kind].join(' ').toLowerCase();
      return words.every((word) => said.includes(word));
    })
    .toSorted((one, other) => rank(one) - rank(other) || newerFirst(one, other))
    .slice(0, FOUND_MAX);
}

function searchedNames(model: CatalogModel): string[] {
  return [modelKeyOf(model), model.model, model.displayName, ...model.aliases];
}

function newerFirst(one: CatalogModel, other: CatalogModel): number {
  return compare(other.releasedAt ?? '', one.releasedAt ?? '') || compare(one.model, other.model);
}

function compare(one: string | null, other: string | null): number {
  return (one ?? '') < (other ?? '') ? -1 : (one ?? '') > (other ?? '') ? 1 : 0;
}

/** Pairs of neighbouring letters and digits. */
function letterPairs(text: string): Set<string> {
  const letters = text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  return new Set(Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)));
}

/** Sørensen and Dice: the share of pairs that both have. */
function similarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of one) if (other.has(pair)) common += 1;
  return (2 * common) / Math.max(1, one.size + other.size);
}
