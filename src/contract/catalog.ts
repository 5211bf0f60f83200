/**
 * The catalog on the wire: the document that an operator publishes, and the operator API's answers about it.
 *
 * A model with an unknown member is refused, because a misspelt price or date would silently count as unknown. Rules
 * across models (unique names, existing replacements) are in `src/catalog/validate.ts`.
 */
import { z } from 'zod';
import { instant, text, USD_PER_MILLION_MAX } from './fields.ts';
import { PriceComponent } from './prices.ts';

const MODELS_MAX = 2_000;
const TRANSITIONS_MAX = 5_000;
const LIST_MAX = 50;
const COMPONENTS_MAX = 100;
const CHANNELS_MAX = 2;
const NAME_LENGTH_MAX = 300;
const FACT_LENGTH_MAX = 500;
const TOKENS_MAX = 1_000_000_000;

export const Provider = z.enum(['openai', 'anthropic', 'google']);

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a date like 2026-11-20');
const version = z
  .string()
  .refine(
    (label) => /^\d{4}-\d{2}-\d{2}(\.\d+)?$/.test(label) && !Number.isNaN(Date.parse(label.slice(0, 10))),
    'must be a label like 2026-11-20 or 2026-11-20.2',
  );
const name = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII')
  .max(NAME_LENGTH_MAX);
const modelKey = name.regex(/^[^/]+\/./, 'must be provider/model');
const word = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,49}$/, 'must be a lower-case word');
const words = z.array(word).max(LIST_MAX);
const usdPerMillion = z.number().nonnegative().max(USD_PER_MILLION_MAX);
const tokenLimit = z.number().int().positive().max(TOKENS_MAX);

const Source = z.strictObject({
  label: text(FACT_LENGTH_MAX).describe('What was read'),
  url: z
    .url({ protocol: /^https$/ })
    .max(FACT_LENGTH_MAX)
    .describe('URL of the publication'),
  checkedAt: day.describe('Date of the copy that was read'),
});

const rates = {
  inputUsdPerMillion: usdPerMillion.exactOptional().describe('Input tokens'),
  outputUsdPerMillion: usdPerMillion.exactOptional().describe('Output tokens'),
  cachedInputUsdPerMillion: usdPerMillion.exactOptional().describe('Input tokens read from the cache'),
  cacheWriteUsdPerMillion: usdPerMillion.exactOptional().describe('Input tokens written to the cache'),
};

const confidence = z.enum(['provider', 'snapshot', 'secondary']);

/**
 * The assumption behind a price's rates, if it is less certain than the provider's statement or two sources for this
 * model.
 */
const assumption = text(FACT_LENGTH_MAX)
  .exactOptional()
  .describe('Why the rate is an assumption: a single source, or a rule; every cost that uses it says so');

const CatalogComponent = PriceComponent.safeExtend({ assumption });

const ReplacementEvidence = z.strictObject({
  source: Source.describe('Source of the replacement'),
  confidence: confidence.describe('Source of the statement, as for the dates'),
});

/** Prices of tokens, in USD per million; a model that does not bill text has no input and output. */
export const CatalogRates = z.strictObject(rates);

const PricingTier = z.strictObject({
  ...rates,
  inputUsdPerMillion: usdPerMillion.describe('Input tokens'),
  outputUsdPerMillion: usdPerMillion.describe('Output tokens'),
  inputTokensAbove: tokenLimit.describe('The tier applies to the whole call, from more input tokens than this'),
  assumption,
});

const ScheduledRates = z.strictObject({
  ...rates,
  components: z
    .array(CatalogComponent)
    .min(1)
    .max(COMPONENTS_MAX)
    .exactOptional()
    .describe('Replaces all components that were in force'),
  from: day.describe('First day (UTC) on which these rates are in force'),
});

export const CatalogPricing = z.strictObject({
  ...rates,
  components: z
    .array(CatalogComponent)
    .min(1)
    .max(COMPONENTS_MAX)
    .optional()
    .describe('Rates beside those of text: other service tiers, media, uses of tools'),
  regionalMultiplier: z
    .number()
    .min(1)
    .max(10)
    .optional()
    .describe("Share of the token rates that a region of the provider's own API pays"),
  tiers: z.array(PricingTier).min(1).max(LIST_MAX).optional().describe('Rates of long prompts, shortest first'),
  scheduled: z
    .array(ScheduledRates)
    .min(1)
    .max(LIST_MAX)
    .optional()
    .describe('Announced changes, earliest first; they replace what they name'),
  imageOutputUsdPerMillion: usdPerMillion.optional().describe('Image tokens of the output'),
  searchUsdPerMillion: usdPerMillion.optional().describe('A million searches'),
  audioSecondUsdPerMillion: usdPerMillion.optional().describe('A million seconds of audio'),
  batchMultiplier: z.number().positive().max(1).optional().describe('Share of the price that a batch call pays'),
  source: text(FACT_LENGTH_MAX).describe('Source of the rates'),
});

export const Lifecycle = z.strictObject({
  status: z.enum(['ACTIVE', 'DEPRECATED', 'RETIRED']).describe('Status on the day of the source'),
  announcedAt: day.optional().describe('Day on which the deprecation was announced'),
  shutdownAt: day.optional().describe('Day from which the model no longer answers'),
  earliestShutdownAt: day
    .optional()
    .describe('Day before which the provider will not shut down a model that it has not deprecated'),
  replacement: modelKey.optional().describe('Replacement that the provider names; may be an alias'),
  replacementResolvesTo: modelKey.optional().describe('Model that the replacement is an alias of'),
  replacementExternal: z.boolean().optional().describe('The replacement is not in the catalog'),
  replacementAlternatives: z
    .array(modelKey)
    .max(LIST_MAX)
    .optional()
    .describe('Further replacements that the provider names'),
  suggestedReplacement: modelKey
    .optional()
    .describe('Successor that the provider names for a model that is not deprecated'),
  replacementNote: text(FACT_LENGTH_MAX).optional().describe('What the provider asks of a request to the replacement'),
  replacementEvidence: ReplacementEvidence.optional().describe(
    'Evidence of the replacement, if it is not that of the dates',
  ),
  source: Source.describe('Evidence of status and dates'),
  confidence: confidence.describe("The provider's own word, a copy that nothing later confirms, or a report of others"),
  note: text(FACT_LENGTH_MAX).optional().describe('What else is known'),
});

/** Another company's price for a model that it serves, and the end of that service. */
const ChannelFacts = z.strictObject({
  channel: z.enum(['bedrock', 'vertex']).describe('Amazon Bedrock, or Google Cloud'),
  pricing: CatalogPricing.optional().describe("Price there, if it is not the provider's"),
  lifecycle: z
    .strictObject({
      status: Lifecycle.shape.status,
      announcedAt: Lifecycle.shape.announcedAt,
      shutdownAt: Lifecycle.shape.shutdownAt,
      source: Lifecycle.shape.source,
      confidence: Lifecycle.shape.confidence,
    })
    .optional()
    .describe("Status and dates there, which are not those of the provider's own API"),
});

const Availability = z.strictObject({
  access: z.literal('limited').describe('Only for accounts that the provider admits'),
  note: text(FACT_LENGTH_MAX).describe('What the provider asks for'),
  source: Source.describe('Source'),
});

const MigrationNote = z.strictObject({
  note: text(FACT_LENGTH_MAX).describe('What a request must change, or can no longer do'),
  source: Source.describe('Source'),
});

export const CatalogModel = z.strictObject({
  provider: Provider.describe('Provider'),
  model: name.describe('Name in the API of the provider'),
  displayName: text(NAME_LENGTH_MAX).describe('Name for people'),
  family: text(NAME_LENGTH_MAX).describe('Line of models that it belongs to'),
  kind: word.describe('What it is for: chat, completion, embedding, image, ...'),
  aliases: z.array(name).max(LIST_MAX).describe('Short names that the provider documents as pointing to this model'),
  preferredAlias: name.optional().describe('The alias that the provider recommends'),
  lifecycle: Lifecycle.describe('Status, dates and replacement'),
  releasedAt: day.optional().describe('Day of release'),
  preview: z.boolean().describe('Not generally available'),
  availability: Availability.optional().describe('Absent if the model is open to every account, or this is not known'),
  pricing: CatalogPricing.optional().describe('Price in USD; absent means unknown'),
  channels: z.array(ChannelFacts).min(1).max(CHANNELS_MAX).optional().describe('What differs elsewhere'),
  contextTokens: tokenLimit.optional().describe('Tokens of input and output together'),
  maxOutputTokens: tokenLimit.optional().describe('Tokens of output'),
  modalities: z
    .strictObject({ input: words.describe('What goes in'), output: words.describe('What comes out') })
    .describe('Kinds of content'),
  capabilities: words.describe('What it is known to be able to do; absent means unknown'),
  capabilitiesBasis: text(FACT_LENGTH_MAX)
    .optional()
    .describe('Source of the capabilities, if not stated for this model'),
  endpoints: z
    .array(text(FACT_LENGTH_MAX))
    .max(LIST_MAX)
    .describe('Endpoints or methods of the provider that serve it'),
  reasoningEfforts: words.optional().describe('Levels of reasoning, lowest first'),
  migrationNotes: z
    .array(MigrationNote)
    .min(1)
    .max(LIST_MAX)
    .optional()
    .describe('What matters to a caller who moves to this model'),
});

export const Transition = z.strictObject({
  provider: Provider.describe('Provider'),
  model: name.describe('Model'),
  from: z.enum(['ACTIVE', 'DEPRECATED']).describe('Status before'),
  to: z.enum(['DEPRECATED', 'RETIRED']).describe('Status after'),
  date: day.describe('Day of the change'),
  replacement: modelKey.optional().describe('Replacement that the provider names'),
  replacementEvidence: ReplacementEvidence.optional().describe(
    'Evidence of the replacement, if it is not that of the change',
  ),
  scheduled: z.boolean().describe('Still to come when the catalog was made'),
  source: Source.describe('Evidence of the change'),
});

const Document = z.strictObject({
  version: version.optional().describe('Label of the release; Callmeter makes one if it is absent'),
  models: z.array(CatalogModel).min(1).max(MODELS_MAX).describe('Every model that is known'),
  transitions: z.array(Transition).max(TRANSITIONS_MAX).optional().describe('Lifecycle changes, past and announced'),
});

/** A bare list counts as the list of models of a document. */
export const CatalogDocument = z.preprocess((input) => (Array.isArray(input) ? { models: input } : input), Document);

/** The most reported shutdown dates in one answer. */
export const REPORTED_ENDS_MAX = 200;

const ReportedEnd = z.object({
  modelKey: z.string().describe('`provider/model`'),
  shutdownAt: day.describe('Day of the shutdown, as it is reported'),
  ours: day.nullable().describe('Day of the shutdown, as the catalog has it; null if it has none'),
  reportedBy: z.array(z.string()).describe('Lists that say so, the newest first'),
});

export const CatalogInfo = z.object({
  version: z.string().describe('Label of the release'),
  publishedAt: instant.describe('When it was published'),
  source: z.enum(['built-in', 'published']).describe('The copy in the bundle, or the one that an operator published'),
  models: z.number().int().nonnegative().describe('Models'),
  prices: z.number().int().nonnegative().describe('Models with a price'),
  active: z.number().int().nonnegative().describe('Active models'),
  deprecated: z.number().int().nonnegative().describe('Deprecated models'),
  retired: z.number().int().nonnegative().describe('Retired models'),
  sourceDates: z
    .object({ oldest: day.describe('Oldest copy'), newest: day.describe('Newest copy') })
    .describe('Dates of the copies that statuses were read from'),
  hash: z.string().describe('SHA-256 of the content'),
  problem: z.string().optional().describe('Why the lookup says degraded; absent when nothing is wrong'),
  reportedEnds: z
    .array(ReportedEnd)
    .max(REPORTED_ENDS_MAX)
    .describe('Unconfirmed ends that lists name, the soonest first: they change no status'),
});

const change = <Fact extends z.ZodType>(fact: Fact) =>
  z.object({
    modelKey: z.string().describe('`provider/model`'),
    before: fact.nullable().describe('Old value; null if it was unknown'),
    after: fact.nullable().describe('New value; null if it is unknown'),
  });

export const CatalogDifferences = z.object({
  added: z.array(z.string()).describe('Models that are new'),
  removed: z.array(z.string()).describe('Models that are gone'),
  repriced: z.array(change(CatalogPricing)).describe('Models with another price'),
  lifecycle: z.array(change(Lifecycle)).describe('Models with another status, date, replacement or confidence'),
  other: z
    .array(z.string())
    .describe('Models with other changed facts: names, limits, capabilities, sources, transitions'),
});

export const PublishedCatalog = CatalogInfo.extend({
  differences: CatalogDifferences.describe('What the publication changed'),
});

export type Provider = z.infer<typeof Provider>;
export type CatalogRates = z.infer<typeof CatalogRates>;
export type CatalogPricing = z.infer<typeof CatalogPricing>;
export type Lifecycle = z.infer<typeof Lifecycle>;
export type CatalogModel = z.infer<typeof CatalogModel>;
export type Transition = z.infer<typeof Transition>;
export type CatalogDocument = z.infer<typeof CatalogDocument>;
export type CatalogInfo = z.infer<typeof CatalogInfo>;
export type CatalogDifferences = z.infer<typeof CatalogDifferences>;
export type PublishedCatalog = z.infer<typeof PublishedCatalog>;
