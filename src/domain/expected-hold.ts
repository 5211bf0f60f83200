/**
 * What a call on credit is expected to cost, by what this customer's answers of the model came to of their bounds.
 *
 * A plan with `payg.holds: EXPECTED` holds the 95th percentile of these shares in place of more. It never holds more than
 * an exact plan, and refuses nothing that an exact plan admits. The vendor is sent the same bound of the output, and what
 * the call costs is charged in full: so the calls that are open at the same time can overdraw the balance together, by no
 * more than their bounds.
 */

import type { Charge } from './charge.ts';
import type { BoundAndStep } from './hold.ts';
import { percentile95 } from './hold.ts';
import { divideUp, type NanoUsd } from './money.ts';
import type { ProvisionalSource } from './usage.ts';

/** Shares are whole millionths of the bound. */
const WHOLE = 1_000_000n;
/** The answers of a model that are remembered, the last ones. */
export const SHARES_MAX = 100;
/** With fewer answers nothing is expected. */
export const SHARES_LEAST = 20;
/** The models of a customer of which answers are remembered, those that ended last. */
export const SHARED_MODELS_MAX = 32;

/** What the end of a call tells of later ones. Plain JSON. */
export interface Expectation {
  /** The model that was asked first. */
  model: string;
  /** Decimal nano-USD that the call can cost at most, with the markup. */
  boundNanoUsd: string;
  /** What is expected was held, and not what an exact plan holds. */
  isHeld: boolean;
}

/** What an ended call is charged. */
interface Charged {
  charge: Charge | null;
  usageSource: ProvisionalSource | undefined;
}

/** What is expected of a call with this bound, at least a step of its output; `null` if too few answers tell. */
export function expectedCharge(shares: readonly number[], { boundNanoUsd, stepNanoUsd }: BoundAndStep): NanoUsd | null {
  const share = shares.length < SHARES_LEAST ? null : percentile95(shares);
  if (share === null) return null;
  const expected = divideUp(boundNanoUsd * BigInt(share), WHOLE);
  return expected > stepNanoUsd ? expected : stepNanoUsd;
}

/** What the answer came to of its bound; `null` if it tells nothing: its usage is a guess, or the balance did not pay. */
export function shareOfBound({ boundNanoUsd }: Expectation, { charge, usageSource }: Charged): number | null {
  const bound = BigInt(boundNanoUsd);
  const charged = BigInt(charge?.amountNanoUsd ?? 0);
  if (bound === 0n || charged === 0n || usageSource !== undefined || charge?.basis !== undefined) return null;
  const share = divideUp(charged * WHOLE, bound);
  return Number(share < WHOLE ? share : WHOLE);
}

/** The remembered shares with that of one more answer. */
export function withShare(shares: readonly number[], share: number): number[] {
  return [...shares, share].slice(-SHARES_MAX);
}
