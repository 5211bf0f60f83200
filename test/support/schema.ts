/**
 * The tables of D1 as all migrations leave them, as the fewest statements that create them. A test file inside workerd
 * begins with an empty database, and one batch of these costs less than every migration in turn.
 */
import { DatabaseSync } from 'node:sqlite';

/** One migration: its file's name, and its statements. */
export interface Migration {
  name: string;
  queries: string[];
}

/** An empty database in memory, with these statements run. */
export function openDatabase(statements: readonly string[]): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  for (const statement of statements) database.exec(statement);
  return database;
}

/** The record of migrations, as wrangler keeps it. */
const RECORD =
  'CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)';

/**
 * The statements that create every table, index and trigger, in the order in which they were created, and record the
 * migrations as applied.
 */
export function schemaOf(migrations: readonly Migration[]): string[] {
  using database = openDatabase(migrations.flatMap(({ queries }) => queries));
  const created = database
    .prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
    .all();
  const names = migrations.map(({ name }) => `('${name}')`);
  return [...created.map(({ sql }) => String(sql)), RECORD, `INSERT INTO d1_migrations (name) VALUES ${names.join()}`];
}
