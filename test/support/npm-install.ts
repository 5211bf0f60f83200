/**
 * Installs packages that are no dependencies of this project into a folder of their own, from the npm registry, with
 * the npm that started the command, else the one that is found.
 */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Installed {
  /** Exact versions by name. */
  dependencies: Record<string, string>;
  overrides?: Record<string, string>;
  /** Packages that must run a script of their own to be complete; the others may not. */
  withScripts?: readonly string[];
}

const INSTALL_MS_MAX = 300_000;
const PROGRESS_MS = 5_000;

/** Prints the elapsed time every few seconds. Throws with npm's own words if it fails. */
export async function npmInstall(
  folder: string,
  { dependencies, overrides = {}, withScripts = [] }: Installed,
  progress: (seconds: number) => void,
): Promise<void> {
  const startMs = performance.now();
  const tell = () => progress(Math.round((performance.now() - startMs) / 1_000));
  tell();
  const telling = setInterval(tell, PROGRESS_MS);
  const npm = process.env.npm_execpath;
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error'];
  if (withScripts.length === 0) args.push('--ignore-scripts');
  const allowScripts = Object.fromEntries(withScripts.map((name) => [name, true]));
  try {
    await mkdir(folder, { recursive: true });
    const manifest = { private: true, dependencies, overrides, allowScripts };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    const [file, ...own] = npm === undefined ? ['npm'] : [process.execPath, npm];
    const running = promisify(execFile)(file, [...own, ...args], { cwd: folder, timeout: INSTALL_MS_MAX });
    const kill = () => void running.child.kill();
    process.once('exit', kill);
    await running;
    process.off('exit', kill);
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    const what = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`);
    throw new Error(`${what.join(', ')} could not be installed from the npm registry:\n${stderr || message}`, {
      cause: error,
    });
  } finally {
    clearInterval(telling);
  }
}
