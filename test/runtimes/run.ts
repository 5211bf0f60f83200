/**
 * Runs the program with one runtime: installs the runtime, and gives the program the built package of the client and
 * the SDKs as packages, a home and a lossy connection of its own, and nothing else.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { installNode } from '../support/node-install.ts';
import { npmInstall } from '../support/npm-install.ts';
import { startLossyProxy } from './lossy-proxy.ts';
import type { World } from './world.ts';

export interface Runtime {
  id: string;
  title: string;
  /** Installs it into a folder; resolves with its program. */
  install(folder: string, progress: (seconds: number) => void): Promise<string>;
  args: string[];
}

const node = (id: string, title: string, range: string): Runtime => ({
  ...{ id, title, args: [] },
  install: (folder, progress) => installNode(folder, range, progress),
});
/** A package that brings a program of its own name for the platform. */
const program = (id: string, title: string, version: string, args: string[]): Runtime => ({
  ...{ id, title, args },
  async install(folder, progress) {
    await npmInstall(folder, { dependencies: { [id]: version }, withScripts: [id] }, progress);
    return join(folder, 'node_modules', '.bin', id);
  },
});

export const RUNTIMES: readonly Runtime[] = [
  node('node20', 'Node 20', '^20.20.0'),
  node('node24', 'Node 24', '^24.0.0'),
  program('deno', 'Deno', '2.9.6', ['run', '--allow-all', '--node-modules-dir=manual']),
  program('bun', 'Bun', '1.4.5', ['--no-install']),
];

interface Check {
  name: string;
  ms: number;
  /** `null` if it passed. */
  problem: string | null;
}

export interface RuntimeReport {
  id: string;
  title: string;
  version: string;
  seconds: number;
  checks: Check[];
  /** The error that ended the program before its last check, or `null`. */
  problem: string | null;
}

const PROGRAM_MS_MAX = 120_000;
/** The most characters of its complaint. */
const COMPLAINT_LENGTH_MAX = 10_000;
const SDKS = ['openai', '@anthropic-ai/sdk', '@google/genai', 'hono', 'express'];

/** The sources' own path of the client becomes the package's name. */
const clientAsPackage: Plugin = {
  name: 'client-as-package',
  setup({ onResolve }) {
    onResolve({ filter: /\/src\/client\/\w+\.ts$/ }, ({ path }) => {
      const [, entry = ''] = /(\w+)\.ts$/.exec(path) ?? [];
      return { path: entry === 'index' ? 'callmeter/client' : `callmeter/client/${entry}`, external: true };
    });
  },
};

/** Resolves with the file of the program, in a folder that has its packages. */
export async function buildProgram(folder: string): Promise<string> {
  const packages = join(folder, 'node_modules');
  const file = join(folder, 'program.mjs');
  const script = join(PROJECT_DIR, 'src/cli/build-client.ts');
  await mkdir(packages, { recursive: true });
  await promisify(execFile)(process.execPath, [script, '--out', join(packages, 'callmeter')]);
  for (const name of SDKS) {
    await mkdir(dirname(join(packages, name)), { recursive: true });
    await symlink(join(PROJECT_DIR, 'node_modules', name), join(packages, name), 'dir');
  }
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  await build({
    entryPoints: [join(import.meta.dirname, 'program.ts')],
    ...{ bundle: true, packages: 'external', plugins: [clientAsPackage], outfile: file },
    ...{ format: 'esm', platform: 'node', target: 'es2022', logLevel: 'warning' },
  });
  return file;
}

export async function runRuntime(
  runtime: Runtime,
  given: { world: World; file: string; folder: string; signal: AbortSignal },
  progress: (line: string) => void,
): Promise<RuntimeReport> {
  const { id, title, args } = runtime;
  await using scope = new AsyncDisposableStack();
  const proxy = await startLossyProxy(given.world.SERVICE_URL);
  scope.defer(proxy.close);
  const home = join(given.folder, `${id}-home`);
  const installed = join(given.folder, `${id}-installed`);
  await mkdir(home);
  const bin = await runtime.install(installed, (seconds) => progress(`${title}: installing (${seconds} s)`));
  const env = {
    ...{ PATH: [dirname(process.execPath), process.env.PATH].join(':'), HOME: home, TMPDIR: home, RUN: id },
    ...{ DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1', ...given.world, LOSSY_URL: proxy.url },
  };
  const { stdout } = await promisify(execFile)(bin, ['--version'], { env });
  const startMs = performance.now();
  const child = spawn(bin, [...args, given.file], {
    cwd: dirname(given.file),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.any([given.signal, AbortSignal.timeout(PROGRAM_MS_MAX)]),
    killSignal: 'SIGKILL',
  });
  const checks: Check[] = [];
  let complained = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complained = (complained + chunk).slice(0, COMPLAINT_LENGTH_MAX);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const check = JSON.parse(line) as Check;
    checks.push(check);
    progress(`${title}: ${check.problem === null ? 'passed' : 'FAILED'}: ${check.name} (${check.ms} ms)`);
  });
  const ended = await new Promise<string | null>((resolve) => {
    child.once('error', ({ message }) => resolve(message));
    child.once('close', (code) => resolve(code === 0 || code === 1 ? null : `it ended with ${code ?? 'a signal'}`));
  });
  const isShort = checks.length === 0 || (ended === null && complained !== '');
  const problem = ended ?? (isShort ? 'it complained' : null);
  return {
    ...{ id, title, version: stdout.split('\n')[0]?.replace(/^v|^deno /, '') ?? '', checks },
    seconds: (performance.now() - startMs) / 1_000,
    problem: problem === null ? null : `${problem}: ${complained.trim()}`,
  };
}
