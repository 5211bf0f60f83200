/**
 * D1: which days of history the archive has (`src/history/archive`). Every database has the rows of its own organizations.
 */

import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { CustomerId, OrganizationId } from '../../domain/ids.ts';

/**
 * The UTC days on which an organization has calls, meter events or ledger entries, by their own time. Triggers on those
 * tables (at the end of `d1-migrations/0000_start.sql`) add a day with its first row, and make it CHANGED with every
 * later one.
 */
export const historyDays = sqliteTable(
  'history_days',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    dayMs: integer('day_ms').notNull(),
    /**
     * CHANGED: the archive does not have what D1 has. WRITING: it is being written, and nothing has changed since that
     * began. ARCHIVED: it has everything.
     */
    state: text('state').$type<'CHANGED' | 'WRITING' | 'ARCHIVED'>().notNull(),
    /** The object that is being written. */
    generation: text('generation'),
    /** When it was archived last, and with how many rows; NULL where it never was. */
    archivedAtMs: integer('archived_at_ms'),
    archivedRows: integer('archived_rows'),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.dayMs] }),
    // What is to be archived, and how far the archive is behind.
    index('history_days_to_archive').on(table.dayMs).where(sql`state <> 'ARCHIVED'`),
  ],
);

/** Erased customers of whom the archive may still have rows. */
export const archiveErasures = sqliteTable(
  'archive_erasures',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    customerId: text('customer_id').$type<CustomerId>().notNull(),
    /** Rows of before then are erased. A customer of the same id may have newer ones. */
    erasedAtMs: integer('erased_at_ms').notNull(),
    /** No day up to this one has rows of the customer any more. */
    doneDayMs: integer('done_day_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.customerId] })],
);

/** One row: until when a run of the archive has this database for itself. */
export const archiveLease = sqliteTable('archive_lease', {
  id: integer('id').primaryKey(),
  untilMs: integer('until_ms').notNull(),
});
