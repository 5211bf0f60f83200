/**
 * A price: rates of components, each under conditions, as recorded under a snapshot id. Plain JSON.
 *
 * Rates are nano-USD per million units as decimal strings, in whatever unit the vendor states them.
 */
import { NANO_PER_USD, type NanoUsd, parseUsd, usdFromNano } from './money.ts';
import type { Tier } from './tiers.ts';
import { type ServiceTier, type Speed, STANDARD_CONDITIONS, type UsageName } from './usage.ts';

/** The components that vendors charge for. */
export const COMPONENTS = [
  'input',
  'cachedInput',
  'cacheWrite',
  'cacheWrite1h',
  'cacheWrite12h',
  'output',
  'audioInput',
  'cachedAudioInput',
  'audioOutput',
  'imageInput',
  'cachedImageInput',
  'imageOutput',
  'webSearch',
  'fileSearch',
  'codeMinutes',
  'images',
  'characters',
  'audioSeconds',
] as const;
export type Component = (typeof COMPONENTS)[number];

/** Components that are not tokens: they cost the same in each service tier and for prompts of any length. */
const USES: ReadonlySet<Component> = new Set([
  'webSearch',
  'fileSearch',
  'codeMinutes',
  'images',
  'characters',
  'audioSeconds',
]);

export function isUse(component: Component): boolean {
  return USES.has(component);
}

/** Components of the answer; the others belong to the prompt, or are uses. */
const OUTPUTS: ReadonlySet<string> = new Set<Component>(['output', 'audioOutput', 'imageOutput']);

export function isOutput(component: string): boolean {
  return OUTPUTS.has(component);
}

/** The conditions of a rate; an absent one is standard. */
export interface RateConditions {
  /** Applies to the whole call if the prompt has more tokens than this. */
  promptTokensAbove?: number | undefined;
  serviceTier?: ServiceTier | undefined;
  region?: string | undefined;
  speed?: Speed | undefined;
}

export interface Rate {
  component: Component;
  /** Decimal nano-USD per million units. */
  nanoUsdPerMillion: string;
  when?: RateConditions | undefined;
  /** The stated rate from which it follows, if an own price does not state it (price-relations.ts). */
  relatedTo?: Component | undefined;
  /** Why the rate is an assumption, if it is one: a cost that uses it says so. */
  assumption?: string | undefined;
}

/** The rates of one model at one time. */
export interface RateCard {
  snapshotId: string;
  provider: string;
  modelKey: string;
  rates: Rate[];
  /** Components that the vendor bills like the whole that contains them, if they have no rate of their own. */
  billedAsWhole?: Component[] | undefined;
  /** The region in the model's name or channel, if usage names none. */
  region?: string | undefined;
  /** The assumption about the model that the price makes, if any. */
  assumption?: string | undefined;
  /** The rates come from a catalog that stood in for the published one, which could not be read. */
  standsIn?: true | undefined;
  /** The uses without a rate that the call could incur, by name: the cost excludes them, and says so. */
  notIncluded?: readonly string[] | undefined;
  /** Token rates in a region, in percent of the others; absent if it is not known. Rates of the region itself win. */
  regionalPercent?: number | undefined;
}

/** The purpose of a rate as one text: two rates of a price must differ in it. */
export function ratePurpose({ component, when = {} }: Pick<Rate, 'component' | 'when'>): string {
  const { promptTokensAbove = 0, serviceTier = 'standard', region = 'global', speed = 'standard' } = when;
  return [component, promptTokensAbove, serviceTier, region, speed].join(' ');
}

/** The quantities for which a price can be stated. */
const PER = [1, 1_000, 1_000_000] as const;
export type Per = (typeof PER)[number];

const MILLION = 1_000_000n;

/** The rate per million units of a decimal amount of USD per `per` units. Throws if `usd` is not such an amount. */
export function buildRate(component: Component, usd: string, per: Per, when?: RateConditions): Rate {
  const nano = parseUsd(usd);
  if (nano === null) throw new RangeError(`not an amount of USD: ${usd}`);
  const conditions = Object.entries(when ?? {}).filter(
    ([name, value]) => value !== undefined && value !== STANDARD_CONDITIONS[name as UsageName],
  );
  return {
    component,
    nanoUsdPerMillion: (nano * (MILLION / BigInt(per))).toString(),
    // Standard conditions are left out, so that a rate under them is found in any spelling.
    ...(conditions.length > 0 && { when: Object.fromEntries(conditions) }),
  };
}

/** A call is premium if its model's output price is above this: 4.00 USD per million tokens. */
const PREMIUM_OUTPUT_NANO_USD_PER_MILLION: NanoUsd = 4n * NANO_PER_USD;

/** The rate of a component under standard conditions, in nano-USD per million units; `null` if there is none. */
export function standardRate({ rates }: Pick<RateCard, 'rates'>, component: Component): NanoUsd | null {
  const rate = rates.find((candidate) => candidate.component === component && candidate.when === undefined);
  return rate ? BigInt(rate.nanoUsdPerMillion) : null;
}

/** USD per million tokens of text in and out; `null` if the model has no such price. */
export function textPrice(card: RateCard): { inputUsdPerMillion: number; outputUsdPerMillion: number } | null {
  const [input, output] = [standardRate(card, 'input'), standardRate(card, 'output')];
  if (input === null || output === null) return null;
  return { inputUsdPerMillion: usdFromNano(input), outputUsdPerMillion: usdFromNano(output) };
}

/** The tier of a model by its output price: of text, otherwise of images, otherwise of audio. */
export function tierOfPrice(card: RateCard): Tier {
  const rates = (['output', 'imageOutput', 'audioOutput'] as const).map((component) => standardRate(card, component));
  const output = rates.find((rate) => rate !== null) ?? 0n;
  return output > PREMIUM_OUTPUT_NANO_USD_PER_MILLION ? 'premium' : 'standard';
}
