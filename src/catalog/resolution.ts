/**
 * The lookup's result for one key on one day: match, lifecycle, action, replacement, candidates, automation.
 *
 * It depends only on catalog, reviews, key, policy and day, so it is constant within a UTC day unless somebody
 * publishes a catalog or reviews the model, or a list reports another shutdown date.
 */
import { canonicalJson } from '../domain/canonical.ts';
import { sha256Hex } from '../platform/hash.ts';
import { type Candidate, candidatesFor, isClosed, type SourcePrice } from './candidates.ts';
import { areDatesUnknown, asServed, findReplacement, type Replacement, statusOn } from './lifecycle.ts';
import { type LookUpMatch, lookUpModel, modelOfKey } from './matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf, type Provider, type ReportedEnd } from './model.ts';
import { type LookupPolicy, type RankedModel, SCORING_VERSION } from './ranking.ts';
import { formatReport, listReportedEnds } from './reported-ends.ts';
import {
  findReviewedReplacement,
  formatCitation,
  NO_REVIEWS,
  type Review,
  type ReviewedReplacement,
  type Reviews,
} from './reviews.ts';
import { isUnconditional, swapWarnings } from './swap-warnings.ts';

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
  /** The model that the key certainly means: everything in the answer is about this model. */
  model: CatalogModel | null;
  /** How the key was matched; a fuzzy match only suggests a key, without a model. */
  match: { matchedModelKey: string; strategy: LookUpMatch['strategy']; score?: number | undefined } | null;
  status: 'ACTIVE' | 'DEPRECATED' | 'RETIRED' | 'UNKNOWN';
  action: 'KEEP' | 'REPLACE' | 'REVIEW';
  preferredAlias: string | null;
  providerReplacementModelKey: string | null;
  recommendedModelKey: string | null;
  recommendationSource: 'provider' | 'admin_review' | 'computed' | 'none';
  /** An operator's review of the model; `null` if there is none. */
  review: Review | null;
  /** Shutdown dates that lists name and nobody has confirmed: only warnings show them. */
  reportedEnds: readonly ReportedEnd[];
  pricing: SourcePrice | null;
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
  const found = lookUpModel(catalog, requested.model, Date.parse(day), requested.provider);
  const answer =
    found && found.strategy !== 'fuzzy'
      ? await resolveMatch(catalog, requested, found, policy, day, reviews)
      : unknownKey(requested, found);
  const decision = {
    key: requested.modelKey,
    policy,
    lifecycle: { status: answer.status, ...(answer.model && lifecycleDates(answer.model)) },
    action: answer.action,
    replacement: answer.providerReplacementModelKey,
    recommendation: answer.recommendedModelKey,
  };
  return { ...answer, decisionId: `dec_${(await sha256Hex(canonicalJson(decision))).slice(0, 24)}` };
}

/**
 * The answer for a key that the catalog does not have. The nearest key is only a suggestion: none of its facts are
 * used.
 */
function unknownKey(requested: RequestedKey, nearest: LookUpMatch | null): Omit<Resolution, 'decisionId'> {
  return {
    requested,
    model: null,
    match: nearest && { matchedModelKey: modelKeyOf(nearest.model), strategy: 'fuzzy', score: nearest.score },
    status: 'UNKNOWN',
    action: 'REVIEW',
    preferredAlias: null,
    providerReplacementModelKey: null,
    recommendedModelKey: null,
    recommendationSource: 'none',
    review: null,
    reportedEnds: [],
    pricing: null,
    equivalents: [],
    variants: [],
    alternatives: [],
    excluded: [],
    safeToApply: false,
    scoringVersion: SCORING_VERSION,
    warnings: [notInCatalog(requested.modelKey, nearest)],
  };
}

/** The message for a key that the catalog does not have. */
export function notInCatalog(key: string, nearest: LookUpMatch | null): string {
  return `${key} is not in the catalog${nearest ? `; ${modelKeyOf(nearest.model)} is the most similar key` : ''}`;
}

async function resolveMatch(
  catalog: Catalog,
  requested: RequestedKey,
  { model: source, strategy, unlistedPin, variant }: LookUpMatch,
  policy: LookupPolicy,
  day: string,
  reviews: Reviews,
): Promise<Omit<Resolution, 'decisionId'>> {
  const isUnknown = areDatesUnknown(source, requested.model);
  const dated = asServed(source, requested.model);
  const status = isUnknown ? 'UNKNOWN' : statusOn(dated, day);
  const isEnding = status === 'DEPRECATED' || status === 'RETIRED';
  const warnings: string[] = [];
  if (unlistedPin)
    warnings.push(`${requested.modelKey} is not listed in the catalog; it is read as a dated ${modelKeyOf(source)}`);
  if (variant)
    warnings.push(
      `${requested.modelKey} is ${modelKeyOf(source)} ${variant === 'batch' ? 'in batches' : 'in its fast mode'}; the price here is the standard one`,
    );
  if (isUnknown)
    warnings.push(
      `the channel sets its own dates, and the catalog has none; ${source.provider}'s own API: ${statusOn(source, day)}`,
    );
  const thin = dated.lifecycle.confidence === 'secondary';
  if (thin) warnings.push('the lifecycle of this model rests on secondary evidence');
  // The reports are about the provider's own API.
  const reportedEnds = dated === source ? listReportedEnds(catalog, source, day) : [];
  for (const end of reportedEnds) warnings.push(`a shutdown on ${formatReport(end)}, is not confirmed`);
  const action = isEnding ? 'REPLACE' : thin || isUnknown ? 'REVIEW' : 'KEEP';

  const allowed = allowedByKey(catalog, policy.allowedModelKeys, day);
  const allowedModels = policy.allowedModelKeys.length === 0 ? null : new Set(allowed.values());
  const replacement = isEnding ? findReplacement(catalog, source, day) : null;
  const review = findReviewedReplacement(catalog, reviews, source, day);
  const candidates = await candidatesFor(catalog, source, replacement, review, { policy, allowedModels, day });
  for (const { modelKey, missed } of candidates.official)
    warnings.push(...missed.map((rule) => `official replacement ${modelKey}: ${rule}`));

  for (const rule of candidates.reviewed?.missed ?? [])
    warnings.push(`reviewed replacement ${candidates.reviewed?.modelKey}: ${rule}`);
  if (review && !review.model)
    warnings.push(`the reviewed replacement ${review.review.replacementModelKey} is retired or not in the catalog`);

  for (const key of policy.allowedModelKeys) {
    if (!allowed.has(key)) warnings.push(`allowedModelKeys: ${key} is not in the catalog`);
  }

  const { recommendation, more } = recommend(replacement, review, policy, allowedModels, candidates.best, status);
  const recommended = recommendation.modelKey === null ? null : modelOfKey(catalog, recommendation.modelKey);
  warnings.push(...more, ...swapWarnings(source, replacement, recommended));
  const official = candidates.official.find(({ modelKey }) => modelKey === recommendation.modelKey);
  const comparable =
    official?.candidate.compatibility?.status === 'compatible' && official.candidate.priceChangePercent !== undefined;

  return {
    requested,
    model: dated,
    match: { matchedModelKey: modelKeyOf(source), strategy: requested.decorated ? 'normalized' : strategy },
    status,
    action,
    // No provider verifies a name that the catalog does not list.
    preferredAlias: unlistedPin ? null : (source.preferredAlias ?? null),
    providerReplacementModelKey: replacement?.modelKey ?? null,
    recommendedModelKey: recommendation.modelKey,
    recommendationSource: recommendation.source,
    review: review?.review ?? null,
    reportedEnds,
    pricing: candidates.sourcePrice,
    equivalents: [...candidates.official.map(({ candidate }) => candidate), ...candidates.equivalents],
    variants: candidates.variants,
    alternatives: candidates.alternatives,
    excluded: candidates.excluded,
    safeToApply:
      action === 'REPLACE' &&
      recommendation.source === 'provider' &&
      isUnconditional(source) &&
      comparable &&
      official.missed.length === 0,
    scoringVersion: SCORING_VERSION,
    warnings,
  };
}

/**
 * The provider's live replacement if the caller's lists allow it, otherwise the reviewed one, otherwise the best
 * computed.
 */
function recommend(
  replacement: Replacement | null,
  review: ReviewedReplacement | null,
  policy: LookupPolicy,
  allowedModels: ReadonlySet<CatalogModel> | null,
  best: RankedModel | null,
  status: Resolution['status'],
): { recommendation: { modelKey: string | null; source: Resolution['recommendationSource'] }; more: string[] } {
  if (status === 'ACTIVE' || status === 'UNKNOWN')
    return { recommendation: { modelKey: null, source: 'none' }, more: [] };
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
    if (isAllowed(live.model) && !isClosed(live.model, policy))
      return { recommendation: { modelKey: live.modelKey, source: 'provider' }, more };
    if (!isAllowed(live.model)) more.push(`${live.modelKey} is not among the allowed providers or model keys`);
  }
  if (review?.model) {
    const modelKey = modelKeyOf(review.model);
    if (isAllowed(review.model) && !isClosed(review.model, policy))
      return {
        recommendation: { modelKey, source: 'admin_review' },
        more: [...more, `${modelKey}: ${formatCitation(review.review)}`],
      };
    if (!isAllowed(review.model))
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
function allowedByKey(catalog: Catalog, keys: readonly string[], day: string): Map<string, CatalogModel> {
  return new Map(
    keys.flatMap((key) => {
      const match = lookUpModel(catalog, key, Date.parse(day));
      return match && match.strategy !== 'fuzzy' ? [[key, match.model] as const] : [];
    }),
  );
}

function lifecycleDates({ lifecycle: { announcedAt, shutdownAt } }: CatalogModel) {
  return { announcedAt, shutdownAt };
}
