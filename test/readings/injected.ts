/**
 * Injected episodes: windows of public series in which one day or a few are multiplied, the number of them that is
 * found, and the number found in the same windows without them.
 */
import { dayBuckets, detectAnomalies, hourBuckets } from '../../src/readings/anomalies/detect.ts';
import type { AnomalyKind, UsageBucket } from '../../src/readings/anomalies/episode.ts';
import { type Chance, chance, DAY_MS, HOUR_MS } from '../support/series.ts';
import type { PublicSeries } from './series.ts';
import { threeSigma } from './three-sigma.ts';

export type Resolution = 'hour' | 'day';

export interface Injection {
  name: string;
  kinds: readonly AnomalyKind[];
  factor: number;
  days: number;
}

export interface Counts {
  cases: number;
  found: number;
  foundBySigma: number;
}

/** The injected day is one of the last so many of its window. */
const LATEST_DAYS = 7;
/** A series with fewer events on a usual day is not injected into: chance alone triples it. */
const EVENTS_MIN = 10;
/** A share of the calls fails by chance, as in any service. */
const FAILED_SHARE = 0.01;

/** A window of whole days of a series, drawn from those without a label. */
function drawWindow(series: PublicSeries, days: number, c: Chance): { startMs: number; values: number[] } | null {
  const all = Math.floor(series.values.length / series.perDay);
  const possible: number[] = [];
  for (let first = 0; first + days <= all; first += 1) {
    const startMs = series.startMs + first * DAY_MS;
    const endMs = startMs + days * DAY_MS;
    if (series.windows.some((window) => window.startMs < endMs && startMs < window.endMs)) continue;
    possible.push(first);
  }
  if (possible.length === 0) return null;
  const first = c.pick(possible);
  const at = first * series.perDay;
  return { startMs: series.startMs + first * DAY_MS, values: series.values.slice(at, at + days * series.perDay) };
}

function bucketsOf(values: readonly number[], startMs: number, resolution: Resolution, c: Chance): UsageBucket[] {
  const size = resolution === 'hour' ? HOUR_MS : DAY_MS;
  const used = values.map((value, at) => ({
    startMs: startMs + at * size,
    spend: value,
    calls: value,
    failedCalls: Math.min(value, c.poisson(value * FAILED_SHARE)),
  }));
  const fill = resolution === 'hour' ? hourBuckets : dayBuckets;
  return fill(used, { fromMs: startMs, toMs: startMs + values.length * size });
}

function inDays(values: readonly number[], perDay: number): number[] {
  const days: number[] = [];
  for (let at = 0; at < values.length; at += perDay)
    days.push(values.slice(at, at + perDay).reduce((a, b) => a + b, 0));
  return days;
}

/** Whether a series has enough events on a usual day. */
export function isMeasurable(series: PublicSeries): boolean {
  if (!series.counts) return false;
  const days = inDays(series.values, series.perDay).sort((a, b) => a - b);
  return (days[Math.floor(days.length / 2)] ?? 0) >= EVENTS_MIN;
}

/** The share of `count` injected episodes that is found in windows of `days` days. */
export function recallOf(
  series: PublicSeries,
  { kinds, factor, days }: Injection,
  length: number,
  resolution: Resolution,
  cases: number,
): Counts {
  const counts: Counts = { cases: 0, found: 0, foundBySigma: 0 };
  for (let n = 0; n < cases; n += 1) {
    const c = chance(n * 7_717 + length * 131 + series.name.length);
    const window = drawWindow(series, length, c);
    if (!window) break;
    const start = length - days - Math.floor(c.between(0, LATEST_DAYS - days + 1));
    const values = window.values.map((value, at) => {
      const day = Math.floor(at / series.perDay);
      return day >= start && day < start + days ? Math.round(value * factor) : value;
    });
    const used = resolution === 'day' ? inDays(values, series.perDay) : values;
    const truth = { startMs: window.startMs + start * DAY_MS, endMs: window.startMs + (start + days) * DAY_MS };
    const meets = (it: { startMs: number; endMs: number }) => it.startMs < truth.endMs && truth.startMs < it.endMs;
    counts.cases += 1;
    const episodes = detectAnomalies(bucketsOf(used, window.startMs, resolution, c), resolution);
    if (episodes.some((episode) => kinds.includes(episode.kind) && meets(episode))) counts.found += 1;
    const direction = factor > 1 ? 'up' : 'down';
    const size = resolution === 'day' ? DAY_MS : HOUR_MS;
    if (threeSigma(used, window.startMs, size).some((it) => it.direction === direction && meets(it)))
      counts.foundBySigma += 1;
  }
  return counts;
}

export interface Alarms {
  days: number;
  episodes: number;
  ofSigma: number;
  kinds: Map<string, number>;
}

/** The episodes found in unchanged windows. */
export function alarmsOf(series: PublicSeries, length: number, resolution: Resolution, cases: number): Alarms {
  const alarms: Alarms = { days: 0, episodes: 0, ofSigma: 0, kinds: new Map() };
  for (let n = 0; n < cases; n += 1) {
    const c = chance(n * 7_717 + length * 131 + series.name.length);
    const window = drawWindow(series, length, c);
    if (!window) break;
    const used = resolution === 'day' ? inDays(window.values, series.perDay) : window.values;
    alarms.days += length;
    const episodes = detectAnomalies(bucketsOf(used, window.startMs, resolution, c), resolution);
    alarms.episodes += episodes.length;
    for (const { kind } of episodes) alarms.kinds.set(kind, (alarms.kinds.get(kind) ?? 0) + 1);
    alarms.ofSigma += threeSigma(used, window.startMs, resolution === 'day' ? DAY_MS : HOUR_MS).length;
  }
  return alarms;
}
