/**
 * `npm start` as a user runs it, on a port and a state of its own, with secrets of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { freePort, PROJECT_DIR } from '../../src/cli/server.ts';
import { Api } from '../support/api.ts';

const READY_MS_MAX = 60_000;

export interface LocalServer {
  url: string;
  operator: Api;
  demo: Api;
  /** What it printed. */
  output(): string;
  /** SIGKILL to the starting process: nothing is told, nothing is finished. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface LocalState {
  stateDir: string;
  port: number;
  /** Where the server has variables of its own, and so its own secrets. */
  devVars?: string;
}

/** With `vars`, as if they stood in `.dev.vars`. */
export async function newState(vars?: Record<string, string>): Promise<LocalState> {
  const state = { stateDir: await mkdtemp(join(tmpdir(), 'callmeter-')), port: await freePort(0) };
  if (!vars) return state;
  const devVars = join(state.stateDir, 'dev.vars');
  const lines = Object.entries(vars).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(devVars, lines.join(''));
  return { ...state, devVars };
}

export async function startLocal({ stateDir, port, devVars }: LocalState, args: string[] = []): Promise<LocalServer> {
  const child = spawn(process.execPath, ['src/cli/start.ts', ...args], {
    cwd: PROJECT_DIR,
    env: { ...process.env, PORT: String(port), STATE_DIR: stateDir, ...(devVars && { DEV_VARS_FILE: devVars }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (printed += chunk));
  const url = `http://127.0.0.1:${port}`;
  await until(() => printed.includes('Ctrl+C stops') || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(`it did not start:\n${printed}`);
  const secrets = await readDevVars(devVars);
  return {
    url,
    operator: new Api(fetch, url, secrets.OPERATOR_TOKEN ?? ''),
    demo: new Api(fetch, url, secrets.DEMO_API_KEY ?? ''),
    output: () => printed,
    kill: () => ended(child, 'SIGKILL', port),
    stop: () => ended(child, 'SIGTERM', port),
  };
}

async function ended(child: ChildProcess, signal: NodeJS.Signals, port: number): Promise<void> {
  const exit =
    child.exitCode === null && child.signalCode === null ? new Promise((resolve) => child.once('exit', resolve)) : Promise.resolve();
  child.kill(signal);
  await exit;
  await until(() =>
    freePort(port).then(
      () => true,
      () => false,
    ),
  );
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAtMs = Date.now() + READY_MS_MAX;
  while (!(await condition())) {
    if (Date.now() > giveUpAtMs) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
