/**
 * The model beside a measurement: calls come in an open loop from customers in turn, and D1's transactions, their rows
 * and the ended calls that D1 does not have are compared with the queue's figures for the same load.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { chance } from '../../support/series.ts';
import { type Caller, COUNTING, call, callsTogether, customerName, restMs, SHORT_MS } from '../counted-calls.ts';
import { takeCounts } from '../counts.ts';
import { Connection } from '../load.ts';
import { poissonTimes } from '../open-loop.ts';
import { callsInD1, createTenantKey, operatorOf, startService } from '../service.ts';
import type { Column, Options, Row } from '../suite.ts';
import { D1_MS, ORGANIZATION_ROWS, SETTINGS, SHORT_CALL } from './measured.ts';
import { runQueue } from './queue.ts';

const CALLS_PER_SECOND = 20;
const CUSTOMERS = 200;
/** From then on as many arrive as end. */
const FIRST_LOOK_SECOND = 6;
/** At a time, so that a busy machine is not asked for all of them at once. */
const WARM_UP_CALLS = 50;

export const CHECK_COLUMNS: readonly Column[] = [
  { key: 'transactionsPerSecond', heading: 'transact./s', digits: 2 },
  { key: 'rowsPerCall', heading: 'rows a call', digits: 2 },
  { key: 'behindCalls', heading: 'calls behind', digits: 0 },
  { key: 'busyShare', heading: 'busy, share', digits: 2 },
];

export async function checkRows({ seconds, short, scope, progress }: Options): Promise<Row[]> {
  progress('starting a service to compare with');
  const { url } = await startService(scope, { bundled: COUNTING });
  const tenant = await createTenantKey(url);
  const caller = { url, tenant, connection: scope.use(new Connection(Number.POSITIVE_INFINITY)) };
  if (!short) await warmUp(caller);
  await takeCounts(url);
  const api = operatorOf(url).with(tenant.key);
  const before = await callsInD1(api);
  progress(`${CALLS_PER_SECOND} calls a second for ${seconds} s`);
  const startMs = performance.now();
  let ended = 0;
  const running: Promise<unknown>[] = [];
  const behind: number[] = [];
  const watch = (async () => {
    for (let second = FIRST_LOOK_SECOND; second < seconds; second += 1) {
      await sleep(Math.max(0, startMs + second * 1_000 - performance.now()));
      const endedBefore = ended;
      const arrived = (await callsInD1(api)) - before;
      // Calls went on ending while D1 was asked.
      behind.push((endedBefore + ended) / 2 - arrived);
    }
  })();
  for (const [index, dueMs] of poissonTimes(chance(1), CALLS_PER_SECOND, seconds).entries()) {
    await sleep(Math.max(0, startMs + dueMs - performance.now()));
    const one = call(caller, customerName(index % CUSTOMERS)).then(() => (ended += 1));
    // A failure is thrown below, when all have been waited for.
    one.catch(() => undefined);
    running.push(one);
  }
  await watch;
  await Promise.all(running);
  await sleep(restMs(short));
  const { figures } = await takeCounts(url);
  const calls = running.length;
  const took = seconds + (SHORT_MS + SETTINGS.handOverDelayMs + SETTINGS.gatherMs) / 1_000;
  const measured = {
    transactionsPerSecond: (figures['D1 transactions'] ?? 0) / took,
    rowsPerCall: (figures['D1 rows written'] ?? 0) / calls,
    busyShare: (figures['projector busy'] ?? 0) / (figures['projector requests'] ?? 1),
    behindCalls: behind.reduce((sum, calls) => sum + calls, 0) / behind.length,
  };
  return [
    { name: 'measured', figures: measured },
    { name: 'the model', figures: predicted(seconds) },
  ];
}

/** Every customer twice. */
async function warmUp(caller: Caller): Promise<void> {
  for (let first = 0; first < CUSTOMERS; first += WARM_UP_CALLS)
    await callsTogether(caller, WARM_UP_CALLS, { customer: (index) => customerName(first + index) });
  // A customer that was told that its projector is busy is told otherwise at its next hand-over.
  await sleep(restMs(false));
  for (let first = 0; first < CUSTOMERS; first += CALLS_PER_SECOND)
    await callsTogether(caller, CALLS_PER_SECOND, { customer: (index) => customerName(first + index) });
  await sleep(restMs(false));
}

/** For one organization, whose calls end with the hand-over in which they began. */
function predicted(seconds: number): Row['figures'] {
  const transactionMs = (calls: number) =>
    D1_MS.transaction + D1_MS.row * (calls * SHORT_CALL.d1OwnRows + ORGANIZATION_ROWS);
  const source = { changesPerSecond: CALLS_PER_SECOND, projector: 0, variation: 0 };
  const queue = runQueue(chance(1), { ...SETTINGS, transactionMs }, [source], Math.max(seconds, 60));
  const callsPerTransaction = CALLS_PER_SECOND / queue.transactionsPerSecond;
  return {
    transactionsPerSecond: queue.transactionsPerSecond,
    rowsPerCall: SHORT_CALL.d1OwnRows + ORGANIZATION_ROWS / callsPerTransaction,
    // A change waits from its begin on.
    behindCalls: (CALLS_PER_SECOND * (queue.meanMs - SHORT_MS)) / 1_000,
  };
}
