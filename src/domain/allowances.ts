/**
 * Allowances: the amount that a plan allows on each meter in a usage period, the used amount, and the rest.
 *
 * `used` counts the consumption of ended calls and the reservations of open ones, so that nothing is allowed twice. A
 * custom slot that the plan does not enable has a limit of zero.
 */
import { isLimitName, METER_NAMES, METERS, type MeterName, type MeterSlot, type Quantities } from './meters.ts';
import type { Plan } from './plan.ts';
import { addQuantity, subtractQuantity } from './quantity.ts';
import type { Tier } from './tiers.ts';

/** The figure that an unlimited meter reports as remaining. Informational: `unlimited` is authoritative. */
export const UNLIMITED_REMAINING = Number.MAX_SAFE_INTEGER;

export interface MeterSummary {
  remaining: number;
  limit: number | null;
  used: number;
  unlimited: boolean;
  ratio: number | null;
}

/** The customer's consumption in the current period, and the holds of open calls. */
export interface MeterState {
  consumed: Quantities;
  reserved: Quantities;
}

/** The plan's limit on a meter for one period: `null` is unlimited. */
export function planLimit(plan: Plan, meter: MeterName): number | null {
  if (isLimitName(meter)) return plan.limits[meter];
  const { slot } = METERS[meter];
  return slotLimit(plan, slot);
}

function slotLimit(plan: Plan, slot: MeterSlot): number | null {
  const meter = plan.customMeters[slot];
  if (!meter?.enabled) return 0;
  return meter.unlimited ? null : meter.included;
}

export function summarize(plan: Plan, state: MeterState, meter: MeterName): MeterSummary {
  const limit = planLimit(plan, meter);
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

/** Whether the tier's call meter and its token meter both have something left. */
export function isTierLeft(plan: Plan, meters: MeterState, tier: Tier): boolean {
  return hasLeft(plan, meters, `${tier}Calls`) && hasLeft(plan, meters, `${tier}Tokens`);
}
