/**
 * What a request to a model may use and cost at most, before it is sent: for the hold of a call that credit pays for.
 */
import type { ModelLimits } from '../catalog/limits.ts';
import { type CallBound, costBound, type Demand } from '../domain/bound.ts';
import type { Capability } from '../domain/plan.ts';
import type { Component, RateCard } from '../domain/price.ts';
import { cardFor, type PricingMode, type ResolvedPrice } from '../domain/pricing.ts';
import type { Tier } from '../domain/tiers.ts';
import { NO_USAGE } from '../domain/usage.ts';
import { inputBound } from '../vendors/input-bound.ts';
import { outputAsked } from '../vendors/output-bound.ts';
import { requestedServiceTier } from '../vendors/service-tier.ts';
import { type Fields, tierOf } from '../vendors/usage/figures.ts';
import { usesBound } from '../vendors/uses-bound.ts';

export interface RequestToModel {
  /** As the organization or the request names it; `undefined` where neither does. */
  provider: string | undefined;
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
  const { provider, model = '', path, body, price, limits, tier, onDowngrade, inSteps } = request;
  const input = inputBound({ provider: provider ?? '', model, body, contextTokens: limits.contextTokens });
  const { perAnswer, answers } = outputAsked(body, path);
  const outputTokens = leastOf(perAnswer, limits.maxOutputTokens);
  const usage = { ...NO_USAGE, inputTokens: input.estimate, responseTokens: 1 };
  return {
    tier,
    ...(onDowngrade && { onDowngrade }),
    outputTokens,
    answers,
    inSteps,
    cost: price.available
      ? costBound(price.card, demandOf(price.card, request, { inputTokens: input.atMost, answers }), mode)
      : null,
    ifLost: {
      ...(provider !== undefined && { providerUsed: provider }),
      ...(model !== '' && { modelUsed: model }),
      inputTokens: input.estimate,
      price: price.available ? { available: true, card: cardFor(price.card, usage) } : price,
    },
  };
}

/** What the vendor can count for the request, at most. */
function demandOf(
  card: RateCard,
  { model, body, needs }: RequestToModel,
  { inputTokens, answers }: { inputTokens: number; answers: number },
): Demand {
  const { searches, fileSearches } = usesBound({ ...(model !== undefined && { model }), body });
  const uses: Demand['uses'] = {
    ...(searches > 0 && { webSearch: searches }),
    ...(fileSearches > 0 && { fileSearch: fileSearches }),
    ...(needs.includes('image') && { images: answers }),
    ...(typeof body.input === 'string' && { characters: body.input.length }),
  };
  const has = (component: Component) => card.rates.some((rate) => rate.component === component);
  return {
    inputTokens,
    uses,
    audio: needs.includes('audio') || (has('audioInput') && hasAudio(body)),
    ...tierOf(requestedServiceTier(body)),
    ...(body.speed === 'fast' && { speed: 'fast' }),
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
