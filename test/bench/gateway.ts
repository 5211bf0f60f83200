/**
 * The latency that the gateway adds to a chat completion, in an open loop: 50 and 100 completions a second from 64
 * customers by Zipf's law, half of them streamed, with a vendor that takes 200 to 1,500 ms. The baseline is a Worker
 * that passes the same requests at the same times to the same vendor.
 *
 * Latencies are in addition to the vendor's own time, to the first byte of a stream and to the end of a response. Pairs
 * of begin and end, from applications that call their vendor directly, follow at the same rates, with total latencies.
 */
import { chance } from '../support/series.ts';
import {
  COMPLETIONS_PATH,
  CUSTOMERS,
  completionRequest,
  type Endpoint,
  type GatewayService,
  PASS_THROUGH,
  startGateway,
} from './gateway-service.ts';
import { Connection } from './load.ts';
import {
  GENERATOR_COLUMNS,
  generatorRow,
  measureOpenLoop,
  OPEN_LOOP_COLUMNS,
  type OpenRound,
  type OpenRun,
  openLoopRows,
  poissonTimes,
  warmUp,
  zipfDraws,
} from './open-loop.ts';
import { measurePairs } from './pairs.ts';
import { printed } from './report.ts';
import { callsArrived, operatorOf } from './service.ts';
import type { Options, Row, Suite, Table } from './suite.ts';

const RATES = [50, 100];
const WARM_UP_RATE = 100;
const WARM_UP_SECONDS_MAX = 5;
/** The vendor's times are log-normal, with this mean and standard deviation of the logarithm, within these bounds. */
const VENDOR = { meanMs: 550, deviation: 0.5, leastMs: 200, mostMs: 1_500 };
const SETTLE_POLL_MS = 250;

export const gateway: Suite = {
  about: 'what is added to a completion, and begins and ends, at 50 and 100 a second in an open loop',
  rounds: 5,
  seconds: 10,
  async run(options) {
    options.progress('starting');
    const service = await startGateway(options.scope);
    const completions = await measureCompletions(service, options);
    const pairs = await measurePairs(service.metered, RATES, options);
    const generators = [...completions.generators, ...pairs.generators];
    return printed('The gateway, and begins and ends, in an open loop', [
      ...completions.tables,
      ...pairs.tables,
      { title: 'the load generator', columns: GENERATOR_COLUMNS, rows: generators },
    ]);
  },
};

async function measureCompletions(
  service: GatewayService,
  { rounds, seconds, scope, progress }: Options,
): Promise<{ tables: Table[]; generators: Row[] }> {
  const targets = targetsOf(service, scope);
  progress('warming up');
  for (const plan of [everyCustomer(), planOf(0, WARM_UP_RATE, Math.min(seconds, WARM_UP_SECONDS_MAX))])
    await Promise.all(targets.map(({ run }) => warmUp(run(plan))));
  const tables: Table[] = [];
  const generators: Row[] = [];
  for (const rate of RATES) {
    const measured = new Map<string, OpenRound[]>(targets.map(({ name }) => [name, []]));
    for (let round = 1; round <= rounds; round += 1) {
      const plan = planOf(round, rate, seconds);
      for (const { name, run } of targets) {
        progress(`round ${round} of ${rounds}, completions at ${rate}/s: ${name}`);
        measured.get(name)?.push(await measureOpenLoop(run(plan)));
      }
    }
    const title = `completions, ${rate}/s, ms added`;
    const rows = [...measured].flatMap(([name, taken]) => openLoopRows(name, taken));
    tables.push({ title, columns: OPEN_LOOP_COLUMNS, rows });
    generators.push(...[...measured].map(([name, taken]) => generatorRow(`${name}, ${rate}/s`, taken)));
  }
  return { tables, generators };
}

/** Which completions are asked for, and when: the same for each target of a round. */
interface Plan {
  dueMs: number[];
  completions: { customer: number; vendorMs: number; stream: boolean }[];
}

function planOf(seed: number, rate: number, seconds: number): Plan {
  const drawn = chance(seed);
  const dueMs = poissonTimes(drawn, rate, seconds);
  const completions = zipfDraws(drawn, CUSTOMERS, dueMs.length).map((customer) => ({
    customer,
    vendorMs: vendorMsOf(VENDOR.meanMs * drawn.lognormal(VENDOR.deviation)),
    stream: drawn.uniform() < 0.5,
  }));
  return { dueMs, completions };
}

const vendorMsOf = (ms: number) => Math.round(Math.min(VENDOR.mostMs, Math.max(VENDOR.leastMs, ms)));

/** So that no customer is new to what is measured. */
function everyCustomer(): Plan {
  const customers = Array.from({ length: CUSTOMERS }, (_, customer) => customer);
  return {
    dueMs: customers.map((customer) => (customer * 1_000) / WARM_UP_RATE),
    completions: customers.map((customer) => ({ customer, vendorMs: VENDOR.leastMs, stream: customer % 2 === 0 })),
  };
}

interface Target {
  name: string;
  run(plan: Plan): OpenRun;
}

function targetsOf({ metered, passThrough, tenant }: GatewayService, scope: Options['scope']): Target[] {
  const connection = scope.use(new Connection(Number.POSITIVE_INFINITY));
  const api = operatorOf(metered.url).with(tenant.key);
  let answered = 0;
  return [
    { name: PASS_THROUGH, run: (plan) => runOf(passThrough, plan) },
    {
      name: 'metered',
      run(plan) {
        const { start, ...run } = runOf(metered, plan);
        const counted: OpenRun['start'] = async (...request) => {
          await start(...request);
          answered += 1;
        };
        return { ...run, start: counted, settle: () => callsArrived(api, answered, SETTLE_POLL_MS) };
      },
    },
  ];

  function runOf(endpoint: Endpoint, { dueMs, completions }: Plan): OpenRun {
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
}

/** What came on top of the vendor's own time, which each part of its answer tells, since the request was due. */
async function addedMs(
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
