/**
 * The way of calls from customers' objects to D1, as a queue: customers hand changes over to projectors, a projector
 * gathers for a second and sends one transaction after the other, and the database runs one at a time.
 *
 * Time goes in steps. Changes of an organization go to its own projector; while that one is behind, to all.
 */
import type { Chance } from '../../support/series.ts';

export interface QueueSettings {
  projectors: number;
  /** A change waits this long in its customer's object. */
  handOverDelayMs: number;
  /** From the first change that a projector has to its transaction. */
  gatherMs: number;
  /** Changes of one transaction. */
  changesMax: number;
  /** A projector is behind when its oldest change is older than this, the time in its customer's object included. */
  busyMs: number;
  /** How long the database takes for a transaction with so many changes, of so many organizations. */
  transactionMs: (changes: number, organizations: number) => number;
}

/** Handed-over changes of one organization. */
export interface Source {
  changesPerSecond: number;
  /** Its own projector. */
  projector: number;
  /** How its rate varies between minutes: the standard deviation by the mean. */
  variation: number;
}

export interface QueueResult {
  /** From the change to its row in D1. */
  meanMs: number;
  medianMs: number;
  p99Ms: number;
  /** Changes in all projectors: the mean, and the most. */
  waiting: number;
  waitingMax: number;
  transactionsPerSecond: number;
  /** Share of the time in which the database runs a transaction. */
  utilization: number;
  organizationsPerTransaction: number;
  /** The changes that still waited at the end arrived in this many seconds. */
  backlogSeconds: number;
}

const STEP_MS = 20;
const MINUTE_MS = 60_000;

interface Group {
  atMs: number;
  changes: number;
  source: number;
}

interface Projector {
  groups: Group[];
  waiting: number;
  /** When its transaction is sent; `null` while nothing waits. */
  sendAtMs: number | null;
  sent: boolean;
}

/** Runs the queue for some time, from empty. */
export function runQueue(
  chance: Chance,
  settings: QueueSettings,
  sources: readonly Source[],
  seconds: number,
): QueueResult {
  const { projectors: count, gatherMs, changesMax, busyMs, transactionMs } = settings;
  const projectors = Array.from(
    { length: count },
    (): Projector => ({ groups: [], waiting: 0, sendAtMs: null, sent: false }),
  );
  const delays: [number, number][] = [];
  const line: Projector[] = [];
  let running: { projector: Projector; taken: Group[]; endMs: number } | null = null;
  let freeAtMs = 0;
  let [busyTotalMs, transactions, organizations, waitingSum, waitingMax, arrived] = [0, 0, 0, 0, 0, 0];
  let factors = sources.map(() => 1);
  for (let nowMs = 0; nowMs < seconds * 1_000; nowMs += STEP_MS) {
    if (nowMs % MINUTE_MS === 0) factors = sources.map(({ variation }) => minuteFactor(chance, variation));
    for (const [index, source] of sources.entries()) {
      const rate = (source.changesPerSecond * (factors[index] ?? 1) * STEP_MS) / 1_000;
      const changes = chance.poisson(rate);
      if (changes === 0) continue;
      arrived += changes;
      const own = projectors[source.projector] as Projector;
      const isBehind = (own.groups[0]?.atMs ?? nowMs) - settings.handOverDelayMs < nowMs - busyMs;
      const target = isBehind ? (projectors[Math.floor(chance.uniform() * count)] as Projector) : own;
      target.groups.push({ atMs: nowMs, changes, source: index });
      target.waiting += changes;
      target.sendAtMs ??= nowMs + gatherMs;
    }
    for (;;) {
      if (running) {
        if (running.endMs > nowMs) break;
        const { projector, taken, endMs } = running;
        for (const { atMs, changes } of taken) delays.push([endMs - atMs + settings.handOverDelayMs, changes]);
        projector.sent = false;
        projector.sendAtMs = projector.groups.length === 0 ? null : nextSend(projector, endMs, gatherMs, changesMax);
        running = null;
      }
      for (const projector of projectors) {
        if (projector.sent || projector.sendAtMs === null || projector.sendAtMs > nowMs) continue;
        projector.sent = true;
        line.push(projector);
      }
      const projector = line.shift();
      if (!projector) break;
      const taken = take(projector, changesMax);
      const changes = taken.reduce((sum, group) => sum + group.changes, 0);
      const itsOrganizations = new Set(taken.map(({ source }) => source)).size;
      const ms = transactionMs(changes, itsOrganizations);
      busyTotalMs += ms;
      transactions += 1;
      organizations += itsOrganizations;
      freeAtMs = Math.max(freeAtMs, projector.sendAtMs ?? nowMs) + ms;
      running = { projector, taken, endMs: freeAtMs };
    }
    const waiting = projectors.reduce((sum, projector) => sum + projector.waiting, 0);
    waitingSum += waiting;
    waitingMax = Math.max(waitingMax, waiting);
  }
  const left = projectors.reduce((sum, projector) => sum + projector.waiting, 0);
  const total = delays.reduce((sum, [, changes]) => sum + changes, 0);
  return {
    meanMs: delays.reduce((sum, [ms, changes]) => sum + ms * changes, 0) / total,
    medianMs: quantileOf(delays, 0.5),
    p99Ms: quantileOf(delays, 0.99),
    waiting: waitingSum / ((seconds * 1_000) / STEP_MS),
    waitingMax,
    transactionsPerSecond: transactions / seconds,
    utilization: busyTotalMs / (seconds * 1_000),
    organizationsPerTransaction: organizations / transactions,
    backlogSeconds: arrived === 0 ? 0 : left / (arrived / seconds),
  };
}

/** The next part follows a full one at once; changes in the meantime are gathered. */
function nextSend(projector: Projector, nowMs: number, gatherMs: number, changesMax: number): number {
  return projector.waiting >= changesMax ? nowMs : Math.max(nowMs, (projector.groups[0]?.atMs ?? nowMs) + gatherMs);
}

/** The oldest changes. */
function take(projector: Projector, changesMax: number): Group[] {
  const taken: Group[] = [];
  let changes = 0;
  while (projector.groups.length > 0 && changes < changesMax) {
    const group = projector.groups.shift() as Group;
    const part = Math.min(group.changes, changesMax - changes);
    taken.push({ ...group, changes: part });
    changes += part;
    if (part < group.changes) projector.groups.unshift({ ...group, changes: group.changes - part });
  }
  projector.waiting -= changes;
  return taken;
}

/** With a mean of 1. */
function minuteFactor(chance: Chance, variation: number): number {
  if (variation === 0) return 1;
  const shape = 1 / variation ** 2;
  return chance.gamma(shape) / shape;
}

/** The quantile of values with counts. */
function quantileOf(values: readonly (readonly [number, number])[], share: number): number {
  const sorted = values.toSorted(([a], [b]) => a - b);
  const wanted = sorted.reduce((sum, [, count]) => sum + count, 0) * share;
  let seen = 0;
  for (const [value, count] of sorted) {
    seen += count;
    if (seen >= wanted) return value;
  }
  return 0;
}

/** The mean wait of a queue with Poisson arrivals, one server and the same service time for all (M/D/1). */
export function meanWaitMs(arrivalsPerSecond: number, serviceMs: number): number {
  const load = (arrivalsPerSecond * serviceMs) / 1_000;
  return load >= 1 ? Number.POSITIVE_INFINITY : (load * serviceMs) / (2 * (1 - load));
}
