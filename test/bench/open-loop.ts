/**
 * Open-loop load: requests start at scheduled times, whether or not earlier ones have finished, like requests of many
 * independent callers.
 *
 * Latency is measured from the scheduled time, not from when this process sent the request. So a stalled server cannot
 * slow the load that measures it, and a late load generator is visible: its delay and processor time are reported.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from '../support/series.ts';
import { processorMs, residentMiB } from './process.ts';
import { median, quantile } from './rounds.ts';
import type { Column, Row } from './suite.ts';

/** Between the call and the first time that a request may be due. */
const LEAD_MS = 20;
const FEW_REQUESTS = 16;

/** The results of a run's requests. */
interface OpenLoop {
  /** How late each request was sent. */
  lagsMs: number[];
  /** Share of one processor that this process used. */
  processorShare: number;
  errors: Error[];
}

/** Starts request after request, each when it is due, and waits until all have ended. `dueMs` is in ascending order. */
async function openLoop(
  dueMs: readonly number[],
  start: (index: number, dueAtMs: number) => Promise<void>,
): Promise<OpenLoop> {
  const lagsMs: number[] = [];
  const errors: Error[] = [];
  const running: Promise<void>[] = [];
  const usedBefore = process.cpuUsage();
  const firstMs = performance.now() + LEAD_MS;
  for (const [index, afterMs] of dueMs.entries()) {
    const dueAtMs = firstMs + afterMs;
    for (let waitMs = dueAtMs - performance.now(); waitMs > 0; waitMs = dueAtMs - performance.now())
      await sleep(waitMs);
    lagsMs.push(performance.now() - dueAtMs);
    running.push(start(index, dueAtMs).catch((error: Error) => void errors.push(error)));
  }
  await Promise.all(running);
  const { user, system } = process.cpuUsage(usedBefore);
  return { lagsMs, processorShare: (user + system) / 1_000 / (performance.now() - firstMs), errors };
}

/** Times of a Poisson process: given their number, they are independent and uniform. A few at once for no time at all. */
export function poissonTimes({ uniform }: Chance, perSecond: number, seconds: number): number[] {
  return Array.from({ length: Math.max(FEW_REQUESTS, perSecond * seconds) }, () => uniform() * seconds * 1_000).sort(
    (a, b) => a - b,
  );
}

/** Draws of `count` items by Zipf's law: the k-th is asked for 1/k as often as the first. */
export function zipfDraws(chance: Chance, items: number, count: number): number[] {
  const bounds: number[] = [];
  let sum = 0;
  for (let rank = 1; rank <= items; rank += 1) {
    sum += 1 / rank;
    bounds.push(sum);
  }
  return Array.from({ length: count }, () => {
    const drawn = chance.uniform() * sum;
    return bounds.findIndex((bound) => drawn < bound);
  });
}

/** A run in an open loop, against one process. */
export interface OpenRun {
  pid: number;
  dueMs: readonly number[];
  /** Makes one request and notes its latencies under the names of their rows. */
  start(index: number, note: (row: string, ms: number) => void, dueAtMs: number): Promise<void>;
  /** Waits for the load's background work: its processor time counts too. */
  settle?(): Promise<void>;
}

/** A run that nobody measures, so that code is compiled and nothing is new. */
export async function warmUp({ dueMs, start }: OpenRun): Promise<void> {
  await openLoop(dueMs, (index, dueAtMs) => start(index, () => {}, dueAtMs));
}

/** The figures of a run. */
export interface OpenRound {
  /** Latencies by row. */
  latenciesMs: Map<string, number[]>;
  /** The process's time for each request; `null` if the system does not report it. */
  processorMs: number | null;
  memoryMiB: number;
  lagsMs: number[];
  generatorShare: number;
  errors: number;
}

/** Throws the first error if no request at all was answered correctly. */
export async function measureOpenLoop({ pid, dueMs, start, settle }: OpenRun): Promise<OpenRound> {
  const latenciesMs = new Map<string, number[]>();
  const note = (row: string, ms: number) => {
    const noted = latenciesMs.get(row);
    if (noted) noted.push(ms);
    else latenciesMs.set(row, [ms]);
  };
  const before = await processorMs(pid);
  const { lagsMs, processorShare, errors } = await openLoop(dueMs, (index, dueAtMs) => start(index, note, dueAtMs));
  if (errors.length === dueMs.length) throw errors[0];
  const memoryMiB = await residentMiB(pid);
  await settle?.();
  const after = await processorMs(pid);
  return {
    latenciesMs,
    processorMs: before === null || after === null ? null : (after - before) / dueMs.length,
    memoryMiB,
    lagsMs,
    generatorShare: processorShare,
    errors: errors.length,
  };
}

export const OPEN_LOOP_COLUMNS: readonly Column[] = [
  { key: 'medianMs', heading: 'median ms', digits: 2 },
  { key: 'p95Ms', heading: '95th ms', digits: 2 },
  { key: 'p99Ms', heading: '99th ms', digits: 2 },
  { key: 'processorMs', heading: 'CPU ms each', digits: 2 },
  { key: 'memoryMiB', heading: 'MiB', digits: 0 },
  { key: 'errors', heading: 'errors', digits: 0 },
];

/** Medians of the rounds, a row for each kind of latency; errors are the sum. */
export function openLoopRows(target: string, rounds: readonly OpenRound[]): Row[] {
  const kinds = [...(rounds[0]?.latenciesMs.keys() ?? [])].sort();
  return kinds.map((kind, index): Row => {
    const at = (share: number) => median(rounds.map(({ latenciesMs }) => quantile(latenciesMs.get(kind) ?? [], share)));
    const latencies = { medianMs: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
    return { name: `${target}, ${kind}`, figures: index === 0 ? { ...latencies, ...costsOf(rounds) } : latencies };
  });
}

function costsOf(rounds: readonly OpenRound[]): Row['figures'] {
  const times = rounds.map(({ processorMs }) => processorMs).filter((ms) => ms !== null);
  return {
    processorMs: times.length === 0 ? null : median(times),
    memoryMiB: median(rounds.map(({ memoryMiB }) => memoryMiB)),
    errors: rounds.reduce((sum, { errors }) => sum + errors, 0),
  };
}

export const GENERATOR_COLUMNS: readonly Column[] = [
  { key: 'lateMedianMs', heading: 'late, median', digits: 2 },
  { key: 'lateP99Ms', heading: '99th ms', digits: 2 },
  { key: 'lateMaxMs', heading: 'most ms', digits: 2 },
  { key: 'processorShare', heading: 'CPU share', digits: 2 },
];

/** Whether the load generator kept up: how late it sent, and the share of a processor that it used. */
export function generatorRow(target: string, rounds: readonly OpenRound[]): Row {
  const lagsMs = rounds.flatMap((round) => round.lagsMs);
  const figures = {
    lateMedianMs: median(lagsMs),
    lateP99Ms: quantile(lagsMs, 0.99),
    lateMaxMs: quantile(lagsMs, 1),
    processorShare: median(rounds.map(({ generatorShare }) => generatorShare)),
  };
  return { name: target, figures };
}
