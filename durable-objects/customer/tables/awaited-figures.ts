/**
 * One row per call whose vendor is asked for its figures: since when, when next, and what it is asked for.
 */
import type { CallId } from '../../../src/domain/ids.ts';

export interface AwaitedFigures {
  callId: CallId;
  /** When the call ended without them. */
  sinceMs: number;
  dueAtMs: number;
  /** How often the vendor was asked. */
  polls: number;
  /** As JSON (src/gateway/late-figures.ts). */
  text: string;
}

type Row = { call_id: CallId; since_ms: number; due_at_ms: number; polls: number; awaited: string };

export class AwaitedFigureTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  save({ callId, sinceMs, dueAtMs, polls, text }: AwaitedFigures): void {
    this.#sql.exec(
      `INSERT INTO awaited_figures (call_id, since_ms, due_at_ms, polls, awaited) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET due_at_ms = excluded.due_at_ms, polls = excluded.polls`,
      callId,
      sinceMs,
      dueAtMs,
      polls,
      text,
    );
  }

  find(callId: CallId): AwaitedFigures | null {
    const sql = 'SELECT * FROM awaited_figures WHERE call_id = ?';
    return this.#sql.exec<Row>(sql, callId).toArray().map(fromRow)[0] ?? null;
  }

  remove(callId: CallId): void {
    this.#sql.exec('DELETE FROM awaited_figures WHERE call_id = ?', callId);
  }

  /** Those that are due, the earliest first. */
  due(nowMs: number, rowsMax: number): AwaitedFigures[] {
    const sql = 'SELECT * FROM awaited_figures WHERE due_at_ms <= ? ORDER BY due_at_ms LIMIT ?';
    return this.#sql.exec<Row>(sql, nowMs, rowsMax).toArray().map(fromRow);
  }

  nextDueMs(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT MIN(due_at_ms) AS at FROM awaited_figures').one().at;
  }

  count(): number {
    return this.#sql.exec<{ count: number }>('SELECT COUNT(*) AS count FROM awaited_figures').one().count;
  }
}

function fromRow({ call_id, since_ms, due_at_ms, polls, awaited }: Row): AwaitedFigures {
  return { callId: call_id, sinceMs: since_ms, dueAtMs: due_at_ms, polls, text: awaited };
}
