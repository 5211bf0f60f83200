/**
 * D1 as SQLite itself: a database in memory with the schema, and as much of D1's interface as statements need.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

const MIGRATIONS = join(import.meta.dirname, '../../d1-migrations');

/** The files of the migrations, in their order. */
export const MIGRATION_NAMES = readdirSync(MIGRATIONS).filter((file) => file.endsWith('.sql'));

/** A database with all migrations, or some. To be closed by who opens it. */
export function openD1(names: readonly string[] = MIGRATION_NAMES): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  for (const name of names) migrate(db, name);
  return db;
}

export function migrate(db: DatabaseSync, name: string): void {
  for (const statement of readFileSync(join(MIGRATIONS, name), 'utf8').split('--> statement-breakpoint'))
    db.exec(statement);
}

/** The database as D1's binding. `beforeEach` runs before each statement, and before each batch. */
export function asD1(db: DatabaseSync, beforeEach: () => void = () => undefined): D1Database {
  const rowsOf = (sql: string, values: SQLInputValue[]) => {
    const results = db.prepare(sql).all(...values);
    return { results, meta: { changes: Number(db.prepare('SELECT changes() AS n').get()?.n) } };
  };
  const prepare = (sql: string, ...values: SQLInputValue[]) => ({
    bind: (...bound: SQLInputValue[]) => prepare(sql, ...bound),
    run: () => rowsOf(sql, values),
    async all() {
      beforeEach();
      return rowsOf(sql, values);
    },
    async raw() {
      beforeEach();
      return rowsOf(sql, values).results.map((row) => Object.values(row));
    },
  });
  async function batch(statements: ReturnType<typeof prepare>[]) {
    beforeEach();
    return runBatch(db, statements as unknown as D1PreparedStatement[]);
  }
  return { prepare, batch } as unknown as D1Database;
}

/** Runs statements of `asD1` as one transaction, as D1 runs a batch. */
export function runBatch(db: DatabaseSync, statements: readonly D1PreparedStatement[]): unknown[] {
  db.exec('BEGIN');
  const results = statements.map((statement) => statement.run());
  db.exec('COMMIT');
  return results;
}
