/**
 * D1: customers, their ledger and their custom meters, as their objects project them; and which subscriptions were
 * erased.
 */
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const customers = sqliteTable(
  'customers',
  {
    organizationId: text('organization_id').notNull(),
    customerId: text('customer_id').notNull(),
    friendlyName: text('friendly_name'),
    /**
     * Both in lower case, for the search. Rows from before there was one have the letters of ASCII alone in lower case
     * until they change.
     */
    customerIdLower: text('customer_id_lower'),
    friendlyNameLower: text('friendly_name_lower'),
    email: text('email'),
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
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId] }),
    index('customers_by_plan').on(table.organizationId, table.planId, table.customerId),
    // The id as it is makes them all that a search reads before it knows its page.
    index('customers_by_id_search').on(table.organizationId, table.customerIdLower, table.customerId),
    index('customers_by_name_search').on(table.organizationId, table.friendlyNameLower, table.customerId),
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
    organizationId: text('organization_id').notNull(),
    eventId: text('event_id').notNull(),
    customerId: text('customer_id').notNull(),
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
  ],
);

/** The ledger of every customer: exact decimals as text, nano-USD or units. */
export const creditEntries = sqliteTable(
  'credit_entries',
  {
    organizationId: text('organization_id').notNull(),
    customerId: text('customer_id').notNull(),
    entryId: integer('entry_id').notNull(),
    atMs: integer('at_ms').notNull(),
    unit: text('unit').notNull(),
    cause: text('cause').notNull(),
    amount: text('amount').notNull(),
    balance: text('balance').notNull(),
    creditId: text('credit_id'),
    reference: text('reference'),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.entryId] }),
    // The retention.
    index('credit_entries_by_time').on(table.organizationId, table.atMs),
  ],
);
