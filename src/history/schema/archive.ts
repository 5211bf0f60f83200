/**
 * D1: the days of history that the archive has (`src/history/archive`). Every database has the rows of its own
 * organizations.
 */

import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { CustomerId, OrganizationId } from '../../domain/ids.ts';

/**
 * The UTC days on which an organization has calls, meter events or ledger entries, by their own time. Triggers on those
 * tables (at the end of `d1-migrations/0000_start.sql`) add a day with its first row, and set it to CHANGED with every
 * later one.
 */
export const historyDays = sqliteTable(
  'history_days',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    dayMs: integer('day_ms').notNull(),
    /**
     * CHANGED: the archive lacks D1's present state. WRITING: the day is being written, and nothing has changed since
     * that began. ARCHIVED: the archive has everything.
     */
    state: text('state').$type<'CHANGED' | 'WRITING' | 'ARCHIVED'>().notNull(),
    /** The object that is being written. */
    generation: text('generation'),
    /** The time at which it was last archived, and its number of rows then; NULL if it never was. */
    archivedAtMs: integer('archived_at_ms'),
    archivedRows: integer('archived_rows'),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.dayMs] }),
    // The days to archive, and the archive's backlog.
    index('history_days_to_archive').on(table.dayMs).where(sql`state <> 'ARCHIVED'`),
  ],
);

/** Erased customers of whom the archive may still have rows. */
export const archiveErasures = sqliteTable(
  'archive_erasures',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    /** Rows before this time are erased. A customer with the same id may have newer ones. */
    erasedAtMs: integer('erased_at_ms').notNull(),
    /** No day up to this one still has rows of the customer. */
    doneDayMs: integer('done_day_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.customerId] })],
);

/** One row: the time until which a run of the archive has this database for itself. */
export const archiveLease = sqliteTable('archive_lease', {
  id: integer('id').primaryKey(),
  untilMs: integer('until_ms').notNull(),
});
