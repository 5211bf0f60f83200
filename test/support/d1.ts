/**
 * D1 as SQLite itself: a database in memory with the migrations, as D1 runs them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const MIGRATIONS = join(import.meta.dirname, '../../d1-migrations');

/** With the migrations up to one, and that one, or with all of them. To be closed by who opens it. */
export function openD1(upTo = '9999'): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  for (const name of readdirSync(MIGRATIONS).filter((file) => file.endsWith('.sql') && file <= upTo))
    applyMigration(db, name);
  return db;
}

/** The migration of that name, and the one before it. */
export function findMigration(name: string): { before: string; file: string } {
  const files = readdirSync(MIGRATIONS).filter((file) => file.endsWith('.sql'));
  const at = files.findIndex((file) => file.endsWith(`_${name}.sql`));
  const [before, file] = [files[at - 1], files[at]];
  if (!before || !file) throw new Error(`there is no migration ${name} after another one`);
  return { before, file };
}

export function applyMigration(db: DatabaseSync, name: string): void {
  for (const statement of readFileSync(join(MIGRATIONS, name), 'utf8').split('--> statement-breakpoint'))
    db.exec(statement);
}
