/**
 * What usage cost and what it earned. Pure.
 *
 * Revenue is what calls and custom meters charged to the balance, and the price of the plan for the time; margin is
 * revenue less cost. Calls whose price is not known have no cost, so with them the margin is lower than it looks.
 */
import type { NanoUsd } from '../../domain/money.ts';
import { addFigures, type CostAndCharge } from '../../history/usage-figures.ts';

export interface Earnings {
  costNanoUsd: NanoUsd;
  /** What calls and custom meters charged to the balance. */
  chargedNanoUsd: NanoUsd;
  /** The price of the plan for the time. */
  planNanoUsd: NanoUsd;
  /** Both. */
  revenueNanoUsd: NanoUsd;
  /** Revenue less cost. */
  marginNanoUsd: NanoUsd;
  calls: number;
  /** Of the calls, those whose cost is not known. */
  unpricedCalls: number;
}

/** What is measured, and what the plan earns beside it. */
export function earningsOf(measured: CostAndCharge | undefined, planNanoUsd: NanoUsd): Earnings {
  const { calls, unpricedCalls, costNanoUsd, chargedNanoUsd } = measured ?? NOTHING;
  const revenueNanoUsd = chargedNanoUsd + planNanoUsd;
  return {
    ...{ costNanoUsd, chargedNanoUsd, planNanoUsd, revenueNanoUsd },
    marginNanoUsd: revenueNanoUsd - costNanoUsd,
    ...{ calls, unpricedCalls },
  };
}

const NOTHING: CostAndCharge = { calls: 0, unpricedCalls: 0, costNanoUsd: 0n, chargedNanoUsd: 0n };

/**
 * A margin in percent of the revenue, with one decimal, rounded towards zero, so that a loss of nearly nothing is none. `null`
 * if there was no revenue.
 */
export function marginPercent({
  marginNanoUsd,
  revenueNanoUsd,
}: {
  marginNanoUsd: NanoUsd;
  revenueNanoUsd: NanoUsd;
}): number | null {
  return revenueNanoUsd > 0n ? Number((marginNanoUsd * 1000n) / revenueNanoUsd) / 10 : null;
}

export function sumEarnings(parts: readonly Earnings[]): Earnings {
  const planNanoUsd = parts.reduce((sum, part) => sum + part.planNanoUsd, 0n);
  return earningsOf(parts.reduce(addFigures<CostAndCharge>, NOTHING), planNanoUsd);
}
