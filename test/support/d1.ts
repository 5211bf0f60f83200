/**
 * D1 as SQLite itself: a database in memory with the schema, and as much of D1's interface as statements need.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

const MIGRATIONS = join(import.meta.dirname, '../../d1-migrations');

/** The files of the migrations, in their order. */
export const MIGRATION_NAMES = readdirSync(MIGRATIONS).filter((file) => file.endsWith('.sql'));

/** A database with all migrations, or some. To be closed by who opens it. */
export function openD1(names?: readonly string[]): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  if (names) for (const name of names) migrate(db, name);
  else db.exec(wholeSchema());
  return db;
}

let schema: string | undefined;

/** The result of all migrations for an empty database, as statements that take a tenth of their time. */
function wholeSchema(): string {
  if (schema !== undefined) return schema;
  using db = openD1(MIGRATION_NAMES);
  const made = db.prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").all();
  for (const { name } of made.filter(({ type }) => type === 'table'))
    if (db.prepare(`SELECT 1 FROM "${name}"`).get()) throw new Error(`a migration fills ${name}: copy its rows too`);
  schema = made.map(({ sql }) => `${sql};`).join('\n');
  return schema;
}

export function migrate(db: DatabaseSync, name: string): void {
  for (const statement of readFileSync(join(MIGRATIONS, name), 'utf8').split('--> statement-breakpoint'))
    db.exec(statement);
}

/** The prepared statements of each database: preparing a roll-up statement costs more than running it on a few rows. */
const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

function statementOf(db: DatabaseSync, sql: string): StatementSync {
  const own = prepared.get(db) ?? new Map<string, StatementSync>();
  prepared.set(db, own);
  const statement = own.get(sql) ?? db.prepare(sql);
  own.set(sql, statement);
  return statement;
}

/** The database as D1's binding. `beforeEach` runs before each statement, and before each batch. */
export function asD1(db: DatabaseSync, beforeEach: () => void = () => undefined): D1Database {
  const runStatement = (sql: string, values: SQLInputValue[]) => {
    const results = statementOf(db, sql).all(...values);
    return { results, meta: { changes: Number(statementOf(db, 'SELECT changes() AS n').get()?.n) } };
  };
  const prepare = (sql: string, ...values: SQLInputValue[]) => ({
    bind: (...bound: SQLInputValue[]) => prepare(sql, ...bound),
    run: () => runStatement(sql, values),
    async all() {
      beforeEach();
      return runStatement(sql, values);
    },
    async raw() {
      beforeEach();
      return runStatement(sql, values).results.map((row) => Object.values(row));
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
