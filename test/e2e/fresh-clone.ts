/**
 * The environment of a document's reader: a clone in a folder of its own, in which commands may leave files, a server
 * on a fresh state with the vendor for trying out, like those of `npm start`; and the shells into which commands are
 * pasted.
 */
import { execFile, spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { ensureDemoVendors } from '../../src/cli/demo-organization.ts';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { ROOT } from '../support/documents.ts';
import { type LocalServer, preparedState, startPrepared } from './local-server.ts';
import { type NpmShim, startNpmShim } from './npm-shim.ts';

/**
 * The start of each shell, like on a terminal, without its user's files. Pasted text comes by standard input. A command
 * that fails ends the shell, and so does an unset variable; dash does not notice a failure within a pipe.
 */
export const SHELLS = {
  zsh: { args: ['-f', '-i'], strict: 'set -eu; set -o pipefail' },
  bash: { args: ['--norc', '--noprofile', '-i'], strict: 'set -eu; set -o pipefail' },
  dash: { args: ['-i'], strict: 'set -eu' },
} as const;

export type Shell = keyof typeof SHELLS;

/** The longest time of one paste: a shell that waits for the end of a quotation fails instead. */
const PASTE_MS_MAX = 120_000;

export interface Ran {
  exitCode: number | null;
  out: string;
  err: string;
}

export interface FreshClone {
  folder: string;
  devVars: string;
  server: LocalServer;
  vendor: TrialVendor;
  npm: NpmShim;
  /** The environment of its commands; with its own programs before others, or without them. */
  environment(withOwn?: boolean): NodeJS.ProcessEnv;
  /** Pastes lines into a shell, and resolves when it has ended; `reachedEnd` if it took them to the last. */
  paste(shell: Shell, lines: string): Promise<Ran & { reachedEnd: boolean }>;
  /** The files that the commands have left behind, according to git. */
  leftBehind(): Promise<string>;
  stop(): Promise<void>;
}

export async function freshClone(): Promise<FreshClone> {
  const [state, vendor, whole] = await Promise.all([
    preparedState(),
    startTrialVendor({ port: 0 }),
    mkdtemp(join(tmpdir(), 'callmeter-documents-')),
  ]);
  const server = await startPrepared(state);
  const { OPERATOR_TOKEN = '' } = await readDevVars(state.devVars);
  expect(await ensureDemoVendors(server.url, OPERATOR_TOKEN, vendor.url)).toEqual(['openai', 'anthropic', 'google']);

  const [folder, bin] = [join(whole, 'clone'), join(whole, 'bin')];
  await Promise.all([mkdir(folder), mkdir(bin)]);
  const own = new Set(['.dev.vars', '.state', '.git', '.gitignore', 'dist']);
  const names = (await readdir(ROOT)).filter((name) => !own.has(name));
  await Promise.all(names.map((name) => symlink(join(ROOT, name), join(folder, name))));
  // git follows no link for this one.
  await copyFile(join(ROOT, '.gitignore'), join(folder, '.gitignore'));
  await symlink(state.devVars, join(folder, '.dev.vars'));
  const git = async (...args: string[]) =>
    (await promisify(execFile)('git', ['-c', 'core.excludesFile=/dev/null', ...args], { cwd: folder })).stdout;
  await git('init', '--quiet');
  await git('add', '--all');
  // A request that is refused ends its block.
  await writeFile(join(bin, 'curl'), '#!/bin/sh\nPATH="$REAL_PATH" exec curl --fail-with-body "$@"\n');
  await chmod(join(bin, 'curl'), 0o755);
  const npm = await startNpmShim(bin);

  // The options of the npm that started the tests are also left out.
  const foreign = (name: string) => /^(OPERATOR_TOKEN$|CALLMETER_|npm_)/.test(name);
  const environment = (withOwn = true) => ({
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign(name))),
    PATH: [...(withOwn ? [bin] : []), process.env.PATH].join(delimiter),
    REAL_PATH: process.env.PATH,
    PORT: new URL(server.url).port,
    VENDOR_PORT: new URL(vendor.url).port,
    DEV_VARS_FILE: state.devVars,
  });
  return {
    ...{ folder, devVars: state.devVars, server, vendor, npm, environment },
    async paste(shell, lines) {
      const { args, strict } = SHELLS[shell];
      // The echo of the line that prints it does not have it.
      const input = `${strict}\n${lines}\nprintf 'the %s is reached\\n' end\n`;
      const ran = await runShell(shell, args, { cwd: folder, env: environment() }, input);
      return { ...ran, reachedEnd: ran.out.includes('the end is reached') };
    },
    leftBehind: () => git('ls-files', '--others', '--exclude-standard'),
    async stop() {
      npm.stop();
      await Promise.all([server.stop(), vendor.stop()]);
      await rm(whole, { recursive: true, force: true });
    },
  };
}

/** In a session of its own, so that an interactive shell takes no terminal from the tests, and ends with its commands. */
export function runShell(
  file: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
  input: string,
): Promise<Ran> {
  const child = spawn(file, args, { cwd, env, detached: true, stdio: 'pipe' });
  const printed = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk));
  child.stderr.on('data', (chunk: Buffer) => (printed.err += chunk));
  // It may end before it has read all.
  child.stdin.on('error', () => undefined).end(input);
  const bound = setTimeout(() => {
    printed.err += `\nit took more than ${PASTE_MS_MAX / 1_000} seconds\n`;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, PASTE_MS_MAX);
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (exitCode) => {
      clearTimeout(bound);
      resolve({ exitCode, ...printed });
    });
  });
}
