/**
 * The amount of the balance that a call on credit holds before it runs, and while it runs.
 *
 * A call with a known bound holds the bound. A call whose output shows while it is made holds it in steps; for a stream
 * of a thinking model, the bound is as many output tokens as the balance can afford. Any other call holds the amount
 * that the caller states, or the usual charge of this customer's calls. A plan may hold the expected cost if that is
 * less (expected-hold.ts). The unspent part of a hold is free when the call ends.
 */
import { type CallBound, type CostBound, costAtMost } from './bound.ts';
import { withMarkup } from './charge.ts';
import { NANO_PER_USD, type NanoUsd } from './money.ts';
import type { Plan } from './plan.ts';

/** The most output tokens of an answer on credit if the plan sets no number. */
export const OUTPUT_TOKENS_MAX_DEFAULT = 16_384;
/** Output tokens of a step. */
export const STEP_TOKENS = 1_024;
/** The last steps are smaller, down to this size. */
export const LAST_STEP_TOKENS = 64;
/** With fewer output tokens an answer is useless, unless its request asks for fewer. */
export const LEAST_ANSWER_TOKENS = 256;
/**
 * The same if the request asks the model to think: vendors take no thinking budget below 1,024, and an answer follows.
 */
export const LEAST_THINKING_TOKENS = 1_280;
/** The least hold of a call with unknown cost: one cent. */
const USUAL_CHARGE_MIN: NanoUsd = NANO_PER_USD / 100n;

/** How a call is held in steps. Plain JSON. */
export interface Steps extends CostBound {
  /** The output tokens that are held so far. */
  heldTokens: number;
}

/** The terms under which credit pays for a call. */
export interface HoldTerms {
  markupPercent: number;
  /** The hold that the caller asks for. */
  askedNanoUsd: NanoUsd | null;
  /** The usual charge of this customer's calls. */
  usualCharge: () => NanoUsd;
  expectedCharge: ExpectedCharge;
}

/** The most that a call costs, and the first step of its output. */
export interface BoundAndStep {
  boundNanoUsd: NanoUsd;
  stepNanoUsd: NanoUsd;
}

/** The expected cost of a call of the model with this bound, at least that step; `null` if it is not known. */
export type ExpectedCharge = (model: string, most: BoundAndStep) => NanoUsd | null;

/** For a call on a plan that holds the expected cost. */
interface ExpectedHold {
  /** The model that is asked first. */
  model: string;
  /** The most that the call can cost. */
  boundNanoUsd: NanoUsd;
  /**
   * The amount, for all output tokens, that is held instead of more if the balance covers it; `null` if an exact plan
   * holds no more.
   */
  nanoUsd: NanoUsd | null;
}

/** The hold on the balance when a call begins. */
export interface Hold {
  /** With less, the call may not begin. */
  leastNanoUsd: NanoUsd;
  /** The hold if the balance covers it; with less, fewer output tokens are held, down to the least. */
  nanoUsd: NanoUsd;
  /** The part of `nanoUsd` for the prompt and the uses; `null` if no bound states it. */
  inputNanoUsd: NanoUsd | null;
  /** Present if fewer output tokens can be held than requested. */
  cost: CostBound | null;
  /** The most output tokens of all answers together; `null` if the models are not known. */
  outputTokens: number | null;
  /** More is held while the call goes on. */
  inSteps: boolean;
  expected: ExpectedHold | null;
}

/** The hold for a call that runs on one of the models with these bounds. */
export function computeHold(bounds: readonly CallBound[], plan: Plan, terms: HoldTerms): Hold {
  const { markupPercent, askedNanoUsd, expectedCharge } = terms;
  const worst = worstBound(bounds, plan);
  if (!worst) {
    const nanoUsd = askedNanoUsd ?? terms.usualCharge();
    return {
      leastNanoUsd: nanoUsd,
      nanoUsd,
      inputNanoUsd: null,
      cost: null,
      outputTokens: null,
      inSteps: false,
      expected: null,
    };
  }
  const { cost, outputTokens, inSteps, leastTokens } = worst;
  const upTo = (tokens: number) =>
    withMarkup({ costNanoUsd: costAtMost(cost, Math.min(tokens, outputTokens)), markupPercent });
  const least = highest(upTo(leastTokens), askedNanoUsd);
  const nanoUsd = highest(upTo(inSteps ? STEP_TOKENS : outputTokens), askedNanoUsd);
  const expectHold = (model: string): ExpectedHold => {
    const boundNanoUsd = upTo(outputTokens);
    const charge = expectedCharge(model, { boundNanoUsd, stepNanoUsd: upTo(STEP_TOKENS) - upTo(0) });
    const held = charge === null ? nanoUsd : highest(charge, askedNanoUsd);
    return { model, boundNanoUsd, nanoUsd: held < nanoUsd ? held : null };
  };
  const model = plan.payg.holds === 'EXPECTED' ? bounds[0]?.model : undefined;
  const expected = model === undefined ? null : expectHold(model);
  return {
    leastNanoUsd: lowest(least, expected?.nanoUsd ?? null),
    nanoUsd,
    inputNanoUsd: upTo(0),
    cost: inSteps || leastTokens < outputTokens ? cost : null,
    outputTokens,
    inSteps,
    expected,
  };
}

/** The number of a customer's recent calls that determine the usual charge. */
export const USUAL_CALLS = 100;

/** The usual charge of a customer whose calls had these costs: the 95th percentile, with the markup. */
export function usualCharge(costs: readonly NanoUsd[], markupPercent: number): NanoUsd {
  return highest(withMarkup({ costNanoUsd: percentile95(costs) ?? 0n, markupPercent }), USUAL_CHARGE_MIN);
}

/** The least value that 95 % of the values do not exceed; `null` if there are none. */
export function percentile95<Value extends number | bigint>(values: readonly Value[]): Value | null {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null;
}

/** The most output tokens of one answer if credit pays. */
export function outputTokensOnCredit(
  { outputTokens, cannotBeLowered }: Pick<CallBound, 'outputTokens' | 'cannotBeLowered'>,
  { payg }: Plan,
): number {
  if (cannotBeLowered) return outputTokens ?? OUTPUT_TOKENS_MAX_DEFAULT;
  const { maxOutputTokens = OUTPUT_TOKENS_MAX_DEFAULT } = payg;
  return Math.min(
    outputTokens ?? maxOutputTokens ?? OUTPUT_TOKENS_MAX_DEFAULT,
    maxOutputTokens ?? Number.POSITIVE_INFINITY,
  );
}

/** The output tokens, of all answers together, that each of these models needs for useful answers. */
export function leastOutputTokens(bounds: readonly CallBound[]): number {
  const leastTokens = ({ outputTokens, answers, thinks }: CallBound) =>
    Math.min(thinks ? LEAST_THINKING_TOKENS : LEAST_ANSWER_TOKENS, outputTokens ?? Number.POSITIVE_INFINITY) * answers;
  return Math.max(0, ...bounds.map(leastTokens));
}

/** The output tokens that `availableNanoUsd` can hold in all: `wanted`, or fewer if it does not suffice. */
export function affordableTokens(
  cost: CostBound,
  { markupPercent, wanted, availableNanoUsd }: { markupPercent: number; wanted: number; availableNanoUsd: NanoUsd },
): number {
  const fits = (tokens: number) =>
    withMarkup({ costNanoUsd: costAtMost(cost, tokens), markupPercent }) <= availableNanoUsd;
  if (fits(wanted)) return wanted;
  let [low, high] = [0, wanted];
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** The bound of a call that may run on any of several models. */
interface WorstBound {
  cost: CostBound;
  outputTokens: number;
  inSteps: boolean;
  /** With fewer output tokens, the call may not begin. */
  leastTokens: number;
}

/** A bound that is as high as each of them; `null` if none has a price. */
function worstBound(bounds: readonly CallBound[], plan: Plan): WorstBound | null {
  const priced = bounds.flatMap((bound) => (bound.cost ? [{ bound, cost: bound.cost }] : []));
  if (priced.length === 0) return null;
  const most = (amounts: string[]) =>
    amounts
      .map(BigInt)
      .reduce((a, b) => (a > b ? a : b))
      .toString();
  const models = priced.map(({ bound }) => bound);
  const outputTokens = Math.max(...models.map((bound) => outputTokensOnCredit(bound, plan) * bound.answers));
  const inSteps = models.every((bound) => bound.inSteps);
  const fits = models.every((bound) => bound.inSteps || bound.fitsBalance);
  const least = inSteps ? LAST_STEP_TOKENS : fits ? leastOutputTokens(models) : outputTokens;
  return {
    cost: {
      inputNanoUsd: most(priced.map(({ cost }) => cost.inputNanoUsd)),
      outputNanoUsdPerMillion: most(priced.map(({ cost }) => cost.outputNanoUsdPerMillion)),
    },
    outputTokens,
    inSteps,
    leastTokens: Math.min(least, outputTokens),
  };
}

function lowest(amount: NanoUsd, other: NanoUsd | null): NanoUsd {
  return other !== null && other < amount ? other : amount;
}

function highest(amount: NanoUsd, other: NanoUsd | null): NanoUsd {
  return other !== null && other > amount ? other : amount;
}
