/**
 * Calls on the wire: begin, end and read (contract 4.1, 4.2, 4.4).
 */

import { z } from 'zod';
import { CHARGE_BASES } from '../domain/charge.ts';
import { CHARGE_LINES } from '../domain/charge-lines.ts';
import { CORRECTION_KINDS } from '../domain/correction.ts';
import { DENIAL_CODES } from '../domain/denial.ts';
import type { CustomerId } from '../domain/ids.ts';
import { METER_NAMES } from '../domain/meters.ts';
import { CAPABILITIES } from '../domain/plan.ts';
import { COMPONENTS } from '../domain/price.ts';
import { excessiveParts, OUTPUT_BASES, USAGE_SOURCES, type Counts as UsageCounts } from '../domain/usage.ts';
import { PARTS_MAX } from '../domain/usage-sum.ts';
import { EndFactFields, ListedFactFields, ListedInAnswers, ListedInEnd, ReadFactFields } from './call-facts.ts';
import { DenialFigures, DenialSums } from './denial.ts';
import { Balances, CustomerState, PricingMode, RateLimits, Requested } from './entitlements.ts';
import {
  branded,
  callId,
  customerId,
  idempotencyKey,
  instant,
  quantity,
  TAGS_MAX,
  TEXT_LENGTH_MAX,
  TOKENS_MAX,
  text,
  tokens,
  usd,
} from './fields.ts';
import { isRecord, resolveIdentity } from './identity.ts';
import { region, servedTier, serviceTier, speed } from './prices.ts';

/** The prefix of the id of every call without an explicit key. Explicit keys must not have it. */
export const DERIVED_PREFIX = 'dk-';

const label = text(TEXT_LENGTH_MAX);
/** Uses of tools, characters or images: at most as many as tokens. */
const uses = z.number().int().nonnegative().max(TOKENS_MAX);
export const vendorReportedCostUSD = usd.describe(
  "The vendor's own figure of the call's cost; it is the cost if the organization says so for that vendor",
);
const begunCallId = callId.describe('The call: the idempotency key that it was begun with');

export const CustomerIdentity = z.object({
  customerId,
  customerUserId: text(255).optional().describe('Stable, non-personal identifier of the end user'),
  customerUserName: label.optional().describe('Display name of the end user'),
  customerUserEmail: label.optional().describe('E-mail address of the end user'),
});

/** Idempotency keys in a body. The header wins over both, and `idempotencyKey` over `idempotency`. */
export const BodyIdempotency = z.object({
  idempotencyKey: idempotencyKey.optional().describe('Idempotency key; the header overrides it'),
  idempotency: idempotencyKey.optional().describe('Deprecated name of `idempotencyKey`'),
});

const PricingChoice = z.object({
  batch: z.boolean().optional().describe('Compatibility flag beside `pricingMode`; default false'),
  pricingMode: PricingMode.optional().describe('Authoritative over `batch`; default standard'),
});

/** For a customer that is not known yet. */
export const firstProvisioning = {
  customerName: label.optional().describe('Display name for first provisioning'),
  customerFriendlyName: label.optional().describe('Preferred name of `customerName`'),
  customerEmail: label.optional().describe('E-mail address for first provisioning'),
  stripeCustomerId: label
    .optional()
    .describe('Customer id at Stripe for first provisioning; it does not count if another organization has it'),
};

export const BeginCallBody = CustomerIdentity.extend(BodyIdempotency.shape)
  .extend(PricingChoice.shape)
  .extend({
    feature: label.optional().describe('Feature of the application that calls'),
    requested: Requested.optional().describe('What the call requests; nothing means the standard tier'),
    holdUsd: usd
      .optional()
      .describe(
        "USD that the call holds if credit pays; with `estimate` the higher of both, without either what the customer's calls usually cost",
      ),
    estimate: z
      .strictObject({
        model: text(300).describe('Model that will run'),
        inputTokens: tokens.describe('The most prompt tokens'),
        maxOutputTokens: tokens
          .optional()
          .describe("The most completion tokens; default the plan's and the model's bound"),
      })
      .optional()
      .describe('The most that the call will use; if credit pays, its cost is held'),
    tags: z.array(label).max(TAGS_MAX).optional().describe('Labels for readings'),
    ...firstProvisioning,
  });

export const BeginCallRequest = z.preprocess(resolveIdentity, BeginCallBody);
export type BeginCallRequest = z.infer<typeof BeginCallBody>;

export const BeginCallData = CustomerState.extend({
  callId: begunCallId,
  callType: z.enum(['standard', 'API']).optional().describe('How the call was begun'),
  startTime: instant.describe('When the call began'),
  feature: z.string().describe('Echo; empty if none was sent'),
  tags: z.array(z.string()).optional().describe('Echo'),
  newCustomer: z.boolean().describe('The customer was created by this request'),
  denial: z
    .object({
      code: z
        .enum(DENIAL_CODES)
        .describe(
          "SUBSCRIPTION_CANCELED; CAPABILITY_NOT_IN_PLAN; ALLOWANCE_EXHAUSTED: the meter is used up; CREDIT_REQUIRED: the meter is used up, and the balance does not cover the call; BALANCE_HELD: the balance would cover it if open calls held nothing; TIER_NOT_REQUESTED: the call did not request the model's tier",
        ),
      message: z.string().optional().describe('The sums, as a sentence for people; absent if there are none'),
      ...DenialFigures.shape,
    })
    .optional()
    .describe('Why the call is denied, with what it needs and what is there; absent if it is allowed'),
  rateLimits: RateLimits.optional().describe('State of rate limits'),
  idempotency: z.object({
    key: z.string().describe('Always the call id'),
    source: z.enum(['explicit', 'derived']).describe('Whether the caller sent it'),
  }),
  batch: z.boolean().describe('True if batch pricing applies'),
  pricingMode: PricingMode,
  vendorHints: z
    .object({
      preferredModel: z.string().optional().describe('First mapped model of the suggested tier'),
      maxInputTokens: z.number().optional().describe('Context of the preferred model'),
      maxResponseTokens: z.number().optional().describe('Bound of the output tokens'),
    })
    .optional()
    .describe('Hints for the request to the vendor'),
});

export type BeginCallData = z.infer<typeof BeginCallData>;

const Counts = z.object({
  originalTokens: tokens.describe('Tokens before compression'),
  compressedTokens: tokens.describe('Tokens after compression'),
});

export const PromptCompression = Counts.extend({
  provider: z.enum(['heuristic', 'toon', 'thirdparty', 'service']).describe('What compressed the prompt'),
  savedTokens: z.number().optional().describe('Ignored: derived from the counts'),
  tokenSavingsRatio: z.number().optional().describe('Ignored: derived from the counts'),
  techniques: z.array(label).max(TAGS_MAX).optional().describe('Techniques that were applied'),
});

const CallErrorInput = z.object({
  code: text(100).describe('Error code'),
  message: z.string().trim().min(1).max(20_000).describe('Error message; it is sanitized and cut'),
});

export const UsageFields = z.object({
  inputTokens: tokens.optional().describe('All prompt tokens, cache reads and writes included'),
  responseTokens: tokens.optional().describe('Completion tokens, reasoning included'),
  cachedInputTokens: tokens.optional().describe('Prompt tokens served from the prompt cache (alias `cachedTokens`)'),
  cacheWriteInputTokens: tokens.optional().describe('Prompt tokens written to the prompt cache'),
  reasoningTokens: tokens.optional().describe('Reasoning tokens, a part of the completion tokens'),
  cacheWrite1hInputTokens: tokens.optional().describe('Part of `cacheWriteInputTokens` that is kept for an hour'),
  cacheWrite12hInputTokens: tokens.optional().describe('Part of `cacheWriteInputTokens` that is kept for twelve hours'),
  audioInputTokens: tokens.optional().describe('Audio tokens, a part of the prompt tokens'),
  cachedAudioInputTokens: tokens.optional().describe('Audio tokens served from the prompt cache, a part of both'),
  audioOutputTokens: tokens.optional().describe('Audio tokens, a part of the completion tokens'),
  imageInputTokens: tokens.optional().describe('Image tokens, a part of the prompt tokens'),
  cachedImageInputTokens: tokens.optional().describe('Image tokens served from the prompt cache, a part of both'),
  imageOutputTokens: tokens.optional().describe('Image tokens, a part of the completion tokens'),
  searches: uses.optional().describe('Web searches'),
  toolUses: z
    .strictObject({
      fileSearch: uses.optional().describe('File searches'),
      codeMinutes: quantity.optional().describe('Minutes of containers that ran code'),
    })
    .optional()
    .describe("Uses of the vendor's own tools, beside web searches"),
  images: uses.optional().describe('Images made, if the model bills each image'),
  characters: uses.optional().describe('Characters spoken, if the model bills characters'),
  audio: quantity.optional().describe('Audio units'),
  audioSeconds: quantity.optional().describe('Seconds of audio'),
  serviceTier: serviceTier.optional(),
  region: region.optional(),
  speed: speed.optional(),
});

const CallPartFields = UsageFields.extend({
  providerUsed: label.optional().describe('Vendor of the part'),
  modelUsed: text(300).optional().describe('Model whose price applies to the part'),
}).superRefine(refineParts);

/** Refuses usage with parts that exceed their whole, naming both. */
export function refineParts(usage: UsageCounts, context: z.RefinementCtx): void {
  const excessive = excessiveParts(usage);
  if (excessive) context.addIssue({ code: 'custom', path: [excessive.field], message: excessive.message });
}

/** The report of a call's end. */
export const CallReportFields = UsageFields.extend(EndFactFields.shape)
  .extend(PricingChoice.shape)
  .extend(ListedFactFields.shape)
  .extend(ReadFactFields.shape)
  .extend({
    promptCompression: PromptCompression.optional().describe('Counts of a compressed prompt'),
    isPremium: z.boolean().optional().describe('Overrides premium detection'),
    error: CallErrorInput.optional().describe('Error that makes the call FAILED'),
    stripeCustomerId: label
      .optional()
      .describe('Overrides the customer id at Stripe, with one that a customer of the organization was given'),
    vendorReportedCostUSD: vendorReportedCostUSD.optional(),
    parts: z
      .array(CallPartFields)
      .max(PARTS_MAX)
      .optional()
      .describe(
        'Other models that worked for the call, such as an advisor, each with its own usage, which the figures of the call do not include; an amendment without them leaves those of the call',
      ),
  });

export const EndCallBody = z
  .object({ callId: begunCallId })
  .extend(CallReportFields.shape)
  .extend(BodyIdempotency.shape)
  .superRefine(refineParts);

export const EndCallRequest = z.preprocess((body) => resolveUsageAliases(resolveIdentity(body)), EndCallBody);
export type EndCallRequest = z.infer<typeof EndCallBody>;

export function resolveUsageAliases(body: unknown): unknown {
  if (!isRecord(body) || body.cachedTokens === undefined || body.cachedInputTokens !== undefined) return body;
  return { ...body, cachedInputTokens: body.cachedTokens };
}

export const CostBreakdown = z.object({
  currency: z.literal('USD').describe('Currency'),
  snapshotId: z
    .string()
    .describe('The recorded price that was used; `{own}+{catalog}` of an own price that the catalog completes'),
  provider: z.string().describe('Vendor of the price'),
  modelKey: z.string().describe('Model of the price'),
  pricingTier: z.string().describe('`base`, or the long-prompt tier'),
  pricingTierReason: z.string().describe('Why that tier'),
  conditions: z
    .object({ serviceTier: servedTier.optional(), region: region.optional(), speed: speed.optional() })
    .optional()
    .describe('Conditions that the rates are for, if they are not the standard ones'),
  lines: z
    .array(
      z.object({
        component: z
          .enum([...COMPONENTS, 'vendorReported', 'held'])
          .describe(
            "What is charged; `vendorReported`: the whole call, by the vendor's own figure; `held`: lines of a batch that cannot be read, by their hold",
          ),
        model: z
          .string()
          .optional()
          .describe(
            "Model of the line's price, if the line is of a part of the call that another model ran: an advisor, an attempt that its model declined, an earlier model whose answer did not come; absent in lines of `modelKey`",
          ),
        provider: z.string().optional().describe('With `model`: the vendor of its price'),
        providerUsed: z.string().optional().describe('With `model`: the vendor that ran it'),
        snapshotId: z.string().optional().describe('With `model`: its recorded price'),
        pricingTier: z.string().optional().describe('With `model`: its `pricingTier`'),
        quantity: z.number().describe('Units: tokens, characters, uses, minutes, seconds or images'),
        usdPerMillion: z.number().describe('Rate per million units'),
        rateNanoUsdPerMillion: z.string().describe('The same rate, exact, in nano-USD'),
        costUSD: z.number().describe('Cost of the line at standard prices'),
        costUsdNano: z.string().describe('The same cost, exact, in nano-USD'),
      }),
    )
    .describe('Cost lines; they sum to the standard cost'),
  standardCostUSD: z.number().describe('Sum of the lines'),
  standardCostUsdNano: z.string().describe('The same sum, exact, in nano-USD'),
  assumptions: z.array(z.string()).describe('Rules that stand in for unpublished rates'),
});

export type CostBreakdown = z.infer<typeof CostBreakdown>;

const PricingUnavailableReason = z
  .string()
  .describe(
    'Why the call has no price: MODEL_NOT_REPORTED, MODEL_NOT_IN_CATALOG, PRICE_NOT_IN_CATALOG, USAGE_NOT_REPORTED, NOT_ALLOWED, TIMEOUT; `RATE_NOT_IN_CATALOG: ` and what has no rate (tokens of a component, or a condition); USAGE_IMPLAUSIBLE: the vendor reported a figure that no call has, and nothing bounds it',
  );

const Multiplier = z
  .union([z.literal(0.5), z.literal(1)])
  .describe("0.5 if batch pricing halves the standard cost, else 1: a vendor's own figure is not halved");

const VelocityWindow = z.object({
  bucket: z.string().describe('UTC bucket: `2026-11-20T18` or `2026-11-20`'),
  windowMinutes: z.union([z.literal(60), z.literal(1440)]).describe('Length of the bucket'),
  startedAt: instant.describe('Start, inclusive'),
  endedAt: instant.describe('End, exclusive'),
  completedCostUsd: z.number().describe('Cost of calls completed in the bucket'),
  completedCalls: z.number().int().describe('Calls completed in the bucket'),
});

export const SpendVelocity = z.object({
  currency: z.literal('USD').describe('Currency'),
  source: z.literal('usage_aggregate').describe('Hourly aggregates of the customer'),
  generatedAt: instant.describe('When it was computed'),
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  currentCallCostUsd: z.number().describe('Cost of this call'),
  windows: z.object({
    hour: VelocityWindow.describe('Current UTC hour'),
    day: VelocityWindow.describe('Current UTC day'),
  }),
});

/** The details of usage that a call had. */
const UsageDetails = UsageFields.omit({
  inputTokens: true,
  responseTokens: true,
  cachedInputTokens: true,
  cacheWriteInputTokens: true,
  reasoningTokens: true,
  searches: true,
  audio: true,
  audioSeconds: true,
}).extend({ serviceTier: servedTier.optional() });

const UsageReport = z.object({
  inputTokens: z.number().describe('All prompt tokens'),
  cachedInputTokens: z.number().describe('Cache reads'),
  cacheWriteInputTokens: z.number().describe('Cache writes'),
  billableInputTokens: z.number().describe('Prompt tokens less cache reads and writes'),
  responseTokens: z.number().describe('Completion tokens'),
  reasoningTokens: z.number().describe('Reasoning part of the completion tokens'),
  ...UsageDetails.shape,
});

/** For a call that has ended. */
export const UsageSource = z
  .enum(USAGE_SOURCES)
  .describe(
    "Source of the usage. `reported`: the vendor's or the application's own figures; `partial`: the vendor's figures, but its answer broke off, some of them make no sense, or a part of the call has none, completed by Callmeter's count or by the call's bound; `estimated`: only Callmeter's count. `partial` and `estimated` are provisional: a reported figure replaces them when it comes",
  );

export const OutputBasis = z
  .enum(OUTPUT_BASES)
  .describe(
    "What decided the output tokens of provisional usage. `text`: what came of the answer, by Callmeter's count or the vendor's; `time`: the seconds that the vendor worked, at the model's highest known rate; `held`: what was held for the output of a stream in steps; `bound`: the most that there can be. Absent if the usage is reported",
  );

const Metered = z.object({
  calls: z.number().optional().describe('Model calls taken from the allowance'),
  tokens: z.number().optional().describe('Output tokens'),
  reasoningTokens: z.number().optional().describe('Reasoning part of the output tokens'),
  searches: z.number().optional().describe('Searches'),
  audio: z.number().optional().describe('Audio units'),
  audioSeconds: z.number().optional().describe('Seconds of audio'),
});

const PricingFields = z.object({
  pricingMultiplier: Multiplier,
  batch: z.boolean().describe('True if batch pricing applied'),
  pricingMode: PricingMode,
  ...ReadFactFields.shape,
  changed: z
    .array(z.string())
    .optional()
    .describe(
      'Fields that Callmeter changed or added for the vendor, because credit paid or the plan limits searches: `service_tier=default`',
    ),
  unclear: z
    .array(z.string())
    .optional()
    .describe(
      "Figures that the vendor reported and that make no sense, such as `inputTokens`: they count at the call's bound, and the usage is `partial`",
    ),
  vendorReportedCostUSD: vendorReportedCostUSD.optional(),
});

export const ChargeBasis = z
  .enum(CHARGE_BASES)
  .describe(
    'Present if something that was used has no rate: the hold stands for it in the charge, until a correction gives it a price',
  );

export const EndCallData = EndFactFields.extend(PricingFields.shape).extend({
  callId: begunCallId,
  status: z.enum(['COMPLETED', 'FAILED']).describe('Outcome of the call'),
  error: z.object({ code: z.string(), message: z.string() }).optional().describe('Normalized error of a failed call'),
  ...ListedInEnd,
  costUSD: z.number().describe('Final cost after pricing mode; 0 while the price is UNAVAILABLE'),
  costUsdNano: z
    .string()
    .optional()
    .describe('The same cost, exact, in nano-USD; absent while the price is UNAVAILABLE'),
  costBreakdown: CostBreakdown.optional().describe('Explanation of the cost'),
  standardCostUSD: z.number().describe('Cost before batch reduction'),
  pricingStatus: z.enum(['FINAL', 'UNAVAILABLE']).describe('Whether the price is known'),
  pricingUnavailableReason: PricingUnavailableReason.optional(),
  usageSource: UsageSource,
  outputBasis: OutputBasis.optional(),
  usage: UsageReport,
  metered: Metered.describe('What the call counts as'),
  spendVelocity: SpendVelocity.optional().describe("The customer's recorded spend of this hour and day"),
  balances: Balances,
  payg: z
    .object({
      chargedUsd: z.number().describe("The customer's charge, with markup"),
      markupPercent: z.number().describe('Markup'),
      basis: ChargeBasis.optional(),
    })
    .optional()
    .describe('Present if credit pays for the call'),
  stripeCustomerId: z.string().optional().describe('Customer id at Stripe'),
});

export type EndCallData = z.infer<typeof EndCallData>;

export const ReadCallData = PricingFields.extend({
  callId: begunCallId,
  customerId: branded<CustomerId>(z.string()).nullable().describe('The customer'),
  customerUserId: z.string().nullable().describe('The end user, if recorded'),
  status: z.enum(['IN_PROGRESS', 'COMPLETED', 'FAILED', 'TIMEOUT', 'NOT_ALLOWED']).describe('State of the call'),
  pricingStatus: z.enum(['PENDING', 'FINAL', 'UNAVAILABLE']).describe('Costs are final only when FINAL'),
  pricingUnavailableReason: PricingUnavailableReason.optional(),
  currency: z.literal('USD').describe('Currency'),
  costUSD: z.number().nullable().describe('Final cost'),
  standardCostUSD: z.number().nullable().describe('Cost before batch reduction'),
  costUsdNano: z.string().nullable().describe('Final cost, exact, in nano-USD'),
  costBreakdown: CostBreakdown.nullable().describe('Explanation of the cost'),
  modelPricingSnapshotId: z.string().nullable().describe('The recorded price that was used'),
  pricingTier: z.string().nullable().describe('`base`, or the long-prompt tier'),
  pricingTierReason: z.string().nullable().describe('Why that tier'),
  usageSource: UsageSource.nullable().describe(
    'Source of the usage; `partial` and `estimated` are provisional. `null` if nothing was recorded yet',
  ),
  outputBasis: OutputBasis.optional(),
  ...ListedInAnswers,
  startTime: instant.nullable().describe('When the call began'),
  endTime: instant.nullable().describe('When it ended or timed out'),
  payg: z
    .object({
      usingCredit: z.boolean().describe('True if credit pays for the call'),
      chargedUsd: z.number().nullable().describe('Charge; if `reversedAt` is set, it was given back'),
      chargeNanoUsd: z.string().nullable().describe('The same charge, exact, in nano-USD'),
      markupPercent: z.number().nullable().describe('Markup'),
      basis: ChargeBasis.optional(),
      heldUsd: z.number().optional().describe('What was held for the call, if the charge is higher'),
      settlementStatus: z
        .enum(['PENDING', 'POSTED', 'FAILED'])
        .nullable()
        .describe('State of the settlement of the charge; a reversal does not change it'),
      settlementFailureReason: z.string().nullable().describe('Why the settlement failed'),
    })
    .describe('Pay-as-you-go'),
  chargeLines: z
    .array(
      z.object({
        kind: z
          .enum(CHARGE_LINES)
          .describe(
            "COST: the cost lines, at standard prices; BATCH: what batch pricing takes off; ALLOWANCE: the cost of parts that the allowance pays; HELD: the hold for what has no rate, in place of its cost; MARKUP: the plan's markup",
          ),
        amountNanoUsd: z.string().describe('What the line adds, or takes off below zero, exact, in nano-USD'),
      }),
    )
    .optional()
    .describe('Lines of the charge, which sum to it exactly. Absent if there is no charge, or it is not known'),
  denial: z
    .object({
      code: z.enum(DENIAL_CODES).describe('Why, as `call_begin` answered it'),
      requested: z.array(z.string()).describe('The requested tiers and capabilities'),
      capability: z.enum(CAPABILITIES).nullable().describe('The capability that was not allowed, if it is the reason'),
      meter: z.enum(METER_NAMES).nullable().describe('The meter that was used up'),
      limit: z.number().nullable().describe("The plan's limit of the meter; null without a meter"),
      used: z.number().nullable().describe('What ended and open calls had taken of the meter; null without a meter'),
      ...DenialSums.shape,
      usagePlanVersionId: z.string().describe('The plan version at that moment'),
    })
    .optional()
    .describe(
      'Why the call was denied, as it was at that moment; absent if it was not denied, or the reason was not recorded',
    ),
  reversedAt: instant.optional().describe('When the call was reversed, if it was: it no longer counts'),
  corrections: z
    .array(
      z.object({
        kind: z.enum(CORRECTION_KINDS).describe('What was done; REPRICED: it got the price that it lacked'),
        at: instant.describe('When'),
        reason: z.string().describe('Why'),
        by: z.string().describe("Actor: `api` for the organization's application, else the operator"),
        costUsdNano: z.string().nullable().describe('Cost before the correction, exact, in nano-USD; null if unknown'),
        chargeNanoUsd: z.string().nullable().describe('Charge before the correction, exact, in nano-USD'),
        differenceNanoUsd: z.string().describe('What the USD balance paid more, or got back below zero, exact'),
      }),
    )
    .optional()
    .describe('Corrections of the call, the oldest first; absent if there are none'),
});

export type ReadCallData = z.infer<typeof ReadCallData>;

/** The name of a line of a charge, for people. */
export function chargeLineText(kind: (typeof CHARGE_LINES)[number], markupPercent: number | null): string {
  switch (kind) {
    case 'COST':
      return 'Cost, sum of its lines';
    case 'BATCH':
      return 'Batch price';
    case 'ALLOWANCE':
      return "Parts that the plan's allowance pays";
    case 'HELD':
      return 'What was held for what has no rate, in place of its cost';
    case 'MARKUP':
      return `Markup, ${markupPercent ?? 0}%`;
  }
}
