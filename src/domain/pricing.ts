/**
 * The exact cost of a call: a price and usage in, cost lines and totals out.
 *
 * Each line is quantity x rate / 1,000,000, rounded half up to a nano-USD, and the lines sum to the standard cost. The rates
 * of a long prompt apply to the whole call. Tokens without a rate, and conditions that the price does not know, leave the
 * whole cost unknown, with a reason that names them. Uses without a rate are not included, and an assumption says so;
 * assumptions also name each rule that stands in for a rate.
 */
import { divideHalfUp, type NanoUsd, usdFromNano } from './money.ts';
import { type Component, isUse, type Rate, type RateCard } from './price.ts';
import { QUANTITY_SCALE, thousandths } from './quantity.ts';
import type { ServiceTier, Speed, Usage } from './usage.ts';

export type PricingUnavailableReason =
  | 'MODEL_NOT_REPORTED'
  | 'MODEL_NOT_IN_CATALOG'
  | 'PRICE_NOT_IN_CATALOG'
  | `RATE_NOT_IN_CATALOG: ${string}`
  | 'USAGE_NOT_REPORTED'
  | 'USAGE_IMPLAUSIBLE';

/** The catalog's answer about the model that a call reported. */
export type ResolvedPrice =
  | { available: true; card: RateCard }
  | { available: false; reason: PricingUnavailableReason };

/** The purpose of a line: a component of the price, or the whole by the vendor's figure or by the hold. */
export type LineComponent = Component | 'vendorReported' | 'held';

/** The model of a line that is not the call's own, and the recorded price of the line. */
interface LineModel {
  model: string;
  /** The vendor of the price. */
  provider: string;
  /** The vendor that ran it, if it is known. */
  providerUsed?: string;
  snapshotId: string;
  pricingTier: string;
}

interface CostLine extends Partial<LineModel> {
  component: LineComponent;
  quantity: number;
  rateNanoUsdPerMillion: NanoUsd;
  costNanoUsd: NanoUsd;
}

export type PricingMode = 'standard' | 'batch';

/** Conditions other than the standard ones, under which a call was priced. */
export interface PricedConditions {
  serviceTier?: ServiceTier;
  region?: string;
  speed?: Speed;
}

export interface Cost {
  snapshotId: string;
  provider: string;
  modelKey: string;
  tier: string;
  tierReason: string;
  conditions: PricedConditions;
  lines: CostLine[];
  assumptions: string[];
  standardNanoUsd: NanoUsd;
  totalNanoUsd: NanoUsd;
  /** Priced by a catalog that stood in for the published one: a repricing may find another cost. */
  standsIn?: true;
}

export type Priced = { known: true; cost: Cost } | { known: false; reason: PricingUnavailableReason };

/** A cost as plain JSON, in its stored and answered form. Exact amounts are decimal strings of nano-USD. */
export interface CostBreakdown {
  currency: 'USD';
  snapshotId: string;
  provider: string;
  modelKey: string;
  pricingTier: string;
  pricingTierReason: string;
  conditions?: PricedConditions;
  /** The lines of the call's own model come first. */
  lines: (Partial<LineModel> & {
    component: LineComponent;
    quantity: number;
    usdPerMillion: number;
    rateNanoUsdPerMillion: string;
    costUSD: number;
    costUsdNano: string;
  })[];
  standardCostUSD: number;
  standardCostUsdNano: string;
  assumptions: string[];
}

/** Rates are per million units, and quantities have thousandths. */
export const UNITS_PER_RATE = 1_000_000n * BigInt(QUANTITY_SCALE);
const PERCENT = 100n;

/** Batch pricing halves the standard cost, unless the price lists its own rates for batches. */
export function pricingMultiplier(mode: PricingMode, conditions?: PricedConditions): 0.5 | 1 {
  return mode === 'batch' && conditions?.serviceTier !== 'batch' ? 0.5 : 1;
}

/**
 * The factor of the standard cost of a recorded price. A cost that is not computed, such as a vendor's own figure, is
 * the standard cost in each mode.
 */
export function costMultiplier(
  price: { costNanoUsd: string; breakdown: CostBreakdown } | null,
  mode: PricingMode,
): 0.5 | 1 {
  if (!price) return pricingMultiplier(mode);
  const { lines, conditions, standardCostUsdNano } = price.breakdown;
  const isCharged = standardCostUsdNano !== '0' || lines.some(({ component }) => component === 'vendorReported');
  return isCharged && price.costNanoUsd === standardCostUsdNano ? 1 : pricingMultiplier(mode, conditions);
}

/** A cost whose lines and standard cost are the billed amounts: halved, if the total is. */
export function asBilled(cost: Cost): Cost {
  if (cost.totalNanoUsd === cost.standardNanoUsd) return cost;
  let standard = 0n;
  let billed = 0n;
  const lines = cost.lines.map((line) => {
    standard += line.costNanoUsd;
    // The lines up to this one are rounded together, so that all of them sum to the total.
    const costNanoUsd = divideHalfUp(standard, 2n) - billed;
    billed += costNanoUsd;
    return { ...line, rateNanoUsdPerMillion: divideHalfUp(line.rateNanoUsdPerMillion, 2n), costNanoUsd };
  });
  const assumptions = [...cost.assumptions, 'batch: half the standard rates, as the lines show them'];
  return { ...cost, lines, assumptions, standardNanoUsd: cost.totalNanoUsd };
}

/** The standard cost in the mode. */
export function inMode(standardNanoUsd: NanoUsd, mode: PricingMode, conditions: PricedConditions): NanoUsd {
  return pricingMultiplier(mode, conditions) === 0.5 ? divideHalfUp(standardNanoUsd, 2n) : standardNanoUsd;
}

export function computeCost(card: RateCard, usage: Usage, mode: PricingMode): Priced {
  const charges = computeCharges(card, usage, mode, usage.inputTokens);
  const { lines, missing, longPrompt, conditions, standardNanoUsd, totalNanoUsd } = charges;
  if (missing.length > 0) return { known: false, reason: `RATE_NOT_IN_CATALOG: ${missing.join(', ')}${charges.under}` };
  const assumptions = [
    ...charges.assumptions,
    ...charges.unlisted.map((component) => `${component}: no rate is published, not included in the cost`),
    ...charges.regional,
    ...(isAudioUntold(usage) ? ['audio: no rate of its own is published, none is included in the cost'] : []),
  ];
  const { snapshotId, provider, modelKey } = card;
  const { name: tier, reason: tierReason } = longPrompt;
  const facts = { snapshotId, provider, modelKey, tier, tierReason, conditions };
  const cost = { ...facts, lines, assumptions, standardNanoUsd, totalNanoUsd };
  return { known: true, cost: card.standsIn ? { ...cost, standsIn: true } : cost };
}

const STANDS_IN =
  'the published catalog could not be read: the price is that of the catalog that came with the service, until a repricing';

/** Whether audio was used whose number of tokens is not known. */
export function isAudioUntold({ audio, audioInputTokens = 0, audioOutputTokens = 0 }: Usage): boolean {
  return audio > 0 && audioInputTokens + audioOutputTokens === 0;
}

/** The cost of usage component by component, and the uses without a rate. */
export interface Charges {
  lines: CostLine[];
  /** Tokens that were used and have no rate. */
  missing: Component[];
  /** Uses that were used and have no rate. */
  unlisted: Component[];
  /** The conditions that are not standard, in brackets; empty if all are. */
  under: string;
  /** Rules that stand in for a rate, and one for the rates of a region. */
  assumptions: string[];
  regional: string[];
  longPrompt: LongPrompt;
  conditions: PricedConditions;
  /** The total of the lines. */
  standardNanoUsd: NanoUsd;
  totalNanoUsd: NanoUsd;
}

/**
 * `promptTokens` decides whether the rates of long prompts apply: it is the size of the prompt, which the usage of many
 * calls lacks.
 */
export function computeCharges(card: RateCard, usage: Usage, mode: PricingMode, promptTokens: number): Charges {
  const { group, longPrompt, percent, conditions, words } = select(card, usage, mode, promptTokens);
  const assumptions: string[] = [
    ...(card.standsIn ? [STANDS_IN] : []),
    ...(card.assumption === undefined ? [] : [card.assumption]),
    ...(card.notIncluded ?? []).map((name) => `${name}: asked for, no rate is known, not included in the cost`),
  ];
  const missing: Component[] = [];
  const unlisted: Component[] = [];
  const lines: CostLine[] = [];
  for (const [component, quantity] of billedQuantities(card, usage, assumptions)) {
    const found = rateFor(group, longPrompt.above, component);
    if (found) {
      if (quantity > 0) assumptions.push(...found.assumptions);
      if (quantity > 0 || component === 'input' || component === 'output')
        lines.push(
          buildLine(component, quantity, {
            rate: found.nanoUsdPerMillion,
            percent: isUse(component) ? PERCENT : percent,
          }),
        );
    } else if (quantity > 0) (isUse(component) ? unlisted : missing).push(component);
  }
  const isRegional =
    percent !== PERCENT && lines.some(({ component, quantity }) => quantity > 0 && !isUse(component as Component));
  const standardNanoUsd = lines.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n);
  return {
    ...{ lines, missing, unlisted, assumptions, longPrompt, conditions },
    under: words.length === 0 ? '' : ` (${words.join(', ')})`,
    regional: isRegional
      ? [`region ${conditions.region}: token rates are ${percent} % of the others, by the provider's word`]
      : [],
    standardNanoUsd,
    totalNanoUsd: inMode(standardNanoUsd, mode, conditions),
  };
}

interface LongPrompt {
  name: string;
  reason: string;
  /** The threshold that the prompt exceeds; 0 if there is none. */
  above: number;
}

interface Selection {
  /**
   * The rates of the call's service tier, speed and region; without token rates if the price does not know these
   * conditions.
   */
  group: Rate[];
  longPrompt: LongPrompt;
  /** Token rates are this many percent of the listed ones. */
  percent: bigint;
  conditions: PricedConditions;
  /** The conditions that are not standard, in words. */
  words: string[];
}

function select(card: RateCard, usage: Usage, mode: PricingMode, promptTokens: number): Selection {
  const { speed = 'standard' } = usage;
  const region = usage.region ?? card.region ?? GLOBAL;
  const serviceTier = billedServiceTier(card, usage, mode);
  const conditions = {
    ...(serviceTier !== 'standard' && { serviceTier }),
    ...(region !== GLOBAL && { region }),
    ...(speed !== 'standard' && { speed }),
  };
  const uses = usesUnder(card.rates, { serviceTier, region, speed });
  const tokens = card.rates.filter(
    ({ component, when = {} }) =>
      !isUse(component) && (when.serviceTier ?? 'standard') === serviceTier && (when.speed ?? 'standard') === speed,
  );
  const regional = tokens.filter(({ when }) => region !== GLOBAL && when?.region === region);
  const isListed = regional.length > 0;
  const percent = region === GLOBAL || isListed ? 100 : card.regionalPercent;
  const known = isListed
    ? regional
    : percent === undefined
      ? []
      : tokens.filter(({ when }) => when?.region === undefined);
  const above = highestCrossed(known, promptTokens);
  // A long prompt whose rates the price states only under other conditions.
  const isTooLong = highestCrossed(card.rates, promptTokens) > above;
  const words = Object.entries(conditions).map(([name, value]) => `${name} ${value}`);
  return {
    group: isTooLong ? uses : [...known, ...uses],
    longPrompt: longPromptRates(card, above),
    percent: BigInt(percent ?? 100),
    conditions,
    words: isTooLong ? [...words, 'a long prompt'] : words,
  };
}

/** A region word that means no region in particular. */
const GLOBAL = 'global';

/** Batches have the standard rates, halved, if the price lists none for them. */
function billedServiceTier({ rates }: RateCard, { serviceTier = 'standard' }: Usage, mode: PricingMode): ServiceTier {
  if (mode !== 'batch') return serviceTier;
  return rates.some(({ when }) => when?.serviceTier === 'batch') ? 'batch' : 'standard';
}

/**
 * The rates of uses under conditions; those that state most conditions come first: a use costs the same under a
 * condition that its rate does not state.
 */
function usesUnder(rates: readonly Rate[], conditions: Required<PricedConditions>): Rate[] {
  const stated = ({ when }: Rate) => NAMES.filter((name) => when?.[name] !== undefined);
  const uses = rates.filter(
    (rate) => isUse(rate.component) && stated(rate).every((name) => rate.when?.[name] === conditions[name]),
  );
  return uses.sort((a, b) => stated(b).length - stated(a).length);
}

const NAMES = ['serviceTier', 'region', 'speed'] as const;

/** The highest threshold of rates that the whole prompt exceeds; 0 if it exceeds none. */
function highestCrossed(rates: readonly Rate[], promptTokens: number): number {
  return Math.max(
    0,
    ...rates.flatMap(({ when }) => when?.promptTokensAbove ?? []).filter((above) => promptTokens > above),
  );
}

function longPromptRates({ rates }: RateCard, above: number): LongPrompt {
  if (above > 0) return { name: `input_above_${above}`, reason: `INPUT_TOKENS_ABOVE_${above}`, above };
  const thresholds = rates.flatMap(({ when }) => when?.promptTokensAbove ?? []);
  const reason = thresholds.length === 0 ? 'SINGLE_TIER' : `INPUT_TOKENS_UP_TO_${Math.min(...thresholds)}`;
  return { name: 'base', reason, above };
}

/**
 * The quantity to which each component of a price applies. Parts that the vendor bills like their whole are in its
 * line.
 */
function billedQuantities(card: RateCard, usage: Usage, assumptions: string[]): [Component, number][] {
  const asWhole = (component: Component, quantity: number) => {
    if (quantity === 0 || !card.billedAsWhole?.includes(component)) return quantity;
    if (card.rates.some((rate) => rate.component === component)) return quantity;
    assumptions.push(`${component}: billed at the rate of text, by the provider's word`);
    return 0;
  };
  const { cacheWrite1hInputTokens = 0, cacheWrite12hInputTokens = 0, toolUses = {} } = usage;
  const cachedAudio = asWhole('cachedAudioInput', usage.cachedAudioInputTokens ?? 0);
  const cachedImage = asWhole('cachedImageInput', usage.cachedImageInputTokens ?? 0);
  let audio = asWhole('audioInput', (usage.audioInputTokens ?? 0) - (usage.cachedAudioInputTokens ?? 0));
  let image = asWhole('imageInput', (usage.imageInputTokens ?? 0) - (usage.cachedImageInputTokens ?? 0));
  const text = usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteInputTokens;
  // More than the uncached prompt contains: a part was cached, and the vendor does not say how much of each kind.
  const unsaid = Math.max(0, audio + image - text);
  if (unsaid > 0) {
    const fromImage = Math.min(image, unsaid);
    image -= fromImage;
    audio -= unsaid - fromImage;
    assumptions.push(`cachedInput: ${unsaid} tokens of audio or images were cached, and are billed as cached text`);
  }
  const { audioOutputTokens = 0, imageOutputTokens = 0 } = usage;
  return [
    ['input', text - audio - image],
    ['cachedInput', usage.cachedInputTokens - cachedAudio - cachedImage],
    ['cacheWrite', usage.cacheWriteInputTokens - cacheWrite1hInputTokens - cacheWrite12hInputTokens],
    ['cacheWrite1h', cacheWrite1hInputTokens],
    ['cacheWrite12h', cacheWrite12hInputTokens],
    ['audioInput', audio],
    ['cachedAudioInput', cachedAudio],
    ['imageInput', image],
    ['cachedImageInput', cachedImage],
    ['output', usage.responseTokens - audioOutputTokens - imageOutputTokens],
    ['audioOutput', audioOutputTokens],
    ['imageOutput', imageOutputTokens],
    ['webSearch', usage.searches],
    ['fileSearch', toolUses.fileSearch ?? 0],
    ['codeMinutes', toolUses.codeMinutes ?? 0],
    ['images', usage.images ?? 0],
    ['characters', usage.characters ?? 0],
    ['audioSeconds', usage.audioSeconds],
  ];
}

interface FoundRate {
  nanoUsdPerMillion: NanoUsd;
  assumptions: string[];
}

/** Components for which some price lists show no rate, because they cost the same as other input. */
const AS_INPUT: ReadonlySet<Component> = new Set(['cachedInput', 'cacheWrite']);

/**
 * The rate of a component for prompts beyond a threshold (0: for any), from a group of rates under the same conditions;
 * `null` if it is not known.
 */
export function rateFor(group: readonly Rate[], above: number, component: Component): FoundRate | null {
  const at = (name: Component, threshold: number): FoundRate | null => {
    const rate = group.find(({ component: its, when }) => its === name && (when?.promptTokensAbove ?? 0) === threshold);
    return rate ? { nanoUsdPerMillion: BigInt(rate.nanoUsdPerMillion), assumptions: rateAssumptions(rate) } : null;
  };
  const listed = at(component, above);
  if (listed !== null) return listed;
  const [base, input, baseInput] = [at(component, 0), at('input', above), at('input', 0)];
  if (base !== null) {
    // Uses, and prices whose input costs the same for prompts of any length.
    if (isUse(component) || input === null) return base;
    if (baseInput !== null && baseInput.nanoUsdPerMillion > 0n) {
      const scaled = `${component}: no long-prompt rate is published, the base rate is scaled as the input rate is`;
      return {
        nanoUsdPerMillion: divideHalfUp(base.nanoUsdPerMillion * input.nanoUsdPerMillion, baseInput.nanoUsdPerMillion),
        assumptions: [...base.assumptions, scaled],
      };
    }
  }
  if (!AS_INPUT.has(component) || input === null) return null;
  const { nanoUsdPerMillion } = input;
  return { nanoUsdPerMillion, assumptions: [`${component}: no rate is published, the input rate is used`] };
}

/** The assumptions of a rate that is neither stated for the model nor derived from such a rate. */
function rateAssumptions({ component, when, relatedTo, assumption }: Rate): string[] {
  if (relatedTo === undefined && assumption === undefined) return [];
  const { promptTokensAbove, ...conditions } = when ?? {};
  const words = [
    ...Object.entries(conditions).map(([name, value]) => `${name} ${value}`),
    ...(promptTokensAbove === undefined ? [] : [`prompts of more than ${promptTokensAbove} tokens`]),
  ];
  const under = words.length === 0 ? '' : ` (${words.join(', ')})`;
  return [
    ...(relatedTo === undefined
      ? []
      : [`${component}${under}: by the catalog's relation to ${relatedTo}, because the own price states none`]),
    ...(assumption === undefined ? [] : [`${component}${under}: ${assumption}`]),
  ];
}

/** A cost that the vendor itself reported, as one line. */
export function reportedCost(facts: Pick<RateCard, 'provider' | 'modelKey'>, nanoUsd: NanoUsd): Cost {
  const stands = { snapshotId: 'vendor-reported', component: 'vendorReported', tierReason: 'VENDOR_REPORTED' } as const;
  return oneLine(facts, { ...stands, assumption: "the cost is the vendor's own figure" }, nanoUsd, 1);
}

/** The cost of calls whose vendor never answered: their hold. */
export function heldCost(facts: Pick<RateCard, 'provider' | 'modelKey'>, nanoUsd: NanoUsd, calls: number): Cost {
  const stands = { snapshotId: 'held', component: 'held', tierReason: 'HELD' } as const;
  return oneLine(facts, { ...stands, assumption: 'the cost is what was held: no usage was reported' }, nanoUsd, calls);
}

/** The values that stand for a recorded price. */
interface Stand {
  snapshotId: string;
  component: LineComponent;
  tierReason: string;
  assumption: string;
}

function oneLine(
  { provider, modelKey }: Pick<RateCard, 'provider' | 'modelKey'>,
  { snapshotId, component, tierReason, assumption }: Stand,
  nanoUsd: NanoUsd,
  quantity: number,
): Cost {
  const rateNanoUsdPerMillion = divideHalfUp(nanoUsd * 1_000_000n, BigInt(quantity));
  return {
    snapshotId,
    provider,
    modelKey,
    tier: 'base',
    tierReason,
    conditions: {},
    lines: [{ component, quantity, rateNanoUsdPerMillion, costNanoUsd: nanoUsd }],
    assumptions: [assumption],
    standardNanoUsd: nanoUsd,
    totalNanoUsd: nanoUsd,
  };
}

function buildLine(
  component: Component,
  quantity: number,
  { rate, percent }: { rate: NanoUsd; percent: bigint },
): CostLine {
  return {
    component,
    quantity,
    rateNanoUsdPerMillion: divideHalfUp(rate * percent, PERCENT),
    costNanoUsd: divideHalfUp(thousandths(quantity) * rate * percent, UNITS_PER_RATE * PERCENT),
  };
}

/** The card with only the rates that the cost of this usage can need: it travels with each call. */
export function cardFor(card: RateCard, usage: Usage): RateCard {
  // The outputs also determine the tier of the model.
  const charged = new Set<Component>(['input', 'output', 'imageOutput', 'audioOutput']);
  for (const [component, quantity] of billedQuantities(card, usage, [])) if (quantity > 0) charged.add(component);
  // Rates for long prompts, for a region, for batches or for images decide how the other rates are used.
  const decides = ({ component, when = {} }: Rate) =>
    when.promptTokensAbove !== undefined ||
    when.region !== undefined ||
    when.serviceTier === 'batch' ||
    card.billedAsWhole?.includes(component);
  const isNeeded = (rate: Rate) => charged.has(rate.component) || decides(rate);
  return { ...card, rates: card.rates.filter(isNeeded) };
}

export function buildBreakdown(cost: Cost): CostBreakdown {
  return {
    currency: 'USD',
    snapshotId: cost.snapshotId,
    provider: cost.provider,
    modelKey: cost.modelKey,
    pricingTier: cost.tier,
    pricingTierReason: cost.tierReason,
    ...(Object.keys(cost.conditions).length > 0 && { conditions: cost.conditions }),
    lines: cost.lines.map(({ component, quantity, rateNanoUsdPerMillion, costNanoUsd, ...of }) => ({
      ...of,
      component,
      quantity,
      usdPerMillion: usdFromNano(rateNanoUsdPerMillion),
      rateNanoUsdPerMillion: rateNanoUsdPerMillion.toString(),
      costUSD: usdFromNano(costNanoUsd),
      costUsdNano: costNanoUsd.toString(),
    })),
    standardCostUSD: usdFromNano(cost.standardNanoUsd),
    standardCostUsdNano: cost.standardNanoUsd.toString(),
    assumptions: cost.assumptions,
  };
}
