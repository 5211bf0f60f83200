/**
 * The amounts of a call that credit does not pay for: the needed, available and held amounts, and the number of output
 * tokens that would pass.
 */
import type { CallBound } from './bound.ts';
import { LEAST_ANSWER_TOKENS, LEAST_THINKING_TOKENS, outputTokensOnCredit } from './hold.ts';
import type { NanoUsd } from './money.ts';
import type { Plan } from './plan.ts';
import { availableUsd, type Wallet } from './wallet.ts';

/** In decimal nano-USD, at the moment of the denial. Plain JSON. */
export interface MoneySums {
  /** The amount that has to be available. */
  neededNanoUsd: string;
  availableNanoUsd: string;
  /** The amount that open calls and batches hold. */
  heldNanoUsd: string;
  /**
   * The output tokens of an answer with which the call would pass; `null` if it would pass with none, or that is
   * unknown.
   */
  maxTokensThatPass: number | null;
}

export function moneySums(
  wallet: Wallet,
  neededNanoUsd: NanoUsd,
  bounds: readonly CallBound[],
  plan: Plan,
  /** Whether credit would pay for a call with these bounds. */
  passes: (bounds: readonly CallBound[]) => boolean,
): MoneySums {
  return {
    neededNanoUsd: neededNanoUsd.toString(),
    availableNanoUsd: availableUsd(wallet).toString(),
    heldNanoUsd: wallet.held,
    maxTokensThatPass: mostTokens(bounds, plan, passes),
  };
}

/** The call does not pass with its own bounds, and needs no more with fewer tokens. */
function mostTokens(
  bounds: readonly CallBound[],
  plan: Plan,
  passes: (bounds: readonly CallBound[]) => boolean,
): number | null {
  const lowered = (tokens: number) => bounds.map((bound) => withTokens(bound, tokens));
  // A model without a price gives no figure.
  const priced = bounds.filter(({ cost }) => cost !== null);
  let [low, high] = [
    Math.max(0, ...priced.map(({ thinks }) => (thinks ? LEAST_THINKING_TOKENS : LEAST_ANSWER_TOKENS))),
    Math.max(0, ...priced.map((bound) => outputTokensOnCredit(bound, plan))),
  ];
  if (low >= high || !passes(lowered(low))) return null;
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (passes(lowered(middle))) low = middle;
    else high = middle;
  }
  return low;
}

function withTokens(bound: CallBound, tokens: number): CallBound {
  if (bound.cannotBeLowered) return bound;
  return { ...bound, outputTokens: Math.min(bound.outputTokens ?? tokens, tokens) };
}
