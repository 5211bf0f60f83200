/**
 * D1: calls that applications store for review.
 */

import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { CustomerId, OrganizationId } from '../../domain/ids.ts';

/** The size of a sample besides its texts: the row, and its ids again in four indexes. */
const SAMPLE_OVERHEAD_BYTES = 1024;
/** Texts that a caller chooses, besides the payload. */
const SAMPLE_TEXTS = [
  ...['sample_id', 'customer_id', 'feature', 'environment', 'tags', 'provider', 'model'],
  ...['decision_id', 'decision_policy_version'],
];

/** Calls that applications keep for review, until they expire. */
export const samples = sqliteTable(
  'samples',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    sampleId: text('sample_id').notNull(),
    /** The fingerprint of the request: it distinguishes a retry from another sample. */
    fingerprint: text('fingerprint').notNull(),
    receivedAtMs: integer('received_at_ms').notNull(),
    expiresAtMs: integer('expires_at_ms').notNull(),
    retentionDays: integer('retention_days').notNull(),
    policyVersion: text('policy_version').notNull(),
    decisionId: text('decision_id'),
    decisionPolicyVersion: text('decision_policy_version'),
    customerId: text('customer_id').$type<CustomerId>(),
    feature: text('feature'),
    environment: text('environment'),
    tags: text('tags', { mode: 'json' }).$type<string[]>().notNull(),
    provider: text('provider').notNull(),
    model: text('model'),
    latencyMs: real('latency_ms'),
    payloadBytes: integer('payload_bytes').notNull(),
    /**
     * The size of the sample against the quota: its texts, and the additional size of its row and index entries.
     * Computed by D1.
     */
    storedBytes: integer('stored_bytes').generatedAlwaysAs(
      sql.raw(
        `payload_bytes + ${SAMPLE_OVERHEAD_BYTES} + LENGTH(CAST(${SAMPLE_TEXTS.map((name) => `COALESCE(${name}, '')`).join(' || ')} AS BLOB))`,
      ),
      { mode: 'virtual' },
    ),
    /** JSON text of input, output, usage and error. The last column, so that lists need not read past it. */
    payload: text('payload').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.sampleId] }),
    // For lists and exports, newest or oldest first.
    index('samples_by_time').on(table.organizationId, table.receivedAtMs, table.sampleId),
    // The same for one customer, and its erasure.
    index('samples_by_customer').on(table.organizationId, table.customerId, table.receivedAtMs, table.sampleId),
    // For housekeeping: samples whose retention is over.
    index('samples_by_expiry').on(table.expiresAtMs),
  ],
);
