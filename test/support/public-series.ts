/**
 * The public series of `test/fixtures/series`, and which of them decide.
 *
 * Methods and constants are chosen on the series for development alone. The held-out ones are measured, and never looked
 * at while something is chosen. The hash of the name decides, so nobody picked them.
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

export const PUBLIC_SERIES_NAMES: readonly string[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.txt'))
  .map((file) => file.slice(0, -'.txt'.length))
  .sort();

/** Held out if the first byte of the name's SHA-256 is odd. */
export function isHeldOut(name: string): boolean {
  return (createHash('sha256').update(name).digest()[0] ?? 0) % 2 === 1;
}

export function readPublicSeries(name: string): PublicSeries {
  const [first = '', ...lines] = readFileSync(join(FOLDER, `${name}.txt`), 'utf8')
    .trimEnd()
    .split('\n');
  const [day = '', hours] = first.split(' ');
  if (hours !== '24') throw new Error(`${name}: one number a day is expected`);
  const days = lines.join(' ').split(' ').map(Number);
  return { name, startMs: Date.parse(`${day}T00:00:00Z`), days, heldOut: isHeldOut(name) };
}
