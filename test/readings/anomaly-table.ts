/**
 * How well anomalies are found on public series, beside 3-sigma by hour of week: injected spikes, drops and silences,
 * false episodes in series as they are, and the labelled windows of the Numenta Anomaly Benchmark.
 */
import { setImmediate } from 'node:timers/promises';
import { alarmsOf, type Injection, isMeasurable, type Resolution, recallOf } from './injected.ts';
import { f1, type WindowCounts, windowsFound } from './nab.ts';
import { bikeSeries, fixtureSeries, nabSeries, type PublicSeries } from './series.ts';
import type { Figure, Goal, Part, RunOptions, Table } from './table.ts';

export const INJECTIONS: readonly Injection[] = [
  { name: 'spike x5', kinds: ['SPEND_SPIKE'], factor: 5, days: 1 },
  { name: 'spike x3', kinds: ['SPEND_SPIKE'], factor: 3, days: 1 },
  { name: 'drop to 30 %', kinds: ['USAGE_DROP', 'SILENCE'], factor: 0.3, days: 1 },
  { name: 'drop, 3 days', kinds: ['USAGE_DROP', 'SILENCE'], factor: 0.3, days: 3 },
  { name: 'silence', kinds: ['SILENCE'], factor: 0, days: 1 },
  { name: 'silence, 3 days', kinds: ['SILENCE'], factor: 0, days: 3 },
];

const LENGTHS = [14, 21, 28, 48] as const;
/** Places of an injection in each series. */
const CASES = 20;
const CASES_SHORT = 5;

interface RecallRow {
  half: 'development' | 'held out';
  resolution: Resolution;
  days: number;
  /** Shares of the injected episodes that are found, by injection, and by 3-sigma. */
  found: number[];
  foundBySigma: number[];
  /** Episodes in 30 days of the same windows without an injected one. */
  falseEpisodes: number;
  falseOfSigma: number;
}

interface WindowRow {
  group: string;
  half: 'development' | 'held out' | 'all';
  ours: WindowCounts & { f1: number };
  sigma: WindowCounts & { f1: number };
}

/** Recall and false episodes over all series of each half, by resolution and length of history. */
export function recallTable(series: readonly PublicSeries[], cases = CASES, lengths: readonly number[] = LENGTHS) {
  const rows: RecallRow[] = [];
  for (const half of ['development', 'held out'] as const)
    for (const resolution of ['day', 'hour'] as const)
      for (const days of lengths) {
        const own = series.filter(
          (one) =>
            one.heldOut === (half === 'held out') && isMeasurable(one) && (resolution === 'day' || one.perDay > 1),
        );
        const row = recallRow(own, resolution, days, cases);
        if (row) rows.push({ half, resolution, days, ...row });
      }
  return rows;
}

function recallRow(series: readonly PublicSeries[], resolution: Resolution, days: number, cases: number) {
  const counts = INJECTIONS.map((injection) => {
    const total = { cases: 0, found: 0, foundBySigma: 0 };
    for (const one of series) {
      const counted = recallOf(one, injection, days, resolution, cases);
      total.cases += counted.cases;
      total.found += counted.found;
      total.foundBySigma += counted.foundBySigma;
    }
    return total;
  });
  if (counts.every((total) => total.cases === 0)) return null;
  const alarms = series.map((one) => alarmsOf(one, days, resolution, cases));
  const in30Days = (of: 'episodes' | 'ofSigma') =>
    (30 * alarms.reduce((all, alarm) => all + alarm[of], 0)) / alarms.reduce((all, alarm) => all + alarm.days, 0);
  return {
    found: counts.map((total) => total.found / total.cases),
    foundBySigma: counts.map((total) => total.foundBySigma / total.cases),
    falseEpisodes: in30Days('episodes'),
    falseOfSigma: in30Days('ofSigma'),
  };
}

/** F1 on the labelled windows of each group. */
function windowTable(series: readonly PublicSeries[]): WindowRow[] {
  const rows = new Map<string, WindowRow>();
  for (const one of series) {
    const { ours, sigma } = windowsFound(one);
    for (const half of [one.heldOut ? 'held out' : 'development', 'all'] as const) {
      const name = `${one.group} ${half}`;
      const none = { windows: 0, found: 0, falseEpisodes: 0, f1: 0 };
      const row = rows.get(name) ?? { group: one.group, half, ours: { ...none }, sigma: { ...none } };
      for (const [total, counted] of [
        [row.ours, ours],
        [row.sigma, sigma],
      ] as const) {
        total.windows += counted.windows;
        total.found += counted.found;
        total.falseEpisodes += counted.falseEpisodes;
        total.f1 = f1(total);
      }
      rows.set(name, row);
    }
  }
  return [...rows.values()].filter(({ ours }) => ours.windows > 0).sort((a, b) => (a.group < b.group ? -1 : 1));
}

/** The goals with 14 days of history: the episodes to find, and the most false ones. */
const GOALS: Readonly<Record<string, Goal>> = {
  'spike x3': { atLeast: 0.9 },
  'drop to 30 %': { atLeast: 0.8 },
  silence: { atLeast: 0.95 },
};
const FALSE_GOAL: Goal = { atMost: 1 };

export const anomalies: Part = {
  name: 'anomalies',
  about: 'injected spikes, drops and silences that are found, false episodes, and labelled windows with --nab',
  async run({ short, nab, bike, onProgress, signal }: RunOptions): Promise<Table[]> {
    const labelled = nab === undefined ? [] : nabSeries(nab);
    const series = [...fixtureSeries(), ...labelled, ...(bike === undefined ? [] : [bikeSeries(bike)])];
    const rows: RecallRow[] = [];
    for (const days of LENGTHS) {
      // A turn of the event loop lets Ctrl+C in.
      await setImmediate();
      if (signal.aborted) break;
      onProgress(`${days} days of history`);
      rows.push(...recallTable(series, short ? CASES_SHORT : CASES, [days]));
    }
    if (rows.length === 0) return [];
    const windows = signal.aborted ? [] : windowTable(labelled);
    return [...foundTables(rows), ...(windows.length === 0 ? [] : [windowsTable(windows)])];
  },
};

/** Ours, then 3-sigma. */
function foundTables(rows: readonly RecallRow[]): Table[] {
  const columns = [...INJECTIONS.map(({ name }) => name), 'false in 30 d'];
  const nameOf = ({ half, resolution, days }: RecallRow) => `${half}, ${days} d, ${resolution}`;
  return [
    {
      title: 'found',
      columns,
      rows: rows.map((row) => ({
        name: nameOf(row),
        figures: [
          ...row.found.map((value, at) =>
            figureOf(value, row.days === 14 ? GOALS[INJECTIONS[at]?.name ?? ''] : undefined),
          ),
          figureOf(row.falseEpisodes, FALSE_GOAL),
        ],
      })),
    },
    {
      title: 'found by 3-sigma',
      columns,
      rows: rows.map((row) => ({
        name: nameOf(row),
        figures: [...row.foundBySigma, row.falseOfSigma].map((value) => figureOf(value)),
      })),
    },
  ];
}

/** F1 of a group is to be above that of 3-sigma. */
function windowsTable(rows: readonly WindowRow[]): Table {
  return {
    title: 'labelled windows',
    columns: ['windows', 'found', 'false', 'F1', '3-sigma found', 'false', 'F1'],
    rows: rows.map(({ group, half, ours, sigma }) => ({
      name: `${group}, ${half}`,
      figures: [
        ...[ours.windows, ours.found, ours.falseEpisodes].map((value) => figureOf(value)),
        figureOf(ours.f1, half === 'all' ? { atLeast: sigma.f1 } : undefined),
        ...[sigma.found, sigma.falseEpisodes, sigma.f1].map((value) => figureOf(value)),
      ],
    })),
  };
}

const figureOf = (value: number, goal?: Goal): Figure => ({ value, ...(goal && { goal }) });
