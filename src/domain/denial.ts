/**
 * Why a call is denied: a code, the limit that blocks it with its figures, the other limits that block it, the missing
 * capability, and the amounts of money if credit would have paid.
 */
import { hasLeft, type MeterState, planLimit, summarize } from './allowances.ts';
import type { MoneySums } from './denial-sums.ts';
import { CAPABILITY_METERS, type EntitlementDecision, type Requested, withDefaultTier } from './entitlements.ts';
import { LIMIT_NAMES, type MeterName } from './meters.ts';
import { NEVER_MS } from './period.ts';
import { CAPABILITIES, type Capability, hasCapability, type PlanVersion } from './plan.ts';
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
  /** The meter that has nothing left. */
  meter?: MeterName;
}

/** The stored facts of a denial with its call, at that moment. Older calls have no amounts. */
export interface RecordedDenial extends Denial {
  /** The capability that was requested and is not allowed, if that is the reason. */
  capability?: Capability;
  /** The meter's limit in the plan for a usage period, and the amount that ended and open calls had taken. */
  limit?: number | null;
  used?: number;
  /** Present if credit would have paid. */
  money?: MoneySums;
  /** The open calls and batches that may hold the meter and the balance. */
  open?: OpenWork;
  /** When the meter renews; `null` if it does not. */
  resetsAtMs?: number | null;
  /** The other limits that block the call; present if there are any. */
  also?: BlockingLimit[];
}

/** A limit that blocks a call because nothing, or too little, is left of it. */
export interface BlockingLimit {
  meter: MeterName;
  limit: number | null;
  used: number;
  /** `null` if it never renews. */
  resetsAtMs: number | null;
}

/** Each of a plan's limits blocks once, and one of them is the reason. */
export const ALSO_MAX = LIMIT_NAMES.length - 1;

/** Calls in progress, and batches with a hold. */
export interface OpenWork {
  calls: number;
  batches: number;
}

/** Credit's answer about a call that it would have to pay for. */
export interface CreditSays {
  /** Whether it would pay for the tier if open calls held nothing. */
  wouldPass: (tier: Tier) => boolean;
  /** The amounts for the wanted tier, of all tiers that the call would run on. */
  sums?: (wanted: Tier, offered: readonly Tier[]) => MoneySums;
}

/** A limit that blocks a tier. */
export interface TierReason {
  tier: Tier;
  limit: BlockingLimit;
}

/** A limit that blocks a capability; `null` if the plan does not have it. */
interface CapabilityReason {
  capability: Capability;
  limit: BlockingLimit | null;
}

type Reason = TierReason | CapabilityReason;

/**
 * The blocked tiers and capabilities, with their reasons. `isClosed`: the plan does not include it at all, whatever was
 * used.
 */
interface Blocked<Of extends Reason> {
  isClosed: boolean;
  reasons: Of[];
}

/**
 * If several limits block alike, the one that renews last is the reason; on a tie, that of the highest tier, and calls
 * before tokens. A tier that the plan does not include is not the reason if another is used up; if none is included,
 * the highest is the reason.
 */
export function buildDenial(
  account: Limited,
  request: { requested: Requested; runsOn?: Tier[] | undefined; needs?: Capability[] | undefined },
  decision: EntitlementDecision,
  { wouldPass, sums }: CreditSays,
): RecordedDenial {
  if (account.subscription.canceledAtMs !== null) return { code: 'SUBSCRIPTION_CANCELED' };
  const { payg } = account.subscription.plan.plan;
  const asked = withDefaultTier(request.requested);
  const isForTier = TIERS.some((tier) => asked[tier] === true);
  const needed = isForTier ? (request.needs ?? []) : CAPABILITIES.filter((capability) => asked[capability] === true);
  const lacking = needed
    .filter((capability) => !decision.allowed[capability])
    .map((capability) => blockedCapability(account, capability));
  const tiers = tiersToRun(account, asked, request.runsOn, decision);
  // A call for a tier needs each of its capabilities; without a tier, one requested capability is enough.
  const ofCapabilities = (isForTier ? lacking : withoutClosed(lacking)).flatMap(({ reasons }) => reasons);
  const isTierAllowed = tiers.some((tier) => decision.allowed[tier]);
  const blockedTiers = tiers.filter((tier) => !decision.allowed[tier]).map((tier) => blockedTier(account, tier));
  const ofTiers =
    isTierAllowed && ofCapabilities.length > 0 ? [] : withoutClosed(blockedTiers).flatMap(({ reasons }) => reasons);
  const reasons = [...ofCapabilities, ...ofTiers];
  // Credit may pay for a tier before its meters renew, and pays for no capability.
  const named = lastToRenew<Reason>(payg.enabled && ofCapabilities.length > 0 ? ofCapabilities : reasons);
  if (named === undefined) return { code: 'TIER_NOT_REQUESTED' };
  if ('capability' in named) return denialByCapability(named, reasons);
  const reason = { ...limitFigures(named.limit), ...otherLimits(named, reasons) };
  if (!payg.enabled) return { code: 'ALLOWANCE_EXHAUSTED', ...reason };
  const code = tiers.some(wouldPass) ? 'BALANCE_HELD' : 'CREDIT_REQUIRED';
  return { code, ...reason, ...(sums && { money: sums(named.tier, tiers) }) };
}

/** The denial for the capability, with the others of the reasons. */
export function denialByCapability(named: CapabilityReason, reasons: readonly Reason[]): RecordedDenial {
  const { capability, limit } = named;
  const others = otherLimits(named, reasons);
  if (limit === null) return { code: 'CAPABILITY_NOT_IN_PLAN', capability, ...others };
  return { code: 'ALLOWANCE_EXHAUSTED', capability, ...limitFigures(limit), ...others };
}

/** The limits of the reasons, except the named one. */
export function otherLimits(named: Reason, reasons: readonly Reason[]): Pick<RecordedDenial, 'also'> {
  const also = reasons.flatMap(({ limit }) => (limit === null || limit === named.limit ? [] : [limit]));
  return also.length > 0 ? { also } : {};
}

/** The requested tiers and, if one of them is used up, those that a plan offers in its place; the highest first. */
function tiersToRun(
  { subscription }: Limited,
  asked: Requested,
  runsOn: readonly Tier[] | undefined,
  { usedUp }: EntitlementDecision,
): Tier[] {
  const mayRunOn = (tier: Tier) => runsOn?.includes(tier) ?? true;
  const exhausted = TIERS.findLast((tier) => asked[tier] === true && mayRunOn(tier) && usedUp.includes(tier));
  if (exhausted === undefined) return [];
  const isOffered = (tier: Tier) =>
    subscription.plan.plan.limitType === 'DOWNGRADE' && TIERS.indexOf(tier) < TIERS.indexOf(exhausted);
  return TIERS.filter((tier) => (asked[tier] === true || isOffered(tier)) && mayRunOn(tier)).reverse();
}

function blockedTier(account: Limited, tier: Tier): Blocked<TierReason> {
  const { plan } = account.subscription.plan;
  const [calls, tokens] = [`${tier}Calls`, `${tier}Tokens`] as const;
  const areCallsLeft = hasLeft(plan, account.meters, calls);
  // If calls are left, the remaining tokens are too few for this one.
  const meters = [
    ...(areCallsLeft ? [] : [calls]),
    ...(areCallsLeft || !hasLeft(plan, account.meters, tokens) ? [tokens] : []),
  ];
  return {
    isClosed: [calls, tokens].some((meter) => planLimit(plan, meter) === 0),
    reasons: meters.map((meter) => ({ tier, limit: blockingLimit(account, meter) })),
  };
}

export function blockedCapability(account: Limited, capability: Capability): Blocked<CapabilityReason> {
  const { plan } = account.subscription.plan;
  const meter = hasCapability(plan, capability) ? CAPABILITY_METERS[capability] : null;
  const limit = meter === null ? null : blockingLimit(account, meter);
  return { isClosed: !limit?.limit, reasons: [{ capability, limit }] };
}

/** Any of these would do. If the plan includes none, the first is the one that was wanted most. */
function withoutClosed<Of extends Reason>(blocked: readonly Blocked<Of>[]): readonly Blocked<Of>[] {
  const open = blocked.filter(({ isClosed }) => !isClosed);
  return open.length > 0 ? open : blocked.slice(0, 1);
}

/** The first of those that renew; they renew together with the period. */
export function lastToRenew<Of extends Reason>(reasons: readonly Of[]): Of | undefined {
  return reasons.find(({ limit }) => limit === null || limit.resetsAtMs === null) ?? reasons[0];
}

/** The reported figures of the named limit. Its renewal is reported together with the open work (`withOpenWork`). */
export function limitFigures({ meter, limit, used }: BlockingLimit): Omit<BlockingLimit, 'resetsAtMs'> {
  return { meter, limit, used };
}

export function blockingLimit({ subscription, meters }: Limited, meter: MeterName): BlockingLimit {
  const { limit, used } = summarize(subscription.plan.plan, meters, meter);
  return { meter, limit, used, resetsAtMs: renewsAtMs(subscription, meter) };
}

/** The denial with the open work and the renewal time of its meter, if it has one. */
export function withOpenWork<D extends RecordedDenial>(denial: D, period: Period, openWork: () => OpenWork): D {
  const { meter } = denial;
  if (meter === undefined) return denial;
  return { ...denial, open: openWork(), resetsAtMs: renewsAtMs(period, meter) };
}

/** When the meter renews; `null` if it does not. */
function renewsAtMs({ plan, pending, nextReplenishAtMs }: Period, meter: MeterName): number | null {
  const renews = nextReplenishAtMs < NEVER_MS && planLimit((pending ?? plan).plan, meter) !== 0;
  return renews ? nextReplenishAtMs : null;
}

/** The part of an account that decides what blocks its calls. */
interface Limited {
  subscription: Period & { canceledAtMs: number | null };
  meters: MeterState;
}

/** The end of a subscription's usage period, and its plan from then on. */
interface Period {
  plan: PlanVersion;
  pending: PlanVersion | null;
  nextReplenishAtMs: number;
}
