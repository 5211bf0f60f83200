/**
 * The events that an organization is told of: their types, their data, and their list. What operators did is the event
 * log, in `operator.ts`.
 */
import { z } from 'zod';
import type { CustomerEventData, CustomerEventType } from '../domain/customer-events.ts';
import { DENIAL_CODES } from '../domain/denial.ts';
import { METER_NAMES } from '../domain/meters.ts';
import { customerId, instant, ListQuery } from './fields.ts';
import { ENDS_AFTER_START, endsAfterStart } from './samples.ts';

/** Days for which events are kept. */
export const EVENT_RETENTION_DAYS = 90;

/** Why the service switches a webhook off. */
export const DISABLED_REASONS = ['GONE', 'FAILING'] as const;

export type DisabledReason = (typeof DISABLED_REASONS)[number];

const ofCustomer = { customerId: z.string().describe('The customer') };
const periodEndsAt = instant.nullable().describe('When the usage period ends; null where it never does');
const ofPlan = {
  planId: z.string().describe('The plan'),
  usagePlanVersionId: z.string().describe('The version of the plan'),
};
const ofMeter = {
  ...ofCustomer,
  meter: z.enum(METER_NAMES).describe('The meter'),
  used: z.number().describe('What ended calls and increments consumed in the period, without what open calls reserve'),
  periodEndsAt,
};
const balanceUsd = z.string().describe('The USD balance less the charges that are still to leave it, exact');

/** What happens to customers, as their objects find it. */
const CUSTOMER_DATA = {
  'customer.created': z.object({ ...ofCustomer, ...ofPlan }),
  'customer.plan_changed': z.object({
    ...ofCustomer,
    ...ofPlan,
    previousPlanId: z.string().describe('The plan before'),
    previousUsagePlanVersionId: z.string().describe('The version of the plan before'),
  }),
  'customer.replenished': z.object({
    ...ofCustomer,
    planId: ofPlan.planId,
    periodStartedAt: instant.describe('When the new usage period began'),
    periodEndsAt,
  }),
  'meter.threshold_reached': z.object({
    ...ofMeter,
    threshold: z.number().int().describe('The highest threshold that was reached, in percent of the limit'),
    crossed: z.array(z.number().int()).describe('All thresholds that were reached at once, ascending'),
    limit: z.number().describe('The limit of the meter in the period'),
  }),
  'meter.recovered': z.object({
    ...ofMeter,
    threshold: z.number().int().describe('The highest threshold that had been reached, and no longer is'),
    limit: z.number().nullable().describe('The limit of the meter now; null where the plan no longer has one'),
  }),
  'balance.low': z.object({
    ...ofCustomer,
    balanceUsd,
    belowUsd: z.string().describe('The amount of the plan, or of the organization, below which it is low'),
  }),
  'balance.exhausted': z.object({ ...ofCustomer, balanceUsd }),
  'call.denied': z.object({
    ...ofCustomer,
    callId: z.string().describe('The call that was denied'),
    code: z.enum(DENIAL_CODES).describe('Why'),
    meter: z.enum(METER_NAMES).nullable().describe('The meter of which nothing is left; null for other reasons'),
    feature: z.string().nullable().describe('The feature of the call'),
    periodEndsAt,
  }),
  'charge.failed': z.object({
    ...ofCustomer,
    chargeId: z.string().describe('The charge'),
    subject: z.enum(['call', 'meter_event']).describe('What it charges for'),
    subjectId: z.string().describe('The id of the call or of the meter event'),
    amountUsd: z.string().describe('The charge, exact; below zero where it gives back'),
    reason: z.string().describe('Why the billing provider does not have it'),
  }),
} satisfies { [Type in CustomerEventType]: z.ZodType<{ customerId: string } & CustomerEventData[Type]> };

const DATA = {
  ...CUSTOMER_DATA,
  'webhook.disabled': z.object({
    webhookId: z.string().describe('The webhook'),
    reason: z
      .enum(DISABLED_REASONS)
      .describe('GONE: its endpoint answered 410; FAILING: every request to it failed for five days'),
  }),
};

export type EventType = keyof typeof DATA;

export const EVENT_TYPES = Object.keys(DATA) as [EventType, ...EventType[]];

/** What each type tells. */
export const EVENT_MEANINGS: Record<EventType, string> = {
  'customer.created': 'A customer was created',
  'customer.plan_changed': 'The subscription moved to another plan, or to another version of its plan',
  'customer.replenished': 'A new usage period began: it was due, or asked for',
  'meter.threshold_reached': 'The usage of a limited meter reached thresholds',
  'meter.recovered': 'The usage of a meter is below a threshold that it had reached',
  'balance.low': 'The USD balance fell below the amount of the plan, or of the organization',
  'balance.exhausted': 'The USD balance is used up',
  'call.denied': 'A call was denied: the first of the customer for this reason in the usage period',
  'charge.failed': 'The billing provider refused a charge for good',
  'webhook.disabled': 'The service switched a webhook off',
};

const item = <Type extends EventType, Data extends z.ZodObject>(type: Type, data: Data) =>
  z.object({
    eventId: z.string().describe('Event id: it sorts by time, and stays the same however often the event is sent'),
    type: z.literal(type).describe(EVENT_MEANINGS[type]),
    timestamp: instant.describe('When it happened'),
    data: data.describe('What happened'),
  });

export const OrganizationEvent = z.discriminatedUnion('type', [
  item('customer.created', DATA['customer.created']),
  item('customer.plan_changed', DATA['customer.plan_changed']),
  item('customer.replenished', DATA['customer.replenished']),
  item('meter.threshold_reached', DATA['meter.threshold_reached']),
  item('meter.recovered', DATA['meter.recovered']),
  item('balance.low', DATA['balance.low']),
  item('balance.exhausted', DATA['balance.exhausted']),
  item('call.denied', DATA['call.denied']),
  item('charge.failed', DATA['charge.failed']),
  item('webhook.disabled', DATA['webhook.disabled']),
]);

export type OrganizationEvent = z.infer<typeof OrganizationEvent>;

export const EventsQuery = ListQuery.extend({
  type: z.enum(EVENT_TYPES).optional().describe('Only of this type'),
  customerId: customerId.optional().describe('Only of this customer'),
  from: instant.optional().describe('At this instant or later'),
  to: instant.optional().describe('Before this instant'),
}).refine(endsAfterStart, ENDS_AFTER_START);

export type EventsQuery = z.infer<typeof EventsQuery>;
