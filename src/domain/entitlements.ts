/**
 * Entitlements: the model tiers and capabilities that a customer may use for a call now.
 *
 * A tier is allowed while its call meter and its token meter both have something left, or as much as the call needs if
 * that is known, and after that while credit pays for it. Otherwise the plan's policy decides: BLOCK denies an
 * exhausted tier, DOWNGRADE offers the tier below it, NONE only informs. Only requested tiers and capabilities are
 * allowed. Credit pays for model tiers only, not for searches and audio.
 */
import { hasLeft, isTierLeft, type MeterState, summarize } from './allowances.ts';
import type { MeterName, Quantities } from './meters.ts';
import {
  type AskedCapability,
  CAPABILITIES,
  type Capability,
  hasCapability,
  type LimitPolicy,
  type Plan,
  type ReasoningLevel,
} from './plan.ts';
import { DEFAULT_TIER, TIERS, type Tier } from './tiers.ts';

export type SuggestedTier = Tier | 'none';
export type Entitlements = Record<Tier | Capability, boolean> & { reasoningLevel: ReasoningLevel };
/** The entitlements that the contract has. */
export type AskedEntitlements = Omit<Entitlements, Exclude<Capability, AskedCapability>>;

/** The request of a call; an absent or undefined member is not requested. */
export type Requested = { [Name in keyof Entitlements]?: Entitlements[Name] | undefined };

interface EntitlementHints {
  suggestedModelTier: SuggestedTier;
  reasoningLevel: ReasoningLevel;
  policy: LimitPolicy;
  downgrade?: { reason: string; fallbackTier: SuggestedTier };
}

export interface EntitlementDecision {
  allowed: Entitlements;
  hints: EntitlementHints;
  /** The call may run: a requested tier is allowed or, if no tier was requested, a requested capability is. */
  admitted: boolean;
  /** The tiers whose allowance is used up, or has too little left for the call. */
  usedUp: Tier[];
  /** The allowed ones among them: credit pays for these. */
  onCredit: Tier[];
}

/** The known needs of a call besides its request. */
export interface CallNeeds {
  /** Whether the allowance of the tier pays for it. */
  isTierLeft: (tier: Tier) => boolean;
  /** The least that it needs of the meters of capabilities. */
  uses: Quantities;
}

/** Everything at once: the request of a reading that has none. */
export const EVERYTHING: Entitlements = {
  ...flags(TIERS, () => true),
  ...flags(CAPABILITIES, () => true),
  reasoningLevel: 'HIGH',
};

const LEVELS: readonly ReasoningLevel[] = ['NONE', 'LOW', 'MEDIUM', 'HIGH'];

/** The meter that a capability counts on; `null` if it has none. */
export const CAPABILITY_METERS = {
  audio: 'audioSeconds',
  image: null,
  search: 'searches',
  tools: null,
} as const satisfies Record<Capability, MeterName | null>;

export function decideEntitlements(
  plan: Plan,
  meters: MeterState,
  requested: Requested,
  canceled: boolean,
  /** Whether the USD balance can pay for a call of the tier, on a pay-as-you-go plan. */
  creditPays: (tier: Tier) => boolean,
  call: CallNeeds = { isTierLeft: (tier) => isTierLeft(plan, meters, tier), uses: {} },
): EntitlementDecision {
  const asked = withDefaultTier(requested);
  const reasoningLevel = canceled ? 'NONE' : lowerLevel(asked.reasoningLevel ?? 'HIGH', plan.reasoningLevel);
  const payable = (tier: Tier) => plan.payg.enabled && creditPays(tier);
  const within = (left: boolean) => !canceled && (plan.limitType === 'NONE' || left);
  const usedUp = TIERS.filter((tier) => !call.isTierLeft(tier));
  const suffices = (meter: MeterName) =>
    hasLeft(plan, meters, meter) && summarize(plan, meters, meter).remaining >= (call.uses[meter] ?? 0);

  const tiers = flags(TIERS, () => false);
  /** The highest tier that was requested, is exhausted, and has a lower one to replace it. */
  let replaced: Tier | null = null;
  for (const tier of [...TIERS].reverse()) {
    const isOffered = asked[tier] === true || replaced !== null;
    tiers[tier] = isOffered && within(!usedUp.includes(tier) || payable(tier));
    if (isOffered && !tiers[tier] && plan.limitType === 'DOWNGRADE' && tier !== TIERS[0]) replaced ??= tier;
  }
  const allowed: Entitlements = {
    ...tiers,
    ...flags(CAPABILITIES, (capability) => {
      const meter = CAPABILITY_METERS[capability];
      const isLeft = meter === null ? !canceled : within(suffices(meter));
      return asked[capability] === true && hasCapability(plan, capability) && isLeft;
    }),
    reasoningLevel,
  };

  const best = allowedTiers(allowed).at(-1) ?? 'none';
  const hints: EntitlementHints = { suggestedModelTier: best, reasoningLevel, policy: plan.limitType };
  if (replaced && !canceled) {
    hints.downgrade = { reason: `${replaced.toUpperCase()}_QUOTA_EXHAUSTED`, fallbackTier: best };
  }
  const wanted = TIERS.some((tier) => asked[tier] === true) ? TIERS : CAPABILITIES;
  return {
    allowed,
    hints,
    admitted: wanted.some((name) => allowed[name]),
    usedUp,
    onCredit: allowedTiers(allowed).filter((tier) => usedUp.includes(tier) && payable(tier)),
  };
}

/** The tiers that a call may run on, the lowest first. */
export function allowedTiers(allowed: Entitlements): Tier[] {
  return TIERS.filter((tier) => allowed[tier]);
}

/** The request, with the default tier if it names no tier and no capability. */
export function withDefaultTier(requested: Requested): Requested {
  return [...TIERS, ...CAPABILITIES].some((name) => requested[name])
    ? requested
    : { ...requested, [DEFAULT_TIER]: true };
}

/** Why a call that needs these capabilities is denied; `null` if all of them are allowed. */
export function capabilityDenied(needs: readonly Capability[], allowed: Entitlements): string | null {
  const denied = needs.filter((capability) => !allowed[capability]);
  if (denied.length === 0) return null;
  return `the request asks the vendor for ${denied.join(' and ')}: the customer's plan does not allow it, or it is used up`;
}

export function lowerLevel(a: ReasoningLevel, b: ReasoningLevel): ReasoningLevel {
  return LEVELS.indexOf(a) <= LEVELS.indexOf(b) ? a : b;
}

function flags<Name extends string>(names: readonly Name[], of: (name: Name) => boolean): Record<Name, boolean> {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, boolean>;
}
