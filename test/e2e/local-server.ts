/**
 * A server with its own port, state and secrets: `npm start` as a user runs it or, in tests that are not about
 * starting, only the server on a copy of a prepared state.
 */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { inject } from 'vitest';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { freePort, PROJECT_DIR, type ServerOptions } from '../../src/cli/server.ts';
import { Api } from '../support/api.ts';

/** A loaded machine is slow; this only ends waits that hang. */
const READY_MS_MAX = 120_000;
/** The time between two looks: short at first, and longer later, because most looks are requests to the server. */
const LOOK_MS = { first: 20, growth: 1.5, most: 500 };
/** The secrets that `npm start` makes; other values in `.dev.vars` do not matter to tests. */
const SECRETS = ['OPERATOR_TOKEN', 'DEMO_API_KEY', 'VENDOR_KEY_SECRET', 'SESSION_SECRET'];

/** The clients of a server. */
export interface Clients {
  url: string;
  operator: Api;
  demo: Api;
}

export interface LocalServer extends Clients {
  /** The output of the server. */
  output(): string;
  /** SIGKILL to the starting process: nothing is told, nothing is finished. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface LocalState {
  stateDir: string;
  port: number;
  /** The port of the vendor for trying out, which `npm start` runs too. */
  vendorPort: number;
  /** Set if the server has variables of its own, and so its own secrets. */
  devVars?: string;
}

export interface PreparedState extends LocalState {
  devVars: string;
}

/** With `vars`, as if they stood in `.dev.vars`. */
export async function newState(vars?: Record<string, string>): Promise<LocalState> {
  const stateDir = await mkdtemp(join(tmpdir(), 'callmeter-'));
  const state = { stateDir, port: await freePort(0), vendorPort: await freePort(0) };
  if (!vars) return state;
  return { ...state, devVars: await writeDevVars(state.stateDir, vars) };
}

/**
 * A copy of the state that was prepared for all (prepared-state.ts), with `vars` added to its secrets. A
 * change of configuration is acknowledged after a tenth of a second, not after two.
 */
export async function preparedState(
  vars: Record<string, string> = {},
  prepared = inject('preparedState'),
): Promise<PreparedState> {
  const state = await newState();
  await cp(prepared, state.stateDir, { recursive: true });
  const found = await readDevVars();
  const secrets = Object.fromEntries(SECRETS.map((name) => [name, found[name] ?? '']));
  return { ...state, devVars: await writeDevVars(state.stateDir, { ...secrets, CONFIG_TTL_MS: '100', ...vars }) };
}

async function writeDevVars(stateDir: string, vars: Record<string, string>): Promise<string> {
  const file = join(stateDir, 'dev.vars');
  const lines = Object.entries(vars).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(file, lines.join(''));
  return file;
}

/** Runs `npm start`, which bundles and prepares its needs. */
export function startLocal(state: LocalState, args: string[] = []): Promise<LocalServer> {
  const child = spawn(process.execPath, ['src/cli/start.ts', ...args], {
    cwd: PROJECT_DIR,
    env: { ...process.env, ...environmentOf(state) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return started(child, state, 'Ctrl+C stops');
}

/** The environment that `npm start` reads. */
export function environmentOf({ stateDir, port, vendorPort, devVars }: LocalState): Record<string, string> {
  const ports = { PORT: String(port), VENDOR_PORT: String(vendorPort) };
  return { ...ports, STATE_DIR: stateDir, ...(devVars && { DEV_VARS_FILE: devVars }) };
}

/** The server alone, on a prepared state; `more` may name another bundle. */
export async function startPrepared(
  state: PreparedState,
  more: Pick<ServerOptions, 'bundled'> = {},
): Promise<LocalServer> {
  const { DEMO_API_KEY: _demo, ...vars } = await readDevVars(state.devVars);
  const options: ServerOptions = { port: state.port, stateDir: state.stateDir, vars, ...more };
  const child = spawn(process.execPath, ['test/crash/serve.ts', JSON.stringify(options)], {
    cwd: PROJECT_DIR,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return started(child, state, 'ready');
}

async function started(
  child: ChildProcessByStdio<Writable | null, Readable, Readable>,
  state: LocalState,
  sign: string,
): Promise<LocalServer> {
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (printed += chunk));
  await until(() => printed.includes(sign) || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(`it did not start:\n${printed}`);
  return {
    ...(await buildClients(state)),
    output: () => printed,
    kill: () => ended(child, 'SIGKILL', state.port),
    stop: () => ended(child, 'SIGTERM', state.port),
  };
}

export async function buildClients({ port, devVars }: LocalState): Promise<Clients> {
  const url = `http://127.0.0.1:${port}`;
  const { OPERATOR_TOKEN = '', DEMO_API_KEY = '' } = await readDevVars(devVars);
  return { url, operator: new Api(fetch, url, OPERATOR_TOKEN), demo: new Api(fetch, url, DEMO_API_KEY) };
}

/** The file of a server's D1, also while the server runs: tests read or lock it. */
export async function openD1({ stateDir }: LocalState): Promise<DatabaseSync> {
  const folder = join(stateDir, 'd1', 'miniflare-D1DatabaseObject');
  const name = (await readdir(folder)).find((file) => /^[0-9a-f]{64}\.sqlite$/.test(file));
  if (!name) throw new Error('the local D1 is not where it is expected');
  return new DatabaseSync(join(folder, name));
}

async function ended(child: ChildProcess, signal: NodeJS.Signals, port: number): Promise<void> {
  const exit =
    child.exitCode === null && child.signalCode === null
      ? new Promise((resolve) => child.once('exit', resolve))
      : Promise.resolve();
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
  for (let waitMs = LOOK_MS.first; !(await condition()); waitMs = Math.min(waitMs * LOOK_MS.growth, LOOK_MS.most)) {
    if (Date.now() > giveUpAtMs) throw new Error('waited in vain');
    await sleep(waitMs);
  }
}
