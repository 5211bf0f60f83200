/**
 * One row per batch under way: what it holds of the customer's allowance and balance, as JSON (src/domain/batch-hold.ts).
 */
import type { BatchHold } from '../../../src/domain/batch-hold.ts';

export class BatchHoldTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  find(requestName: string): BatchHold | null {
    const sql = 'SELECT hold FROM batch_holds WHERE request_name = ?';
    const row = this.#sql.exec<{ hold: string }>(sql, requestName).toArray()[0];
    return row ? (JSON.parse(row.hold) as BatchHold) : null;
  }

  /** Stores what a batch holds now. Of a new batch `nowMs` is when it began. */
  save(requestName: string, hold: BatchHold, nowMs: number): void {
    this.#sql.exec(
      `INSERT INTO batch_holds (request_name, begun_at_ms, expires_at_ms, hold) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET expires_at_ms = excluded.expires_at_ms, hold = excluded.hold`,
      requestName,
      nowMs,
      hold.expiresAtMs,
      JSON.stringify(hold),
    );
  }

  remove(requestName: string): void {
    this.#sql.exec('DELETE FROM batch_holds WHERE request_name = ?', requestName);
  }

  /** Batches that hold something. */
  countStanding(): number {
    const sql = 'SELECT COUNT(*) AS count FROM batch_holds WHERE expires_at_ms IS NOT NULL';
    return this.#sql.exec<{ count: number }>(sql).one().count;
  }

  /** The holds whose time has come, the earliest first. */
  pastExpiry(nowMs: number, rowsMax: number): { requestName: string; hold: BatchHold }[] {
    const rows = this.#sql.exec<{ request_name: string; hold: string }>(
      'SELECT request_name, hold FROM batch_holds WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?',
      nowMs,
      rowsMax,
    );
    return rows
      .toArray()
      .map(({ request_name, hold }) => ({ requestName: request_name, hold: JSON.parse(hold) as BatchHold }));
  }

  nextExpiryMs(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT MIN(expires_at_ms) AS at FROM batch_holds').one().at;
  }

  /** Drops expired batches that began by then. Returns the rows written. */
  drop(begunByMs: number, rowsMax: number): number {
    return this.#sql.exec(
      `DELETE FROM batch_holds WHERE request_name IN (
         SELECT request_name FROM batch_holds WHERE expires_at_ms IS NULL AND begun_at_ms <= ? LIMIT ?)`,
      begunByMs,
      rowsMax,
    ).rowsWritten;
  }

  /** When the oldest of the expired batches began. */
  oldestExpiredMs(): number | null {
    const sql = 'SELECT MIN(begun_at_ms) AS at FROM batch_holds WHERE expires_at_ms IS NULL';
    return this.#sql.exec<{ at: number | null }>(sql).one().at;
  }
}
