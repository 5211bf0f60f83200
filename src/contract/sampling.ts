/**
 * Sampling on the wire: the policy and a decision by it (contract 2.8, 4.12, 4.13).
 */
import { z } from 'zod';
import { customerId, instant, TEXT_LENGTH_MAX, TOKENS_MAX, text, tokens } from './fields.ts';
import { resolveIdentity } from './identity.ts';

/** Contract section 8. */
export const SAMPLING_CACHE_SECONDS = 300;

const RETENTION_DAYS_MAX = 365;
/** The most names in one list of a policy. */
const NAMES_MAX = 500;
const CHARACTERS_MAX = 4 * TOKENS_MAX;

const feature = text(TEXT_LENGTH_MAX);
const features = z.array(feature).max(NAMES_MAX).default([]);

/** The policy that the operator sets, as a whole. */
export const SetSamplingRequest = z.object({
  rate: z.number().min(0).max(1).describe('Share of the eligible calls that is kept, 0 to 1'),
  minInputTokens: tokens.default(0).describe('Calls with fewer input tokens are not kept'),
  features: z
    .strictObject({
      include: features.describe('Only calls of these features; empty means all'),
      exclude: features.describe('Features whose calls are not kept'),
    })
    .prefault({})
    .describe('Features'),
  customers: z
    .strictObject({
      exclude: z.array(customerId).max(NAMES_MAX).default([]).describe('Customers whose calls are not kept'),
    })
    .prefault({})
    .describe('Customers'),
  retentionDays: z
    .number()
    .int()
    .min(1)
    .max(RETENTION_DAYS_MAX)
    .default(30)
    .describe('Days for which a sample is kept, 1 to 365'),
});

export type SetSamplingRequest = z.infer<typeof SetSamplingRequest>;

export const SamplingPolicy = z.object({
  version: z.string().describe('Derived from the content: the same policy has the same version'),
  rate: z.number().describe('Share of the eligible calls that is kept'),
  minInputTokens: z.number().describe('Calls with fewer input tokens are not kept'),
  features: z
    .object({
      include: z.array(z.string()).describe('Only calls of these features; empty means all'),
      exclude: z.array(z.string()).describe('Features whose calls are not kept'),
    })
    .describe('Features'),
  customers: z
    .object({ exclude: z.array(z.string()).describe('Customers whose calls are not kept') })
    .describe('Customers'),
  retentionDays: z.number().int().describe('Days for which a sample is kept'),
});

export type SamplingPolicy = z.infer<typeof SamplingPolicy>;

export const SamplingSettings = SamplingPolicy.extend({
  cacheSeconds: z.number().int().describe('How long you may cache these settings'),
  settingsExpiresAt: instant.describe('When the cached settings expire'),
});

export type SamplingSettings = z.infer<typeof SamplingSettings>;

const DecideSamplingBody = z.object({
  samplingKey: text(255)
    .optional()
    .describe('The same key and policy version get the same decision; Callmeter makes a key if it is absent'),
  customerId: customerId.optional(),
  feature: feature.optional().describe('Feature of the application that calls'),
  inputTokens: tokens.optional().describe('Prompt tokens; preferred over `inputCharacters`'),
  inputCharacters: z
    .number()
    .int()
    .nonnegative()
    .max(CHARACTERS_MAX)
    .optional()
    .describe('Characters of the prompt: 4 are a token'),
});

export const DecideSamplingRequest = z.preprocess(resolveIdentity, DecideSamplingBody);
export type DecideSamplingRequest = z.infer<typeof DecideSamplingBody>;

export const SamplingDecision = z.object({
  sample: z.boolean().describe('Whether to keep the call'),
  reason: z
    .enum([
      'CUSTOMER_EXCLUDED',
      'FEATURE_EXCLUDED',
      'FEATURE_NOT_INCLUDED',
      'BELOW_MIN_INPUT_TOKENS',
      'NOT_SELECTED',
      'SELECTED',
    ])
    .describe('The first rule that applied, in this order'),
  decisionId: z.string().describe('Stable for the key and the policy version'),
  samplingKey: z.string().describe('The key of the decision'),
  policyVersion: z.string().describe('The policy of the decision'),
  settingsExpiresAt: instant.describe('How long you may cache the policy'),
});

export type SamplingDecision = z.infer<typeof SamplingDecision>;
