/**
 * The models in use that are on the radar, and why. Pure: the day, the catalog and the usage are arguments.
 *
 * All names of a model of the catalog (its aliases, pins that the catalog does not list, spellings of channels) are one
 * item. A snapshot that the catalog lists has its own dates and prices, and so is an item of its own.
 */
import { asServed, daysLeft, type ModelStatus, statusOn } from '../../catalog/lifecycle.ts';
import { matchModel } from '../../catalog/matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf } from '../../catalog/model.ts';
import { findReviewedReplacement, type Reviews } from '../../catalog/reviews.ts';
import type { RADAR_REASONS } from '../../contract/model-radar.ts';
import type { NanoUsd } from '../../domain/money.ts';
import { utcDay } from '../../platform/time.ts';

type RadarReason = (typeof RADAR_REASONS)[number];

/** Usage under one name, from the roll-ups. */
export interface NamedUse {
  key: string;
  calls: number;
  unpricedCalls: number;
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: NanoUsd;
}

export interface RadarModel extends Omit<NamedUse, 'key'> {
  modelKey: string;
  /** `null` for a name that the catalog does not have. */
  model: CatalogModel | null;
  /** The names under which it was used. */
  names: string[];
  status: ModelStatus | 'UNKNOWN';
  shutdownAt: string | null;
  daysLeft: number | null;
  reasons: RadarReason[];
}

export interface RadarView {
  catalog: Catalog;
  reviews: Reviews;
  nowMs: number;
  /** A model that ends in more days than this is not on the radar for its end. */
  horizonDays: number;
}

/** Ordered by the earliest end, then by cost. */
export function modelsOnRadar(view: RadarView, uses: readonly NamedUse[]): RadarModel[] {
  const named = uses.filter(({ key }) => key !== '');
  const byModel = Map.groupBy(named, ({ key }) => itemKey(view, key));
  return [...byModel]
    .map(([modelKey, same]) => radarModel(view, modelKey, same))
    .filter(({ reasons }) => reasons.length > 0)
    .sort(endsFirst);
}

/** The key of a name's item: the catalog's model, or the name itself. */
export function itemKey({ catalog, nowMs }: Pick<RadarView, 'catalog' | 'nowMs'>, name: string): string {
  const match = matchModel(catalog, name, nowMs);
  return match ? modelKeyOf(match.model) : name;
}

function radarModel(view: RadarView, modelKey: string, same: readonly NamedUse[]): RadarModel {
  const { catalog, nowMs } = view;
  const day = utcDay(nowMs);
  const sum = (of: (use: NamedUse) => number) => same.reduce((total, use) => total + of(use), 0);
  const names = same.map(({ key }) => key);
  const model = matchModel(catalog, modelKey, nowMs)?.model ?? null;
  const dated = model && datedFor(model, names);
  const unpricedCalls = sum((use) => use.unpricedCalls);
  return {
    modelKey,
    model,
    names,
    status: dated ? statusOn(dated, day) : 'UNKNOWN',
    shutdownAt: dated?.lifecycle.shutdownAt ?? null,
    daysLeft: dated && daysLeft(dated, day),
    reasons: [...(dated ? radarReasons(view, dated, day) : []), ...(unpricedCalls > 0 ? (['UNPRICED'] as const) : [])],
    calls: sum((use) => use.calls),
    unpricedCalls,
    inputTokens: sum((use) => use.inputTokens),
    outputTokens: sum((use) => use.outputTokens),
    costNanoUsd: same.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n),
  };
}

/** The dates of the channel if the model was used only there, otherwise those of the provider's own API. */
function datedFor(model: CatalogModel, names: readonly string[]): CatalogModel {
  const [first = ''] = names;
  return names.every((name) => asServed(model, name) !== model) ? asServed(model, first) : model;
}

function radarReasons({ catalog, reviews, horizonDays }: RadarView, model: CatalogModel, day: string): RadarReason[] {
  const left = daysLeft(model, day);
  if (left !== null && left > horizonDays) return [];
  const status = statusOn(model, day);
  const reasons: RadarReason[] = status === 'ACTIVE' ? [] : [status];
  if (left !== null && left > 0) reasons.push('ENDING');
  if (model.lifecycle.replacement !== undefined) reasons.push('OFFICIAL_SUCCESSOR');
  if (findReviewedReplacement(catalog, reviews, model, day)?.model) reasons.push('REVIEWED_SUCCESSOR');
  return reasons;
}

function endsFirst(a: RadarModel, b: RadarModel): number {
  const byEnd = daysLeftRank(a) - daysLeftRank(b);
  const byCost = a.costNanoUsd === b.costNanoUsd ? 0 : a.costNanoUsd < b.costNanoUsd ? 1 : -1;
  return byEnd || byCost || (a.modelKey < b.modelKey ? -1 : 1);
}

/** Days left, for the order: a model retired on an unknown day comes first, and one without a date last. */
function daysLeftRank({ daysLeft: left, status }: RadarModel): number {
  return left ?? (status === 'RETIRED' ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER);
}
