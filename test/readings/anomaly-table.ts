/**
 * How well anomalies are found on public series, beside 3-sigma by hour of week: injected spikes, drops and silences,
 * false episodes in series as they are, and the labelled windows of the Numenta Anomaly Benchmark.
 *
 *     node src/cli/node.mjs test/readings/anomaly-table.ts [--nab FOLDER] [--bike FILE] [--json]
 */
import { parseArgs } from 'node:util';
import { alarmsOf, type Injection, isMeasurable, type Resolution, recallOf } from './injected.ts';
import { f1, type WindowCounts, windowsFound } from './nab.ts';
import { bikeSeries, fixtureSeries, nabSeries, type PublicSeries } from './series.ts';

const HELP = `node src/cli/node.mjs test/readings/anomaly-table.ts [--nab FOLDER] [--bike FILE] [--json]

Prints how many injected episodes are found in windows of public series, how many false ones in the same windows, and,
with --nab, how many labelled windows. Constants were chosen on the development half of the series alone.

  --nab FOLDER   a clone of the Numenta Anomaly Benchmark (its data is AGPL-3.0, so it is not in this repository)
  --bike FILE    hour.csv of the UCI bike sharing data
  --json         the tables as JSON on standard output
  --help         this text`;

export const INJECTIONS: readonly Injection[] = [
  { name: 'spike x5', kinds: ['SPEND_SPIKE'], factor: 5, days: 1 },
  { name: 'spike x3', kinds: ['SPEND_SPIKE'], factor: 3, days: 1 },
  { name: 'drop to 30 %', kinds: ['USAGE_DROP', 'SILENCE'], factor: 0.3, days: 1 },
  { name: 'drop, 3 days', kinds: ['USAGE_DROP', 'SILENCE'], factor: 0.3, days: 3 },
  { name: 'silence', kinds: ['SILENCE'], factor: 0, days: 1 },
  { name: 'silence, 3 days', kinds: ['SILENCE'], factor: 0, days: 3 },
];

export const LENGTHS = [14, 21, 28, 48] as const;
const CASES = 20;

export interface RecallRow {
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

export interface WindowRow {
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
export function windowTable(series: readonly PublicSeries[]): WindowRow[] {
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

/** Computes the tables, and prints them; with `asJson` it prints nothing. */
export function anomalyTables(
  { nab, bike }: { nab?: string | undefined; bike?: string | undefined },
  asJson = false,
): { recall: RecallRow[]; windows: WindowRow[] } {
  const labelled = nab === undefined ? [] : nabSeries(nab);
  const series = [...fixtureSeries(), ...labelled, ...(bike === undefined ? [] : [bikeSeries(bike)])];
  const tables = { recall: recallTable(series), windows: windowTable(labelled) };
  if (!asJson) print(tables);
  return tables;
}

const percent = (share: number) => `${Math.round(100 * share)} %`;

function print({ recall, windows }: { recall: RecallRow[]; windows: WindowRow[] }): void {
  console.log('Injected episodes that are found, and (by 3-sigma); false episodes in 30 days\n');
  const headings = ['series', 'by', 'days', ...INJECTIONS.map(({ name }) => name), 'false in 30 days'];
  printTable(
    headings,
    recall.map(({ half, resolution, days, found, foundBySigma, falseEpisodes, falseOfSigma }) => [
      half,
      resolution,
      String(days),
      ...found.map((share, at) => `${percent(share)} (${percent(foundBySigma[at] ?? 0)})`),
      `${falseEpisodes.toFixed(2)} (${falseOfSigma.toFixed(2)})`,
    ]),
  );
  if (windows.length === 0) return;
  console.log('\nLabelled windows of the Numenta Anomaly Benchmark\n');
  printTable(
    ['group', 'series', 'windows', 'found', 'false', 'F1', '3-sigma: found', 'false', 'F1'],
    windows.map(({ group, half, ours, sigma }) => [
      group,
      half,
      String(ours.windows),
      String(ours.found),
      String(ours.falseEpisodes),
      ours.f1.toFixed(2),
      String(sigma.found),
      String(sigma.falseEpisodes),
      sigma.f1.toFixed(2),
    ]),
  );
}

function printTable(headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = headings.map((heading, at) => Math.max(heading.length, ...rows.map((row) => (row[at] ?? '').length)));
  for (const row of [headings, ...rows])
    console.log(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      nab: { type: 'string' },
      bike: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) console.log(HELP);
  else {
    const tables = anomalyTables(values, values.json);
    if (values.json) console.log(JSON.stringify(tables, null, 2));
  }
}
