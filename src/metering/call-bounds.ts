/**
 * What a request to a model may use and cost at most, before it is sent: for the hold of a call that credit pays for.
 */
import type { ModelLimits } from '../catalog/limits.ts';
import { type BilledUses, type CallBound, costBound, type Demand } from '../domain/bound.ts';
import type { Capability } from '../domain/plan.ts';
import { type Component, isUse, type RateCard } from '../domain/price.ts';
import { cardFor, type PricingMode, type ResolvedPrice } from '../domain/pricing.ts';
import type { Tier } from '../domain/tiers.ts';
import { NO_USAGE } from '../domain/usage.ts';
import type { VendorKind } from '../domain/vendor-kind.ts';
import { isFormFile } from '../platform/form-file.ts';
import { inputBound } from '../vendors/input-bound.ts';
import { recordingLength, type SoundLength } from '../vendors/media-tokens.ts';
import { outputAsked } from '../vendors/output-bound.ts';
import { requestedServiceTier } from '../vendors/service-tier.ts';
import { type Fields, tierOf } from '../vendors/usage/figures.ts';
import { usesBound } from '../vendors/uses-bound.ts';

const SPEECH = /(?:^|\/)audio\/speech$/;
/**
 * Speech of 15 characters a second, at 1,250 tokens a minute: 1.5 cents at 12 USD per million tokens, as
 * developers.openai.com/api/docs/pricing estimates it. Rounded up.
 */
const SPEECH_TOKENS_PER_CHARACTER = 1.5;

export interface RequestToModel {
  /** As the organization or the request names it; `undefined` where neither does. */
  provider: string | undefined;
  kind: VendorKind;
  /** As the vendor calls it; `undefined` where the request names none. */
  model: string | undefined;
  /** Of the vendor's address. */
  path: string;
  body: Fields;
  /** Capabilities that the request uses. */
  needs: readonly Capability[];
  price: ResolvedPrice;
  limits: Partial<ModelLimits>;
  tier: Tier | null;
  onDowngrade: boolean;
  /** The output is passed on as it is made, and all of it shows. */
  inSteps: boolean;
}

export function callBound(request: RequestToModel, mode: PricingMode): CallBound {
  const { provider, kind, model = '', path, body, price, limits, tier, onDowngrade, inSteps } = request;
  const input = inputBound({ kind, model, body, contextTokens: limits.contextTokens });
  const { perAnswer, answers } = outputAsked(body, path);
  // Of a model that is billed by something else, tokens are not counted.
  const hasTokens = !price.available || price.card.rates.some(({ component }) => !isUse(component));
  const outputTokens = hasTokens ? leastOf(perAnswer, limits.maxOutputTokens) : 0;
  const inputTokens = hasTokens ? input.estimate : 0;
  const seconds = recordedSeconds(body);
  const uses = price.available ? billedUses(price.card, request, { answers, seconds: seconds.estimate }) : {};
  const usage = { ...NO_USAGE, inputTokens, responseTokens: 1, ...uses };
  const isBounded = seconds.atMost !== null || !price.available || !charges(price.card, 'audioSeconds');
  return {
    tier,
    ...(onDowngrade && { onDowngrade }),
    outputTokens,
    answers,
    inSteps,
    cost:
      price.available && isBounded
        ? costBound(
            price.card,
            demandOf(price.card, request, { inputTokens: input.atMost, answers, seconds: seconds.atMost ?? 0 }),
            mode,
          )
        : null,
    ifLost: {
      ...(provider !== undefined && { providerUsed: provider }),
      ...(model !== '' && { modelUsed: model }),
      inputTokens,
      ...(Object.keys(uses).length > 0 && { uses }),
      ...(SPEECH.test(path) && hasTokens && { outputTokens: spokenTokens(body) }),
      price: price.available ? { available: true, card: cardFor(price.card, usage) } : price,
    },
  };
}

/** What the vendor can count for the request, at most. */
function demandOf(
  card: RateCard,
  { model, body, needs }: RequestToModel,
  { inputTokens, answers, seconds }: { inputTokens: number; answers: number; seconds: number },
): Demand {
  const { searches, fileSearches } = usesBound({ ...(model !== undefined && { model }), body });
  const uses: Demand['uses'] = {
    ...(searches > 0 && { webSearch: searches }),
    ...(fileSearches > 0 && { fileSearch: fileSearches }),
    ...(needs.includes('image') && { images: answers }),
    ...(typeof body.input === 'string' && { characters: body.input.length }),
    ...(seconds > 0 && { audioSeconds: seconds }),
  };
  return {
    inputTokens,
    uses,
    audio: needs.includes('audio') || (charges(card, 'audioInput') && hasAudio(body)),
    ...tierOf(requestedServiceTier(body)),
    ...(body.speed === 'fast' && { speed: 'fast' }),
  };
}

function spokenTokens({ input }: Fields): number {
  return Math.ceil((typeof input === 'string' ? input.length : 0) * SPEECH_TOKENS_PER_CHARACTER);
}

/** What the request likely makes the vendor bill besides tokens, as far as the price charges for it. */
function billedUses(
  card: RateCard,
  { body, needs }: RequestToModel,
  { answers, seconds }: { answers: number; seconds: number },
): BilledUses {
  return {
    ...(needs.includes('image') && charges(card, 'images') && { images: answers }),
    ...(typeof body.input === 'string' && charges(card, 'characters') && { characters: body.input.length }),
    ...(seconds > 0 && charges(card, 'audioSeconds') && { audioSeconds: seconds }),
  };
}

function charges({ rates }: RateCard, component: Component): boolean {
  return rates.some((rate) => rate.component === component);
}

/** How long the recordings of a form are together. */
function recordedSeconds(body: Fields): SoundLength {
  const recordings = Object.values(body).filter(isFormFile).map(recordingLength);
  return {
    atMost: recordings.reduce<number | null>(
      (sum, { atMost }) => (sum === null || atMost === null ? null : sum + atMost),
      0,
    ),
    estimate: recordings.reduce((sum, { estimate }) => sum + estimate, 0),
  };
}

/** Whether the prompt may have audio: in a part, as every vendor calls it. */
function hasAudio(body: Fields): boolean {
  return /"input_audio"|"audio\//.test(JSON.stringify(body));
}

function leastOf(...bounds: (number | null | undefined)[]): number | null {
  const known = bounds.filter((bound) => bound != null);
  return known.length === 0 ? null : Math.min(...known);
}
