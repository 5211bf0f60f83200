/**
 * D1: calls, as the customers' objects project them, and denied calls that are only counted.
 */

import { type SQL, sql } from 'drizzle-orm';
import { customType, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { ChargeBasis } from '../../domain/charge.ts';
import type { CallId, CustomerId, OrganizationId } from '../../domain/ids.ts';
import type { StoredRecord } from '../packed-record.ts';

/**
 * Calls that ended and count, and whose cost is not known. Queries repeat these words, because SQLite uses a partial
 * index only if the query contains its condition.
 */
export const UNPRICED = sql.raw(
  "cost_nano_usd IS NULL AND status IN ('COMPLETED', 'FAILED') AND reversed_at_ms IS NULL",
);
/**
 * Also calls that are charged by their hold for a use without a rate, or priced by a catalog that stood in for the
 * published one: everything that can still be repriced.
 */
export const LACKS_PRICE = sql.raw(
  "(cost_nano_usd IS NULL OR charge_basis IS NOT NULL) AND status IN ('COMPLETED', 'FAILED') AND reversed_at_ms IS NULL",
);
/** Calls that were denied, in the words of their index. */
export const DENIED = sql.raw("status = 'NOT_ALLOWED'");

/**
 * Parts of a record that queries ask for and no column has: their paths in a record that is text. If the record is packed, the
 * column `details` has them by these names.
 */
const RECORD_PARTS = {
  usage: '$.outcome.usage',
  conditions: '$.outcome.price.breakdown.conditions',
  parts: '$.outcome.parts',
  denial: '$.denial',
};

/** A part of a call's record as JSON; NULL if the record does not have it. */
export function recordPart(name: keyof typeof RECORD_PARTS): SQL {
  return sql.raw(
    `CASE WHEN typeof(record) = 'text' AND record GLOB '{*' THEN record -> '${RECORD_PARTS[name]}' ELSE details -> '$.${name}' END`,
  );
}

const storedRecord = customType<{ data: StoredRecord }>({ dataType: () => 'text' });

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
    /** The provider under which the call counts (`usageProvider` in durable-objects/customer/projection.ts). */
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
    /** `partial` or `estimated` if the usage is provisional, otherwise NULL. */
    usageSource: text('usage_source'),
    /** Output tokens a second of one answer; NULL if they were not measured, or are not usable (`output-rates.ts`). */
    outputRate: integer('output_rate'),
    errorCode: text('error_code'),
    /** Why the call was denied; NULL if it was not, and in older rows. The record has the figures. */
    denialCode: text('denial_code'),
    /** `held` if the call is charged by its hold, which is no price; otherwise NULL, except in rows of earlier releases. */
    pricingSnapshotId: text('pricing_snapshot_id'),
    /** Nano-USD; read through `nanoText`. */
    standardCostNanoUsd: integer('standard_cost_nano_usd'),
    costNanoUsd: integer('cost_nano_usd'),
    /** The amount that the customer's balance pays, or has paid; NULL if nothing, or if the charge failed. */
    chargeNanoUsd: integer('charge_nano_usd'),
    /**
     * `HELD` if a use in the charge has no rate and costs its hold; `STAND_IN` if a catalog that stood in for the
     * published one priced the call, on credit or not; otherwise NULL.
     */
    chargeBasis: text('charge_basis').$type<ChargeBasis | 'STAND_IN'>(),
    /** The savings of the compressed prompt; NULL if none were recorded. */
    originalTokens: integer('original_tokens'),
    compressedTokens: integer('compressed_tokens'),
    savedTokens: integer('saved_tokens'),
    costAvoidedNanoUsd: integer('cost_avoided_nano_usd'),
    compressionTechniques: text('compression_techniques', { mode: 'json' }).$type<string[]>(),
    /** The time since which the call no longer counts, if it was a mistake. */
    reversedAtMs: integer('reversed_at_ms'),
    /** Every fact of the call in the form that its object stored, packed or as text (`packed-record.ts`). */
    record: storedRecord('record').notNull(),
    /** Parts of a packed record that queries ask for (`recordPart`); NULL if it has none of them. */
    details: text('details', { mode: 'json' }).$type<unknown>(),
    revision: integer('revision').notNull(),
    /**
     * The number of the delivery that last wrote the row, made from its time and a random part: the delivery uses it to
     * find the rows that it changed (`projection.ts`).
     */
    delivery: integer('delivery').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.callId] }),
    // For lists of calls, the retention, and searches by status.
    index('calls_by_time').on(table.organizationId, table.startedAtMs),
    // For lists of one customer's calls, and its erasure.
    index('calls_by_customer').on(table.organizationId, table.customerId, table.startedAtMs),
    // For calls that were denied for a reason; the index has no others.
    index('calls_denied')
      .on(table.organizationId, table.denialCode, table.startedAtMs)
      .where(sql`denial_code IS NOT NULL`),
    // For calls without a price, and calls denied for any reason: their lists, and the counts that need attention. The
    // first index also has calls that can still be repriced.
    index('calls_unpriced').on(table.organizationId, table.startedAtMs).where(LACKS_PRICE),
    index('calls_not_allowed').on(table.organizationId, table.startedAtMs).where(DENIED),
    // For the savings of a period; the index has only calls with recorded savings.
    index('calls_with_compression').on(table.organizationId, table.startedAtMs).where(sql`original_tokens IS NOT NULL`),
  ],
);

/**
 * The latest begin up to which the retention has deleted calls of an organization. A call with an earlier begin and no
 * row may have had a row, which still counts in the usage.
 */
export const deletedCalls = sqliteTable('deleted_calls', {
  organizationId: text('organization_id').$type<OrganizationId>().primaryKey(),
  beforeMs: integer('before_ms').notNull(),
});

/**
 * Denied calls that arrive only as a count, because the customer had many in the hour. They count in the usage of the
 * hour like calls.
 */
export const deniedHours = sqliteTable(
  'denied_hours',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    hourMs: integer('hour_ms').notNull(),
    /** Empty if there is none, and for calls that are too many to be told apart. */
    feature: text('feature').notNull(),
    calls: integer('calls').notNull(),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.hourMs, table.feature] }),
    // For the retention.
    index('denied_hours_by_time').on(table.organizationId, table.hourMs),
  ],
);

/**
 * Failed and free calls that arrive only as a count, because the customer had many in the hour. They count in the usage
 * of the hour like calls, without feature, provider and model.
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
    // For the retention.
    index('failed_hours_by_time').on(table.organizationId, table.hourMs),
  ],
);
