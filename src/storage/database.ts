/**
 * The way to D1: every query of the service goes through one of the two functions here.
 *
 * `database` is that of one organization, which it names; `sharedDatabase` is for what is not of one organization. Both
 * are the same database today. To spread organizations over several, this is the file to change, and `sharedDatabase`
 * says which queries are not of one organization.
 */
import { type SQL, sql } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';
import { SQLiteAsyncDialect, type SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { NanoUsd } from '../domain/money.ts';
import type { Env } from '../env.ts';

/** Drizzle's database; `$client` is the binding, for SQL that is written out. */
export type Database = DrizzleD1Database & { $client: D1Database };

/** A statement that somebody else runs, as a part of a batch. */
export type Statement = BatchItem<'sqlite'>;

const databases = new WeakMap<D1Database, Database>();

/** The database that has the rows of an organization. */
export function database(env: Pick<Env, 'DB'>, _organizationId: string): Database {
  return drizzleOf(env.DB);
}

/**
 * The database for queries that are not of one organization: keys by their hash, the operator's own, prices, health,
 * the cron.
 */
export function sharedDatabase(env: Pick<Env, 'DB'>): Database {
  return drizzleOf(env.DB);
}

function drizzleOf(binding: D1Database): Database {
  const known = databases.get(binding);
  if (known) return known;
  const created = drizzle(binding);
  databases.set(binding, created);
  return created;
}

/** A batch of drizzle binds no values in statements that are written out. */
const DIALECT = new SQLiteAsyncDialect();

/** A statement that is written out, with its values. */
export function prepare(db: Database, query: SQL): D1PreparedStatement {
  const { sql: text, params } = DIALECT.sqlToQuery(query);
  return db.$client.prepare(text).bind(...params);
}

/** A nano-USD column, read as text: D1 would round what is above 2^53. */
export function nanoText(column: SQLiteColumn): SQL<NanoUsd | null> {
  return sql`CAST(${column} AS TEXT)`.mapWith((value: string | null) => (value === null ? null : BigInt(value)));
}
