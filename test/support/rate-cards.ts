/**
 * Rate cards in a short form, and costs that must be known, for tests.
 */
import type { Component, RateCard } from '../../src/domain/price.ts';
import { type Cost, computeCost, type PricingMode } from '../../src/domain/pricing.ts';
import type { Usage } from '../../src/domain/usage.ts';

/** Nano-USD per million units. */
export type ShortRates = Partial<Record<Component, bigint | string>>;

export interface ShortTier {
  inputTokensAbove: number;
  rates: ShortRates;
}

/** A card with rates under standard conditions, and tiers of long prompts. */
export function rateCard(rates: ShortRates, tiers: readonly ShortTier[] = [], more: Partial<RateCard> = {}): RateCard {
  const listed = (of: ShortRates, above?: number) =>
    Object.entries(of).map(([component, rate]) => ({
      component: component as Component,
      nanoUsdPerMillion: String(rate),
      ...(above !== undefined && { when: { promptTokensAbove: above } }),
    }));
  return {
    snapshotId: 'made/up@1',
    provider: 'made',
    modelKey: 'made/up',
    ...more,
    rates: [...listed(rates), ...tiers.flatMap((tier) => listed(tier.rates, tier.inputTokensAbove))],
  };
}

/** The cost, which must be known. */
export function knownCost(card: RateCard, usage: Usage, mode: PricingMode = 'standard'): Cost {
  const priced = computeCost(card, usage, mode);
  if (!priced.known) throw new Error(priced.reason);
  return priced.cost;
}
