/**
 * The public series of `test/fixtures/series`, and those of them that decide.
 *
 * Constants of anomalies are chosen only on the series for development; the held-out ones are measured. The few
 * constants of forecasts, whose intervals come from a customer's own errors, were compared on all of them. The hash of
 * the name decides, so nobody picked them.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../fixtures/series');

export interface PublicSeries {
  name: string;
  /** The start of the first UTC day. */
  startMs: number;
  /** One quantity a day, without gaps. */
  days: number[];
  heldOut: boolean;
}

/** The contents of a file: its first day, the number of its figures in a day, and the figures. */
export interface SeriesFile {
  name: string;
  startMs: number;
  perDay: number;
  values: number[];
}

/** All series, of days and of hours. */
export const SERIES_FILES: readonly SeriesFile[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.txt'))
  .map((file) => readSeries(file.slice(0, -'.txt'.length)))
  .sort((a, b) => (a.name < b.name ? -1 : 1));

export const PUBLIC_SERIES_NAMES: readonly string[] = SERIES_FILES.filter(({ perDay }) => perDay === 1).map(
  ({ name }) => name,
);

function readSeries(name: string): SeriesFile {
  const [first = '', ...lines] = readFileSync(join(FOLDER, `${name}.txt`), 'utf8')
    .trimEnd()
    .split('\n');
  const [day = '', hours] = first.split(' ');
  return {
    name,
    startMs: Date.parse(`${day}T00:00:00Z`),
    perDay: 24 / Number(hours),
    values: lines.join(' ').split(' ').map(Number),
  };
}

/** Held out if the first byte of the name's SHA-256 is odd. */
export function isHeldOut(name: string): boolean {
  return (createHash('sha256').update(name).digest()[0] ?? 0) % 2 === 1;
}

export function readPublicSeries(name: string): PublicSeries {
  const file = SERIES_FILES.find((one) => one.name === name);
  if (file?.perDay !== 1) throw new Error(`${name}: one number a day is expected`);
  return { name, startMs: file.startMs, days: file.values, heldOut: isHeldOut(name) };
}
