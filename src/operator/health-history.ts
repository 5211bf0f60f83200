/**
 * The service's figures of the last 24 hours: calls and denials from the reports; requests, deliveries and the cron
 * from the projectors' figures.
 */

import { databaseNames } from '../config/database.ts';
import { CRON_NAMES, type HealthHistory, REQUEST_KINDS } from '../contract/health-history.ts';
import { operations } from '../contract/operations.ts';
import { findOutcomeHours } from '../history/outcome-hours.ts';
import type { RequestFigures } from '../objects/service-figures.ts';
import { addLatencies, latencyWithin, noLatencies } from '../platform/latency.ts';
import { HOUR_MS } from '../platform/time.ts';
import { read } from './operation.ts';
import { serviceFigures } from './service-figures.ts';

/** Full hours; the current hour follows them. */
const HOURS = 24;

export const readHealthHistory = read(operations.readHealthHistory, async ({ env }) => {
  const nowMs = Date.now();
  const lastMs = nowMs - (nowMs % HOUR_MS);
  const firstMs = lastMs - HOURS * HOUR_MS;
  const names = databaseNames(env);
  const [calls, { deliveries, requests, runs }] = await Promise.all([
    Promise.all(names.map((name) => findOutcomeHours(env, name, firstMs))),
    serviceFigures(env, names, firstMs),
  ]);
  const outcomes = calls.flatMap(({ hours }) => hours);
  const hours = Array.from({ length: HOURS + 1 }, (_, place) => {
    const hourMs = firstMs + place * HOUR_MS;
    const ended = outcomes.filter((one) => one.hourMs === hourMs);
    const countEnded = (...kinds: string[]) =>
      sum(ended.filter(({ outcome }) => kinds.length === 0 || kinds.includes(outcome)).map((one) => one.calls));
    const delivered = deliveries.filter((one) => one.hourMs === hourMs);
    return {
      startedAt: new Date(hourMs).toISOString(),
      calls: countEnded(),
      failedCalls: countEnded('FAILED'),
      timedOutCalls: countEnded('TIMEOUT'),
      deniedCalls: countEnded('NOT_ALLOWED'),
      ...summed(requests.filter((one) => one.hourMs === hourMs)),
      deliveries: sum(delivered.map((one) => one.deliveries)),
      deliveredChanges: sum(delivered.map(({ changes }) => changes)),
      failedDeliveries: sum(delivered.map(({ failures }) => failures)),
      longestWaitMs: longest(delivered.filter((one) => one.deliveries > 0).map((one) => one.longestWaitMs)),
    };
  });
  const all = sum(hours.map((hour) => hour.calls));
  const denied = sum(hours.map(({ deniedCalls }) => deniedCalls));
  const failed = sum(hours.map(({ failedCalls }) => failedCalls));
  const newestRuns = new Set(CRON_NAMES.map((name) => runs.find((run) => run.name === name)));
  return {
    period: { startedAt: new Date(firstMs).toISOString(), endedAt: new Date(nowMs).toISOString() },
    hours,
    totals: {
      calls: all,
      failedShare: shareOrNull(failed, all - denied),
      deniedShare: shareOrNull(denied, all),
      failedDeliveries: sum(hours.map(({ failedDeliveries }) => failedDeliveries)),
      longestWaitMs: longest(hours.flatMap(({ longestWaitMs }) => longestWaitMs ?? [])),
    },
    requests: REQUEST_KINDS.map((kind) => ({ kind, ...summed(requests.filter((one) => one.kind === kind)) })),
    cron: runs
      .filter((run) => newestRuns.has(run) || (!run.ok && run.startedMs >= firstMs))
      .map(({ startedMs, ...run }) => ({ ...run, startedAt: new Date(startedMs).toISOString() })),
    truncated: calls.some(({ isTruncated }) => isTruncated),
  };
});

function summed(figures: readonly RequestFigures[]): Omit<HealthHistory['requests'][number], 'kind'> {
  const latencies = figures.reduce((all, one) => addLatencies(all, one.latencies), noLatencies());
  return {
    requests: sum(figures.map(({ requests }) => requests)),
    serverErrors: sum(figures.map(({ serverErrors }) => serverErrors)),
    medianMs: latencyWithin(latencies, 0.5),
    p95Ms: latencyWithin(latencies, 0.95),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function longest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.max(...values);
}

function shareOrNull(part: number, all: number): number | null {
  return all === 0 ? null : part / all;
}
