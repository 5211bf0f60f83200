/**
 * The candidates for replacing a model: the provider's replacement, the one that an operator reviewed, and every model of
 * the same kind of work, assessed, ranked and sorted into the lists of the response, or excluded with reasons.
 */
import { type RateCard, textPrice } from '../domain/price.ts';
import { type Replacement, statusOn } from './lifecycle.ts';
import { modelSpecialty } from './lines.ts';
import { type Catalog, type CatalogModel, modelKeyOf, type Provider } from './model.ts';
import { cardOn } from './prices.ts';
import {
  type Assessment,
  assess,
  byPreference,
  isSameWork,
  type LookupPolicy,
  newerBy,
  parseGeneration,
  type RankedModel,
  rank,
  requestUsd,
  round,
  unsuitedFor,
} from './ranking.ts';
import { formatCitation, type Review, type ReviewedReplacement } from './reviews.ts';

/** Maximum number of candidates in a list. */
const CANDIDATES_MAX = 10;

export interface Candidate {
  modelKey: string;
  provider: Provider;
  relation: 'official_replacement' | 'same_provider_similar' | 'similar_price_and_strength';
  confidence: 'authoritative' | 'reviewed' | 'candidate';
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

/** A candidate that somebody names: the provider, or an operator. */
interface NamedCandidate {
  modelKey: string;
  candidate: Candidate;
  /** The caller's limits that it violates. It is listed anyway. */
  missed: string[];
}

/** The price of the source. Without a text price, there is nothing to compare. */
export interface SourcePrice {
  card: RateCard;
  text: ReturnType<typeof textPrice>;
  blendedUsdPerMillion?: number;
}

export interface Candidates {
  sourcePrice: SourcePrice | null;
  official: NamedCandidate[];
  /**
   * The replacement that an operator reviewed, unless the provider names it too. It comes first among those that are
   * not official.
   */
  reviewed: NamedCandidate | null;
  equivalents: Candidate[];
  variants: Candidate[];
  alternatives: Candidate[];
  excluded: { modelKey: string; reasons: string[] }[];
  /** The highest-ranked candidate of all. */
  best: RankedModel | null;
}

/** The caller's requirements for candidates on a given day. */
export interface Demand {
  policy: LookupPolicy;
  /** `null` if the caller allows every model. */
  allowedModels: ReadonlySet<CatalogModel> | null;
  day: string;
}

interface Assessed {
  assessment: Assessment;
  card: RateCard | null;
}

export async function candidatesFor(
  catalog: Catalog,
  source: CatalogModel,
  replacement: Replacement | null,
  review: ReviewedReplacement | null,
  demand: Demand,
): Promise<Candidates> {
  const { policy, allowedModels, day } = demand;
  const sourceCard = await cardOn(source, Date.parse(day));
  const sourceUsd = sourceCard && requestUsd(sourceCard, policy);
  const assessed = async (model: CatalogModel): Promise<Assessed> => {
    const card = await cardOn(model, Date.parse(day));
    const assessment = assess(model, card, sourceUsd, policy, allowedModels, day);
    const closed = isClosed(model, policy) ? ['limited: not open to every account, and allowPreview is false'] : [];
    return { card, assessment: { ...assessment, missed: [...closed, ...assessment.missed] } };
  };

  const officials = officialModels(replacement, day);
  const official: NamedCandidate[] = [];
  for (const { modelKey, model } of officials) {
    const facts = model && (await assessed(model));
    const missed = facts ? [...facts.assessment.missed, ...unfit(facts.assessment, policy)] : [];
    official.push({ modelKey, candidate: presentOfficial(modelKey, source, facts), missed });
  }

  const named = review?.model && !officials.some(({ model }) => model === review.model) ? review.model : null;
  const reviewed = review && named && namedBy(review.review, await assessed(named), source, policy);

  const ranked: { entry: RankedModel; card: RateCard | null }[] = [];
  const excluded: Candidates['excluded'] = [];
  for (const model of catalog.models) {
    if (model === source || model === named || !isSameWork(source, model)) continue;
    if (officials.some((entry) => entry.model === model)) continue;
    const { card, assessment } = await assessed(model);
    const reasons = [...unsuitedFor(source, model), ...assessment.missed];
    if (reasons.length > 0) excluded.push({ modelKey: assessment.modelKey, reasons });
    else ranked.push({ entry: rank(source, assessment, policy, day), card });
  }
  const preference = byPreference(source, policy);
  ranked.sort((a, b) => preference(a.entry, b.entry));
  excluded.sort((a, b) => (a.modelKey < b.modelKey ? -1 : 1));

  const selectCandidates = (holds: (model: CatalogModel) => boolean) =>
    ranked
      .filter(({ entry }) => holds(entry.model))
      .slice(0, CANDIDATES_MAX)
      .map(({ entry, card }) => presentRanked(entry, card, source));
  const reviewedFirst = (list: Candidate[], holds: boolean) =>
    reviewed && holds ? [reviewed.candidate, ...list].slice(0, CANDIDATES_MAX) : list;
  const isOwn = named?.provider === source.provider;
  return {
    sourcePrice: sourceCard && {
      text: textPrice(sourceCard),
      card: sourceCard,
      ...(sourceUsd !== null && {
        blendedUsdPerMillion: round((sourceUsd / (policy.inputTokens + policy.outputTokens)) * 1e6, 6),
      }),
    },
    official,
    reviewed,
    equivalents: reviewedFirst(
      selectCandidates((model) => model.provider === source.provider && !isVariant(model, source)),
      isOwn,
    ),
    variants: selectCandidates((model) => isVariant(model, source)),
    alternatives: reviewedFirst(
      selectCandidates((model) => model.provider !== source.provider),
      !isOwn,
    ),
    excluded,
    best: ranked[0]?.entry ?? null,
  };
}

/** Whether only some accounts may use the model, and the caller did not ask for such models. */
export function isClosed({ availability }: CatalogModel, { allowPreview }: LookupPolicy): boolean {
  return availability?.access === 'limited' && !allowPreview;
}

/** Why the model cannot serve the caller's typical request, or its price cannot be compared. */
function unfit({ model, priceChangePercent }: Assessment, { inputTokens, outputTokens }: LookupPolicy): string[] {
  const reasons: string[] = [];
  const { contextTokens, maxOutputTokens } = model;
  if (contextTokens !== undefined && contextTokens < inputTokens)
    reasons.push(`context: ${contextTokens} is below ${inputTokens} input tokens`);
  if (maxOutputTokens !== undefined && maxOutputTokens > 0 && maxOutputTokens < outputTokens) {
    reasons.push(`output limit: ${maxOutputTokens} is below ${outputTokens} output tokens`);
  }
  if (priceChangePercent === null) reasons.push('price: not comparable, because one of the two is not known');
  return reasons;
}

/** Whether both are sizes or snapshots of the same generation. */
function isVariant(model: CatalogModel, source: CatalogModel): boolean {
  return model.provider === source.provider && parseGeneration(model) === parseGeneration(source);
}

/** The provider's replacement unless it is retired, and the live model at the end of its chain. */
function officialModels(
  replacement: Replacement | null,
  day: string,
): { modelKey: string; model: CatalogModel | null }[] {
  if (!replacement) return [];
  const { modelKey, model, live } = replacement;
  const named = model && statusOn(model, day) === 'RETIRED' ? [] : [{ modelKey, model }];
  const led = live && live.model !== model ? [live] : [];
  return [...led, ...named];
}

function presentOfficial(modelKey: string, source: CatalogModel, assessed: Assessed | null): Candidate {
  return {
    modelKey,
    provider: assessed?.assessment.model.provider ?? source.provider,
    relation: 'official_replacement',
    confidence: 'authoritative',
    rationale: `${source.provider} names it as the replacement of ${modelKeyOf(source)}`,
    requiresEvaluation: false,
    category: 'upgrade',
    availability: assessed ? describeAvailability(assessed.assessment.model) : 'unknown',
    ...(assessed && candidateFacts(assessed.assessment, assessed.card)),
  };
}

/** The replacement that an operator reviewed. The operator has evaluated it. */
function namedBy(
  review: Review,
  { assessment, card }: Assessed,
  source: CatalogModel,
  policy: LookupPolicy,
): NamedCandidate {
  const { model, modelKey, missed } = assessment;
  const sameProvider = model.provider === source.provider;
  return {
    modelKey,
    missed: [...missed, ...unfit(assessment, policy)],
    candidate: {
      modelKey,
      provider: model.provider,
      relation: sameProvider ? 'same_provider_similar' : 'similar_price_and_strength',
      confidence: 'reviewed',
      rationale: formatCitation(review),
      requiresEvaluation: false,
      category: candidateCategory(model, source),
      availability: 'available',
      ...candidateFacts(assessment, card),
    },
  };
}

function presentRanked(entry: RankedModel, card: RateCard | null, source: CatalogModel): Candidate {
  const sameProvider = entry.model.provider === source.provider;
  return {
    modelKey: entry.modelKey,
    provider: entry.model.provider,
    relation: sameProvider ? 'same_provider_similar' : 'similar_price_and_strength',
    confidence: 'candidate',
    rationale: explainCandidate(entry.model, source),
    requiresEvaluation: true,
    category:
      entry.setbacks.length > 0 && !isVariant(entry.model, source)
        ? 'alternative'
        : candidateCategory(entry.model, source),
    availability: describeAvailability(entry.model),
    score: entry.score,
    ...candidateFacts(entry, card),
    reasons: [...entry.setbacks, ...entry.reasons],
  };
}

function describeAvailability({ availability }: CatalogModel): 'available' | 'unknown' {
  return availability === undefined ? 'available' : 'unknown';
}

function candidateCategory(model: CatalogModel, source: CatalogModel): 'upgrade' | 'variant' | 'alternative' {
  if (isVariant(model, source)) return 'variant';
  return model.provider === source.provider && (newerBy(model, source) ?? 0) > 0 ? 'upgrade' : 'alternative';
}

/** The rationale of a candidate, and of its difference if it is of another kind than the source. */
function explainCandidate(model: CatalogModel, source: CatalogModel): string {
  const special = modelSpecialty(source);
  const made = special === null ? '' : modelSpecialty(model) === special ? ` made for ${special}` : ' for general use';
  const like = model.provider === source.provider ? `of ${model.provider}` : 'of like price and size';
  const other = [
    ...(model.kind === source.kind
      ? []
      : [`the requested one is a ${source.kind} model, so requests change their form`]),
    ...(special === null || modelSpecialty(model) === special ? [] : [`the requested one is made for ${special}`]),
  ];
  return [`${model.kind} model${made} ${like}`, ...other].join('; ');
}

function candidateFacts(
  { compatibility, estimatedRequestUsd, priceChangePercent }: Assessment,
  card: RateCard | null,
): Partial<Candidate> {
  return {
    compatibility,
    ...(card && textPrice(card)),
    ...(estimatedRequestUsd !== null && { estimatedRequestUsd }),
    ...(priceChangePercent !== null && {
      priceChangePercent: round(priceChangePercent),
      priceDistancePercent: round(Math.abs(priceChangePercent)),
    }),
  };
}
