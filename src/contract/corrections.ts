/**
 * Corrections on the wire: a record that was made by mistake is taken back, with a reason.
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
  customerId: customerId.optional().describe('The customer; needed to find an event of the last seconds'),
});

export type ReverseMeterEventRequest = z.infer<typeof ReverseMeterEventRequest>;

const CorrectionFields = z.object({
  reason: z.string().describe('Why'),
  by: z.string().describe("Actor: `api` for the organization's application, else the operator"),
});

export const ReversedCall = CorrectionFields.extend({
  callId,
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  status: z
    .enum(['IN_PROGRESS', 'COMPLETED', 'FAILED', 'TIMEOUT', 'NOT_ALLOWED'])
    .describe('Status of the finished call'),
  reversedAt: instant.describe('When'),
  costUsdNano: z.string().nullable().describe('The cost that no longer counts, exact, in nano-USD; null if unknown'),
  returned: z
    .record(z.string(), z.number())
    .describe('What the allowance gets back, by meter; it lapses if its period is over'),
  refundUsd: z.number().describe('What the USD balance gets back'),
  refundNanoUsd: z.string().describe('The same, exact, in nano-USD'),
});

export type ReversedCall = z.infer<typeof ReversedCall>;

const { error, isPremium } = CallReportFields.shape;

/** Fields that are not named keep their report, so parts and wholes are checked after both are combined. */
export const AmendCallBody = CallReportFields.extend(BodyIdempotency.shape)
  .extend(CorrectionRequest.shape)
  .extend({
    error: error.nullable().describe('Error that makes the call FAILED; null: it did not fail'),
    isPremium: isPremium.nullable().describe('Overrides premium detection; null: no override'),
    vendorReportedCostUSD: vendorReportedCostUSD
      .nullish()
      .describe("The vendor's own figure of the call's cost; null: it reports none"),
  });

export const AmendCallRequest = z.preprocess(resolveUsageAliases, AmendCallBody);
export type AmendCallRequest = z.infer<typeof AmendCallBody>;

const quantities = z.record(z.string(), z.number());

export const AmendedCall = CorrectionFields.extend({
  callId,
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  status: z.enum(['COMPLETED', 'FAILED']).describe('Outcome of the call, after corrections'),
  amendedAt: instant.describe('When'),
  pricingStatus: z.enum(['FINAL', 'UNAVAILABLE']).describe('Whether the price is known now'),
  costUsdNano: z.string().nullable().describe('The cost now, exact, in nano-USD; null while it is unknown'),
  previousCostUsdNano: z.string().nullable().describe('The cost before; null if it was unknown'),
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
  amount: units.describe('Units of the event, which no longer count'),
  reversedAt: instant.describe('When'),
  returned: z
    .object({
      included: units.describe('Included units of the period; they lapse if the period is over'),
      credits: units.describe('Purchased units, returned to their credits'),
      overage: units.describe('Overage units'),
      unfunded: units.describe('Units that nothing paid for'),
    })
    .describe('What was given back, to each source that had paid; all zero on an unlimited meter'),
  refundUsd: z.number().describe('What the USD balance gets back'),
  refundNanoUsd: z.string().describe('The same, exact, in nano-USD'),
});

export type ReversedMeterEvent = z.infer<typeof ReversedMeterEvent>;

const DAYS_MAX = 400;
const DAY_MS = 86_400_000;

export const RepriceRequest = z
  .strictObject({
    modelKey: text(330).optional().describe('Only calls of this model, in any spelling; absent: all calls'),
    from: instant.describe('Start of the period: calls that ended at this instant or later'),
    to: instant.describe('End of the period, exclusive: calls that ended before it'),
    dryRun: z.boolean().default(false).describe('True to say only what would change'),
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
  from: instant.describe('Start of the period: calls that ended at this instant or later'),
  to: instant.describe('End of the period, exclusive: calls that ended before it'),
  dryRun: z.boolean().describe('True if nothing is changed'),
  status: z.enum(['RUNNING', 'COMPLETED']).describe('COMPLETED when every call was read'),
  done: z.number().int().describe('Calls without a price that were read'),
  total: z.number().int().describe('Calls without a price at the start'),
  repriced: z.number().int().describe('Calls that have a price now, or would have'),
  differenceUSD: z.number().describe('Cost that the repricing added'),
  differenceNanoUsd: z.string().describe('The same, exact, in nano-USD'),
  failures: z.number().int().describe('Attempts that failed; each is made again'),
  lastError: z.string().nullable().describe('Why the last attempt failed'),
  startedAt: instant.describe('When it began'),
  finishedAt: instant.nullable().describe('When it was done'),
});

export type Repricing = z.infer<typeof Repricing>;
