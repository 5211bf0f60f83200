/**
 * Public series to measure anomalies on: those of the fixtures, and those of folders that the caller has fetched (the
 * Numenta Anomaly Benchmark, and the UCI bike sharing data).
 *
 * Constants are chosen only on the development half. A hash of a series' name decides its half.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isHeldOut, SERIES_FILES } from '../support/public-series.ts';
import { DAY_MS, HOUR_MS } from '../support/series.ts';

/** Series of NAB that are counts; the others are rates, and an hour is their mean. */
const COUNTED = /^(realTweets\/|realKnownCause\/nyc_taxi|realAWSCloudwatch\/elb_request_count)/;
/** Calls of a mean hour that a rate is scaled to. */
const CALLS_OF_RATE = 100;

export interface PublicSeries {
  name: string;
  group: string;
  startMs: number;
  /** The numbers of a day: 24, or 1 if there are only days. */
  perDay: number;
  values: number[];
  heldOut: boolean;
  /** Whether a number counts events, so that a multiple of it means something. */
  counts: boolean;
  /** The labelled anomalies, half-open. */
  windows: { startMs: number; endMs: number }[];
}

export function fixtureSeries(): PublicSeries[] {
  return SERIES_FILES.map((file) => ({ ...facts(file.name, 'fixtures'), ...file }));
}

/** The series of NAB, as cloned into `folder`. */
export function nabSeries(folder: string): PublicSeries[] {
  const labels = join(folder, 'labels/combined_windows.json');
  if (!existsSync(labels)) throw new Error(`${labels} does not exist`);
  const windows = JSON.parse(readFileSync(labels, 'utf8')) as Record<string, [string, string][]>;
  return Object.entries(windows).map(([path, labelled]) => {
    const [group = '', file = ''] = path.split('/');
    const rows = readFileSync(join(folder, 'data', path), 'utf8')
      .trim()
      .split('\n')
      .slice(1);
    const counts = COUNTED.test(path);
    return {
      ...facts(file.replace('.csv', ''), group),
      ...hoursOf(
        rows.map((row) => timed(...(row.split(',') as [string, string]))),
        counts,
      ),
      counts,
      windows: labelled.map(([start, end]) => ({ startMs: utc(start), endMs: utc(end) })),
    };
  });
}

/** The rentals of `hour.csv` of the UCI bike sharing data. */
export function bikeSeries(file: string): PublicSeries {
  const [header = '', ...rows] = readFileSync(file, 'utf8').trim().split(/\r?\n/);
  const columns = header.split(',');
  const at = (name: string) => columns.indexOf(name);
  const hours = rows.map((row) => {
    const cells = row.split(',');
    const timeMs = Date.parse(`${cells[at('dteday')]}T00:00:00Z`) + Number(cells[at('hr')]) * HOUR_MS;
    return { timeMs, value: Number(cells[at('cnt')]) };
  });
  return { ...facts('uci-bike', 'bike'), ...hoursOf(hours, true) };
}

function facts(name: string, group: string) {
  return { name, group, heldOut: isHeldOut(name), counts: true, windows: [] as PublicSeries['windows'] };
}

const utc = (text: string) => Date.parse(`${text.replace(' ', 'T').slice(0, 19)}Z`);
const timed = (text: string, value: string) => ({ timeMs: utc(text), value: Number(value) });

/**
 * Whole days of hours: sums of counts, or means of rates, scaled. An hour that nobody recorded is not zero: it is
 * interpolated.
 */
function hoursOf(rows: readonly { timeMs: number; value: number }[], counts: boolean) {
  const times = rows.map(({ timeMs }) => timeMs);
  // Counts begin at midnight, so that they can be read by the day; of rates, some have no day to spare.
  const firstMs = Math.min(...times);
  const startMs = counts ? Math.ceil(firstMs / DAY_MS) * DAY_MS : Math.floor(firstMs / HOUR_MS) * HOUR_MS;
  const size = Math.floor((Math.max(...times) + HOUR_MS - startMs) / DAY_MS) * 24;
  const sums = new Float64Array(size);
  const known = new Float64Array(size);
  for (const { timeMs, value } of rows) {
    const hour = Math.floor((timeMs - startMs) / HOUR_MS);
    if (hour < 0 || hour >= size) continue;
    sums[hour] = (sums[hour] ?? 0) + Math.max(0, value);
    known[hour] = (known[hour] ?? 0) + 1;
  }
  const usual = Math.max(...known);
  const hours = Array.from(sums, (sum, hour) =>
    known[hour] ? (sum / (known[hour] as number)) * (counts ? usual : 1) : null,
  );
  const filled = interpolated(hours);
  if (counts) return { startMs, perDay: 24, values: filled.map(Math.round) };
  const scale = CALLS_OF_RATE / (filled.reduce((all, value) => all + value, 0) / size || 1);
  return { startMs, perDay: 24, values: filled.map((value) => value * scale) };
}

function interpolated(values: readonly (number | null)[]): number[] {
  const result: number[] = [];
  let last = values.find((value) => value !== null) ?? 0;
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at];
    if (value !== null && value !== undefined) {
      last = value;
      result.push(value);
      continue;
    }
    let end = at;
    while (end < values.length && values[end] === null) end += 1;
    const next = values[end] ?? last;
    result.push(last + (next - last) / (end - at + 1));
    last = result[at] ?? last;
  }
  return result;
}
