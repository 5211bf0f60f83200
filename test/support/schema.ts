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
export function databaseOf(statements: readonly string[]): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  for (const statement of statements) database.exec(statement);
  return database;
}

/** The statements that create every table, index and trigger, in the order in which they were created. */
export function schemaOf(migrations: readonly Migration[]): string[] {
  using database = databaseOf(migrations.flatMap(({ queries }) => queries));
  const created = database
    .prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
    .all();
  return created.map(({ sql }) => String(sql));
}
