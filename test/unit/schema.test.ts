/** The tables at the beginning of tests inside workerd equal those of a deployment. */
import { join } from 'node:path';
import { readD1Migrations } from '@cloudflare/vitest-plugin';
import { expect, test } from 'vitest';
import { openDatabase, schemaOf } from '../support/schema.ts';

test('has every table, column, index and row that the migrations leave', async () => {
  const migrations = await readD1Migrations(join(import.meta.dirname, '../../d1-migrations'));
  using migrated = openDatabase(migrations.flatMap(({ queries }) => queries));
  using created = openDatabase(schemaOf(migrations));
  const objects =
    "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE tbl_name <> 'd1_migrations' ORDER BY type, name";
  expect(created.prepare(objects).all()).toEqual(migrated.prepare(objects).all());
  const tables = migrated
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  expect(tables.length).toBeGreaterThan(30);
  for (const { name } of tables) {
    const columns = `SELECT * FROM pragma_table_info('${name}')`;
    expect(created.prepare(columns).all()).toEqual(migrated.prepare(columns).all());
    expect([name, migrated.prepare(`SELECT * FROM "${name}"`).all()]).toEqual([name, []]);
  }
  expect(created.prepare('SELECT name FROM d1_migrations ORDER BY id').all()).toEqual(
    migrations.map(({ name }) => ({ name })),
  );
});
