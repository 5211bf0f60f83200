/**
 * The lookup's result for one key on one day: match, lifecycle, action, replacement, candidates, automation.
 *
 * It depends only on catalog, reviews, key, policy and day, so it is constant within a UTC day while nobody publishes a
 * catalog or reviews the model.
 */
import { canonicalJson } from '../domain/canonical.ts';
import type { RateCard } from '../domain/pricing.ts';
import { sha256Hex } from '../platform/hash.ts';
import { type Candidate, candidatesFor } from './candidates.ts';
import { type Replacement, replacementOf, statusOn } from './lifecycle.ts';
import { type LookUpMatch, lookUpModel } from './matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf, type Provider } from './model.ts';
import { type LookupPolicy, type RankedModel, SCORING_VERSION } from './ranking.ts';
import {
  citationOf,
  NO_REVIEWS,
  type Review,
  type ReviewedReplacement,
  type Reviews,
  reviewedReplacementOf,
} from './reviews.ts';

export interface RequestedKey {
  /** The requested `provider/model`, with the provider's namespace resolved. */
  modelKey: string;
  provider: Provider;
  model: string;
  /** Whether the key had a decorated form, such as `provider:model`. */
  decorated: boolean;
}

export interface Resolution {
  requested: RequestedKey;
  match: LookUpMatch | null;
  status: 'ACTIVE' | 'DEPRECATED' | 'RETIRED' | 'UNKNOWN';
  action: 'KEEP' | 'REPLACE' | 'REVIEW';
  preferredAlias: string | null;
  providerReplacementModelKey: string | null;
  recommendedModelKey: string | null;
  recommendationSource: 'provider' | 'admin_review' | 'computed' | 'none';
  /** The review of the model by an operator; `null` where there is none. */
  review: Review | null;
  pricing: { card: RateCard; blendedUsdPerMillion: number } | null;
  equivalents: Candidate[];
  variants: Candidate[];
  alternatives: Candidate[];
  excluded: { modelKey: string; reasons: string[] }[];
  /** Whether the recommendation meets every limit of the caller and comes from the provider. */
  safeToApply: boolean;
  decisionId: string;
  scoringVersion: number;
  warnings: string[];
}

export async function resolveKey(
  catalog: Catalog,
  requested: RequestedKey,
  policy: LookupPolicy,
  day: string,
  reviews: Reviews = NO_REVIEWS,
): Promise<Resolution> {
  const found = lookUpModel(catalog, requested.model, requested.provider);
  const match: LookUpMatch | null =
    found && requested.decorated && found.strategy !== 'fuzzy' ? { ...found, strategy: 'normalized' } : found;
  const answer = match ? await resolveMatch(catalog, requested, match, policy, day, reviews) : unknownKey(requested);
  const decision = {
    key: requested.modelKey,
    policy,
    lifecycle: match ? { status: answer.status, ...datesOf(match.model) } : { status: answer.status },
    action: answer.action,
    replacement: answer.providerReplacementModelKey,
    recommendation: answer.recommendedModelKey,
  };
  return { ...answer, decisionId: `dec_${(await sha256Hex(canonicalJson(decision))).slice(0, 24)}` };
}

function unknownKey(requested: RequestedKey): Omit<Resolution, 'decisionId'> {
  return {
    requested,
    match: null,
    status: 'UNKNOWN',
    action: 'REVIEW',
    preferredAlias: null,
    providerReplacementModelKey: null,
    recommendedModelKey: null,
    recommendationSource: 'none',
    review: null,
    pricing: null,
    equivalents: [],
    variants: [],
    alternatives: [],
    excluded: [],
    safeToApply: false,
    scoringVersion: SCORING_VERSION,
    warnings: [`${requested.modelKey} is not in the catalog`],
  };
}

async function resolveMatch(
  catalog: Catalog,
  requested: RequestedKey,
  match: LookUpMatch,
  policy: LookupPolicy,
  day: string,
  reviews: Reviews,
): Promise<Omit<Resolution, 'decisionId'>> {
  const source = match.model;
  const status = statusOn(source, day);
  const certain = match.strategy !== 'fuzzy';
  const warnings: string[] = [];
  if (!certain)
    warnings.push(`${requested.modelKey} is not in the catalog; ${modelKeyOf(source)} is the most similar key`);
  const thin = source.lifecycle.confidence === 'secondary';
  if (thin) warnings.push('the lifecycle of this model rests on secondary evidence');
  const action = !certain ? 'REVIEW' : status !== 'ACTIVE' ? 'REPLACE' : thin ? 'REVIEW' : 'KEEP';

  const allowedModels = policy.allowedModelKeys.length === 0 ? null : allowedSet(catalog, policy.allowedModelKeys);
  // The provider's replacement of a guessed model does not apply to the requested one.
  const replacement = status === 'ACTIVE' || !certain ? null : replacementOf(catalog, source, day);
  const review = certain ? reviewedReplacementOf(catalog, reviews, source, day) : null;
  const candidates = await candidatesFor(catalog, source, replacement, review, { policy, allowedModels, day });
  for (const { modelKey, missed } of candidates.official)
    warnings.push(...missed.map((rule) => `official replacement ${modelKey}: ${rule}`));

  for (const rule of candidates.reviewed?.missed ?? [])
    warnings.push(`reviewed replacement ${candidates.reviewed?.modelKey}: ${rule}`);
  if (review && !review.model)
    warnings.push(`the reviewed replacement ${review.review.replacementModelKey} is retired or not in the catalog`);

  for (const key of policy.allowedModelKeys) {
    if (!lookUpModel(catalog, key)) warnings.push(`allowedModelKeys: ${key} is not in the catalog`);
  }

  const { recommendation, more } = recommend(replacement, review, policy, allowedModels, candidates.best, status);
  warnings.push(...more);
  const official = candidates.official.find(({ modelKey }) => modelKey === recommendation.modelKey);
  const comparable =
    official?.candidate.compatibility?.status === 'compatible' && official.candidate.priceChangePercent !== undefined;

  return {
    requested,
    match,
    status,
    action,
    preferredAlias: certain ? (source.preferredAlias ?? null) : null,
    providerReplacementModelKey: replacement?.modelKey ?? null,
    recommendedModelKey: certain ? recommendation.modelKey : null,
    recommendationSource: certain ? recommendation.source : 'none',
    review: review?.review ?? null,
    pricing: candidates.sourcePrice,
    equivalents: [...candidates.official.map(({ candidate }) => candidate), ...candidates.equivalents],
    variants: candidates.variants,
    alternatives: candidates.alternatives,
    excluded: candidates.excluded,
    safeToApply:
      action === 'REPLACE' && recommendation.source === 'provider' && comparable && official.missed.length === 0,
    scoringVersion: SCORING_VERSION,
    warnings,
  };
}

/** The provider's live replacement if the caller's lists allow it, else the reviewed one, else the best computed. */
function recommend(
  replacement: Replacement | null,
  review: ReviewedReplacement | null,
  policy: LookupPolicy,
  allowedModels: ReadonlySet<CatalogModel> | null,
  best: RankedModel | null,
  status: Resolution['status'],
): { recommendation: { modelKey: string | null; source: Resolution['recommendationSource'] }; more: string[] } {
  if (status === 'ACTIVE') return { recommendation: { modelKey: null, source: 'none' }, more: [] };
  const more: string[] = [];
  const isAllowed = (model: CatalogModel) =>
    (policy.allowedProviders.length === 0 || policy.allowedProviders.includes(model.provider)) &&
    (!allowedModels || allowedModels.has(model));
  if (!replacement) more.push('the provider names no replacement');
  else if (!replacement.live)
    more.push(`${replacement.modelKey}, which the provider names, leads to no live model in the catalog`);
  else {
    const { live, modelKey } = replacement;
    if (live.modelKey !== modelKey)
      more.push(
        `${modelKey}, which the provider names, is itself on its way out; its own replacement ${live.modelKey} is live`,
      );
    if (isAllowed(live.model)) return { recommendation: { modelKey: live.modelKey, source: 'provider' }, more };
    more.push(`${live.modelKey} is not among the allowed providers or model keys`);
  }
  if (review?.model) {
    const modelKey = modelKeyOf(review.model);
    if (isAllowed(review.model))
      return {
        recommendation: { modelKey, source: 'admin_review' },
        more: [...more, `${modelKey}: ${citationOf(review.review)}`],
      };
    more.push(`${modelKey}, which an operator reviewed, is not among the allowed providers or model keys`);
  }
  if (!best)
    return {
      recommendation: { modelKey: null, source: 'none' },
      more: [...more, 'no other model is inside the bounds'],
    };
  return {
    recommendation: { modelKey: best.modelKey, source: 'computed' },
    more: [...more, `${best.modelKey} is the best computed candidate`],
  };
}

/** The models that a caller's keys match, in any certain spelling. */
function allowedSet(catalog: Catalog, keys: readonly string[]): Set<CatalogModel> {
  const models = keys
    .map((key) => lookUpModel(catalog, key))
    .filter((match) => match !== null && match.strategy !== 'fuzzy');
  return new Set(models.map((match) => (match as LookUpMatch).model));
}

function datesOf({ lifecycle: { announcedAt, shutdownAt } }: CatalogModel) {
  return { announcedAt, shutdownAt };
}
