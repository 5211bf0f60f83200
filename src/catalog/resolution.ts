/**
 * The lookup's answer for one key on one day: match, lifecycle, action, replacement, candidates, automation.
 *
 * A function of catalog, key, policy and day alone, so an answer is constant within a UTC day and a catalog version.
 */
import { canonicalJson } from '../domain/canonical.ts';
import type { RateCard } from '../domain/pricing.ts';
import { sha256Hex } from '../platform/hash.ts';
import { type Replacement, replacementOf, statusOn } from './lifecycle.ts';
import { type LookUpMatch, lookUpModel } from './matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf, type Provider } from './model.ts';
import { cardOn } from './prices.ts';
import {
  type Assessment,
  assess,
  byPreference,
  generationOf,
  isSameWork,
  type LookupPolicy,
  type RankedModel,
  rank,
  requestUsd,
  round,
  SCORING_VERSION,
} from './ranking.ts';

/** Candidates of one list. */
const CANDIDATES_MAX = 10;

export interface RequestedKey {
  /** `provider/model` as asked for, the provider's namespace resolved. */
  modelKey: string;
  provider: Provider;
  model: string;
  /** The key was written in a decorated form, such as `provider:model`. */
  decorated: boolean;
}

export interface Candidate {
  modelKey: string;
  provider: Provider;
  relation: 'official_replacement' | 'same_provider_similar' | 'similar_price_and_strength';
  confidence: 'authoritative' | 'candidate';
  rationale: string;
  requiresEvaluation: boolean;
  score?: number;
  priceDistancePercent?: number;
  inputUsdPerMillion?: number;
  outputUsdPerMillion?: number;
  category?: 'upgrade' | 'variant' | 'alternative';
  compatibility?: Assessment['compatibility'];
  availability?: 'available' | 'unknown';
  estimatedRequestUsd?: number;
  priceChangePercent?: number;
  reasons?: string[];
}

export interface Resolution {
  requested: RequestedKey;
  match: LookUpMatch | null;
  status: 'ACTIVE' | 'DEPRECATED' | 'RETIRED' | 'UNKNOWN';
  action: 'KEEP' | 'REPLACE' | 'REVIEW';
  preferredAlias: string | null;
  providerReplacementModelKey: string | null;
  recommendedModelKey: string | null;
  recommendationSource: 'provider' | 'computed' | 'none';
  pricing: { card: RateCard; blendedUsdPerMillion: number } | null;
  equivalents: Candidate[];
  variants: Candidate[];
  alternatives: Candidate[];
  excluded: { modelKey: string; reasons: string[] }[];
  /** Whether the recommendation holds every bound of the caller and comes from the provider. */
  safeToApply: boolean;
  decisionId: string;
  scoringVersion: number;
  warnings: string[];
}

export async function resolveKey(catalog: Catalog, requested: RequestedKey, policy: LookupPolicy, day: string): Promise<Resolution> {
  const found = lookUpModel(catalog, requested.model, requested.provider);
  const match: LookUpMatch | null =
    found && requested.decorated && found.strategy !== 'fuzzy' ? { ...found, strategy: 'normalized' } : found;
  const answer = match ? await resolveMatch(catalog, requested, match, policy, day) : unknownKey(requested);
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
): Promise<Omit<Resolution, 'decisionId'>> {
  const source = match.model;
  const dayMs = Date.parse(day);
  const status = statusOn(source, day);
  const certain = match.strategy !== 'fuzzy';
  const warnings: string[] = [];
  if (!certain) warnings.push(`${requested.modelKey} is not in the catalog; ${modelKeyOf(source)} is the most similar key`);
  const thin = source.lifecycle.confidence === 'secondary';
  if (thin) warnings.push('the lifecycle of this model rests on secondary evidence');
  const action = !certain ? 'REVIEW' : status !== 'ACTIVE' ? 'REPLACE' : thin ? 'REVIEW' : 'KEEP';

  const sourceCard = await cardOn(source, dayMs);
  const sourceUsd = sourceCard && requestUsd(sourceCard, policy);
  const allowedModels = policy.allowedModelKeys.length === 0 ? null : allowedSet(catalog, policy.allowedModelKeys);
  const assessModel = async (model: CatalogModel) => ({
    card: await cardOn(model, dayMs),
    assessment: assess(model, await cardOn(model, dayMs), sourceUsd, policy, allowedModels, day),
  });

  const replacement = status === 'ACTIVE' ? null : replacementOf(catalog, source, day);
  const officials = officialModels(replacement, day);
  const official: Candidate[] = [];
  for (const { modelKey, model } of officials) {
    const assessed = model && (await assessModel(model));
    official.push(presentOfficial(modelKey, source, assessed));
    for (const reason of assessed?.assessment.missed ?? []) warnings.push(`official replacement ${modelKey}: ${reason}`);
  }

  const ranked: { entry: RankedModel; card: RateCard | null }[] = [];
  const excluded: Resolution['excluded'] = [];
  for (const model of catalog.models) {
    if (model === source || !isSameWork(source, model) || officials.some((entry) => entry.model === model)) continue;
    const { card, assessment } = await assessModel(model);
    if (assessment.missed.length > 0) excluded.push({ modelKey: assessment.modelKey, reasons: assessment.missed });
    else ranked.push({ entry: rank(source, assessment, policy, day), card });
  }
  const preference = byPreference(source, policy);
  ranked.sort((a, b) => preference(a.entry, b.entry));
  excluded.sort((a, b) => (a.modelKey < b.modelKey ? -1 : 1));

  const isVariant = ({ entry: { model } }: (typeof ranked)[number]) =>
    model.provider === source.provider && generationOf(model) === generationOf(source);
  const present = (list: typeof ranked) =>
    list.slice(0, CANDIDATES_MAX).map(({ entry, card }) => presentRanked(entry, card, source, isVariant({ entry, card })));
  const sameProvider = ranked.filter(({ entry }) => entry.model.provider === source.provider);

  const { recommendation, more } = recommend(replacement, policy, allowedModels, ranked[0]?.entry ?? null, status);
  warnings.push(...more);
  const recommendedOfficial = official.find(({ modelKey }) => modelKey === recommendation.modelKey);
  const recommendedModel = officials.find(({ modelKey }) => modelKey === recommendation.modelKey)?.model;
  const safeToApply =
    action === 'REPLACE' &&
    recommendation.source === 'provider' &&
    recommendedOfficial?.compatibility?.status === 'compatible' &&
    recommendedModel != null &&
    (await assessModel(recommendedModel)).assessment.missed.length === 0 &&
    recommendedOfficial.priceChangePercent !== undefined;

  return {
    requested,
    match,
    status,
    action,
    preferredAlias: certain ? (source.preferredAlias ?? null) : null,
    providerReplacementModelKey: replacement?.modelKey ?? null,
    recommendedModelKey: certain ? recommendation.modelKey : null,
    recommendationSource: certain ? recommendation.source : 'none',
    pricing: sourceCard && {
      card: sourceCard,
      blendedUsdPerMillion: round(((sourceUsd ?? 0) / (policy.inputTokens + policy.outputTokens)) * 1e6, 6),
    },
    equivalents: [...official, ...present(sameProvider.filter((entry) => !isVariant(entry)))],
    variants: present(sameProvider.filter(isVariant)),
    alternatives: present(ranked.filter(({ entry }) => entry.model.provider !== source.provider)),
    excluded,
    safeToApply,
    scoringVersion: SCORING_VERSION,
    warnings,
  };
}

/** What the provider names, unless it is retired, and the live model that its chain leads to. */
function officialModels(replacement: Replacement | null, day: string): { modelKey: string; model: CatalogModel | null }[] {
  if (!replacement) return [];
  const { modelKey, model, live } = replacement;
  const named = model && statusOn(model, day) === 'RETIRED' ? [] : [{ modelKey, model }];
  const led = live && live.model !== model ? [live] : [];
  return [...led, ...named];
}

/** The provider's live replacement where the caller's lists admit it, else the best computed candidate. */
function recommend(
  replacement: Replacement | null,
  policy: LookupPolicy,
  allowedModels: ReadonlySet<CatalogModel> | null,
  best: RankedModel | null,
  status: Resolution['status'],
): { recommendation: { modelKey: string | null; source: Resolution['recommendationSource'] }; more: string[] } {
  if (status === 'ACTIVE') return { recommendation: { modelKey: null, source: 'none' }, more: [] };
  const more: string[] = [];
  if (!replacement) more.push('the provider names no replacement');
  else if (!replacement.live) more.push(`${replacement.modelKey}, which the provider names, leads to no live model in the catalog`);
  else {
    const { live, modelKey } = replacement;
    if (live.modelKey !== modelKey)
      more.push(`${modelKey}, which the provider names, is itself on its way out; its own replacement ${live.modelKey} is live`);
    const provider = policy.allowedProviders.length === 0 || policy.allowedProviders.includes(live.model.provider);
    if (provider && (!allowedModels || allowedModels.has(live.model)))
      return { recommendation: { modelKey: live.modelKey, source: 'provider' }, more };
    more.push(`${live.modelKey} is not among the allowed providers or model keys`);
  }
  if (!best) return { recommendation: { modelKey: null, source: 'none' }, more: [...more, 'no other model is inside the bounds'] };
  return {
    recommendation: { modelKey: best.modelKey, source: 'computed' },
    more: [...more, `${best.modelKey} is the best computed candidate`],
  };
}

function presentOfficial(
  modelKey: string,
  source: CatalogModel,
  assessed: { assessment: Assessment; card: RateCard | null } | null,
): Candidate {
  return {
    modelKey,
    provider: assessed?.assessment.model.provider ?? source.provider,
    relation: 'official_replacement',
    confidence: 'authoritative',
    rationale: `${source.provider} names it as the replacement of ${modelKeyOf(source)}`,
    requiresEvaluation: false,
    category: 'upgrade',
    availability: assessed ? 'available' : 'unknown',
    ...(assessed && factsOf(assessed.assessment, assessed.card)),
  };
}

function presentRanked(entry: RankedModel, card: RateCard | null, source: CatalogModel, variant: boolean): Candidate {
  const sameProvider = entry.model.provider === source.provider;
  return {
    modelKey: entry.modelKey,
    provider: entry.model.provider,
    relation: sameProvider ? 'same_provider_similar' : 'similar_price_and_strength',
    confidence: 'candidate',
    rationale: sameProvider ? `similar ${source.kind} model of ${source.provider}` : `${source.kind} model of like price and strength`,
    requiresEvaluation: true,
    category: variant ? 'variant' : sameProvider && isNewer(entry.model, source) ? 'upgrade' : 'alternative',
    availability: 'available',
    score: entry.score,
    ...factsOf(entry, card),
    reasons: entry.reasons,
  };
}

function isNewer(model: CatalogModel, source: CatalogModel): boolean {
  return model.releasedAt !== undefined && source.releasedAt !== undefined && model.releasedAt > source.releasedAt;
}

function factsOf({ compatibility, estimatedRequestUsd, priceChangePercent }: Assessment, card: RateCard | null): Partial<Candidate> {
  return {
    compatibility,
    ...(card && { inputUsdPerMillion: Number(card.rates.input) / 1e9, outputUsdPerMillion: Number(card.rates.output) / 1e9 }),
    ...(estimatedRequestUsd !== null && { estimatedRequestUsd }),
    ...(priceChangePercent !== null && {
      priceChangePercent: round(priceChangePercent),
      priceDistancePercent: round(Math.abs(priceChangePercent)),
    }),
  };
}

/** The models that a caller's keys mean, by any certain spelling. */
function allowedSet(catalog: Catalog, keys: readonly string[]): Set<CatalogModel> {
  const models = keys.map((key) => lookUpModel(catalog, key)).filter((match) => match !== null && match.strategy !== 'fuzzy');
  return new Set(models.map((match) => (match as LookUpMatch).model));
}

function datesOf({ lifecycle: { announcedAt, shutdownAt } }: CatalogModel) {
  return { announcedAt, shutdownAt };
}
