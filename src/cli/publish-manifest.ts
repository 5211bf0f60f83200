/**
 * `npm pack` in the repository gives the client library alone: while npm packs, package.json is the library's, without
 * what the repository needs for itself (scripts, tools, the Node binaries).
 *
 * `publish` is the last thing before npm packs, `restore` the first thing after it. Where npm is ended in between,
 * however that happens, a process that watches it restores; and what even that missed, the next `publish`.
 */
import { spawn } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ancestorsUpToNpm, whenNpmEnds } from './parents.ts';

/** What of the repository's manifest is the library's. */
const PUBLISHED = ['name', 'version', 'description', 'license', 'type', 'sideEffects', 'files', 'exports', 'engines'];

// npm runs scripts in the folder of the package.
const MANIFEST = resolve('package.json');
const SAVED = resolve('dist/package.json.saved');

/** Longer than npm takes to pack; the watching process must not stay for ever. */
const WATCH_MS_MAX = 600_000;

async function main([command, ...pids]: string[]): Promise<void> {
  switch (command) {
    case 'publish':
      return publish();
    case 'restore':
      return restore();
    case 'watch':
      setTimeout(() => process.exit(), WATCH_MS_MAX);
      return whenNpmEnds(pids.map(Number), () => void restore().finally(() => process.exit()));
    default:
      throw new Error('publish-manifest.ts takes publish or restore, and is run by npm pack');
  }
}

async function publish(): Promise<void> {
  await restore();
  const own = await readFile(MANIFEST, 'utf8');
  await mkdir(dirname(SAVED), { recursive: true });
  await write(SAVED, own);
  // npm alone: its shell ends with this script, before npm packs.
  const npm = (await ancestorsUpToNpm()).at(-1);
  if (npm !== undefined) {
    const args = [import.meta.filename, 'watch', String(npm)];
    spawn(process.execPath, args, { detached: true, stdio: 'ignore' }).unref();
  }
  await write(MANIFEST, published(own));
}

/** Leaves a manifest alone that somebody has changed meanwhile. */
async function restore(): Promise<void> {
  const own = await readFile(SAVED, 'utf8').catch(() => null);
  if (own === null) return;
  if ((await readFile(MANIFEST, 'utf8')) === published(own)) await write(MANIFEST, own);
  await rm(SAVED, { force: true });
}

function published(own: string): string {
  const manifest = JSON.parse(own) as Record<string, unknown>;
  const kept = PUBLISHED.flatMap((name) => (manifest[name] === undefined ? [] : [[name, manifest[name]]]));
  return `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`;
}

/** At once or not at all. */
async function write(file: string, text: string): Promise<void> {
  const next = `${file}.${process.pid}.tmp`;
  await writeFile(next, text);
  await rename(next, file);
}

main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`The package's manifest was not prepared: ${error.message}`);
  process.exitCode = 1;
});
