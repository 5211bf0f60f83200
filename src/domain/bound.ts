/**
 * The bound of a call: the most that it can cost, known before it runs.
 *
 * A bound is computed from the most input that the vendor can count, and the highest rates that may apply. It is never
 * below the cost of a call whose vendor keeps to the output bound that it got.
 */
import { divideUp, type NanoUsd } from './money.ts';
import { COMPONENTS, type Component, isUse, type Rate, type RateCard } from './price.ts';
import { type PricingMode, type ResolvedPrice, rateFor, UNITS_PER_RATE } from './pricing.ts';
import { QUANTITY_SCALE } from './quantity.ts';
import type { Tier } from './tiers.ts';
import type { ServiceTier, Speed } from './usage.ts';

/** The most that one model may use and cost for a call. Plain JSON. */
export interface CallBound {
  /** The caller's name of the model; absent if the caller names none. */
  model?: string;
  /** The tier whose allowance or credit pays; `null` means any. */
  tier: Tier | null;
  /** Runs only if the plan downgrades. */
  onDowngrade?: boolean;
  /** The most output tokens of one answer, by the request and by the model; `null` if neither limits them. */
  outputTokens: number | null;
  /** No request to the endpoint can bound its output, so no plan lowers it. */
  cannotBeLowered?: boolean;
  answers: number;
  /** The whole output is passed on while it is made, so it can be held in steps. */
  inSteps: boolean;
  /** The request asks its model to think, so a short answer is useless. */
  thinks?: boolean;
  /** Its answer is passed on while it is made, so a lower bound that the balance can afford is still useful. */
  fitsBalance?: boolean;
  /** `null` if the model has no price. */
  cost: CostBound | null;
  /** The cost by the length of the prompt; absent if it is not known. */
  prompt?: PromptCost;
  /** The vendor counts the prompt for free, and its count covers everything that it bills as prompt. */
  countable?: true;
  /** Why credit does not pay for the model; absent if it does. */
  gap?: Gap;
  /** The uses without a rate that the request can incur, by name, for any payer. */
  notIncluded?: readonly string[];
  /** The most uses besides tokens that the vendor can bill. */
  uses?: Demand['uses'];
  /**
   * The lowest number of web searches to which a field of the request can limit the vendor; absent if it has no such
   * field.
   */
  searchesAtLeast?: number;
  /** Why an allowance of searches does not pay for the model: nothing bounds them. Absent if it does. */
  searchGap?: Gap;
  /** The most text answers that a field asks for, if that is more than one, and its path. */
  choices?: { count: number; param: string };
  /** The record to make if the vendor was asked and nothing is known of its answer. */
  ifLost?: IfLost;
}

export interface CostBound {
  /** The most decimal nano-USD of the prompt and of the vendor's tools. */
  inputNanoUsd: string;
  /** The most decimal nano-USD of a million output tokens. */
  outputNanoUsdPerMillion: string;
}

/** The cost of a prompt by its length, for a length that becomes known later. Plain JSON. */
export interface PromptCost {
  /** The most tokens that the request alone allows it. */
  tokens: number;
  /** Tokens that are billed as output besides those of the answers. */
  outputBeside: number;
  /** Decimal nano-USD of the uses, and of the rounding of lines. */
  besideNanoUsd: string;
  /** The highest rates of prompts with more tokens than `above`, in ascending order from 0. */
  rates: readonly PromptRates[];
}

interface PromptRates {
  above: number;
  inputNanoUsdPerMillion: string;
  outputNanoUsdPerMillion: string;
}

/** Billed besides tokens, and known from the request or the answer. */
export type BilledUses = Partial<Record<'images' | 'characters' | 'audioSeconds', number>>;

export interface IfLost {
  providerUsed?: string | undefined;
  modelUsed?: string | undefined;
  /** Callmeter's count of the prompt. */
  inputTokens: number;
  /** The most tokens that the vendor can count for the prompt. Absent in older calls. */
  inputTokensMax?: number | undefined;
  /** The uses besides tokens that the request makes the vendor bill, as far as it shows them. */
  uses?: BilledUses | undefined;
  /** The most such uses, if they are bounded. Absent in older calls. */
  usesMax?: BilledUses | undefined;
  /** The likely output tokens, if the request shows them. */
  outputTokens?: number | undefined;
  price: ResolvedPrice;
}

/** Why credit does not pay for a request: a part of it has no rate, or no bound. Plain JSON. */
export interface Gap {
  code: 'MODEL_NOT_PRICED' | 'BOUND_UNKNOWN';
  /** The request's name of the model. */
  model: string | null;
  /** The missing part: a component of the price, a condition of it, the model itself, or an unknown field. */
  component: string;
  /** The path of the field that asks for it. */
  param?: string;
}

/** An open cost, under the name by which an organization can let credit pay for it all the same. */
export interface OpenCost extends Omit<Gap, 'model'> {
  name: string;
}

/** A rate that the price must have: for one of these components. */
export interface NeededRate {
  of: readonly Component[];
  /** The path of the field that asks for it. */
  param?: string;
}

/** The most that a request can make a vendor bill. */
export interface Demand {
  /** Tokens of the prompt; 0 for a model that is not billed by tokens. */
  inputTokens: number;
  /** The components, besides uncached text, as which tokens of the prompt can be billed. */
  input: readonly Component[];
  /** The components, besides text, as which tokens of the answers can be billed. */
  output: readonly Component[];
  /** Tokens that are billed as output besides those of the answers. */
  outputBeside: number;
  /** Uses that the vendor bills besides tokens, by the component of their charge. */
  uses: Partial<Record<Component, number>>;
  /** The service tiers and speeds at which the vendor may serve it. */
  serviceTiers: readonly ServiceTier[];
  speeds: readonly Speed[];
  /** The vendor may run it in any region. Otherwise only a region in the model's name counts. */
  anyRegion: boolean;
  /** The fields that ask for a service tier and a speed. */
  conditionFields?: { serviceTier?: string; speed?: string };
  /** The rates that the price must have. */
  rates: readonly NeededRate[];
  /** Uses without a bound, or without a rate in any price. */
  open: readonly OpenCost[];
}

const PERCENT = 100n;
const MILLION = 1_000_000n;

/** The cost of the prompt at each length up to the demand's. */
export function promptCost(card: RateCard, demand: Demand, mode: PricingMode): PromptCost {
  const { inputTokens, outputBeside, uses } = demand;
  const used = Object.entries(uses).reduce((sum, [component, quantity]) => {
    const thousandths = BigInt(Math.ceil(quantity * QUANTITY_SCALE));
    return sum + highestRate(card, [component as Component], demand, mode) * thousandths;
  }, 0n);
  const thresholds = rateThresholds(card.rates).filter((above) => above > 0 && above < inputTokens);
  const rates = [...new Set([0, ...thresholds])].sort((a, b) => a - b);
  return {
    tokens: inputTokens,
    outputBeside,
    // Each line of the cost is rounded by itself.
    besideNanoUsd: (divideUp(used, UNITS_PER_RATE) + BigInt(COMPONENTS.length)).toString(),
    rates: rates.map((above) => {
      const asLong = { ...demand, inputTokens: above + 1 };
      return {
        above,
        inputNanoUsdPerMillion: highestRate(card, ['input', ...demand.input], asLong, mode).toString(),
        outputNanoUsdPerMillion: highestRate(card, ['output', ...demand.output], asLong, mode).toString(),
      };
    }),
  };
}

/** The cost if the prompt has at most this many tokens. */
export function costOfPrompt({ outputBeside, besideNanoUsd, rates }: PromptCost, tokens: number): CostBound {
  const { inputNanoUsdPerMillion = '0', outputNanoUsdPerMillion = '0' } =
    rates.findLast(({ above }) => above === 0 || above < tokens) ?? {};
  const input = BigInt(inputNanoUsdPerMillion) * BigInt(tokens);
  const beside = BigInt(outputNanoUsdPerMillion) * BigInt(outputBeside);
  const inputNanoUsd = divideUp(input + beside, MILLION) + BigInt(besideNanoUsd);
  return { inputNanoUsd: inputNanoUsd.toString(), outputNanoUsdPerMillion };
}

export function costBound(card: RateCard, demand: Demand, mode: PricingMode): CostBound {
  return costOfPrompt(promptCost(card, demand, mode), demand.inputTokens);
}

/**
 * The bound of a call whose prompt is known to have at most this many tokens. Returns the same object if that is no
 * news.
 */
export function withPromptTokens(bound: CallBound, tokens: number): CallBound {
  const { prompt, ifLost } = bound;
  if (!prompt || tokens >= prompt.tokens) return bound;
  return {
    ...bound,
    cost: costOfPrompt(prompt, tokens),
    prompt: { ...prompt, tokens },
    ...(ifLost && {
      ifLost: { ...ifLost, inputTokens: Math.min(ifLost.inputTokens, tokens), inputTokensMax: tokens },
    }),
  };
}

/**
 * A vendor's count below this part of our own is not believed: it does not count the prompt. For text, our count is
 * close; for a document of one page it can be thirty times as high.
 */
const LEAST_SHARE = 32;

/**
 * The bound after its vendor counted the prompt. Returns the same object if the count is no news, or makes no sense.
 */
export function withVendorCount(bound: CallBound, count: { tokens: number; atMost: number } | null): CallBound {
  return count === null || count.tokens < leastCount(bound) ? bound : withPromptTokens(bound, count.atMost);
}

/** The lowest bound: after the lowest count that is believed. */
export function atLeastCount(bound: CallBound): CallBound {
  return bound.countable ? withPromptTokens(bound, leastCount(bound)) : bound;
}

function leastCount({ ifLost }: CallBound): number {
  return Math.ceil((ifLost?.inputTokens ?? 0) / LEAST_SHARE);
}

/** The bounds of the models that may run, with the token counts of their prompts if they are known. */
export function withKnownPrompts(bounds: readonly CallBound[], known: readonly (number | null)[] = []): CallBound[] {
  return bounds.map((bound, index) => withPromptTokens(bound, known[index] ?? Number.POSITIVE_INFINITY));
}

/**
 * The costs that credit does not pay: unknown fields, components without a rate in the price, and everything else that
 * is open.
 */
export function openCosts(card: RateCard, demand: Demand): OpenCost[] {
  const { open, rates, serviceTiers, speeds, inputTokens, conditionFields = {} } = demand;
  const thresholds = rateThresholds(card.rates).filter((above) => above < inputTokens);
  const costs = new Map<string, OpenCost>();
  const add = (component: string, param: string | undefined) => {
    const cost = { code: 'MODEL_NOT_PRICED', component, name: `component:${component}` } as const;
    if (!costs.has(component)) costs.set(component, { ...cost, ...(param !== undefined && { param }) });
  };
  for (const serviceTier of serviceTiers) {
    for (const speed of speeds) {
      const group = card.rates.filter(
        ({ component, when = {} }) =>
          isUse(component) ||
          ((when.serviceTier ?? 'standard') === serviceTier && (when.speed ?? 'standard') === speed),
      );
      const known = new Set(rateThresholds(group));
      // Without its rates, the cost of a long prompt is unknown.
      const isTooLong = thresholds.some((above) => !known.has(above));
      const hasRate = (component: Component) =>
        isUse(component)
          ? rateFor(group, 0, component) !== null
          : !isTooLong && (rateFor(group, 0, component) !== null || (card.billedAsWhole?.includes(component) ?? false));
      for (const { of, param } of rates) {
        const [first] = of;
        if (first === undefined || of.some(hasRate)) continue;
        if (serviceTier !== 'standard') add('serviceTier', conditionFields.serviceTier);
        else if (speed !== 'standard') add('speed', conditionFields.speed);
        else add(first, param);
      }
    }
  }
  // An unknown field makes the rest a guess.
  const isField = ({ component }: OpenCost) => component.startsWith('field:');
  return [...open.filter(isField), ...costs.values(), ...open.filter((cost) => !isField(cost))];
}

/** The lengths of prompts above which other rates apply. */
function rateThresholds(rates: readonly Rate[]): number[] {
  return rates.flatMap(({ when }) => when?.promptTokensAbove ?? []);
}

/** The most that a call with this many output tokens costs. */
export function costAtMost({ inputNanoUsd, outputNanoUsdPerMillion }: CostBound, outputTokens: number): NanoUsd {
  return BigInt(inputNanoUsd) + divideUp(BigInt(outputNanoUsdPerMillion) * BigInt(outputTokens), MILLION);
}

/** The highest rate that the components can have for this demand, in nano-USD per million; 0 if there is none. */
function highestRate(card: RateCard, components: readonly Component[], demand: Demand, mode: PricingMode): NanoUsd {
  const isRegional = demand.anyRegion || card.region !== undefined;
  const regionalPercent = BigInt(Math.max(100, (isRegional && card.regionalPercent) || 100));
  let highest = 0n;
  for (const group of groupRates(card, demand, mode)) {
    // Rates of a region already contain its surcharge.
    const percent = group.some(({ when }) => when?.region !== undefined) ? PERCENT : regionalPercent;
    const thresholds = new Set([0, ...rateThresholds(group)]);
    for (const above of thresholds) {
      for (const component of components) {
        const listed = rateFor(group, above, component)?.nanoUsdPerMillion ?? 0n;
        const rate = isUse(component) ? listed : divideUp(listed * percent, PERCENT);
        if (rate > highest) highest = rate;
      }
    }
  }
  return highest;
}

/** The rates that can apply, those under the same conditions together. */
function groupRates({ rates, region: named }: RateCard, demand: Demand, mode: PricingMode): Rate[][] {
  const { inputTokens, serviceTiers, speeds, anyRegion } = demand;
  const groups = new Map<string, Rate[]>();
  for (const rate of rates) {
    const { promptTokensAbove = 0, ...when } = rate.when ?? {};
    const [tier, region, pace] = [when.serviceTier ?? 'standard', when.region ?? '', when.speed ?? 'standard'] as const;
    if (promptTokensAbove > 0 && promptTokensAbove >= inputTokens) continue;
    if (tier !== 'standard' && !serviceTiers.includes(tier) && !(tier === 'batch' && mode === 'batch')) continue;
    if (pace !== 'standard' && !speeds.includes(pace)) continue;
    if (region !== '' && region !== named && !anyRegion) continue;
    const conditions = [tier, region, pace].join(' ');
    const group = groups.get(conditions);
    if (group) group.push(rate);
    else groups.set(conditions, [rate]);
  }
  return [...groups.values()];
}
