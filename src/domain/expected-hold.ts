/**
 * The expected cost of a call on credit, from the shares of their bounds that this customer's earlier answers of the
 * model cost.
 *
 * A plan with `payg.holds: EXPECTED` holds the 95th percentile of these shares if an exact plan would hold more. It
 * never holds more than an exact plan, and refuses nothing that an exact plan admits. The vendor gets the same output
 * bound, and the cost of the call is charged in full: so calls that are open at the same time can together overdraw the
 * balance, by at most their bounds.
 */

import type { Charge } from './charge.ts';
import type { BoundAndStep } from './hold.ts';
import { percentile95 } from './hold.ts';
import { divideUp, type NanoUsd } from './money.ts';
import type { ProvisionalSource } from './usage.ts';

/** Shares are whole millionths of the bound. */
const WHOLE = 1_000_000n;
/** The most answers of a model that are remembered: the last ones. */
export const SHARES_MAX = 100;
/** With fewer answers, there is no expected cost. */
export const SHARES_LEAST = 20;
/** The most models of a customer whose answers are remembered: those that ended last. */
export const SHARED_MODELS_MAX = 32;

/** The facts for later calls that the end of a call adds. Plain JSON. */
export interface Expectation {
  /** The model that was asked first. */
  model: string;
  /** The most decimal nano-USD that the call can cost, with the markup. */
  boundNanoUsd: string;
  /** The expected amount was held, not the amount of an exact plan. */
  isHeld: boolean;
}

/** The charge of an ended call. */
interface Charged {
  charge: Charge | null;
  usageSource: ProvisionalSource | undefined;
}

/** The expected cost of a call with this bound, at least a step of its output; `null` if there are too few answers. */
export function expectedCharge(shares: readonly number[], { boundNanoUsd, stepNanoUsd }: BoundAndStep): NanoUsd | null {
  const share = shares.length < SHARES_LEAST ? null : percentile95(shares);
  if (share === null) return null;
  const expected = divideUp(boundNanoUsd * BigInt(share), WHOLE);
  return expected > stepNanoUsd ? expected : stepNanoUsd;
}

/**
 * The share of its bound that the answer cost; `null` if that is unknown: its usage is a guess, or the balance did not
 * pay.
 */
export function shareOfBound({ boundNanoUsd }: Expectation, { charge, usageSource }: Charged): number | null {
  const bound = BigInt(boundNanoUsd);
  const charged = BigInt(charge?.amountNanoUsd ?? 0);
  if (bound === 0n || charged === 0n || usageSource !== undefined || charge?.basis !== undefined) return null;
  const share = divideUp(charged * WHOLE, bound);
  return Number(share < WHOLE ? share : WHOLE);
}

/** The remembered shares with the share of one more answer. */
export function withShare(shares: readonly number[], share: number): number[] {
  return [...shares, share].slice(-SHARES_MAX);
}
