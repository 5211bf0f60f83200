/**
 * D1 through drizzle, and how money is read from it.
 */
import { type SQL, sql } from 'drizzle-orm';
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { NanoUsd } from '../domain/money.ts';

export type Database = DrizzleD1Database;

const databases = new WeakMap<D1Database, Database>();

export function database(binding: D1Database): Database {
  const known = databases.get(binding);
  if (known) return known;
  const created = drizzle(binding);
  databases.set(binding, created);
  return created;
}

/** A nano-USD column, read as text: D1 would round what is above 2^53. */
export function nanoText(column: SQLiteColumn): SQL<NanoUsd | null> {
  return sql`CAST(${column} AS TEXT)`.mapWith((value: string | null) => (value === null ? null : BigInt(value)));
}
