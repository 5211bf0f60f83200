/**
 * Prompt compression on the wire: recorded savings, the organization's profile, and estimates over stored samples
 * (contract 4.15, 4.16).
 */

import { z } from 'zod';
import type { CallId, CustomerId, OrganizationId } from '../domain/ids.ts';
import { BodyIdempotency, PromptCompression } from './calls.ts';
import { branded, callId, customerId, instant, TAGS_MAX, TEXT_LENGTH_MAX, text, tokens } from './fields.ts';
import { resolveIdentity } from './identity.ts';
import { ENDS_AFTER_START, endsAfterStart } from './samples.ts';
import { Period } from './usage-summary.ts';

export const CompressPromptRequest = BodyIdempotency.extend({
  callId: callId.describe('The call: the idempotency key that it was begun with'),
  promptCompression: PromptCompression.extend({
    techniques: z.array(text(TEXT_LENGTH_MAX)).max(TAGS_MAX).describe('Techniques that were applied'),
  }).describe('Counts of the compressed prompt; no content'),
});

export type CompressPromptRequest = z.infer<typeof CompressPromptRequest>;

export const CompressPromptData = z.object({
  callId: branded<CallId>(z.string()).describe('The call'),
  updated: z.literal(true).describe("The call's record has the savings"),
  provider: PromptCompression.shape.provider,
  originalTokens: z.number().describe('Tokens before compression'),
  compressedTokens: z.number().describe('Tokens after compression'),
  savedTokens: z.number().describe('Difference of both, never negative'),
  tokenSavingsRatio: z.number().describe('Saved tokens as a share of the original ones, 0 to 1'),
  techniques: z.array(z.string()).describe('Techniques that were applied'),
});

export type CompressPromptData = z.infer<typeof CompressPromptData>;

const AuthorizeCompressionBody = z.object({
  customerId: customerId.optional().describe('The billed customer; default `default`'),
});

export const AuthorizeCompressionRequest = z.preprocess(resolveIdentity, AuthorizeCompressionBody);
export type AuthorizeCompressionRequest = z.infer<typeof AuthorizeCompressionBody>;

export const CompressionAuthorization = z.object({
  authorized: z.literal(true).describe('Prompts may be compressed'),
  organizationId: branded<OrganizationId>(z.string()).describe('The organization'),
  customerId: branded<CustomerId>(z.string()).describe('The billed customer'),
});

export type CompressionAuthorization = z.infer<typeof CompressionAuthorization>;

/** The names in `src/compression/techniques.ts`; a test compares the two. */
export const TECHNIQUE_NAMES = [
  'json',
  'toon',
  'whitespace',
  'decoration',
  'politeness',
  'filler',
  'duplicates',
] as const;

const PHRASES_MAX = 100;

const phrase = z
  .string()
  .min(1)
  .max(200)
  .refine((value) => value.trim() !== '' && value.isWellFormed(), 'must not be blank or broken Unicode');

/** A profile is replaced as a whole: an omitted field gets its default. */
export const CompressionProfile = z.object({
  techniques: z
    .array(z.enum(TECHNIQUE_NAMES))
    .max(TECHNIQUE_NAMES.length)
    .refine((names) => new Set(names).size === names.length, 'must not name a technique twice')
    .default([...TECHNIQUE_NAMES])
    .describe('Techniques to apply'),
  aggressiveness: z
    .number()
    .min(0)
    .max(1)
    .default(0.3)
    .describe(
      'Below 0.3 nothing is lost; from 0.3 also the published rewrites, which keep the sense; from 0.7 the meaning may change',
    ),
  protectedPhrases: z.array(phrase).max(PHRASES_MAX).default([]).describe('Phrases that stay byte for byte'),
  minInputTokens: tokens.default(0).describe('Shorter prompts stay as they are'),
});

export type CompressionProfile = z.infer<typeof CompressionProfile>;

const meaningMayChange = z
  .boolean()
  .describe('Whether this aggressiveness may change the meaning of a prompt: from 0.7 on');

/** The answered form. */
export const SavedCompressionProfile = CompressionProfile.extend({ meaningMayChange });

export type SavedCompressionProfile = z.infer<typeof SavedCompressionProfile>;

export const DEFAULT_COMPRESSION_PROFILE: CompressionProfile = CompressionProfile.parse({});

const Savings = z.object({
  originalTokens: z.number().describe('Tokens before compression'),
  compressedTokens: z.number().describe('Tokens after compression'),
  savedTokens: z.number().describe('Tokens that compression saved'),
});

const CostAvoided = z.object({
  costAvoidedUSD: z.number().describe('Input cost that this avoided, if the price is known'),
  costAvoidedUsdNano: z.string().describe('The same cost, exact, in nano-USD'),
});

const ratio = z.number().describe('Saved tokens as a share of the original ones, 0 to 1');
const technique = z.string().describe('Technique');

export const CompressionSummaryQuery = z
  .object({
    from: instant.optional().describe('Calls that began at this instant or later; default 30 days before `to`'),
    to: instant.optional().describe('Calls that began before this instant; default now'),
  })
  .refine(endsAfterStart, ENDS_AFTER_START);

export type CompressionSummaryQuery = z.infer<typeof CompressionSummaryQuery>;

const RecordedSavings = Savings.extend(CostAvoided.shape).extend({
  calls: z.number().int().describe('Calls with recorded savings'),
  unpricedCalls: z.number().int().describe('Calls without a known price; the cost does not include them'),
  tokenSavingsRatio: ratio,
});

export type RecordedSavings = z.infer<typeof RecordedSavings>;

/** The most groups of one kind in a summary. */
export const SAVINGS_GROUPS_MAX = 200;

export const CompressionSummary = RecordedSavings.extend({
  period: Period.describe('When the calls began'),
  asOf: instant.describe('When the history of calls was read; it follows the calls by about a second'),
  byFeature: z
    .array(RecordedSavings.extend({ feature: z.string().nullable().describe('Feature; null if none was sent') }))
    .describe(`By saved tokens, the most first, ${SAVINGS_GROUPS_MAX} at most`),
  byTechnique: z
    .array(RecordedSavings.extend({ technique }))
    .describe('The same; a call with several techniques counts whole under each of them'),
});

export type CompressionSummary = z.infer<typeof CompressionSummary>;

const EstimatedSamples = z.object({
  from: instant.optional().describe('Samples received at this instant or later; default all'),
  to: instant.optional().describe('Samples received before this instant; default now'),
  customerId: customerId.optional().describe('Only this customer'),
  feature: text(TEXT_LENGTH_MAX).optional().describe('Only this feature'),
  profile: CompressionProfile.optional().describe("Techniques to estimate; default the organization's profile"),
});

/** The operators' form. Their idempotency key is only in the header. */
export const OperatorStartCompressionJobRequest = EstimatedSamples.refine(endsAfterStart, ENDS_AFTER_START);

const StartCompressionJobBody = BodyIdempotency.extend(EstimatedSamples.shape).refine(endsAfterStart, ENDS_AFTER_START);

export const StartCompressionJobRequest = z.preprocess(resolveIdentity, StartCompressionJobBody);
export type StartCompressionJobRequest = z.infer<typeof StartCompressionJobBody>;

const jobStatus = z.enum(['RUNNING', 'COMPLETED']).describe('COMPLETED when every sample was read');

export const StartedCompressionJob = z.object({ jobId: z.string().describe('The job'), status: jobStatus });

export type StartedCompressionJob = z.infer<typeof StartedCompressionJob>;

export const CompressionJob = Savings.extend(CostAvoided.shape).extend({
  jobId: z.string().describe('The job'),
  status: jobStatus,
  progress: z
    .object({
      total: z.number().int().describe('Samples to read, as counted at the start'),
      done: z.number().int().describe('Samples that were read, without those that expired meanwhile'),
    })
    .describe('Progress'),
  tokenSavingsRatio: ratio,
  countedBy: z
    .literal('ESTIMATE')
    .describe(
      'How tokens were counted, before and after alike: an estimate of o200k_base, within 10 % for English, code and JSON and within 15 % for other languages',
    ),
  meaningMayChange,
  unpricedSamples: z.number().int().describe('Samples whose model has no known price; the cost does not include them'),
  unreadableSamples: z.number().int().describe('Samples that could not be compressed; they count nothing'),
  techniques: z
    .array(Savings.extend({ name: technique }))
    .describe(
      'Tokens of the texts that each technique changed, before and after it; in the order of their application',
    ),
  byTechnique: z
    .array(
      CostAvoided.extend({
        technique,
        samples: z.number().int().describe('Samples that it changed'),
        savedTokens: z.number().describe('Tokens that it saved; all techniques sum to the total'),
      }),
    )
    .describe('In the order in which they are applied'),
  exampleSampleId: z
    .string()
    .nullable()
    .describe('The sample of moderate length that became shorter by most; null if none became shorter'),
  profile: CompressionProfile.describe('What was estimated'),
  startedAt: instant.describe('When it began'),
  finishedAt: instant.nullable().describe('When it was done'),
  failures: z.number().int().describe('Attempts that failed; each is made again'),
  lastError: z.string().nullable().describe('Why the last attempt failed'),
});

export type CompressionJob = z.infer<typeof CompressionJob>;
