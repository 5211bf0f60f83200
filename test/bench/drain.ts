/**
 * The rate of delivery to D1, compared with the rate at which 200 busy customers write.
 *
 * Customers are as busy as 16 connections can make them. They fill the projectors while deliveries are held back, so
 * that the deliveries do not slow the fill; then all are released at once, nobody writes any more, and the clock runs
 * until D1 has every call that was acknowledged as ended. A call is one row of D1, whether its end came with its begin
 * or after it.
 *
 * In the second measurement, nothing is held back: deliveries run beside the fill, once a second. It shows how far D1
 * is behind when the load ends.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bundle } from '../../src/cli/bundle.ts';
import type { Api } from '../support/api.ts';
import { Connection, type Load } from './load.ts';
import { MeteredLoad } from './metered-load.ts';
import { printed } from './report.ts';
import { firstRound, median } from './rounds.ts';
import { callsArrived, callsInD1, createTenantKey, operatorOf, startService, type TenantKey } from './service.ts';
import type { Column, Options, Row, Suite } from './suite.ts';

const CUSTOMERS = 200;
const HELD: Bundle = { script: 'test/bench/held-worker.ts', folder: 'held' };
/** Between the end of a fill and the release. */
const MARGIN_MS = 2_000;
const POLL_MS = 20;
const PROMISED = { of: 'ratio', atLeast: 3 };

const HELD_COLUMNS: readonly Column[] = [
  { key: 'filledPerSecond', heading: 'fill, calls/s', digits: 0 },
  { key: 'drainedPerSecond', heading: 'drain, calls/s', digits: 0 },
  { key: 'ratio', heading: 'ratio', digits: 2 },
  { key: 'calls', heading: 'calls', digits: 0 },
];
const BESIDE_COLUMNS: readonly Column[] = [
  { key: 'filledPerSecond', heading: 'fill, calls/s', digits: 0 },
  { key: 'behindCalls', heading: 'calls behind', digits: 0 },
  { key: 'caughtUpMs', heading: 'caught up, ms', digits: 0 },
];

interface Bench {
  url: string;
  api: Api;
  load: MeteredLoad;
}

export const drain: Suite = {
  about: `how fast D1 takes what ${CUSTOMERS} busy customers write`,
  rounds: 3,
  seconds: 5,
  async run({ rounds, seconds, short, scope, progress }: Options) {
    progress('starting');
    const bench = await start(scope, short);
    const held: Row['figures'][] = [];
    const beside: Row['figures'][] = [];
    for (let round = firstRound(short); round <= rounds; round += 1) {
      progress(`round ${round} of ${rounds}: deliveries held back, then released`);
      const heldFigures = await fillThenDrain(bench, seconds);
      progress(`round ${round} of ${rounds}: deliveries beside the fill`);
      const besideFigures = await fillAndDrain(bench, seconds);
      if (round > 0) {
        held.push(heldFigures);
        beside.push(besideFigures);
      }
    }
    return printed(`What ${CUSTOMERS} busy customers write, and D1`, [
      {
        title: 'first filled, then drained',
        columns: HELD_COLUMNS,
        rows: buildRows('all customers at once', HELD_COLUMNS, held),
      },
      {
        title: 'drained beside the fill',
        columns: BESIDE_COLUMNS,
        rows: buildRows('all customers at once', BESIDE_COLUMNS, beside),
      },
    ]);
  },
};

async function start(scope: Options['scope'], short: boolean): Promise<Bench> {
  const { url } = await startService(scope, { bundled: HELD });
  const tenant: TenantKey = await createTenantKey(url);
  const customers = Array.from({ length: CUSTOMERS }, (_, index) => `customer-${index}`);
  const load = new MeteredLoad(url, tenant, customers);
  using connection = new Connection();
  if (!short) await load.beginAndEndOnce(connection);
  await load.settle();
  return { url, api: operatorOf(url).with(tenant.key), load };
}

async function fillThenDrain(bench: Bench, seconds: number): Promise<Row['figures']> {
  const { url, load, api } = bench;
  const before = { ended: load.ended, arrived: await callsInD1(api) };
  const releaseMs = Date.now() + seconds * 1_000 + MARGIN_MS;
  const held = await fetch(`${url}/hold/${releaseMs}`, { method: 'POST' });
  if (held.status !== 204) throw new Error(`the hold was answered with ${held.status}`);
  const filledPerSecond = callsPerSecond(await load.pairs(seconds, { keyed: true }));
  const leaked = (await callsInD1(api)) - before.arrived;
  if (Date.now() > releaseMs || leaked > 0)
    throw new Error(`deliveries were not held back: ${leaked} calls came to D1 during the fill`);
  const calls = load.ended - before.ended;
  await sleep(releaseMs - Date.now());
  await callsArrived(api, before.arrived + calls, POLL_MS);
  const drainedPerSecond = calls / ((Date.now() - releaseMs) / 1_000);
  await load.settle();
  return { filledPerSecond, drainedPerSecond, ratio: drainedPerSecond / filledPerSecond, calls };
}

async function fillAndDrain(bench: Bench, seconds: number): Promise<Row['figures']> {
  const { load, api } = bench;
  const before = { ended: load.ended, arrived: await callsInD1(api) };
  const filledPerSecond = callsPerSecond(await load.pairs(seconds, { keyed: true }));
  const endMs = Date.now();
  const wanted = before.arrived + load.ended - before.ended;
  const behindCalls = Math.max(0, wanted - (await callsInD1(api)));
  await callsArrived(api, wanted, POLL_MS);
  const caughtUpMs = Date.now() - endMs;
  await load.settle();
  return { filledPerSecond, behindCalls, caughtUpMs };
}

/** A call is two answers. */
const callsPerSecond = ({ answers, seconds }: Load) => answers / 2 / seconds;

/** One row: the medians of the rounds. */
function buildRows(name: string, columns: readonly Column[], rounds: readonly Row['figures'][]): Row[] {
  const figures = Object.fromEntries(
    columns.map(({ key }) => [key, median(rounds.map((round) => round[key] ?? Number.NaN))]),
  );
  return [{ name, figures, ...(figures.ratio !== undefined && { promised: PROMISED }) }];
}
