/**
 * The cost of calls in Cloudflare's billed units: requests, alarms, rows read and written, timers. They are counted, so
 * they are the same on every machine.
 *
 * A single call is alone in its hand-over and in its D1 transaction, like most calls of a small deployment.
 * Simultaneous calls share both: all from one customer, or each from another one, as in a large deployment. A long call
 * is handed over twice, at its begin and at its end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Caller, COUNTING, call, callsTogether, restMs } from './counted-calls.ts';
import { type Counts, takeCounts } from './counts.ts';
import { Connection } from './load.ts';
import { printed } from './report.ts';
import { createTenantKey, startService } from './service.ts';
import type { Column, Options, Suite, Table } from './suite.ts';

const LONG_MS = 5_000;
const IDLE_SECONDS = 10;
const SHORT_IDLE_SECONDS = 1;
const TOGETHER = 200;
const SHORT_TOGETHER = 20;

const UNITS = [
  'Worker requests',
  'customer requests',
  'customer alarms',
  'customer alarms set',
  'customer rows written',
  'customer rows read',
  'directory requests',
  'directory rows written',
  'directory rows read',
  'projector requests',
  'projector alarms',
  'projector rows written',
  'projector rows read',
  'timers',
  'timer ms',
  'D1 transactions',
  'D1 statements',
  'D1 rows written',
  'D1 rows read',
  'KV reads',
];

interface Scenario {
  heading: string;
  calls: number;
  /** The customer, or the called model, is new only once. */
  once?: boolean;
  run(caller: Caller): Promise<unknown>;
}

const scenariosOf = (together: number): readonly Scenario[] => [
  { heading: 'by itself', calls: 1, run: (caller) => call(caller, 'customer-0') },
  { heading: 'a long one', calls: 1, run: (caller) => call(caller, 'customer-0', { ms: LONG_MS }) },
  { heading: 'new feature', calls: 1, once: true, run: (caller) => call(caller, 'customer-0', { feature: 'new' }) },
  { heading: 'new customer', calls: 1, once: true, run: (caller) => call(caller, 'newcomer') },
  {
    heading: `${together} of one`,
    calls: together,
    run: (caller) => callsTogether(caller, together, () => 'customer-0'),
  },
  { heading: `1 of each ${together}`, calls: together, run: (caller) => callsTogether(caller, together) },
];

export const costs: Suite = {
  about: 'what calls cost in requests, alarms and rows, as Cloudflare bills them',
  rounds: 3,
  async run({ rounds, short, scope, progress }: Options) {
    const restedMs = restMs(short);
    const together = short ? SHORT_TOGETHER : TOGETHER;
    const scenarios = scenariosOf(together);
    const idleSeconds = short ? SHORT_IDLE_SECONDS : IDLE_SECONDS;
    progress('starting');
    const { url } = await startService(scope, { bundled: COUNTING });
    const connection = scope.use(new Connection(Number.POSITIVE_INFINITY));
    const caller: Caller = { url, tenant: await createTenantKey(url), connection };
    await callsTogether(caller, together);
    await sleep(restedMs);
    await takeCounts(url);
    progress(`nobody calls for ${idleSeconds} s`);
    await sleep(idleSeconds * 1_000);
    const idle = (await takeCounts(url)).figures;
    const counted = new Map<string, Figures[]>(scenarios.map(({ heading }) => [heading, []]));
    for (let round = 1; round <= rounds; round += 1) {
      for (const { heading, calls, once, run } of scenarios) {
        if (once && round > 1) continue;
        progress(`round ${round} of ${rounds}: ${heading}`);
        await run(caller);
        await sleep(restedMs);
        counted.get(heading)?.push(perCall(await takeCounts(url), calls));
      }
    }
    const columns = new Map([...counted].map(([heading, found]) => [heading, meansOf(found)] as const));
    columns.set(`${idleSeconds} s of none`, idle);
    return printed('What a call costs', [
      buildTable('of each call', columns, UNITS),
      ...['D1', 'customer', 'projector'].map((owner) => rowsWrittenBy(owner, columns)),
    ]);
  },
};

type Figures = Record<string, number>;

/** Rows written by table, with those of its indexes. */
function rowsWrittenBy(owner: string, scenarios: Map<string, Figures>): Table {
  const prefix = `${owner} rows written: `;
  const units = new Set([...scenarios.values()].flatMap((figures) => Object.keys(figures)));
  return buildTable(
    `${owner} rows written`,
    scenarios,
    [...units].filter((unit) => unit.startsWith(prefix)).sort(),
    prefix,
  );
}

/** A row for each unit, a column for each scenario. */
function buildTable(title: string, scenarios: Map<string, Figures>, units: readonly string[], prefix = ''): Table {
  const columns = [...scenarios.keys()].map((heading): Column => ({ key: heading, heading, digits: 2 }));
  const rows = units.map((unit) => ({
    name: unit.slice(prefix.length),
    figures: Object.fromEntries([...scenarios].map(([heading, figures]) => [heading, figures[unit] ?? 0])),
  }));
  return { title, columns, rows };
}

function perCall({ figures }: Counts, calls: number): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, count]) => [name, count / calls]));
}

function meansOf(rounds: readonly Figures[]): Figures {
  const names = new Set(rounds.flatMap((round) => Object.keys(round)));
  const mean = (name: string) => rounds.reduce((sum, round) => sum + (round[name] ?? 0), 0) / rounds.length;
  return Object.fromEntries([...names].map((name) => [name, mean(name)]));
}
