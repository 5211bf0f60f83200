/**
 * One row per call: its facts, and the answers that retries of its begin and its end get, which few ask for.
 *
 * Cloudflare bills each entry of an index, so a call has one, of its id. Rows lie in the order in which the calls began, and
 * housekeeping walks along it. `finished_at_ms`, which has an index, is of calls out of that order alone: those that took an
 * hour or more, those that were corrected, and those that earlier releases stored. Of others `ended_at_ms` says when they
 * ended. An open call that the account's row lists (begin-figures.ts) has the status `LISTED` here; the index of deadlines has
 * the other open calls.
 */

import type { Call } from '../../../src/domain/call.ts';
import { USUAL_CALLS } from '../../../src/domain/hold.ts';
import type { CallId } from '../../../src/domain/ids.ts';
import { NEVER_MS } from '../../../src/domain/period.ts';
import type { RecentCost } from '../../../src/domain/recent-costs.ts';
import { type BegunPart, EXACT_CALLS_MAX, partMs } from '../../../src/domain/rolling-window.ts';
import { HOUR_MS, SECOND_MS } from '../../../src/platform/time.ts';
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

/** Rows that are read at a time to find the first call of a window. */
const ROWS_READ_MAX = 1_000;

type WalkedRow = {
  row_id: number;
  finished_at_ms: number | null;
  is_corrected: number;
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

/** A walk over calls, in the order in which they began. */
type Walk = 'past' | 'drop';

/** A call that takes this long has an entry in the index of `finished_at_ms`. */
const LONG_MS = HOUR_MS;
const FINISHED_AT_MS = 'COALESCE(finished_at_ms, ended_at_ms)';
/** Whether the outbox's table has a change of a call. */
const IS_CHANGED = `EXISTS (SELECT 1 FROM outbox WHERE place = calls.change_place AND kind = 'call' AND id = calls.call_id)`;
const IS_REPORTED =
  "EXISTS (SELECT 1 FROM charges WHERE kind = 'call' AND subject_id = calls.call_id AND stripe_customer_id IS NOT NULL";
/** Whether D1 lacks a call, or the billing provider is still to be told of it. The parameter is the outbox's list of calls. */
const WAITS = `(call_id IN (SELECT value FROM json_each(?)) OR ${IS_CHANGED} OR ${IS_REPORTED} AND due_at_ms < ${NEVER_MS}))`;
/**
 * The customer's newest calls stay whole, as long as calls are kept, which is a GB. To store a call for a week costs less than
 * to write it anew as a past call, so only customers who would fill their objects have past calls.
 */
export const WHOLE_CALLS = 400_000;

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

  /** What retries of the call's begin or end get; `null` if it has none, or ended by that time. */
  answer(callId: CallId, of: 'begin' | 'end', endedByMs: number): string | null {
    const sql = `SELECT ${of}_answer AS answer FROM calls
      WHERE call_id = ? AND COALESCE(ended_at_ms, finished_at_ms, ${NEVER_MS}) > ?`;
    return this.#sql.exec<{ answer: string | null }>(sql, callId, endedByMs).toArray()[0]?.answer ?? null;
  }

  /** `isListed`: the account's row has the deadline of the open call. */
  insert(call: Call, fingerprint: string, answer: string, place: number | null, isListed = false): void {
    const record = JSON.stringify(call);
    assertFits('a call', record, answer);
    this.#sql.exec(
      `INSERT INTO calls (call_id, status, started_at_ms, deadline_at_ms, ended_at_ms, record, begin_fingerprint, begin_answer,
         change_place) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      call.callId,
      isListed ? 'LISTED' : call.status,
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
    const sql = `SELECT IIF(status = 'LISTED', 'IN_PROGRESS', status) AS status, record, replaced, change_place AS changePlace
      FROM calls WHERE call_id = ?`;
    return this.#sql.exec<CallBeforeChange & Record<string, SqlStorageValue>>(sql, callId).toArray()[0] ?? null;
  }

  finish(call: Call, end: CallEnd | null, { replaced, place }: ChangeOfCall): void {
    const record = JSON.stringify(call);
    assertFits('a call', record, end?.answer ?? '', replaced ?? '');
    const isLong = call.finishedAtMs !== null && call.finishedAtMs >= call.startedAtMs + LONG_MS;
    this.#sql.exec(
      `UPDATE calls SET status = ?, ended_at_ms = ?, finished_at_ms = ?, record = ?, replaced = ?, end_fingerprint = ?, end_answer = ?,
         change_place = COALESCE(?, change_place) WHERE call_id = ?`,
      call.status,
      isLong ? null : call.finishedAtMs,
      isLong ? call.finishedAtMs : null,
      record,
      replaced,
      end?.fingerprint ?? null,
      end?.answer ?? null,
      place,
      call.callId,
    );
  }

  /**
   * Stores a corrected call as if it had finished now. One that was removed or is past gets a place before all others: their
   * order stays that of their begins. A reversed call is not counted as begun.
   */
  correct(call: Call, { replaced, place }: ChangeOfCall, nowMs: number): void {
    const record = JSON.stringify(call);
    assertFits('a call', record, replaced ?? '');
    this.#sql.exec(
      `INSERT INTO calls (rowid, call_id, status, started_at_ms, deadline_at_ms, finished_at_ms, record, replaced, change_place,
         begin_fingerprint, begin_answer, end_fingerprint, end_answer)
       SELECT (SELECT MIN(0, COALESCE(MIN(rowid), 0)) - 1 FROM calls), given.*, COALESCE(past_calls.begin_fingerprint, ''), begin_answer, end_fingerprint, end_answer
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

  /**
   * Open calls whose deadline has come, at most `rowsMax`: the earliest first, and those of one deadline in the order in which
   * they began. `listed`: those of them that the account's row lists.
   */
  pastDeadline(nowMs: number, listed: readonly CallId[], rowsMax: number): Call[] {
    const rows = this.#sql.exec<{ record: string }>(
      `SELECT record FROM (
         SELECT * FROM (SELECT record, deadline_at_ms, rowid AS place FROM calls
           WHERE status = 'IN_PROGRESS' AND deadline_at_ms <= ?1 ORDER BY deadline_at_ms, rowid LIMIT ?2)
         UNION ALL SELECT record, deadline_at_ms, rowid FROM calls WHERE call_id IN (SELECT value FROM json_each(?3)))
       ORDER BY deadline_at_ms, place LIMIT ?2`,
      nowMs,
      rowsMax,
      JSON.stringify(listed),
    );
    return rows.toArray().map(({ record }) => JSON.parse(record) as Call);
  }

  /** The next deadline of the open calls that the account's row does not list. */
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
    const firstRow = this.#firstRowSince(sinceMs);
    if (firstRow === null) return [];
    const newest =
      'SELECT started_at_ms AS at FROM calls WHERE rowid >= ? AND started_at_ms > ? ORDER BY rowid DESC LIMIT 1 OFFSET ?';
    const begunBefore = (rows: number) =>
      this.#sql.exec<{ at: number }>(newest, firstRow, sinceMs, rows).toArray()[0]?.at;
    const withinMs = begunBefore(EXACT_CALLS_MAX - 1) === undefined ? 1 : partMs(windowSeconds);
    return this.#sql
      .exec<{ firstMs: number; lastMs: number; calls: number }>(
        `SELECT MIN(started_at_ms) AS firstMs, MAX(started_at_ms) AS lastMs, COUNT(*) AS calls FROM calls
         WHERE rowid >= ?1 AND started_at_ms > ?2 AND (started_at_ms <= ?3 OR status NOT IN ('NOT_ALLOWED', 'REVERSED'))
         GROUP BY started_at_ms / CAST(?4 AS INTEGER) ORDER BY 1`,
        firstRow,
        sinceMs,
        begunBefore(COUNTED_ROWS_MAX) ?? 0,
        withinMs,
      )
      .toArray()
      .map(({ firstMs, lastMs, calls }) => [firstMs, lastMs, calls]);
  }

  /** The first row of the calls that began after that time; `null` if there is none. */
  #firstRowSince(sinceMs: number): number | null {
    let first: number | null = null;
    for (let before: number | null = NEVER_MS; before !== null; ) {
      const rows: Record<'rowId' | 'startedAtMs' | 'isInOrder', number>[] = this.#sql
        .exec<Record<'rowId' | 'startedAtMs' | 'isInOrder', number>>(
          `SELECT rowid AS rowId, started_at_ms AS startedAtMs, finished_at_ms IS NULL AS isInOrder FROM calls
           WHERE rowid < ? ORDER BY rowid DESC LIMIT ?`,
          before,
          ROWS_READ_MAX,
        )
        .toArray();
      before = rows.length < ROWS_READ_MAX ? null : (rows.at(-1)?.rowId ?? null);
      for (const { rowId, startedAtMs, isInOrder } of rows) {
        if (startedAtMs > sinceMs) first = rowId;
        else if (isInOrder === 1) return first;
      }
    }
    return first;
  }

  /** When the newest call began, a denied one too; `null` if there is none. */
  newestStartMs(): number | null {
    const sql = 'SELECT started_at_ms AS at FROM calls ORDER BY rowid DESC LIMIT 1';
    return this.#sql.exec<{ at: number }>(sql).toArray()[0]?.at ?? null;
  }

  /** Open calls that the account's row does not list. */
  countOpen(): number {
    return this.#sql.exec<{ count: number }>(`SELECT COUNT(*) AS count FROM calls WHERE status = 'IN_PROGRESS'`).one()
      .count;
  }

  recent(rowsMax: number): Call[] {
    const rows = this.#sql.exec<{ record: string }>(
      `SELECT record FROM (SELECT record, started_at_ms, call_id FROM calls ORDER BY rowid DESC LIMIT ?)
       ORDER BY started_at_ms DESC, call_id`,
      rowsMax,
    );
    return rows.toArray().map(({ record }) => JSON.parse(record) as Call);
  }

  /** Costs of the last calls that have a price, the oldest first. Only the newest `COUNTED_ROWS_MAX` calls are looked at. */
  recentCosts(): RecentCost[] {
    const sql = `SELECT record ->> '$.outcome.endedAtMs' AS endedAtMs, record ->> '$.outcome.price.costNanoUsd' AS cost
      FROM (SELECT status, record FROM calls ORDER BY rowid DESC LIMIT ?)
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
   * Calls that finished by then and are needed for retries alone: not among the customer's newest, in D1, and waited for by
   * nothing. Returns them and the number of calls that it looked at, each of them once.
   * `listedCalls`: those in the outbox's list.
   */
  settled(
    finishedByMs: number,
    listedCalls: readonly string[],
    rowsMax: number,
  ): { settled: SettledCall[]; seen: number } {
    const listed = new Set<string>(listedCalls);
    const settled: SettledCall[] = [];
    const [afterRow, lastWholeRow] = [this.#placeOf('past'), this.#lastRow() - WHOLE_CALLS];
    let [seen, row] = [0, afterRow];
    const rows = this.#sql
      .exec<WalkedRow>(
        `SELECT rowid AS row_id, ${FINISHED_AT_MS} AS finished_at_ms, ended_at_ms < finished_at_ms AS is_corrected, record,
         begin_fingerprint, end_fingerprint, status NOT IN ('COMPLETED', 'FAILED', 'NOT_ALLOWED') OR ${IS_CHANGED}
           OR ${IS_REPORTED}) OR EXISTS (SELECT 1 FROM awaited_figures WHERE call_id = calls.call_id) AS is_needed
       FROM calls WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?`,
        afterRow,
        lastWholeRow,
        rowsMax,
      )
      .toArray();
    for (const { row_id, finished_at_ms, is_corrected, is_needed, ...stored } of rows) {
      const isRecent = finished_at_ms !== null && finished_at_ms > finishedByMs;
      // The walk waits for a call that has just ended. One that is open or was corrected just now stays whole.
      if (isRecent && is_corrected !== 1) break;
      seen += 1;
      row = row_id;
      const call = JSON.parse(stored.record) as Call;
      // Retries of a call of the service need the whole call, and a line of a batch may be recorded again for days.
      const hasRetries = call.openedBy === undefined;
      const { begin_fingerprint: begin, end_fingerprint: end } = stored;
      const isKept = !hasRetries && (begin !== '' || call.pricingMode === 'batch');
      if (!isRecent && is_needed !== 1 && !listed.has(call.callId) && !call.countedAlone && !isKept)
        settled.push({ call, hasRetries, fingerprints: { begin, end } });
    }
    if (seen > 0) this.#walkTo('past', row);
    return { settled, seen };
  }

  remove(callId: CallId): void {
    this.#sql.exec('DELETE FROM calls WHERE call_id = ?', callId);
  }

  /** When the next call began that may become past; `null` if there are none but the newest. */
  nextToSettleMs(): number | null {
    const sql = 'SELECT started_at_ms AS at FROM calls WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT 1';
    const [afterRow, lastWholeRow] = [this.#placeOf('past'), this.#lastRow() - WHOLE_CALLS];
    return this.#sql.exec<{ at: number }>(sql, afterRow, lastWholeRow).toArray()[0]?.at ?? null;
  }

  #firstStartAfter(rowId: number): number | null {
    const sql = 'SELECT started_at_ms AS at FROM calls WHERE rowid > ? ORDER BY rowid LIMIT 1';
    return this.#sql.exec<{ at: number }>(sql, rowId).toArray()[0]?.at ?? null;
  }

  #lastRow(): number {
    return this.#sql.exec<{ row: number | null }>('SELECT MAX(rowid) AS row FROM calls').one().row ?? 0;
  }

  #placeOf(walk: Walk): number {
    const sql = 'SELECT row_id AS rowId FROM call_walks WHERE walk = ?';
    return this.#sql.exec<{ rowId: number }>(sql, walk).toArray()[0]?.rowId ?? 0;
  }

  #walkTo(walk: Walk, rowId: number): void {
    const sql = `INSERT INTO call_walks (walk, row_id) VALUES (?, ?) ON CONFLICT (walk) DO UPDATE SET row_id = excluded.row_id`;
    this.#sql.exec(sql, walk, rowId);
  }

  /**
   * Drops calls that finished by then, except those that wait for D1 or the billing provider. Returns the number of those
   * out of order that it dropped, or of the others that it looked at. `listedCalls`: those in the outbox's list.
   */
  drop(finishedByMs: number, listedCalls: readonly string[], rowsMax: number): number {
    const listed = JSON.stringify(listedCalls);
    const dropped = this.#sql.exec(
      `DELETE FROM calls WHERE call_id IN (SELECT call_id FROM calls WHERE finished_at_ms <= ? AND NOT ${WAITS} LIMIT ?)`,
      finishedByMs,
      listed,
      rowsMax,
    ).rowsWritten;
    const seen = this.#dropInOrder(finishedByMs - LONG_MS, listed, rowsMax);
    // The next call takes the place after the last one, which no walk may have passed.
    if (dropped + seen > 0)
      this.#sql.exec(
        `UPDATE call_walks SET row_id = MIN(row_id, (SELECT COALESCE(MAX(rowid), 0) FROM calls))
         WHERE row_id > (SELECT COALESCE(MAX(rowid), 0) FROM calls)`,
      );
    return Math.max(dropped, seen);
  }

  /** Drops calls that began by then, and so have finished within the hour after, unless they are out of order. */
  #dropInOrder(begunByMs: number, listedCalls: string, rowsMax: number): number {
    const afterRow = this.#placeOf('drop');
    if ((this.#firstStartAfter(afterRow) ?? NEVER_MS) > begunByMs) return 0;
    const sql = `SELECT rowid AS rowId, started_at_ms AS startedAtMs FROM calls WHERE rowid > ? ORDER BY rowid LIMIT ?`;
    const rows = this.#sql.exec<Record<'rowId' | 'startedAtMs', number>>(sql, afterRow, rowsMax).toArray();
    const later = rows.findIndex(({ startedAtMs }) => startedAtMs > begunByMs);
    const seen = later < 0 ? rows.length : later;
    const lastRow = rows[seen - 1]?.rowId ?? afterRow;
    const inOrder = 'rowid > ? AND rowid <= ? AND ended_at_ms IS NOT NULL AND finished_at_ms IS NULL';
    // What waits is looked at again in an hour.
    const againMs = begunByMs + LONG_MS + HOUR_MS;
    const keep = `UPDATE calls SET finished_at_ms = ? WHERE ${inOrder} AND ${WAITS}`;
    this.#sql.exec(keep, againMs, afterRow, lastRow, listedCalls);
    this.#sql.exec(`DELETE FROM calls WHERE ${inOrder}`, afterRow, lastRow);
    this.#walkTo('drop', lastRow);
    return seen;
  }

  /** The time by which the next call is known to have finished that `drop` is to look at; `null` if there is none. */
  nextToDropMs(): number | null {
    const startedAtMs = this.#firstStartAfter(this.#placeOf('drop'));
    const outOfOrder = 'SELECT MIN(finished_at_ms) AS at FROM calls WHERE finished_at_ms IS NOT NULL';
    const finishedAtMs = this.#sql.exec<{ at: number | null }>(outOfOrder).one().at;
    const times = [finishedAtMs, startedAtMs === null ? null : startedAtMs + LONG_MS].filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  }
}
