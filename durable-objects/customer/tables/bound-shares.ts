/**
 * One row per model: what the customer's last answers of it came to of their bounds (src/domain/expected-hold.ts).
 */
import { SHARED_MODELS_MAX, withShare } from '../../../src/domain/expected-hold.ts';

export class BoundShareTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The oldest first. */
  find(model: string): number[] {
    const sql = 'SELECT shares FROM bound_shares WHERE model = ?';
    const row = this.#sql.exec<{ shares: string }>(sql, model).toArray()[0];
    return row ? (JSON.parse(row.shares) as number[]) : [];
  }

  /** Remembers one more answer. Of too many models the one that ended longest ago is forgotten. */
  add(model: string, share: number, nowMs: number): void {
    const known = this.find(model);
    if (known.length === 0) this.#makeRoom();
    this.#sql.exec(
      `INSERT INTO bound_shares (model, ended_at_ms, shares) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET ended_at_ms = excluded.ended_at_ms, shares = excluded.shares`,
      model,
      nowMs,
      JSON.stringify(withShare(known, share)),
    );
  }

  #makeRoom(): void {
    this.#sql.exec(
      `DELETE FROM bound_shares WHERE model IN (
         SELECT model FROM bound_shares ORDER BY ended_at_ms DESC LIMIT -1 OFFSET ?)`,
      SHARED_MODELS_MAX - 1,
    );
  }
}
