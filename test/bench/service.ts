/**
 * Starts the service and the baseline for the suites: workerd with direct sockets, each in its own process, with state
 * in folders that are removed with the scope.
 */
import { rmSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bundle, bundle } from '../../src/cli/bundle.ts';
import { freePort, type Server, type ServerOptions, startServer } from '../../src/cli/server.ts';
import { Api, createTenant, OPERATOR_TOKEN } from '../support/api.ts';
import { workerdProcesses } from './process.ts';
import type { Options } from './suite.ts';

const VARS = {
  OPERATOR_TOKEN,
  VENDOR_KEY_SECRET: 'bench-vendor-key-secret-of-32-characters',
  SESSION_SECRET: 'bench-session-secret-of-at-least-32-characters',
};

const SERVICE: Bundle = { script: 'src/index.ts', folder: 'bundle' };
const FLOOR: Bundle = { script: 'test/bench/object-floor.ts', folder: 'floor' };

const SETTLE_MS_MAX = 120_000;
const SETTLE_POLL_MS = 100;
/** A file may come into a folder while it is removed. */
const REMOVE_RETRIES_MAX = 5;

type Scope = Options['scope'];

/** Folders that stand. */
const states = new Set<string>();
/** The paths of the bundles, by the name of their folder. */
const bundles = new Map<string, Promise<string>>();

export interface RunningServer extends Server {
  /** The process id of workerd. */
  pid: number;
}

/** A new folder for state, which goes with the scope. */
export async function openState(scope: Scope): Promise<string> {
  const stateDir = await mkdtemp(join(tmpdir(), 'callmeter-bench-'));
  states.add(stateDir);
  scope.defer(async () => {
    await rm(stateDir, { recursive: true, force: true });
    states.delete(stateDir);
  });
  return stateDir;
}

/** Removes the folders that are left, when the process ends before the scope does. */
export function removeStates(): void {
  for (const stateDir of states) rmSync(stateDir, { recursive: true, force: true, maxRetries: REMOVE_RETRIES_MAX });
}

/** Puts the bundle into the folder; it is made once in this process, and goes with it. */
export async function placeBundle(stateDir: string, bundled: Bundle = SERVICE): Promise<void> {
  const { folder } = bundled;
  const made = bundles.get(folder) ?? makeBundle(bundled);
  bundles.set(folder, made);
  await symlink(await made, join(stateDir, folder));
}

async function makeBundle(bundled: Bundle): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'callmeter-bundle-'));
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  await bundle(home, bundled);
  return join(home, bundled.folder);
}

/** Starts the bundle in the folder. It may be stopped before the scope ends. */
export async function runServer(
  scope: Scope,
  stateDir: string,
  options: Partial<Pick<ServerOptions, 'bundled' | 'beside'>> = {},
): Promise<RunningServer> {
  const before = await workerdProcesses();
  const server = await startServer({ port: await freePort(0), stateDir, vars: VARS, ...options });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= server.stop();
    return stopped;
  };
  scope.defer(stop);
  const [pid] = (await workerdProcesses()).filter((other) => !before.includes(other));
  if (pid === undefined) throw new Error('workerd does not run');
  return { ...server, stop, pid };
}

/** The service in a new folder. */
export async function startService(
  scope: Scope,
  options: Parameters<typeof runServer>[2] = {},
): Promise<RunningServer> {
  const stateDir = await openState(scope);
  await placeBundle(stateDir, options.bundled);
  return runServer(scope, stateDir, options);
}

interface Pair {
  service: RunningServer;
  floor: RunningServer;
}

/** By the scope that they go with. */
const pairs = new WeakMap<Scope, Promise<Pair>>();

/** The service, and beside it the Worker of object-floor.ts; in a short run the same ones for every suite. */
export function startServiceAndFloor({ shared }: Pick<Options, 'shared'>): Promise<Pair> {
  const started = pairs.get(shared) ?? startPair(shared);
  pairs.set(shared, started);
  return started;
}

/** The service alone; in a short run the one that suites share. */
export async function startAlone({ scope, shared, short }: Options): Promise<RunningServer> {
  return short ? (await startServiceAndFloor({ shared })).service : startService(scope);
}

async function startPair(scope: Scope): Promise<Pair> {
  const floor = await startService(scope, { bundled: FLOOR });
  const service = await startService(scope);
  // The last one started ends everything that still runs: the floor has to be stopped before it, in order.
  scope.defer(floor.stop);
  return { service, floor };
}

export const operatorOf = (url: string): Api => new Api((address, init) => fetch(address, init), url, OPERATOR_TOKEN);

/** Limits that are checked by every begin and never reached. */
export const PLAN = {
  name: 'Bench',
  limitType: 'BLOCK',
  limits: { standardCalls: 1_000_000_000, premiumCalls: 1_000_000_000 },
  customMeters: { CUSTOM1: { label: 'Units', included: 1_000_000_000 } },
};

export interface TenantKey {
  organizationId: string;
  key: string;
}

export async function createTenantKey(url: string, plan: object = PLAN): Promise<TenantKey> {
  const operator = operatorOf(url);
  const { organizationId } = await createTenant(operator, plan);
  const { key } = (await operator.send('createKey', { params: { org: organizationId }, body: { name: 'bench' } })).data;
  return { organizationId, key };
}

/** Waits until D1 has all that the customers did. Throws after two minutes. */
export async function settled(url: string, organizationId: string, customers: readonly string[]): Promise<void> {
  const operator = operatorOf(url);
  const giveUpAtMs = Date.now() + SETTLE_MS_MAX;
  for (const customerId of customers) {
    for (;;) {
      const reply = await operator.send('readCustomer', { params: { org: organizationId, customerId } });
      // A customer whose turn has not come yet.
      if (reply.status === 404) break;
      const { pending } = reply.data.outbox;
      if (pending === 0) break;
      if (Date.now() > giveUpAtMs) throw new Error(`${customerId} still has ${pending} rows for D1`);
      await sleep(SETTLE_POLL_MS);
    }
  }
}

/** Ended calls of an organization that D1 has; `api` bears its key. */
export async function callsInD1(api: Api): Promise<number> {
  return (await api.send('readUsageSummary')).data.totals.calls;
}

/** Waits until D1 has so many ended calls. Throws after two minutes. */
export async function callsArrived(api: Api, wanted: number, pollMs: number): Promise<void> {
  for (const giveUpAtMs = Date.now() + SETTLE_MS_MAX; ; await sleep(pollMs)) {
    const arrived = await callsInD1(api);
    if (arrived >= wanted) return;
    if (Date.now() > giveUpAtMs) throw new Error(`D1 has ${arrived} of ${wanted} calls`);
  }
}
