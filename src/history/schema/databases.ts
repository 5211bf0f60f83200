/**
 * D1: how large each database was on the days before. Every database has its own rows.
 */
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core';

export const databaseSizes = sqliteTable('database_sizes', {
  dayMs: integer('day_ms').primaryKey(),
  /** At the first run of the housekeeping on that day. */
  bytes: integer('bytes').notNull(),
});
