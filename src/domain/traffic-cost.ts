/**
 * The cost that traffic would have had at another price: sums of calls under the same conditions, each at the rates of
 * that price.
 *
 * Each component of a sum is rounded once, and not for each call. Uses without a rate are named and excluded from the
 * cost.
 */
import type { NanoUsd } from './money.ts';
import type { RateCard } from './price.ts';
import { computeCharges, isAudioUntold, type PricingMode } from './pricing.ts';
import type { Usage } from './usage.ts';

/** Calls with one pricing mode, under the same conditions, whose prompts exceed the same thresholds of the price. */
export interface Traffic {
  mode: PricingMode;
  /** The usage of all calls together, with their conditions. */
  usage: Usage;
  /** The highest threshold of a long prompt that every prompt exceeds; 0 for none. */
  promptTokensAbove: number;
}

export interface TrafficCost {
  /** `null` if nothing that costs has a rate: an unknown cost is not zero. */
  nanoUsd: NanoUsd | null;
  /** Components without a rate, each with the conditions under which it has none. */
  notPriced: string[];
  /** Rules that stand in for a rate. */
  assumptions: string[];
}

export function costOfTraffic(card: RateCard, traffic: readonly Traffic[]): TrafficCost {
  let nanoUsd = 0n;
  const notPriced = new Set<string>();
  const assumptions = new Set<string>();
  for (const { mode, usage, promptTokensAbove } of traffic) {
    const charges = computeCharges(card, usage, mode, promptTokensAbove + 1);
    nanoUsd += charges.totalNanoUsd;
    for (const component of charges.missing) notPriced.add(`${component}${charges.under}`);
    for (const component of charges.unlisted) notPriced.add(component);
    if (isAudioUntold(usage)) notPriced.add('audio');
    for (const rule of [...charges.assumptions, ...charges.regional]) assumptions.add(rule);
  }
  const isUnknown = nanoUsd === 0n && notPriced.size > 0;
  return { nanoUsd: isUnknown ? null : nanoUsd, notPriced: [...notPriced], assumptions: [...assumptions] };
}

/** The thresholds of long prompts that a price has. */
export function promptThresholds({ rates }: RateCard): number[] {
  return [...new Set(rates.flatMap(({ when }) => when?.promptTokensAbove ?? []))];
}
