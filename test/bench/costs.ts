/**
 * The cost of calls in Cloudflare's billed units: requests, alarms, rows read and written, timers. They are counted, so
 * they are the same on every machine.
 *
 * A single call is alone in its hand-over and in its D1 transaction, like most calls of a small deployment.
 * Simultaneous calls share both: all from one customer, or each from another one, as in a large deployment. A long call
 * lasts longer than a hand-over waits. Each count has the alarms of the next minute too: the clock of the service is set
 * forward. At last years pass, and the rows are counted that the retention writes for calls of customers who call rarely,
 * and for those of one who calls often.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Caller, COUNTING, call, callsTogether, restMs } from './counted-calls.ts';
import { type Counts, passTime, takeCounts, type Write } from './counts.ts';
import { Connection } from './load.ts';
import { printed } from './report.ts';
import { createTenantKey, PLAN, startService } from './service.ts';
import type { Column, Options, Suite, Table } from './suite.ts';

const LONG_MS = 5_000;
const IDLE_SECONDS = 10;
const SHORT_IDLE_SECONDS = 1;
const TOGETHER = 200;
/** Calls of each customer before something is counted, so that its object has its tables and the bounds of its cost seldom change. */
const WARM_UPS = 20;
const SHORT_TOGETHER = 20;
/** Changes and figures of a call are in D1 by then. */
const SETTLED_MS = 70_000;
/** More calls than a customer's object keeps whole for days. */
const OFTEN = 1_200;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** After each of these ages of a call, something of it goes: past calls, answers, calls and keys, ledger, hours, D1's calls, claims, D1's sums. */
const AGES_MS = [2 * HOUR_MS, 50 * HOUR_MS, ...[8, 32, 102, 402, 412, 2_560].map((days) => days * DAY_MS)];

/** Over the years nothing happens to its customers but the retention. */
const ENDLESS_PLAN = { ...PLAN, replenish: null };

const UNITS = [
  'Worker requests',
  'customer requests',
  'customer alarms',
  'customer rows written',
  'customer rows read',
  'directory requests',
  'directory rows written',
  'directory rows read',
  'hand-overs',
  'projector requests',
  'projector request ms',
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

const WRITES: readonly Write[] = ['inserts', 'updates', 'deletes', 'alarms'];
const WRITE_COLUMNS = [...WRITES, 'all'].map((key): Column => ({ key, heading: key, digits: 2 }));
/** Rows below this are not shown. */
const ROWS_MIN = 0.005;

interface Scenario {
  heading: string;
  calls: number;
  /** The customer, or the called model, is new only once. */
  once?: boolean;
  /** Its rows are shown by table. */
  byTable?: boolean;
  run(caller: Caller): Promise<unknown>;
}

const scenariosOf = (together: number): readonly Scenario[] => [
  { heading: 'by itself', calls: 1, byTable: true, run: (caller) => call(caller, 'customer-0') },
  { heading: 'itself, long', calls: 1, run: (caller) => call(caller, 'customer-0', { ms: LONG_MS }) },
  { heading: 'new feature', calls: 1, once: true, run: (caller) => call(caller, 'customer-0', { feature: 'new' }) },
  { heading: 'new customer', calls: 1, once: true, run: (caller) => call(caller, 'newcomer') },
  {
    heading: `${together} of one`,
    calls: together,
    run: (caller) => callsTogether(caller, together, { customer: () => 'customer-0' }),
  },
  {
    heading: `1 of each ${together}`,
    calls: together,
    byTable: true,
    run: (caller) => callsTogether(caller, together),
  },
  { heading: 'each, long', calls: together, run: (caller) => callsTogether(caller, together, { ms: LONG_MS }) },
];

export const costs: Suite = {
  about: 'what calls cost in requests, alarms and rows, as Cloudflare bills them',
  rounds: 3,
  async run(options: Options) {
    const { rounds, short, progress } = options;
    const together = short ? SHORT_TOGETHER : TOGETHER;
    const scenarios = scenariosOf(together);
    const idleSeconds = short ? SHORT_IDLE_SECONDS : IDLE_SECONDS;
    progress('starting');
    const { caller, url, stop } = await startCounting(options, PLAN);
    for (let times = 0; times < WARM_UPS; times += 1) await callsTogether(caller, together);
    await settle(url, short);
    await takeCounts(url);
    progress(`nobody calls for ${idleSeconds} s`);
    await sleep(idleSeconds * 1_000);
    const idle = (await takeCounts(url)).figures;
    const counted = new Map<Scenario, PerCall[]>(scenarios.map((scenario) => [scenario, []]));
    for (let round = 1; round <= rounds; round += 1) {
      for (const scenario of scenarios) {
        const { heading, calls, once, run } = scenario;
        if (once && round > 1) continue;
        progress(`round ${round} of ${rounds}: ${heading}`);
        await run(caller);
        await settle(url, short);
        counted.get(scenario)?.push(perCall(await takeCounts(url), calls));
      }
    }
    await stop();
    const means = [...counted].map(([scenario, found]) => ({ ...scenario, mean: meanOf(found) }));
    const columns = new Map(means.map(({ heading, mean }) => [heading, mean.figures]));
    columns.set(`${idleSeconds} s of none`, idle);
    const often = short ? SHORT_TOGETHER : OFTEN;
    return printed('What a call costs', [
      ofEachCall(columns),
      ...means
        .filter(({ byTable }) => byTable)
        .map(({ heading, mean }) => rowsByTable(`rows written: ${heading}`, mean.written)),
      await countRetention(options, `1 of each ${together}`, together, (caller) => callsTogether(caller, together)),
      await countRetention(options, `${often} of one`, often, async (caller) => {
        for (let made = 0; made < often; made += together)
          await callsTogether(caller, Math.min(together, often - made), { customer: () => 'customer-0' });
      }),
    ]);
  },
};

async function startCounting({ scope }: Options, plan: object) {
  const { url, housekeep, stop } = await startService(scope, { bundled: COUNTING });
  const connection = scope.use(new Connection(Number.POSITIVE_INFINITY));
  const caller: Caller = { url, tenant: await createTenantKey(url, plan), connection };
  return { caller, url, housekeep, stop };
}

/** Until all has reached D1, and no alarm of the next minute is left. */
async function settle(url: string, short: boolean): Promise<void> {
  await sleep(restMs(short));
  await passTime(url, SETTLED_MS);
  await sleep(restMs(short));
}

/** The rows that are written for calls after they are settled, until nothing of them is left. */
async function countRetention(
  options: Options,
  what: string,
  calls: number,
  run: (caller: Caller) => Promise<void>,
): Promise<Table> {
  const { short, progress } = options;
  progress(`retention: ${what}`);
  const { caller, url, housekeep, stop } = await startCounting(options, ENDLESS_PLAN);
  await run(caller);
  await settle(url, short);
  await housekeep();
  await takeCounts(url);
  let passedMs = 0;
  for (const ageMs of AGES_MS) {
    progress(`retention: ${what}, ${Math.round(ageMs / HOUR_MS)} hours later`);
    await passTime(url, ageMs - passedMs);
    passedMs = ageMs;
    await housekeep();
  }
  const { written } = perCall(await takeCounts(url), calls);
  await stop();
  return rowsByTable(`retention: ${what}`, written);
}

type Figures = Counts['figures'];
type Written = Counts['written'];
type PerCall = Pick<Counts, 'figures' | 'written'>;

/** A row for each unit, a column for each scenario. */
function ofEachCall(scenarios: Map<string, Figures>): Table {
  const columns = [...scenarios.keys()].map((heading): Column => ({ key: heading, heading, digits: 2 }));
  const rows = UNITS.map((name) => ({
    name,
    figures: Object.fromEntries([...scenarios].map(([heading, figures]) => [heading, figures[name] ?? 0])),
  }));
  return { title: 'of each call', columns, rows };
}

/** A row for each table, with those of its indexes, and one for all. */
function rowsByTable(title: string, written: Written): Table {
  const rows = Object.entries(written)
    .map(([name, figures]) => ({ name, figures: { ...figures, all: sumOf(Object.values(figures)) } }))
    .filter(({ figures }) => figures.all >= ROWS_MIN)
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
  const keys = WRITE_COLUMNS.map(({ key }) => key as keyof (typeof rows)[number]['figures']);
  const all = Object.fromEntries(keys.map((key) => [key, sumOf(rows.map(({ figures }) => figures[key]))]));
  return { title, columns: WRITE_COLUMNS, rows: [...rows, { name: 'all', figures: all }] };
}

const sumOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

function perCall({ figures, written }: Counts, calls: number): PerCall {
  return {
    figures: scaled(figures, calls),
    written: Object.fromEntries(Object.entries(written).map(([name, writes]) => [name, scaled(writes, calls)])),
  };
}

function scaled<Name extends string>(counts: Record<Name, number>, by: number): Record<Name, number> {
  return Object.fromEntries(Object.entries<number>(counts).map(([name, count]) => [name, count / by])) as Record<
    Name,
    number
  >;
}

function meanOf(rounds: readonly PerCall[]): PerCall {
  const names = new Set(rounds.flatMap(({ written }) => Object.keys(written)));
  return {
    figures: meanFigures(rounds.map(({ figures }) => figures)),
    written: Object.fromEntries(
      [...names].map((name) => [name, meanFigures(rounds.map(({ written }) => written[name] ?? NOTHING))]),
    ) as Written,
  };
}

const NOTHING: Record<Write, number> = { inserts: 0, updates: 0, deletes: 0, alarms: 0 };

function meanFigures(rounds: readonly Figures[]): Figures {
  const names = new Set(rounds.flatMap((round) => Object.keys(round)));
  const mean = (name: string) => sumOf(rounds.map((round) => round[name] ?? 0)) / rounds.length;
  return Object.fromEntries([...names].map((name) => [name, mean(name)]));
}
