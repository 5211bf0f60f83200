/**
 * D1: the size of each database on past days. Every database has its own rows.
 */
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core';

export const databaseSizes = sqliteTable('database_sizes', {
  dayMs: integer('day_ms').primaryKey(),
  /** The size at the first run of the housekeeping on that day. */
  bytes: integer('bytes').notNull(),
});
