/**
 * The schema of a customer's object: created with the first write, and brought up to date when the object starts.
 */
import { MIGRATIONS } from './migrations.ts';

export function hasSchema(sql: SqlStorage): boolean {
  return sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'schema_version'`).toArray().length > 0;
}

export function createSchema(sql: SqlStorage): void {
  sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL)');
  sql.exec('INSERT INTO schema_version (version) VALUES (0)');
  migrate(sql);
}

export function migrate(sql: SqlStorage): void {
  const { version } = sql.exec<{ version: number }>('SELECT version FROM schema_version').one();
  for (const migration of MIGRATIONS.slice(version)) sql.exec(migration);
  if (version < MIGRATIONS.length) sql.exec('UPDATE schema_version SET version = ?', MIGRATIONS.length);
}
