/**
 * How the charge of a call comes about from its cost: lines that sum to the charge, to the nano-USD.
 *
 * Credit may pay for a part of the call alone, what was held may stand for what has no rate, and batch pricing may halve
 * the cost. The markup is on what is left, rounded once, and so a line of its own.
 */
import type { CallOutcome } from './call.ts';
import { withMarkup, withoutMarkup } from './charge.ts';
import type { NanoUsd } from './money.ts';

/** In the order of the lines. */
export const CHARGE_LINES = ['COST', 'BATCH', 'ALLOWANCE', 'HELD', 'MARKUP'] as const;

export interface ChargeLine {
  /**
   * COST: the cost lines, at standard prices. BATCH: what batch pricing takes off. ALLOWANCE: the cost of parts that the
   * allowance pays. HELD: what was held for what has no rate, in place of its cost. MARKUP: of the plan.
   */
  kind: (typeof CHARGE_LINES)[number];
  amountNanoUsd: NanoUsd;
}

/** Lines of nothing are left out, but for cost and markup; `null` if there is no charge, or its amount is not known. */
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

  /** The cost that the markup is on. Charges of before it was kept tell it to the nano-USD by which it was rounded. */
  function paidCost(): NanoUsd {
    if (charge?.costNanoUsd !== undefined) return BigInt(charge.costNanoUsd);
    if (basis) return 0n;
    return whole !== null && withMarkup({ costNanoUsd: whole, markupPercent: markup }) === amount
      ? whole
      : withoutMarkup({ amountNanoUsd: amount, markupPercent: markup });
  }
}
