/**
 * The newest version of a package in the configured npm registry: its day, and the text of its files. npm downloads it
 * into a folder that is removed afterwards; nothing is installed and none of its scripts run.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ReadPackageFile } from './package-facts.ts';

const run = promisify(execFile);
/** For one npm command: the list of all versions of a package with their times is long. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const TIMEOUT_MS = 120_000;

export interface NewestPackage {
  version: string;
  /** The day on which it was published. */
  date: string;
}

/** Lets `use` read the newest version of `name`. Throws if the registry does not have it. */
export async function withNewestPackage<Result>(
  name: string,
  use: (newest: NewestPackage, read: ReadPackageFile) => Promise<Result>,
): Promise<Result> {
  // By its exact version: without one, npm takes an older version if the newest requires another Node.
  const version = JSON.parse(await npm('view', name, 'dist-tags.latest', '--json')) as string;
  const times = JSON.parse(await npm('view', name, 'time', '--json')) as Record<string, string>;
  const folder = await mkdtemp(join(tmpdir(), 'callmeter-package-'));
  try {
    const packed = await npm('pack', `${name}@${version}`, '--pack-destination', folder, '--json', '--ignore-scripts');
    const [{ filename = '' } = {}] = JSON.parse(packed) as { filename?: string }[];
    await run('tar', ['-xzf', join(folder, filename), '-C', folder]);
    const date = (times[version] ?? '').slice(0, 'yyyy-mm-dd'.length);
    return await use({ version, date }, (path) => readFile(join(folder, 'package', path), 'utf8').catch(() => null));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function npm(...args: string[]): Promise<string> {
  const { stdout } = await run('npm', args, { maxBuffer: OUTPUT_BYTES_MAX, timeout: TIMEOUT_MS });
  return stdout;
}
