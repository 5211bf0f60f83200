/**
 * Vendors' answers to calls that the service made itself, for retries of their requests: at most 64 MiB of a customer. The
 * oldest give way to later ones, whatever their calls cost, and it stays known which calls had one.
 *
 * Answers stand one after the other, in the order in which they were kept. Each row says where its answer ends, so the end
 * of the last one tells which have given way, and nothing is summed.
 */
import type { CallId } from '../../../src/domain/ids.ts';
import { assertFits, utf8Bytes } from '../../stored-value.ts';

export const KEPT_BYTES_MAX = 64 * 1024 * 1024;
/** Characters in one row of an answer: it may be longer than one value can be. */
const PART_LENGTH = 500_000;

export class KeptAnswerTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  keep(callId: CallId, text: string): void {
    const before = this.#endByte();
    const bytes = utf8Bytes(text);
    const end = before + bytes;
    this.#sql.exec('INSERT INTO kept_answers (end_byte, call_id, bytes) VALUES (?, ?, ?)', end, callId, bytes);
    for (const [part, piece] of partsOf(text).entries()) {
      assertFits('a part of a kept answer', piece);
      this.#sql.exec('INSERT INTO call_answers (call_id, part, text) VALUES (?, ?, ?)', callId, part, piece);
    }
    this.#giveWay(before - KEPT_BYTES_MAX, end - KEPT_BYTES_MAX);
  }

  find(callId: CallId): string | null {
    const sql = 'SELECT text FROM call_answers WHERE call_id = ? ORDER BY part';
    const parts = this.#sql.exec<{ text: string }>(sql, callId).toArray();
    return parts.length === 0 ? null : parts.map(({ text }) => text).join('');
  }

  /** Whether the call's answer gave way to later ones. */
  hasGivenWay(callId: CallId): boolean {
    const sql = 'SELECT 1 FROM kept_answers WHERE call_id = ? AND end_byte - bytes < ?';
    return this.#sql.exec(sql, callId, this.#endByte() - KEPT_BYTES_MAX).toArray().length > 0;
  }

  /**
   * Drops the answers of calls that ended by then or are gone, also that they had one. Returns their number. A call that took an
   * hour or more, and was corrected, ends with its correction.
   */
  drop(endedByMs: number, rowsMax: number): number {
    const callIds: string[] = [];
    for (const { callId, endedAtMs, isInOrder } of this.#ended(rowsMax)) {
      const isDue = endedAtMs === null || endedAtMs <= endedByMs;
      if (isDue) callIds.push(callId);
      else if (isInOrder === 1) break;
    }
    const ids = JSON.stringify(callIds);
    if (callIds.length === 0) return 0;
    this.#sql.exec('DELETE FROM call_answers WHERE call_id IN (SELECT value FROM json_each(?))', ids);
    this.#sql.exec('DELETE FROM kept_answers WHERE call_id IN (SELECT value FROM json_each(?))', ids);
    return callIds.length;
  }

  /** When the oldest ended; `null` if there is none. */
  oldestMs(): number | null {
    const [oldest] = this.#ended(1);
    return oldest ? (oldest.endedAtMs ?? 0) : null;
  }

  /** The calls of the oldest answers. */
  #ended(rowsMax: number): { callId: string; endedAtMs: number | null; isInOrder: number }[] {
    const sql = `SELECT kept_answers.call_id AS callId, COALESCE(ended_at_ms, finished_at_ms) AS endedAtMs, ended_at_ms IS NOT NULL AS isInOrder
      FROM kept_answers LEFT JOIN calls USING (call_id) ORDER BY end_byte LIMIT ?`;
    return this.#sql.exec<{ callId: string; endedAtMs: number | null; isInOrder: number }>(sql, rowsMax).toArray();
  }

  /** Where the last answer ends. */
  #endByte(): number {
    return this.#sql.exec<{ at: number | null }>('SELECT MAX(end_byte) AS at FROM kept_answers').one().at ?? 0;
  }

  /** Removes the texts of answers that begin before `toByte`; those that begin before `fromByte` are gone already. */
  #giveWay(fromByte: number, toByte: number): void {
    if (toByte <= 0) return;
    const sql = `SELECT call_id FROM kept_answers WHERE end_byte - bytes < ?2 AND end_byte > ?1
      AND end_byte <= (SELECT MIN(end_byte) FROM kept_answers WHERE end_byte > ?2) ORDER BY end_byte`;
    for (const { call_id } of this.#sql.exec<{ call_id: string }>(sql, fromByte, toByte).toArray())
      this.#sql.exec('DELETE FROM call_answers WHERE call_id = ?', call_id);
  }
}

function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = from + PART_LENGTH;
    // Never between the halves of a character.
    const to = /[\ud800-\udbff]/.test(text[end - 1] ?? '') ? end - 1 : end;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}
