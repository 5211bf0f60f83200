/**
 * How long D1 takes for a projector's transaction, by its rows, and how large rows are.
 *
 * Ended calls of some customers are sent to D1 again as new calls, so that nothing else runs in the service. The time
 * is the projector's wait; other processes disturbed the round with the lowest time least. A straight line through the
 * lowest times gives the time of any transaction and of each row. Sizes are those of the pages in the database's file,
 * for each table with its indexes.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { COUNTING, callsTogether, customerName, restMs } from './counted-calls.ts';
import { type Transaction, takeCounts } from './counts.ts';
import { Connection } from './load.ts';
import { printed } from './report.ts';
import { median } from './rounds.ts';
import { callsArrived, createTenantKey, openState, operatorOf, placeBundle, runServer } from './service.ts';
import type { Column, Options, Row, Suite } from './suite.ts';

const SIZES = [1, 10, 50, 100, 200];
const SHORT_SIZES = [1, 2, 5, 10, 20];
/** At a time, so that a busy machine is not asked for all of them at once. */
const CALLS_AT_ONCE = 50;
/** Calls of each customer when sizes are looked at: one hour, and so many calls in it. */
const WARM_UP_TURNS = 3;
const ARRIVAL_POLL_MS = 100;

const TIME_COLUMNS: readonly Column[] = [
  { key: 'rowsWritten', heading: 'rows written', digits: 0 },
  { key: 'lowestMs', heading: 'lowest ms', digits: 1 },
  { key: 'medianMs', heading: 'median ms', digits: 1 },
];
const LINE_COLUMNS: readonly Column[] = [
  { key: 'msEach', heading: 'ms each', digits: 2 },
  { key: 'microsecondsOfRow', heading: 'us of a row', digits: 1 },
];
const SIZE_COLUMNS: readonly Column[] = [
  { key: 'rows', heading: 'rows', digits: 0 },
  { key: 'bytesEach', heading: 'bytes each', digits: 0 },
];

export const transactions: Suite = {
  about: "how long D1 takes for a projector's transaction, and how large its rows are",
  rounds: 30,
  async run({ rounds, short, scope, progress }: Options) {
    const sizes = short ? SHORT_SIZES : SIZES;
    const customers = Math.max(...sizes);
    progress('starting');
    const stateDir = await openState(scope);
    await placeBundle(stateDir, COUNTING);
    const { url, stop } = await runServer(scope, stateDir, { bundled: COUNTING });
    const connection = scope.use(new Connection(Number.POSITIVE_INFINITY));
    const caller = { url, tenant: await createTenantKey(url), connection };
    const found = new Map<number, Transaction[]>(sizes.map((size) => [size, []]));
    progress('the calls of every customer');
    for (let first = 0; first < customers; first += CALLS_AT_ONCE)
      await callsTogether(caller, Math.min(CALLS_AT_ONCE, customers), {
        customer: (index) => customerName(first + index),
      });
    await callsArrived(operatorOf(url).with(caller.tenant.key), customers, ARRIVAL_POLL_MS);
    await sleep(restMs(short));
    const bytesEach = (await takeCounts(url)).figures['customer bytes'] ?? null;
    for (let round = short ? 0 : -WARM_UP_TURNS; round < rounds; round += 1) {
      progress(`round ${round + 1} of ${rounds}`);
      for (const size of sizes) {
        await takeCounts(url);
        await replay(url, size);
        const counts = await takeCounts(url);
        if (round >= 0) found.get(size)?.push(...counts.transactions);
      }
    }
    await stop();
    const lowest = [...found.values()].map((own) => own.reduce((least, next) => (next.ms < least.ms ? next : least)));
    const { msEach, msOfRow } = lineThrough(lowest);
    return printed("D1's transactions", [
      { title: 'a call of each of', columns: TIME_COLUMNS, rows: [...found].map(([size, own]) => buildRow(size, own)) },
      {
        title: 'the line through them',
        columns: LINE_COLUMNS,
        rows: [{ name: 'transactions', figures: { msEach, microsecondsOfRow: msOfRow * 1_000 } }],
      },
      { title: 'rows, with their indexes', columns: SIZE_COLUMNS, rows: await sizesIn(stateDir) },
      {
        title: 'objects, after one call',
        columns: SIZE_COLUMNS,
        rows: [{ name: "customer's object", figures: { rows: 1, bytesEach } }],
      },
    ]);
  },
};

function buildRow(customers: number, own: readonly Transaction[]): Row {
  const figures = {
    rowsWritten: median(own.map(({ rowsWritten }) => rowsWritten)),
    lowestMs: Math.min(...own.map(({ ms }) => ms)),
    medianMs: median(own.map(({ ms }) => ms)),
  };
  return { name: `${customers} customers`, figures };
}

async function replay(url: string, customers: number): Promise<void> {
  const { status } = await fetch(`${url}/replay/${customers}`, { method: 'POST' });
  if (status !== 204) throw new Error(`the replay of ${customers} was answered with ${status}`);
}

/** Least squares. */
export function lineThrough(own: readonly Pick<Transaction, 'ms' | 'rowsWritten'>[]): {
  msEach: number;
  msOfRow: number;
} {
  const mean = (of: (transaction: (typeof own)[number]) => number) =>
    own.reduce((sum, transaction) => sum + of(transaction), 0) / own.length;
  const [rows, ms] = [mean(({ rowsWritten }) => rowsWritten), mean((transaction) => transaction.ms)];
  const covariance = mean((transaction) => (transaction.rowsWritten - rows) * (transaction.ms - ms));
  const msOfRow = covariance / mean(({ rowsWritten }) => (rowsWritten - rows) ** 2);
  return { msEach: ms - msOfRow * rows, msOfRow };
}

/** The sizes of every D1 table with rows. The server has stopped. */
async function sizesIn(stateDir: string): Promise<Row[]> {
  const files = (await readdir(stateDir, { recursive: true })).filter((name) => name.endsWith('.sqlite'));
  for (const file of files) {
    const db = new DatabaseSync(join(stateDir, file));
    try {
      const tables = db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '*_[Mm][Ee]*' ORDER BY name")
        .all() as { name: string }[];
      if (!tables.some(({ name }) => name === 'calls') || !tables.some(({ name }) => name === 'usage_hours')) continue;
      if (!tables.some(({ name }) => name === 'organizations')) continue;
      return tables.flatMap(({ name }): Row[] => {
        const { rows } = db.prepare(`SELECT COUNT(*) AS rows FROM "${name}"`).get() as { rows: number };
        const { bytes } = db
          .prepare(
            'SELECT SUM(pgsize) AS bytes FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = ?)',
          )
          .get(name) as { bytes: number };
        return rows === 0 ? [] : [{ name, figures: { rows, bytesEach: bytes / rows } }];
      });
    } finally {
      db.close();
    }
  }
  throw new Error(`no file of D1 in ${stateDir}`);
}
