/**
 * One row per call: its facts, and the answers that retries of its begin and its end get, which few ask for.
 */

import type { Call } from '../../../src/domain/call.ts';
import { USUAL_CALLS } from '../../../src/domain/hold.ts';
import type { CallId } from '../../../src/domain/ids.ts';
import { NEVER_MS } from '../../../src/domain/period.ts';
import type { RecentCost } from '../../../src/domain/recent-costs.ts';
import { type BegunPart, EXACT_CALLS_MAX, partMs } from '../../../src/domain/rolling-window.ts';
import { SECOND_MS } from '../../../src/platform/time.ts';
import { assertFits } from '../../stored-value.ts';

export interface StoredCall {
  call: Call;
  beginFingerprint: string;
  endFingerprint: string | null;
}

/** What retries of an end are compared with, and what they get. */
export interface CallEnd {
  fingerprint: string;
  answer: string;
}

/** A call that is to be changed. */
export interface CallBeforeChange {
  status: Call['status'] | 'REVERSED';
  /** As JSON. */
  record: string;
  replaced: string | null;
  waits: boolean;
}

/** What a change of a call leaves for D1. */
interface ChangeOfCall {
  /** What D1 was sent to count of the call before (`countedBefore` in src/history/projection-rows.ts). */
  replaced: string | null;
  /** The place of the change in the outbox; `null` if D1 gets none of it. */
  place: number | null;
}

type Row = { record: string; begin_fingerprint: string; end_fingerprint: string | null };

/** Characters in one row of a stored response. */
const RESPONSE_PART_LENGTH = 500_000;

/** Calls that an object reads which counts them for the first time. */
const COUNTED_ROWS_MAX = 100_000;

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

  insert(call: Call, fingerprint: string, answer: string, place: number | null): void {
    const record = JSON.stringify(call);
    assertFits('a call', record, answer);
    this.#sql.exec(
      `INSERT INTO calls (call_id, status, started_at_ms, deadline_at_ms, finished_at_ms, record, begin_fingerprint, begin_answer,
         change_place) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      call.callId,
      call.status,
      call.startedAtMs,
      call.deadlineAtMs,
      call.finishedAtMs,
      record,
      fingerprint,
      answer,
      place,
    );
  }

  /** What is stored of a call. `waits`: a change of it comes after that place of the outbox. */
  beforeChange(callId: CallId, afterPlace: number): CallBeforeChange | null {
    const sql = `SELECT status, record, replaced, EXISTS (SELECT 1 FROM outbox
        WHERE place = calls.change_place AND place > ?2 AND kind = 'call' AND id = calls.call_id) AS waits
      FROM calls WHERE call_id = ?1`;
    const row = this.#sql
      .exec<Omit<CallBeforeChange, 'waits'> & { waits: number }>(sql, callId, afterPlace)
      .toArray()[0];
    return row ? { ...row, waits: row.waits === 1 } : null;
  }

  finish(call: Call, end: CallEnd | null, { replaced, place }: ChangeOfCall): void {
    const record = JSON.stringify(call);
    assertFits('a call', record, end?.answer ?? '', replaced ?? '');
    this.#sql.exec(
      `UPDATE calls SET status = ?, finished_at_ms = ?, record = ?, replaced = ?, end_fingerprint = ?, end_answer = ?,
         change_place = COALESCE(?, change_place) WHERE call_id = ?`,
      call.status,
      call.finishedAtMs,
      record,
      replaced,
      end?.fingerprint ?? null,
      end?.answer ?? null,
      place,
      call.callId,
    );
  }

  /** Stores a corrected call, also one that was removed, as if it had finished now. A reversed call is not counted as begun. */
  correct(call: Call, { replaced, place }: ChangeOfCall, nowMs: number): void {
    const record = JSON.stringify(call);
    assertFits('a call', record, replaced ?? '');
    this.#sql.exec(
      `INSERT INTO calls (call_id, status, started_at_ms, deadline_at_ms, finished_at_ms, record, replaced, change_place,
         begin_fingerprint) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')
       ON CONFLICT (call_id) DO UPDATE SET status = excluded.status, finished_at_ms = excluded.finished_at_ms,
         record = excluded.record, replaced = excluded.replaced, change_place = excluded.change_place`,
      call.callId,
      call.reversedAtMs === undefined ? call.status : 'REVERSED',
      call.startedAtMs,
      call.deadlineAtMs,
      nowMs,
      record,
      replaced,
      place,
    );
  }

  update(call: Call, { replaced, place }: ChangeOfCall): void {
    const sql = 'UPDATE calls SET record = ?, replaced = ?, change_place = COALESCE(?, change_place) WHERE call_id = ?';
    this.#sql.exec(sql, JSON.stringify(call), replaced, place, call.callId);
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

  /**
   * The admitted calls of a window until now, by parts of it. Of more calls than `COUNTED_ROWS_MAX`, those before count
   * whether they were admitted or not.
   */
  begunParts(windowSeconds: number, nowMs: number): BegunPart[] {
    const sinceMs = nowMs - windowSeconds * SECOND_MS;
    const newest =
      'SELECT started_at_ms AS at FROM calls WHERE started_at_ms > ? ORDER BY started_at_ms DESC LIMIT 1 OFFSET ?';
    const begunBefore = (rows: number) => this.#sql.exec<{ at: number }>(newest, sinceMs, rows).toArray()[0]?.at;
    const withinMs = begunBefore(EXACT_CALLS_MAX - 1) === undefined ? 1 : partMs(windowSeconds);
    return this.#sql
      .exec<{ firstMs: number; lastMs: number; calls: number }>(
        `SELECT MIN(started_at_ms) AS firstMs, MAX(started_at_ms) AS lastMs, COUNT(*) AS calls FROM calls
         WHERE started_at_ms > ?1 AND (started_at_ms <= ?2 OR status NOT IN ('NOT_ALLOWED', 'REVERSED'))
         GROUP BY started_at_ms / CAST(?3 AS INTEGER) ORDER BY 1`,
        sinceMs,
        begunBefore(COUNTED_ROWS_MAX) ?? 0,
        withinMs,
      )
      .toArray()
      .map(({ firstMs, lastMs, calls }) => [firstMs, lastMs, calls]);
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

  /** Costs of the last calls that have a price, the oldest first. Only the newest `COUNTED_ROWS_MAX` calls are looked at. */
  recentCosts(): RecentCost[] {
    const sql = `SELECT record ->> '$.outcome.endedAtMs' AS endedAtMs, record ->> '$.outcome.price.costNanoUsd' AS cost
      FROM (SELECT status, record FROM calls ORDER BY started_at_ms DESC LIMIT ?)
      WHERE status IN ('COMPLETED', 'FAILED') AND cost IS NOT NULL LIMIT ?`;
    return this.#sql
      .exec<{ endedAtMs: number; cost: string }>(sql, COUNTED_ROWS_MAX, USUAL_CALLS)
      .toArray()
      .map(({ endedAtMs, cost }): RecentCost => [endedAtMs, cost])
      .sort(([a], [b]) => a - b);
  }

  /** Stores what a service call answered, in parts that fit a row. */
  storeResponse(callId: CallId, text: string): void {
    for (let part = 0, from = 0; from < text.length; part += 1) {
      const end = from + RESPONSE_PART_LENGTH;
      // Never between the halves of a character.
      const to = /[\ud800-\udbff]/.test(text[end - 1] ?? '') ? end - 1 : end;
      const piece = text.slice(from, to);
      assertFits('a part of a stored response', piece);
      this.#sql.exec('INSERT INTO call_answers (call_id, part, text) VALUES (?, ?, ?)', callId, part, piece);
      from = to;
    }
  }

  storedResponse(callId: CallId): string | null {
    const parts = this.#sql
      .exec<{ text: string }>('SELECT text FROM call_answers WHERE call_id = ? ORDER BY part', callId)
      .toArray();
    return parts.length === 0 ? null : parts.map(({ text }) => text).join('');
  }

  dropAnswersOf(callId: CallId): void {
    this.#sql.exec('UPDATE calls SET begin_answer = NULL, end_answer = NULL WHERE call_id = ?', callId);
  }

  /** Drops the answers of the next calls that finished by then. Returns the calls that were looked at, or fewer than `rowsMax`. */
  dropAnswers(finishedByMs: number, rowsMax: number): number {
    const afterMs = this.#answersDroppedByMs();
    const last = this.#sql
      .exec<{ at: number }>(
        `SELECT finished_at_ms AS at FROM calls WHERE finished_at_ms > ? AND finished_at_ms <= ?
         ORDER BY finished_at_ms LIMIT 1 OFFSET ?`,
        afterMs,
        finishedByMs,
        rowsMax - 1,
      )
      .toArray()[0];
    const byMs = last?.at ?? finishedByMs;
    const finished = 'finished_at_ms > ? AND finished_at_ms <= ?';
    const answers = `DELETE FROM call_answers WHERE call_id IN (SELECT call_id FROM calls WHERE ${finished})`;
    this.#sql.exec(answers, afterMs, byMs);
    // A late end may have an answer where the one of its begin was dropped.
    this.#sql.exec(
      `UPDATE calls SET begin_answer = NULL, end_answer = NULL
       WHERE ${finished} AND (begin_answer IS NOT NULL OR end_answer IS NOT NULL)`,
      afterMs,
      byMs,
    );
    this.#sql.exec('UPDATE account SET answers_dropped_by_ms = MAX(answers_dropped_by_ms, ?)', byMs);
    return last ? rowsMax : 0;
  }

  #answersDroppedByMs(): number {
    const sql = 'SELECT answers_dropped_by_ms AS at FROM account';
    return this.#sql.exec<{ at: number }>(sql).toArray()[0]?.at ?? 0;
  }

  /**
   * Drops calls that finished by then, except those that D1 does not have yet, or that the billing provider is still to be
   * told of. Returns the rows written.
   */
  drop(finishedByMs: number, rowsMax: number): number {
    return this.#sql.exec(
      `DELETE FROM calls WHERE call_id IN (
         SELECT call_id FROM calls WHERE finished_at_ms <= ?
           AND NOT EXISTS (SELECT 1 FROM outbox WHERE place = calls.change_place AND kind = 'call' AND id = calls.call_id)
           AND NOT EXISTS (SELECT 1 FROM charges WHERE kind = 'call' AND subject_id = calls.call_id
             AND stripe_customer_id IS NOT NULL AND due_at_ms < ?) LIMIT ?)`,
      finishedByMs,
      NEVER_MS,
      rowsMax,
    ).rowsWritten;
  }

  /** When the oldest finished call finished, of all and of those that may still have answers. */
  oldestFinished(): { anyMs: number | null; withAnswerMs: number | null } {
    const sql = 'SELECT MIN(finished_at_ms) AS at FROM calls WHERE finished_at_ms > ?';
    const afterMs = (ms: number) => this.#sql.exec<{ at: number | null }>(sql, ms).one().at;
    return { anyMs: afterMs(0), withAnswerMs: afterMs(this.#answersDroppedByMs()) };
  }
}
