/**
 * A charge: what usage beyond the allowance costs the customer's USD balance.
 *
 * A charge is created together with the usage as PENDING and settles later: POSTED once the balance has paid it, FAILED
 * with a reason where it cannot be priced or billed.
 */
import { divideHalfUp, type NanoUsd } from './money.ts';

type SettlementStatus = 'PENDING' | 'POSTED' | 'FAILED';

/** What an amount is made of, if it is not the price alone. */
export const CHARGE_BASES = ['HELD'] as const;
export type ChargeBasis = (typeof CHARGE_BASES)[number];

export interface Charge {
  chargeId: string;
  /** Decimal nano-USD; `null` where the price is not known. */
  amountNanoUsd: string | null;
  /** Present if what was held stands for something without a rate; else the amount is the price. */
  basis?: ChargeBasis | undefined;
  /** Decimal nano-USD of the cost that the markup is on; absent if that is the whole cost of the call. */
  costNanoUsd?: string | undefined;
  /** `null` for a custom meter, whose overage price already includes any markup. */
  markupPercent: number | null;
  status: SettlementStatus;
  failureReason: string | null;
}

/** What the billing provider has accepted of a call or an increment, in decimal nano-USD by its customer there. */
export type Billed = Record<string, string>;

/** A plan's markup has at most four decimals of a percent. */
const PERCENT_SCALE = 10_000;

/** The cost with the plan's markup on it, rounded half up to a nano-USD. */
export function withMarkup({ costNanoUsd, markupPercent }: { costNanoUsd: NanoUsd; markupPercent: number }): NanoUsd {
  const scaled = BigInt(Math.round(markupPercent * PERCENT_SCALE));
  const whole = BigInt(100 * PERCENT_SCALE);
  return divideHalfUp(costNanoUsd * (whole + scaled), whole);
}

/** The cost that comes to the amount with the markup on it, rounded half up. */
export function withoutMarkup({
  amountNanoUsd,
  markupPercent,
}: {
  amountNanoUsd: NanoUsd;
  markupPercent: number;
}): NanoUsd {
  const scaled = BigInt(Math.round(markupPercent * PERCENT_SCALE));
  const whole = BigInt(100 * PERCENT_SCALE);
  return divideHalfUp(amountNanoUsd * whole, whole + scaled);
}

/** A zero charge is POSTED at once; a charge without a known price is FAILED. */
export function newCharge(
  chargeId: string,
  { amountNanoUsd, markupPercent }: { amountNanoUsd: NanoUsd | null; markupPercent: number | null },
): Charge {
  const charge = { chargeId, amountNanoUsd: amountNanoUsd?.toString() ?? null, markupPercent, failureReason: null };
  if (amountNanoUsd === null) return { ...charge, status: 'FAILED', failureReason: 'PRICE_UNAVAILABLE' };
  return { ...charge, status: amountNanoUsd === 0n ? 'POSTED' : 'PENDING' };
}

/** The amount that still has to leave the balance: zero unless the charge is PENDING. */
export function pendingAmount(charge: Charge | null | undefined): NanoUsd {
  return charge?.status === 'PENDING' ? BigInt(charge.amountNanoUsd ?? 0) : 0n;
}

/** What a charge earns: nothing where it failed, or where its amount is not known. It earns from the start, not once it is settled. */
export function earnedNanoUsd(charge: Charge | null | undefined): NanoUsd {
  return charge && charge.status !== 'FAILED' ? BigInt(charge.amountNanoUsd ?? 0) : 0n;
}

export function settled(charge: Charge, failureReason: string | null): Charge {
  return { ...charge, status: failureReason === null ? 'POSTED' : 'FAILED', failureReason };
}
