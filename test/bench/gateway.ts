/**
 * The gateway's speed against a Worker that passes the same requests to the same vendor and meters nothing: completions
 * per second, and the delay of a stream's first byte.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { freePort, HOST } from '../../src/cli/server.ts';
import { loadSteps } from './load.ts';
import { printed } from './report.ts';
import { measureRates, median, RATE_COLUMNS, type Target } from './rounds.ts';
import { createTenantKey, operatorOf, settled, startService } from './service.ts';
import type { Column, Options, Row, Suite } from './suite.ts';

/** Customers that the load is spread over; each is an object of its own. */
const CUSTOMERS = 64;
const PROMISED_RATIO = 0.35;
/** What the first byte of a stream may be later than the floor's. */
const PROMISED_LATER_MS = 3;
/** Streams of each kind in a round, one after the other in turns. */
const STREAMS_PER_ROUND = 60;
const WARM_UP = 20;

const PATH = '/v1/chat/completions';
const CUSTOMER_HEADER = 'x-usage-customer-id';
const MODEL = 'openai/gpt-5.2';
const messages = [{ role: 'user', content: 'Say forty words about anything at all, please.' }];
const FLOOR = 'floor: pass-through';

const FIRST_BYTE_COLUMNS: readonly Column[] = [
  { key: 'medianMs', heading: 'median ms', digits: 2 },
  { key: 'laterMs', heading: 'later, ms', digits: 2 },
];

interface Endpoint {
  url: string;
  headers: Record<string, string>;
}

interface Bench {
  floor: Endpoint;
  metered: Endpoint;
  organizationId: string;
  pid: number;
}

export const gateway: Suite = {
  about: 'a metered chat completion against a Worker that passes it to the same vendor unmetered',
  rounds: 9,
  seconds: 2,
  async run(options) {
    options.progress('starting');
    const bench = await start(options.scope);
    const rows = await measureRates(targets(bench), options);
    options.progress('first bytes of streams');
    const delays = await firstBytes(bench, options.rounds * STREAMS_PER_ROUND);
    return printed('Chat completions through the gateway', [
      { title: 'rates, 16 connections', columns: RATE_COLUMNS, rows },
      { title: 'first byte of a stream', columns: FIRST_BYTE_COLUMNS, rows: delays },
    ]);
  },
};

async function start(scope: Options['scope']): Promise<Bench> {
  const vendor = fork(join(import.meta.dirname, 'gateway-vendor.ts'));
  scope.defer(() => vendor.disconnect());
  const [vendorPort] = (await once(vendor, 'message')) as [number];
  const vendorUrl = `http://${HOST}:${vendorPort}`;
  const port = await freePort(0);
  const { url, pid } = await startService(scope, {
    beside: { script: join(import.meta.dirname, 'pass-through-worker.js'), port },
  });
  const { organizationId, key } = await createTenantKey(url);
  const credential = { apiKey: 'sk-bench', baseUrl: `${vendorUrl}/v1` };
  const set = await operatorOf(url).send('setVendor', {
    params: { org: organizationId, provider: 'openai' },
    body: credential,
  });
  if (set.status !== 200) throw new Error(`the vendor was refused: ${set.status}`);
  return {
    floor: { url: `http://${HOST}:${port}`, headers: { 'Content-Type': 'application/json', 'x-vendor': vendorUrl } },
    metered: { url, headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` } },
    organizationId,
    pid,
  };
}

function targets({ floor, metered, organizationId, pid }: Bench): Target[] {
  const body = JSON.stringify({ model: MODEL, messages });
  const completions = ({ url, headers }: Endpoint, customerHeaders: () => Record<string, string>) => {
    const request = () => ({ method: 'POST' as const, headers: { ...headers, ...customerHeaders() }, body });
    return (seconds: number) => loadSteps(url, [{ path: PATH, status: 200, request }], seconds);
  };
  const many = Array.from({ length: CUSTOMERS }, (_, index) => `customer-${index}`);
  const settling = (customers: string[]) => () => settled(metered.url, organizationId, customers);
  // The connections share the count: in step, they would ask for the same customer at the same time.
  let serial = 0;
  const inTurns = () => {
    serial += 1;
    return { [CUSTOMER_HEADER]: many[serial % CUSTOMERS] ?? '' };
  };
  return [
    { name: FLOOR, pid, load: completions(floor, () => ({})) },
    {
      name: `metered, ${CUSTOMERS} customers`,
      pid,
      load: completions(metered, inTurns),
      settle: settling(many),
      floor: FLOOR,
      promised: { atLeast: PROMISED_RATIO },
    },
    {
      name: 'metered, one customer',
      pid,
      load: completions(metered, () => ({ [CUSTOMER_HEADER]: 'only' })),
      settle: settling(['only']),
      floor: FLOOR,
      promised: { atLeast: PROMISED_RATIO },
    },
  ];
}

async function firstBytes({ floor, metered }: Bench, streams: number): Promise<Row[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times = { floor: [] as number[], metered: [] as number[] };
  for (let stream = -WARM_UP; stream < streams; stream += 1) {
    const floorMs = await firstByte(agent, floor);
    const meteredMs = await firstByte(agent, metered);
    if (stream < 0) continue;
    times.floor.push(floorMs);
    times.metered.push(meteredMs);
  }
  agent.destroy();
  const [floorMs, meteredMs] = [median(times.floor), median(times.metered)];
  return [
    { name: FLOOR, figures: { medianMs: floorMs, laterMs: null } },
    {
      name: 'metered, one customer',
      figures: { medianMs: meteredMs, laterMs: meteredMs - floorMs },
      promised: { of: 'laterMs', atMost: PROMISED_LATER_MS },
    },
  ];
}

/** Until the first byte of the body; the rest is read too. */
function firstByte(agent: Agent, { url, headers }: Endpoint): Promise<number> {
  const body = JSON.stringify({ model: MODEL, messages, stream: true });
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    let ms: number | undefined;
    const sent = { ...headers, [CUSTOMER_HEADER]: 'streamed', 'Content-Length': Buffer.byteLength(body) };
    const asked = httpRequest(url + PATH, { method: 'POST', agent, headers: sent }, (response) => {
      response.on('data', () => {
        ms ??= performance.now() - startedMs;
      });
      response.on('end', () =>
        response.statusCode === 200 && ms !== undefined
          ? resolve(ms)
          : reject(new Error(`${url} answered ${response.statusCode}`)),
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
