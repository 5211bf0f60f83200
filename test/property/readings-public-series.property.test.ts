/**
 * On public series: P10 to P90 holds the outcome in 70 to 90 percent of cases, the error
 * stays below that of repeating the last week, and injected anomalies are found and little else is.
 *
 * Each series is forecast from many moments, as if its customer had been there for 14 to 100 days, for 1 to 30 days
 * ahead.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dayBuckets, detectAnomalies } from '../../src/readings/anomalies/detect.ts';
import { forecast } from '../../src/readings/forecast/forecast.ts';
import { chance, DAY_MS } from '../support/series.ts';
import { missOf, ratioMissOf, sampleOf } from '../support/sweep.ts';

const LENGTHS = [14, 30, 60, 100];
const HORIZONS = [1, 3, 7, 14, 30];
/** The moments for each length and horizon, spread over the whole series; and those of a sample. */
const ORIGINS = 30;
const ORIGINS_IN_SAMPLE = 10;
/** The cases of each series. */
const CASES = LENGTHS.length * HORIZONS.length * ORIGINS;

/** `errorMax`: of the expected quantity, against repeating the last week. */
const SERIES = [
  { file: 'births-1994-2003', errorMax: 1 },
  { file: 'births-2000-2014', errorMax: 1 },
  { file: 'bird-strikes-1990-2002', errorMax: 1.05 },
];

interface PublicSeries {
  startMs: number;
  days: number[];
}

function read(file: string): PublicSeries {
  const text = readFileSync(join(import.meta.dirname, '../fixtures/series', `${file}.txt`), 'utf8');
  const [first = '', ...lines] = text.trimEnd().split('\n');
  const [day = '', hours] = first.split(' ');
  if (hours !== '24') throw new Error(`${file}: one number a day is expected`);
  return { startMs: Date.parse(`${day}T00:00:00Z`), days: lines.join(' ').split(' ').map(Number) };
}

interface Outcome {
  held: boolean;
  /** Errors in days of usual use. */
  error: number;
  naiveError: number;
}

function forecastAt({ startMs, days }: PublicSeries, origin: number, length: number, horizon: number): Outcome {
  const nowMs = startMs + origin * DAY_MS;
  const past = days.slice(origin - length, origin);
  const hours = past
    .map((quantity, at) => ({ startMs: nowMs - (length - at) * DAY_MS, quantity }))
    .filter(({ quantity }) => quantity > 0);
  const { remaining } = forecast({
    hours,
    firstDataMs: nowMs - length * DAY_MS,
    nowMs,
    periodStartMs: nowMs,
    horizonEndMs: nowMs + horizon * DAY_MS,
    timeZone: 'UTC',
    kind: 'quantity',
    evidence: 'complete',
  });
  if (!remaining) throw new Error('no forecast');
  let outcome = 0;
  let naive = 0;
  for (let ahead = 0; ahead < horizon; ahead += 1) {
    outcome += days[origin + ahead] ?? 0;
    naive += past[length - 7 + (ahead % 7)] ?? 0;
  }
  const size = Math.max(1, (past.reduce((all, day) => all + day, 0) / length) * horizon);
  return {
    held: outcome >= remaining.p10 && outcome <= remaining.p90,
    error: Math.abs(outcome - remaining.expected) / size,
    naiveError: Math.abs(outcome - naive) / size,
  };
}

describe('forecasts', () => {
  test.each(SERIES)('$file', ({ file, errorMax }) => {
    const series = read(file);
    const outcomes: Outcome[] = [];
    for (const length of LENGTHS) {
      for (const horizon of HORIZONS) {
        const room = series.days.length - length - horizon;
        const moments = Array.from({ length: ORIGINS }, (_, n) => length + Math.floor((room * n) / (ORIGINS - 1)));
        for (const moment of sampleOf(moments, ORIGINS_IN_SAMPLE))
          outcomes.push(forecastAt(series, moment, length, horizon));
      }
    }
    const held = outcomes.filter((outcome) => outcome.held).length / outcomes.length;
    const total = (name: 'error' | 'naiveError') => outcomes.reduce((all, outcome) => all + outcome[name], 0);
    const error = total('error') / total('naiveError');
    const pairs = outcomes.map((outcome) => [outcome.error, outcome.naiveError] as const);
    console.log(`${file.padEnd(24)} held ${held.toFixed(3)}  error/naive ${error.toFixed(3)}`);
    expect(held).toBeGreaterThanOrEqual(0.7 - missOf(0.7, outcomes.length, CASES));
    expect(held).toBeLessThanOrEqual(0.9 + missOf(0.9, outcomes.length, CASES));
    expect(error).toBeLessThanOrEqual(errorMax + ratioMissOf(pairs, CASES));
  });
});

const WINDOWS = 60;

/** Windows of the births, each with its spend multiplied, or silenced, for some days. */
function injected(series: PublicSeries, kind: 'SPEND_SPIKE' | 'SILENCE', seed: number) {
  const c = chance(seed);
  const length = c.pick([45, 60, 90]);
  const first = Math.floor(c.between(0, series.days.length - length));
  const episodeDays = Math.floor(kind === 'SILENCE' ? c.between(3, 10) : c.between(1, 4));
  const start = Math.floor(c.between(16, length - episodeDays));
  const factor = kind === 'SILENCE' ? 0 : c.between(3, 8);
  const fromMs = series.startMs + first * DAY_MS;
  const days = series.days.slice(first, first + length).map((count, at) => {
    const calls = Math.round(count * (at >= start && at < start + episodeDays ? factor : 1));
    return { startMs: fromMs + at * DAY_MS, spend: calls, calls, failedCalls: 0, models: {} };
  });
  const episodeMs = fromMs + start * DAY_MS;
  return {
    buckets: dayBuckets(days, { fromMs, toMs: fromMs + length * DAY_MS }),
    startMs: episodeMs,
    endMs: episodeMs + episodeDays * DAY_MS,
  };
}

test.each(['SPEND_SPIKE', 'SILENCE'] as const)('injected anomalies: %s', (kind) => {
  let hits = 0;
  let falseAlarms = 0;
  const sources = [read('births-1994-2003'), read('births-2000-2014')];
  for (let seed = 0; seed < WINDOWS; seed += 1) {
    const { buckets, startMs, endMs } = injected(sources[seed % 2] as PublicSeries, kind, seed);
    const episodes = detectAnomalies(buckets, 'day');
    const found = episodes.filter(
      (episode) => episode.kind === kind && episode.startMs < endMs && startMs < episode.endMs,
    );
    if (found.length > 0) hits += 1;
    falseAlarms += episodes.length - found.length;
  }
  console.log(
    `${kind.padEnd(24)} recall ${(hits / WINDOWS).toFixed(3)}  precision ${(hits / (hits + falseAlarms)).toFixed(3)}`,
  );
  expect(hits / WINDOWS).toBeGreaterThanOrEqual(0.9);
  expect(hits / (hits + falseAlarms)).toBeGreaterThanOrEqual(0.9);
});
