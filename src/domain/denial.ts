/**
 * Why a call is denied: a code, the meter that is used up with its figures, the capability that is missing, and the sums
 * of money if credit would have paid.
 */
import { hasLeft, limitOf, type MeterState, summarize } from './allowances.ts';
import type { MoneySums } from './denial-sums.ts';
import { CAPABILITY_METERS, type EntitlementDecision, type Requested, withDefaultTier } from './entitlements.ts';
import type { MeterName } from './meters.ts';
import { NEVER_MS } from './period.ts';
import { CAPABILITIES, type Capability, hasCapability, type Plan, type PlanVersion } from './plan.ts';
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

/** What is kept of a denial with its call, as it was at that moment. Calls of before the sums were kept have none. */
export interface RecordedDenial extends Denial {
  /** The capability that was asked for and is not allowed, where that is the reason. */
  capability?: Capability;
  /** Of the meter: the plan's limit for a usage period, and what ended and open calls had taken of it. */
  limit?: number | null;
  used?: number;
  /** Present if credit would have paid. */
  money?: MoneySums;
  /** What may hold of the meter and the balance. */
  open?: OpenWork;
  /** When the meter renews; `null` if it does not. */
  resetsAtMs?: number | null;
}

/** Calls in progress, and batches that hold something. */
export interface OpenWork {
  calls: number;
  batches: number;
}

/** What credit says to a call that it would have to pay for. */
export interface CreditSays {
  /** Whether it would pay for the tier if open calls held nothing. */
  wouldPass: (tier: Tier) => boolean;
  /** The sums of the tier that was wanted, of all that the call would run on. */
  sums?: (wanted: Tier, offered: readonly Tier[]) => MoneySums;
}

export function denialOf(
  plan: Plan,
  meters: MeterState,
  request: { requested: Requested; runsOn?: Tier[] | undefined; needs?: Capability[] | undefined },
  { allowed, usedUp }: EntitlementDecision,
  canceled: boolean,
  { wouldPass, sums }: CreditSays,
): RecordedDenial {
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
    return { code: 'ALLOWANCE_EXHAUSTED', capability: lacking, ...figuresOf(plan, meters, meter) };
  }
  // Of several tiers the highest is the one that was wanted most.
  const exhausted = tiers.findLast((tier) => usedUp.includes(tier));
  if (exhausted === undefined) return { code: 'TIER_NOT_REQUESTED' };
  const calls = `${exhausted}Calls` as const;
  const meter = hasLeft(plan, meters, calls) ? (`${exhausted}Tokens` as const) : calls;
  if (!plan.payg.enabled) return { code: 'ALLOWANCE_EXHAUSTED', ...figuresOf(plan, meters, meter) };
  const isOffered = (tier: Tier) => plan.limitType === 'DOWNGRADE' && TIERS.indexOf(tier) < TIERS.indexOf(exhausted);
  const offered = TIERS.filter((tier) => tiers.includes(tier) || (isOffered(tier) && mayRunOn(tier)));
  const code = offered.some(wouldPass) ? 'BALANCE_HELD' : 'CREDIT_REQUIRED';
  return { code, ...figuresOf(plan, meters, meter), ...(sums && { money: sums(exhausted, offered) }) };
}

/** The meter of which nothing is left, with its figures. */
export function figuresOf(
  plan: Plan,
  meters: MeterState,
  meter: MeterName,
): Required<Pick<RecordedDenial, 'meter' | 'limit' | 'used'>> {
  const { limit, used } = summarize(plan, meters, meter);
  return { meter, limit, used };
}

/** The denial with what is open and when its meter renews, if it has one. */
export function withOpenWork<D extends RecordedDenial>(denial: D, period: Period, openWork: () => OpenWork): D {
  const { meter } = denial;
  if (meter === undefined) return denial;
  const { plan, pending, nextReplenishAtMs } = period;
  const renews = nextReplenishAtMs < NEVER_MS && limitOf((pending ?? plan).plan, meter) !== 0;
  return { ...denial, open: openWork(), resetsAtMs: renews ? nextReplenishAtMs : null };
}

/** Of a subscription: when its usage period ends, and the plan that it has then. */
interface Period {
  plan: PlanVersion;
  pending: PlanVersion | null;
  nextReplenishAtMs: number;
}
