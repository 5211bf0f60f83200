/**
 * Entitlements, hints, meters, subscription: the shapes that begin, customers and usage share (contract 2.2 to 2.7).
 */
import { z } from 'zod';
import type { AskedEntitlements } from '../domain/entitlements.ts';
import type { Tier as TierName } from '../domain/tiers.ts';
import { instant } from './fields.ts';

export const LimitPolicy = z.enum(['NONE', 'BLOCK', 'DOWNGRADE']).describe('What happens when an allowance is used up');
export const ReasoningLevel = z.enum(['NONE', 'LOW', 'MEDIUM', 'HIGH']).describe('Reasoning ceiling');
export const PricingMode = z.enum(['batch', 'standard']).describe('Whether batch prices apply');
const Tier = z.enum(['premium', 'standard', 'none']);

export const Requested = z.object({
  standard: z.boolean().optional().describe('A model of the standard tier'),
  premium: z.boolean().optional().describe('A model of the premium tier'),
  audio: z.boolean().optional().describe('Audio'),
  image: z.boolean().optional().describe('Images'),
  search: z.boolean().optional().describe('Search'),
  reasoningLevel: ReasoningLevel.optional(),
} satisfies Record<keyof AskedEntitlements, z.ZodType>);

export const Allowed = z.object({
  standard: z.boolean().describe('Standard tier requested and available'),
  premium: z.boolean().describe('Premium tier requested and available'),
  audio: z.boolean().describe('Audio requested and available'),
  image: z.boolean().describe('Images requested and available'),
  search: z.boolean().describe('Search requested and available'),
  reasoningLevel: ReasoningLevel,
} satisfies Record<keyof AskedEntitlements, z.ZodType>);

export const EntitlementHints = z.object({
  suggestedModelTier: Tier.describe('The best tier that is allowed'),
  reasoningLevel: ReasoningLevel,
  policy: LimitPolicy,
  downgrade: z
    .object({
      reason: z.string().describe('PREMIUM_QUOTA_EXHAUSTED'),
      fallbackTier: Tier.optional().describe('What to use instead'),
    })
    .optional()
    .describe('Present if a lower tier is offered for the requested one'),
});

export const Meter = z.object({
  remaining: z.number().describe('What is left; 0 when exhausted, informational when unlimited'),
  limit: z.number().nullable().describe('Allowance of the period; null when unlimited'),
  used: z.number().describe('Consumed in the period, open calls included'),
  unlimited: z.boolean().describe('Authoritative: no bound'),
  ratio: z.number().min(0).max(1).nullable().describe('remaining / limit; null when unlimited or the limit is 0'),
});

export const Subscription = z.object({
  id: z.string().describe('Subscription id'),
  usagePlanVersionId: z.string().describe('The immutable plan version that applies'),
  planName: z.string().describe('Name of the plan'),
  planVersion: z.string().describe('Version number of the plan'),
  limitType: LimitPolicy,
  reasoningLevel: ReasoningLevel,
  lastReplenishedAt: instant.describe('Start of the current usage period (inclusive)'),
  nextReplenishAt: instant.describe('End of the current usage period (exclusive)'),
  subscriptionVersion: z.number().int().describe('Number that grows with each change of the subscription'),
  customerFriendlyName: z.string().optional().describe('Display name'),
  customerEmail: z.string().optional().describe('E-mail address'),
  stripeCustomerId: z.string().optional().describe('Customer id at Stripe'),
  pending: z
    .object({
      usagePlanVersionId: z.string().describe('Target plan version'),
      strategy: z.string().describe('AT_NEXT_REPLENISH'),
      effectiveAt: instant.describe('When it applies'),
    })
    .optional()
    .describe('A scheduled plan change'),
});

const RollingCalls = z.object({
  limit: z.number().int().describe('Calls per window'),
  used: z.number().int().describe('Calls begun in the window, this one included'),
  remaining: z.number().int().describe('Calls left in the window'),
  windowSeconds: z.number().int().describe('Length of the sliding window'),
  resetsAt: instant.describe('When the oldest call leaves the window'),
});

export const RateLimits = z.object({ rollingCalls: RollingCalls.describe("The plan's rolling call limit") });

export const Models = z.object({
  standard: z.array(z.string()).describe('Models of the standard tier, preferred first'),
  premium: z.array(z.string()).describe('Models of the premium tier, preferred first'),
} satisfies Record<TierName, z.ZodType>);

export const LegacyPlan = z.object({
  id: z.string().describe('Plan id'),
  name: z.string().describe('Plan name'),
  version: z.string().describe('Plan version'),
});

export const Balances = z.object({
  tokensRemaining: z.number().optional().describe('Output tokens left in both tiers; absent when unlimited'),
  searchesRemaining: z.number().optional().describe('Searches left; absent when unlimited'),
  audioSecondsRemaining: z.number().optional().describe('Audio seconds left; absent when unlimited'),
});

export const Meters = z.record(z.string(), Meter).describe('Meters by name');
export const RemainingRatios = z.record(z.string(), z.number().nullable()).describe('Ratio of each meter');

/** The present state of a customer, with or without a call. */
export const CustomerState = z.object({
  canceled: z.boolean().describe('The subscription is canceled'),
  policy: LimitPolicy,
  allowed: Allowed.describe('What may be used now'),
  entitlementHints: EntitlementHints,
  meters: Meters,
  remainingRatios: RemainingRatios,
  subscription: Subscription,
  models: Models.optional().describe("The organization's model mappings"),
  plan: LegacyPlan.optional().describe('Legacy; use `subscription`'),
  balances: Balances.optional().describe('Legacy; use `meters`'),
});

export type CustomerState = z.infer<typeof CustomerState>;
