/**
 * Measures several targets in one run.
 *
 * Rounds are interleaved, so that a slow minute of the machine affects every target. The result is the median over the
 * rounds of each target's ratio to its baseline in the same round.
 */
import type { Load } from './load.ts';
import { processorMs } from './process.ts';
import type { Column, Options, Promised, Row } from './suite.ts';

export interface Target {
  name: string;
  /** The process that answers. */
  pid: number;
  load(seconds: number): Promise<Load>;
  /** Waits for the load's background work, so that the next target does not pay for it. */
  settle?(): Promise<void>;
  /** The name of the target with which it is compared; a floor has none. */
  floor?: string;
  /** The least or the most that the ratio may be. */
  promised?: Omit<Promised, 'of'>;
}

/** Processor time is valid even if others load the machine, and it includes the work after the answers. */
export const RATE_COLUMNS: readonly Column[] = [
  { key: 'requestsPerSecond', heading: 'requests/s', digits: 0 },
  { key: 'ratio', heading: 'ratio', digits: 3 },
  { key: 'lowestRatio', heading: 'lowest', digits: 3 },
  { key: 'highestRatio', heading: 'highest', digits: 3 },
  { key: 'processorMs', heading: 'CPU ms each', digits: 3 },
  { key: 'processorRatio', heading: 'CPU ratio', digits: 3 },
];

const WARM_UP_SECONDS = 1;

/** Rounds count from 1; one before them warms up. */
export const firstRound = (short: boolean) => (short ? 1 : 0);

/** The figures of one round. */
interface Taken {
  requestsPerSecond: number;
  /** The process's time for each answer; `null` if the system does not report it. */
  processorMs: number | null;
}

/** Measures all targets in each round. */
export async function measureRates(
  targets: readonly Target[],
  { rounds, seconds, short, progress }: Options,
): Promise<Row[]> {
  const taken = new Map<string, Taken[]>(targets.map(({ name }) => [name, []]));
  for (let round = firstRound(short); round <= rounds; round += 1) {
    for (const target of targets) {
      progress(`round ${round} of ${rounds}: ${target.name}`);
      const measured = await measureOnce(target, round === 0 ? WARM_UP_SECONDS : seconds);
      if (round > 0) taken.get(target.name)?.push(measured);
    }
  }
  return targets.map(({ name, floor, promised }) => {
    const own = taken.get(name) ?? [];
    const figures = { ...mediansOf(own), ...(floor === undefined ? {} : ratiosOf(own, taken.get(floor) ?? [])) };
    return { name, figures, promised: promised && { of: 'ratio', ...promised } };
  });
}

async function measureOnce({ pid, load, settle }: Target, seconds: number): Promise<Taken> {
  const before = await processorMs(pid);
  const loaded = await load(seconds);
  await settle?.();
  const after = await processorMs(pid);
  return {
    requestsPerSecond: loaded.answers / loaded.seconds,
    processorMs: before === null || after === null ? null : (after - before) / loaded.answers,
  };
}

function mediansOf(own: readonly Taken[]): Row['figures'] {
  const rates = own.map(({ requestsPerSecond }) => requestsPerSecond);
  const times = own.map(({ processorMs }) => processorMs).filter((ms) => ms !== null);
  return { requestsPerSecond: median(rates), processorMs: times.length === 0 ? null : median(times) };
}

/** Above 1 means better than the floor: more requests, or less time for each. */
function ratiosOf(own: readonly Taken[], floor: readonly Taken[]): Row['figures'] {
  const rates = own.map(
    ({ requestsPerSecond }, round) => requestsPerSecond / (floor[round]?.requestsPerSecond ?? Number.NaN),
  );
  const times = own.flatMap(({ processorMs }, round) => {
    const compared = floor[round]?.processorMs ?? null;
    return processorMs === null || compared === null ? [] : [compared / processorMs];
  });
  return {
    ratio: median(rates),
    lowestRatio: Math.min(...rates),
    highestRatio: Math.max(...rates),
    processorRatio: times.length === 0 ? null : median(times),
  };
}

export interface Timed {
  name: string;
  /** Makes one request. Throws if the answer is wrong. */
  once(): Promise<void>;
  /** The name of the target with which it is compared; a floor has none. */
  floor?: string;
  promised?: Omit<Promised, 'of'>;
}

export const LATENCY_COLUMNS: readonly Column[] = [
  { key: 'medianMs', heading: 'median ms', digits: 3 },
  { key: 'p90Ms', heading: '90th ms', digits: 3 },
  { key: 'ratio', heading: 'ratio', digits: 3 },
];

/** Turns that nobody counts: connections open, code is compiled. */
const WARM_UP_TURNS = 30;

/** One request after the other, in turns: medians, and their ratios to the median of the floor. */
export async function measureLatencies(
  timed: readonly Timed[],
  { rounds, seconds, short, progress }: Options,
): Promise<Row[]> {
  const times = new Map<string, number[]>(timed.map(({ name }) => [name, []]));
  progress(`one request at a time: ${timed.map(({ name }) => name).join('; ')}`);
  let untilMs = Number.POSITIVE_INFINITY;
  for (let turn = short ? 0 : -WARM_UP_TURNS; turn < 1 || performance.now() < untilMs; turn += 1) {
    if (turn === 0) untilMs = performance.now() + rounds * seconds * 1_000;
    for (const { name, once } of timed) {
      const startMs = performance.now();
      await once();
      if (turn >= 0) times.get(name)?.push(performance.now() - startMs);
    }
  }
  return timed.map(({ name, floor, promised }) => {
    const own = times.get(name) ?? [];
    const ratio = floor === undefined ? null : median(own) / median(times.get(floor) ?? []);
    const figures = { medianMs: median(own), p90Ms: quantile(own, 0.9), ratio };
    return { name, figures, promised: promised && { of: 'ratio', ...promised } };
  });
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? 0)) / 2;
}

export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
}
