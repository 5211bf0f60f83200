/**
 * Calls that failed and were free, by UTC hour of their end: how many of them D1 gets in full, and the count of the others. All
 * customers share D1, and nothing bounds how often a vendor refuses what a customer asks.
 */
import { HOUR_MS } from '../../../src/platform/time.ts';

/** Failed calls of an hour that D1 gets in full. */
const FULL_PER_HOUR_MAX = 60;

const hourOf = (atMs: number) => atMs - (atMs % HOUR_MS);

export class FailedHourTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Whether D1 gets no more of the hour in full. */
  isFull(atMs: number): boolean {
    const sql = 'SELECT full_calls AS full FROM failed_hours WHERE hour_ms = ?';
    const [row] = this.#sql.exec<{ full: number }>(sql, hourOf(atMs)).toArray();
    return (row?.full ?? 0) >= FULL_PER_HOUR_MAX;
  }

  /** Counts a call that D1 gets in full. */
  addFull(atMs: number): void {
    this.#change(atMs, { full: 1, counted: 0, unpriced: 0 });
  }

  /** Counts a call that D1 gets as a part of the count, or with `sign` -1 no longer does. Returns the id of the hour. */
  count(atMs: number, isUnpriced: boolean, sign: 1 | -1): string {
    this.#change(atMs, { full: 0, counted: sign, unpriced: isUnpriced ? sign : 0 });
    return String(hourOf(atMs));
  }

  #change(atMs: number, { full, counted, unpriced }: { full: number; counted: number; unpriced: number }): void {
    this.#sql.exec(
      `INSERT INTO failed_hours (hour_ms, full_calls, counted_calls, counted_unpriced, revision) VALUES (?, ?, ?, ?, 1)
       ON CONFLICT (hour_ms) DO UPDATE SET full_calls = full_calls + excluded.full_calls,
         counted_calls = counted_calls + excluded.counted_calls,
         counted_unpriced = counted_unpriced + excluded.counted_unpriced, revision = revision + 1`,
      hourOf(atMs),
      full,
      counted,
      unpriced,
    );
  }

  /** Drops hours before then. Returns the rows written. */
  drop(beforeMs: number, rowsMax: number): number {
    const sql =
      'DELETE FROM failed_hours WHERE hour_ms IN (SELECT hour_ms FROM failed_hours WHERE hour_ms < ? LIMIT ?)';
    return this.#sql.exec(sql, beforeMs, rowsMax).rowsWritten;
  }

  oldestMs(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT MIN(hour_ms) AS at FROM failed_hours').one().at;
  }
}
