/**
 * Customers on the wire: provisioning, current usage, plan changes and lists (contract 4.5, 4.6, 4.9, 4.16).
 */

import { z } from 'zod';
import type { CustomerId } from '../domain/ids.ts';
import { METER_NAMES } from '../domain/meters.ts';
import { BodyIdempotency } from './calls.ts';
import { CustomerState, LimitPolicy, Meters, ReasoningLevel, Subscription } from './entitlements.ts';
import { branded, customerId, flag, instant, ListQuery, TEXT_LENGTH_MAX, text } from './fields.ts';
import { resolveIdentity } from './identity.ts';
import { planId } from './plans.ts';

const label = text(TEXT_LENGTH_MAX);

export const ProvisionCustomerBody = BodyIdempotency.extend({
  customerId,
  customerFriendlyName: label.optional().describe('Display name'),
  customerName: label.optional().describe('Alias of `customerFriendlyName`'),
  customerEmail: label.optional().describe('E-mail address'),
  stripeCustomerId: label.optional().describe('Customer id at Stripe; not one that another organization has'),
});

export const ProvisionCustomerRequest = z.preprocess(resolveIdentity, ProvisionCustomerBody);
export type ProvisionCustomerRequest = z.infer<typeof ProvisionCustomerBody>;

export const CreditWarnings = z
  .array(z.string())
  .optional()
  .describe('Credit of the customer that pays for nothing, why, and what to do; absent if there is none');

export const CustomerUsageData = CustomerState.extend({
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  stripeCustomerId: z.string().optional().describe('Customer id at Stripe'),
  warnings: CreditWarnings,
});

export type CustomerUsageData = z.infer<typeof CustomerUsageData>;

export const ProvisionCustomerData = CustomerUsageData.extend({
  newCustomer: z.boolean().describe('True only on the first call'),
});

export type ProvisionCustomerData = z.infer<typeof ProvisionCustomerData>;

export const ChangePlanBody = BodyIdempotency.extend({
  planId: planId.describe('The plan to change to, in its newest version'),
  strategy: z
    .enum(['IMMEDIATE_RESET', 'IMMEDIATE_PRORATED', 'AT_NEXT_REPLENISH'])
    .default('IMMEDIATE_RESET')
    .describe(
      'At once with full allowances and a new cycle; at once with usage and date kept; or at the next replenishment',
    ),
});

export type ChangePlanRequest = z.infer<typeof ChangePlanBody>;

export const ReplenishBody = BodyIdempotency;

export const ChangePlanData = z.object({
  success: z.literal(true).describe('The change stands'),
  subscription: Subscription,
  warnings: CreditWarnings,
});

export type ChangePlanData = z.infer<typeof ChangePlanData>;

const PlanState = z.object({
  usagePlanVersionId: z.string().describe('The plan version'),
  nextReplenishAt: instant.describe('End of the usage period (exclusive)'),
  meters: Meters,
});

export const PlanChangePreview = z.object({
  isChange: z
    .boolean()
    .describe(
      'False if nothing would change: the subscription is on this version already, or this change is scheduled',
    ),
  usagePlanVersionId: z.string().describe('The plan version to change to'),
  appliesAt: instant.nullable().describe('When the change applies; null if at once'),
  dropsScheduled: z.boolean().describe('Another change that is scheduled is dropped'),
  canceled: z.boolean().describe('The subscription is canceled, and stays so: calls are denied on any plan'),
  before: PlanState.describe('As it is now'),
  after: PlanState.describe('As it is once the change applies'),
  warnings: CreditWarnings,
});

export type PlanChangePreview = z.infer<typeof PlanChangePreview>;

export const ListCustomersQuery = ListQuery.extend({
  search: text(255)
    .optional()
    .describe('Part of the customer id, of the display name or of the e-mail address, in upper or lower case'),
  planId: planId.optional().describe('Only customers of this plan'),
  canceled: flag.optional().describe('`true`: only canceled subscriptions; `false`: only others'),
  nearLimit: z.coerce
    .number()
    .min(0)
    .max(100)
    .optional()
    .describe('Only customers who have used at least this share of their worst meter: 0.8 is 80 %'),
  onCredit: flag
    .optional()
    .describe(
      '`true`: only customers whose USD balance pays for a tier, because its allowance is used up; `false`: only others',
    ),
  denied: flag
    .optional()
    .describe('`true`: only customers with a denied call in the usage period; `false`: only others'),
  failing: z.coerce
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'Only customers with at least this share of failed calls in the last seven UTC days, today included: 0.1 is 10 %',
    ),
  endingModel: flag
    .optional()
    .describe(
      '`true`: only customers whose calls of the last 30 UTC days to a model that has ended, or ends within 180 days, cost something; `false`: only others',
    ),
  unprofitable: flag
    .optional()
    .describe(
      '`true`: only customers whose revenue of the last 30 UTC days is below their cost, among the 200 with the highest cost and a plan with a price; `false`: only others',
    ),
  sort: z
    .enum(['customerId', 'worstMeter', 'cost', 'lastCall'])
    .default('customerId')
    .describe(
      '`customerId`: ascending; a search begins with the customer who has that id; `worstMeter`: the highest share first; `cost`: the highest cost of the usage period first; `lastCall`: the latest first',
    ),
});

export type ListCustomersQuery = z.infer<typeof ListCustomersQuery>;

export const CustomerListItem = z.object({
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  customerFriendlyName: z.string().nullable().describe('Display name'),
  customerEmail: z.string().nullable().describe('E-mail address'),
  stripeCustomerId: z.string().nullable().describe('Customer id at Stripe'),
  planId: z.string().describe('Plan'),
  usagePlanVersionId: z.string().describe('Plan version'),
  subscriptionVersion: z.number().int().describe('Number that grows with each change of the subscription'),
  canceled: z.boolean().describe('The subscription is canceled'),
  createdAt: instant.describe('When the customer was provisioned'),
  nextReplenishAt: instant.describe('End of the usage period as of the last change'),
  worstMeter: z
    .object({
      name: z.enum(METER_NAMES).describe('The meter'),
      used: z.number().describe('What ended and open calls have taken in the usage period'),
      limit: z.number().describe('What the plan includes'),
      share: z.number().describe('used / limit; above 1 if credit pays or the plan only informs'),
    })
    .nullable()
    .describe(
      'The meter with the highest share used, up to a minute old; null if the plan limits none, or it is not known',
    ),
  costUSD: z
    .number()
    .nullable()
    .describe('Cost of the calls that ended in the usage period, up to a minute old; null if it is not known'),
  costUsdNano: z.string().nullable().describe('The same, exact, in nano-USD'),
  balanceUsd: z.string().nullable().describe('USD balance, exact; null if it is not known'),
  onCredit: z
    .boolean()
    .describe('The USD balance pays for a tier, because its allowance is used up in the usage period'),
  denied: z.boolean().describe('True if a call was denied in the usage period'),
  lastCallAt: instant
    .nullable()
    .describe(
      'When the last call began, even a denied one, up to a minute old; null if there was none, or it is not known',
    ),
});

export type CustomerListItem = z.infer<typeof CustomerListItem>;

export const UsagePlan = z.object({
  planId: z.string().describe('Plan'),
  usagePlanVersionId: z.string().describe('Newest version'),
  version: z.string().describe('Number of the newest version'),
  name: z.string().describe('Name that customers see'),
  limitType: LimitPolicy,
  reasoningLevel: ReasoningLevel,
  isDefault: z.boolean().describe('True for the plan that new customers get'),
});
