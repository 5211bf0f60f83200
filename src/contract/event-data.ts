/**
 * The types of events that an organization is told of: what each means, and its data. A new type is an entry here, a
 * sentence in `events/sentences.ts`, and the code that finds it.
 */

import { z } from 'zod';
import { DENIAL_CODES } from '../domain/denial.ts';
import type { CallId, CustomerId, KeyId } from '../domain/ids.ts';
import { METER_NAMES } from '../domain/meters.ts';
import { SWITCH_SOURCES } from '../domain/model-mappings.ts';
import { AlsoBlocking } from './denial.ts';
import { branded, instant } from './fields.ts';
import { LIFECYCLE_STATUSES } from './model-lookup.ts';
import { Anomaly } from './readings.ts';

const ofCustomer = { customerId: branded<CustomerId>(z.string()).describe('The customer') };
const periodEndsAt = instant.nullable().describe('When the usage period ends; null if it never does');
const ofPlan = {
  planId: z.string().describe('The plan'),
  usagePlanVersionId: z.string().describe('The version of the plan'),
};
const ofMeter = {
  ...ofCustomer,
  meter: z.enum(METER_NAMES).describe('The meter'),
  meterLabel: z.string().optional().describe("The plan's label of a custom meter; absent for other meters"),
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
      source: z.enum(['provider', 'admin_review', 'computed', 'none']).describe('Source of the recommendation'),
    })
    .describe('The recommended replacement'),
  calls: z.number().int().describe('Its calls in the last 30 days'),
  costUsd: z.string().describe('Their recorded cost at vendors, exact'),
  mappings: z.array(z.string()).describe('Model mappings that name it, for example `service/standard`'),
};
const shutdownAt = z.string().describe('Day of the shutdown in UTC');
const daysLeft = z.number().int().describe('Days until the shutdown; 0 on its day, below 0 after it');
const price = z.record(z.string(), z.unknown()).nullable();
const ofKey = {
  keyId: branded<KeyId>(z.string()).describe('The key'),
  name: z.string().describe('Name of the key'),
  prefix: z.string().describe('Prefix of the key, for example `utk-`'),
};
const ofCatalog = (of: string) =>
  z.number().int().nullable().describe(`${of}; null if the previous release is no longer kept`);

/** The days before a model ends at which an event is sent: one for each. */
export const ENDING_STEPS_DAYS = [90, 30, 7, 1] as const;

/** Events of customers, which their objects find, except a balance that is low by its forecast. */
const OF_CUSTOMERS = {
  'customer.created': { meaning: 'A customer was created', data: z.object({ ...ofCustomer, ...ofPlan }) },
  'customer.plan_changed': {
    meaning: 'The subscription moved to another plan, or to another version of its plan',
    data: z.object({
      ...ofCustomer,
      ...ofPlan,
      previousPlanId: z.string().describe('The plan before'),
      previousUsagePlanVersionId: z.string().describe('The version of the plan before'),
    }),
  },
  'customer.replenished': {
    meaning: 'A new usage period began, on its date or by hand',
    data: z.object({
      ...ofCustomer,
      planId: ofPlan.planId,
      periodStartedAt: instant.describe('When the new usage period began'),
      periodEndsAt,
    }),
  },
  'meter.threshold_reached': {
    meaning: 'The usage of a limited meter reached thresholds',
    data: z.object({
      ...ofMeter,
      threshold: z.number().int().describe('The highest threshold that was reached, in percent of the limit'),
      crossed: z.array(z.number().int()).describe('All thresholds that were reached at once, ascending'),
      limit: z.number().describe('The limit of the meter in the period'),
    }),
  },
  'meter.recovered': {
    meaning: 'The usage of a meter is below a threshold that it had reached',
    data: z.object({
      ...ofMeter,
      threshold: z.number().int().describe('The highest threshold that is no longer reached'),
      limit: z.number().nullable().describe('The limit of the meter now; null if the plan no longer has one'),
    }),
  },
  'balance.low': {
    meaning: 'The USD balance fell below the amount, or the days of forecast spend, of the plan or the organization',
    data: z.object({
      ...ofCustomer,
      balanceUsd,
      belowUsd: z
        .string()
        .optional()
        .describe(
          'The amount of the plan or of the organization that the balance is below; absent if days are the reason',
        ),
      daysLeft: z
        .number()
        .optional()
        .describe('Days that it lasts at the forecast spend; absent if an amount is the reason'),
      belowDays: z
        .number()
        .int()
        .optional()
        .describe(
          'The days of the plan or of the organization that the balance does not last; absent if an amount is the reason',
        ),
    }),
  },
  'balance.exhausted': { meaning: 'The USD balance is used up', data: z.object({ ...ofCustomer, balanceUsd }) },
  'balance.overdrawn': {
    meaning: 'The USD balance fell below zero: a call or an increment cost more than it held',
    data: z.object({ ...ofCustomer, balanceUsd }),
  },
  'call.denied': {
    meaning: 'A call was denied: the first of the customer for this reason in the usage period',
    data: z.object({
      ...ofCustomer,
      callId: branded<CallId>(z.string()).describe('The call that was denied'),
      code: z.enum(DENIAL_CODES).describe('Why'),
      meter: z.enum(METER_NAMES).nullable().describe('The meter that is used up; null for other reasons'),
      also: AlsoBlocking,
      feature: z.string().nullable().describe('The feature of the call'),
      periodEndsAt,
    }),
  },
  'call.unpriced': {
    meaning: 'A call has no known cost: the first of its customer, model, reason and UTC day',
    data: z.object({
      ...ofCustomer,
      callId: branded<CallId>(z.string()).describe('The call whose cost is not known'),
      modelUsed: z.string().describe('The model that its end reported'),
      providerUsed: z.string().nullable().describe('The provider that its end reported'),
      reason: z.string().describe('Why it has no price, as `pricingUnavailableReason` of the call says'),
      atStakeUsd: z
        .string()
        .optional()
        .describe(
          'What the call held of the USD balance when it ended, exact; 0 if an allowance pays; absent in older events',
        ),
      feature: z.string().nullable().describe('The feature of the call'),
    }),
  },
  'customer.storage_high': {
    meaning: 'What Callmeter keeps of the customer for retries and for what is under way reached a share of its limit',
    data: z.object({
      ...ofCustomer,
      percent: z.number().int().describe('The share that was reached, in percent: 50 or 80'),
      storedBytes: z.number().int().describe('What is stored'),
      limitBytes: z.number().int().describe('What can be stored'),
    }),
  },
  'charge.failed': {
    meaning: 'The billing provider refused a charge, or did not say whether it has it',
    data: z.object({
      ...ofCustomer,
      chargeId: z.string().describe('The charge'),
      subject: z.enum(['call', 'meter_event']).describe('What it charges for'),
      subjectId: z.string().describe('The id of the call or of the meter event'),
      amountUsd: z.string().describe("Amount of the billing provider's event, exact; below zero if it gives back"),
      reason: z.string().describe('Why the billing provider does not have it'),
    }),
  },
};

/** Why the autopilot of a mapping keeps a model that ends. */
const SWITCH_REASONS = [
  'NO_REPLACEMENT',
  'REPLACEMENT_ENDS',
  'NOT_UNCONDITIONAL',
  'OTHER_KIND',
  'PREVIEW',
  'LIMITED',
  'CAPABILITY',
  'PRICE',
  'PRICE_UNKNOWN',
  'NO_CREDENTIALS',
  'OTHER_CHANNEL',
] as const;

const SwitchReason = z.object({
  code: z.enum(SWITCH_REASONS).describe('Code of the reason'),
  message: z.string().describe('The same, with names and figures'),
});

const ofSwitch = {
  mapping: z.string().describe('`standard`, `premium` or the name of an alias'),
  source: z.enum(SWITCH_SOURCES).describe("The provider's word, or a review"),
  shutdownAt: z.string().describe('Day of the shutdown in UTC'),
};

const Switched = z.object({
  ...ofSwitch,
  from: z.string().describe('The model before, as the mapping named it'),
  to: z.string().describe('The new model'),
  priceChangePercent: z
    .number()
    .describe('How much more the same traffic costs at the prices of the day; below 0: less'),
  priceBasis: z
    .enum(['last_30_days', 'typical_call'])
    .describe('The traffic that was compared: the calls of the last 30 days, or a typical call of the lookup'),
  reason: z.string().describe('Why this model'),
  warnings: z.array(z.string()).describe('What to know of the replacement'),
});

const SwitchRefused = z.object({
  ...ofSwitch,
  model: z.string().describe('The model, as the mapping names it'),
  replacement: z.string().nullable().describe('Its replacement; null if there is none'),
  reasons: z.array(SwitchReason).describe('Every reason'),
});

export type SwitchReason = z.infer<typeof SwitchReason>;
export type SwitchedData = z.infer<typeof Switched>;
export type SwitchRefusedData = z.infer<typeof SwitchRefused>;

/** Why the service disables a webhook. */
export const DISABLED_REASONS = ['GONE', 'FAILING'] as const;

export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** Events that no single customer's transaction finds. */
const OF_WATCH = {
  'forecast.will_run_out': {
    meaning: 'A limited meter is forecast to run out before the usage period ends',
    data: z.object({
      ...ofMeter,
      limit: z.number().describe('The limit of the meter in the period'),
      expectedAt: instant.describe('When it is used up at the forecast pace'),
      earliestAt: instant.describe('The same, if usage is as high as in one of ten forecasts'),
      latestAt: instant
        .nullable()
        .describe('The same, if usage is as low as in one of ten forecasts; null if the meter lasts then'),
      periodEndsAt: instant.describe('When the usage period ends'),
      quality: z
        .enum(['HIGH', 'MEDIUM'])
        .describe('Quality of the forecast; a forecast of lower quality causes no event'),
    }),
  },
  'model.deprecated': {
    meaning: 'A model in use is deprecated, or retired',
    data: z.object({
      ...ofModel,
      shutdownAt: shutdownAt.nullable().describe('Day of the shutdown in UTC; null if none is announced'),
      daysLeft: daysLeft.nullable().describe('Days until the shutdown; null if none is announced'),
    }),
  },
  'model.ending': {
    meaning: 'A model in use ends within 90, 30, 7 or 1 days',
    data: z.object({
      ...ofModel,
      shutdownAt,
      daysLeft,
      step: z
        .union(ENDING_STEPS_DAYS.map((days) => z.literal(days)))
        .describe('The step of days that it is within: 90, 30, 7 or 1'),
    }),
  },
  'price.changed': {
    meaning: 'The price of a model in use changed, or an own price was set or removed',
    data: z.object({
      modelKey: z.string().describe('The model'),
      source: z
        .enum(['catalog', 'organization'])
        .describe('Whether a catalog release changed it, or an operator a price of the organization'),
      effectiveFrom: instant
        .nullable()
        .describe(
          "When an organization's own price comes into force; null if it always was in force, and for the catalog's",
        ),
      before: price.describe("The price before, of the catalog or the organization's own; null if there was none"),
      after: price.describe('The price now; null if there is none any more'),
    }),
  },
  'catalog.published': {
    meaning: 'Another catalog release is in use',
    data: z.object({
      version: z.string().describe('The catalog release that is in use now'),
      previousVersion: z.string().describe('The one that was in use before'),
      publishedAt: instant.describe('When it was published'),
      added: ofCatalog('Models that are new in it'),
      removed: ofCatalog('Models that it no longer has'),
      repriced: ofCatalog('Models with another price'),
      lifecycle: ofCatalog('Models with another status, date or replacement'),
    }),
  },
  'key.created': {
    meaning: 'An API key was created',
    data: z.object({
      ...ofKey,
      scopes: z.array(z.string()).nullable().describe('What it may do; null for what a legacy prefix always could'),
    }),
  },
  'key.revoked': { meaning: 'An API key was revoked', data: z.object(ofKey) },
  'projection.lagging': {
    meaning: 'Changes wait for minutes to reach lists and readings',
    data: z.object({
      waitingSince: instant.describe('When the oldest change was made that lists and readings do not have yet'),
      changes: z.number().int().describe('Changes that wait'),
    }),
  },
  'anomaly.detected': { meaning: 'An episode of unusual usage began', data: Anomaly },
  'model.switched': { meaning: 'The autopilot of a mapping replaced a model before its end', data: Switched },
  'model.switch_refused': {
    meaning: 'The day of a switch has come, and the autopilot does not switch; recorded once for each set of reasons',
    data: SwitchRefused,
  },
  'webhook.disabled': {
    meaning: 'Callmeter disabled a webhook',
    data: z.object({
      webhookId: z.string().describe('The webhook'),
      reason: z
        .enum(DISABLED_REASONS)
        .describe('GONE: its endpoint answered 410; FAILING: every request to it failed for five days'),
    }),
  },
};

export const EVENTS = { ...OF_CUSTOMERS, ...OF_WATCH };

export type EventType = keyof typeof EVENTS;

export type EventData = { [Type in EventType]: z.infer<(typeof EVENTS)[Type]['data']> };

type EventOf<Types extends EventType> = { [Type in Types]: { type: Type; data: EventData[Type] } }[Types];

/** An event that a customer's object finds. */
export type CustomerEvent = EventOf<keyof typeof OF_CUSTOMERS>;

/** An event of the organization's watch, or a balance that is low by its forecast. */
export type WatchEvent = EventOf<keyof typeof OF_WATCH | 'balance.low'>;
