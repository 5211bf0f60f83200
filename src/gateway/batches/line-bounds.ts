/**
 * The most that the lines of a batch may cost and answer, before the vendor runs them.
 *
 * The vendor runs the file as it is, so Callmeter cannot limit an answer. The limit is the line's own, or its model's; if
 * neither has one, `OUTPUT_TOKENS_MAX_DEFAULT` is assumed, and the answer may exceed it.
 */
import type { ModelLimits } from '../../catalog/limits.ts';
import type { Lines, LinesByTier } from '../../domain/batch-hold.ts';
import { type CallBound, costAtMost, type Gap } from '../../domain/bound.ts';
import { OUTPUT_TOKENS_MAX_DEFAULT } from '../../domain/hold.ts';
import type { NanoUsd } from '../../domain/money.ts';
import { isUse, type RateCard, tierOfPrice } from '../../domain/price.ts';
import type { ResolvedPrice } from '../../domain/pricing.ts';
import { DEFAULT_TIER, type Tier } from '../../domain/tiers.ts';
import { callBound, type OpenToCredit } from '../demand/call-bound.ts';
import type { Addressed } from '../demand/region.ts';
import { BATCH_VENDOR } from '../pass-through.ts';

/** The vendor that runs a batch. */
type BatchVendor = Pick<Addressed, 'kind' | 'address'>;

/** A model of a batch's lines. */
export interface BatchModel {
  vendor: BatchVendor;
  tier: Tier;
  price: ResolvedPrice;
  limits: ModelLimits;
  /** The price lists rates for batches; otherwise a batch is billed half of the other rates. */
  hasBatchRates: boolean;
}

export interface BatchLineRequest {
  path: string;
  model: string;
  body: Record<string, unknown>;
}

interface LineBound extends Pick<CallBound, 'searchGap' | 'choices'> {
  /** The most web searches that it can make; 0 if it makes none, or if nothing bounds them. */
  searches: number;
  /** Why credit does not pay for it. */
  gap: Gap | undefined;
  /** Uses without a rate that it could incur. */
  notIncluded: readonly string[];
  costNanoUsd: NanoUsd;
  inputTokens: number;
  outputTokens: number;
}

const NO_LINES: Lines = {
  count: 0,
  isPriced: true,
  costNanoUsd: '0',
  highestCostNanoUsd: '0',
  outputTokens: 0,
  highestOutputTokens: 0,
  costliest: { inputTokens: 0, outputTokens: 0 },
};

export function batchModel(vendor: BatchVendor, price: ResolvedPrice, limits: ModelLimits): BatchModel {
  if (!price.available) return { vendor, tier: DEFAULT_TIER, price, limits, hasBatchRates: false };
  const hasBatchRates = price.card.rates.some(({ when }) => when?.serviceTier === 'batch');
  const card = { ...price.card, rates: lineRates(price.card, hasBatchRates ? 'batch' : 'standard') };
  return { vendor, tier: tierOfPrice(price.card), price: { available: true, card }, limits, hasBatchRates };
}

/** The rates at which a line can be billed: the rates of one service tier, whatever tier the line asks for. */
function lineRates({ rates }: RateCard, serviceTier: 'batch' | 'standard'): RateCard['rates'] {
  return rates.filter(({ component, when }) => isUse(component) || (when?.serviceTier ?? 'standard') === serviceTier);
}

/** Adds a line to the lines, and returns the bound of that line. */
export function withLine(
  lines: LinesByTier,
  model: BatchModel,
  request: BatchLineRequest,
  opened: OpenToCredit,
): { lines: LinesByTier; line: LineBound } {
  const { tier, price } = model;
  const { count, isPriced, costNanoUsd, highestCostNanoUsd, outputTokens, highestOutputTokens, costliest } =
    lines[tier] ?? NO_LINES;
  const line = boundLine(model, request, opened);
  const isCostliest = count === 0 || line.costNanoUsd > BigInt(highestCostNanoUsd);
  const more: Lines = {
    count: count + 1,
    isPriced: isPriced && price.available,
    costNanoUsd: (BigInt(costNanoUsd) + line.costNanoUsd).toString(),
    highestCostNanoUsd: isCostliest ? line.costNanoUsd.toString() : highestCostNanoUsd,
    outputTokens: Math.min(Number.MAX_SAFE_INTEGER, outputTokens + line.outputTokens),
    highestOutputTokens: Math.max(highestOutputTokens, line.outputTokens),
    costliest: isCostliest ? { inputTokens: line.inputTokens, outputTokens: line.outputTokens } : costliest,
  };
  return { lines: { ...lines, [tier]: more }, line };
}

function boundLine(
  { vendor, tier, price, limits, hasBatchRates }: BatchModel,
  { path, model, body }: BatchLineRequest,
  opened: OpenToCredit,
): LineBound {
  const request = { provider: BATCH_VENDOR, ...vendor, model, path, body, price, limits, asIs: true };
  const bound = callBound({ ...request, tier, onDowngrade: false, inSteps: false }, 'batch', opened);
  const perAnswer = bound.outputTokens ?? OUTPUT_TOKENS_MAX_DEFAULT;
  const outputTokens = Math.min(Number.MAX_SAFE_INTEGER, perAnswer * bound.answers);
  const cost = bound.cost ? costAtMost(bound.cost, outputTokens) : 0n;
  const { searchGap, choices } = bound;
  return {
    ...(searchGap && { searchGap }),
    ...(choices && { choices }),
    searches: bound.uses?.webSearch ?? 0,
    gap: bound.gap,
    notIncluded: bound.notIncluded ?? [],
    costNanoUsd: hasBatchRates ? cost : (cost + 1n) / 2n,
    inputTokens: bound.ifLost?.inputTokens ?? 0,
    outputTokens,
  };
}
