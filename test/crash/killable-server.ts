/**
 * A local server with its state on disk that can be killed as by a power failure: the starting process and workerd get
 * SIGKILL together, without warning.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundle } from '../../src/cli/bundle.ts';
import { freePort, HOST, type ServerOptions } from '../../src/cli/server.ts';
import { OPERATOR_TOKEN } from '../support/api.ts';

/** What a server of a suite is started with: secrets of its own, and a configuration that is in force at once. */
const SUITE_VARS = {
  OPERATOR_TOKEN,
  VENDOR_KEY_SECRET: 'suite-vendor-key-secret-of-32-characters',
  SESSION_SECRET: 'suite-session-secret-of-at-least-32-characters',
  CONFIG_TTL_MS: 100,
};
const START_MS_MAX = 60_000;
const STOP_MS_MAX = 20_000;
const POLL_MS = 20;

export interface KillableServer {
  readonly url: string;
  readonly stateDir: string;
  /** Everything that it printed, over all its lives. */
  output(): string;
  /** With `more` variables in this life alone. */
  start(more?: ServerOptions['vars']): Promise<void>;
  /** SIGKILL. Resolves when the process is gone and its port is free. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** Stops it and forgets its state. */
  remove(): Promise<void>;
}

/** A server that runs, and goes with the scope. */
export async function startKillableServer(
  scope: AsyncDisposableStack,
  vars?: ServerOptions['vars'],
): Promise<KillableServer> {
  const server = await createKillableServer(vars);
  scope.defer(server.remove);
  await server.start();
  return server;
}

/** Bundles the Worker into a new state folder; it does not run yet. */
export async function createKillableServer(vars: ServerOptions['vars'] = {}, databases = 1): Promise<KillableServer> {
  const stateDir = await mkdtemp(join(tmpdir(), 'callmeter-'));
  await mkdir(stateDir, { recursive: true });
  await bundle(stateDir);
  const port = await freePort(0);
  let child: ChildProcess | null = null;
  let printed = '';
  const end = async (signal: NodeJS.Signals) => {
    const running = child;
    child = null;
    if (running) await ended(running, signal, port);
  };
  const server: KillableServer = {
    url: `http://${HOST}:${port}`,
    stateDir,
    output: () => printed,
    async start(more = {}) {
      const options: ServerOptions = { port, stateDir, vars: { ...SUITE_VARS, ...vars, ...more }, databases };
      const started = spawn(process.execPath, [join(import.meta.dirname, 'serve.ts'), JSON.stringify(options)], {
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: true,
      });
      child = started;
      let ready = false;
      started.stdout.on('data', (chunk: Buffer) => {
        printed += chunk;
        ready ||= String(chunk).includes('ready');
      });
      started.stderr.on('data', (chunk: Buffer) => (printed += chunk));
      const giveUpAtMs = Date.now() + START_MS_MAX;
      while (!ready) {
        if (child !== started) return; // killed before it was ready
        if (started.exitCode !== null || Date.now() > giveUpAtMs)
          throw new Error(`the server did not start:\n${printed}`);
        await sleep(POLL_MS);
      }
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    async remove() {
      await end('SIGTERM');
      await rm(stateDir, { recursive: true, force: true });
    },
  };
  return server;
}

async function ended(child: ChildProcess, signal: NodeJS.Signals, port: number): Promise<void> {
  const gone = () => child.exitCode !== null || child.signalCode !== null;
  if (!gone() && child.pid !== undefined) {
    // A kill is for the whole group, a stop for its leader, who ends workerd in order.
    process.kill(signal === 'SIGKILL' ? -child.pid : child.pid, signal);
  }
  const giveUpAtMs = Date.now() + STOP_MS_MAX;
  while (!gone() || !(await isFree(port))) {
    if (Date.now() > giveUpAtMs) throw new Error('the server did not end');
    await sleep(POLL_MS);
  }
}

function isFree(port: number): Promise<boolean> {
  return freePort(port).then(
    () => true,
    () => false,
  );
}
