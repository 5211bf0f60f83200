/**
 * The cost of calls and increments relative to one transaction of an object that does nothing else: rates with 16
 * connections, and latencies with one. A begin and an end are two requests, and their rate is compared unchanged: 0.5
 * means half as many pairs of begin and end as transactions.
 *
 * The baseline uses as many objects as there are customers: 200 customers, 200 objects.
 */
import { Connection, type Load, loadSteps } from './load.ts';
import { MeteredLoad } from './metered-load.ts';
import { printed } from './report.ts';
import { LATENCY_COLUMNS, measureLatencies, measureRates, RATE_COLUMNS, type Target, type Timed } from './rounds.ts';
import { createTenantKey, type RunningServer, startServiceAndFloor } from './service.ts';
import type { Suite } from './suite.ts';

const MANY = 200;
const PAIR = { atLeast: 0.5 };
const INCREMENT = { atLeast: 0.7 };
const BEGIN_LATENCY = { atMost: 2 };
const FLOOR_HEADERS = { 'Content-Type': 'application/json' };
const FLOOR_BODY = JSON.stringify({ customerId: 'customer-0', feature: 'chat' });

const customerName = (_: unknown, index: number) => `customer-${index}`;

export const calls: Suite = {
  about: 'begins, ends and increments against one transaction of an object',
  shares: true,
  rounds: 5,
  seconds: 2,
  async run(options) {
    const { short, progress } = options;
    progress('starting');
    const { service, floor } = await startServiceAndFloor(options);
    const { url } = service;
    const tenant = await createTenantKey(url);
    const one = new MeteredLoad(url, tenant, ['customer-0']);
    const many = new MeteredLoad(url, await createTenantKey(url), Array.from({ length: MANY }, customerName));
    using connection = new Connection();
    if (!short) await many.beginAndEndOnce(connection);
    const rates = await measureRates(targets(floor, service, one, many), options);
    const latencies = await measureLatencies(timed(floor.url, one, connection), options);
    const lines = [
      { title: 'rates, 16 connections', columns: RATE_COLUMNS, rows: rates },
      { title: 'latencies, one connection', columns: LATENCY_COLUMNS, rows: latencies },
    ];
    return printed('Calls and increments against transactions of objects', lines);
  },
};

function targets(beside: RunningServer, service: RunningServer, one: MeteredLoad, many: MeteredLoad): Target[] {
  const floorUrl = beside.url;
  const oneObject = 'floor: one object';
  const manyObjects = `floor: ${MANY} objects`;
  const ofFloor = { pid: beside.pid };
  const ofOne = { pid: service.pid, settle: () => one.settle(), floor: oneObject };
  return [
    {
      name: 'a constant',
      ...ofFloor,
      load: (seconds) => loadSteps(floorUrl, [{ path: '/', status: 200, request: {} }], seconds),
    },
    { name: oneObject, ...ofFloor, load: (seconds) => transactions(floorUrl, 1, seconds) },
    { name: 'begin+end, with a key', ...ofOne, load: (seconds) => one.pairs(seconds, { keyed: true }), promised: PAIR },
    { name: 'begin+end, without', ...ofOne, load: (seconds) => one.pairs(seconds, { keyed: false }), promised: PAIR },
    {
      name: 'increment, with a key',
      ...ofOne,
      load: (seconds) => one.increments(seconds, { keyed: true }),
      promised: INCREMENT,
    },
    {
      name: 'increment, without',
      ...ofOne,
      load: (seconds) => one.increments(seconds, { keyed: false }),
      promised: INCREMENT,
    },
    { name: manyObjects, ...ofFloor, load: (seconds) => transactions(floorUrl, MANY, seconds) },
    {
      name: `begin+end, with a key, ${MANY} customers`,
      pid: service.pid,
      load: (seconds) => many.pairs(seconds, { keyed: true }),
      settle: () => many.settle(),
      floor: manyObjects,
      promised: PAIR,
    },
  ];
}

function transactions(floorUrl: string, objects: number, seconds: number): Promise<Load> {
  let serial = 0;
  const next = () => {
    serial += 1;
    return serial % objects;
  };
  return loadSteps(floorUrl, [{ path: '/object/', status: 200, request: () => transaction(next()) }], seconds);
}

/** The transaction of one of the floor's objects. */
export function transaction(object: number) {
  return { method: 'POST' as const, path: `/object/object-${object}`, headers: FLOOR_HEADERS, body: FLOOR_BODY };
}

/** Each turn begins two calls and ends both, so that none stays open. */
function timed(floorUrl: string, load: MeteredLoad, connection: Connection): Timed[] {
  const floor = 'floor: transaction';
  const begun: string[] = [];
  const begin = async (keyed: boolean) => {
    begun.push(await load.beginOnce(connection, { keyed }));
  };
  const end = () => load.endOnce(connection, begun.pop() ?? '');
  return [
    { name: 'a constant', once: async () => void (await connection.send(floorUrl)) },
    {
      name: floor,
      once: async () => {
        const { path, ...request } = transaction(0);
        await connection.send(floorUrl + path, request);
      },
    },
    { name: 'begin, with a key', once: () => begin(true), floor, promised: BEGIN_LATENCY },
    { name: 'begin, without', once: () => begin(false), floor, promised: BEGIN_LATENCY },
    { name: 'end, without a key at its begin', once: end, floor },
    { name: 'end, with a key at its begin', once: end, floor },
    { name: 'increment, without', once: () => load.incrementOnce(connection, { keyed: false }), floor },
  ];
}
