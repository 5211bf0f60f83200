/**
 * Runs the bundled Worker locally: Miniflare runs it on workerd, and its state is on disk.
 *
 * Bindings come from wrangler.toml, secrets from the caller. workerd listens on the port itself, without a proxy. If
 * this process is killed, guard.ts kills workerd too, so that the next start finds port and state free.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { D1Database } from '@cloudflare/workers-types';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { unstable_getMiniflareWorkerOptions } from 'wrangler';
import { type Bundle, SERVICE } from './bundle.ts';
import { printRuntimeLine, RuntimeLog } from './runtime-lines.ts';

export const PROJECT_DIR = join(import.meta.dirname, '..', '..');
export const HOST = '127.0.0.1';

// By default wrangler logs which files it read.
process.env.WRANGLER_LOG ??= 'error';

const MIGRATIONS_DIR = join(PROJECT_DIR, 'd1-migrations');

export interface ServerOptions {
  /** 0 for any free port. */
  port: number;
  stateDir: string;
  /** Removes the state when the server ends, also if this process is killed. */
  isTemporary?: boolean;
  /** Secrets, and variables that override those of wrangler.toml. */
  vars: Record<string, string | number>;
  /** The number of databases; those beyond the ones in wrangler.toml are added. */
  databases?: number;
  /** A bundle other than the service's. */
  bundled?: Bundle;
  /** A second Worker in the same process, on its own port, for comparison in benchmarks. */
  beside?: { script: string; port: number };
}

/**
 * The ids of the state's storage that has none in wrangler.toml: wrangler.toml once had these, so existing state is
 * found by them. With custom ids in wrangler.toml, the state is under those.
 */
const LOCAL_DATABASE_ID = '00000000-0000-0000-0000-000000000000';
const LOCAL_NAMESPACE_ID = '00000000000000000000000000000000';

/** The options for Miniflare that wrangler derives from wrangler.toml; passed on unchanged except for the bindings. */
interface WorkerConfiguration {
  [option: string]: unknown;
  compatibilityDate: string;
  compatibilityFlags: string[];
  bindings: Record<string, string | number>;
  d1Databases: Record<string, { id: string }>;
  kvNamespaces: Record<string, { id: string }>;
}

export interface Server {
  url: string;
  /** The first one has the configuration. */
  databases: readonly D1Database[];
  db: D1Database;
  /** Runs the Worker's cron handler once. */
  housekeep(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the bundled Worker and applies the missing migrations to its database. */
export async function startServer({
  port,
  stateDir,
  isTemporary = false,
  vars,
  databases: count = 1,
  beside,
  bundled = SERVICE,
}: ServerOptions): Promise<Server> {
  await freePort(port);
  await mkdir(stateDir, { recursive: true });
  const configured = unstable_getMiniflareWorkerOptions(join(PROJECT_DIR, 'wrangler.toml'))
    .workerOptions as WorkerConfiguration;
  const d1Databases = withLocalId(configured.d1Databases, 'DB', LOCAL_DATABASE_ID);
  const kvNamespaces = withLocalId(configured.kvNamespaces, 'KV', LOCAL_NAMESPACE_ID);
  for (let number = 2; number <= count; number += 1) d1Databases[`DB_${number}`] ??= { id: `DB_${number}` };
  const bundleDir = join(stateDir, bundled.folder);
  const guard = startGuard(isTemporary ? [stateDir] : []);
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: HOST,
      resourcePersistencePath: stateDir,
      logRequests: false,
      log: new RuntimeLog(),
      handleStructuredLogs: printRuntimeLine,
      cf: false,
      telemetry: { enabled: false },
      unsafeHandleRuntimeRestart: () => void guard.watch(),
      workers: [
        {
          ...configured,
          name: 'callmeter',
          bindings: { ...configured.bindings, ...vars },
          d1Databases,
          kvNamespaces,
          modules: [{ type: 'ESModule', path: join(bundleDir, `${basename(bundled.script, '.ts')}.js`) }],
          modulesRoot: bundleDir,
          unsafeDirectSockets: [{ host: HOST, port }],
        },
        ...(beside
          ? [
              {
                name: 'beside',
                compatibilityDate: configured.compatibilityDate,
                compatibilityFlags: configured.compatibilityFlags,
                modules: [{ type: 'ESModule' as const, path: beside.script }],
                modulesRoot: dirname(beside.script),
                unsafeDirectSockets: [{ host: HOST, port: beside.port }],
              },
            ]
          : []),
      ],
    }),
  );
  await miniflare.ready;
  await guard.watch();
  const names = Object.keys(d1Databases).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const databases: D1Database[] = [];
  for (const name of names) databases.push((await miniflare.getD1Database(name)) as unknown as D1Database);
  for (const database of databases) await applyMigrations(database);
  const [db] = databases;
  if (!db) throw new Error('wrangler.toml binds no database');
  return {
    url: (await miniflare.unsafeGetDirectURL('callmeter')).origin,
    databases,
    db,
    async housekeep() {
      const worker = await miniflare.getWorker();
      await worker.scheduled({});
    },
    async stop() {
      await miniflare.dispose();
      await guard.stop();
    },
  };
}

/** wrangler gives a binding without an id its own name as one. */
function withLocalId(bindings: Record<string, { id: string }>, binding: string, id: string) {
  return bindings[binding]?.id === binding ? { ...bindings, [binding]: { id } } : { ...bindings };
}

/**
 * Applies each migration in one D1 transaction and records it in the table that `wrangler d1 migrations apply` uses.
 */
async function applyMigrations(db: D1Database): Promise<void> {
  await db
    .prepare(
      'CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)',
    )
    .run();
  const { results } = await db.prepare('SELECT name FROM d1_migrations').all<{ name: string }>();
  const applied = new Set(results.map(({ name }) => name));
  const files = (await readdir(MIGRATIONS_DIR)).filter((name) => name.endsWith('.sql')).sort();
  for (const name of files.filter((file) => !applied.has(file))) {
    const sql = await readFile(join(MIGRATIONS_DIR, name), 'utf8');
    const statements = sql.split('--> statement-breakpoint').map((statement) => db.prepare(statement.trim()));
    await db.batch([...statements, db.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name)]);
  }
}

/** Returns the port if it is free, or any free port for 0. Throws if it is in use; `variable` names another one. */
export async function freePort(port: number, variable = 'PORT'): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const used = error.code === 'EADDRINUSE';
      reject(used ? new Error(`port ${port} is in use; choose another with ${variable}=...`) : error);
    });
    probe.listen(port, HOST, () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => resolve(found));
    });
  });
}

interface Guard {
  /** Tells the guard which workerd processes to kill. */
  watch(): Promise<void>;
  stop(): Promise<void>;
}

/** `folders` are removed at the end. */
function startGuard(folders: string[]): Guard {
  const script = join(import.meta.dirname, 'guard.ts');
  const child: ChildProcess = spawn(process.execPath, [script, ...folders], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
  });
  child.stdin?.on('error', () => undefined);
  child.unref();
  return {
    async watch() {
      const pids = await workerdChildren();
      child.stdin?.write(`${pids.join(' ')}\n`);
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.ref();
      const exit = once(child, 'exit');
      child.stdin?.end();
      await exit;
    },
  };
}

/** The process ids of this process's children that run workerd. */
async function workerdChildren(): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,comm=']).catch(() => ({ stdout: '' }));
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, command]) => Number(parent) === process.pid && command?.includes('workerd'))
    .map(([pid]) => Number(pid));
}
