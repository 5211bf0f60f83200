/**
 * Bundles the Worker as for a deployment, and makes the files that it serves. A bundle of sources that have not changed
 * is copied from an earlier one, because wrangler takes seconds for it.
 *
 * Sources are everything that wrangler reads in the repository, by content. The lock file stands for the packages:
 * after a change of a file in `node_modules` by hand, remove the folder of bundles.
 */
import { execFile } from 'node:child_process';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { buildSite } from './build-site.ts';
import { copyKept, hashFiles, keep, SERVICE_SOURCES } from './kept-folders.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** An entry point, and the folder in the state for its bundle. */
export interface Bundle {
  script: string;
  folder: string;
}

export const SERVICE: Bundle = { script: 'src/index.ts', folder: 'bundle' };

/** Puts the bundle into the state folder. Throws wrangler's error if it cannot be made. */
export async function bundle(stateDir: string, { script, folder } = SERVICE): Promise<void> {
  const made = await bundleName(script);
  const [isKept] = await Promise.all([copyKept('bundles', made, join(stateDir, folder)), buildSite()]);
  if (isKept) return;
  await runWrangler(script, join(stateDir, folder));
  // A source that was changed meanwhile may be in the bundle with or without its change.
  if (made === (await bundleName(script))) await keep('bundles', made, join(stateDir, folder));
}

/** A suite's script may import every file of `test`. */
async function bundleName(script: string): Promise<string> {
  const folders = script.startsWith('test/') ? [...SERVICE_SOURCES.folders, 'test'] : SERVICE_SOURCES.folders;
  const hash = await hashFiles({ folders, files: [...SERVICE_SOURCES.files, script] });
  return `${basename(script, '.ts')}-${hash}`;
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
