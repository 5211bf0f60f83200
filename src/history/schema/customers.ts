/**
 * D1: customers, their ledger and their custom meters, as their objects project them; and which subscriptions were
 * erased.
 */

import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { CustomerId, OrganizationId } from '../../domain/ids.ts';

export const customers = sqliteTable(
  'customers',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    friendlyName: text('friendly_name'),
    /**
     * Both in lower case, for the search. Rows from before there was one have the letters of ASCII alone in lower case
     * until they change.
     */
    customerIdLower: text('customer_id_lower'),
    friendlyNameLower: text('friendly_name_lower'),
    email: text('email'),
    /** In lower case, for the search; NULL in rows of before it was searched, until they change. */
    emailLower: text('email_lower'),
    stripeCustomerId: text('stripe_customer_id'),
    subscriptionId: text('subscription_id').notNull(),
    subscriptionVersion: integer('subscription_version').notNull(),
    planId: text('plan_id').notNull(),
    usagePlanVersionId: text('usage_plan_version_id').notNull(),
    pendingUsagePlanVersionId: text('pending_usage_plan_version_id'),
    createdAtMs: integer('created_at_ms').notNull(),
    lastReplenishedAtMs: integer('last_replenished_at_ms').notNull(),
    nextReplenishAtMs: integer('next_replenish_at_ms').notNull(),
    canceledAtMs: integer('canceled_at_ms'),
    /**
     * The customer in short (src/domain/summary.ts), as of the last change. Figures of a usage period are void once
     * `next_replenish_at_ms` has passed.
     */
    worstMeter: text('worst_meter'),
    worstMeterUsed: real('worst_meter_used'),
    worstMeterLimit: real('worst_meter_limit'),
    /** Computed by D1; 0 where there is no meter. */
    worstMeterShare: real('worst_meter_share').generatedAlwaysAs(
      sql`COALESCE(worst_meter_used / worst_meter_limit, 0)`,
      { mode: 'virtual' },
    ),
    /** The cost of the usage period: whole dollars, and the rest in nano-USD. */
    periodCostUsd: integer('period_cost_usd').notNull().default(0),
    periodCostRestNanoUsd: integer('period_cost_rest_nano_usd').notNull().default(0),
    /** When the last call began, denied ones included; 0 where none is known. */
    lastCallAtMs: integer('last_call_at_ms').notNull().default(0),
    /** The USD balance, exact decimal nano-USD; NULL in rows of before there was a summary: none of its figures is known. */
    balanceNanoUsd: text('balance_nano_usd'),
    /** Whether credit pays for a tier. */
    onCredit: integer('on_credit', { mode: 'boolean' }).notNull().default(false),
    /** Whether a call was denied in the usage period. */
    denied: integer('denied', { mode: 'boolean' }).notNull().default(false),
    /** When D1 last took a lower share or cost: pages of a list that began before leave the customer out. */
    loweredAtMs: integer('lowered_at_ms').notNull().default(0),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId] }),
    index('customers_by_plan').on(table.organizationId, table.planId, table.customerId),
    // Who had which version of a plan for how long.
    index('customers_by_plan_version').on(
      table.organizationId,
      table.usagePlanVersionId,
      table.createdAtMs,
      table.canceledAtMs,
    ),
    // All that a search reads of a customer that it does not find.
    index('customers_by_search').on(
      table.organizationId,
      table.customerId,
      table.customerIdLower,
      table.friendlyNameLower,
      table.emailLower,
      table.planId,
    ),
    // Few customers are in either, so the filters find them at once.
    index('customers_on_credit').on(table.organizationId, table.customerId).where(sql`on_credit = 1`),
    index('customers_denied').on(table.organizationId, table.customerId).where(sql`denied = 1`),
    // The orders of the list.
    index('customers_by_worst_meter').on(table.organizationId, table.worstMeterShare, table.customerId),
    index('customers_by_cost').on(
      table.organizationId,
      table.periodCostUsd,
      table.periodCostRestNanoUsd,
      table.customerId,
    ),
    index('customers_by_last_call').on(table.organizationId, table.lastCallAtMs, table.customerId),
  ],
);

/**
 * Which customers were given which id at Stripe: an id belongs to the organizations of its rows. The rows of all
 * organizations are in the database with the configuration; another one has those that `gatherStripeCustomers` has not moved.
 */
export const stripeCustomers = sqliteTable(
  'stripe_customers',
  {
    stripeCustomerId: text('stripe_customer_id').notNull(),
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.stripeCustomerId, table.organizationId, table.customerId] }),
    index('stripe_customers_by_customer').on(table.organizationId, table.customerId),
  ],
);

/**
 * Subscriptions of customers who were erased: the outbox's batches write nothing for them, also one that D1 runs after
 * the erasure. A subscription's id is made with the account, stays while the account does, and says nothing of the
 * customer.
 */
export const erasedSubscriptions = sqliteTable('erased_subscriptions', {
  subscriptionId: text('subscription_id').primaryKey(),
  erasedAtMs: integer('erased_at_ms').notNull(),
});

/** Increments of the custom meters. Amounts of money are exact decimals as text: an overage may exceed 64 bits. */
export const meterEvents = sqliteTable(
  'meter_events',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    eventId: text('event_id').notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    customerUserId: text('customer_user_id'),
    feature: text('feature'),
    slot: text('slot').notNull(),
    amount: integer('amount').notNull(),
    atMs: integer('at_ms').notNull(),
    usagePlanVersionId: text('usage_plan_version_id').notNull(),
    /** Where the units went: allowance, purchased credits, overage on the USD balance, nobody. */
    included: integer('included').notNull(),
    credits: integer('credits').notNull(),
    overage: integer('overage').notNull(),
    unfunded: integer('unfunded').notNull(),
    chargeNanoUsd: text('charge_nano_usd'),
    settlementStatus: text('settlement_status'),
    /** What the customer's balance pays for it, less what a reversal gave back: whole dollars, and the rest in nano-USD. */
    chargedUsd: integer('charged_usd').notNull().default(0),
    chargedRestNanoUsd: integer('charged_rest_nano_usd').notNull().default(0),
    /** Since when it counts no longer, where it was a mistake. */
    reversedAtMs: integer('reversed_at_ms'),
    record: text('record', { mode: 'json' }).$type<unknown>().notNull(),
    revision: integer('revision').notNull(),
  },
  (table) => [
    // Begins with the customer, for the erasure.
    primaryKey({ columns: [table.organizationId, table.customerId, table.eventId] }),
    // The retention.
    index('meter_events_by_time').on(table.organizationId, table.atMs),
    // What was charged in a period, of all customers and of one; only events with a charge are in them.
    index('meter_events_charged')
      .on(
        table.organizationId,
        table.atMs,
        table.feature,
        table.usagePlanVersionId,
        table.chargedUsd,
        table.chargedRestNanoUsd,
      )
      .where(sql`charge_nano_usd IS NOT NULL`),
    index('meter_events_charged_of_customer')
      .on(table.organizationId, table.customerId, table.atMs, table.chargedUsd, table.chargedRestNanoUsd)
      .where(sql`charge_nano_usd IS NOT NULL`),
  ],
);

/** The ledger of every customer: exact decimals as text, nano-USD or units. */
export const creditEntries = sqliteTable(
  'credit_entries',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    entryId: integer('entry_id').notNull(),
    atMs: integer('at_ms').notNull(),
    unit: text('unit').notNull(),
    cause: text('cause').notNull(),
    amount: text('amount').notNull(),
    balance: text('balance').notNull(),
    creditId: text('credit_id'),
    reference: text('reference'),
    /** What it paid or gave back, a call or an increment, and by which correction of it; NULL in rows of before this was kept. */
    subjectKind: text('subject_kind'),
    subjectId: text('subject_id'),
    correction: text('correction'),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.entryId] }),
    // The retention.
    index('credit_entries_by_time').on(table.organizationId, table.atMs),
  ],
);
