/**
 * A charge: the cost to the customer's USD balance of usage beyond the allowance.
 *
 * A charge is created together with the usage as PENDING and settles later: POSTED after the balance has paid it,
 * FAILED with a reason if it cannot be priced or billed.
 */
import { divideHalfUp, type NanoUsd } from './money.ts';

type SettlementStatus = 'PENDING' | 'POSTED' | 'FAILED';

/** The basis of an amount, if it is not the price alone. */
export const CHARGE_BASES = ['HELD'] as const;
export type ChargeBasis = (typeof CHARGE_BASES)[number];

export interface Charge {
  chargeId: string;
  /** Decimal nano-USD; `null` if the price is not known. */
  amountNanoUsd: string | null;
  /** Present if the hold stands for a use without a rate; otherwise the amount is the price. */
  basis?: ChargeBasis | undefined;
  /** Decimal nano-USD of the cost to which the markup applies; absent if that is the whole cost of the call. */
  costNanoUsd?: string | undefined;
  /** `null` for a custom meter, whose overage price already includes any markup. */
  markupPercent: number | null;
  status: SettlementStatus;
  failureReason: string | null;
}

/**
 * The amounts of a call or an increment that the billing provider has accepted, in decimal nano-USD, by the customer
 * there.
 */
export type Billed = Record<string, string>;

/** A plan's markup has at most four decimals of a percent. */
const PERCENT_SCALE = 10_000;

/** The cost plus the plan's markup, rounded half up to a nano-USD. */
export function withMarkup({ costNanoUsd, markupPercent }: { costNanoUsd: NanoUsd; markupPercent: number }): NanoUsd {
  const scaled = BigInt(Math.round(markupPercent * PERCENT_SCALE));
  const whole = BigInt(100 * PERCENT_SCALE);
  return divideHalfUp(costNanoUsd * (whole + scaled), whole);
}

/** The cost that gives the amount after the markup, rounded half up. */
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

/** The amount that has still to leave the balance: zero unless the charge is PENDING. */
export function pendingAmount(charge: Charge | null | undefined): NanoUsd {
  return charge?.status === 'PENDING' ? BigInt(charge.amountNanoUsd ?? 0) : 0n;
}

/**
 * The earnings of a charge: none if it failed, or if its amount is not known. It earns from the start, not only after
 * it is settled.
 */
export function earnedNanoUsd(charge: Charge | null | undefined): NanoUsd {
  return charge && charge.status !== 'FAILED' ? BigInt(charge.amountNanoUsd ?? 0) : 0n;
}

export function settled(charge: Charge, failureReason: string | null): Charge {
  return { ...charge, status: failureReason === null ? 'POSTED' : 'FAILED', failureReason };
}
