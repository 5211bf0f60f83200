/**
 * Denied calls by UTC hour: how many of them D1 gets in full, and the count of the others by feature. All customers
 * share D1, and nothing bounds how often a customer is denied.
 */
import { HOUR_MS } from '../../../src/platform/time.ts';

/** Denied calls of an hour that D1 gets in full. */
const FULL_PER_HOUR_MAX = 60;
/** Features of an hour that have a count of their own; further ones are counted without a feature. */
const FEATURES_PER_HOUR_MAX = 10;

export class DeniedHourTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Counts a denied call. Returns the row that counts it, or `null` where D1 gets the call in full. */
  add(atMs: number, feature: string): number | null {
    const hourMs = atMs - (atMs % HOUR_MS);
    const { full, features, known } = this.#sql
      .exec<{ full: number; features: number; known: number }>(
        `SELECT COALESCE(SUM(full_calls), 0) AS full, COUNT(*) FILTER (WHERE feature <> '') AS features,
           COUNT(*) FILTER (WHERE feature = ?2) AS known FROM denied_hours WHERE hour_ms = ?1`,
        hourMs,
        feature,
      )
      .one();
    if (full < FULL_PER_HOUR_MAX) {
      this.#increase('full_calls', hourMs, '');
      return null;
    }
    return this.#increase('counted_calls', hourMs, known > 0 || features < FEATURES_PER_HOUR_MAX ? feature : '');
  }

  #increase(column: 'full_calls' | 'counted_calls', hourMs: number, feature: string): number {
    const sql = `INSERT INTO denied_hours (hour_ms, feature, ${column}) VALUES (?, ?, 1)
      ON CONFLICT (hour_ms, feature) DO UPDATE SET ${column} = ${column} + 1 RETURNING row_id AS id`;
    return this.#sql.exec<{ id: number }>(sql, hourMs, feature).one().id;
  }

  /** Drops hours before then. Returns the rows written. */
  drop(beforeMs: number, rowsMax: number): number {
    const sql = `DELETE FROM denied_hours WHERE row_id IN (
      SELECT row_id FROM denied_hours WHERE hour_ms < ? LIMIT ?)`;
    return this.#sql.exec(sql, beforeMs, rowsMax).rowsWritten;
  }

  oldestMs(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT MIN(hour_ms) AS at FROM denied_hours').one().at;
  }
}
