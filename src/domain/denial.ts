/**
 * Why a call is denied, as a code with the meter that is used up.
 */
import { hasLeft, isTierLeft, type MeterState } from './allowances.ts';
import { CAPABILITY_METERS, type EntitlementDecision, type Requested, withDefaultTier } from './entitlements.ts';
import type { MeterName } from './meters.ts';
import { CAPABILITIES, type Capability, type Plan } from './plan.ts';
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

/** `wouldPass`: whether credit would pay for the tier if open calls held nothing. */
export function denialOf(
  plan: Plan,
  meters: MeterState,
  request: { requested: Requested; runsOn?: Tier[] | undefined; needs?: Capability[] | undefined },
  { allowed }: EntitlementDecision,
  canceled: boolean,
  wouldPass: (tier: Tier) => boolean,
): Denial {
  if (canceled) return { code: 'SUBSCRIPTION_CANCELED' };
  const asked = withDefaultTier(request.requested);
  const mayRunOn = (tier: Tier) => request.runsOn?.includes(tier) ?? true;
  const tiers = TIERS.filter((tier) => asked[tier] === true && mayRunOn(tier));
  const isForTier = TIERS.some((tier) => asked[tier] === true);
  const needed = isForTier ? (request.needs ?? []) : CAPABILITIES.filter((capability) => asked[capability] === true);
  const lacking = needed.find((capability) => !allowed[capability]);
  if (lacking !== undefined) {
    const meter = CAPABILITY_METERS[lacking];
    if (!plan.features[lacking] || meter === null) return { code: 'CAPABILITY_NOT_IN_PLAN' };
    return { code: 'ALLOWANCE_EXHAUSTED', meter };
  }
  // Of several tiers the highest is the one that was wanted most.
  const exhausted = tiers.filter((tier) => !isTierLeft(plan, meters, tier)).at(-1);
  if (exhausted === undefined) return { code: 'TIER_NOT_REQUESTED' };
  const calls = `${exhausted}Calls` as const;
  const meter = hasLeft(plan, meters, calls) ? (`${exhausted}Tokens` as const) : calls;
  if (!plan.payg.enabled) return { code: 'ALLOWANCE_EXHAUSTED', meter };
  const isOffered = (tier: Tier) => plan.limitType === 'DOWNGRADE' && TIERS.indexOf(tier) < TIERS.indexOf(exhausted);
  const offered = TIERS.filter((tier) => tiers.includes(tier) || (isOffered(tier) && mayRunOn(tier)));
  return { code: offered.some(wouldPass) ? 'BALANCE_HELD' : 'CREDIT_REQUIRED', meter };
}
