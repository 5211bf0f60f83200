/**
 * The model tiers. A tier has a meter of calls and a meter of output tokens (meters.ts), an entitlement
 * (entitlements.ts) and a list of the organization's models.
 */

/** The lowest first: if a plan downgrades, an exhausted tier is replaced by one before it. */
export const TIERS = ['standard', 'premium'] as const;

export type Tier = (typeof TIERS)[number];

/** The tier of a call that requests neither a tier nor a capability. */
export const DEFAULT_TIER: Tier = 'standard';

/** The tier that `isPremium` asserts. */
export function assertedTier(isPremium: boolean): Tier {
  return isPremium ? 'premium' : 'standard';
}
