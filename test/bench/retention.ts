/**
 * The retention over two million calls with their usage, increments and ledger entries, three quarters of which are too
 * old: the scheduled run is repeated until it deletes nothing more. It reports the time of each statement, the time of
 * a begin and an end meanwhile, and the used part of the file; then as many new calls are written.
 *
 * It throws if the sums of the kept days differ from the remaining calls.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bundle } from '../../src/cli/bundle.ts';
import type { Server } from '../../src/cli/server.ts';
import { provisionSubject, type Subject } from './history.ts';
import { Connection } from './load.ts';
import { checkRollUps, countRows, type Fill, fillOf, writeLongHistory } from './long-history.ts';
import { MeteredLoad } from './metered-load.ts';
import { printed } from './report.ts';
import { median, quantile } from './rounds.ts';
import { openState, operatorOf, placeBundle, runServer } from './service.ts';
import type { Column, Options, Row, Suite, Table } from './suite.ts';
import type { Slice } from './timed-worker.ts';

const TIMED: Bundle = { script: 'test/bench/timed-worker.ts', folder: 'timed' };
const DAY_MS = 86_400_000;
const HISTORY_DAYS = 400;
const KEPT_DAYS = 100;
const KEPT = {
  callRetentionDays: KEPT_DAYS,
  meterEventRetentionDays: KEPT_DAYS,
  ledgerRetentionDays: KEPT_DAYS,
  usageRetentionDays: KEPT_DAYS,
};
/** Runs that come to no end are a mistake. */
const RUNS_MAX = 200;
const QUIET_MS = 10_000;
const SHORT_QUIET_MS = 500;
/** Between two calls that are made meanwhile. */
const PAUSE_MS = 20;
/** D1 ends a statement that takes longer. */
const STATEMENT_MS_MAX = 30_000;
/** Tables that are counted. */
const TABLES = [
  'calls',
  'meter_events',
  'credit_entries',
  'usage_hours',
  'customer_days',
  'customer_running_totals',
  'feature_running_totals',
];

const SLICE_COLUMNS: readonly Column[] = [
  { key: 'statements', heading: 'statements', digits: 0 },
  { key: 'rows', heading: 'rows', digits: 0 },
  { key: 'medianMs', heading: 'median ms', digits: 0 },
  { key: 'longestMs', heading: 'longest ms', digits: 0 },
];
const RUN_COLUMNS: readonly Column[] = [
  { key: 'runs', heading: 'runs', digits: 0 },
  { key: 'seconds', heading: 'seconds', digits: 1 },
  { key: 'longestSeconds', heading: 'longest', digits: 1 },
];
const LATENCY_COLUMNS: readonly Column[] = [
  { key: 'medianMs', heading: 'median ms', digits: 2 },
  { key: 'p99Ms', heading: '99th ms', digits: 1 },
  { key: 'longestMs', heading: 'longest ms', digits: 1 },
  { key: 'calls', heading: 'calls', digits: 0 },
];
const FILL_COLUMNS: readonly Column[] = [
  { key: 'megabytes', heading: 'file, MB', digits: 0 },
  { key: 'pages', heading: 'pages', digits: 0 },
  { key: 'freePages', heading: 'free pages', digits: 0 },
];
const ROW_COLUMNS: readonly Column[] = [
  { key: 'before', heading: 'before', digits: 0 },
  { key: 'after', heading: 'after', digits: 0 },
];

export const retention: Suite = {
  about: 'the deletion of three quarters of two million calls, and begin and end meanwhile',
  rounds: 1,
  async run({ historyCalls, short, scope, progress }) {
    const calls = 2 * historyCalls;
    progress('starting');
    const stateDir = await openState(scope);
    await placeBundle(stateDir, TIMED);
    const first = await runServer(scope, stateDir, { bundled: TIMED });
    const subject = await provision(first.url);
    const other = await provisionSubject(first.url, 'meanwhile');
    await first.stop();
    const nowMs = Date.now();
    const stepMs = Math.floor((HISTORY_DAYS * DAY_MS) / calls);
    const startMs = nowMs - calls * stepMs;
    await writeLongHistory(stateDir, subject, { from: 0, to: calls, startMs, stepMs }, progress);
    const [fullRows, full] = [await countRows(stateDir, subject, TABLES), await fillOf(stateDir)];
    const server = await runServer(scope, stateDir, { bundled: TIMED });
    progress('calls, while nothing is deleted');
    const quiet = await makeCalls(server.url, other, sleep(short ? SHORT_QUIET_MS : QUIET_MS));
    const runs: { seconds: number; slices: Slice[] }[] = [];
    const meanwhile = await makeCalls(server.url, other, deleteAll(server, runs, progress));
    await server.stop();
    const [leftRows, left] = [await countRows(stateDir, subject, TABLES), await fillOf(stateDir)];
    progress('comparing the sums with the calls that are left');
    await checkRollUps(stateDir, subject, Math.ceil((nowMs - KEPT_DAYS * DAY_MS) / DAY_MS + 1) * DAY_MS);
    const deleted = (fullRows.calls ?? 0) - (leftRows.calls ?? 0);
    await writeLongHistory(stateDir, subject, { from: calls, to: calls + deleted, startMs, stepMs }, progress);
    const refilled = await fillOf(stateDir);
    const fills: Record<string, Fill> = {
      'before the deletion': full,
      'after it': left,
      [`after ${deleted} new calls`]: refilled,
    };
    return printed(`The retention over ${calls} calls`, [
      { title: 'statements', columns: SLICE_COLUMNS, rows: sliceRows(runs.flatMap(({ slices }) => slices)) },
      {
        title: 'scheduled runs',
        columns: RUN_COLUMNS,
        rows: [
          {
            name: 'until nothing is left to delete',
            figures: {
              runs: runs.length,
              seconds: runs.reduce((sum, { seconds }) => sum + seconds, 0),
              longestSeconds: Math.max(...runs.map(({ seconds }) => seconds)),
            },
          },
        ],
      },
      {
        title: 'begin and end, one connection',
        columns: LATENCY_COLUMNS,
        rows: [...latencyRows('quiet', quiet), ...latencyRows('meanwhile', meanwhile)],
      },
      {
        title: 'rows',
        columns: ROW_COLUMNS,
        rows: TABLES.map((name) => ({ name, figures: { before: fullRows[name] ?? 0, after: leftRows[name] ?? 0 } })),
      },
      {
        title: 'database',
        columns: FILL_COLUMNS,
        rows: Object.entries(fills).map(([name, figures]) => ({ name, figures: { ...figures } })),
      },
    ] satisfies Table[]);
  },
};

/** An organization with one call, one increment and one ledger entry in D1. */
async function provision(url: string): Promise<Subject> {
  const subject = await provisionSubject(url, 'other-0');
  const operator = operatorOf(url);
  const params = { org: subject.organizationId };
  const customer = { ...params, customerId: subject.customerId };
  const replies = [
    await operator.send('updateOrganization', { params, body: KEPT }),
    await operator.send('grantCredit', { params: customer, body: { kind: 'USD', amountUsd: '1' } }),
    await operator
      .with(subject.key)
      .send('incrementMeter', { body: { customerId: subject.customerId, meterSlot: 'CUSTOM1', amount: 1 } }),
  ];
  for (const { status } of replies) if (status !== 200) throw new Error(`a preparation was answered with ${status}`);
  await new MeteredLoad(url, subject, [subject.customerId]).settle();
  return subject;
}

/** Begins and ends, one after the other, until something else has ended. */
async function makeCalls(
  url: string,
  other: Subject,
  until: Promise<unknown>,
): Promise<{ begin: number[]; end: number[] }> {
  using connection = new Connection();
  const load = new MeteredLoad(url, other, [other.customerId]);
  const taken = { begin: [] as number[], end: [] as number[] };
  const timed = async <T>(times: number[], send: () => Promise<T>): Promise<T> => {
    const startMs = performance.now();
    const answer = await send();
    times.push(performance.now() - startMs);
    return answer;
  };
  let isOver = false;
  const over = until.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  while (!isOver) {
    const callId = await timed(taken.begin, () => load.beginOnce(connection, { keyed: true }));
    await timed(taken.end, () => load.endOnce(connection, callId));
    await sleep(PAUSE_MS);
  }
  await over;
  return taken;
}

/** Scheduled runs, until one of them deletes nothing. */
async function deleteAll(
  { url, housekeep }: Pick<Server, 'url' | 'housekeep'>,
  runs: { seconds: number; slices: Slice[] }[],
  progress: Options['progress'],
): Promise<void> {
  await slicesOf(url);
  for (let deleted = 1; deleted > 0; ) {
    const startMs = performance.now();
    await housekeep();
    const slices = await slicesOf(url);
    runs.push({ seconds: (performance.now() - startMs) / 1_000, slices });
    deleted = slices.filter(isDeletion).reduce((sum, { changes }) => sum + changes, 0);
    progress(`run ${runs.length} deleted ${deleted} rows`);
    if (runs.length > RUNS_MAX) throw new Error(`${RUNS_MAX} runs did not delete everything`);
  }
}

async function slicesOf(url: string): Promise<Slice[]> {
  return (await (await fetch(`${url}/slices`)).json()) as Slice[];
}

/** The deletions of history; the organization's samples and other lists have none here. */
function isDeletion({ sql }: Slice): boolean {
  return /^DELETE FROM \w+ WHERE \(/.test(sql);
}

function sliceRows(slices: readonly Slice[]): Row[] {
  const names = new Map<string, Slice[]>();
  for (const slice of slices) {
    const [, table] = /^DELETE FROM (\w+) WHERE \(/.exec(slice.sql) ?? [];
    const name = table
      ? `delete ${table}`
      : /^WITH (RECURSIVE customers|own)/.test(slice.sql)
        ? 'find what is too old'
        : 'other';
    names.set(name, [...(names.get(name) ?? []), slice]);
  }
  return [...names].map(([name, own]) => ({
    name,
    figures: {
      statements: own.length,
      rows: own.filter(isDeletion).reduce((sum, { changes }) => sum + changes, 0),
      medianMs: median(own.map(({ ms }) => ms)),
      longestMs: Math.max(...own.map(({ ms }) => ms)),
    },
    promised: { of: 'longestMs', atMost: STATEMENT_MS_MAX },
  }));
}

function latencyRows(when: string, taken: { begin: number[]; end: number[] }): Row[] {
  return Object.entries(taken).map(([name, times]) => ({
    name: `${name}, ${when}`,
    figures: {
      medianMs: median(times),
      p99Ms: quantile(times, 0.99),
      longestMs: Math.max(...times),
      calls: times.length,
    },
  }));
}
