/**
 * The latency that the gateway adds to a chat completion, in an open loop: 50 and 100 completions a second from 64
 * customers by Zipf's law, half of them streamed, with a vendor that takes 200 to 1,500 ms. The baseline is a Worker
 * that passes the same requests at the same times to the same vendor.
 *
 * Latencies are in addition to the vendor's own time, to the first byte of a stream and to the end of a response. Pairs
 * of begin and end, from applications that call their vendor directly, follow at the same rates, with total latencies.
 */
import { buildPlan, completionsRun, meteredRuns, type Plan, warmUpPlans } from './completions.ts';
import { CUSTOMERS, type GatewayService, PASS_THROUGH, startGateway } from './gateway-service.ts';
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
import { measurePairs } from './pairs.ts';
import { printed } from './report.ts';
import type { Options, Row, Suite, Table } from './suite.ts';

const RATES = [50, 100];

export const gateway: Suite = {
  about: 'what is added to a completion, and begins and ends, at 50 and 100 a second in an open loop',
  shares: true,
  rounds: 5,
  seconds: 10,
  async run(options) {
    options.progress('starting');
    const service = await startGateway(options);
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
  { rounds, seconds, short, scope, progress }: Options,
): Promise<{ tables: Table[]; generators: Row[] }> {
  const targets = buildTargets(service, scope);
  if (!short) progress('warming up');
  for (const plan of short ? [] : warmUpPlans(CUSTOMERS, seconds))
    await Promise.all(targets.map(({ run }) => warmUp(run(plan))));
  const tables: Table[] = [];
  const generators: Row[] = [];
  for (const rate of RATES) {
    const measured = new Map<string, OpenRound[]>(targets.map(({ name }) => [name, []]));
    for (let round = 1; round <= rounds; round += 1) {
      const plan = buildPlan(round, CUSTOMERS, rate, seconds);
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

interface Target {
  name: string;
  run(plan: Plan): OpenRun;
}

function buildTargets({ metered, passThrough, tenant }: GatewayService, scope: Options['scope']): Target[] {
  const connection = scope.use(new Connection(Number.POSITIVE_INFINITY));
  return [
    { name: PASS_THROUGH, run: (plan) => completionsRun(connection, passThrough, plan) },
    { name: 'metered', run: meteredRuns(connection, metered, tenant) },
  ];
}
