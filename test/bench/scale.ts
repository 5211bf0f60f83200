/**
 * Ten thousand customers of one organization, once in turn and once by Zipf's law: pairs of begin and end with a key,
 * in a closed loop of 16 connections and in an open loop, 100 a second.
 *
 * In the closed loop rates are compared with one transaction of an object that does nothing else, of as many objects in
 * the same order. Each load is followed by the wait until D1 has every call; how long that took is reported. Before all,
 * each customer makes a first call.
 */
import { chance } from '../support/series.ts';
import { transaction } from './calls.ts';
import { FIRST_USE_COLUMNS, FIRST_USES_AT_ONCE, firstUseOf } from './first-use.ts';
import { customerName } from './gateway-service.ts';
import { Connection, loadSteps } from './load.ts';
import { MeteredLoad } from './metered-load.ts';
import {
  GENERATOR_COLUMNS,
  generatorRow,
  measureOpenLoop,
  OPEN_LOOP_COLUMNS,
  type OpenRound,
  openLoopRows,
  poissonTimes,
  zipfDraws,
} from './open-loop.ts';
import { pairsRun } from './pairs.ts';
import { printed } from './report.ts';
import { measureRates, median, RATE_COLUMNS, type Target } from './rounds.ts';
import {
  callsArrived,
  callsInD1,
  createTenantKey,
  operatorOf,
  type RunningServer,
  startServiceAndFloor,
} from './service.ts';
import type { Column, Options, Row, Suite } from './suite.ts';

const CUSTOMERS_MAX = 10_000;
/** So that a run with a short history has few customers too. */
const CALLS_PER_CUSTOMER = 100;
const RATE = 100;
/** After so many calls, the same customers come in the same order again. */
const DRAWS = 20_000;
/** A number that makes a first call in well under ten seconds. */
const LIVE_OBJECTS = 300;
const WARM_UP_CALLS = 500;
const POLL_MS = 50;

const DELAY_COLUMNS: readonly Column[] = [
  { key: 'medianMs', heading: 'median ms', digits: 0 },
  { key: 'highestMs', heading: 'highest ms', digits: 0 },
];

/** An order in which customers make calls. */
interface Order {
  name: string;
  /** The numbers of the customers, repeatedly. */
  numbers: readonly number[];
  load: MeteredLoad;
}

/** Waits until D1 has every call; says how long that took. */
type CatchUp = () => Promise<number>;

export const scale: Suite = {
  about: `begin and end of ${CUSTOMERS_MAX} customers, in turn and by Zipf's law, in a closed loop and an open one`,
  shares: true,
  rounds: 3,
  seconds: 10,
  async run(options) {
    const { scope, historyCalls, short, progress } = options;
    progress('starting');
    const { service, floor } = await startServiceAndFloor(options);
    const count = Math.min(CUSTOMERS_MAX, Math.ceil(historyCalls / CALLS_PER_CUSTOMER));
    const connection = scope.use(new Connection(FIRST_USES_AT_ONCE));
    if (!short) await warmUp(service, connection);
    const tenant = await createTenantKey(service.url);
    const orders = ordersOf(count).map(
      ({ name, numbers }): Order => ({
        name,
        numbers,
        load: new MeteredLoad(service.url, tenant, numbers.map(customerName)),
      }),
    );
    const [inTurn] = orders;
    if (!inTurn) throw new Error('there is no order');
    const ended = () => orders.reduce((sum, { load }) => sum + load.ended, 0);
    const catchUp = catchUpOf(service, tenant.key, ended);
    const callOnce = async () =>
      inTurn.load.endOnce(connection, await inTurn.load.beginOnce(connection, { keyed: true }));
    const first: Row[] = [];
    for (const range of rangesOf(count))
      first.push(
        await firstUseOf('floor: objects', floor, range, options, (number) => transact(connection, floor, number)),
      );
    for (const range of rangesOf(count))
      first.push(await firstUseOf('customers', service, range, options, callOnce, catchUp));
    const delays = new Map<string, number[]>();
    const rates = await measureRates(
      orders.flatMap((order) =>
        buildTargets(order, service, floor, delaysOf(delays, `closed loop, ${order.name}`, catchUp)),
      ),
      options,
    );
    // The first round of rates warms up.
    if (!short) for (const taken of delays.values()) taken.shift();
    const open = await measureOpen(orders, service, options, (name) => delaysOf(delays, `open loop, ${name}`, catchUp));
    return printed(`Begin and end of ${count} customers`, [
      { title: 'rates, 16 connections', columns: RATE_COLUMNS, rows: rates },
      {
        title: `begins and ends, ${RATE}/s`,
        columns: OPEN_LOOP_COLUMNS,
        rows: [...open].flatMap(([name, taken]) => openLoopRows(name, taken)),
      },
      { title: 'a first call, transaction', columns: FIRST_USE_COLUMNS, rows: first },
      { title: 'until D1 has every call', columns: DELAY_COLUMNS, rows: [...delays].map(delayRow) },
      {
        title: 'the load generator',
        columns: GENERATOR_COLUMNS,
        rows: [...open].map(([name, taken]) => generatorRow(name, taken)),
      },
    ]);
  },
};

/** Objects that live at the same time, and the others. */
function rangesOf(count: number): { from: number; to: number }[] {
  const live = { from: 0, to: Math.min(LIVE_OBJECTS, count) };
  return live.to === count ? [live] : [live, { from: live.to, to: count }];
}

/** In turn, and by Zipf's law. */
function ordersOf(count: number): Pick<Order, 'name' | 'numbers'>[] {
  return [
    { name: 'in turn', numbers: Array.from({ length: count }, (_, number) => number) },
    { name: 'by Zipf', numbers: zipfDraws(chance(0), count, DRAWS) },
  ];
}

/** Calls of another organization, so that the code is compiled before memory is looked at. */
async function warmUp({ url }: RunningServer, connection: Connection): Promise<void> {
  const load = new MeteredLoad(url, await createTenantKey(url), [customerName(0)]);
  for (let call = 0; call < WARM_UP_CALLS; call += 1)
    await load.endOnce(connection, await load.beginOnce(connection, { keyed: true }));
}

async function transact(connection: Connection, { url }: RunningServer, number: number): Promise<void> {
  const { path, ...request } = transaction(number);
  await connection.send(url + path, request);
}

function catchUpOf({ url }: RunningServer, key: string, ended: () => number): CatchUp {
  const api = operatorOf(url).with(key);
  // Calls whose end was not awaited, at the end of a closed loop.
  let others = 0;
  return async () => {
    const startMs = performance.now();
    await callsArrived(api, ended() + others, POLL_MS);
    const ms = performance.now() - startMs;
    others = (await callsInD1(api)) - ended();
    return ms;
  };
}

/** Settles, and notes how long that took. */
function delaysOf(delays: Map<string, number[]>, name: string, catchUp: CatchUp): () => Promise<void> {
  const taken: number[] = [];
  delays.set(name, taken);
  return async () => void taken.push(await catchUp());
}

const delayRow = ([name, taken]: [string, number[]]): Row => ({
  name,
  figures: { medianMs: median(taken), highestMs: Math.max(...taken) },
});

function buildTargets(
  { name, numbers, load }: Order,
  service: RunningServer,
  floor: RunningServer,
  settle: () => Promise<void>,
): Target[] {
  let serial = 0;
  const request = () => {
    serial += 1;
    return transaction(numbers[serial % numbers.length] ?? 0);
  };
  const floorName = `floor: objects ${name}`;
  return [
    {
      name: floorName,
      pid: floor.pid,
      load: (seconds) => loadSteps(floor.url, [{ path: '/object/', status: 200, request }], seconds),
    },
    {
      name: `begin+end, ${name}`,
      pid: service.pid,
      load: (seconds) => load.pairs(seconds, { keyed: true }),
      settle,
      floor: floorName,
    },
  ];
}

/** By the name of the order. */
async function measureOpen(
  orders: readonly Order[],
  { pid }: RunningServer,
  { rounds, seconds, scope, progress }: Options,
  settleOf: (name: string) => () => Promise<void>,
): Promise<Map<string, OpenRound[]>> {
  const connection = scope.use(new Connection(Number.POSITIVE_INFINITY));
  const targets = orders.map(({ name, load }) => ({ name, load, settle: settleOf(name), taken: [] as OpenRound[] }));
  for (let round = 1; round <= rounds; round += 1) {
    const dueMs = poissonTimes(chance(round), RATE, seconds);
    for (const { name, load, settle, taken } of targets) {
      progress(`round ${round} of ${rounds}, begins and ends at ${RATE}/s: ${name}`);
      taken.push(await measureOpenLoop({ ...pairsRun(load, connection, pid, dueMs), settle }));
    }
  }
  return new Map(targets.map(({ name, taken }) => [name, taken]));
}
