/**
 * Idempotency keys: the newest call of each derived key and payload, and the keys of operations other than begin.
 */
import type { CallId } from '../../../src/domain/ids.ts';

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

  find(operation: string, key: string): UsedKey | null {
    const sql = 'SELECT fingerprint, call_id AS callId, answer FROM idempotency_keys WHERE operation = ? AND key = ?';
    return (
      this.#sql
        .exec<{ fingerprint: string; callId: CallId | null; answer: string | null }>(sql, operation, key)
        .toArray()[0] ?? null
    );
  }

  save(operation: string, key: string, used: UsedKey, expiresAtMs: number): void {
    this.#sql.exec(
      'INSERT INTO idempotency_keys (operation, key, fingerprint, call_id, answer, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
      operation,
      key,
      used.fingerprint,
      used.callId,
      used.answer,
      expiresAtMs,
    );
  }

  /** Drops keys that expired by then. Returns the rows written. */
  drop(expiredByMs: number, rowsMax: number): number {
    return this.#sql.exec(
      'DELETE FROM idempotency_keys WHERE (operation, key) IN (SELECT operation, key FROM idempotency_keys WHERE expires_at_ms <= ? LIMIT ?)',
      expiredByMs,
      rowsMax,
    ).rowsWritten;
  }

  nextExpiryMs(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT MIN(expires_at_ms) AS at FROM idempotency_keys').one().at;
  }
}
