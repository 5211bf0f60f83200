/**
 * Idempotency keys: the newest call of each derived key and payload, and the keys of operations other than begin.
 *
 * The latter are kept for 48 hours at least. They lie in a table for each UTC day, three tables in turn, of which each is
 * emptied as a whole: a table that is dropped writes no row, and a key that is deleted writes one.
 */
import type { CallId } from '../../../src/domain/ids.ts';
import { DAY_MS } from '../../../src/platform/time.ts';

export interface UsedKey {
  fingerprint: string;
  /** The call that an end's key points to. */
  callId: CallId | null;
  /** The stored answer of other operations. */
  answer: string | null;
}

export interface DerivedKey {
  hash: string;
  fingerprint: string;
  generation: number;
  callId: CallId;
}

type Row = { fingerprint: string; callId: CallId | null; answer: string | null };

/** One for each day in which a key may have been used that is kept: the present one and two before. */
export const DAY_TABLES = ['keys_of_day_0', 'keys_of_day_1', 'keys_of_day_2'] as const;
type DayTable = (typeof DAY_TABLES)[number];

/** Keys that are deleted one by one. */
const DELETED_MAX = 2;

/** The table that earlier releases wrote is looked at last; its keys expire within 48 hours. */
const FIND = [
  ...DAY_TABLES.map((table, place) => `${table} WHERE day = ?${place + 3} AND operation = ?1 AND key = ?2`),
  'idempotency_keys WHERE operation = ?1 AND key = ?2',
]
  .map((from) => `SELECT fingerprint, call_id AS callId, answer FROM ${from}`)
  .join(' UNION ALL ');

export class KeyTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The newest call of the derived key with this payload, and the key's newest generation, whatever the payload. */
  findDerived(hash: string, fingerprint: string): { callId: CallId | null; newest: number } {
    const sql = `SELECT (SELECT call_id FROM derived_keys WHERE hash = ?1 AND fingerprint = ?2) AS callId,
      (SELECT COALESCE(MAX(generation), 0) FROM derived_keys WHERE hash = ?1) AS newest`;
    return this.#sql.exec<{ callId: CallId | null; newest: number }>(sql, hash, fingerprint).one();
  }

  saveDerived(derived: DerivedKey, nowMs: number): void {
    this.#sql.exec(
      `INSERT INTO derived_keys (hash, fingerprint, generation, call_id, at_ms) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (hash, fingerprint) DO UPDATE SET
         generation = excluded.generation, call_id = excluded.call_id, at_ms = excluded.at_ms`,
      derived.hash,
      derived.fingerprint,
      derived.generation,
      derived.callId,
      nowMs,
    );
  }

  /** Drops derived keys last used by then whose call was removed. Returns the rows written. */
  dropDerived(usedByMs: number, rowsMax: number): number {
    return this.#sql.exec(
      `DELETE FROM derived_keys WHERE (hash, fingerprint) IN (
         SELECT hash, fingerprint FROM derived_keys WHERE at_ms <= ? AND call_id NOT IN (SELECT call_id FROM calls) LIMIT ?)`,
      usedByMs,
      rowsMax,
    ).rowsWritten;
  }

  find(operation: string, key: string, nowMs: number): UsedKey | null {
    const days = DAY_TABLES.map((_, place) => keptDay(place, nowMs));
    return this.#sql.exec<Row>(FIND, operation, key, ...days).toArray()[0] ?? null;
  }

  save(operation: string, key: string, used: UsedKey, nowMs: number): void {
    const [day, table] = [Math.floor(nowMs / DAY_MS), dayTable(nowMs)];
    this.#emptyBefore(table, day);
    this.#sql.exec(
      `INSERT INTO ${table} (day, operation, key, fingerprint, call_id, answer) VALUES (?, ?, ?, ?, ?, ?)`,
      day,
      operation,
      key,
      used.fingerprint,
      used.callId,
      used.answer,
    );
  }

  /** Drops keys that expired by then. Returns the rows written. */
  drop(expiredByMs: number, rowsMax: number): number {
    for (const [place, table] of DAY_TABLES.entries()) this.#emptyBefore(table, keptDay(place, expiredByMs));
    const sql =
      'DELETE FROM idempotency_keys WHERE (operation, key) IN (SELECT operation, key FROM idempotency_keys WHERE expires_at_ms <= ? LIMIT ?)';
    return this.#sql.exec(sql, expiredByMs, rowsMax).rowsWritten;
  }

  nextExpiryMs(): number | null {
    const oldest = DAY_TABLES.map((table) => this.#oldestDay(table)).filter((day) => day !== null);
    const sql = 'SELECT MIN(expires_at_ms) AS at FROM idempotency_keys';
    const { at } = this.#sql.exec<{ at: number | null }>(sql).one();
    const times = [...oldest.map((day) => (day + DAY_TABLES.length) * DAY_MS), ...(at === null ? [] : [at])];
    return times.length === 0 ? null : Math.min(...times);
  }

  #oldestDay(table: DayTable): number | null {
    const sql = `SELECT day FROM ${table} ORDER BY day LIMIT 1`;
    return this.#sql.exec<{ day: number }>(sql).toArray()[0]?.day ?? null;
  }

  /**
   * Empties a table if it has an earlier day. To create it again writes as much as to delete a few rows. SQLite drops no table
   * while a statement reads any, so every cursor of an object is read to its end.
   */
  #emptyBefore(table: DayTable, day: number): void {
    if ((this.#oldestDay(table) ?? day) >= day) return;
    const rows = this.#sql.exec(`SELECT 1 FROM ${table} LIMIT ?`, DELETED_MAX + 1).toArray().length;
    if (rows <= DELETED_MAX) this.#sql.exec(`DELETE FROM ${table}`);
    else {
      const { sql } = this.#sql.exec<{ sql: string }>('SELECT sql FROM sqlite_master WHERE name = ?', table).one();
      this.#sql.exec(`DROP TABLE ${table}`);
      this.#sql.exec(sql);
    }
  }
}

/** The table of the keys that are used then. */
export const dayTable = (nowMs: number): DayTable =>
  DAY_TABLES[Math.floor(nowMs / DAY_MS) % DAY_TABLES.length] as DayTable;

/** The one day that the table at that place may have keys of which are kept still. */
function keptDay(place: number, nowMs: number): number {
  const day = Math.floor(nowMs / DAY_MS);
  return day - ((day - place) % DAY_TABLES.length);
}
