/**
 * The holds and estimates of calls in the reference model, computed from the contract alone: the input's bound and each
 * output token at its rate, with the markup on the whole.
 */
import type { Tier } from './reference-model.ts';

const MILLION = 1_000_000n;
const CENT = 10_000_000n;
const OUTPUT_TOKENS = 16_384;
const [STEP, LAST_STEP, LEAST_ANSWER, LEAST_THINKING] = [1_024, 64, 256, 1_280];

/** The known facts of a model that may run. */
export interface ModelBound {
  tier: Tier | null;
  /** The output of one answer. */
  outputTokens: number | null;
  answers: number;
  inSteps: boolean;
  /** A stream of a model that thinks. */
  fits: boolean;
  /** Nano-USD of the prompt, and of a million output tokens; `null` if the model has no price. */
  cost: { input: bigint; rate: bigint } | null;
  /** For a call that the service makes: the known facts if the vendor never answers. */
  lost: { card: number | null; inputTokens: number; modelUsed: string } | null;
}

/** The need of a call: the least and the first hold, and how its output is held. */
export interface Need {
  least: bigint;
  first: bigint;
  /** The part of it for the prompt; `null` if no price states it. */
  input: bigint | null;
  outputTokens: number | null;
  steps: { input: bigint; rate: bigint } | null;
  /** Set if its output tokens are as many as there is money for. */
  fits: { input: bigint; rate: bigint } | null;
}

/** Rounded half up: 1 + markup is (1,000,000 + markup) / 1,000,000, as markup is in ten-thousandths of a percent. */
export function markedUp(cost: bigint, markup: bigint): bigint {
  return (cost * (MILLION + markup) + 500_000n) / MILLION;
}

export function chargeUpTo({ input, rate }: { input: bigint; rate: bigint }, tokens: number, markup: bigint): bigint {
  const output = rate * BigInt(tokens);
  return markedUp(input + output / MILLION + (output % MILLION > 0n ? 1n : 0n), markup);
}

const largest = (values: bigint[]) => values.reduce((a, b) => (a > b ? a : b));

/** For the models that one of these tiers would pay for; if none has a price, the requested or the usual hold. */
export function needOf(
  bounds: readonly ModelBound[],
  tiers: readonly Tier[],
  terms: { planTokens: number | null; markup: bigint; asked: bigint | null; usual: bigint },
): Need {
  const { planTokens, markup, asked, usual } = terms;
  const priced = bounds.flatMap(({ cost, ...bound }) =>
    cost && (bound.tier === null || tiers.includes(bound.tier)) ? [{ ...bound, ...cost }] : [],
  );
  if (priced.length === 0) {
    const held = asked ?? usual;
    return { least: held, first: held, input: null, outputTokens: null, steps: null, fits: null };
  }
  const outputTokens = Math.max(
    ...priced.map((bound) => {
      const own = bound.outputTokens ?? planTokens ?? OUTPUT_TOKENS;
      return bound.answers * (planTokens === null || own < planTokens ? own : planTokens);
    }),
  );
  const cost = { input: largest(priced.map(({ input }) => input)), rate: largest(priced.map(({ rate }) => rate)) };
  const inSteps = priced.every((bound) => bound.inSteps);
  const fits = !inSteps && priced.every((bound) => bound.inSteps || bound.fits);
  const ofUse = priced.map((bound) => bound.answers * answerOfUse(bound, bound.outputTokens));
  const upTo = (step: number) => {
    const own = chargeUpTo(cost, step < outputTokens ? step : outputTokens, markup);
    return asked !== null && asked > own ? asked : own;
  };
  return {
    least: upTo(inSteps ? LAST_STEP : fits ? Math.max(...ofUse) : outputTokens),
    first: upTo(inSteps ? STEP : outputTokens),
    input: markedUp(cost.input, markup),
    outputTokens,
    steps: inSteps ? cost : null,
    fits: fits ? cost : null,
  };
}

/** The most tokens that so much money holds: found one by one. */
function tokensFor(cost: { input: bigint; rate: bigint }, wanted: number, money: bigint, markup: bigint): number {
  let tokens = wanted;
  while (tokens > 0 && chargeUpTo(cost, tokens, markup) > money) tokens -= 1;
  return tokens;
}

export function firstStep(need: Need, held: bigint, markup: bigint): number | null {
  const { steps, outputTokens } = need;
  return steps && outputTokens !== null ? tokensFor(steps, Math.min(STEP, outputTokens), held, markup) : null;
}

/** The output tokens that a call is held to. */
export function boundedTokens({ fits, outputTokens }: Need, held: bigint, markup: bigint): number | null {
  return fits && outputTokens !== null ? tokensFor(fits, outputTokens, held, markup) : outputTokens;
}

/** The hold of a call after a request for so many tokens in all: a step, or as much of one as there is money for. */
export function nextStep(
  open: { steps: { input: bigint; rate: bigint }; heldTokens: number; held: bigint; outputTokens: number },
  wanted: number,
  available: bigint,
  markup: bigint,
): { heldTokens: number; held: bigint } {
  const { steps, heldTokens, held, outputTokens } = open;
  const most = wanted < outputTokens ? wanted : outputTokens;
  const tokens = tokensFor(steps, most, held + available, markup);
  if (tokens <= heldTokens || (tokens < most && tokens < heldTokens + LAST_STEP)) return { heldTokens, held };
  const needed = chargeUpTo(steps, tokens, markup);
  return { heldTokens: tokens, held: needed > held ? needed : held };
}

/** The least value that 95 of 100 do not exceed; `null` if there are none. */
function usualOf(values: readonly bigint[]): bigint | null {
  const enough = (value: bigint) => values.filter((other) => other <= value).length * 100 >= values.length * 95;
  const sufficient = values.filter(enough);
  return sufficient.length === 0 ? null : sufficient.reduce((a, b) => (a < b ? a : b));
}

export function usualHold(costs: readonly bigint[], markup: bigint): bigint {
  const usual = markedUp(usualOf(costs) ?? 0n, markup);
  return usual > CENT ? usual : CENT;
}

/** The output tokens that a call asks for at most, of all its answers. */
export function askedTokens({ outputTokens, answers }: Pick<ModelBound, 'outputTokens' | 'answers'>): number {
  return (outputTokens ?? OUTPUT_TOKENS) * answers;
}

/** The cost of usage that partly lacks a rate, by the hold for the prompt and the whole hold. */
export function chargeByHold(
  { held, input }: { held: bigint; input: bigint | null },
  price: { cost: bigint; inputCost: bigint } | null,
  markup: bigint,
): bigint {
  if (!price) return held;
  const all = markedUp(price.cost, markup);
  if (input === null) return largest([held, all]);
  // With these prices, only uses can lack a rate, and they are separate from the prompt.
  const known = markedUp(price.inputCost, markup);
  return largest([input, known]) + all - known;
}

/** The fewest tokens of an answer that is of use; all of them if no more are asked for. Only models that think fit. */
function answerOfUse({ fits }: Pick<ModelBound, 'fits'>, asked: number | null): number {
  const least = fits ? LEAST_THINKING : LEAST_ANSWER;
  return asked !== null && asked < least ? asked : least;
}

/** The output tokens of all answers that a tier's allowance pays for; whether they are of use, and all that is asked for. */
export interface Written {
  tokens: number;
  isEnough: boolean;
  isAll: boolean;
}

/** `left`: tokens of the tier, `null` without a limit. `null` if the allowance bounds nothing. */
export function writtenOf(
  bounds: readonly ModelBound[],
  left: number | null,
  plan: { maxOutputTokens: number | null; reserveOutputTokens: number | null },
): Written | null {
  const { maxOutputTokens, reserveOutputTokens } = plan;
  const ours = bounds.filter(({ lost, outputTokens }) => lost !== null && outputTokens !== 0);
  const isBounded = left !== null || maxOutputTokens !== null || reserveOutputTokens !== null;
  if (!isBounded || ours.length === 0) return null;
  const lower = (a: number | null, b: number | null) => (a === null ? b : b === null || a < b ? a : b);
  const [all, few] = ours.reduce<[number | null, number]>(
    ([most, least], bound) => {
      const { outputTokens, answers } = bound;
      const each = lower(outputTokens, maxOutputTokens);
      const useful = answerOfUse(bound, each) * answers;
      return [most === null || each === null ? null : Math.max(most, each * answers), Math.max(least, useful)];
    },
    [0, 0],
  );
  const answers = Math.max(...ours.map((bound) => bound.answers));
  const asked = lower(all, reserveOutputTokens === null ? null : Math.max(answers, reserveOutputTokens));
  const tokens = lower(asked, left);
  if (tokens === null) throw new Error('something bounds them');
  const needed = asked !== null && asked < few ? asked : few;
  return {
    tokens,
    isEnough: left === null || left >= needed,
    isAll: left === null || (asked !== null && left >= asked),
  };
}
