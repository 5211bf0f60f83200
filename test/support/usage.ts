/**
 * Usage of rows that a test wrote to D1 by itself, counted as a delivery counts it.
 */
import { CHANGE_COLUMNS, COUNT_USAGE, noteChanges, usageOfCalls } from '../../src/history/roll-ups.ts';

/** Counts the calls that meet the condition, in one batch with whatever writes them. */
export function countCalls(where: string): string[] {
  const calls = `(SELECT 1 AS sign, calls.* FROM calls WHERE ${where})`;
  return [noteChanges(usageOfCalls(calls)), ...COUNT_USAGE];
}

type Column = (typeof CHANGE_COLUMNS)[number];

/** The places of the columns that are text. */
const TEXTS = CHANGE_COLUMNS.indexOf('hour_ms');

/** Notes changes with these columns, as expressions over `source`; another column is empty or 0. */
export function noteUsage(columns: Partial<Record<Column, string>>, source = ''): string {
  const values = CHANGE_COLUMNS.map((name, place) => columns[name] ?? (place < TEXTS ? "''" : '0'));
  return noteChanges(`SELECT ${values.join(', ')} ${source}`);
}
