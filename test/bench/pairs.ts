/**
 * Pairs of begin and end in an open loop, as from an application that calls its vendor directly: each call ends 400 ms
 * after its begin returned. Calls come from one customer, from 200 in turn, or from 64 by Zipf's law. Latencies are
 * totals, and the processor time is of a begin and its end together.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { chance } from '../support/series.ts';
import { CUSTOMERS, customerName } from './gateway-service.ts';
import { Connection } from './load.ts';
import { MeteredLoad } from './metered-load.ts';
import {
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
import { callsArrived, createTenantKey, operatorOf, type RunningServer } from './service.ts';
import type { Options, Row, Table } from './suite.ts';

const MANY = 200;
const CALL_MS = 400;
const WARM_UP_RATE = 200;
const SETTLE_POLL_MS = 250;
/** After so many calls, the same customers come in the same order again. */
const DRAWS = 5_000;

interface Target {
  name: string;
  /** Distinct customers, who come first and once each. */
  customers: number;
  run(dueMs: number[]): OpenRun;
}

export async function measurePairs(
  service: Pick<RunningServer, 'url' | 'pid'>,
  rates: readonly number[],
  { rounds, seconds, short, scope, progress }: Options,
): Promise<{ tables: Table[]; generators: Row[] }> {
  const connection = scope.use(new Connection(Number.POSITIVE_INFINITY));
  const targets = [
    await startTarget(service, connection, 'one customer', 1, []),
    await startTarget(service, connection, `${MANY} customers`, MANY, []),
    await startTarget(service, connection, `${CUSTOMERS} by Zipf`, CUSTOMERS, zipfDraws(chance(0), CUSTOMERS, DRAWS)),
  ];
  const tables: Table[] = [];
  const generators: Row[] = [];
  const everyCustomer = (customers: number) =>
    Array.from({ length: customers }, (_, index) => (index * 1_000) / WARM_UP_RATE);
  if (!short) {
    progress('every customer once');
    await Promise.all(targets.map(({ customers, run }) => warmUp(run(everyCustomer(customers)))));
  }
  for (const rate of rates) {
    const measured = new Map<string, OpenRound[]>(targets.map(({ name }) => [name, []]));
    for (let round = 1; round <= rounds; round += 1) {
      const dueMs = poissonTimes(chance(round), rate, seconds);
      for (const { name, run } of targets) {
        progress(`round ${round} of ${rounds}, begins and ends at ${rate}/s: ${name}`);
        measured.get(name)?.push(await measureOpenLoop(run(dueMs)));
      }
    }
    const rows = [...measured].flatMap(([name, taken]) => openLoopRows(name, taken));
    tables.push({ title: `begins and ends, ${rate}/s`, columns: OPEN_LOOP_COLUMNS, rows });
    generators.push(...[...measured].map(([name, taken]) => generatorRow(`pairs, ${name}, ${rate}/s`, taken)));
  }
  return { tables, generators };
}

async function startTarget(
  { url, pid }: Pick<RunningServer, 'url' | 'pid'>,
  connection: Connection,
  name: string,
  customers: number,
  draws: readonly number[],
): Promise<Target> {
  const tenant = await createTenantKey(url);
  const names = [...Array.from({ length: customers }, (_, index) => index), ...draws].map(customerName);
  const load = new MeteredLoad(url, tenant, names);
  const api = operatorOf(url).with(tenant.key);
  const settle = () => callsArrived(api, load.ended, SETTLE_POLL_MS);
  return { name, customers, run: (dueMs) => ({ ...pairsRun(load, connection, pid, dueMs), settle }) };
}

/** Begins at these times, each with its end 400 ms after the answer. */
export function pairsRun(
  load: MeteredLoad,
  connection: Connection,
  pid: number,
  dueMs: readonly number[],
): Omit<OpenRun, 'settle'> {
  return {
    pid,
    dueMs,
    async start(_index, note, dueAtMs) {
      const callId = await load.beginOnce(connection, { keyed: true });
      const begunMs = performance.now();
      note('begin', begunMs - dueAtMs);
      await sleep(CALL_MS);
      const endDueMs = begunMs + CALL_MS;
      await load.endOnce(connection, callId);
      note('end', performance.now() - endDueMs);
    },
  };
}
