/**
 * Why a call is denied: a code, the meter that is used up with its figures, the capability that is missing.
 */
import { hasLeft, type MeterState, summarize } from './allowances.ts';
import { CAPABILITY_METERS, type EntitlementDecision, type Requested, withDefaultTier } from './entitlements.ts';
import type { MeterName } from './meters.ts';
import { CAPABILITIES, type Capability, hasCapability, type Plan } from './plan.ts';
import { TIERS, type Tier } from './tiers.ts';

export const DENIAL_CODES = [
  'SUBSCRIPTION_CANCELED',
  'CAPABILITY_NOT_IN_PLAN',
  'ALLOWANCE_EXHAUSTED',
  'CREDIT_REQUIRED',
  'BALANCE_HELD',
  'TIER_NOT_REQUESTED',
] as const;
export type DenialCode = (typeof DENIAL_CODES)[number];

export interface Denial {
  code: DenialCode;
  /** The meter of which nothing is left. */
  meter?: MeterName;
}

/** What is kept of a denial with its call, as it was at that moment. */
export interface RecordedDenial extends Denial {
  /** The capability that was asked for and is not allowed, where that is the reason. */
  capability?: Capability;
  /** Of the meter: the plan's limit for a usage period, and what ended and open calls had taken of it. */
  limit?: number | null;
  used?: number;
}

/** `wouldPass`: whether credit would pay for the tier if open calls held nothing. */
export function denialOf(
  plan: Plan,
  meters: MeterState,
  request: { requested: Requested; runsOn?: Tier[] | undefined; needs?: Capability[] | undefined },
  { allowed, usedUp }: EntitlementDecision,
  canceled: boolean,
  wouldPass: (tier: Tier) => boolean,
): RecordedDenial {
  const figuresOf = (meter: MeterName) => {
    const { limit, used } = summarize(plan, meters, meter);
    return { meter, limit, used };
  };
  if (canceled) return { code: 'SUBSCRIPTION_CANCELED' };
  const asked = withDefaultTier(request.requested);
  const mayRunOn = (tier: Tier) => request.runsOn?.includes(tier) ?? true;
  const tiers = TIERS.filter((tier) => asked[tier] === true && mayRunOn(tier));
  const isForTier = TIERS.some((tier) => asked[tier] === true);
  const needed = isForTier ? (request.needs ?? []) : CAPABILITIES.filter((capability) => asked[capability] === true);
  const lacking = needed.find((capability) => !allowed[capability]);
  if (lacking !== undefined) {
    const meter = CAPABILITY_METERS[lacking];
    if (!hasCapability(plan, lacking) || meter === null) return { code: 'CAPABILITY_NOT_IN_PLAN', capability: lacking };
    return { code: 'ALLOWANCE_EXHAUSTED', capability: lacking, ...figuresOf(meter) };
  }
  // Of several tiers the highest is the one that was wanted most.
  const exhausted = tiers.findLast((tier) => usedUp.includes(tier));
  if (exhausted === undefined) return { code: 'TIER_NOT_REQUESTED' };
  const calls = `${exhausted}Calls` as const;
  const meter = hasLeft(plan, meters, calls) ? (`${exhausted}Tokens` as const) : calls;
  if (!plan.payg.enabled) return { code: 'ALLOWANCE_EXHAUSTED', ...figuresOf(meter) };
  const isOffered = (tier: Tier) => plan.limitType === 'DOWNGRADE' && TIERS.indexOf(tier) < TIERS.indexOf(exhausted);
  const offered = TIERS.filter((tier) => tiers.includes(tier) || (isOffered(tier) && mayRunOn(tier)));
  return { code: offered.some(wouldPass) ? 'BALANCE_HELD' : 'CREDIT_REQUIRED', ...figuresOf(meter) };
}
