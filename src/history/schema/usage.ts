/**
 * D1: usage, summed from calls. `../roll-ups.ts` lists the sums of each table. Only its statements write these tables,
 * as a part of the batch that brings the calls.
 */

import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { CustomerId, OrganizationId } from '../../domain/ids.ts';

/**
 * A sum of costs: cost_usd x 1e9 + cost_rest_nano_usd nano-USD. Each call adds its whole dollars to the first and the
 * rest to the second column, so neither exceeds 64 bits before there are a billion calls; the rest is not carried over,
 * and may be negative after something was taken back. Ordered and compared by `COST` (usage.ts), read through
 * `nanoOfParts`.
 */
const sumOfCost = () => ({
  costUsd: integer('cost_usd').notNull().default(0),
  costRestNanoUsd: integer('cost_rest_nano_usd').notNull(),
});

/** The figures of ended calls in every sum. */
const usageFigures = () => ({
  calls: integer('calls').notNull(),
  unpricedCalls: integer('unpriced_calls').notNull(),
  inputTokens: integer('input_tokens').notNull(),
  cachedInputTokens: integer('cached_input_tokens').notNull(),
  outputTokens: integer('output_tokens').notNull(),
  reasoningTokens: integer('reasoning_tokens').notNull(),
  searches: integer('searches').notNull(),
  /** The calls with provisional usage among them, and their part of the cost. */
  provisionalCalls: integer('provisional_calls').notNull().default(0),
  provisionalCostUsd: integer('provisional_cost_usd').notNull().default(0),
  provisionalCostRestNanoUsd: integer('provisional_cost_rest_nano_usd').notNull().default(0),
  ...sumOfCost(),
  /** The amount that the customers' balances pay for them: a sum in the same form as the cost. */
  chargeUsd: integer('charge_usd').notNull().default(0),
  chargeRestNanoUsd: integer('charge_rest_nano_usd').notNull().default(0),
});

/**
 * Usage by UTC hour of the end of calls, in every dimension of the reports. It is the sum of the calls, and stays when
 * old calls are deleted; it has a retention of its own.
 */
export const usageHours = sqliteTable(
  'usage_hours',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    hourMs: integer('hour_ms').notNull(),
    /** Empty if there is none: NULL cannot be a key. */
    feature: text('feature').notNull(),
    provider: text('provider').notNull(),
    model: text('model').notNull(),
    outcome: text('outcome').notNull(),
    ...usageFigures(),
  },
  (table) => [
    primaryKey({
      columns: [
        table.organizationId,
        table.customerId,
        table.hourMs,
        table.feature,
        table.provider,
        table.model,
        table.outcome,
      ],
    }),
  ],
);

/**
 * The usage that the present batch adds, or takes back: `changes` is a JSON array of arrays, with the columns of
 * `CHANGE_COLUMNS` (`../roll-ups.ts`). The batch itself counts it in every roll-up and empties the table again, so outside a batch
 * it has no rows.
 */
export const usageChangeParts = sqliteTable('usage_change_parts', {
  part: integer('part').primaryKey(),
  changes: text('changes').notNull(),
});

/**
 * The total usage of an organization, in one dimension, by UTC hour. An organization's rows do not grow with its
 * customers.
 */
export const organizationHours = sqliteTable(
  'organization_hours',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    /** The column of `usage_hours` that has the key: `feature`, `provider`, `model` or `outcome`. */
    dimension: text('dimension').notNull(),
    hourMs: integer('hour_ms').notNull(),
    key: text('key').notNull(),
    ...usageFigures(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.dimension, table.hourMs, table.key] })],
);

/** The same by UTC day. */
export const organizationDays = sqliteTable(
  'organization_days',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    dimension: text('dimension').notNull(),
    dayMs: integer('day_ms').notNull(),
    key: text('key').notNull(),
    ...usageFigures(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.dimension, table.dayMs, table.key] })],
);

/** What a customer cost at most in a span of weeks, as `COST_BOUNDS` (`../roll-ups.ts`) says. */
const costBound = () => ({
  organizationId: text('organization_id').$type<OrganizationId>().notNull(),
  customerId: text('customer_id').$type<CustomerId>().notNull(),
  /** The length of the span. */
  weeks: integer('weeks').notNull(),
  startMs: integer('start_ms').notNull(),
  /** In nano-USD. */
  costAtMost: integer('cost_at_most').notNull(),
  /** The same of the calls, if they cost nothing; otherwise 0. */
  callsAtMost: integer('calls_at_most').notNull(),
});

/**
 * An upper bound of the cost of a customer in spans of weeks since 1970-01-01 (UTC): a customer's cost in a period does not
 * exceed the cost of its spans, so the customers with the highest cost are among those with the highest bound of a span.
 * A bound changes seldom, so that a call seldom writes here.
 */
export const customerCostBounds = sqliteTable('customer_cost_bounds', costBound(), (table) => [
  primaryKey({ columns: [table.organizationId, table.customerId, table.weeks, table.startMs] }),
  // For the customers with the highest cost: without it, a list of them reads all customers.
  index('customer_cost_bounds_by_cost').on(
    table.organizationId,
    table.weeks,
    table.startMs,
    table.costAtMost,
    table.callsAtMost,
  ),
]);

/** The same within a feature. */
export const featureCostBounds = sqliteTable(
  'feature_cost_bounds',
  { ...costBound(), feature: text('feature').notNull() },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.feature, table.weeks, table.startMs] }),
    // For the customers with the highest cost within a feature.
    index('feature_cost_bounds_by_cost').on(
      table.organizationId,
      table.feature,
      table.weeks,
      table.startMs,
      table.costAtMost,
      table.callsAtMost,
    ),
  ],
);

/** A sum of costs as one number, spelled as in `COST` (usage.ts): otherwise SQLite does not use the index. */
const cost = sql`(cost_usd * 1000000000 + cost_rest_nano_usd)`;

/**
 * The cost of a customer by weeks, from before its bounds were kept. Nothing writes it any more; rows go with the
 * retention.
 */
export const customerWeeks = sqliteTable(
  'customer_weeks',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    weekMs: integer('week_ms').notNull(),
    calls: integer('calls').notNull(),
    ...sumOfCost(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.weekMs] }),
    // For the customers with the highest cost: without it, a list of them reads all customers.
    index('customer_weeks_by_cost').on(table.organizationId, table.weekMs, cost, table.calls),
  ],
);

/**
 * A customer's total usage up to the end of an hour, for every hour with usage: any period is the difference of two
 * rows.
 */
export const customerRunningTotals = sqliteTable(
  'customer_running_totals',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    hourMs: integer('hour_ms').notNull(),
    ...usageFigures(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.customerId, table.hourMs] })],
);

/**
 * Completed and failed calls of a customer by UTC day and model. Calls that cost nothing count under an empty model,
 * because callers may send any name for them.
 */
export const customerDays = sqliteTable(
  'customer_days',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    dayMs: integer('day_ms').notNull(),
    paidModel: text('paid_model').notNull(),
    calls: integer('calls').notNull(),
    failedCalls: integer('failed_calls').notNull(),
    ...sumOfCost(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.dayMs, table.paidModel] }),
    // For whether a customer uses a model; written once for each row, because its columns never change.
    index('customer_days_by_model').on(table.organizationId, table.paidModel, table.customerId, table.dayMs),
  ],
);

/** Usage of a feature, in the listed dimensions except customers. */
const usageOfFeature = () => ({
  organizationId: text('organization_id').$type<OrganizationId>().notNull(),
  feature: text('feature').notNull(),
  provider: text('provider').notNull(),
  model: text('model').notNull(),
  outcome: text('outcome').notNull(),
  ...usageFigures(),
});

/** Usage within a feature by UTC hour. */
export const featureHours = sqliteTable(
  'feature_hours',
  { ...usageOfFeature(), hourMs: integer('hour_ms').notNull() },
  (table) => [
    primaryKey({
      columns: [table.organizationId, table.feature, table.hourMs, table.provider, table.model, table.outcome],
    }),
  ],
);

/** The same by UTC day. */
export const featureDays = sqliteTable(
  'feature_days',
  { ...usageOfFeature(), dayMs: integer('day_ms').notNull() },
  (table) => [
    primaryKey({
      columns: [table.organizationId, table.feature, table.dayMs, table.provider, table.model, table.outcome],
    }),
  ],
);

/** The same within a feature. */
export const featureCustomerWeeks = sqliteTable(
  'feature_customer_weeks',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    feature: text('feature').notNull(),
    weekMs: integer('week_ms').notNull(),
    calls: integer('calls').notNull(),
    ...sumOfCost(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.feature, table.weekMs] }),
    // For the customers with the highest cost within a feature.
    index('feature_customer_weeks_by_cost').on(table.organizationId, table.feature, table.weekMs, cost, table.calls),
  ],
);

/** A customer's total usage of a feature up to the end of an hour. */
export const featureRunningTotals = sqliteTable(
  'feature_running_totals',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    feature: text('feature').notNull(),
    hourMs: integer('hour_ms').notNull(),
    ...usageFigures(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.customerId, table.feature, table.hourMs] })],
);

/**
 * The highest output rate of a model among the answers that ended on a UTC day, of all organizations of the database.
 * It reveals nothing about anybody, so no erasure touches it.
 */
export const outputRates = sqliteTable(
  'output_rates',
  {
    /** The catalog's name of the model, `provider/model`. */
    modelKey: text('model_key').notNull(),
    dayMs: integer('day_ms').notNull(),
    /** Output tokens a second of one answer. */
    tokensPerSecond: integer('tokens_per_second').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.modelKey, table.dayMs] }),
    // For days that are over.
    index('output_rates_by_day').on(table.dayMs),
  ],
);
