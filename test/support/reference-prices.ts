/**
 * The cost of calls and overage in the reference model, computed anew in bigint: rates from decimal text, one rounding
 * half up for each line of a call, and one on the running total of each tier of an overage price.
 */
import type { CustomMeter } from '../../src/domain/plan.ts';
import type { RateCard } from '../../src/domain/price.ts';
import { rateCard } from './rate-cards.ts';

const NANO = 1_000_000_000n;

/** How a call ends. */
export interface Ending {
  /** The card that prices it; `null` if the catalog does not know the model. */
  card: number | null;
  modelUsed: string | null;
  isPremium: boolean | undefined;
  failed: boolean;
  /** A mode of its own. */
  batch: boolean | undefined;
  used: { inputTokens: number; cachedTokens: number; tokens: number; searches: number; audioMilli: number };
}

export type Price = {
  cost: bigint;
  /** Without the output. */
  inputCost: bigint;
  /** A use has no rate: it is not in the cost. */
  isPartial: boolean;
  premium: boolean;
} | null;

export interface Funding {
  included: bigint;
  credits: bigint;
  overage: bigint;
  unfunded: bigint;
}

/** The units of an increment that fell into one tier. */
export interface TierPart {
  tierIndex: number;
  upTo: string | null;
  units: bigint;
  rate: bigint;
  per: string;
  cost: bigint;
}

interface ReferenceRates {
  input: string;
  output: string;
  cachedInput?: string;
  webSearch?: string;
  audioSeconds?: string;
}

/** Just under, exactly at and above the premium border of 4.00 USD; with and without rates for everything else. */
const RATES: readonly (readonly [modelKey: string, ReferenceRates])[] = [
  ['below', { input: '150000001', output: '3999999999', cachedInput: '37500003' }],
  ['border', { input: '2000000000', output: '4000000000', webSearch: '10000000000' }],
  ['above', { input: '2500000000', output: '15000000007', audioSeconds: '6000333', webSearch: '7' }],
  ['free', { input: '0', output: '0' }],
];

export const CARDS: readonly RateCard[] = RATES.map(([modelKey, rates]) =>
  rateCard({ ...rates }, [], { snapshotId: 's', provider: 'p', modelKey }),
);

/** `"0.05"` is 50,000,000: digit by digit. */
export function usdToNano(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return BigInt(whole) * NANO + BigInt(`${fraction}000000000`.slice(0, 9));
}

/** Percent in ten-thousandths of a percent, from its shortest decimal. */
export function ratePercent(percent: number): bigint {
  return usdToNano(String(percent)) / 100_000n;
}

/** Rates are of a million units; the quantity is in thousandths. */
function lineCost(milli: bigint, rate: string): bigint {
  return (milli * BigInt(rate) + NANO / 2n) / NANO;
}

export function referencePrice({ card: index, used }: Ending, batch: boolean): Price {
  const rates = index === null ? undefined : RATES[index]?.[1];
  if (!rates) return null;
  const units = (count: number) => BigInt(count) * 1000n;
  const output = lineCost(units(used.tokens), rates.output);
  const input = [
    lineCost(units(used.inputTokens - used.cachedTokens), rates.input),
    lineCost(units(used.cachedTokens), rates.cachedInput ?? rates.input),
    lineCost(units(used.searches), rates.webSearch ?? '0'),
    lineCost(BigInt(used.audioMilli), rates.audioSeconds ?? '0'),
  ];
  const inMode = (costs: bigint[]) => {
    const standard = costs.reduce((sum, cost) => sum + cost, 0n);
    return batch ? (standard + 1n) / 2n : standard;
  };
  return {
    cost: inMode([...input, output]),
    inputCost: inMode(input),
    isPartial:
      (used.searches > 0 && rates.webSearch === undefined) || (used.audioMilli > 0 && rates.audioSeconds === undefined),
    premium: BigInt(rates.output) > 4n * NANO,
  };
}

/**
 * The overage units after the first `before` up to `after`: each tier costs the price of its units up to now, less the
 * earlier price.
 */
export function gradedCost(overage: NonNullable<CustomMeter['overage']>, before: bigint, after: bigint): TierPart[] {
  const tiers =
    overage.model === 'SINGLE' ? [{ upTo: null, priceUsd: overage.priceUsd, per: overage.per }] : overage.tiers;
  const parts: TierPart[] = [];
  let first = 0n;
  for (const [tierIndex, { upTo, priceUsd, per }] of tiers.entries()) {
    const last = upTo === null ? after : BigInt(upTo);
    const inTier = (units: bigint) => (units <= first ? 0n : units >= last ? last - first : units - first);
    const [from, to] = [inTier(before), inTier(after)];
    const total = (units: bigint) => (2n * units * usdToNano(priceUsd) + BigInt(per)) / (2n * BigInt(per));
    if (to > from)
      parts.push({ tierIndex, upTo, units: to - from, rate: usdToNano(priceUsd), per, cost: total(to) - total(from) });
    first = last;
  }
  return parts;
}
