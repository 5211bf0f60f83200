/**
 * The state of an earlier release, as text: SQL for each class of objects, for D1 and for R2, and the bytes of R2's
 * objects. The test of an upgrade restores it, as if it had been left a short time ago.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { deserialize, serialize } from 'node:v8';
import { PROJECT_DIR } from '../../src/cli/server.ts';

const FOLDER = join(PROJECT_DIR, 'test', 'fixtures', 'released-state');
const FACTS_FILE = 'facts.json';
const BLOBS_FILE = 'blobs.json';
/** Storage that is made anew by any start, or holds nothing that an upgrade must keep. */
const LEFT_OUT = new Set(['bundle', 'cache', 'kv', 'ratelimit']);

const DAY_MS = 86_400_000;
/** Times that the state tells of lie within this of its recording. */
const SPAN_MS = 400 * DAY_MS;
const TIME = /\b1[78]\d{11}\b/g;
/** The days that the archive has stay as they are named there. */
const DAYS_IN_ARCHIVE = 'INSERT INTO "history_days"';

/** What the test knows of the state. */
export interface Facts {
  recordedAtMs: number;
  /** The secrets under which it was recorded. */
  vars: Record<string, string>;
  organizationId: string;
  key: string;
  /** The addresses of the vendor and of the receiver of webhooks. */
  urls: { vendor: string; receiver: string };
  /** What the release answered before it stopped. */
  answers: Record<string, unknown>;
}

/** Replaces the recorded state by that of a folder whose server has stopped. */
export async function recordState(stateDir: string, facts: Facts): Promise<void> {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  const texts = new Map<string, string>();
  const blobs: Record<string, string> = {};
  for (const path of await listFiles(stateDir)) {
    if (path.includes('/blobs/')) blobs[path] = (await readFile(join(stateDir, path))).toString('base64');
    if (!path.endsWith('.sqlite')) continue;
    const sql = dump(join(stateDir, path));
    // `do/callmeter-Customer/ID.sqlite` goes to `Customer.sql`.
    const name = `${dirname(path)
      .split('/')
      .at(-1)
      ?.replace(/^(?:callmeter|miniflare)-/, '')}.sql`;
    if (sql !== '') texts.set(name, `${texts.get(name) ?? ''}-- FILE ${path}\n${sql}`);
  }
  for (const [name, text] of texts) await writeFile(join(FOLDER, name), text);
  await writeFile(join(FOLDER, BLOBS_FILE), `${JSON.stringify(blobs, null, 2)}\n`);
  await writeFile(join(FOLDER, FACTS_FILE), `${JSON.stringify(facts, null, 2)}\n`);
}

export async function readFacts(): Promise<Facts> {
  return JSON.parse(await readFile(join(FOLDER, FACTS_FILE), 'utf8')) as Facts;
}

/** Writes the recorded state into a folder, with all times moved by whole days, and with other addresses. */
export async function restoreState(stateDir: string, urls: Facts['urls'], nowMs: number): Promise<void> {
  const facts = await readFacts();
  const movedMs = nowMs - facts.recordedAtMs - ((nowMs - facts.recordedAtMs) % DAY_MS);
  const move = (atMs: number) => (Math.abs(atMs - facts.recordedAtMs) < SPAN_MS ? atMs + movedMs : atMs);
  for (const name of (await readdir(FOLDER)).filter((file) => file.endsWith('.sql'))) {
    const text = (await readFile(join(FOLDER, name), 'utf8'))
      .replaceAll(facts.urls.vendor, urls.vendor)
      .replaceAll(facts.urls.receiver, urls.receiver);
    for (const [, path = '', sql = ''] of text.matchAll(/^-- FILE (.*)\n((?:(?!^-- FILE ).*\n)*)/gm)) {
      await mkdir(dirname(join(stateDir, path)), { recursive: true });
      // A row may come before the one that it refers to.
      using database = new DatabaseSync(join(stateDir, path), { enableForeignKeyConstraints: false });
      database.exec(sql.replace(/^.*$/gm, (line) => moveTimes(line, move)));
      moveValues(database, move);
    }
  }
  const blobs = JSON.parse(await readFile(join(FOLDER, BLOBS_FILE), 'utf8')) as Record<string, string>;
  for (const [path, bytes] of Object.entries(blobs)) {
    await mkdir(dirname(join(stateDir, path)), { recursive: true });
    await writeFile(join(stateDir, path), Buffer.from(bytes, 'base64'));
  }
}

async function listFiles(stateDir: string): Promise<string[]> {
  const entries = await readdir(stateDir, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(stateDir.length + 1));
  return paths.filter((path) => !LEFT_OUT.has(path.split('/')[0] ?? '')).sort();
}

/** The SQL that makes the database again; empty if it has no rows. */
function dump(file: string): string {
  using database = new DatabaseSync(file);
  const made = database.prepare(`SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid`).all();
  const tables = made.filter(({ type, name }) => type === 'table' && name !== 'sqlite_sequence');
  const inserts: string[] = [];
  for (const { name } of [...tables, ...made.filter(({ name: other }) => other === 'sqlite_sequence')]) {
    // Columns that are computed are not among these.
    const columns = database.prepare(`SELECT name FROM pragma_table_info(?)`).all(name ?? '');
    const names = columns.map((column) => `"${column.name}"`).join(', ');
    const statement = database.prepare(`SELECT ${names} FROM "${name}"`);
    statement.setReadBigInts(true);
    for (const row of statement.all())
      inserts.push(`INSERT INTO "${name}" (${names}) VALUES (${Object.values(row).map(literal).join(', ')});\n`);
  }
  if (inserts.length === 0) return '';
  const create = (rows: typeof made) => rows.map(({ sql }) => `${sql};\n`).join('');
  // Triggers come last: the rows that they make are among the others.
  return create(tables) + inserts.join('') + create(made.filter(({ type }) => type !== 'table'));
}

/** A value on one line, because each line of the dump is moved by itself. */
function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString('hex')}'`;
  if (typeof value !== 'string') return String(value);
  return value
    .split('\n')
    .map((line) => `'${line.replaceAll("'", "''")}'`)
    .join(' || char(10) || ');
}

function moveTimes(line: string, move: (atMs: number) => number): string {
  return line.startsWith(DAYS_IN_ARCHIVE) ? line : line.replace(TIME, (digits) => String(move(Number(digits))));
}

/** Moves the times in values that objects store by key. */
function moveValues(database: DatabaseSync, move: (atMs: number) => number): void {
  const isThere = database.prepare(`SELECT 1 FROM sqlite_master WHERE name = '_cf_KV'`).get();
  if (!isThere) return;
  for (const { key, value } of database.prepare('SELECT key, value FROM _cf_KV').all()) {
    const moved = serialize(movedIn(deserialize(value as Uint8Array), move));
    database.prepare('UPDATE _cf_KV SET value = ? WHERE key = ?').run(moved, key as string);
  }
}

function movedIn(value: unknown, move: (atMs: number) => number): unknown {
  if (typeof value === 'number') return move(value);
  if (Array.isArray(value)) return value.map((each) => movedIn(each, move));
  if (value === null || typeof value !== 'object' || value instanceof Map) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, movedIn(each, move)]));
}
