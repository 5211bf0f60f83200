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

/** What retries of an end are compared with, and what they get: as it is given to the store, or packed (forms.ts). */
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
  /** The place of its last change in the outbox. */
  changePlace: number | null;
}

/** What a change of a call leaves for D1. */
interface ChangeOfCall {
  /** What D1 was sent to count of the call before (`countedBefore` in src/history/projection-rows.ts). */
  replaced: string | null;
  /** The place of the change in the outbox; `null` if D1 gets none of it. */
  place: number | null;
}

type Row = { record: string; begin_fingerprint: string; end_fingerprint: string | null };

/** Calls that an object reads which counts them for the first time. */
const COUNTED_ROWS_MAX = 100_000;

type WalkedRow = {
  row_id: number;
  finished_at_ms: number;
  call_id: CallId;
  record: string;
  begin_fingerprint: string;
  end_fingerprint: string | null;
  is_needed: number;
};

/** A call that nothing waits for. */
interface SettledCall {
  call: Call;
  /** Whether retries may ask for it. */
  hasRetries: boolean;
  fingerprints: { begin: string; end: string | null };
}

/** A walk over finished calls, in the order in which they finished. */
type Walk = 'past' | 'drop answers';

const AFTER_PLACE = 'finished_at_ms IS NOT NULL AND (finished_at_ms, rowid) > (?, ?)';
/** The customer's newest calls stay whole: holds and lists read them. */
export const WHOLE_CALLS = 1_000;

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

  /** What is stored of a call. */
  beforeChange(callId: CallId): CallBeforeChange | null {
    const sql = 'SELECT status, record, replaced, change_place AS changePlace FROM calls WHERE call_id = ?';
    return this.#sql.exec<CallBeforeChange & Record<string, SqlStorageValue>>(sql, callId).toArray()[0] ?? null;
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

  /** Stores a corrected call, also one that was removed or is past, as if it had finished now. A reversed call is not counted as begun. */
  correct(call: Call, { replaced, place }: ChangeOfCall, nowMs: number): void {
    const record = JSON.stringify(call);
    assertFits('a call', record, replaced ?? '');
    this.#sql.exec(
      `INSERT INTO calls (call_id, status, started_at_ms, deadline_at_ms, finished_at_ms, record, replaced, change_place, begin_fingerprint,
         begin_answer, end_fingerprint, end_answer)
       SELECT given.*, COALESCE(past_calls.begin_fingerprint, ''), begin_answer, end_fingerprint, end_answer
       FROM (SELECT ? AS call_id, ?, ?, ?, ?, ?, ?, ?) given LEFT JOIN past_calls USING (call_id) WHERE true
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

  /** Drops the answers of calls. */
  dropAnswersOf(callIds: readonly CallId[]): void {
    this.#sql.exec(
      `UPDATE calls SET begin_answer = NULL, end_answer = NULL WHERE call_id IN (SELECT value FROM json_each(?))
       AND (begin_answer IS NOT NULL OR end_answer IS NOT NULL)`,
      JSON.stringify(callIds),
    );
  }

  /**
   * Drops the answers of calls that finished by then. Returns the calls that it looked at, each of them once.
   */
  dropAnswers(finishedByMs: number, rowsMax: number): CallId[] {
    const callIds = this.#walk('drop answers', finishedByMs, rowsMax).map(({ call_id: callId }) => callId);
    if (callIds.length > 0) this.dropAnswersOf(callIds);
    return callIds;
  }

  /**
   * Calls that finished by then and are needed for retries alone: not among the customer's newest, in D1, and waited for by
   * nothing. Returns them and the number of calls that it looked at, each of them once. `listedCalls`: those in the outbox's list.
   */
  settled(
    finishedByMs: number,
    listedCalls: readonly string[],
    rowsMax: number,
  ): { settled: SettledCall[]; seen: number } {
    const newestMs = this.#newestMs();
    if (newestMs === null) return { settled: [], seen: 0 };
    const rows = this.#walk('past', Math.min(finishedByMs, newestMs - 1), rowsMax);
    const listed = new Set<string>(listedCalls);
    const settled = rows.flatMap(({ record, begin_fingerprint: begin, end_fingerprint: end, is_needed }) => {
      const call = JSON.parse(record) as Call;
      // Retries of a call of the service need the whole call, and a line of a batch may be recorded again for days.
      const hasRetries = call.openedBy === undefined;
      const isKept = !hasRetries && (begin !== '' || call.pricingMode === 'batch');
      const isNeeded = is_needed === 1 || listed.has(call.callId);
      return isNeeded || call.countedAlone || isKept ? [] : [{ call, hasRetries, fingerprints: { begin, end } }];
    });
    return { settled, seen: rows.length };
  }

  remove(callId: CallId): void {
    this.#sql.exec('DELETE FROM calls WHERE call_id = ?', callId);
  }

  /** When the next call finished that a walk has not seen; `null` if there is none, or only newest ones. */
  nextInWalk(walk: Walk): number | null {
    const { finishedAtMs, rowId } = this.#placeOf(walk);
    const sql = `SELECT finished_at_ms AS at FROM calls WHERE ${AFTER_PLACE} ORDER BY finished_at_ms, rowid LIMIT 1`;
    const at = this.#sql.exec<{ at: number }>(sql, finishedAtMs, rowId).toArray()[0]?.at ?? null;
    return walk === 'past' && at !== null && at >= (this.#newestMs() ?? 0) ? null : at;
  }

  /** When the oldest of the newest calls began that stay whole; `null` if there are no others. */
  #newestMs(): number | null {
    const sql = 'SELECT started_at_ms AS at FROM calls ORDER BY started_at_ms DESC LIMIT 1 OFFSET ?';
    return this.#sql.exec<{ at: number }>(sql, WHOLE_CALLS - 1).toArray()[0]?.at ?? null;
  }

  /** The next calls of a walk that finished by then; the walk goes on after them. */
  #walk(walk: Walk, finishedByMs: number, rowsMax: number): WalkedRow[] {
    const { finishedAtMs, rowId } = this.#placeOf(walk);
    const rows = this.#sql
      .exec<WalkedRow>(
        `SELECT rowid AS row_id, finished_at_ms, call_id, record, begin_fingerprint, end_fingerprint,
           status NOT IN ('COMPLETED', 'FAILED', 'NOT_ALLOWED')
             OR EXISTS (SELECT 1 FROM outbox WHERE place = calls.change_place AND kind = 'call' AND id = calls.call_id)
             OR EXISTS (SELECT 1 FROM awaited_figures WHERE call_id = calls.call_id)
             OR EXISTS (SELECT 1 FROM charges WHERE kind = 'call' AND subject_id = calls.call_id
               AND stripe_customer_id IS NOT NULL) AS is_needed
         FROM calls WHERE ${AFTER_PLACE} AND finished_at_ms <= ? ORDER BY finished_at_ms, rowid LIMIT ?`,
        finishedAtMs,
        rowId,
        finishedByMs,
        rowsMax,
      )
      .toArray();
    const last = rows.at(-1);
    if (last) {
      this.#sql.exec(
        `INSERT INTO walks (walk, finished_at_ms, row_id) VALUES (?, ?, ?)
         ON CONFLICT (walk) DO UPDATE SET finished_at_ms = excluded.finished_at_ms, row_id = excluded.row_id`,
        walk,
        last.finished_at_ms,
        last.row_id,
      );
    }
    return rows;
  }

  #placeOf(walk: Walk): { finishedAtMs: number; rowId: number } {
    const sql = 'SELECT finished_at_ms AS finishedAtMs, row_id AS rowId FROM walks WHERE walk = ?';
    const place = this.#sql.exec<{ finishedAtMs: number; rowId: number }>(sql, walk).toArray()[0];
    return place ?? { finishedAtMs: -1, rowId: 0 };
  }

  /**
   * Drops calls that finished by then, except those that D1 does not have yet, or that the billing provider is still to be
   * told of. Returns the rows written. `listedCalls`: those in the outbox's list.
   */
  drop(finishedByMs: number, listedCalls: readonly string[], rowsMax: number): number {
    return this.#sql.exec(
      `DELETE FROM calls WHERE call_id IN (
         SELECT call_id FROM calls WHERE finished_at_ms <= ? AND call_id NOT IN (SELECT value FROM json_each(?))
           AND NOT EXISTS (SELECT 1 FROM outbox WHERE place = calls.change_place AND kind = 'call' AND id = calls.call_id)
           AND NOT EXISTS (SELECT 1 FROM charges WHERE kind = 'call' AND subject_id = calls.call_id
             AND stripe_customer_id IS NOT NULL AND due_at_ms < ?) LIMIT ?)`,
      finishedByMs,
      JSON.stringify(listedCalls),
      NEVER_MS,
      rowsMax,
    ).rowsWritten;
  }

  /** When the oldest finished call finished; `null` if there is none. */
  oldestFinishedMs(): number | null {
    const sql = 'SELECT MIN(finished_at_ms) AS at FROM calls WHERE finished_at_ms IS NOT NULL';
    return this.#sql.exec<{ at: number | null }>(sql).one().at;
  }
}
