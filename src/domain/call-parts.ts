/**
 * Parts of a call: models that ran besides the one that answered, each with its own usage, price and payer.
 *
 * An advisor is a part, and so is an attempt that the vendor's model declined, or whose answer did not arrive. The cost
 * of a call is the sum of the costs of its answer and parts, in any order; if one of them is unknown, the cost of the
 * call is unknown. Its usage is their sum, and each takes its tokens from the allowance of its own tier, unless credit
 * pays for that tier.
 */
import { type Charge, newCharge, withMarkup } from './charge.ts';
import { chargeByHold, type HeldPrice } from './held-charge.ts';
import type { NanoUsd } from './money.ts';
import { asBilled, type Cost, computeCost, type Priced, type PricingMode, type ResolvedPrice } from './pricing.ts';
import type { Tier } from './tiers.ts';
import type { ProvisionalSource, Usage } from './usage.ts';

/** Plain JSON. */
export interface CallPart {
  providerUsed?: string | undefined;
  modelUsed?: string | undefined;
  usage: Usage;
  /** Absent if the usage is reported. */
  usageSource?: ProvisionalSource | undefined;
  /** The caller's own assertion of the model's tier. */
  isPremium?: boolean | undefined;
}

export interface PricedPart extends CallPart {
  price: ResolvedPrice;
}

/** A part in the form that the call stores. */
export interface RecordedPart extends CallPart {
  tier: Tier;
  /** Credit pays for it, not the allowance of its tier. */
  onCredit: boolean;
}

/** A part with its tier, and its charge if credit pays; `null` if the allowance pays. */
export interface BilledPart extends PricedPart {
  tier: Tier;
  cost: Priced;
  terms: { markupPercent: number } | null;
}

/** The answer's own usage first, then the parts of the call. */
export function allParts(
  report: CallPart & { parts?: readonly PricedPart[] | undefined },
  price: ResolvedPrice,
): [PricedPart, ...PricedPart[]] {
  const { providerUsed, modelUsed, usage, usageSource, isPremium, parts = [] } = report;
  return [{ providerUsed, modelUsed, usage, usageSource, isPremium, price }, ...parts];
}

export function costOfPart({ price, usage }: Pick<PricedPart, 'price' | 'usage'>, mode: PricingMode): Priced {
  return price.available ? computeCost(price.card, usage, mode) : { known: false, reason: price.reason };
}

type Costed = Pick<BilledPart, 'cost' | 'providerUsed'>;

/** The total cost. If it is not known, the first part without a price gives the reason. */
export function costOfParts([own, ...parts]: readonly [Costed, ...Costed[]]): Priced {
  if (!own.cost.known) return own.cost;
  const costs: (Cost & { providerUsed: string | undefined })[] = [];
  for (const { cost, providerUsed } of parts) {
    if (!cost.known) return cost;
    costs.push({ ...cost.cost, providerUsed });
  }
  // The whole has one multiplier: if only some parts are halved, each is shown as it was billed.
  const all = [own.cost.cost, ...costs];
  const isMixed = all.some(isHalved) && all.some((cost) => cost.standardNanoUsd > 0n && !isHalved(cost));
  const told = <Of extends Cost>(cost: Of) => (isMixed ? { ...cost, ...asBilled(cost) } : cost);
  return { known: true, cost: costs.map(told).reduce(withPart, told(own.cost.cost)) };
}

const isHalved = ({ totalNanoUsd, standardNanoUsd }: Cost) => totalNanoUsd !== standardNanoUsd;

/** Like `costOfParts`, for parts with only their prices. */
export function costOfAll([own, ...others]: readonly [Priceable, ...Priceable[]], mode: PricingMode): Priced {
  const costed = (part: Priceable) => ({ providerUsed: part.providerUsed, cost: costOfPart(part, mode) });
  return costOfParts([costed(own), ...others.map(costed)]);
}

type Priceable = Pick<PricedPart, 'price' | 'usage' | 'providerUsed'>;

/** The cost with the lines of a part, which name their model and its recorded price. */
function withPart(whole: Cost, part: Cost & { providerUsed: string | undefined }): Cost {
  const { modelKey: model, provider, providerUsed, snapshotId, tier: pricingTier } = part;
  const of = { model, provider, ...(providerUsed !== undefined && { providerUsed }), snapshotId, pricingTier };
  return {
    ...whole,
    lines: [...whole.lines, ...part.lines.map((line) => ({ ...line, ...of }))],
    assumptions: [...whole.assumptions, ...part.assumptions.map((assumption) => `${model}: ${assumption}`)],
    standardNanoUsd: whole.standardNanoUsd + part.standardNanoUsd,
    totalNanoUsd: whole.totalNanoUsd + part.totalNanoUsd,
    ...(part.standsIn && { standsIn: true as const }),
  };
}

/**
 * The charge for the parts that credit pays for; `null` if it pays for none. A part with a use that has no rate is
 * charged by the call's hold, and the others exactly. The amount is unknown only if no part of it is known.
 */
export function chargeForParts(
  parts: readonly BilledPart[],
  heldFor: (part: BilledPart) => HeldPrice | null,
  mode: PricingMode,
  chargeId: string,
): Charge | null {
  const markupPercent = parts.find(({ terms }) => terms)?.terms?.markupPercent;
  if (markupPercent === undefined) return null;
  let exact: NanoUsd | null = null;
  let byHold: NanoUsd | null = null;
  for (const part of parts.filter(({ terms }) => terms)) {
    const held = heldFor(part);
    const amount = held && chargeByHold(held, part.price, part.usage, mode, markupPercent);
    if (amount !== null) byHold = (byHold ?? 0n) + amount;
    else if (part.cost.known) exact = (exact ?? 0n) + part.cost.cost.totalNanoUsd;
  }
  const priced = exact === null ? null : withMarkup({ costNanoUsd: exact, markupPercent });
  const isWhole = byHold === null && parts.every(({ terms, cost }) => terms && cost.known);
  const of = isWhole ? {} : { costNanoUsd: (exact ?? 0n).toString() };
  if (byHold === null) return { ...newCharge(chargeId, { amountNanoUsd: priced, markupPercent }), ...of };
  return { ...newCharge(chargeId, { amountNanoUsd: byHold + (priced ?? 0n), markupPercent }), ...of, basis: 'HELD' };
}

/**
 * The source of the total's figures: if the answer's own are reported and those of another part are not, they are
 * partial.
 */
export function sourceOfParts([own, ...others]: readonly [CallPart, ...CallPart[]]): ProvisionalSource | undefined {
  return own.usageSource ?? (others.some(({ usageSource }) => usageSource) ? 'partial' : undefined);
}
