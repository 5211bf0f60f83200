/**
 * The state on disk: the rows of D1 and of every object, read from the SQLite files of a local server.
 *
 * Tables of workerd itself (alarms, metadata) are excluded.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export type Row = Record<string, string | number | bigint | null | Uint8Array>;

export interface ObjectState {
  /** The object's id, hexadecimal. */
  objectId: string;
  tables: Map<string, Row[]>;
}

const FILE = /^([0-9a-f]{64})\.sqlite$/;
const D1_FOLDER = join('d1', 'miniflare-D1DatabaseObject');

/** The rows of each database of D1, by table. The first is the one that has the configuration. */
export function readDatabases(stateDir: string): Map<string, Row[]>[] {
  const databases = listFiles(join(stateDir, D1_FOLDER)).map(({ path }) => readTables(path));
  if (databases.length === 0) throw new Error('the local D1 is not where it is expected');
  const organizations = (tables: Map<string, Row[]>) => tables.get('organizations')?.length ?? 0;
  return databases.sort((a, b) => organizations(b) - organizations(a));
}

/** The objects of a class that hold anything. */
export function readObjects(stateDir: string, className: string): ObjectState[] {
  return listFiles(join(stateDir, 'do', `callmeter-${className}`))
    .map(({ objectId, path }) => ({ objectId, tables: readTables(path) }))
    .filter(({ tables }) => tables.size > 0);
}

/** The classes that have objects. */
export function objectClasses(stateDir: string): string[] {
  const folder = join(stateDir, 'do');
  return existsSync(folder) ? readdirSync(folder).map((name) => name.replace(/^callmeter-/, '')) : [];
}

function listFiles(folder: string): { objectId: string; path: string }[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const objectId = FILE.exec(name)?.[1];
      return objectId ? [{ objectId, path: join(folder, name) }] : [];
    });
}

function readTables(path: string): Map<string, Row[]> {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    const names = database.prepare(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`).all() as {
      name: string;
    }[];
    const own = names.map(({ name }) => name).filter((name) => !isRuntimeTable(name));
    return new Map(
      own.map((name) => {
        const statement = database.prepare(`SELECT * FROM "${name}"`);
        statement.setReadBigInts(true);
        return [name, (statement.all() as Row[]).map(plain)];
      }),
    );
  } finally {
    database.close();
  }
}

/** Tables of SQLite and of workerd itself. Objects' key-value data is their own. */
function isRuntimeTable(name: string): boolean {
  return name.startsWith('sqlite_') || (name.startsWith('_cf_') && name !== '_cf_KV');
}

/** Integers that a number holds exactly are numbers. */
function plain(row: Row): Row {
  const small = (value: Row[string]) =>
    typeof value === 'bigint' && BigInt(Number(value)) === value ? Number(value) : value;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, small(value)]));
}
