/**
 * The charge of a call with uses that have no rate: its hold stands for them.
 *
 * A call has two sides: its prompt with all uses, and its output. A side that has all rates costs exactly its lines.
 * Any other side costs its hold, or its lines if they come to more. Only a hold that was made from a bound is such a
 * price, or the hold of a call that the service makes itself.
 */
import { withMarkup } from './charge.ts';
import type { Expectation } from './expected-hold.ts';
import type { NanoUsd } from './money.ts';
import { isOutput } from './price.ts';
import { computeCharges, inMode, type PricingMode, type ResolvedPrice } from './pricing.ts';
import type { Usage } from './usage.ts';

/** A hold that stands for uses without a rate, with the markup. */
export interface HeldPrice {
  nanoUsd: NanoUsd;
  /** The part of it for the prompt and the uses; `null` if the sides are not separate. */
  inputNanoUsd: NanoUsd | null;
}

/** The amounts of the balance that a call holds. Plain JSON. */
export interface HeldTerms {
  /** Decimal nano-USD, held on the balance until the call ends or times out. */
  heldNanoUsd: string;
  /**
   * The part of the hold, in decimal nano-USD, for the prompt and the uses; `null` if its sides are not separate.
   * Absent if the hold does not stand for a price, and in older calls.
   */
  heldForInputNanoUsd?: string | null;
  /** The held decimal nano-USD when the call ended, timed out or was refused. */
  heldAtEndNanoUsd?: string;
  /** Present on plans that hold the expected cost, if the model is known. */
  expectation?: Expectation;
}

/** A call with its holds; `ifLost` is present while the service makes it. */
interface Holding {
  credit?: HeldTerms;
  ifLost?: unknown;
}

/** The call's hold as a price; `null` if it does not stand for one. */
export function heldPrice(call: Holding): HeldPrice | null {
  const input = heldForInput(call);
  if (!call.credit || input === undefined) return null;
  const { heldNanoUsd, heldAtEndNanoUsd = heldNanoUsd, expectation } = call.credit;
  // Nothing was held for a call without a bound, such as the line of a batch: that does not make it free.
  if (heldAtEndNanoUsd === '0') return null;
  // A plan that holds less does not charge less.
  const nanoUsd = expectation?.isHeld ? expectation.boundNanoUsd : heldAtEndNanoUsd;
  return { nanoUsd: BigInt(nanoUsd), inputNanoUsd: input === null ? null : BigInt(input) };
}

/** `heldForInputNanoUsd` of the call's terms, also if they are older than the separation of the sides. */
export function heldForInput({ credit, ifLost }: Holding): string | null | undefined {
  return credit?.heldForInputNanoUsd === undefined && ifLost ? null : credit?.heldForInputNanoUsd;
}

/** The charge for the usage, with the markup; `null` if all of it has a rate. */
export function chargeByHold(
  held: HeldPrice,
  price: ResolvedPrice,
  usage: Usage,
  mode: PricingMode,
  markupPercent: number,
): NanoUsd | null {
  if (!price.available) return held.nanoUsd;
  const { lines, missing, unlisted, conditions, totalNanoUsd } = computeCharges(
    price.card,
    usage,
    mode,
    usage.inputTokens,
  );
  const lacking = [...missing, ...unlisted];
  if (lacking.length === 0) return null;
  const priced = withMarkup({ costNanoUsd: totalNanoUsd, markupPercent });
  if (held.inputNanoUsd === null) return higher(held.nanoUsd, priced);
  const ofInput = lines.reduce(
    (sum, { component, costNanoUsd }) => (isOutput(component) ? sum : sum + costNanoUsd),
    0n,
  );
  const pricedInput = withMarkup({ costNanoUsd: inMode(ofInput, mode, conditions), markupPercent });
  // Computed by subtraction, so that both sides together are never below all lines, however they are rounded.
  const pricedOutput = priced - pricedInput;
  const input = lacking.every(isOutput) ? pricedInput : higher(held.inputNanoUsd, pricedInput);
  const output = lacking.some(isOutput) ? higher(held.nanoUsd - held.inputNanoUsd, pricedOutput) : pricedOutput;
  return input + output;
}

function higher(one: NanoUsd, other: NanoUsd): NanoUsd {
  return one > other ? one : other;
}
