/**
 * One row per call: its facts, and the answers that retries of its begin and its end get, which few ask for.
 */

import type { Call } from '../../../src/domain/call.ts';
import type { CallId } from '../../../src/domain/ids.ts';
import { NEVER_MS } from '../../../src/domain/period.ts';
import { assertFits } from '../../stored-value.ts';

export interface StoredCall {
  call: Call;
  beginFingerprint: string;
  endFingerprint: string | null;
}

/** What retries of an end are compared with, and what they get: as it is given to the store, or packed (forms.ts). */
export interface CallEnd {
  fingerprint: string;
  answer: string;
}

type Row = { record: string; begin_fingerprint: string; end_fingerprint: string | null };

const HAS_ANSWER = '(begin_answer IS NOT NULL OR end_answer IS NOT NULL)';

export class CallTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  find(callId: CallId): StoredCall | null {
    const sql = 'SELECT record, begin_fingerprint, end_fingerprint FROM calls WHERE call_id = ?';
    const row = this.#sql.exec<Row>(sql, callId).toArray()[0];
    if (!row) return null;
    const { record, begin_fingerprint: beginFingerprint, end_fingerprint: endFingerprint } = row;
    return { call: JSON.parse(record) as Call, beginFingerprint, endFingerprint };
  }

  /** What retries of the call's begin or end get; `null` where there is none, or none any more. */
  answer(callId: CallId, of: 'begin' | 'end'): string | null {
    const sql = `SELECT ${of}_answer AS answer FROM calls WHERE call_id = ?`;
    return this.#sql.exec<{ answer: string | null }>(sql, callId).toArray()[0]?.answer ?? null;
  }

  insert(call: Call, fingerprint: string, answer: string): void {
    const record = JSON.stringify(call);
    assertFits('a call', record, answer);
    this.#sql.exec(
      `INSERT INTO calls (call_id, status, started_at_ms, deadline_at_ms, finished_at_ms, record, begin_fingerprint, begin_answer)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      call.callId,
      call.status,
      call.startedAtMs,
      call.deadlineAtMs,
      call.finishedAtMs,
      record,
      fingerprint,
      answer,
    );
  }

  /** The call, if it counts in the usage or did. */
  finished(callId: CallId): Call | null {
    const sql = "SELECT record FROM calls WHERE call_id = ? AND status <> 'IN_PROGRESS'";
    const row = this.#sql.exec<{ record: string }>(sql, callId).toArray()[0];
    return row ? (JSON.parse(row.record) as Call) : null;
  }

  /** What `replaced` says already. */
  replaced(callId: CallId): string | null {
    const sql = 'SELECT replaced FROM calls WHERE call_id = ?';
    return this.#sql.exec<{ replaced: string | null }>(sql, callId).toArray()[0]?.replaced ?? null;
  }

  /** `replaced` is what D1 was sent to count of the call before (`countedBefore` in src/history/projection-rows.ts). */
  finish(call: Call, end: CallEnd | null, replaced: string | null): void {
    const record = JSON.stringify(call);
    assertFits('a call', record, end?.answer ?? '', replaced ?? '');
    this.#sql.exec(
      `UPDATE calls SET status = ?, finished_at_ms = ?, record = ?, replaced = ?, end_fingerprint = ?, end_answer = ?
       WHERE call_id = ?`,
      call.status,
      call.finishedAtMs,
      record,
      replaced,
      end?.fingerprint ?? null,
      end?.answer ?? null,
      call.callId,
    );
  }

  /** Stores a corrected call, also one that was removed, as if it had finished now. A reversed call is not counted as begun. */
  correct(call: Call, replaced: string | null, nowMs: number): void {
    const record = JSON.stringify(call);
    assertFits('a call', record, replaced ?? '');
    this.#sql.exec(
      `INSERT INTO calls (call_id, status, started_at_ms, deadline_at_ms, finished_at_ms, record, replaced, begin_fingerprint)
       VALUES (?, ?, ?, ?, ?, ?, ?, '')
       ON CONFLICT (call_id) DO UPDATE SET status = excluded.status, finished_at_ms = excluded.finished_at_ms,
         record = excluded.record, replaced = excluded.replaced`,
      call.callId,
      call.reversedAtMs === undefined ? call.status : 'REVERSED',
      call.startedAtMs,
      call.deadlineAtMs,
      nowMs,
      record,
      replaced,
    );
  }

  update(call: Call, replaced: string | null): void {
    const record = JSON.stringify(call);
    this.#sql.exec('UPDATE calls SET record = ?, replaced = ? WHERE call_id = ?', record, replaced, call.callId);
  }

  /** Open calls whose deadline has come, the earliest first. */
  pastDeadline(nowMs: number, rowsMax: number): Call[] {
    const rows = this.#sql.exec<{ record: string }>(
      `SELECT record FROM calls WHERE status = 'IN_PROGRESS' AND deadline_at_ms <= ? ORDER BY deadline_at_ms LIMIT ?`,
      nowMs,
      rowsMax,
    );
    return rows.toArray().map(({ record }) => JSON.parse(record) as Call);
  }

  nextDeadlineMs(): number | null {
    return this.#sql
      .exec<{ at: number | null }>(`SELECT MIN(deadline_at_ms) AS at FROM calls WHERE status = 'IN_PROGRESS'`)
      .one().at;
  }

  /** Admitted calls that began after `sinceMs`, and when the oldest of them did. */
  begunSince(sinceMs: number): { count: number; oldestMs: number | null } {
    const sql = `SELECT COUNT(*) AS count, MIN(started_at_ms) AS oldestMs FROM calls WHERE started_at_ms > ? AND status NOT IN ('NOT_ALLOWED', 'REVERSED')`;
    return this.#sql.exec<{ count: number; oldestMs: number | null }>(sql, sinceMs).one();
  }

  /** When the newest call began, a denied one too; `null` where there is none. */
  newestStartMs(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT MAX(started_at_ms) AS at FROM calls').one().at;
  }

  countOpen(): number {
    return this.#sql.exec<{ count: number }>(`SELECT COUNT(*) AS count FROM calls WHERE status = 'IN_PROGRESS'`).one()
      .count;
  }

  recent(rowsMax: number): Call[] {
    const rows = this.#sql.exec<{ record: string }>(
      'SELECT record FROM calls ORDER BY started_at_ms DESC, call_id LIMIT ?',
      rowsMax,
    );
    return rows.toArray().map(({ record }) => JSON.parse(record) as Call);
  }

  /** Costs of the last calls that have a price, in nano-USD. */
  recentCosts(rowsMax: number): bigint[] {
    const sql = `SELECT json_extract(record, '$.outcome.price.costNanoUsd') AS cost FROM calls
      WHERE status IN ('COMPLETED', 'FAILED') ORDER BY started_at_ms DESC LIMIT ?`;
    return this.#sql
      .exec<{ cost: string | null }>(sql, rowsMax)
      .toArray()
      .flatMap(({ cost }) => (cost === null ? [] : [BigInt(cost)]));
  }

  /** Drops the answers of calls. */
  dropAnswersOf(callIds: readonly CallId[]): void {
    this.#sql.exec(
      'UPDATE calls SET begin_answer = NULL, end_answer = NULL WHERE call_id IN (SELECT value FROM json_each(?))',
      JSON.stringify(callIds),
    );
  }

  /** Calls that finished by then and still have answers: a late end may have one, although that of its begin was dropped. */
  withAnswers(finishedByMs: number, rowsMax: number): CallId[] {
    const sql = `SELECT call_id FROM calls WHERE finished_at_ms <= ? AND ${HAS_ANSWER} LIMIT ?`;
    return this.#sql
      .exec<{ call_id: CallId }>(sql, finishedByMs, rowsMax)
      .toArray()
      .map(({ call_id: callId }) => callId);
  }

  /**
   * Drops calls that finished by then, except those that D1 does not have yet, or that the billing provider is still to be
   * told of. Returns the rows written.
   */
  drop(finishedByMs: number, rowsMax: number): number {
    return this.#sql.exec(
      `DELETE FROM calls WHERE call_id IN (
         SELECT call_id FROM calls WHERE finished_at_ms <= ?
           AND call_id NOT IN (SELECT id FROM outbox WHERE kind = 'call')
           AND NOT EXISTS (SELECT 1 FROM charges WHERE kind = 'call' AND subject_id = calls.call_id
             AND stripe_customer_id IS NOT NULL AND due_at_ms < ?) LIMIT ?)`,
      finishedByMs,
      NEVER_MS,
      rowsMax,
    ).rowsWritten;
  }

  /** When the oldest finished call finished, of all and of those that still have answers. */
  oldestFinished(): { anyMs: number | null; withAnswerMs: number | null } {
    return this.#sql
      .exec<{ anyMs: number | null; withAnswerMs: number | null }>(
        `SELECT (SELECT MIN(finished_at_ms) FROM calls WHERE finished_at_ms IS NOT NULL) AS anyMs,
           (SELECT MIN(finished_at_ms) FROM calls WHERE finished_at_ms IS NOT NULL AND ${HAS_ANSWER}) AS withAnswerMs`,
      )
      .one();
  }
}
