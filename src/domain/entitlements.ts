/**
 * Entitlements: which model tiers and capabilities a customer may use for a call, now.
 *
 * A tier is allowed while its call meter and its token meter both have something left, and after that while credit pays
 * for it. Then BLOCK denies the exhausted tier, DOWNGRADE offers standard for an exhausted premium, NONE only informs.
 * What was not asked for is not granted. Credit pays for model tiers alone: searches and audio have no price.
 */
import { hasLeft, type MeterState } from './meters.ts';
import type { LimitPolicy, Plan, ReasoningLevel } from './plan.ts';

export type Tier = 'standard' | 'premium';
export type SuggestedTier = Tier | 'none';
/** What a call can do beside text. */
export type Capability = 'search' | 'image' | 'audio';

export interface Entitlements {
  standard: boolean;
  premium: boolean;
  audio: boolean;
  image: boolean;
  search: boolean;
  reasoningLevel: ReasoningLevel;
}

export interface EntitlementHints {
  suggestedModelTier: SuggestedTier;
  reasoningLevel: ReasoningLevel;
  policy: LimitPolicy;
  downgrade?: { reason: string; fallbackTier: SuggestedTier };
}

export interface EntitlementDecision {
  allowed: Entitlements;
  hints: EntitlementHints;
  /** The call may run: some requested tier is allowed or, where no tier was requested, some capability is. */
  admitted: boolean;
  /** The allowed tiers whose allowance is gone, and which credit pays for. */
  onCredit: Tier[];
}

/** Everything at once: how a reading without a request asks what the customer is entitled to. */
export const EVERYTHING: Entitlements = {
  standard: true,
  premium: true,
  audio: true,
  image: true,
  search: true,
  reasoningLevel: 'HIGH',
};

const LEVELS: readonly ReasoningLevel[] = ['NONE', 'LOW', 'MEDIUM', 'HIGH'];

export function decideEntitlements(
  plan: Plan,
  meters: MeterState,
  requested: Partial<Entitlements>,
  canceled: boolean,
  /** Whether the USD balance can pay for a call; it does where the plan is pay-as-you-go. */
  creditLeft: boolean,
): EntitlementDecision {
  const asked = withImpliedTier(requested);
  const reasoningLevel = canceled ? 'NONE' : lowerLevel(asked.reasoningLevel ?? 'HIGH', plan.reasoningLevel);
  const needsCredit = (tier: Tier) => !isTierLeft(plan, meters, tier);
  const payable = plan.payg.enabled && creditLeft;
  const within = (left: boolean) => !canceled && (plan.limitType === 'NONE' || left);

  const premium = asked.premium === true && within(payable || !needsCredit('premium'));
  const downgraded = asked.premium === true && !premium && plan.limitType === 'DOWNGRADE';
  const standard = (asked.standard === true || downgraded) && within(payable || !needsCredit('standard'));
  const allowed: Entitlements = {
    standard,
    premium,
    audio: asked.audio === true && plan.features.audio && within(hasLeft(plan, meters, 'audioSeconds')),
    image: asked.image === true && plan.features.image && !canceled,
    search: asked.search === true && plan.features.search && within(hasLeft(plan, meters, 'searches')),
    reasoningLevel,
  };

  const suggestedModelTier = premium ? 'premium' : standard ? 'standard' : 'none';
  const hints: EntitlementHints = { suggestedModelTier, reasoningLevel, policy: plan.limitType };
  if (downgraded && !canceled) {
    hints.downgrade = { reason: 'PREMIUM_QUOTA_EXHAUSTED', fallbackTier: standard ? 'standard' : 'none' };
  }
  const tierAsked = asked.standard === true || asked.premium === true;
  const admitted = tierAsked ? standard || premium : allowed.audio || allowed.image || allowed.search;
  return { allowed, hints, admitted, onCredit: payable ? allowedTiers(allowed).filter(needsCredit) : [] };
}

/** The tiers that a call may run on, out of what it was allowed. */
export function allowedTiers(allowed: Entitlements): Tier[] {
  return (['standard', 'premium'] as const).filter((tier) => allowed[tier]);
}

/** Why a call with these needs is not admitted, where one of them is not allowed; else `null`. */
export function capabilityDenied(needs: readonly Capability[], allowed: Entitlements): string | null {
  const denied = needs.filter((capability) => !allowed[capability]);
  if (denied.length === 0) return null;
  return `the request asks the vendor for ${denied.join(' and ')}: the customer's plan does not allow it, or nothing is left of it`;
}

export function isTierLeft(plan: Plan, meters: MeterState, tier: Tier): boolean {
  return hasLeft(plan, meters, `${tier}Calls`) && hasLeft(plan, meters, `${tier}Tokens`);
}

export function lowerLevel(a: ReasoningLevel, b: ReasoningLevel): ReasoningLevel {
  return LEVELS.indexOf(a) <= LEVELS.indexOf(b) ? a : b;
}

/** Nothing requested means the standard tier. */
function withImpliedTier(requested: Partial<Entitlements>): Partial<Entitlements> {
  const { standard, premium, audio, image, search } = requested;
  return standard || premium || audio || image || search ? requested : { ...requested, standard: true };
}
