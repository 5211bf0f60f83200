/**
 * The plan document: the amounts that a plan allows in a usage period. Only `name` and `limitType` are required.
 */
import { z } from 'zod';
import { findContradictions } from '../domain/funding.ts';
import { OUTPUT_TOKENS_MAX_DEFAULT } from '../domain/hold.ts';
import type { LimitName } from '../domain/meters.ts';
import { ANSWERS_MAX_DEFAULT, type Capability, HOLD_POLICIES } from '../domain/plan.ts';
import { LimitPolicy, ReasoningLevel } from './entitlements.ts';
import { text } from './fields.ts';

const COUNT_MAX = 1_000_000_000_000_000;

const OUTPUT_TOKENS_MAX = 10_000_000;
/** Output tokens of a call or an answer; null for no bound. */
const outputTokens = z.number().int().min(1).max(OUTPUT_TOKENS_MAX).nullable();

const limit = z.number().int().nonnegative().max(COUNT_MAX).nullable().default(null);
const decimal = z.string().regex(/^\d{1,9}(\.\d{1,9})?$/, 'must be a decimal number of USD, such as "12.50"');
const positiveInteger = z.string().regex(/^[1-9]\d{0,14}$/, 'must be a positive whole number, such as "1000"');

const OverageTier = z.strictObject({
  upTo: positiveInteger.nullable().describe('Last overage unit of the tier; null on the last tier'),
  priceUsd: decimal.describe('Price in USD of `per` units'),
  per: positiveInteger.default('1').describe('Units that the price is for'),
});

const Overage = z.discriminatedUnion('model', [
  z.strictObject({
    model: z.literal('SINGLE'),
    priceUsd: decimal.describe('Price in USD of `per` units'),
    per: positiveInteger.default('1'),
  }),
  z.strictObject({
    model: z.literal('GRADUATED'),
    tiers: z
      .array(OverageTier)
      .min(1)
      .max(20)
      .refine(
        (tiers) => tiers.every(({ upTo }, index) => (upTo === null) === (index === tiers.length - 1)),
        'the last tier, and only the last, must have upTo null',
      )
      .refine(
        (tiers) =>
          tiers.every(
            ({ upTo }, index) => index === 0 || upTo === null || Number(upTo) > Number(tiers[index - 1]?.upTo),
          ),
        'upTo must grow from tier to tier',
      ),
  }),
]);

const customMeter = (slot: string) =>
  z.strictObject({
    enabled: z.boolean().default(true).describe('Whether the slot may be used'),
    label: text(100).default(slot).describe('Display name of the unit; default the slot'),
    included: z.number().int().nonnegative().max(COUNT_MAX).default(0).describe('Units included in each period'),
    unlimited: z.boolean().default(false).describe('Events are recorded, nothing is consumed or charged'),
    funding: z
      .strictObject({
        credits: z.boolean().default(false).describe('Purchased units of the slot may pay'),
        payg: z
          .boolean()
          .default(false)
          .describe('The USD balance may pay; needs `payg.enabled` of the plan and `overage`'),
      })
      .default({ credits: false, payg: false })
      .describe('What pays once the included units are used up'),
    overage: Overage.optional().describe('Price of units that the balance pays for'),
  });

const THRESHOLDS_MAX = 10;
const THRESHOLD_PERCENT_MAX = 1_000;

/** Percent of a limit. */
export const thresholdsPercent = z
  .array(z.number().int().min(1).max(THRESHOLD_PERCENT_MAX))
  .max(THRESHOLDS_MAX)
  .refine((percents) => new Set(percents).size === percents.length, 'must not name a threshold twice');

/** An amount below which a balance is low; null for none. */
export const balanceBelowUsd = decimal.nullable();

/** Forecasts of more days are not possible: an object has the hours of a hundred days. */
const BALANCE_DAYS_MAX = 90;

/** Days of forecast spend below which a balance is low; null for none. */
export const balanceBelowDays = z.number().int().min(1).max(BALANCE_DAYS_MAX).nullable();

const Alerts = z.strictObject({
  thresholdsPercent: thresholdsPercent
    .exactOptional()
    .describe(
      "Percents of each limit at which `meter.threshold_reached` is recorded; default the organization's, else 50, 80 and 100",
    ),
  balanceBelowUsd: balanceBelowUsd
    .exactOptional()
    .describe("USD balance below which `balance.low` is recorded; null is none, absent takes the organization's"),
  balanceBelowDays: balanceBelowDays
    .exactOptional()
    .describe(
      `Days of forecast spend, 1 to ${BALANCE_DAYS_MAX}, below which \`balance.low\` is recorded too; null is none, absent takes the organization's`,
    ),
});

export const Plan = z.strictObject({
  name: text(100).describe('Name that customers see'),
  limitType: LimitPolicy,
  reasoningLevel: ReasoningLevel.default('HIGH'),
  replenish: z
    .strictObject({
      every: z.number().int().min(1).max(1000).describe('Units per period'),
      unit: z.enum(['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR']).describe('Calendar unit, in UTC'),
    })
    .nullable()
    .default({ every: 1, unit: 'MONTH' })
    .describe('Length of a usage period; null means never'),
  limits: z
    .strictObject({
      standardCalls: limit.describe('Calls of the standard tier'),
      premiumCalls: limit.describe('Calls of the premium tier'),
      standardTokens: limit.describe('Output tokens of the standard tier'),
      premiumTokens: limit.describe('Output tokens of the premium tier'),
      searches: limit.describe('Searches'),
      audioSeconds: limit.describe('Seconds of audio'),
    } satisfies Record<LimitName, z.ZodType>)
    .prefault({})
    .describe('Allowances of a period: null or absent is unlimited, 0 is none'),
  features: z
    .strictObject({
      audio: z.boolean().default(true).describe('Audio'),
      image: z.boolean().default(true).describe('Images'),
      search: z.boolean().default(true).describe('Search'),
      tools: z
        .boolean()
        .default(true)
        .describe('Tools that the vendor hosts: code execution, file search, maps, fetched pages, MCP servers'),
    } satisfies Record<Capability, z.ZodType>)
    .prefault({})
    .describe('Capabilities that the plan has'),
  rollingCalls: z
    .strictObject({
      limit: z.number().int().min(1).max(100_000).describe('Calls per window'),
      windowSeconds: z.number().int().min(1).max(86_400).describe('Length of the sliding window, up to a day'),
    })
    .nullable()
    .default(null)
    .describe('Calls that may begin in a sliding window'),
  reserveOutputTokens: outputTokens
    .default(null)
    .describe('Output tokens that each begin reserves, or fewer if request or model allow fewer'),
  maxOutputTokens: outputTokens
    .default(null)
    .describe('The most output tokens of an answer that an allowance pays for; null leaves them to request and model'),
  maxAnswers: z
    .number()
    .int()
    .min(1)
    .max(COUNT_MAX)
    .default(ANSWERS_MAX_DEFAULT)
    .describe(
      'Answers of text that one call may ask for (`n`, `best_of`, `candidateCount`), on an allowance and on credit',
    ),
  payg: z
    .strictObject({
      enabled: z.boolean().default(false).describe('The USD balance may pay when the allowance is used up'),
      markupPercent: z
        .number()
        .min(0)
        .max(10_000)
        .refine((value) => Number(value.toFixed(4)) === value, 'must have at most four decimals')
        .default(0)
        .describe('Percent of the cost that is added to it'),
      maxOutputTokens: outputTokens
        .default(OUTPUT_TOKENS_MAX_DEFAULT)
        .describe('The most output tokens of an answer that credit pays for; null leaves them to request and model'),
      holds: z
        .enum(HOLD_POLICIES)
        .default('EXACT')
        .describe(
          'What a call on credit holds. EXACT: the most that it can cost, so that nothing is overdrawn. EXPECTED, from 20 answers of the model on: the 95th percentile of what they came to of their bounds, so that open calls can together overdraw the balance by their bounds',
        ),
    })
    .prefault({})
    .describe('Pay-as-you-go'),
  customMeters: z
    .strictObject({
      CUSTOM1: customMeter('CUSTOM1').exactOptional().describe('First custom slot'),
      CUSTOM2: customMeter('CUSTOM2').exactOptional().describe('Second custom slot'),
      AGENTIC_API: customMeter('AGENTIC_API').exactOptional().describe('HTTP API requests and tool calls'),
    })
    .default({})
    .describe('Custom meters; a slot that is absent is disabled'),
  alerts: Alerts.exactOptional().describe(
    'When events record the usage and the balance of its customers; absent fields have the default',
  ),
  priceUsd: decimal
    .nullable()
    .exactOptional()
    .describe(
      'What a customer pays for a usage period, in USD, only for margins: it allows and charges nothing. Null or absent: not known',
    ),
});

export type Plan = z.infer<typeof Plan>;

/** A plan to save. Older versions are stored without the rule that funding must be able to pay. */
export const PutPlanRequest = Plan.superRefine((plan, context) => {
  for (const { path, message } of findContradictions(plan))
    context.addIssue({ code: 'custom', path: [...path], message });
});

export const planId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
  .describe('Plan id, chosen by the operator');

export const PlanVersion = z.object({
  planId,
  usagePlanVersionId: z.string().describe('Id of this immutable version'),
  version: z.number().int().describe('1 for the first version'),
});

export const SavedPlan = PlanVersion.extend({
  warnings: z
    .array(z.string())
    .optional()
    .describe('Funding of the plan that has no effect, each with its field; absent if there is none'),
});

export const PlanDetail = PlanVersion.extend({
  archivedAt: z
    .string()
    .nullable()
    .describe(
      'When the plan was archived: it takes no new subscriptions, and its customers keep it; null if it was not',
    ),
  plan: Plan.describe('Content of the newest version'),
  versions: z.array(
    PlanVersion.omit({ planId: true }).extend({
      plan: Plan.describe('Content'),
      createdAt: z.string().describe('When the version was made'),
    }),
  ),
});
