/**
 * D1: customers, their ledger and their custom meters, projected by their objects; and the subscriptions that were
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
     * Both in lower case, for the search. In rows from before a summary existed, only ASCII letters are in lower case
     * until the row changes.
     */
    customerIdLower: text('customer_id_lower'),
    friendlyNameLower: text('friendly_name_lower'),
    email: text('email'),
    /** In lower case, for the search; NULL in older rows until they change. */
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
    /** Computed by D1; 0 if there is no meter. */
    worstMeterShare: real('worst_meter_share').generatedAlwaysAs(
      sql`COALESCE(worst_meter_used / worst_meter_limit, 0)`,
      { mode: 'virtual' },
    ),
    /** The cost of the usage period: whole dollars, and the rest in nano-USD. */
    periodCostUsd: integer('period_cost_usd').notNull().default(0),
    periodCostRestNanoUsd: integer('period_cost_rest_nano_usd').notNull().default(0),
    /** The begin of the last call, including denied ones; 0 if none is known. */
    lastCallAtMs: integer('last_call_at_ms').notNull().default(0),
    /**
     * The USD balance in exact decimal nano-USD; NULL in rows from before the summary existed: none of its figures is
     * known.
     */
    balanceNanoUsd: text('balance_nano_usd'),
    /** Whether credit pays for a tier. */
    onCredit: integer('on_credit', { mode: 'boolean' }).notNull().default(false),
    /** Whether a call was denied in the usage period. */
    denied: integer('denied', { mode: 'boolean' }).notNull().default(false),
    /**
     * The time at which D1 last took a lower share or cost: pages of a list that began before leave the customer out.
     */
    loweredAtMs: integer('lowered_at_ms').notNull().default(0),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId] }),
    index('customers_by_plan').on(table.organizationId, table.planId, table.customerId),
    // For the versions of a plan that customers had, and for how long.
    index('customers_by_plan_version').on(
      table.organizationId,
      table.usagePlanVersionId,
      table.createdAtMs,
      table.canceledAtMs,
    ),
    // All columns that a search reads of a customer that it does not find.
    index('customers_by_search').on(
      table.organizationId,
      table.customerId,
      table.customerIdLower,
      table.friendlyNameLower,
      table.emailLower,
      table.planId,
    ),
    // Both indexes have few customers, so the filters find them at once.
    index('customers_on_credit').on(table.organizationId, table.customerId).where(sql`on_credit = 1`),
    index('customers_denied').on(table.organizationId, table.customerId).where(sql`denied = 1`),
    // For the orders of the list.
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
 * The ids at Stripe that customers got: an id belongs to the organizations of its rows. The configuration's database
 * has the rows of all organizations; another database has those that `gatherStripeCustomers` has not moved yet.
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
 * Subscriptions of customers who were erased: the outbox's batches write nothing for them, not even a batch that D1
 * runs after the erasure. A subscription's id is made with the account, stays as long as the account, and does not
 * reveal the customer.
 */
export const erasedSubscriptions = sqliteTable('erased_subscriptions', {
  subscriptionId: text('subscription_id').primaryKey(),
  erasedAtMs: integer('erased_at_ms').notNull(),
});

/** Increments of the custom meters. Amounts of money are exact decimals as text: overage may exceed 64 bits. */
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
    /** The payers of the units: allowance, purchased credits, overage on the USD balance, nobody. */
    included: integer('included').notNull(),
    credits: integer('credits').notNull(),
    overage: integer('overage').notNull(),
    unfunded: integer('unfunded').notNull(),
    chargeNanoUsd: text('charge_nano_usd'),
    settlementStatus: text('settlement_status'),
    /**
     * The amount that the customer's balance pays for it, less the amount that a reversal gave back: whole dollars, and
     * the rest in nano-USD.
     */
    chargedUsd: integer('charged_usd').notNull().default(0),
    chargedRestNanoUsd: integer('charged_rest_nano_usd').notNull().default(0),
    /** The time since which the event no longer counts, if it was a mistake. */
    reversedAtMs: integer('reversed_at_ms'),
    record: text('record', { mode: 'json' }).$type<unknown>().notNull(),
    revision: integer('revision').notNull(),
  },
  (table) => [
    // Begins with the customer, for the erasure.
    primaryKey({ columns: [table.organizationId, table.customerId, table.eventId] }),
    // For the retention.
    index('meter_events_by_time').on(table.organizationId, table.atMs),
    // For the charges of a period, of all customers and of one; the index has only events with a charge.
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
    /**
     * The subject that it paid or gave back to, a call or an increment, and the correction of it; NULL in older rows.
     */
    subjectKind: text('subject_kind'),
    subjectId: text('subject_id'),
    correction: text('correction'),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.entryId] }),
    // For the retention.
    index('credit_entries_by_time').on(table.organizationId, table.atMs),
  ],
);
