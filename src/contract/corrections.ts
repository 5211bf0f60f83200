/**
 * Corrections on the wire: what was recorded by mistake is taken back, with a reason.
 */

import { z } from 'zod';
import type { CustomerId } from '../domain/ids.ts';
import { BodyIdempotency, CallReportFields, resolveUsageAliases, vendorReportedCostUSD } from './calls.ts';
import { MeterSlot } from './custom-meter.ts';
import { branded, callId, customerId, instant, text } from './fields.ts';

export const eventId = text(64).describe('The event');

export const CorrectionRequest = z.object({
  reason: text(200).describe('Why it is corrected; kept with the record'),
});

export type CorrectionRequest = z.infer<typeof CorrectionRequest>;

export const ReverseMeterEventRequest = CorrectionRequest.extend({
  customerId: customerId.optional().describe('The customer: with it, an event of the last seconds is found too'),
});

export type ReverseMeterEventRequest = z.infer<typeof ReverseMeterEventRequest>;

const CorrectionFields = z.object({
  reason: z.string().describe('Why'),
  by: z.string().describe("Who: `api` for the organization's application, else the operator"),
});

export const ReversedCall = CorrectionFields.extend({
  callId,
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  status: z
    .enum(['IN_PROGRESS', 'COMPLETED', 'FAILED', 'TIMEOUT', 'NOT_ALLOWED'])
    .describe('How the call had finished'),
  reversedAt: instant.describe('When'),
  costUsdNano: z.string().nullable().describe('The cost that counts no longer, exact, in nano-USD; null where unknown'),
  returned: z
    .record(z.string(), z.number())
    .describe('What the allowance of the present period gets back, by meter; of a period that is over it lapses'),
  refundUsd: z.number().describe('What the USD balance gets back'),
  refundNanoUsd: z.string().describe('The same, exact, in nano-USD'),
});

export type ReversedCall = z.infer<typeof ReversedCall>;

const { error, isPremium } = CallReportFields.shape;

/** What is not named stays as it was reported, so that parts and wholes are checked in what comes of both. */
export const AmendCallBody = CallReportFields.extend(BodyIdempotency.shape)
  .extend(CorrectionRequest.shape)
  .extend({
    error: error.nullable().describe('Makes the call FAILED; null: it did not fail'),
    isPremium: isPremium.nullable().describe('Overrides premium detection; null: nothing does'),
    vendorReportedCostUSD: vendorReportedCostUSD
      .nullish()
      .describe('What the vendor itself says that the call cost; null: it says nothing'),
  });

export const AmendCallRequest = z.preprocess(resolveUsageAliases, AmendCallBody);
export type AmendCallRequest = z.infer<typeof AmendCallBody>;

const quantities = z.record(z.string(), z.number());

export const AmendedCall = CorrectionFields.extend({
  callId,
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  status: z.enum(['COMPLETED', 'FAILED']).describe('How the call ended, as it is now'),
  amendedAt: instant.describe('When'),
  pricingStatus: z.enum(['FINAL', 'UNAVAILABLE']).describe('Whether the price is known now'),
  costUsdNano: z.string().nullable().describe('The cost now, exact, in nano-USD; null while it is unknown'),
  previousCostUsdNano: z.string().nullable().describe('The cost before; null where it was unknown'),
  returned: quantities.describe('What the allowance of the present period got back, by meter'),
  taken: quantities.describe('What the call takes of it now'),
  differenceUsd: z.number().describe('What the USD balance pays more, or gets back below zero'),
  differenceNanoUsd: z.string().describe('The same, exact, in nano-USD'),
});

export type AmendedCall = z.infer<typeof AmendedCall>;

const units = z.number().int();

export const ReversedMeterEvent = CorrectionFields.extend({
  eventId: z.string().describe('The event'),
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  meterSlot: MeterSlot.describe('The meter'),
  amount: units.describe('Units of the event, which count no longer'),
  reversedAt: instant.describe('When'),
  returned: z
    .object({
      included: units.describe('Included units of the period; of a period that is over they lapse'),
      credits: units.describe('Purchased units, which their credits got back'),
      overage: units.describe('Overage units'),
      unfunded: units.describe('Units that nothing had paid'),
    })
    .describe('What was given back, by what had paid; all zero on an unlimited meter'),
  refundUsd: z.number().describe('What the USD balance gets back'),
  refundNanoUsd: z.string().describe('The same, exact, in nano-USD'),
});

export type ReversedMeterEvent = z.infer<typeof ReversedMeterEvent>;

const DAYS_MAX = 400;
const DAY_MS = 86_400_000;

export const RepriceRequest = z
  .strictObject({
    modelKey: text(330).optional().describe('Only calls of this model, in any spelling; absent: of all'),
    from: instant.describe('Calls that ended from then on'),
    to: instant.describe('Calls that ended before'),
    dryRun: z.boolean().default(false).describe('Only says what would change'),
  })
  .superRefine(({ from, to }, context) => {
    const days = (Date.parse(to) - Date.parse(from)) / DAY_MS;
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: ['to'], message });
    if (days <= 0) refuse('must be after from');
    if (days > DAYS_MAX) refuse(`must be at most ${DAYS_MAX} days after from`);
  });

export type RepriceRequest = z.infer<typeof RepriceRequest>;

export const StartedRepricing = z.object({ jobId: z.string().describe('The job that prices the calls') });

export const Repricing = z.object({
  jobId: z.string().describe('The job'),
  modelKey: z.string().nullable().describe('The model; null: all'),
  from: instant.describe('Calls that ended from then on'),
  to: instant.describe('Calls that ended before'),
  dryRun: z.boolean().describe('Nothing is changed'),
  status: z.enum(['RUNNING', 'COMPLETED']).describe('COMPLETED when every call was looked at'),
  done: z.number().int().describe('Calls without a price that were looked at'),
  total: z.number().int().describe('Calls without a price at the start'),
  repriced: z.number().int().describe('Calls that have a price now, or would have'),
  differenceUSD: z.number().describe('How much more they cost than what was known of them'),
  differenceNanoUsd: z.string().describe('The same, exact, in nano-USD'),
  failures: z.number().int().describe('Attempts that failed; each is made again'),
  lastError: z.string().nullable().describe('Why the last attempt failed'),
  startedAt: instant.describe('When it began'),
  finishedAt: instant.nullable().describe('When it was done'),
});

export type Repricing = z.infer<typeof Repricing>;
