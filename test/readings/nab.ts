/**
 * The labelled windows of the Numenta Anomaly Benchmark: how many of them meet an episode, and how many episodes meet
 * none, by group and as F1, beside 3-sigma by hour of week.
 *
 * A series is read in parts of at most 100 days, like in the service.
 */
import { detectAnomalies, hourBuckets } from '../../src/readings/anomalies/detect.ts';
import { DAY_MS, HOUR_MS } from '../support/series.ts';
import type { PublicSeries } from './series.ts';
import { threeSigma } from './three-sigma.ts';

const DAYS_MAX = 100;

export interface WindowCounts {
  windows: number;
  found: number;
  falseEpisodes: number;
}

interface Span {
  startMs: number;
  endMs: number;
}

export function windowsFound(series: PublicSeries): { ours: WindowCounts; sigma: WindowCounts } {
  const size = HOUR_MS;
  const days = series.values.length / series.perDay;
  const parts = Math.ceil(days / DAYS_MAX);
  const ours: Span[] = [];
  const sigma: Span[] = [];
  for (let part = 0; part < parts; part += 1) {
    const from = Math.floor((days * part) / parts) * series.perDay;
    const values = series.values.slice(from, Math.floor((days * (part + 1)) / parts) * series.perDay);
    const startMs = series.startMs + from * size;
    const used = values.map((value, at) => ({ startMs: startMs + at * size, spend: value, calls: value }));
    ours.push(...detectAnomalies(hourBuckets(used, { fromMs: startMs, toMs: startMs + values.length * size }), 'hour'));
    sigma.push(...threeSigma(values, startMs, size));
  }
  const endMs = series.startMs + days * DAY_MS;
  const windows = series.windows.filter((window) => window.startMs < endMs);
  return { ours: matched(windows, ours), sigma: matched(windows, sigma) };
}

function matched(windows: readonly Span[], spans: readonly Span[]): WindowCounts {
  const meet = (a: Span, b: Span) => a.startMs < b.endMs && b.startMs < a.endMs;
  return {
    windows: windows.length,
    found: windows.filter((window) => spans.some((span) => meet(window, span))).length,
    falseEpisodes: spans.filter((span) => !windows.some((window) => meet(window, span))).length,
  };
}

export function f1({ windows, found, falseEpisodes }: WindowCounts): number {
  return windows + found + falseEpisodes === 0 ? 1 : (2 * found) / (windows + found + falseEpisodes);
}
