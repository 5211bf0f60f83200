/**
 * The events that an organization is told of: their types, their data, and their list. What operators did is the event
 * log, in `operator.ts`. The events of a customer's object are found by `domain/customer-events.ts`, the others by the
 * organization's watch.
 */
import { z } from 'zod';
import type { CustomerEventData, CustomerEventType } from '../domain/customer-events.ts';
import { DENIAL_CODES } from '../domain/denial.ts';
import { METER_NAMES } from '../domain/meters.ts';
import { customerId, instant, ListQuery } from './fields.ts';
import { LIFECYCLE_STATUSES } from './model-lookup.ts';
import { Anomaly } from './readings.ts';
import { ENDS_AFTER_START, endsAfterStart } from './samples.ts';

/** Days for which events are kept. */
export const EVENT_RETENTION_DAYS = 90;

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

const modelKey = z.string().describe('`provider/model`, as the catalog names it');
const ofModel = {
  modelKey,
  status: z.enum(LIFECYCLE_STATUSES).describe('Computed from the dates, for the day of the event in UTC'),
  replacement: z
    .object({
      modelKey: z.string().nullable().describe('What the model lookup recommends instead; null for nothing'),
      source: z.enum(['provider', 'admin_review', 'computed', 'none']).describe('Where the recommendation comes from'),
    })
    .describe('The recommended replacement'),
  calls: z.number().int().describe('Calls of it in the last 30 days'),
  costUsd: z.string().describe('Their recorded provider cost, exact'),
  mappings: z.array(z.string()).describe('Model mappings that name it, for example `service/standard`'),
};
const shutdownAt = z.string().describe('Day of the shutdown in UTC');
const daysLeft = z.number().int().describe('Days until the shutdown; 0 on its day, below 0 after it');
const price = z.record(z.string(), z.unknown()).nullable();
const ofKey = {
  keyId: z.string().describe('The key'),
  name: z.string().describe('What it is for'),
  prefix: z.string().describe('What the key begins with, for example `utk-`; nothing else of it is told'),
};
const ofCatalog = (of: string) =>
  z.number().int().nullable().describe(`${of}; null where the release before is no longer kept`);

/** Steps of days before a model ends: one event for each. */
export const ENDING_STEPS_DAYS = [90, 30, 7, 1] as const;

/** Events of customers, which their objects find, but for a balance that is low by its forecast. */
const OF_CUSTOMERS = {
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
    belowUsd: z
      .string()
      .optional()
      .describe('The amount of the plan, or of the organization, below which it is; absent where days are the reason'),
    daysLeft: z
      .number()
      .optional()
      .describe('Days that it lasts at the forecast spend; absent where an amount is the reason'),
    belowDays: z
      .number()
      .int()
      .optional()
      .describe(
        'The days of the plan, or of the organization, below which it is; absent where an amount is the reason',
      ),
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
  'call.unpriced': z.object({
    ...ofCustomer,
    callId: z.string().describe('The call whose cost is not known'),
    modelUsed: z.string().describe('The model that its end reported'),
    providerUsed: z.string().nullable().describe('The provider that its end reported'),
    reason: z.string().describe('Why it has no price, as `pricingUnavailableReason` of the call says'),
    feature: z.string().nullable().describe('The feature of the call'),
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

/** Events that no single customer's transaction finds. */
const OF_WATCH = {
  'forecast.will_run_out': z.object({
    ...ofMeter,
    limit: z.number().describe('The limit of the meter in the period'),
    expectedAt: instant.describe('When nothing of it is left, at the forecast pace'),
    earliestAt: instant.describe('The same where usage is as high as in one of ten forecasts'),
    latestAt: instant
      .nullable()
      .describe('The same where usage is as low as in one of ten forecasts; null where the meter lasts then'),
    periodEndsAt: instant.describe('When the usage period ends'),
    quality: z.enum(['HIGH', 'MEDIUM']).describe('Of the forecast; one of less quality tells nothing'),
  }),
  'model.deprecated': z.object({
    ...ofModel,
    shutdownAt: shutdownAt.nullable().describe('Day of the shutdown in UTC; null where none is announced'),
    daysLeft: daysLeft.nullable().describe('Days until the shutdown; null where none is announced'),
  }),
  'model.ending': z.object({
    ...ofModel,
    shutdownAt,
    daysLeft,
    step: z
      .union(ENDING_STEPS_DAYS.map((days) => z.literal(days)))
      .describe('The step of days that it is within: 90, 30, 7 or 1'),
  }),
  'price.changed': z.object({
    modelKey: z.string().describe('The model'),
    source: z
      .enum(['catalog', 'organization'])
      .describe('Whether a catalog release changed it, or an operator a price of the organization'),
    effectiveFrom: instant
      .nullable()
      .describe("From when an organization's own price is in force; null where it always was, and of the catalog"),
    before: price.describe(
      'The price before, as the catalog has it or as an own price was set; null where there was none',
    ),
    after: price.describe('The price now; null where there is none any more'),
  }),
  'catalog.published': z.object({
    version: z.string().describe('The catalog release that is in use now'),
    previousVersion: z.string().describe('The one that was in use before'),
    publishedAt: instant.describe('When it was published'),
    added: ofCatalog('Models that are new in it'),
    removed: ofCatalog('Models that it no longer has'),
    repriced: ofCatalog('Models with another price'),
    lifecycle: ofCatalog('Models with another status, date or replacement'),
  }),
  'key.created': z.object({
    ...ofKey,
    scopes: z.array(z.string()).nullable().describe('What it may do; null for what a legacy prefix always could'),
  }),
  'key.revoked': z.object(ofKey),
  'projection.lagging': z.object({
    waitingSince: instant.describe('When the oldest change was made that is not in lists and reports yet'),
    changes: z.number().int().describe('Changes that wait'),
  }),
  'anomaly.detected': Anomaly,
};

const DATA = { ...OF_CUSTOMERS, ...OF_WATCH };

export type EventType = keyof typeof DATA;

/** An event of the organization's watch, or a balance that is low by its forecast, with its data. */
export type WatchEvent = {
  [Type in keyof typeof OF_WATCH | 'balance.low']: { type: Type; data: z.infer<(typeof DATA)[Type]> };
}[keyof typeof OF_WATCH | 'balance.low'];

export const EVENT_TYPES = Object.keys(DATA) as [EventType, ...EventType[]];

/** What each type tells, for the reference. */
const MEANING: Record<EventType, string> = {
  'customer.created': 'A customer was created',
  'customer.plan_changed': 'The subscription moved to another plan, or to another version of its plan',
  'customer.replenished': 'A new usage period began: it was due, or asked for',
  'meter.threshold_reached': 'The usage of a limited meter reached thresholds',
  'meter.recovered': 'The usage of a meter is below a threshold that it had reached',
  'balance.low':
    'The USD balance fell below the amount, or the days of forecast spend, of the plan or the organization',
  'balance.exhausted': 'The USD balance is used up',
  'call.denied': 'A call was denied: the first of the customer for this reason in the usage period',
  'call.unpriced': 'A call has no known cost: the first of its model and UTC day',
  'charge.failed': 'The billing provider refused a charge for good',
  'forecast.will_run_out': 'A limited meter is forecast to run out before the usage period ends',
  'model.deprecated': 'A model in use is deprecated, or retired',
  'model.ending': 'A model in use ends within 90, 30, 7 or 1 days',
  'price.changed': 'The price of a model in use changed, or an own price was set or removed',
  'catalog.published': 'Another catalog release is in use',
  'key.created': 'An API key was created',
  'key.revoked': 'An API key was revoked',
  'projection.lagging': 'Changes wait for minutes to reach lists and reports',
  'anomaly.detected': 'Usage is not as usual: an episode began',
};

const item = <Type extends EventType, Data extends z.ZodObject>(type: Type, data: Data) =>
  z.object({
    eventId: z.string().describe('Event id: it sorts by time, and stays the same however often the event is sent'),
    type: z.literal(type).describe(MEANING[type]),
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
  item('call.unpriced', DATA['call.unpriced']),
  item('charge.failed', DATA['charge.failed']),
  item('forecast.will_run_out', DATA['forecast.will_run_out']),
  item('model.deprecated', DATA['model.deprecated']),
  item('model.ending', DATA['model.ending']),
  item('price.changed', DATA['price.changed']),
  item('catalog.published', DATA['catalog.published']),
  item('key.created', DATA['key.created']),
  item('key.revoked', DATA['key.revoked']),
  item('projection.lagging', DATA['projection.lagging']),
  item('anomaly.detected', DATA['anomaly.detected']),
]);

export type OrganizationEvent = z.infer<typeof OrganizationEvent>;

export const EventsQuery = ListQuery.extend({
  type: z.enum(EVENT_TYPES).optional().describe('Only of this type'),
  customerId: customerId.optional().describe('Only of this customer'),
  from: instant.optional().describe('At this instant or later'),
  to: instant.optional().describe('Before this instant'),
}).refine(endsAfterStart, ENDS_AFTER_START);

export type EventsQuery = z.infer<typeof EventsQuery>;
