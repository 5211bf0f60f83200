/**
 * The meters: every quantity that a plan can limit, and their sums. The custom slots are meters like the others.
 */
import { addQuantity, subtractQuantity } from './quantity.ts';
import type { Tier } from './tiers.ts';

/** The meters that a plan defines itself. */
export const METER_SLOTS = ['CUSTOM1', 'CUSTOM2', 'AGENTIC_API'] as const;
export type MeterSlot = (typeof METER_SLOTS)[number];

interface MeterDefinition {
  unit: 'calls' | 'tokens' | 'searches' | 'seconds' | 'units';
  /** The plan's slot that defines the meter; `null` if the plan's `limits` do. */
  slot: MeterSlot | null;
}

/** Each tier has these two; a new tier without them does not compile. */
type TierMeter = `${Tier}Calls` | `${Tier}Tokens`;

/** Every meter, in the order in which meters are listed. */
export const METERS = {
  standardCalls: { unit: 'calls', slot: null },
  premiumCalls: { unit: 'calls', slot: null },
  standardTokens: { unit: 'tokens', slot: null },
  premiumTokens: { unit: 'tokens', slot: null },
  searches: { unit: 'searches', slot: null },
  audioSeconds: { unit: 'seconds', slot: null },
  agenticApi: { unit: 'units', slot: 'AGENTIC_API' },
  customMeter1: { unit: 'units', slot: 'CUSTOM1' },
  customMeter2: { unit: 'units', slot: 'CUSTOM2' },
} as const satisfies Record<TierMeter, MeterDefinition> & Record<string, MeterDefinition>;

export type MeterName = keyof typeof METERS;
export type Quantities = Partial<Record<MeterName, number>>;

/** The meters whose limit is a number of the plan. */
export type LimitName = { [Name in MeterName]: (typeof METERS)[Name]['slot'] extends null ? Name : never }[MeterName];

export const METER_NAMES = Object.keys(METERS) as MeterName[];
export const LIMIT_NAMES = METER_NAMES.filter(isLimitName);

/** The meter of each slot. */
export const SLOT_METERS = {
  AGENTIC_API: 'agenticApi',
  CUSTOM1: 'customMeter1',
  CUSTOM2: 'customMeter2',
} as const satisfies Record<MeterSlot, Exclude<MeterName, LimitName>>;

export function isLimitName(meter: MeterName): meter is LimitName {
  return METERS[meter].slot === null;
}

export function addQuantities(to: Quantities, amounts: Quantities): Quantities {
  return combine(to, amounts, addQuantity);
}

export function subtractQuantities(from: Quantities, amounts: Quantities): Quantities {
  return combine(from, amounts, subtractQuantity);
}

function combine(left: Quantities, right: Quantities, operation: (a: number, b: number) => number): Quantities {
  const result = { ...left };
  for (const meter of METER_NAMES) {
    const amount = right[meter];
    if (amount) result[meter] = operation(left[meter] ?? 0, amount);
  }
  return result;
}
