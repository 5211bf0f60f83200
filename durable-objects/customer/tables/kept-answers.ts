/**
 * Vendors' answers to calls that the service made itself, for retries of their requests: at most 64 MiB of a customer. The
 * oldest give way to later ones, whatever their calls cost, and it stays known which calls had one.
 */
import type { CallId } from '../../../src/domain/ids.ts';
import { assertFits, utf8Bytes } from '../../stored-value.ts';

export const KEPT_BYTES_MAX = 64 * 1024 * 1024;
/** Characters in one row of an answer: it may be longer than one value can be. */
const PART_LENGTH = 500_000;

export class KeptAnswerTable {
  readonly #sql: SqlStorage;
  /** Bytes of all answers; `undefined` until they are read. */
  #bytes: number | undefined;
  /** Answers up to this place gave way, or are gone. */
  #gonePlace = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  keep(callId: CallId, text: string): void {
    const bytes = utf8Bytes(text);
    this.#bytes = this.#bytesNow() + bytes;
    this.#sql.exec('INSERT INTO kept_answers (call_id, bytes) VALUES (?, ?)', callId, bytes);
    for (const [part, piece] of partsOf(text).entries()) {
      assertFits('a part of a kept answer', piece);
      this.#sql.exec('INSERT INTO call_answers (call_id, part, text) VALUES (?, ?, ?)', callId, part, piece);
    }
    while (this.#bytes > KEPT_BYTES_MAX) this.#bytes -= this.#dropOldest();
  }

  find(callId: CallId): string | null {
    const sql = 'SELECT text FROM call_answers WHERE call_id = ? ORDER BY part';
    const parts = this.#sql.exec<{ text: string }>(sql, callId).toArray();
    return parts.length === 0 ? null : parts.map(({ text }) => text).join('');
  }

  /** Whether the call's answer gave way to later ones. */
  hasGivenWay(callId: CallId): boolean {
    const sql = 'SELECT 1 FROM kept_answers WHERE call_id = ? AND bytes IS NULL';
    return this.#sql.exec(sql, callId).toArray().length > 0;
  }

  /** Drops the answers of calls, also that they had one. */
  dropOf(callIds: readonly CallId[]): void {
    const ids = JSON.stringify(callIds);
    this.#sql.exec('DELETE FROM call_answers WHERE call_id IN (SELECT value FROM json_each(?))', ids);
    this.#sql.exec('DELETE FROM kept_answers WHERE call_id IN (SELECT value FROM json_each(?))', ids);
    this.#bytes = undefined;
  }

  rolledBack(): void {
    this.#bytes = undefined;
    this.#gonePlace = 0;
  }

  #bytesNow(): number {
    this.#bytes ??= this.#sql
      .exec<{ bytes: number }>('SELECT COALESCE(SUM(bytes), 0) AS bytes FROM kept_answers')
      .one().bytes;
    return this.#bytes;
  }

  /** Returns the bytes that it had. */
  #dropOldest(): number {
    const sql =
      'SELECT place, call_id, bytes FROM kept_answers WHERE place > ? AND bytes IS NOT NULL ORDER BY place LIMIT 1';
    const { place, call_id, bytes } = this.#sql
      .exec<{ place: number; call_id: string; bytes: number }>(sql, this.#gonePlace)
      .one();
    this.#sql.exec('DELETE FROM call_answers WHERE call_id = ?', call_id);
    this.#sql.exec('UPDATE kept_answers SET bytes = NULL WHERE place = ?', place);
    this.#gonePlace = place;
    return bytes;
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
