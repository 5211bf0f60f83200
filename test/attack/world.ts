/**
 * The setup of an attack run: a server with its state on disk, vendors on loopback, and a tenant whose requests are
 * timed during attacks.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { CLIENT_SCOPES } from '../../src/contract/sessions.ts';
import { operatorOf, type RunningServer, startService } from '../bench/service.ts';
import { Sender } from '../fuzz/sender.ts';
import { type Api, createTenant, type Tenant } from '../support/api.ts';
import { type FakeVendor, startVendor } from '../vendors/vendor.ts';
import type { ProbeOptions, ProbeReport } from './probe.ts';

export interface World {
  server: RunningServer;
  operator: Api;
  vendor: FakeVendor;
  /** A tenant to attack with: with a key of all server scopes, and credentials for the vendor `openai`. */
  attacker(plan?: object): Promise<Attacker>;
  /** One request; `null` if the connection ended without an answer. */
  send(request: Attempt): Promise<Answer | null>;
  /** Many requests over this many connections, each counted by status; 0 if there was no answer. */
  flood(connections: number, requests: number, make: (index: number) => Attempt): Promise<Statuses>;
  /** Does the work, and returns its cost to everybody else. */
  observed(work: () => Promise<void>): Promise<Harm>;
  /** Size of the D1 database, in bytes. */
  databaseBytes(): Promise<number>;
}

export interface Attacker extends Tenant {
  key: string;
  /** A browser's token. */
  session(body?: Record<string, unknown>): Promise<string>;
}

interface Attempt {
  method?: string;
  path: string;
  token?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

/** Numbers of answers by their status. */
export type Statuses = Record<number, number>;

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: attacks look into it freely
  json: any;
}

/** The cost of an attack to others. */
export interface Harm {
  /** The slowest and the median of the other tenant's begins while it lasted. */
  worstMs: number;
  medianMs: number;
  /** Begins of the other tenant that were not answered with 200. */
  failed: number;
  /** By how much the server's memory grew at its peak; `null` on systems that do not say. */
  peakMiB: number | null;
}

const MEDIA_TYPE = 'application/vnd.service.v1+json';
const CONNECTIONS_MAX = 64;
const VICTIM_PLAN = { name: 'Honest', limitType: 'BLOCK', limits: { standardCalls: 1_000_000 } };
/** The other tenant's requests continue this long after an attack, because its effects may come late. */
const AFTERMATH_MS = 500;

export async function createWorld(scope: AsyncDisposableStack): Promise<World> {
  const vendor = await startVendor();
  scope.defer(() => vendor.close());
  const server = await startService(scope);
  const sender = new Sender(server.url, CONNECTIONS_MAX);
  scope.defer(() => sender.close());
  const operator = operatorOf(server.url);
  const victim = await createTenant(operator, VICTIM_PLAN);
  const { key: victimKey } = (
    await operator.send('createKey', { params: { org: victim.organizationId }, body: { name: 'honest' } })
  ).data;
  const send = async (attempt: Attempt) => sendOne(sender, attempt).catch(() => null);
  return {
    server,
    operator,
    vendor,
    send,
    attacker: (plan) => createAttacker(operator, vendor, plan),
    flood: (connections, requests, make) => flood(send, connections, requests, make),
    observed: (work) => observed(server, { url: server.url, key: victimKey }, work),
    databaseBytes: async () => (await server.db.prepare('SELECT 1').run()).meta.size_after,
  };
}

async function createAttacker(
  operator: Api,
  vendor: FakeVendor,
  plan: object = { name: 'Open', limitType: 'NONE' },
): Promise<Attacker> {
  const tenant = await createTenant(operator, plan);
  const params = { org: tenant.organizationId };
  const body = { apiKey: `sk-openai-${'k'.repeat(20)}`, baseUrl: `${vendor.url}/v1` };
  await operator.send('setVendor', { params: { ...params, provider: 'openai' }, body });
  const scopes = [...Object.keys(CLIENT_SCOPES), 'usage:read', 'usage:write', 'customers:read', 'customers:write'];
  const { key } = (await operator.send('createKey', { params, body: { name: 'attacker', scopes } })).data;
  const session = async (fields: Record<string, unknown> = {}) =>
    (await operator.with(key).send('createClientSession', { body: { customerId: 'browser', ...fields } })).data.token;
  return { ...tenant, api: operator.with(key), key, session };
}

async function sendOne(sender: Sender, { method = 'POST', path, token, headers = {}, body }: Attempt): Promise<Answer> {
  const bytes =
    body === undefined
      ? null
      : Buffer.isBuffer(body)
        ? body
        : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const sent: Record<string, string> = {
    Accept: MEDIA_TYPE,
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    ...(bytes && { 'Content-Type': 'application/json' }),
    ...headers,
  };
  const answer = await sender.send({
    operationId: 'none',
    kind: 'none',
    method,
    path,
    headers: Object.entries(sent).flat(),
    body: bytes,
  });
  return { ...answer, json: parseJson(answer.text) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether there were no other answers than with these. */
export function only(statuses: Statuses, ...expected: number[]): boolean {
  return Object.keys(statuses).every((status) => expected.includes(Number(status)));
}

async function flood(send: World['send'], connections: number, requests: number, make: (index: number) => Attempt) {
  const statuses: Statuses = {};
  let next = 0;
  const work = async () => {
    while (next < requests) {
      const index = next;
      next += 1;
      const status = (await send(make(index)))?.status ?? 0;
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  return statuses;
}

async function observed({ pid }: RunningServer, options: ProbeOptions, work: () => Promise<void>): Promise<Harm> {
  // A thread of its own, so that sending the attack does not slow the timed requests.
  const probe = new Worker(join(import.meta.dirname, 'probe.ts'), { workerData: options });
  const ready = Promise.withResolvers<void>();
  const report = Promise.withResolvers<ProbeReport>();
  probe.on('message', (message: 'ready' | ProbeReport) =>
    message === 'ready' ? ready.resolve() : report.resolve(message),
  );
  probe.on('error', (error) => {
    ready.reject(error);
    report.reject(error);
  });
  await ready.promise;
  const before = await beginPeak(pid);
  await work();
  await new Promise((resolve) => setTimeout(resolve, AFTERMATH_MS));
  const peak = await memoryOf(pid, 'VmHWM');
  probe.postMessage('stop');
  const { latenciesMs, failed } = await report.promise;
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  return {
    worstMs: Math.round(sorted.at(-1) ?? 0),
    medianMs: Math.round(10 * (sorted[Math.floor(sorted.length / 2)] ?? 0)) / 10,
    failed,
    peakMiB: before === null || peak === null ? null : Math.round(peak - before),
  };
}

/** Forgets the highest memory use so far (proc(5), clear_refs). Answers the present one. */
async function beginPeak(pid: number): Promise<number | null> {
  await writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => undefined);
  return memoryOf(pid, 'VmRSS');
}

async function memoryOf(pid: number, name: 'VmRSS' | 'VmHWM'): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
  return kib === undefined ? null : Number(kib) / 1_024;
}

/** The figures of an attack on everybody else, with the goals for a quiet machine. */
export function harmFigures({ worstMs, medianMs, failed, peakMiB }: Harm) {
  return {
    figures: {
      "another tenant's slowest begin, ms": worstMs,
      "another tenant's median begin, ms": medianMs,
      "another tenant's failed begins": failed,
      ...(peakMiB !== null && { 'memory at the peak, MiB more': peakMiB }),
    },
    goals: { "another tenant's slowest begin, ms": 250, 'memory at the peak, MiB more': 64 },
  };
}
