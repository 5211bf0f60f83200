/**
 * D1: the events of organizations, recorded by the customers' objects and the organizations' watches. Operators'
 * actions are another log (`config/schema/operator.ts`).
 */

import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { CustomerId, OrganizationId } from '../../domain/ids.ts';

export const organizationEvents = sqliteTable(
  'organization_events',
  {
    /**
     * Ascending in the order in which rows were committed, and never used twice: a reader that has read up to a
     * position misses no later event, whatever its id.
     */
    place: integer('place').primaryKey({ autoIncrement: true }),
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    /** Sorts by time. */
    eventId: text('event_id').notNull(),
    /** NULL if it does not concern a customer. */
    customerId: text('customer_id').$type<CustomerId>(),
    type: text('type').notNull(),
    atMs: integer('at_ms').notNull(),
    /** The event's data. */
    record: text('record', { mode: 'json' }).$type<unknown>().notNull(),
    /** An event never changes: always 1. */
    revision: integer('revision').notNull(),
  },
  (table) => [
    // For lists; it also recognizes a row that is sent twice.
    uniqueIndex('organization_events_by_id').on(table.organizationId, table.eventId),
    // For events that webhooks have not read yet.
    index('organization_events_by_place').on(table.organizationId, table.place),
    // For lists of one customer or type, and the erasure.
    index('organization_events_by_customer').on(table.organizationId, table.customerId, table.eventId),
    index('organization_events_by_type').on(table.organizationId, table.type, table.eventId),
    // For the retention.
    index('organization_events_by_time').on(table.atMs),
  ],
);
