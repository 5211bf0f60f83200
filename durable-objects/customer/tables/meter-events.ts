/**
 * Increments of the custom meters, until D1 has them and their charge is settled.
 */
import type { MeterEvent } from '../../../src/domain/custom-meter.ts';
import { NEVER_MS } from '../../../src/domain/period.ts';

export class MeterEventTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  find(eventId: string): MeterEvent | null {
    const row = this.#sql
      .exec<{ record: string }>('SELECT record FROM meter_events WHERE event_id = ?', eventId)
      .toArray()[0];
    return row ? (JSON.parse(row.record) as MeterEvent) : null;
  }

  save(event: MeterEvent): void {
    const sql = `INSERT INTO meter_events (event_id, at_ms, record) VALUES (?, ?, ?)
      ON CONFLICT (event_id) DO UPDATE SET record = excluded.record`;
    this.#sql.exec(sql, event.eventId, event.atMs, JSON.stringify(event));
  }

  /** Stores an event as if it were recorded now, so that it is kept until D1 has it. */
  correct(event: MeterEvent, nowMs: number): void {
    const sql = `INSERT INTO meter_events (event_id, at_ms, record) VALUES (?, ?, ?)
      ON CONFLICT (event_id) DO UPDATE SET at_ms = excluded.at_ms, record = excluded.record`;
    this.#sql.exec(sql, event.eventId, nowMs, JSON.stringify(event));
  }

  /**
   * Drops events recorded by then, except those that D1 does not have or whose charge is still to be settled. Returns the
   * rows written. `listed`: those in the outbox's list.
   */
  drop(recordedByMs: number, listed: readonly string[], rowsMax: number): number {
    return this.#sql.exec(
      `DELETE FROM meter_events WHERE event_id IN (
         SELECT event_id FROM meter_events WHERE at_ms <= ?
           AND event_id NOT IN (SELECT value FROM json_each(?))
           AND event_id NOT IN (SELECT id FROM outbox WHERE kind = 'meter_event')
           AND event_id NOT IN (SELECT subject_id FROM charges WHERE debited_at_ms IS NULL AND kind = 'meter_event')
           AND NOT EXISTS (SELECT 1 FROM charges WHERE stripe_customer_id IS NOT NULL AND subject_id = meter_events.event_id
             AND kind = 'meter_event' AND due_at_ms < ?) LIMIT ?)`,
      recordedByMs,
      JSON.stringify(listed),
      NEVER_MS,
      rowsMax,
    ).rowsWritten;
  }

  oldestMs(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT MIN(at_ms) AS at FROM meter_events').one().at;
  }
}
