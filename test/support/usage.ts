/**
 * Usage of rows that a test wrote to D1 by itself, counted as a delivery counts it.
 */
import { CHANGE_COLUMNS, COUNT_USAGE, usageOfCalls } from '../../src/history/roll-ups.ts';

/** Counts the calls that meet the condition, in one batch with whatever writes them. */
export function countCalls(where: string): string[] {
  const calls = `(SELECT 1 AS sign, calls.* FROM calls WHERE ${where})`;
  return [`INSERT INTO usage_changes (${CHANGE_COLUMNS.join(', ')}) ${usageOfCalls(calls)}`, ...COUNT_USAGE];
}
