/**
 * Ranks the models that could replace another, and gives the reasons why others cannot. Pure.
 *
 * In this order:
 *
 * 1. Unsuited models are excluded: those for another kind of work, those for special work that the source does not
 *    do, and those that lack a kind of output of the source (`unsuitedFor`).
 * 2. Candidates with a setback rank behind all others: a smaller line of the same provider, a model that is not newer
 *    if an upgrade is sought, or a moving name (`listSetbacks`).
 * 3. The provider: a fallback is sought at another one, because an outage affects a whole provider; an upgrade and the
 *    successor of a retired model are sought at the same one.
 * 4. Candidates with the specialty of the source rank before general ones.
 * 5. The score: a weighted mean of similarities between 0 and 1; the weights depend on the purpose (`WEIGHTS`).
 * 6. The higher generation, then the key, so that the order is deterministic.
 *
 * No benchmark is used: size is read from names, so every computed candidate requires an evaluation on the caller's own
 * workload.
 */

import type { RateCard } from '../domain/price.ts';
import { computeCost } from '../domain/pricing.ts';
import { NO_USAGE } from '../domain/usage.ts';
import { DAY_MS } from '../platform/time.ts';
import { statusOn } from './lifecycle.ts';
import { isMovingName, modelSize, modelSpecialty, SIZES_APART_MAX } from './lines.ts';
import { type CatalogModel, modelKeyOf } from './model.ts';

/** Increment it when scores change for the same data. */
export const SCORING_VERSION = 2;

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

interface Compatibility {
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
  /** Why it ranks behind every candidate without a setback. */
  setbacks: string[];
  reasons: string[];
}

type Similarity = 'size' | 'price' | 'capabilities' | 'context' | 'recency';

/** The weight of each similarity. Each row sums to 1. */
export const WEIGHTS: Record<LookupPolicy['purpose'], Record<Similarity, number>> = {
  // The newest of the same size. A lower price counts the same as an equal one.
  upgrade: { recency: 0.4, size: 0.25, capabilities: 0.15, price: 0.15, context: 0.05 },
  // Does the same work at a similar price.
  fallback: { capabilities: 0.3, size: 0.25, price: 0.15, recency: 0.15, context: 0.15 },
  // Closest in price and size to the retired model.
  retirement: { price: 0.3, size: 0.25, capabilities: 0.2, recency: 0.15, context: 0.1 },
};

/** Kinds that may replace another kind: chat models succeeded completion models. */
const SUBSTITUTE_KINDS: Record<string, string[]> = { completion: ['chat'] };

/** At this price difference in percent the price similarity is zero. */
const PRICE_DISTANCE_MAX_PERCENT = 200;
/** At this age the recency of a model is zero. */
const RECENT_DAYS = 3 * 365;
/** Outputs that a candidate must have if the source has them. Nearly every model has text. */
const OUTPUTS = ['audio', 'image', 'video'];

/** Whether the candidate does the same kind of work as the source. */
export function isSameWork(source: CatalogModel, candidate: CatalogModel): boolean {
  return candidate.kind === source.kind || (SUBSTITUTE_KINDS[source.kind] ?? []).includes(candidate.kind);
}

/** Why a candidate for the same kind of work still cannot replace the source. */
export function unsuitedFor(source: CatalogModel, candidate: CatalogModel): string[] {
  const specialty = modelSpecialty(candidate);
  const reasons: string[] = [];
  if (specialty !== null && specialty !== modelSpecialty(source)) reasons.push(`specialty: made for ${specialty}`);
  for (const output of OUTPUTS) {
    if (source.modalities.output.includes(output) && !candidate.modalities.output.includes(output))
      reasons.push(`output: gives no ${output}`);
  }
  return reasons;
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
  const compatibility = checkCompatibility(model, policy);
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
  const similarity = scoreSimilarity(source, candidate, policy, day);
  const weights = WEIGHTS[policy.purpose];
  const names = Object.keys(weights) as Similarity[];
  const score = names.reduce((sum, name) => sum + weights[name] * similarity[name], 0);
  const reasons = names
    .filter((name) => weights[name] > 0)
    .toSorted((a, b) => weights[b] * similarity[b] - weights[a] * similarity[a] || (a < b ? -1 : 1))
    .map((name) => `${name} ${round(similarity[name])} x ${weights[name]}`);
  return { ...candidate, score: round(score, 4), setbacks: listSetbacks(source, candidate.model, policy), reasons };
}

/** A fallback may be older: it has to work now, and is not a migration. */
function listSetbacks(source: CatalogModel, model: CatalogModel, { purpose }: LookupPolicy): string[] {
  const setbacks: string[] = [];
  if (model.provider === source.provider && modelSize(model) < modelSize(source))
    setbacks.push(`smaller: of a smaller line of ${model.provider}`);
  const age = isMovingName(source) ? null : newerBy(model, source);
  if (age !== null && age <= 0 && (purpose === 'upgrade' || (purpose === 'retirement' && age < 0)))
    setbacks.push(age < 0 ? 'older than the requested model' : 'as old as the requested model');
  if (isMovingName(model) && !isMovingName(source)) setbacks.push('moving name: what it stands for changes');
  return setbacks;
}

/**
 * Above zero if the first is newer: by their release days, otherwise by the generations of one family. `null` if
 * neither decides.
 */
export function newerBy(one: CatalogModel, other: CatalogModel): number | null {
  if (one.releasedAt !== undefined && other.releasedAt !== undefined)
    return Date.parse(one.releasedAt) - Date.parse(other.releasedAt);
  return one.provider === other.provider && one.family === other.family
    ? generationNumber(one) - generationNumber(other)
    : null;
}

function generationNumber(model: CatalogModel): number {
  return Number.parseFloat(parseGeneration(model)) || 0;
}

/** The order of candidates. */
export function byPreference(source: CatalogModel, policy: LookupPolicy): (a: RankedModel, b: RankedModel) => number {
  const setBack = ({ setbacks }: RankedModel) => Number(setbacks.length > 0);
  const elsewhere = ({ model }: RankedModel) =>
    Number((model.provider === source.provider) === (policy.purpose === 'fallback'));
  const general = ({ model }: RankedModel) => Number(modelSpecialty(model) !== modelSpecialty(source));
  return (a, b) =>
    setBack(a) - setBack(b) ||
    elsewhere(a) - elsewhere(b) ||
    general(a) - general(b) ||
    b.score - a.score ||
    generationNumber(b.model) - generationNumber(a.model) ||
    (a.modelKey < b.modelKey ? -1 : 1);
}

/** The generation in a model's name: `4o` of gpt-4o-mini, `5.6` of gpt-5.6-sol, `4.5` of claude-haiku-4-5-20251001. */
export function parseGeneration({ model }: CatalogModel): string {
  const undated = model.replace(/[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$/, '').replace(/-\d{2}-\d{2,4}$/, '');
  return (/\d+(?:[.-]\d{1,2}(?!\d))?o?|o\d+/.exec(undated)?.[0] ?? undated).replace('-', '.');
}

/** The exact cost of one request with the caller's token mix; `null` if the model has no text price. */
export function requestUsd(card: RateCard, policy: LookupPolicy): number | null {
  const inputTokens = Math.round(policy.inputTokens);
  const cachedInputTokens = Math.round((inputTokens * policy.cachedInputPercent) / 100);
  const usage = { ...NO_USAGE, inputTokens, cachedInputTokens, responseTokens: Math.round(policy.outputTokens) };
  const priced = computeCost(card, usage, 'standard');
  return priced.known ? Number(priced.cost.totalNanoUsd) / 1e9 : null;
}

function checkCompatibility(model: CatalogModel, policy: LookupPolicy): Compatibility {
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

function scoreSimilarity(
  source: CatalogModel,
  { model, priceChangePercent }: Assessment,
  policy: LookupPolicy,
  day: string,
): Record<Similarity, number> {
  const known = priceChangePercent ?? PRICE_DISTANCE_MAX_PERCENT / 2;
  const distance = policy.purpose === 'upgrade' ? Math.max(0, known) : Math.abs(known);
  return {
    size: 1 - Math.abs(modelSize(model) - modelSize(source)) / SIZES_APART_MAX,
    price: clamp(1 - distance / PRICE_DISTANCE_MAX_PERCENT),
    capabilities: overlap(source.capabilities, model.capabilities),
    context: ratio(model.contextTokens, source.contextTokens),
    recency: scoreRecency(model, day),
  };
}

function scoreRecency(model: CatalogModel, day: string): number {
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
