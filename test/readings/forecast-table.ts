/**
 * The tables of forecasts: the number of outcomes that P10 to P90 holds, errors and Winkler scores against the rivals,
 * for the held-out series, those for development, and all.
 */
import { setImmediate } from 'node:timers/promises';
import { PUBLIC_SERIES_NAMES, readPublicSeries } from '../support/public-series.ts';
import {
  bySeries,
  HISTORIES,
  HORIZONS,
  heldShare,
  METHODS,
  ratio,
  relative,
  type Trial,
  trialsOf,
} from './forecast-accuracy.ts';
import type { Figure, Part, RunOptions, Table } from './table.ts';

const ORIGINS = { short: 50, long: 200 } as const;

const HELD = { atLeast: 0.78, atMost: 0.82 };
/** At each horizon, against the last week repeated. */
const TO_NAIVE = { atMost: 0.95 };
/** At each history and horizon, against the plain mean. */
const TO_MEAN = { atMost: 1.02 };
const BETTER = { atMost: 1 };

export const forecasts: Part = {
  name: 'forecast',
  about: 'the interval, the error and the score of forecasts, with 14, 28 and 60 days of history, 1 to 30 days ahead',
  async run({ short, onProgress, signal }: RunOptions): Promise<Table[]> {
    const trials: (Trial & { heldOut: boolean })[] = [];
    for (const [at, name] of PUBLIC_SERIES_NAMES.entries()) {
      // A turn of the event loop lets Ctrl+C in.
      await setImmediate();
      if (signal.aborted) break;
      onProgress(`${name} (${at + 1} of ${PUBLIC_SERIES_NAMES.length})`);
      const series = readPublicSeries(name);
      const { heldOut } = series;
      trials.push(...trialsOf(series, short ? ORIGINS.short : ORIGINS.long).map((trial) => ({ ...trial, heldOut })));
    }
    if (trials.length === 0) return [];
    const sets = [
      { name: 'held out', own: trials.filter(({ heldOut }) => heldOut) },
      { name: 'development', own: trials.filter(({ heldOut }) => !heldOut) },
      { name: 'all', own: trials },
    ].filter(({ own }) => own.length > 0);
    return [...sets.flatMap(({ name, own }) => [heldTable(name, own), errorTable(name, own)]), seriesTable(trials)];
  },
};

function heldTable(set: string, trials: readonly Trial[]): Table {
  const row = (name: string, own: readonly Trial[]) => ({
    name,
    figures: METHODS.map((method): Figure | null =>
      own.length === 0 ? null : { value: heldShare(own, method), ...(method === 'callmeter' && { goal: HELD }) },
    ),
  });
  const grades = ['HIGH', 'MEDIUM', 'LOW'] as const;
  return {
    title: `P10 to P90: ${set}`,
    columns: [...METHODS],
    rows: [
      row('all moments', trials),
      ...grades.map((grade) =>
        row(
          grade,
          trials.filter(({ quality }) => quality === grade),
        ),
      ),
    ],
  };
}

function errorTable(set: string, trials: readonly Trial[]): Table {
  const row = (name: string, own: readonly Trial[], goals: { naive?: Figure['goal']; mean?: Figure['goal'] }) => {
    const figure = (of: 'error' | 'winkler', other: (typeof METHODS)[number], goal?: Figure['goal']): Figure => {
      return { value: relative(own, of, 'callmeter', other), ...(goal && { goal }) };
    };
    return {
      name,
      figures: [
        figure('error', 'seasonalNaive', goals.naive),
        figure('error', 'plainMean', goals.mean),
        figure('error', 'holtWinters'),
        figure('winkler', 'seasonalNaive'),
        figure('winkler', 'plainMean'),
        figure('winkler', 'holtWinters'),
      ],
    };
  };
  const at = (history: number | null, horizon: number) =>
    trials.filter((trial) => (history === null || trial.history === history) && trial.horizon === horizon);
  return {
    title: `against: ${set}`,
    columns: ['error/naive', 'error/mean', 'error/HW', 'Winkler/naive', 'Winkler/mean', 'Winkler/HW'],
    rows: [
      ...HORIZONS.map((horizon) => row(`${horizon} days ahead`, at(null, horizon), { naive: TO_NAIVE })),
      ...HISTORIES.flatMap((history) =>
        HORIZONS.map((horizon) => row(`${history} days, ${horizon} ahead`, at(history, horizon), { mean: TO_MEAN })),
      ),
    ],
  };
}

/** Each series by itself; 18 of 20 are to have a better score than both rivals. */
function seriesTable(trials: readonly Trial[]): Table {
  const series = [...bySeries(trials)].map(([name, own]) => ({
    name,
    held: heldShare(own),
    naive: ratio(own, 'winkler', 'callmeter', 'seasonalNaive'),
    holtWinters: ratio(own, 'winkler', 'callmeter', 'holtWinters'),
    error: ratio(own, 'error', 'callmeter', 'seasonalNaive'),
  }));
  const better = series.filter(({ naive, holtWinters }) => naive < 1 && holtWinters < 1).length;
  return {
    title: 'series',
    columns: ['held', 'Winkler/naive', 'Winkler/HW', 'error/naive'],
    rows: [
      ...series.map(({ name, held, naive, holtWinters, error }) => ({
        name,
        figures: [
          { value: held },
          { value: naive, goal: BETTER },
          { value: holtWinters, goal: BETTER },
          { value: error },
        ],
      })),
      {
        name: 'better than both, share',
        figures: [null, { value: better / series.length, goal: { atLeast: 0.9 } }, null, null],
      },
    ],
  };
}
