/**
 * Folders that take seconds to make, stored by the hash of their sources in `node_modules/.cache/callmeter`: the
 * Worker's bundles, and the state of a first start. Each kind keeps the few that were used last.
 */
import { createHash, randomUUID } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const KEPT = join(ROOT, 'node_modules', '.cache', 'callmeter');
/** The most folders of each kind; older ones are removed. */
const FOLDERS_MAX = 12;

export type Kind = 'bundles' | 'states';

/** The sources of the service. The lock file stands for the packages. */
export const SERVICE_SOURCES = {
  folders: ['src', 'durable-objects'],
  files: ['package.json', 'package-lock.json', 'tsconfig.json', 'wrangler.toml'],
};

/** SHA-256 of names and contents, and of the version of Node. Paths are relative to the repository. */
export async function hashFiles({ folders, files }: { folders: string[]; files: string[] }): Promise<string> {
  const listed = await Promise.all(
    folders.map(async (folder) => {
      const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    }),
  );
  const paths = [...listed.flat().toSorted(), ...files.map((name) => resolve(ROOT, name))];
  const contents = await Promise.all(paths.map((path) => readFile(path)));
  const hash = createHash('sha256').update(process.version);
  for (const [index, content] of contents.entries())
    hash.update(`\0${paths[index]}\0${content.length}\0`).update(content);
  return hash.digest('hex');
}

/** Copies a kept folder to `to`, which may exist. Returns whether it existed. */
export async function copyKept(kind: Kind, name: string, to: string): Promise<boolean> {
  const path = join(KEPT, kind, name);
  if (!(await exists(path))) return false;
  const now = new Date();
  await utimes(path, now, now);
  await cp(path, to, { recursive: true });
  return true;
}

/** Keeps a copy of `folder`. */
export async function keep(kind: Kind, name: string, folder: string): Promise<void> {
  const made = join(KEPT, kind, name);
  // Another process may make the same folder: each copies to a folder of its own, and one of them takes the place.
  const unfinished = join(KEPT, kind, `unfinished-${randomUUID()}`);
  await mkdir(join(KEPT, kind), { recursive: true });
  try {
    await cp(folder, unfinished, { recursive: true });
    await rename(unfinished, made).catch(async (error: Error) => {
      if (!(await exists(made))) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  await removeOldest(kind);
}

async function removeOldest(kind: Kind): Promise<void> {
  const names = await readdir(join(KEPT, kind));
  const used = await Promise.all(
    names.map(async (name) => {
      const path = join(KEPT, kind, name);
      // Another process may have removed it meanwhile.
      const usedMs = await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      );
      return { path, usedMs };
    }),
  );
  const old = used.toSorted((a, b) => b.usedMs - a.usedMs).slice(FOLDERS_MAX);
  await Promise.all(old.map(({ path }) => rm(path, { recursive: true, force: true })));
}

export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
