/**
 * D1: the operators and their actions, the stored answers of their requests, the replacements that they reviewed, and
 * every price that was ever in force.
 */

import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { OperatorRole } from '../../contract/roles.ts';
import type { OrganizationId } from '../../domain/ids.ts';

/**
 * Events that an organization can cause itself: changes by its keys, and an endpoint of it that was disabled. Spelled
 * out, because a partial index serves only queries with the same condition.
 */
export const BY_TENANT = sql.raw("(actor GLOB 'key_*-*-*-*-*' OR action = 'webhook.disable')");

export const operatorEvents = sqliteTable(
  'operator_events',
  {
    /** Time-ordered. */
    eventId: text('event_id').primaryKey(),
    atMs: integer('at_ms').notNull(),
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    organizationId: text('organization_id').$type<OrganizationId>(),
    subject: text('subject').notNull(),
    before: text('before', { mode: 'json' }).$type<unknown>(),
    after: text('after', { mode: 'json' }).$type<unknown>(),
    correlationId: text('correlation_id').notNull(),
  },
  (table) => [
    // The event log of one organization, newest first.
    index('operator_events_by_organization').on(table.organizationId, table.eventId),
    // For the changes of one object, whose id may be shared by objects of several kinds and organizations.
    index('operator_events_by_subject').on(table.subject, table.organizationId, table.eventId),
    // For the events of which each organization has a share (`operator-changes.ts`).
    index('operator_events_by_tenant').on(table.organizationId, table.eventId).where(BY_TENANT),
  ],
);

/** Named operators. */
export const operators = sqliteTable('operators', {
  /** In lower case. */
  name: text('name').primaryKey(),
  role: text('role').$type<OperatorRole>().notNull(),
  createdAtMs: integer('created_at_ms').notNull(),
  updatedAtMs: integer('updated_at_ms').notNull(),
});

export const operatorIdempotency = sqliteTable('operator_idempotency', {
  /** The operation and the operator's key. */
  idempotencyKey: text('idempotency_key').primaryKey(),
  fingerprint: text('fingerprint').notNull(),
  /** The answer, encrypted: it may hold a new API key. */
  answer: text('answer').notNull(),
  expiresAtMs: integer('expires_at_ms').notNull(),
});

/** The recommendation of the lookup in place of a model. */
export const catalogReviews = sqliteTable('catalog_reviews', {
  modelKey: text('model_key').primaryKey(),
  replacementModelKey: text('replacement_model_key').notNull(),
  reason: text('reason').notNull(),
  reviewedAtMs: integer('reviewed_at_ms').notNull(),
});

export const pricingSnapshots = sqliteTable(
  'pricing_snapshots',
  {
    snapshotId: text('snapshot_id').primaryKey(),
    provider: text('provider').notNull(),
    modelKey: text('model_key').notNull(),
    effectiveFrom: text('effective_from'),
    rates: text('rates', { mode: 'json' }).$type<unknown>().notNull(),
    source: text('source').notNull(),
    catalogVersion: text('catalog_version').notNull(),
    recordedAtMs: integer('recorded_at_ms').notNull(),
  },
  (table) => [
    // For the prices that a model had.
    index('pricing_snapshots_by_model').on(table.modelKey),
  ],
);
