/**
 * What D1 does not have yet, and how sending it goes. A row names what changed; what it looks like is read when it is sent.
 */

export interface OutboxRow {
  kind: 'customer' | 'call' | 'meter_event' | 'credit_entry';
  id: string;
  revision: number;
  /** What the row of that kind and id records; `null` for the customer. */
  record: unknown;
}

export interface Delivery {
  failures: number;
  dueAtMs: number | null;
  lastError: string | null;
}

export class OutboxTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(kind: OutboxRow['kind'], id: string, revision: number, nowMs: number): void {
    this.#sql.exec(
      `INSERT INTO outbox (kind, id, revision, queued_at_ms) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision`,
      kind,
      id,
      revision,
      nowMs,
    );
  }

  /** The oldest changes first. */
  rows(rowsMax: number): OutboxRow[] {
    const rows = this.#sql.exec<{ kind: OutboxRow['kind']; id: string; revision: number; record: string | null }>(
      `SELECT o.kind, o.id, o.revision, CASE o.kind
         WHEN 'call' THEN (SELECT record FROM calls WHERE call_id = o.id)
         WHEN 'meter_event' THEN (SELECT record FROM meter_events WHERE event_id = o.id)
         WHEN 'credit_entry' THEN (SELECT record FROM ledger WHERE entry_id = CAST(o.id AS INTEGER)) END AS record
       FROM outbox o ORDER BY o.queued_at_ms LIMIT ?`,
      rowsMax,
    );
    return rows.toArray().map((row) => ({ ...row, record: row.record === null ? null : JSON.parse(row.record) }));
  }

  state(): { pending: number; oldestMs: number | null } {
    const sql = 'SELECT COUNT(*) AS pending, MIN(queued_at_ms) AS oldestMs FROM outbox';
    return this.#sql.exec<{ pending: number; oldestMs: number | null }>(sql).one();
  }

  /** Forgets rows that were sent, unless they changed in the meantime. */
  drop(rows: readonly OutboxRow[]): void {
    this.#sql.exec(
      // CROSS JOIN keeps the order: each row that was sent is looked up by its key, however many wait.
      `DELETE FROM outbox WHERE (kind, id) IN (
         SELECT o.kind, o.id FROM json_each(?) sent CROSS JOIN outbox o
           ON o.kind = sent.value ->> 'kind' AND o.id = sent.value ->> 'id' AND o.revision = sent.value ->> 'revision')`,
      JSON.stringify(rows.map(({ kind, id, revision }) => ({ kind, id, revision }))),
    );
  }

  delivery(): Delivery {
    const sql = 'SELECT failures, due_at_ms AS dueAtMs, last_error AS lastError FROM delivery';
    return this.#sql.exec<{ failures: number; dueAtMs: number | null; lastError: string | null }>(sql).one();
  }

  saveDelivery({ failures, dueAtMs, lastError }: Delivery): void {
    this.#sql.exec('UPDATE delivery SET failures = ?, due_at_ms = ?, last_error = ?', failures, dueAtMs, lastError);
  }
}
