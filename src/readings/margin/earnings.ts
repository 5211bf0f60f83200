/**
 * The cost and the earnings of usage. Pure.
 *
 * Revenue is the charges of calls and custom meters to the balance, and the price of the plan for the time; margin is
 * revenue less cost. Calls without a known price have no cost, so they make the margin look higher than it is.
 */
import type { NanoUsd } from '../../domain/money.ts';
import { addFigures, type CostAndCharge } from '../../history/usage-figures.ts';

export interface Earnings {
  costNanoUsd: NanoUsd;
  /** The charges of calls and custom meters to the balance. */
  chargedNanoUsd: NanoUsd;
  /** The price of the plan for the time. */
  planNanoUsd: NanoUsd;
  /** Charges and plan together. */
  revenueNanoUsd: NanoUsd;
  /** Revenue less cost. */
  marginNanoUsd: NanoUsd;
  calls: number;
  /** The calls whose cost is not known. */
  unpricedCalls: number;
}

/** Adds the plan's earnings to the measured cost and charges. */
export function computeEarnings(measured: CostAndCharge | undefined, planNanoUsd: NanoUsd): Earnings {
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
 * A margin in percent of the revenue, with one decimal, rounded towards zero, so that a tiny loss shows as 0. `null` if
 * there was no revenue.
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
  return computeEarnings(parts.reduce(addFigures<CostAndCharge>, NOTHING), planNanoUsd);
}
