/**
 * Meters: what a plan allows of each quantity in a period, what is used, what is left.
 *
 * `used` counts what ended calls consumed and what open calls hold, so that nothing is promised twice. The custom
 * slots are meters like the others; a slot that the plan does not enable has a limit of zero.
 */
import type { MeterSlot, Plan } from './plan.ts';
import { addQuantity, subtractQuantity } from './quantity.ts';

export const METER_NAMES = [
  'standardCalls',
  'premiumCalls',
  'standardTokens',
  'premiumTokens',
  'searches',
  'audioSeconds',
  'agenticApi',
  'customMeter1',
  'customMeter2',
] as const;

export type MeterName = (typeof METER_NAMES)[number];
export type Quantities = Partial<Record<MeterName, number>>;

export const SLOT_METERS = {
  AGENTIC_API: 'agenticApi',
  CUSTOM1: 'customMeter1',
  CUSTOM2: 'customMeter2',
} as const satisfies Record<MeterSlot, MeterName>;

/** What an unlimited meter reports as remaining. Informational: `unlimited` is authoritative. */
export const UNLIMITED_REMAINING = Number.MAX_SAFE_INTEGER;

export interface MeterSummary {
  remaining: number;
  limit: number | null;
  used: number;
  unlimited: boolean;
  ratio: number | null;
}

/** What the customer consumed in the current period, and what open calls hold of it. */
export interface MeterState {
  consumed: Quantities;
  reserved: Quantities;
}

/** The plan's limit of a meter for one period: `null` is unlimited. */
export function limitOf(plan: Plan, meter: MeterName): number | null {
  switch (meter) {
    case 'agenticApi':
      return slotLimit(plan, 'AGENTIC_API');
    case 'customMeter1':
      return slotLimit(plan, 'CUSTOM1');
    case 'customMeter2':
      return slotLimit(plan, 'CUSTOM2');
    default:
      return plan.limits[meter];
  }
}

function slotLimit(plan: Plan, slot: MeterSlot): number | null {
  const meter = plan.customMeters[slot];
  if (!meter?.enabled) return 0;
  return meter.unlimited ? null : meter.included;
}

export function summarize(plan: Plan, state: MeterState, meter: MeterName): MeterSummary {
  const limit = limitOf(plan, meter);
  const used = addQuantity(state.consumed[meter] ?? 0, state.reserved[meter] ?? 0);
  if (limit === null) return { remaining: UNLIMITED_REMAINING, limit, used, unlimited: true, ratio: null };
  const remaining = subtractQuantity(limit, used);
  return { remaining, limit, used, unlimited: false, ratio: limit === 0 ? null : remaining / limit };
}

export function summarizeAll(plan: Plan, state: MeterState): Record<MeterName, MeterSummary> {
  const entries = METER_NAMES.map((meter) => [meter, summarize(plan, state, meter)] as const);
  return Object.fromEntries(entries) as Record<MeterName, MeterSummary>;
}

/** Whether the meter has anything left; the last unit counts. */
export function hasLeft(plan: Plan, state: MeterState, meter: MeterName): boolean {
  const { unlimited, remaining } = summarize(plan, state, meter);
  return unlimited || remaining > 0;
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
