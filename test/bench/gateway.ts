/**
 * The gateway's speed against a Worker that passes the same requests to the same vendor and meters nothing: completions
 * per second, and the delay of a stream's first byte.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { Api, createTenant, OPERATOR_TOKEN } from '../support/api.ts';
import type { Target } from './rounds.ts';

export const GATEWAY_VARS = {
  OPERATOR_TOKEN,
  VENDOR_KEY_SECRET: 'bench-vendor-key-secret-of-32-characters',
  SESSION_SECRET: 'bench-session-secret-of-at-least-32-characters',
};

/** Customers that the load is spread over; each is an object of its own. */
const CUSTOMERS = 64;
/** Streams of each kind, one after the other in turns. */
const STREAMS = 300;
const WARM_UP = 20;

const MODEL = 'openai/gpt-5.2';
const messages = [{ role: 'user', content: 'Say forty words about anything at all, please.' }];

export interface GatewayBench {
  targets: Target[];
  /** Milliseconds to the first byte of a stream, at the median. */
  firstByteMs(): Promise<{ name: string; ms: number }[]>;
  stop(): void;
}

export async function startGatewayBench(url: string, floorUrl: string): Promise<GatewayBench> {
  const child = fork(join(import.meta.dirname, 'gateway-vendor.ts'));
  const [port] = (await once(child, 'message')) as [number];
  const vendorUrl = `http://127.0.0.1:${port}`;
  const key = await tenantKey(url, `${vendorUrl}/v1`);
  const path = '/v1/chat/completions';
  const floor = { url: `${floorUrl}${path}`, headers: { 'Content-Type': 'application/json', 'x-vendor': vendorUrl } };
  const metered = { url: `${url}${path}`, headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` } };
  const body = JSON.stringify({ model: MODEL, messages });
  const of = (customer: string) => ({ headers: { ...metered.headers, 'x-usage-customer-id': customer } });
  const spread = Array.from({ length: CUSTOMERS }, (_, customer) => of(`customer-${customer}`));
  return {
    targets: [
      { name: 'floor: pass-through', ...floor, method: 'POST', body, status: 200 },
      { name: `metered, ${CUSTOMERS} customers`, ...metered, method: 'POST', body, requests: spread, status: 200 },
      { name: 'metered, one customer', ...metered, method: 'POST', body, requests: [of('only')], status: 200 },
    ],
    firstByteMs: () =>
      firstBytes([
        { name: 'floor: pass-through', ...floor },
        { name: 'metered', ...metered },
      ]),
    stop: () => stop(child),
  };
}

async function tenantKey(url: string, baseUrl: string): Promise<string> {
  const operator = new Api(fetch, url, OPERATOR_TOKEN);
  const { organizationId } = await createTenant(operator, { name: 'Bench', limitType: 'BLOCK', limits: { premiumCalls: 1_000_000_000 } });
  const params = { org: organizationId };
  await operator.send('setVendor', { params: { ...params, provider: 'openai' }, body: { apiKey: 'sk-bench', baseUrl } });
  return (await operator.send('createKey', { params, body: { name: 'bench' } })).data.key;
}

interface Streamed {
  name: string;
  url: string;
  headers: Record<string, string>;
}

async function firstBytes(kinds: Streamed[]): Promise<{ name: string; ms: number }[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const body = JSON.stringify({ model: MODEL, messages, stream: true });
  const times = kinds.map(() => [] as number[]);
  for (let stream = -WARM_UP; stream < STREAMS; stream += 1) {
    for (const [index, kind] of kinds.entries()) {
      const ms = await firstByte(agent, kind, body);
      if (stream >= 0) times[index]?.push(ms);
    }
  }
  agent.destroy();
  return kinds.map(({ name }, index) => ({ name, ms: median(times[index] ?? []) }));
}

/** Until the first byte of the body; the rest is read too. */
function firstByte(agent: Agent, { url, headers }: Streamed, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    let ms: number | undefined;
    const sent = request(url, { method: 'POST', agent, headers: { ...headers, 'Content-Length': Buffer.byteLength(body) } }, (response) => {
      response.on('data', () => {
        ms ??= performance.now() - startedMs;
      });
      response.on('end', () =>
        response.statusCode === 200 && ms !== undefined ? resolve(ms) : reject(new Error(`${url} answered ${response.statusCode}`)),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function stop(child: ChildProcess): void {
  child.disconnect();
}
