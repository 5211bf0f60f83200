/**
 * Changes whose content D1 refused, with D1's reason.
 *
 * A change stays here, and its row is not pruned, until an operator sends it again or a later change of the same row
 * has reached D1.
 */
import type { SetAsideChange } from '../../../src/objects/customer-commands.ts';
import type { OutboxRow } from './outbox.ts';

/** What is set aside, in numbers. */
export interface SetAsideState {
  rows: number;
  oldestMs: number | null;
}

/** The ids of the rows of a kind that are set aside, for statements that must not drop them. */
export const SET_ASIDE_IDS = (kind: OutboxRow['kind']) => `SELECT id FROM set_aside WHERE kind = '${kind}'`;

export class SetAsideTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Returns whether the row was not set aside before. A row that was set aside before keeps its time and gets the new
   * reason.
   */
  add({ kind, id }: Pick<OutboxRow, 'kind' | 'id'>, reason: string, nowMs: number): boolean {
    const isNew = this.#sql.exec('SELECT 1 FROM set_aside WHERE kind = ? AND id = ?', kind, id).toArray().length === 0;
    const sql = `INSERT INTO set_aside (kind, id, at_ms, reason) VALUES (?, ?, ?, ?)
      ON CONFLICT (kind, id) DO UPDATE SET reason = excluded.reason`;
    this.#sql.exec(sql, kind, id, nowMs, reason);
    return isNew;
  }

  /** Removes the rows that D1 has taken. Returns whether one of them was set aside. */
  drop(taken: readonly Pick<OutboxRow, 'kind' | 'id'>[]): boolean {
    if (this.#sql.exec('SELECT 1 FROM set_aside LIMIT 1').toArray().length === 0) return false;
    let written = 0;
    for (const { kind, id } of taken) {
      written += this.#sql.exec('DELETE FROM set_aside WHERE kind = ? AND id = ?', kind, id).rowsWritten;
    }
    return written > 0;
  }

  /** Moves every change back to the end of the outbox. Returns how many there were. */
  queueAgain(nowMs: number): number {
    const { rows } = this.state();
    if (rows === 0) return 0;
    this.#sql.exec(
      'INSERT INTO outbox (kind, id, queued_at_ms) SELECT kind, id, ? FROM set_aside ORDER BY place',
      nowMs,
    );
    this.#sql.exec('DELETE FROM set_aside');
    return rows;
  }

  list(afterPlace: number, rowsMax: number): SetAsideChange[] {
    const sql = 'SELECT place, kind, id, at_ms, reason FROM set_aside WHERE place > ? ORDER BY place LIMIT ?';
    type Row = { place: number; kind: OutboxRow['kind']; id: string; at_ms: number; reason: string };
    return this.#sql
      .exec<Row>(sql, afterPlace, rowsMax)
      .toArray()
      .map(({ at_ms: atMs, ...row }) => ({ ...row, atMs }));
  }

  state(): SetAsideState {
    return this.#sql
      .exec<{ rows: number; oldestMs: number | null }>('SELECT COUNT(*) AS rows, MIN(at_ms) AS oldestMs FROM set_aside')
      .one();
  }
}
