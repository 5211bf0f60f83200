/**
 * D1: the events that organizations are told of, as the customers' objects and the organizations' watches record them. What operators did is another
 * log (`config/schema/operator.ts`).
 */

import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { CustomerId, OrganizationId } from '../../domain/ids.ts';

export const organizationEvents = sqliteTable(
  'organization_events',
  {
    /**
     * Ascending in the order in which rows were committed, and never used twice: who has read up to a place misses
     * nothing that comes later, whatever its id.
     */
    place: integer('place').primaryKey({ autoIncrement: true }),
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    /** Sorts by time. */
    eventId: text('event_id').notNull(),
    /** NULL where it is of no customer. */
    customerId: text('customer_id').$type<CustomerId>(),
    type: text('type').notNull(),
    atMs: integer('at_ms').notNull(),
    /** The event's data. */
    record: text('record', { mode: 'json' }).$type<unknown>().notNull(),
    /** An event never changes: always 1. */
    revision: integer('revision').notNull(),
  },
  (table) => [
    // Lists; a row that is sent twice is known by it.
    uniqueIndex('organization_events_by_id').on(table.organizationId, table.eventId),
    // What webhooks have not read yet.
    index('organization_events_by_place').on(table.organizationId, table.place),
    // Lists of one customer or type, and the erasure.
    index('organization_events_by_customer').on(table.organizationId, table.customerId, table.eventId),
    index('organization_events_by_type').on(table.organizationId, table.type, table.eventId),
    // The retention.
    index('organization_events_by_time').on(table.atMs),
  ],
);
