/**
 * What the customer's organization is told of, until D1 has it.
 */
import type { CustomerEvent } from '../../../src/contract/event-data.ts';

export type StoredEvent = CustomerEvent & { atMs: number };

export class EventTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(eventId: string, event: StoredEvent): void {
    const sql = 'INSERT INTO events (event_id, at_ms, record) VALUES (?, ?, ?)';
    this.#sql.exec(sql, eventId, event.atMs, JSON.stringify(event));
  }

  /** Drops events recorded by then that D1 has. Returns the rows written. `listed`: those in the outbox's list. */
  drop(recordedByMs: number, listed: readonly string[], rowsMax: number): number {
    return this.#sql.exec(
      `DELETE FROM events WHERE event_id IN (
         SELECT event_id FROM events WHERE at_ms <= ? AND event_id NOT IN (SELECT value FROM json_each(?))
           AND event_id NOT IN (SELECT id FROM outbox WHERE kind = 'event') LIMIT ?)`,
      recordedByMs,
      JSON.stringify(listed),
      rowsMax,
    ).rowsWritten;
  }
}
