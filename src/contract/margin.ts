/**
 * Margins on the wire: the cost of an organization's usage, and its customers' payments for it.
 */

import { z } from 'zod';
import type { CustomerId } from '../domain/ids.ts';
import { branded, instant, ListQuery, pageSchema } from './fields.ts';
import { GROUPS_MAX, Period, SummaryQuery } from './usage-summary.ts';

export const MarginQuery = SummaryQuery.pick({ from: true, to: true, timezone: true });

export type MarginQuery = z.infer<typeof MarginQuery>;

export const CUSTOMER_MARGIN_SORTS = [
  'margin',
  'marginPercent',
  'revenue',
  'charged',
  'plan',
  'cost',
  'calls',
  'customerId',
] as const;

export const CustomerMarginsQuery = MarginQuery.extend(ListQuery.shape).extend({
  sort: z
    .enum(CUSTOMER_MARGIN_SORTS)
    .default('margin')
    .describe('The figure that sorts the list; customers without a margin in percent are last in both orders'),
  order: z
    .enum(['ascending', 'descending'])
    .optional()
    .describe(
      '`ascending`: the lowest first, as by default of margins and ids; `descending`: the highest first, as by default of all others',
    ),
});

export type CustomerMarginsQuery = z.infer<typeof CustomerMarginsQuery>;

const MarginFigures = z.object({
  calls: z.number().int().describe('Calls that ended, or that were not allowed'),
  unpricedCalls: z
    .number()
    .int()
    .describe('Ended calls without a known price: the cost does not include them, so the margin is at most this'),
  costUSD: z.number().describe('Recorded cost at vendors'),
  costUsdNano: z.string().describe('The same cost, exact, in nano-USD'),
  chargedUSD: z.number().describe('What calls and custom meters charged to the balance, without failed charges'),
  chargedUsdNano: z.string().describe('The same charges, exact, in nano-USD'),
  planUSD: z.number().describe('What plans earned by the time that passed; plans without a price earn nothing here'),
  planUsdNano: z.string().describe('The same, exact, in nano-USD'),
  revenueUSD: z.number().describe('Charges and plans together'),
  revenueUsdNano: z.string().describe('The same revenue, exact, in nano-USD'),
  marginUSD: z.number().describe('Revenue less cost'),
  marginUsdNano: z.string().describe('The same margin, exact, in nano-USD'),
  marginPercent: z
    .number()
    .nullable()
    .describe('The margin in percent of the revenue, with one decimal, rounded towards zero; null without revenue'),
});

export type MarginFigures = z.infer<typeof MarginFigures>;

const asked = {
  period: Period.describe('The requested days; days that are no longer kept count nothing'),
  completeSince: instant.describe(
    'The figures are complete from this instant on. Before it, charges of custom meters may be missing, or all usage',
  ),
  timezone: z.string().describe('Time zone of the days'),
  currency: z.literal('USD').describe('Currency'),
};

const planPriceKnown = z.boolean().describe('Whether every plan that the customer had in the period has a price');

export const CustomerMarginData = z.object({
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  ...asked,
  planPriceKnown,
  totals: MarginFigures.describe('Figures of the period'),
  byDay: z
    .array(MarginFigures.extend({ date: z.string().describe('Local day'), ...Period.shape }))
    .describe('Every day of the period, in order. A UTC hour belongs to the day in which it starts'),
});

export type CustomerMarginData = z.infer<typeof CustomerMarginData>;

const customersFields = {
  customers: z
    .number()
    .int()
    .describe('Customers with a subscription in the period, by the version that they have now'),
  customersWithoutPrice: z.number().int().describe('Customers whose plan version has no price'),
};

export const MarginData = z.object({
  ...asked,
  ...customersFields,
  totals: MarginFigures.describe('Figures of the period'),
  byPlan: z
    .array(
      MarginFigures.extend({
        planId: z.string().describe('The plan'),
        name: z.string().describe('Its name'),
        ...customersFields,
      }),
    )
    .nullable()
    .describe('By cost: what customers used while they had the plan. Null if there are too many customers to read'),
  byFeature: z
    .array(MarginFigures.extend({ feature: z.string().nullable().describe('Feature; null if none was sent') }))
    .describe('By cost. What plans earned is shared over the completed calls equally'),
  byModel: z
    .array(MarginFigures.extend({ model: z.string().nullable().describe('Model; null if none was reported') }))
    .describe('By cost. What plans earned is shared in the same way'),
  truncated: z
    .array(z.string())
    .describe(`Dimensions with more than ${GROUPS_MAX} groups; only the totals include the others`),
});

export type MarginData = z.infer<typeof MarginData>;

export const CustomerMarginsData = z.object({
  ...asked,
  customers: z
    .number()
    .int()
    .describe('Customers in all: those who had a subscription in the period, or used or were charged something'),
  customersWithoutPrice: z.number().int().describe('Customers who had a plan version without a price in the period'),
  totals: MarginFigures.describe('The exact sum over all customers, whatever the page has'),
  ...pageSchema(MarginFigures.extend({ customerId: CustomerMarginData.shape.customerId, planPriceKnown })).shape,
});

export type CustomerMarginsData = z.infer<typeof CustomerMarginsData>;
