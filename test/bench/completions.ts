/**
 * Chat completions in an open loop, for one endpoint of a gateway: which are asked for and when, and the latency that
 * the gateway adds to the vendor's own time, to the first byte of a stream and to the end of a response.
 *
 * Half of them are streamed. The vendor's times are drawn from a seed, so that every endpoint gets the same requests.
 */
import { chance } from '../support/series.ts';
import { COMPLETIONS_PATH, completionRequest, type Endpoint } from './gateway-service.ts';
import type { Connection } from './load.ts';
import { type OpenRun, poissonTimes, zipfDraws } from './open-loop.ts';
import { callsArrived, operatorOf, type TenantKey } from './service.ts';

const WARM_UP_RATE = 100;
const WARM_UP_SECONDS_MAX = 5;
const SETTLE_POLL_MS = 250;
/** The vendor's times are log-normal, with this mean and standard deviation of the logarithm, within these bounds. */
const VENDOR = { meanMs: 550, deviation: 0.5, leastMs: 200, mostMs: 1_500 };

/** The completions of a round, and their times: the same for each endpoint. */
export interface Plan {
  dueMs: number[];
  completions: { customer: number; vendorMs: number; stream: boolean }[];
}

/** Poisson times, and customers by Zipf's law. */
export function buildPlan(seed: number, customers: number, rate: number, seconds: number): Plan {
  const drawn = chance(seed);
  const dueMs = poissonTimes(drawn, rate, seconds);
  const completions = zipfDraws(drawn, customers, dueMs.length).map((customer) => ({
    customer,
    vendorMs: vendorMsOf(VENDOR.meanMs * drawn.lognormal(VENDOR.deviation)),
    stream: drawn.uniform() < 0.5,
  }));
  return { dueMs, completions };
}

const vendorMsOf = (ms: number) => Math.round(Math.min(VENDOR.mostMs, Math.max(VENDOR.leastMs, ms)));

/** First every customer once, so that none is new during the measurement; then a load like the measured one. */
export function warmUpPlans(customers: number, seconds: number): Plan[] {
  const each = Array.from({ length: customers }, (_, customer) => customer);
  const everyCustomer: Plan = {
    dueMs: each.map((customer) => (customer * 1_000) / WARM_UP_RATE),
    completions: each.map((customer) => ({ customer, vendorMs: VENDOR.leastMs, stream: customer % 2 === 0 })),
  };
  return [everyCustomer, buildPlan(0, customers, WARM_UP_RATE, Math.min(seconds, WARM_UP_SECONDS_MAX))];
}

/** The latencies are of all completions, of plain ones, of whole streams, and of the first bytes of streams. */
export function completionsRun(
  connection: Connection,
  endpoint: Endpoint,
  { dueMs, completions }: Plan,
): Omit<OpenRun, 'settle'> {
  return {
    pid: endpoint.pid,
    dueMs,
    async start(index, note, dueAtMs) {
      const completion = completions[index];
      if (!completion) throw new Error(`there is no completion ${index}`);
      const { stream } = completion;
      const added = await addedMs(connection, endpoint, completion, dueAtMs);
      if (stream) note('first byte of a stream', added.firstByteMs);
      note(stream ? 'whole stream' : 'plain', added.wholeMs);
      note('all', added.wholeMs);
    },
  };
}

/**
 * The same of Callmeter's gateway: a run also waits until D1 has every completion that these runs were answered. The
 * organization must not have other calls.
 */
export function meteredRuns(connection: Connection, metered: Endpoint, { key }: TenantKey): (plan: Plan) => OpenRun {
  const api = operatorOf(metered.url).with(key);
  let answered = 0;
  return (plan) => {
    const { start, ...run } = completionsRun(connection, metered, plan);
    const counted: OpenRun['start'] = async (...request) => {
      await start(...request);
      answered += 1;
    };
    return { ...run, start: counted, settle: () => callsArrived(api, answered, SETTLE_POLL_MS) };
  };
}

/** The time beyond the vendor's own, which each part of its answer states, since the request was due. */
export async function addedMs(
  connection: Connection,
  endpoint: Endpoint,
  completion: Plan['completions'][number],
  dueAtMs: number,
): Promise<{ firstByteMs: number; wholeMs: number }> {
  const arrivals: { atMs: number; part: Buffer }[] = [];
  const request = completionRequest(endpoint, completion);
  const body = await connection.send(endpoint.url + COMPLETIONS_PATH, request, (part) => {
    arrivals.push({ atMs: performance.now(), part });
  });
  const [first] = arrivals;
  const last = arrivals.at(-1);
  const firstVendorMs = vendorTimes(first?.part.toString() ?? '')[0];
  const lastVendorMs = vendorTimes(body).at(-1);
  const isWhole = !completion.stream || body.endsWith('data: [DONE]\n\n');
  if (!first || !last || firstVendorMs === undefined || lastVendorMs === undefined || !isWhole)
    throw new Error(`an answer is not whole: ${body.slice(-100)}`);
  return {
    firstByteMs: first.atMs - dueAtMs - firstVendorMs,
    wholeMs: last.atMs - dueAtMs - lastVendorMs,
  };
}

function vendorTimes(text: string): number[] {
  return [...text.matchAll(/"vendor_ms":([\d.]+)/g)].map(([, ms]) => Number(ms));
}
