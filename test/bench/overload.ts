/**
 * What happens beyond the capacity: an open loop at 1.5 times the rate that the service can serve, and after it half of
 * that rate, while every answer is checked.
 *
 * The capacity is found first: the highest rate at which the 99th percentile of the added latency stays below a bound
 * and nothing is refused. Four of five arrivals are completions through the gateway, half of them streamed; the fifth
 * is a pair of begin and end of an application that calls its vendor itself. A refused arrival is not repeated. Load
 * generator and vendor have a processor of their own, if the system can assign one.
 */
import { execFile } from 'node:child_process';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { addedMs, buildPlan, type Plan, warmUpPlans } from './completions.ts';
import { CUSTOMERS, customerName, type GatewayService, startGateway } from './gateway-service.ts';
import { Connection, UnexpectedStatus } from './load.ts';
import { MeteredLoad } from './metered-load.ts';
import { GENERATOR_COLUMNS, generatorRow, measureOpenLoop, type OpenRound, type OpenRun } from './open-loop.ts';
import { printed } from './report.ts';
import { median, quantile } from './rounds.ts';
import { callsArrived, callsInD1, operatorOf } from './service.ts';
import type { Column, Row, Suite, Table } from './suite.ts';

/** At the capacity, the 99th percentile of the added latency is at most this. */
const CAPACITY_P99_MS = 200;
const RATE_FIRST = 40;
const RATE_STEP = 1.25;
const RATES_MAX = 12;
const SEARCH_SECONDS = 8;
const BEYOND = 1.5;
const RECOVERY_SECONDS = 10;
const RECOVERY_SHARE = 0.5;
/** One arrival of so many is a pair of begin and end. */
const PAIR_EVERY = 5;
const CALL_MS = 400;
const SETTLE_POLL_MS = 250;
/** D1 may have calls that no answer spoke of; they come within this. */
const LATE_CALLS_MS = 4_000;

const TIMES_MAX = 3;
const RECOVERY_SECONDS_MAX = 5;

type Outcome = 'admitted' | 'refused' | 'failed';

interface Noted {
  what: 'completion' | 'begin' | 'end';
  outcome: Outcome;
  /** Since the start of the run. */
  dueMs: number;
  addedMs: number;
}

interface Run {
  noted: Noted[];
  round: OpenRound;
}

export const overload: Suite = {
  about: 'completions, begins and ends at 1.5 times the capacity, which it finds first',
  shares: true,
  apart: true,
  rounds: 1,
  seconds: 60,
  async run(options) {
    const { seconds, short, progress, scope } = options;
    progress('starting');
    const service = await startGateway(options);
    const apart = short ? false : await separate(service);
    const load = new Arrivals(service, scope.use(new Connection(Number.POSITIVE_INFINITY)));
    const [everyCustomer, ...others] = warmUpPlans(CUSTOMERS, short ? 1 : SEARCH_SECONDS);
    progress('warming up');
    for (const plan of [everyCustomer, ...(short ? [] : others)]) if (plan) await load.run(plan);
    const tried: { rate: number; run: Run }[] = [];
    for (let rate = RATE_FIRST, step = 1; tried.length < (short ? 1 : RATES_MAX); rate = Math.round(rate * step)) {
      progress(`${rate} arrivals a second`);
      const run = await load.run(buildPlan(rate, CUSTOMERS, rate, short ? 0 : SEARCH_SECONDS));
      tried.push({ rate, run });
      const isWithin = isWithinCapacity(run);
      if (tried.length === 1) step = isWithin ? RATE_STEP : 1 / RATE_STEP;
      else if (isWithin !== step > 1) break;
    }
    if (!short && tried.every(({ run }) => !isWithinCapacity(run)))
      throw new Error(
        `at no rate is the 99th percentile below ${CAPACITY_P99_MS} ms: the machine is too busy to measure`,
      );
    const within = tried.filter(({ run }) => isWithinCapacity(run));
    const normal = (within.length > 0 ? within : tried).reduce((best, each) => (each.rate > best.rate ? each : best));
    const capacity = normal.rate;
    progress(`${BEYOND} times ${capacity} arrivals a second, for ${seconds} s, then half of it`);
    const during = buildPlan(1, CUSTOMERS, capacity * BEYOND, seconds);
    const after = buildPlan(2, CUSTOMERS, capacity * RECOVERY_SHARE, short ? 0 : RECOVERY_SECONDS);
    const beyond = await load.run(inOrder(during, after, seconds * 1_000));
    const lost = await load.lost();
    return printed(
      `Overload, ${apart ? 'load generator on a processor of its own' : 'load generator shares the processors'}`,
      [
        { title: 'arrivals a second', columns: SEARCH_COLUMNS, rows: tried.map(searchRow) },
        comparison(normal.run, beyond, seconds * 1_000),
        promises(normal.run, beyond, seconds * 1_000, lost),
        {
          title: 'the load generator',
          columns: GENERATOR_COLUMNS,
          rows: [generatorRow('capacity', [normal.run.round]), generatorRow('beyond it', [beyond.round])],
        },
      ],
    );
  },
};

/** Gives this process and the vendor the first processor, and the service the others. `false` if it cannot. */
async function separate({ metered, vendorPid }: GatewayService): Promise<boolean> {
  const last = cpus().length - 1;
  if (last < 1) return false;
  const assign = (processors: string, pid: number) =>
    promisify(execFile)('taskset', ['--all-tasks', '--cpu-list', '--pid', processors, String(pid)]);
  try {
    await Promise.all([assign('0', process.pid), assign('0', vendorPid), assign(`1-${last}`, metered.pid)]);
    return true;
  } catch {
    return false;
  }
}

/** The second plan begins when the first has lasted this long. */
function inOrder(first: Plan, second: Plan, firstMs: number): Plan {
  return {
    dueMs: [...first.dueMs, ...second.dueMs.map((ms) => ms + firstMs)],
    completions: [...first.completions, ...second.completions],
  };
}

/** Sends the arrivals of plans to the service, and counts the calls that D1 must have of them. */
class Arrivals {
  readonly #service: GatewayService;
  readonly #connection: Connection;
  readonly #pairs: MeteredLoad;
  #admitted = 0;

  constructor(service: GatewayService, connection: Connection) {
    this.#service = service;
    this.#connection = connection;
    const names = Array.from({ length: CUSTOMERS }, (_, index) => customerName(index));
    this.#pairs = new MeteredLoad(service.metered.url, service.tenant, names);
  }

  async run({ dueMs, completions }: Plan): Promise<Run> {
    const noted: Noted[] = [];
    const start: OpenRun['start'] = async (index, _note, dueAtMs) => {
      const note = (what: Noted['what'], outcome: Outcome, addedMs: number) =>
        noted.push({ what, outcome, dueMs: dueMs[index] ?? Number.NaN, addedMs });
      if (index % PAIR_EVERY === 0) return this.#pair(note, dueAtMs);
      const completion = completions[index];
      if (!completion) throw new Error(`there is no completion ${index}`);
      await watched('completion', note, dueAtMs, async () => {
        const added = await addedMs(this.#connection, this.#service.metered, completion, dueAtMs);
        this.#admitted += 1;
        return added.wholeMs;
      });
    };
    const { metered } = this.#service;
    const round = await measureOpenLoop({ pid: metered.pid, dueMs, start, settle: () => this.#settle() });
    return { noted, round };
  }

  async #pair(note: (what: Noted['what'], outcome: Outcome, addedMs: number) => void, dueAtMs: number): Promise<void> {
    let callId: string | undefined;
    await watched('begin', note, dueAtMs, async () => {
      callId = await this.#pairs.beginOnce(this.#connection, { keyed: true });
      return performance.now() - dueAtMs;
    });
    if (callId === undefined) return;
    const ended = callId;
    const endDueMs = performance.now() + CALL_MS;
    await sleep(CALL_MS);
    await watched('end', note, endDueMs, async () => {
      await this.#pairs.endOnce(this.#connection, ended);
      this.#admitted += 1;
      return performance.now() - endDueMs;
    });
  }

  #settle(): Promise<void> {
    const { metered, tenant } = this.#service;
    return callsArrived(operatorOf(metered.url).with(tenant.key), this.#admitted, SETTLE_POLL_MS);
  }

  /** Calls that were admitted and are not in D1; below zero if D1 has more. */
  async lost(): Promise<number> {
    await sleep(LATE_CALLS_MS);
    const { metered, tenant } = this.#service;
    return this.#admitted - (await callsInD1(operatorOf(metered.url).with(tenant.key)));
  }
}

/** Notes how a request ended. */
async function watched(
  what: Noted['what'],
  note: (what: Noted['what'], outcome: Outcome, addedMs: number) => void,
  dueAtMs: number,
  request: () => Promise<number>,
): Promise<void> {
  try {
    note(what, 'admitted', await request());
  } catch (error) {
    const isRefusal = error instanceof UnexpectedStatus && error.status === 503 && error.retryAfter !== undefined;
    note(what, isRefusal ? 'refused' : 'failed', performance.now() - dueAtMs);
  }
}

function isWithinCapacity({ noted }: Run): boolean {
  return (
    noted.every(({ outcome }) => outcome === 'admitted') &&
    quantile(
      noted.map(({ addedMs: ms }) => ms),
      0.99,
    ) <= CAPACITY_P99_MS
  );
}

const SEARCH_COLUMNS: readonly Column[] = [
  { key: 'medianMs', heading: 'median ms', digits: 1 },
  { key: 'p99Ms', heading: '99th ms', digits: 1 },
  { key: 'refused', heading: 'refused', digits: 0 },
  { key: 'failed', heading: 'failed', digits: 0 },
];

function searchRow({ rate, run: { noted } }: { rate: number; run: Run }): Row {
  const times = addedTo(noted, 'admitted');
  return {
    name: `${rate}/s`,
    figures: {
      medianMs: median(times),
      p99Ms: quantile(times, 0.99),
      refused: addedTo(noted, 'refused').length,
      failed: addedTo(noted, 'failed').length,
    },
  };
}

function addedTo(noted: readonly Noted[], outcome: Outcome): number[] {
  return noted.filter((one) => one.outcome === outcome).map(({ addedMs: ms }) => ms);
}

const COMPARISON_COLUMNS: readonly Column[] = [
  { key: 'normal', heading: 'at capacity', digits: 1 },
  { key: 'beyond', heading: 'beyond it', digits: 1 },
  { key: 'times', heading: 'times', digits: 2 },
];

/** The added latency of what was admitted, beside that at the capacity; and how long a refusal took. */
function comparison(normal: Run, beyond: Run, endMs: number): Table {
  const during = beyond.noted.filter(({ dueMs }) => dueMs < endMs);
  const admitted = (what: Noted['what'], share: number): Row => {
    const of = (noted: readonly Noted[]) =>
      quantile(
        addedTo(
          noted.filter((one) => one.what === what),
          'admitted',
        ),
        share,
      );
    const figures = { normal: of(normal.noted), beyond: of(during), times: of(during) / of(normal.noted) };
    return {
      name: `${what}, ${share * 100}th percentile, ms`,
      figures,
      promised: { of: 'times', atMost: TIMES_MAX },
    };
  };
  const refused = (share: number): Row => ({
    name: `refusal, ${share * 100}th percentile, ms`,
    figures: { normal: null, beyond: quantile(addedTo(during, 'refused'), share), times: null },
  });
  return {
    title: 'added latency',
    columns: COMPARISON_COLUMNS,
    rows: [
      ...(['completion', 'begin', 'end'] as const).flatMap((what) => [admitted(what, 0.5), admitted(what, 0.99)]),
      refused(0.5),
      refused(0.99),
    ],
  };
}

const PROMISE_COLUMNS: readonly Column[] = [{ key: 'figure', heading: 'figure', digits: 2 }];

function promises(normal: Run, beyond: Run, endMs: number, lost: number): Table {
  const during = beyond.noted.filter(({ dueMs, what }) => dueMs < endMs && what !== 'end');
  const admitted = during.filter(({ outcome }) => outcome === 'admitted').length;
  const row = (name: string, figure: number, atMost?: number): Row => ({
    name,
    figures: { figure },
    promised: atMost === undefined ? undefined : { of: 'figure', atMost },
  });
  const refusedEnds = beyond.noted.filter(({ what, outcome }) => what === 'end' && outcome !== 'admitted').length;
  const [normalMs] = [median(addedTo(normal.noted, 'admitted'))];
  return {
    title: 'promises',
    columns: PROMISE_COLUMNS,
    rows: [
      row('arrivals beyond capacity', during.length),
      row('share of them admitted', admitted / during.length),
      row('failed without a refusal', addedTo(beyond.noted, 'failed').length, 0),
      row('ends refused', refusedEnds, 0),
      row('admitted calls that D1 lacks', lost, 0),
      row('seconds until normal', secondsUntilNormal(beyond.noted, endMs, normalMs * TIMES_MAX), RECOVERY_SECONDS_MAX),
    ],
  };
}

/** After the load is gone, the number of seconds until the last one with a refusal or a high median latency is over. */
function secondsUntilNormal(noted: readonly Noted[], endMs: number, boundMs: number): number {
  const seconds = Map.groupBy(
    noted.filter(({ dueMs }) => dueMs >= endMs),
    ({ dueMs }) => Math.floor((dueMs - endMs) / 1_000),
  );
  const slow = [...seconds].filter(
    ([, ofSecond]) =>
      ofSecond.some(({ outcome }) => outcome !== 'admitted') || median(addedTo(ofSecond, 'admitted')) > boundMs,
  );
  return Math.max(0, ...slow.map(([second]) => second + 1));
}
