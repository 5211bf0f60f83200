/**
 * D1: calls, as the customers' objects project them, and denied calls that are only counted.
 */

import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { ChargeBasis } from '../../domain/charge.ts';
import type { CallId, CustomerId, OrganizationId } from '../../domain/ids.ts';

/**
 * Calls that ended and count, and whose cost is not known. Queries take these words, because an index of some rows is used
 * only where its condition is in the query.
 */
export const UNPRICED = sql.raw(
  "cost_nano_usd IS NULL AND status IN ('COMPLETED', 'FAILED') AND reversed_at_ms IS NULL",
);
/**
 * Those, and calls that are charged by their hold for a use without a rate or priced by a catalog that stood in for the
 * published one: what is left to be repriced.
 */
export const LACKS_PRICE = sql.raw(
  "(cost_nano_usd IS NULL OR charge_basis IS NOT NULL) AND status IN ('COMPLETED', 'FAILED') AND reversed_at_ms IS NULL",
);
/** Calls that were denied, in the words of their index. */
export const DENIED = sql.raw("status = 'NOT_ALLOWED'");

export const calls = sqliteTable(
  'calls',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    callId: text('call_id').$type<CallId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    customerUserId: text('customer_user_id'),
    feature: text('feature'),
    tags: text('tags', { mode: 'json' }).$type<string[]>(),
    status: text('status').notNull(),
    startedAtMs: integer('started_at_ms').notNull(),
    finishedAtMs: integer('finished_at_ms'),
    usagePlanVersionId: text('usage_plan_version_id').notNull(),
    pricingMode: text('pricing_mode').notNull(),
    providerUsed: text('provider_used'),
    /** The provider that the call counts under (`usageProvider` in durable-objects/customer/projection.ts). */
    usageProvider: text('usage_provider').notNull(),
    modelUsed: text('model_used'),
    modelKey: text('model_key'),
    tier: text('tier'),
    inputTokens: integer('input_tokens'),
    cachedInputTokens: integer('cached_input_tokens'),
    cacheWriteInputTokens: integer('cache_write_input_tokens'),
    responseTokens: integer('response_tokens'),
    reasoningTokens: integer('reasoning_tokens'),
    searches: integer('searches'),
    /** `partial` or `estimated` where the usage is provisional, else NULL. */
    usageSource: text('usage_source'),
    /** Output tokens a second of one answer; NULL where they were not measured, or tell nothing (`output-rates.ts`). */
    outputRate: integer('output_rate'),
    errorCode: text('error_code'),
    /** Why the call was denied; NULL where it was not, and in rows of before this was kept. The record has the figures. */
    denialCode: text('denial_code'),
    pricingSnapshotId: text('pricing_snapshot_id'),
    /** Nano-USD; read through `nanoText`. */
    standardCostNanoUsd: integer('standard_cost_nano_usd'),
    costNanoUsd: integer('cost_nano_usd'),
    /** What the customer's balance pays, or has paid; NULL where nothing, or where the charge failed. */
    chargeNanoUsd: integer('charge_nano_usd'),
    /**
     * `HELD` if something in the charge has no rate and costs what was held for it; `STAND_IN` if a catalog that stood in for
     * the published one priced the call, on credit or not; else NULL.
     */
    chargeBasis: text('charge_basis').$type<ChargeBasis | 'STAND_IN'>(),
    /** What compressing the prompt saved; NULL where nothing was recorded. */
    originalTokens: integer('original_tokens'),
    compressedTokens: integer('compressed_tokens'),
    savedTokens: integer('saved_tokens'),
    costAvoidedNanoUsd: integer('cost_avoided_nano_usd'),
    compressionTechniques: text('compression_techniques', { mode: 'json' }).$type<string[]>(),
    /** Since when it counts no longer, where it was a mistake. */
    reversedAtMs: integer('reversed_at_ms'),
    /** Every fact of the call, as its object stored it; reads of old calls answer from it. */
    record: text('record', { mode: 'json' }).$type<unknown>().notNull(),
    revision: integer('revision').notNull(),
    /**
     * A number of the delivery that wrote the row last, by its time and chance: by it the delivery finds the rows that it
     * changed (`projection.ts`).
     */
    delivery: integer('delivery').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.callId] }),
    // Lists of calls, the retention, and what a search by status looks at.
    index('calls_by_time').on(table.organizationId, table.startedAtMs),
    // Lists of one customer's calls, and its erasure.
    index('calls_by_customer').on(table.organizationId, table.customerId, table.startedAtMs),
    // Calls that were denied for a reason; no others are in it.
    index('calls_denied')
      .on(table.organizationId, table.denialCode, table.startedAtMs)
      .where(sql`denial_code IS NOT NULL`),
    // Calls without a price, and denied calls for any reason: lists, and what needs attention. No others are in them, but
    // for those that are to be repriced all the same.
    index('calls_unpriced').on(table.organizationId, table.startedAtMs).where(LACKS_PRICE),
    index('calls_not_allowed').on(table.organizationId, table.startedAtMs).where(DENIED),
    // Savings of a period; only calls with recorded savings are in it.
    index('calls_with_compression').on(table.organizationId, table.startedAtMs).where(sql`original_tokens IS NOT NULL`),
  ],
);

/**
 * Up to which begin the retention has deleted calls of an organization. One that began before and has no row may have had
 * one, which counts in the usage still.
 */
export const deletedCalls = sqliteTable('deleted_calls', {
  organizationId: text('organization_id').$type<OrganizationId>().primaryKey(),
  beforeMs: integer('before_ms').notNull(),
});

/**
 * Denied calls that come as a count alone, because the customer had many in the hour. They count in the usage of the
 * hour as calls do.
 */
export const deniedHours = sqliteTable(
  'denied_hours',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    hourMs: integer('hour_ms').notNull(),
    /** Empty where there is none, and for those that are too many to be told apart. */
    feature: text('feature').notNull(),
    calls: integer('calls').notNull(),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.hourMs, table.feature] }),
    // The retention.
    index('denied_hours_by_time').on(table.organizationId, table.hourMs),
  ],
);

/**
 * Failed calls that were free and come as a count alone, because the customer had many in the hour. They count in the usage of
 * the hour as calls do, without feature, provider and model.
 */
export const failedHours = sqliteTable(
  'failed_hours',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    hourMs: integer('hour_ms').notNull(),
    calls: integer('calls').notNull(),
    unpricedCalls: integer('unpriced_calls').notNull(),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.hourMs] }),
    // The retention.
    index('failed_hours_by_time').on(table.organizationId, table.hourMs),
  ],
);
