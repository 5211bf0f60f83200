/**
 * Dumps all stored state, D1 and every object, as one text per row. Two dumps show what changed.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { objectClasses, type Row, readDatabases, readObjects } from '../crash/state.ts';

/** Rows by their place: `D1 calls`, `Customer 3f2b.. account`. */
export type Dump = Map<string, Set<string>>;

/** Dumps are made until two are the same, this far apart: then nothing is on its way any more. */
const QUIET_MS = 400;
const QUIET_MS_MAX = 60_000;
/** Jobs, deliveries and watches go on by themselves, whatever is asked: of these it is compared which there are. */
const JOB_CLASSES = [
  'GatewayBatch',
  'PlanMigration',
  'Repricing',
  'CompressionJob',
  'WebhookEndpoint',
  'OrganizationWatch',
];

/** Counts of requests, including refused ones: they do not show a request's changes. */
const REQUEST_COUNTS = 'request_hours';

/** The state once nothing that was asked before is still on its way. */
export async function quietState(stateDir: string): Promise<Dump> {
  const giveUpAtMs = Date.now() + QUIET_MS_MAX;
  let dump = readState(stateDir);
  for (;;) {
    await sleep(QUIET_MS);
    const next = readState(stateDir);
    if (waitingIn(next).length === 0 && differences(dump, next).length === 0) return next;
    if (Date.now() > giveUpAtMs)
      throw new Error(
        `the state does not come to rest: ${[...waitingIn(next), ...differences(dump, next)].slice(0, 5).join('; ')}`,
      );
    dump = next;
  }
}

function readState(stateDir: string): Dump {
  const dump: Dump = new Map();
  for (const [index, tables] of readDatabases(stateDir).entries())
    for (const [table, rows] of tables) dump.set(`D1 ${index} ${table}`, textsOf(rows));
  for (const className of objectClasses(stateDir)) {
    for (const { objectId, tables } of readObjects(stateDir, className)) {
      if (JOB_CLASSES.includes(className))
        dump.set(`${className}s`, (dump.get(`${className}s`) ?? new Set()).add(objectId));
      else
        for (const [table, rows] of tables)
          if (table !== REQUEST_COUNTS) dump.set(`${className} ${objectId} ${table}`, textsOf(rows));
    }
  }
  return dump;
}

/** The rows that only one of the dumps has. */
export function differences(before: Dump, after: Dump): string[] {
  const found: string[] = [];
  for (const place of new Set([...before.keys(), ...after.keys()])) {
    const [left, right] = [before.get(place) ?? new Set<string>(), after.get(place) ?? new Set<string>()];
    for (const row of left) if (!right.has(row)) found.push(`- ${place}: ${row}`);
    for (const row of right) if (!left.has(row)) found.push(`+ ${place}: ${row}`);
  }
  return found;
}

/** Changes that wait for D1 at their customer or a projector, and charges that wait for their settlement. */
function waitingIn(dump: Dump): string[] {
  const hasListed = (rows: Set<string>) => [...rows].some((row) => row.includes('"pending":"[['));
  const waiting = [...dump].filter(
    ([place, rows]) =>
      (/^(?:Customer .* (?:outbox|charges)|Projector .* pages)$/.test(place) && rows.size > 0) ||
      (/^Customer .* account$/.test(place) && hasListed(rows)),
  );
  return waiting.map(([place, rows]) => `waits in ${place}: ${rows.size} rows, first ${[...rows][0]}`);
}

const LONG_VALUE = 2_000;

function textsOf(rows: readonly Row[]): Set<string> {
  return new Set(rows.map((row) => JSON.stringify(row, (_, value) => short(value))));
}

/** Long values by their hash: dumps are kept in memory. */
function short(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (value instanceof Uint8Array) return createHash('sha256').update(value).digest('hex');
  if (typeof value !== 'string' || value.length < LONG_VALUE) return value;
  return `${value.slice(0, 80)}... ${createHash('sha256').update(value).digest('hex')}`;
}
