/**
 * Ranks the models that could replace another, and gives the reasons why others cannot. Pure.
 *
 * A score is a weighted mean of six similarities between 0 and 1; the weights depend on the purpose (`WEIGHTS`). No
 * benchmark is used: strength is estimated from what providers charge and offer, so every computed candidate requires
 * an evaluation on the caller's own workload. Equal scores are sorted by key, so the order is deterministic.
 */

import type { RateCard } from '../domain/price.ts';
import { costOf } from '../domain/pricing.ts';
import { NO_USAGE } from '../domain/usage.ts';
import { DAY_MS } from '../platform/time.ts';
import { statusOn } from './lifecycle.ts';
import { type CatalogModel, modelKeyOf } from './model.ts';

/** Increment it when scores change for the same data. */
export const SCORING_VERSION = 1;

export interface LookupPolicy {
  purpose: 'upgrade' | 'fallback' | 'retirement';
  inputTokens: number;
  outputTokens: number;
  cachedInputPercent: number;
  maxPriceIncreasePercent: number;
  requiredParameters: string[];
  allowedProviders: string[];
  allowedModelKeys: string[];
  minimumContext?: number | undefined;
  minimumOutput?: number | undefined;
  endpoint?: string | undefined;
  allowPreview: boolean;
  allowAutoApply: boolean;
}

export interface Compatibility {
  status: 'compatible' | 'unknown' | 'incompatible';
  gaps: string[];
  unknowns: string[];
}

/** Facts about a model for the caller's token mix and requirements. */
export interface Assessment {
  model: CatalogModel;
  modelKey: string;
  compatibility: Compatibility;
  estimatedRequestUsd: number | null;
  /** Price change relative to the source; `null` if one of the prices is unknown. */
  priceChangePercent: number | null;
  /** Every limit of the caller that the model violates. */
  missed: string[];
}

export interface RankedModel extends Assessment {
  score: number;
  reasons: string[];
}

type Similarity = 'strength' | 'price' | 'capabilities' | 'context' | 'recency' | 'family';

/** The weight of each similarity. Each row sums to 1. */
export const WEIGHTS: Record<LookupPolicy['purpose'], Record<Similarity, number>> = {
  // Newer and stronger, from the same family, at a similar price.
  upgrade: { strength: 0.3, recency: 0.2, family: 0.2, capabilities: 0.15, price: 0.1, context: 0.05 },
  // Does the same work at a similar price, from any provider.
  fallback: { capabilities: 0.35, strength: 0.25, price: 0.2, context: 0.15, recency: 0.05, family: 0 },
  // Closest in price and strength to the model that is retired.
  retirement: { price: 0.35, strength: 0.3, capabilities: 0.2, context: 0.1, recency: 0.05, family: 0 },
};

/** Kinds that may replace another kind: chat models succeeded completion models. */
const SUBSTITUTE_KINDS: Record<string, string[]> = { completion: ['chat'] };

/** At this price difference in percent the price similarity is zero. */
const PRICE_DISTANCE_MAX_PERCENT = 200;
/** At this age the recency of a model is zero. */
const RECENT_DAYS = 3 * 365;
/** The range of output prices in USD per million for strength, on a logarithmic scale. */
const STRENGTH_PRICE_RANGE = [0.1, 200] as const;

/** Whether the candidate does the same kind of work as the source. */
export function isSameWork(source: CatalogModel, candidate: CatalogModel): boolean {
  return candidate.kind === source.kind || (SUBSTITUTE_KINDS[source.kind] ?? []).includes(candidate.kind);
}

/** Checks a model against the caller's requirements and limits. Prices are compared with `source`. */
export function assess(
  model: CatalogModel,
  card: RateCard | null,
  sourceUsd: number | null,
  policy: LookupPolicy,
  allowedModels: ReadonlySet<CatalogModel> | null,
  day: string,
): Assessment {
  const estimatedRequestUsd = card && requestUsd(card, policy);
  const priceChangePercent = changePercent(sourceUsd, estimatedRequestUsd);
  const compatibility = compatibilityOf(model, policy);
  const missed: string[] = [];
  const { shutdownAt } = model.lifecycle;
  const status = statusOn(model, day);
  if (status === 'RETIRED') missed.push(`retired: shut down on ${shutdownAt ?? 'a date not known'}`);
  if (status === 'DEPRECATED')
    missed.push(`deprecated: ${shutdownAt ? `shuts down on ${shutdownAt}` : 'no shutdown date yet'}`);
  if (model.preview && !policy.allowPreview) missed.push('preview: allowPreview is false');
  if (policy.allowedProviders.length > 0 && !policy.allowedProviders.includes(model.provider))
    missed.push('provider: not in allowedProviders');
  if (allowedModels && !allowedModels.has(model)) missed.push('model key: not in allowedModelKeys');
  if (sourceUsd !== null && estimatedRequestUsd === null)
    missed.push('price: not known, so not comparable with maxPriceIncreasePercent');
  if (priceChangePercent !== null && priceChangePercent > policy.maxPriceIncreasePercent) {
    missed.push(
      `price: +${round(priceChangePercent)}% is above maxPriceIncreasePercent ${policy.maxPriceIncreasePercent}`,
    );
  }
  for (const [name, least, actual] of [
    ['minimumContext', policy.minimumContext, model.contextTokens],
    ['minimumOutput', policy.minimumOutput, model.maxOutputTokens],
  ] as const) {
    if (least !== undefined && actual !== undefined && actual < least)
      missed.push(`${name}: ${actual} is below ${least}`);
  }
  if (compatibility.gaps.length > 0) missed.push(`incompatible: lacks ${compatibility.gaps.join(', ')}`);
  return { model, modelKey: modelKeyOf(model), compatibility, estimatedRequestUsd, priceChangePercent, missed };
}

/** Scores an assessed candidate against the source. */
export function rank(source: CatalogModel, candidate: Assessment, policy: LookupPolicy, day: string): RankedModel {
  const similarity = similarityOf(source, candidate, policy, day);
  const weights = WEIGHTS[policy.purpose];
  const names = Object.keys(weights) as Similarity[];
  const score = names.reduce((sum, name) => sum + weights[name] * similarity[name], 0);
  const reasons = names
    .filter((name) => weights[name] > 0)
    .toSorted((a, b) => weights[b] * similarity[b] - weights[a] * similarity[a] || (a < b ? -1 : 1))
    .map((name) => `${name} ${round(similarity[name])} x ${weights[name]}`);
  return { ...candidate, score: round(score, 4), reasons };
}

/** Sorts candidates by the purpose's preference, then score, then key. */
export function byPreference(source: CatalogModel, policy: LookupPolicy): (a: RankedModel, b: RankedModel) => number {
  const preferred = ({ model }: RankedModel) => {
    if (policy.purpose === 'upgrade')
      return model.provider === source.provider && model.family === source.family ? 0 : 1;
    if (policy.purpose === 'fallback') return model.provider === source.provider ? 1 : 0;
    return 0;
  };
  return (a, b) => preferred(a) - preferred(b) || b.score - a.score || (a.modelKey < b.modelKey ? -1 : 1);
}

/** The generation in a model's name: `4o` of gpt-4o-mini, `5.6` of gpt-5.6-sol, `4.5` of claude-haiku-4-5-20251001. */
export function generationOf({ model }: CatalogModel): string {
  const undated = model.replace(/[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$/, '').replace(/-\d{2}-\d{2,4}$/, '');
  return (/\d+(?:[.-]\d{1,2}(?!\d))?o?|o\d+/.exec(undated)?.[0] ?? undated).replace('-', '.');
}

/** The exact cost of one request with the caller's token mix; `null` where the model has no price of text. */
export function requestUsd(card: RateCard, policy: LookupPolicy): number | null {
  const inputTokens = Math.round(policy.inputTokens);
  const cachedInputTokens = Math.round((inputTokens * policy.cachedInputPercent) / 100);
  const usage = { ...NO_USAGE, inputTokens, cachedInputTokens, responseTokens: Math.round(policy.outputTokens) };
  const priced = costOf(card, usage, 'standard');
  return priced.known ? Number(priced.cost.totalNanoUsd) / 1e9 : null;
}

function compatibilityOf(model: CatalogModel, policy: LookupPolicy): Compatibility {
  const gaps: string[] = [];
  const unknowns: string[] = [];
  for (const parameter of policy.requiredParameters) {
    if (model.capabilities.length === 0) unknowns.push(parameter);
    else if (!model.capabilities.includes(parameter)) gaps.push(parameter);
  }
  if (policy.endpoint !== undefined) {
    if (model.endpoints.length === 0) unknowns.push(`endpoint ${policy.endpoint}`);
    else if (!model.endpoints.includes(policy.endpoint)) gaps.push(`endpoint ${policy.endpoint}`);
  }
  if (policy.minimumContext !== undefined && model.contextTokens === undefined) unknowns.push('context');
  if (policy.minimumOutput !== undefined && model.maxOutputTokens === undefined) unknowns.push('output limit');
  return { status: gaps.length > 0 ? 'incompatible' : unknowns.length > 0 ? 'unknown' : 'compatible', gaps, unknowns };
}

function similarityOf(
  source: CatalogModel,
  { model, priceChangePercent }: Assessment,
  policy: LookupPolicy,
  day: string,
): Record<Similarity, number> {
  const gain = strengthOf(model) - strengthOf(source);
  const distance = priceChangePercent === null ? PRICE_DISTANCE_MAX_PERCENT / 2 : Math.abs(priceChangePercent);
  return {
    strength: clamp(policy.purpose === 'upgrade' ? 0.5 + gain : 1 - Math.abs(gain)),
    price: clamp(1 - distance / PRICE_DISTANCE_MAX_PERCENT),
    capabilities: overlap(source.capabilities, model.capabilities),
    context: ratio(model.contextTokens, source.contextTokens),
    recency: recencyOf(model, day),
    family: model.provider === source.provider && model.family === source.family ? 1 : 0,
  };
}

/** Strength from 0 to 1: one half from the output price, the other from capabilities and limits. */
function strengthOf(model: CatalogModel): number {
  const [low, high] = STRENGTH_PRICE_RANGE;
  const price = model.pricing?.outputUsdPerMillion ?? 0;
  const priced = price <= low ? 0 : clamp(Math.log(price / low) / Math.log(high / low));
  const reasons = model.capabilities.includes('reasoning') ? 1 : 0;
  const holds = clamp(Math.log2((model.contextTokens ?? 4_096) / 4_096) / 9);
  return 0.5 * priced + 0.25 * reasons + 0.25 * holds;
}

function recencyOf(model: CatalogModel, day: string): number {
  if (model.releasedAt === undefined) return 0.5;
  return clamp(1 - (Date.parse(day) - Date.parse(model.releasedAt)) / DAY_MS / RECENT_DAYS);
}

/** The share of the source's capabilities that the candidate has; 0.5 if nothing is known about either. */
function overlap(source: readonly string[], candidate: readonly string[]): number {
  if (source.length === 0 || candidate.length === 0) return 0.5;
  return source.filter((capability) => candidate.includes(capability)).length / source.length;
}

function ratio(candidate: number | undefined, source: number | undefined): number {
  return candidate === undefined || source === undefined ? 0.5 : clamp(candidate / source);
}

export function changePercent(from: number | null, to: number | null): number | null {
  if (from === null || to === null) return null;
  if (from === 0) return to === 0 ? 0 : null;
  return ((to - from) / from) * 100;
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}

export function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
