/**
 * The way to D1: every query of the service goes through this file.
 *
 * There may be several databases: bindings `DB`, `DB_2`, ... `DB_50`, all with the same schema. The first has the
 * configuration: organizations, plans, prices, vendors, keys, and the operators' event log (`configDatabase`). An
 * organization's history (customers, calls, meter events, the ledger, usage, samples) is in the database that it got at
 * its creation, and never moves (`database`).
 */

import { eq, type SQL, sql } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';
import { SQLiteAsyncDialect, type SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { OrganizationId } from '../domain/ids.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import { remember } from '../platform/isolate-memory.ts';
import { organizations } from './schema/index.ts';

/** Drizzle's database; `$client` is the binding, for SQL that is written out. */
export type Database = DrizzleD1Database & { $client: D1Database };

/** A statement that other code runs, as a part of a batch. */
export type Statement = BatchItem<'sqlite'>;

const databases = new WeakMap<D1Database, Database>();

/** The first database, which has the configuration. */
export const CONFIG_DATABASE = 'DB';
const DATABASES_MAX = 50;
/** The most organizations whose database an isolate remembers. */
const REMEMBERED_MAX = 100_000;

/** By organization. A database is assigned once, so a remembered one stays right. */
const remembered = remember(() => new BoundedMap<string, DatabaseName>(REMEMBERED_MAX));

/** The database that has the configuration. */
export function configDatabase(env: Pick<Env, 'DB'>): Database {
  return openDatabase(env.DB);
}

/** The database with the history of an organization. Throws if the configuration cannot be read. */
export async function database(env: Env, organizationId: OrganizationId): Promise<Database> {
  return namedDatabase(env, await findDatabaseName(env, organizationId));
}

/** The name of an organization's database; for an organization that does not exist, the first one. */
export async function findDatabaseName(env: Env, organizationId: OrganizationId): Promise<DatabaseName> {
  // Also looked up if only one database is bound: another may have been bound earlier, and its history must not be
  // split.
  const known = remembered.value.get(organizationId);
  if (known) return known;
  const [row] = await configDatabase(env)
    .select({ name: organizations.database })
    .from(organizations)
    .where(eq(organizations.organizationId, organizationId));
  if (!row) return CONFIG_DATABASE;
  const name = row.name as DatabaseName;
  remembered.value.set(organizationId, name);
  return name;
}

/** Throws if no database of that name is bound any more. */
export function namedDatabase(env: Env, name: DatabaseName): Database {
  const binding = env[name];
  if (!binding) throw new Error(`the database ${name} is not bound`);
  return openDatabase(binding);
}

/** The names of the databases that are bound, in their order. */
export function databaseNames(env: Env): DatabaseName[] {
  const numbers = Array.from({ length: DATABASES_MAX - 1 }, (_, index) => index + 2);
  return [CONFIG_DATABASE, ...numbers.map((number) => `DB_${number}` as const).filter((name) => env[name])];
}

function openDatabase(binding: D1Database): Database {
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

/** A nano-USD column, read as text: D1 would round numbers above 2^53. */
export function nanoText(column: SQLiteColumn | SQL): SQL<NanoUsd | null> {
  return sql`CAST(${column} AS TEXT)`.mapWith((value: string | null) => (value === null ? null : BigInt(value)));
}
