/**
 * Prices on the wire: a list of components, each with the conditions under which its rate applies; and an organization's own
 * prices, a negotiated rate or the price of a model that is not in the catalog.
 */
import { z } from 'zod';
import { parseUsd } from '../domain/money.ts';
import { COMPONENTS, ratePurpose } from '../domain/price.ts';
import { SERVICE_TIERS, type ServiceTier, SPEEDS } from '../domain/usage.ts';
import { instant, TOKENS_MAX, text, USD_PER_MILLION_MAX } from './fields.ts';

/** The most components of one price. */
const COMPONENTS_MAX = 100;
const REGION_LENGTH_MAX = 60;
/** With the largest count of uses, the cost of a call stays inside the 64 bits of SQLite. */
const PER_USE_USD_MAX = 1;

/** The service tier in an answer. */
export const servedTier = z.enum(SERVICE_TIERS).describe('Service tier that was billed');

/** The service tier in a report. */
export const serviceTier = z
  .enum([...SERVICE_TIERS, 'fast'])
  .transform((tier): ServiceTier => (tier === 'fast' ? 'priority' : tier))
  .describe("Service tier; `other` is one without a published rate, and OpenAI's `fast` is `priority`");
export const region = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]*$/, 'must be lower-case letters, digits and dashes')
  .max(REGION_LENGTH_MAX)
  .describe('Region of the endpoint, as the vendor names it; `global` is none in particular');
export const speed = z.enum(SPEEDS).describe("Speed, if the vendor sells a faster one (Anthropic's `fast`)");

const Conditions = z.strictObject({
  promptTokensAbove: z
    .number()
    .int()
    .positive()
    .max(TOKENS_MAX)
    .optional()
    .describe('The rate applies to the whole call, from more prompt tokens than this'),
  serviceTier: serviceTier.optional(),
  region: region.optional(),
  speed: speed.optional(),
});

export const PriceComponent = z
  .strictObject({
    component: z.enum(COMPONENTS).describe('What is charged'),
    per: z
      .union([z.literal(1), z.literal(1_000), z.literal(1_000_000)])
      .describe('Units that `usd` pays for: tokens or characters, uses, minutes, seconds or images'),
    usd: z
      .string()
      .refine(
        (value) => parseUsd(value) !== null,
        'must be a decimal amount of USD with at most nine decimals, like "2.50"',
      )
      .describe('USD for `per` units, a decimal'),
    when: Conditions.optional().describe('Conditions under which the rate applies; absent: the standard ones'),
  })
  .refine(
    ({ per, usd }) => {
      const nano = parseUsd(usd);
      const usdMax = per === 1_000_000 ? USD_PER_MILLION_MAX : per * PER_USE_USD_MAX;
      return nano === null || nano <= BigInt(usdMax) * 1_000_000_000n;
    },
    { path: ['usd'], error: `must be at most ${USD_PER_MILLION_MAX} per million, or ${PER_USE_USD_MAX} a unit` },
  );

const rate = z
  .number()
  .min(0)
  .max(USD_PER_MILLION_MAX)
  .refine((value) => Number(value.toFixed(9)) === value, 'must have at most nine decimals');

const effectiveFrom = z
  .union([z.iso.datetime(), z.iso.date()], 'must be an instant in UTC, or a day')
  .describe('When the price comes into force, an instant or a day in UTC; absent: it always was in force');

const ShortForm = z.object({
  inputUsdPerMillion: rate.optional().describe('USD per million input tokens'),
  outputUsdPerMillion: rate.optional().describe('USD per million output tokens'),
  cachedInputUsdPerMillion: rate
    .optional()
    .describe(
      "USD per million input tokens read from the prompt cache; absent: by the catalog's ratio to the input rate, or the input rate itself",
    ),
  cacheWriteUsdPerMillion: rate
    .optional()
    .describe(
      "USD per million input tokens written to the prompt cache; absent: by the catalog's ratio to the input rate, or the input rate itself",
    ),
  components: z
    .array(PriceComponent)
    .min(1)
    .max(COMPONENTS_MAX)
    .optional()
    .describe('The rates of the price, in place of the four short ones'),
  strict: z
    .boolean()
    .optional()
    .describe(
      "Only stated rates count. Otherwise, other token rates follow the catalog's rates of the same model, as assumptions of each call that uses them",
    ),
});

const SHORT = [
  'inputUsdPerMillion',
  'outputUsdPerMillion',
  'cachedInputUsdPerMillion',
  'cacheWriteUsdPerMillion',
] as const;

export const SetPriceRequest = z
  .strictObject({ ...ShortForm.shape, effectiveFrom: effectiveFrom.optional() })
  .superRefine((price, context) => {
    const refuse = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (price.components === undefined) {
      for (const name of ['inputUsdPerMillion', 'outputUsdPerMillion'] as const)
        if (price[name] === undefined) refuse([name], 'is required, unless components are given');
      return;
    }
    for (const name of SHORT) if (price[name] !== undefined) refuse([name], 'cannot be given beside components');
    const seen = new Set<string>();
    price.components.forEach((listed, index) => {
      const purpose = ratePurpose(listed);
      if (seen.has(purpose))
        refuse(['components', index], `${listed.component} has another rate under the same conditions`);
      seen.add(purpose);
    });
  });

export type SetPriceRequest = z.infer<typeof SetPriceRequest>;
/** A price in its stored form, without its time. A price from before `strict` is not strict. */
export type OwnRates = z.infer<typeof ShortForm>;

export const pricedModelKey = text(330).describe(
  'Model as calls report it: `provider/model`, a bare name, or a fine-tuned `ft:` id; with `bedrock/`, `vertex/` or `azure/` before it for that channel',
);

export const OrganizationPrice = ShortForm.extend({
  modelKey: z.string().describe('The model'),
  effectiveFrom: instant.nullable().describe('When it comes into force; null: it always was in force'),
  snapshotId: z.string().describe('The recorded price'),
  strict: z.boolean().describe('Only stated rates count'),
});

export const SavedPrice = OrganizationPrice.extend({
  warnings: z
    .array(z.string())
    .optional()
    .describe('Says that the catalog does not have the model, or that it is retired or ends; absent if neither is so'),
});

export const PriceQuery = z.object({
  effectiveFrom: effectiveFrom
    .optional()
    .describe('Only the price that is in force from then on; absent: all of the model'),
});

export const DeletedPrices = z.object({
  modelKey: z.string().describe('The model'),
  deleted: z.number().int().describe('Prices that were removed'),
});
