/**
 * Bundles the Worker as for a deployment, and makes the files that it serves. A bundle of sources that have not changed is
 * copied from an earlier one, because wrangler takes seconds for it.
 *
 * Sources are everything that wrangler reads in the repository, by content, and the lock file stands for the packages: who
 * changes a file in `node_modules` by hand removes the folder of bundles too.
 */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { buildSite } from './build-site.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** An entry point, and the folder in the state for its bundle. */
export interface Bundle {
  script: string;
  folder: string;
}

export const SERVICE: Bundle = { script: 'src/index.ts', folder: 'bundle' };

const BUNDLES = join(ROOT, 'node_modules', '.cache', 'callmeter', 'bundles');
/** Older ones are removed. */
const BUNDLES_MAX = 12;

const FOLDERS = ['src', 'durable-objects'];
const FILES = ['package.json', 'package-lock.json', 'tsconfig.json', 'wrangler.toml'];

/** Puts the bundle into the state folder. Throws wrangler's error if it cannot be made. */
export async function bundle(stateDir: string, { script, folder } = SERVICE): Promise<void> {
  const made = await placeOf(script);
  if (await exists(made)) {
    const now = new Date();
    await Promise.all([utimes(made, now, now), buildSite()]);
    await cp(made, join(stateDir, folder), { recursive: true });
    return;
  }
  await runWrangler(script, join(stateDir, folder));
  // A source that was changed meanwhile may be in the bundle with or without its change.
  if (made === (await placeOf(script))) await keep(join(stateDir, folder), made);
}

async function placeOf(script: string): Promise<string> {
  return join(BUNDLES, `${basename(script, '.ts')}-${await hashOfSources(script)}`);
}

/** SHA-256 of the sources' names and contents. A script of a suite may import every file of `test`. */
async function hashOfSources(script: string): Promise<string> {
  const folders = script.startsWith('test/') ? [...FOLDERS, 'test'] : FOLDERS;
  const listed = await Promise.all(
    folders.map(async (folder) => {
      const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    }),
  );
  const files = [...listed.flat().toSorted(), ...[...FILES, script].map((name) => resolve(ROOT, name))];
  const contents = await Promise.all(files.map((file) => readFile(file)));
  const hash = createHash('sha256').update(process.version);
  for (const [index, content] of contents.entries())
    hash.update(`\0${files[index]}\0${content.length}\0`).update(content);
  return hash.digest('hex');
}

async function keep(bundled: string, made: string): Promise<void> {
  // Another process may make the same bundle: each copies to a folder of its own, and one of them takes its place.
  const unfinished = join(BUNDLES, `unfinished-${randomUUID()}`);
  await mkdir(BUNDLES, { recursive: true });
  try {
    await cp(bundled, unfinished, { recursive: true });
    await rename(unfinished, made).catch(async (error: Error) => {
      if (!(await exists(made))) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  await removeOldest();
}

async function runWrangler(script: string, outdir: string): Promise<void> {
  const wrangler = join(ROOT, 'node_modules', 'wrangler', 'bin', 'wrangler.js');
  const env = {
    ...process.env,
    WRANGLER_HIDE_BANNER: 'true',
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_WRITE_LOGS: 'false',
  };
  try {
    const args = ['deploy', script, '--dry-run', '--outdir', outdir];
    await promisify(execFile)(process.execPath, [wrangler, ...args], { cwd: ROOT, env });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`bundling the Worker failed:\n${stdout}${stderr}`, { cause: error });
  }
}

async function removeOldest(): Promise<void> {
  const names = await readdir(BUNDLES);
  const used = await Promise.all(
    names.map(async (name) => {
      const path = join(BUNDLES, name);
      // Another process may have removed it meanwhile.
      return {
        path,
        usedMs: await stat(path).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        ),
      };
    }),
  );
  const old = used.toSorted((a, b) => b.usedMs - a.usedMs).slice(BUNDLES_MAX);
  await Promise.all(old.map(({ path }) => rm(path, { recursive: true, force: true })));
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
