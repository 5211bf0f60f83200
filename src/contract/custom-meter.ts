/**
 * Custom meters on the wire: increments (contract 4.10).
 */
import { z } from 'zod';
import { BodyIdempotency, CustomerIdentity } from './calls.ts';
import { TAGS_MAX, TEXT_LENGTH_MAX, text } from './fields.ts';
import { resolveIdentity } from './identity.ts';

const label = text(TEXT_LENGTH_MAX);

export const MeterSlot = z.enum(['CUSTOM1', 'CUSTOM2', 'AGENTIC_API']);

/** The bounds on `metadata`: members, and characters as JSON. */
const METADATA_MEMBERS_MAX = 50;
export const METADATA_LENGTH_MAX = 8_192;

export const IncrementMeterBody = CustomerIdentity.extend(BodyIdempotency.shape).extend({
  meterSlot: MeterSlot.describe('The meter; an AGENTIC_API unit is one HTTP API request or tool call'),
  amount: z.number().int().positive().max(Number.MAX_SAFE_INTEGER).describe('Units: a positive safe integer'),
  feature: label.optional().describe('Feature of the application that was used'),
  tags: z.array(label).max(TAGS_MAX).optional().describe('Labels for readings'),
  metadata: z
    .record(z.string(), z.unknown())
    .refine(
      (value) => Object.keys(value).length <= METADATA_MEMBERS_MAX,
      `must have at most ${METADATA_MEMBERS_MAX} members`,
    )
    .refine(
      (value) => JSON.stringify(value).length <= METADATA_LENGTH_MAX,
      `must have at most ${METADATA_LENGTH_MAX} characters as JSON`,
    )
    .optional()
    .describe('Kept with the event'),
});

export const IncrementMeterRequest = z.preprocess(resolveIdentity, IncrementMeterBody);
export type IncrementMeterRequest = z.infer<typeof IncrementMeterBody>;

const OverageComponent = z.object({
  tierIndex: z.number().int().describe('Tier of the price, from 0'),
  upTo: z.string().nullable().describe('Last overage unit of the tier in a period; null on the last tier'),
  unitsExact: z.string().describe('Overage units of this event in the tier, exact'),
  priceNanoUsd: z.string().describe('Rate: nano-USD of `priceQuantity` units'),
  priceQuantity: z.string().describe('Units that the rate is for'),
});

export const CustomMeterData = z.object({
  success: z.literal(true).describe('The event is recorded'),
  eventId: z.string().describe('The event'),
  meterSlot: MeterSlot.describe('The meter'),
  amount: z.number().int().describe('Units of the event'),
  blocked: z.boolean().describe('Nothing paid for a part of the units; the application enforces it'),
  meter: z.object({
    remaining: z.number().describe('Included units left; informational when unlimited'),
    limit: z.number().nullable().describe('Included units of the period; null when unlimited'),
    used: z.number().describe('Included units taken in the period; 0 when unlimited'),
    unlimited: z.boolean().describe('Authoritative: no bound'),
    ratio: z.number().min(0).max(1).nullable().describe('remaining / limit; null when unlimited or the limit is 0'),
    label: z.string().describe("The plan's name of the unit"),
    periodUsageBefore: z.string().describe('Units of the period before this event, paid or not, exact'),
    periodUsageAfter: z.string().describe('Units of the period with this event, exact'),
    overagePricingModel: z
      .enum(['SINGLE', 'GRADUATED'])
      .describe('How overage is priced; SINGLE if the plan has no price'),
    overagePricingComponents: z.array(OverageComponent).describe('What this event added to the overage, by tier'),
  }),
});

export type CustomMeterData = z.infer<typeof CustomMeterData>;
