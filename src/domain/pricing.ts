/**
 * The exact cost of a call: rates and usage in, cost lines and totals out.
 *
 * Rates are nano-USD per million units. Each line is quantity x rate / 1,000,000, rounded half up to a nano-USD, and
 * the lines sum to the standard cost. The rates of a long-prompt tier apply to the whole call. Where a rate is not
 * published, an assumption names the rate that is used instead, or the usage that is not included.
 */
import { divideHalfUp, type NanoUsd, nanoFromUsd, usdFromNano } from './money.ts';
import { QUANTITY_SCALE, thousandths } from './quantity.ts';
import type { Tier } from './tiers.ts';

/** Decimal nano-USD per million units. */
export interface Rates {
  input: string;
  output: string;
  cachedInput?: string;
  cacheWrite?: string;
  search?: string;
  audioSecond?: string;
}

export interface LongPromptTier {
  inputTokensAbove: number;
  rates: Pick<Rates, 'input' | 'output' | 'cachedInput' | 'cacheWrite'>;
}

export function rateFromUsd(usdPerMillion: number): string {
  return nanoFromUsd(usdPerMillion).toString();
}

/** The rates of one model at one time, as recorded under a snapshot id. Plain JSON. */
export interface RateCard {
  snapshotId: string;
  provider: string;
  modelKey: string;
  rates: Rates;
  tiers: LongPromptTier[];
}

export type PricingUnavailableReason =
  | 'MODEL_NOT_REPORTED'
  | 'MODEL_NOT_IN_CATALOG'
  | 'PRICE_NOT_IN_CATALOG'
  | 'USAGE_NOT_REPORTED'
  | 'USAGE_IMPLAUSIBLE';

/** What the catalog says of the model that a call reported. */
export type ResolvedPrice =
  | { available: true; card: RateCard }
  | { available: false; reason: PricingUnavailableReason };

export interface Usage {
  /** All prompt tokens, cache reads and writes included. */
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteInputTokens: number;
  /** All completion tokens, reasoning included. */
  responseTokens: number;
  reasoningTokens: number;
  searches: number;
  audio: number;
  audioSeconds: number;
}

export type CostComponent = 'input' | 'cachedInput' | 'cacheWrite' | 'output' | 'searches' | 'audioSeconds';

export interface CostLine {
  component: CostComponent;
  quantity: number;
  rateNanoUsdPerMillion: NanoUsd;
  costNanoUsd: NanoUsd;
}

export type PricingMode = 'standard' | 'batch';

export interface Cost {
  snapshotId: string;
  provider: string;
  modelKey: string;
  tier: string;
  tierReason: string;
  lines: CostLine[];
  assumptions: string[];
  standardNanoUsd: NanoUsd;
  totalNanoUsd: NanoUsd;
}

/** A cost as plain JSON, as it is stored with the call and answered. Exact amounts are decimal strings of nano-USD. */
export interface CostBreakdown {
  currency: 'USD';
  snapshotId: string;
  provider: string;
  modelKey: string;
  pricingTier: string;
  pricingTierReason: string;
  lines: {
    component: CostComponent;
    quantity: number;
    usdPerMillion: number;
    rateNanoUsdPerMillion: string;
    costUSD: number;
    costUsdNano: string;
  }[];
  standardCostUSD: number;
  standardCostUsdNano: string;
  assumptions: string[];
}

const UNITS_PER_RATE = 1_000_000n;

/** A call is premium when its model's output price is above this: 4.00 USD per million tokens. */
export const PREMIUM_OUTPUT_NANO_USD_PER_MILLION: NanoUsd = 4_000_000_000n;

/** Batch pricing halves the standard cost. */
export function pricingMultiplier(mode: PricingMode): 0.5 | 1 {
  return mode === 'batch' ? 0.5 : 1;
}

/** The tier that a model belongs to by the price of its output. */
export function tierOfPrice(card: RateCard): Tier {
  return BigInt(card.rates.output) > PREMIUM_OUTPUT_NANO_USD_PER_MILLION ? 'premium' : 'standard';
}

/** Input tokens at the full input rate: all but cache reads and writes. Negative when the parts exceed the whole. */
export function billableInputTokens(usage: Usage): number {
  return usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteInputTokens;
}

export function costOf(card: RateCard, usage: Usage, mode: PricingMode): Cost {
  const tier = selectTier(card, usage.inputTokens);
  const assumptions: string[] = [];
  const { rates } = tier;

  const cachedInput = rates.cachedInput ?? rates.input;
  if (rates.cachedInput === undefined && usage.cachedInputTokens > 0) {
    assumptions.push('cachedInput: no rate is published, the input rate is used');
  }
  const cacheWrite = rates.cacheWrite ?? rates.input;
  if (rates.cacheWrite === undefined && usage.cacheWriteInputTokens > 0) {
    assumptions.push('cacheWrite: no rate is published, the input rate is used');
  }
  if (tier.cacheWriteScaled && usage.cacheWriteInputTokens > 0) {
    assumptions.push('cacheWrite: no long-prompt rate is published, the base rate is scaled as the input rate is');
  }

  const lines = [
    line('input', billableInputTokens(usage), rates.input),
    line('cachedInput', usage.cachedInputTokens, cachedInput),
    line('cacheWrite', usage.cacheWriteInputTokens, cacheWrite),
    line('output', usage.responseTokens, rates.output),
  ];
  if (usage.audio > 0) assumptions.push('audio: no rate of its own is published, none is included in the cost');
  for (const [component, quantity, rate] of [
    ['searches', usage.searches, card.rates.search],
    ['audioSeconds', usage.audioSeconds, card.rates.audioSecond],
  ] as const) {
    if (rate !== undefined) lines.push(line(component, quantity, rate));
    else if (quantity > 0) assumptions.push(`${component}: no rate is published, not included in the cost`);
  }

  const standardNanoUsd = lines.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n);
  return {
    snapshotId: card.snapshotId,
    provider: card.provider,
    modelKey: card.modelKey,
    tier: tier.name,
    tierReason: tier.reason,
    lines: lines.filter(({ component, quantity }) => quantity > 0 || component === 'input' || component === 'output'),
    assumptions,
    standardNanoUsd,
    totalNanoUsd: mode === 'batch' ? divideHalfUp(standardNanoUsd, 2n) : standardNanoUsd,
  };
}

function line(component: CostComponent, quantity: number, decimalRate: string): CostLine {
  const rate = BigInt(decimalRate);
  const costNanoUsd = divideHalfUp(thousandths(quantity) * rate, UNITS_PER_RATE * BigInt(QUANTITY_SCALE));
  return { component, quantity, rateNanoUsdPerMillion: rate, costNanoUsd };
}

interface SelectedTier {
  name: string;
  reason: string;
  rates: LongPromptTier['rates'];
  cacheWriteScaled: boolean;
}

/** The tier with the highest threshold that the whole prompt exceeds; the base rates where there is none. */
function selectTier(card: RateCard, inputTokens: number): SelectedTier {
  const crossed = card.tiers.filter(({ inputTokensAbove }) => inputTokens > inputTokensAbove);
  const tier = crossed.toSorted((a, b) => b.inputTokensAbove - a.inputTokensAbove)[0];
  if (!tier) {
    const lowest = Math.min(...card.tiers.map(({ inputTokensAbove }) => inputTokensAbove));
    const reason = card.tiers.length === 0 ? 'SINGLE_TIER' : `INPUT_TOKENS_UP_TO_${lowest}`;
    return { name: 'base', reason, rates: card.rates, cacheWriteScaled: false };
  }
  const base = card.rates;
  const baseInput = BigInt(base.input);
  const scaledCacheWrite =
    tier.rates.cacheWrite === undefined && base.cacheWrite !== undefined && baseInput > 0n
      ? divideHalfUp(BigInt(base.cacheWrite) * BigInt(tier.rates.input), baseInput).toString()
      : undefined;
  return {
    name: `input_above_${tier.inputTokensAbove}`,
    reason: `INPUT_TOKENS_ABOVE_${tier.inputTokensAbove}`,
    rates: scaledCacheWrite === undefined ? tier.rates : { ...tier.rates, cacheWrite: scaledCacheWrite },
    cacheWriteScaled: scaledCacheWrite !== undefined,
  };
}

export function breakdownOf(cost: Cost): CostBreakdown {
  return {
    currency: 'USD',
    snapshotId: cost.snapshotId,
    provider: cost.provider,
    modelKey: cost.modelKey,
    pricingTier: cost.tier,
    pricingTierReason: cost.tierReason,
    lines: cost.lines.map(({ component, quantity, rateNanoUsdPerMillion, costNanoUsd }) => ({
      component,
      quantity,
      usdPerMillion: usdFromNano(rateNanoUsdPerMillion),
      rateNanoUsdPerMillion: rateNanoUsdPerMillion.toString(),
      costUSD: usdFromNano(costNanoUsd),
      costUsdNano: costNanoUsd.toString(),
    })),
    standardCostUSD: usdFromNano(cost.standardNanoUsd),
    standardCostUsdNano: cost.standardNanoUsd.toString(),
    assumptions: cost.assumptions,
  };
}
