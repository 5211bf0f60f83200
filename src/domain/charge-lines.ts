/**
 * How the charge of a call follows from its cost: lines that sum to the charge, to the nano-USD.
 *
 * Credit may pay for only a part of the call, a hold may stand for uses without a rate, and batch pricing may halve the
 * cost. The markup applies to the remaining cost and is rounded once, so it is a line of its own.
 */
import type { CallOutcome } from './call.ts';
import { withMarkup, withoutMarkup } from './charge.ts';
import type { NanoUsd } from './money.ts';

/** In the order of the lines. */
export const CHARGE_LINES = ['COST', 'BATCH', 'ALLOWANCE', 'HELD', 'MARKUP'] as const;

export interface ChargeLine {
  /**
   * COST: the cost lines, at standard prices. BATCH: the reduction by batch pricing. ALLOWANCE: the cost of parts that
   * the allowance pays. HELD: the hold for uses without a rate, instead of their cost. MARKUP: the plan's.
   */
  kind: (typeof CHARGE_LINES)[number];
  amountNanoUsd: NanoUsd;
}

/** Zero lines are left out, except cost and markup; `null` if there is no charge, or its amount is not known. */
export function chargeLines({ charge, price }: Pick<CallOutcome, 'charge' | 'price'>): ChargeLine[] | null {
  if (charge?.amountNanoUsd == null) return null;
  const { basis, markupPercent } = charge;
  const amount = BigInt(charge.amountNanoUsd);
  const markup = markupPercent ?? 0;
  const final = price.status === 'FINAL' ? price : null;
  const whole = final && BigInt(final.costNanoUsd);
  const paid = paidCost();
  const cost = whole ?? paid;
  const standard = final ? BigInt(final.breakdown.standardCostUsdNano) : paid;
  const marked =
    charge.costNanoUsd === undefined && !basis ? amount : withMarkup({ costNanoUsd: paid, markupPercent: markup });
  const lines: ChargeLine[] = [
    { kind: 'COST', amountNanoUsd: standard },
    { kind: 'BATCH', amountNanoUsd: cost - standard },
    { kind: basis ? 'HELD' : 'ALLOWANCE', amountNanoUsd: amount - marked - (cost - paid) },
    { kind: 'MARKUP', amountNanoUsd: marked - paid },
  ];
  return lines.filter(({ kind, amountNanoUsd }) => kind === 'COST' || kind === 'MARKUP' || amountNanoUsd !== 0n);

  /** The cost to which the markup applies. Older charges determine it to the nano-USD of their rounding. */
  function paidCost(): NanoUsd {
    if (charge?.costNanoUsd !== undefined) return BigInt(charge.costNanoUsd);
    if (basis) return 0n;
    return whole !== null && withMarkup({ costNanoUsd: whole, markupPercent: markup }) === amount
      ? whole
      : withoutMarkup({ amountNanoUsd: amount, markupPercent: markup });
  }
}
