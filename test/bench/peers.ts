/**
 * The gateway beside Portkey's, in turns and with the same vendor: Callmeter with all it does for a completion (key,
 * customer, quota, exact cost, delivery to D1), Portkey as a plain proxy that keeps nothing.
 *
 * An open loop measures the latency that each adds, at 100 completions a second with a vendor's real times, half of
 * them streamed; a closed loop of 16 connections measures the throughput, with a vendor that answers at once. Callmeter
 * runs with one customer and with 64; Portkey knows no customers. Processor time is of all processes of each.
 */
import { buildPlan, completionsRun, meteredRuns, type Plan, warmUpPlans } from './completions.ts';
import { completionsLoad } from './gateway-closed-loop.ts';
import { CUSTOMERS, customerName, type Endpoint, startGateway } from './gateway-service.ts';
import { Connection } from './load.ts';
import {
  GENERATOR_COLUMNS,
  generatorRow,
  measureOpenLoop,
  OPEN_LOOP_COLUMNS,
  type OpenRound,
  type OpenRun,
  openLoopRows,
  warmUp,
} from './open-loop.ts';
import { PORTKEY, startPortkey } from './portkey.ts';
import { printed } from './report.ts';
import { measureRates, median, quantile, RATE_COLUMNS, type Target as RateTarget } from './rounds.ts';
import { settled } from './service.ts';
import type { Column, Options, Row, Suite, Table } from './suite.ts';

const RATE = 100;
const AT_LEAST_AS_GOOD = { of: 'better', atLeast: 1 };

const COLUMNS: readonly Column[] = [
  { key: 'callmeter', heading: 'Callmeter', digits: 2 },
  { key: 'portkey', heading: 'Portkey', digits: 2 },
  { key: 'better', heading: 'times better', digits: 2 },
];

interface Target {
  name: string;
  endpoint: Endpoint;
  customers: number;
  run(plan: Plan): OpenRun;
}

export const peers: Suite = {
  about: `the gateway beside ${PORTKEY.name} ${PORTKEY.version}, which the first run installs from the npm registry`,
  shares: true,
  apart: true,
  rounds: 3,
  seconds: 10,
  async run(options) {
    const { scope, progress } = options;
    progress('starting');
    const service = await startGateway(options);
    const { metered, tenant } = service;
    const portkey = await startPortkey(options, service.vendorUrl);
    const connection = scope.use(new Connection(Number.POSITIVE_INFINITY));
    await checkAnswers(portkey, connection);
    const run = meteredRuns(connection, metered, tenant);
    const theirs: Target = {
      name: 'Portkey',
      endpoint: portkey,
      customers: CUSTOMERS,
      run: (plan) => completionsRun(connection, portkey, plan),
    };
    const ours: Target[] = [
      { name: 'one customer', endpoint: metered, customers: 1, run },
      { name: `${CUSTOMERS} customers`, endpoint: metered, customers: CUSTOMERS, run },
    ];
    const targets = [theirs, ...ours];
    const rounds = await measureLatency(targets, options);
    const customers = Array.from({ length: CUSTOMERS }, (_, index) => customerName(index));
    const settle = () => settled(metered.url, tenant.organizationId, customers);
    const rates = await measureRates(
      targets.map((target): RateTarget => {
        const { name, endpoint, customers } = target;
        const load = completionsLoad(endpoint, customers);
        return { name, pid: endpoint.pid, load, ...(target !== theirs && { floor: theirs.name, settle }) };
      }),
      options,
    );
    const latencies = (name: string) => rounds.get(name) ?? [];
    return printed(`Completions: Callmeter, metered, and ${PORTKEY.name} ${PORTKEY.version} on Node ${portkey.node}`, [
      ...ours.map(({ name }) => comparison(name, latencies(name), latencies(theirs.name), rates)),
      { title: 'closed loop, 16 connections', columns: RATE_COLUMNS, rows: rates },
      {
        title: `open loop, ${RATE}/s, ms added`,
        columns: OPEN_LOOP_COLUMNS,
        rows: targets.flatMap(({ name }) => openLoopRows(name, latencies(name))),
      },
      {
        title: 'the load generator',
        columns: GENERATOR_COLUMNS,
        rows: targets.map(({ name }) => generatorRow(name, latencies(name))),
      },
    ]);
  },
};

/** Throws if a completion, streamed or plain, fails: the installed version may not work on this Node. */
async function checkAnswers(portkey: Endpoint, connection: Connection): Promise<void> {
  const [everyCustomer] = warmUpPlans(2, 1);
  if (!everyCustomer) throw new Error('there is no plan');
  const { start } = completionsRun(connection, portkey, everyCustomer);
  for (const index of everyCustomer.completions.keys()) await start(index, () => {}, performance.now());
}

/** By the target's name. */
async function measureLatency(
  targets: readonly Target[],
  { rounds, seconds, progress }: Options,
): Promise<Map<string, OpenRound[]>> {
  progress('warming up');
  for (const { customers, run } of targets) for (const plan of warmUpPlans(customers, seconds)) await warmUp(run(plan));
  const measured = new Map<string, OpenRound[]>(targets.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, customers, run } of targets) {
      progress(`round ${round} of ${rounds}, completions at ${RATE}/s: ${name}`);
      // Times and streams depend on the seed alone, not on the number of customers.
      measured.get(name)?.push(await measureOpenLoop(run(buildPlan(round, customers, RATE, seconds))));
    }
  }
  return measured;
}

/** Medians of the rounds, and how many times better ours are: medians of the ratios within a round. */
function comparison(
  name: string,
  ours: readonly OpenRound[],
  theirs: readonly OpenRound[],
  rates: readonly Row[],
): Table {
  const [ourRate, theirRate] = [name, 'Portkey'].map((wanted) => rates.find((row) => row.name === wanted)?.figures);
  const closed = (what: string, key: string, ratio: string): Row => ({
    name: `closed loop, ${what}`,
    figures: {
      callmeter: ourRate?.[key] ?? null,
      portkey: theirRate?.[key] ?? null,
      better: ourRate?.[ratio] ?? null,
    },
    promised: AT_LEAST_AS_GOOD,
  });
  const open = (what: string, of: (round: OpenRound) => number): Row => {
    const [our, their] = [ours.map(of), theirs.map(of)];
    const better = median(our.map((figure, round) => (their[round] ?? Number.NaN) / figure));
    const figures = { callmeter: median(our), portkey: median(their), better };
    return { name: `open loop, ${what}`, figures, promised: AT_LEAST_AS_GOOD };
  };
  const added = (kind: string, share: number) => (round: OpenRound) =>
    quantile(round.latenciesMs.get(kind) ?? [], share);
  const errors = (rounds: readonly OpenRound[]) => rounds.reduce((sum, round) => sum + round.errors, 0);
  return {
    title: name,
    columns: COLUMNS,
    rows: [
      closed('completions/s', 'requestsPerSecond', 'ratio'),
      closed('CPU ms each', 'processorMs', 'processorRatio'),
      open('median ms added', added('all', 0.5)),
      open('95th ms added', added('all', 0.95)),
      open('99th ms added', added('all', 0.99)),
      open('first byte, median', added('first byte of a stream', 0.5)),
      open('CPU ms each', ({ processorMs }) => processorMs ?? Number.NaN),
      {
        name: 'open loop, errors',
        figures: { callmeter: errors(ours), portkey: errors(theirs) },
        promised: { of: 'callmeter', atMost: errors(theirs) },
      },
    ],
  };
}
