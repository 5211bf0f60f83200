/**
 * An organization's model mappings on the wire: the models of the tiers and of named aliases, each perhaps with the policy
 * by which it is replaced before its end.
 */
import { z } from 'zod';
import { MAPPED_PREFIX, SWITCH_SOURCES } from '../domain/model-mappings.ts';
import { TIERS, type Tier } from '../domain/tiers.ts';
import { instant, text } from './fields.ts';
import { CAPABILITIES } from './model-lookup.ts';

const MODEL_LENGTH_MAX = 300;
/** The most models of one mapping. */
const ENTRIES_MAX = 50;
/** The most named aliases of one organization. */
const ALIASES_MAX = 50;
const SWITCH_DAYS_MAX = 365;
const PRICE_INCREASE_PERCENT_MAX = 1_000;

const model = text(MODEL_LENGTH_MAX).refine(
  (name) => !name.startsWith(MAPPED_PREFIX),
  `must be a model; a name that begins with ${MAPPED_PREFIX} is a mapping itself`,
);

const policy = {
  model: model.describe('The model, as `provider/model`'),
  switchTo: z
    .enum(SWITCH_SOURCES)
    .describe("What replaces it: `official` is the provider's replacement, `reviewed` the one that operators reviewed"),
  switchDaysBefore: z
    .number()
    .int()
    .min(0)
    .max(SWITCH_DAYS_MAX)
    .default(14)
    .describe(`Days before the shutdown, in UTC, on which it is replaced; 0 to ${SWITCH_DAYS_MAX}`),
  maxPriceIncreasePercent: z
    .number()
    .min(0)
    .max(PRICE_INCREASE_PERCENT_MAX)
    .default(0)
    .describe(`How much more the same traffic may cost, in percent; 0 to ${PRICE_INCREASE_PERCENT_MAX}`),
  requiredCapabilities: z
    .array(z.enum(CAPABILITIES))
    .max(CAPABILITIES.length)
    .default([])
    .describe('What the replacement must be known to have'),
};

/** What an operator sets of a model and its autopilot. */
export const AutopilotPolicy = z.object(policy);

const memory = {
  switchedFrom: model.optional().describe('The model before the last switch; absent if there was none'),
  switchedAt: instant.optional().describe('When that was'),
};

/** The facts that the autopilot remembers return with the entry, in their answered form. */
const SetEntry = z
  .union([model, z.object({ ...policy, ...memory })], {
    error: 'must be a model, or an object with model and switchTo',
  })
  .describe('A model, or a model with its autopilot');
const Entry = z
  .union([
    z.string(),
    z.object({
      ...policy,
      ...memory,
      requiredCapabilities: z.array(z.string()).describe('What the replacement must be known to have'),
    }),
  ])
  .describe('A model, or a model with its autopilot');

const aliasName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be 1 to 64 lower-case letters, digits, dots, dashes or underscores')
  .refine((name) => !TIERS.some((tier) => tier === name), `must not be the name of a tier: ${TIERS.join(', ')}`);

const setList = z.array(SetEntry).max(ENTRIES_MAX);
const list = z.array(Entry);

export const SetModelsRequest = z.object({
  standard: setList.default([]).describe('Models of the standard tier, preferred first'),
  premium: setList.default([]).describe('Models of the premium tier, preferred first'),
  aliases: z
    .record(aliasName, setList)
    .refine((aliases) => Object.keys(aliases).length <= ALIASES_MAX, `must have at most ${ALIASES_MAX} names`)
    .optional()
    .describe('Models of named aliases, preferred first: `service/<name>` is a model of its own price'),
} satisfies Record<Tier | 'aliases', z.ZodType>);

export type SetModelsRequest = z.infer<typeof SetModelsRequest>;

export const Mappings = z.object({
  standard: list.describe('Models of the standard tier, preferred first'),
  premium: list.describe('Models of the premium tier, preferred first'),
  aliases: z.record(z.string(), list).optional().describe('Models of named aliases; absent if there are none'),
} satisfies Record<Tier | 'aliases', z.ZodType>);

export const SavedModels = Mappings.extend({
  warnings: z
    .array(z.string())
    .optional()
    .describe(
      'Models that neither the catalog nor a price of the organization knows, or that are retired or end; absent if there are none',
    ),
});

export type SavedModels = z.infer<typeof SavedModels>;

export const SwitchBackRequest = z.object({
  mapping: z.string().min(1).max(64).describe('`standard`, `premium` or the name of an alias'),
  model: text(MODEL_LENGTH_MAX).describe('The model that the autopilot set'),
});

export type SwitchBackRequest = z.infer<typeof SwitchBackRequest>;
