/**
 * The public model lookup on the wire: query, discovery, light and full resolution, errors (the lookup's contract).
 *
 * Unlike the metering interface: plain JSON without the envelope, no credential, and errors as `{ error, message }`.
 */
import { z } from 'zod';
import { flag } from './fields.ts';

export const LOOKUP_PATH = '/v1/model-alternatives';

export const PROVIDERS = ['openai', 'anthropic', 'google'] as const;
export const PURPOSES = ['upgrade', 'fallback', 'retirement'] as const;
export const RESPONSES = ['full', 'light'] as const;
export const LIFECYCLE_STATUSES = ['ACTIVE', 'DEPRECATED', 'RETIRED', 'UNKNOWN'] as const;
export const ACTIONS = ['KEEP', 'REPLACE', 'REVIEW'] as const;
export const MATCH_STRATEGIES = ['exact', 'alias', 'snapshot', 'normalized', 'fuzzy'] as const;

/** Names of API capabilities in the catalog, for `requiredParameters`. */
export const CAPABILITIES = [
  'audio_input',
  'audio_output',
  'batch',
  'computer_use',
  'json_mode',
  'parallel_tool_calls',
  'pdf_input',
  'prompt_caching',
  'reasoning',
  'streaming',
  'structured_outputs',
  'system_messages',
  'tool_choice',
  'tools',
  'url_context',
  'video_input',
  'vision',
  'web_search',
] as const;

const TOKENS_MAX = 10_000_000;
const LIST_ITEMS_MAX = 100;
const LIST_LENGTH_MAX = 8_000;

const tokenCount = z.coerce.number<string>().min(0).max(TOKENS_MAX);

/** A comma-separated list, sorted and without empty items, so that its spelling does not affect a decision. */
function list<Item extends z.ZodType<string, string>>(item: Item) {
  return z
    .string()
    .max(LIST_LENGTH_MAX)
    .transform((value) => {
      const items = value.split(',').map((part) => part.trim());
      return [...new Set(items.filter(Boolean))].sort();
    })
    .pipe(z.array(item).max(LIST_ITEMS_MAX));
}

/** Treats an empty or blank number as invalid: `Number('')` would be 0. */
const numeric = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (typeof value === 'string' && value.trim() === '' ? Number.NaN : value), schema);

export const LookupQuery = z
  .object({
    response: z.enum(RESPONSES).default('full').describe('Complete inspection, or the compact decision'),
    purpose: z.enum(PURPOSES).default('upgrade').describe('What the ranking is for'),
    inputTokens: numeric(tokenCount).default(8000).describe('Prompt tokens of a typical request'),
    outputTokens: numeric(tokenCount).default(2000).describe('Completion tokens of a typical request'),
    cachedInputPercent: numeric(z.coerce.number<string>().min(0).max(100))
      .default(30)
      .describe('Share of the prompt served from cache'),
    maxPriceIncreasePercent: numeric(z.coerce.number<string>().min(0).max(1000))
      .default(20)
      .describe('Bound on the price increase'),
    requiredParameters: list(z.enum(CAPABILITIES))
      .default([])
      .describe('Capabilities that a candidate must have, comma-separated'),
    minimumContext: numeric(tokenCount).optional().describe('Least context in tokens'),
    minimumOutput: numeric(tokenCount).optional().describe('Least output limit in tokens'),
    endpoint: z
      .string()
      .regex(/^[a-zA-Z0-9_./-]{1,100}$/, 'must be 1 to 100 letters, digits, and the characters _ . / -')
      .optional()
      .describe('Provider endpoint or operation that a candidate must have'),
    allowedProviders: list(z.enum(PROVIDERS))
      .default([])
      .describe('Providers to choose from, comma-separated; empty means all'),
    allowedModelKeys: list(z.string().max(330))
      .default([])
      .describe('Model keys to choose from, comma-separated; empty means all'),
    allowPreview: flag.default(false).describe('Preview models may be candidates'),
    allowAutoApply: flag.default(false).describe('Asks for an evaluation; nothing is ever applied'),
  })
  .refine(({ inputTokens, outputTokens }) => inputTokens > 0 || outputTokens > 0, {
    path: ['inputTokens'],
    message: 'inputTokens and outputTokens cannot both be zero',
  });

export type LookupQuery = z.infer<typeof LookupQuery>;

const day = z.iso.date();
const modelKey = z.string().describe('provider/model');

export const Lifecycle = z.object({
  status: z.enum(LIFECYCLE_STATUSES).describe('Computed from the dates, for the day of the answer'),
  announcedAt: day.optional().describe('Deprecation announced'),
  shutdownAt: day.optional().describe('Shutdown'),
  source: z
    .object({
      label: z.string().describe('What was read'),
      url: z.url().describe('URL'),
      checkedAt: day.describe('When'),
    })
    .optional()
    .describe('Source of the dates'),
});

export const KeyGuidance = z.object({
  requestedModelKey: modelKey,
  preferredModelKey: modelKey.describe("The provider's shorter alias of the same model"),
  resolvedModelKey: modelKey,
  relationship: z.literal('provider_alias').describe('How the two keys are related'),
  confidence: z.literal('provider_verified').describe('Source of the statement'),
  shouldUpdate: z.boolean().describe('Whether to move to the preferred key'),
  note: z.string().describe('For people'),
});

export const Candidate = z.object({
  modelKey,
  provider: z.enum(PROVIDERS).describe('Provider of the candidate'),
  relation: z.enum(['official_replacement', 'same_provider_similar', 'similar_price_and_strength']).describe('Reason'),
  confidence: z.enum(['authoritative', 'reviewed', 'candidate']).describe('Authority of the candidate'),
  rationale: z.string().describe('For people'),
  requiresEvaluation: z.boolean().describe('Whether to evaluate it on your own workload'),
  score: z.number().min(0).max(1).optional().describe('Computed entries only; higher is better'),
  priceDistancePercent: z.number().optional().describe('Absolute price difference for the token mix'),
  inputUsdPerMillion: z.number().optional().describe('Current input price'),
  outputUsdPerMillion: z.number().optional().describe('Current output price'),
  category: z.enum(['upgrade', 'variant', 'alternative']).optional().describe('Kind of candidate'),
  compatibility: z
    .object({
      status: z.enum(['compatible', 'unknown', 'incompatible']).describe('Comparison with everything that is required'),
      gaps: z.array(z.string()).describe('Required and known to be absent'),
      unknowns: z.array(z.string()).describe('Required and not known'),
    })
    .optional(),
  availability: z.enum(['available', 'unknown']).optional().describe('Whether the catalog knows it as available'),
  estimatedRequestUsd: z.number().optional().describe('Cost of one request of the token mix'),
  priceChangePercent: z.number().optional().describe('Price against the requested model, for the token mix'),
  reasons: z.array(z.string()).optional().describe('What ranks it behind others, then the parts of its score'),
});

export type Candidate = z.infer<typeof Candidate>;

export const Policy = z.object({
  purpose: z.enum(PURPOSES),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cachedInputPercent: z.number(),
  maxPriceIncreasePercent: z.number(),
  requiredParameters: z.array(z.string()),
  allowedProviders: z.array(z.string()),
  allowedModelKeys: z.array(z.string()),
  minimumContext: z.number().optional(),
  minimumOutput: z.number().optional(),
  endpoint: z.string().optional(),
  allowPreview: z.boolean(),
  allowAutoApply: z.boolean(),
});

const common = {
  schemaVersion: z.literal(1).describe('Version of this shape'),
  catalogVersion: z.string().describe('Catalog release'),
  lifecycle: Lifecycle,
  action: z.enum(ACTIONS).describe('What to do with the requested key'),
  keyGuidance: KeyGuidance.optional(),
  recommendedModelKey: modelKey.optional().describe('What to use instead'),
  providerReplacementModelKey: modelKey.optional().describe("The provider's own word"),
  recommendationSource: z
    .enum(['provider', 'admin_review', 'computed', 'none'])
    .optional()
    .describe('Source of the recommendation'),
  decisionId: z.string().optional().describe('Stable until the decision changes'),
  generatedAt: z.iso.datetime().optional().describe("Start of the answer's validity"),
  validUntil: z.iso.datetime().optional().describe('How long you may use the decision'),
};

export const LightResolution = z.strictObject({
  ...common,
  response: z.literal('light'),
  requested: z.strictObject({ modelKey }),
  degraded: z.boolean().describe('The service could not use its current catalog'),
  automation: z.strictObject({ autoApplyRecommended: z.boolean() }),
});

export const FullResolution = z.strictObject({
  ...common,
  requested: z.strictObject({ modelKey, provider: z.enum(PROVIDERS).optional(), model: z.string() }),
  match: z
    .strictObject({
      matchedModelKey: modelKey.describe('The model that the key means; the nearest key if the strategy is `fuzzy`'),
      strategy: z.enum(MATCH_STRATEGIES).describe('The rule that found the model'),
      score: z.number().optional().describe('Similarity of a fuzzy match'),
    })
    .optional(),
  pricing: z
    .strictObject({
      snapshotId: z.string().describe('The recorded price'),
      inputUsdPerMillion: z.number().optional(),
      outputUsdPerMillion: z.number().optional(),
      blendedUsdPerMillion: z.number().optional().describe('Per million tokens of the token mix'),
    })
    .optional(),
  equivalents: z.array(Candidate).describe('Official replacements first, then similar models of the same provider'),
  variants: z.array(Candidate).optional().describe('Other sizes and snapshots of the same generation'),
  alternatives: z.array(Candidate).describe('Similar models of other providers'),
  excludedCandidates: z.array(z.strictObject({ modelKey, reasons: z.array(z.string()) })).optional(),
  policy: Policy.optional().describe('The parameters in effect'),
  scoringVersion: z.number().optional().describe('Version of the ranking'),
  degraded: z.boolean().optional().describe('The service could not use its current catalog'),
  warnings: z.array(z.string()).optional(),
  automation: z.strictObject({
    canResolveWithoutServiceAccount: z.literal(true),
    autoApplyRecommended: z.boolean(),
    note: z.string(),
  }),
});

export type LightResolution = z.infer<typeof LightResolution>;
export type FullResolution = z.infer<typeof FullResolution>;

const LOOKUP_ERROR_CODES = [
  'INVALID_MODEL_KEY',
  'INVALID_MODEL_REQUEST',
  'METHOD_NOT_ALLOWED',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
] as const;

export type LookupErrorCode = (typeof LOOKUP_ERROR_CODES)[number];

export const LookupError = z.strictObject({
  error: z.enum(LOOKUP_ERROR_CODES),
  message: z.string(),
});
