/**
 * What no projector has yet, and how handing it over goes: a log of changes. A change names what changed; what that
 * looks like is read when it is handed over. What changed several times is handed over once.
 */
import type { RecordedChange } from '../../../src/history/projection-rows.ts';
import type { ChangeKind } from '../../../src/objects/projection-page.ts';
import type { DatabaseName } from '../../../src/platform/database-name.ts';
import { utf8Bytes } from '../../stored-value.ts';

/** The oldest changes. */
export interface OutboxPage {
  rows: RecordedChange[];
  /** The place in the log of the last of them. */
  place: number;
  /** When the oldest of them was made; without meaning where there is none. */
  sinceMs: number;
  /** There may be changes after them. */
  more: boolean;
}

/** How handing over goes. */
export interface Delivery {
  /** Attempts that failed in a row. */
  failures: number;
  /** When the next one is due; `null` after one that succeeded. */
  dueAtMs: number | null;
  lastError: string | null;
}

type Recorded = Pick<RecordedChange, 'record' | 'replaced'>;

/** The record of a change by its id. */
const RECORDS: Record<Exclude<ChangeKind, 'customer'>, string> = {
  call: 'SELECT record, replaced FROM calls WHERE call_id = ?',
  denied_hour:
    'SELECT json_array(hour_ms, feature, counted_calls) AS record FROM denied_hours WHERE row_id = CAST(? AS INTEGER)',
  failed_hour:
    'SELECT json_array(hour_ms, counted_calls, counted_unpriced, revision) AS record FROM failed_hours WHERE hour_ms = CAST(? AS INTEGER)',
  meter_event: 'SELECT record FROM meter_events WHERE event_id = ?',
  credit_entry: 'SELECT record FROM ledger WHERE entry_id = CAST(? AS INTEGER)',
  event: 'SELECT record FROM events WHERE event_id = ?',
};

/**
 * Bytes of the records in one page, as they are written there. The columns of their rows repeat no more than that of them, so
 * that a page of 400 changes stays below the 2 MB that Cloudflare takes for the row in which its projector keeps it. A record
 * that is larger by itself has a page of its own. Only corrections make a record that large, and they stop while it still fits
 * (`fitsPage`).
 */
const PAGE_RECORD_BYTES_MAX = 800_000;

/** Bytes of a record that has a page of its own, as it is written there. */
const LONE_RECORD_BYTES_MAX = 1_700_000;

/** Bytes of a record inside the JSON of a page, which quotes it. */
const writtenBytes = (record: string) => utf8Bytes(JSON.stringify(record));

/** Whether a record fits a page that has nothing else. */
export function fitsPage(record: string): boolean {
  return writtenBytes(record) <= LONE_RECORD_BYTES_MAX;
}

export class OutboxTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Returns the place of the change. */
  add(kind: ChangeKind, id: string, nowMs: number): number {
    const sql = 'INSERT INTO outbox (kind, id, queued_at_ms) VALUES (?, ?, ?) RETURNING place';
    return this.#sql.exec<{ place: number }>(sql, kind, id, nowMs).one().place;
  }

  /** What the oldest `changesMax` changes after that place changed, or as many of them as fit a page. */
  page(afterPlace: number, changesMax: number): OutboxPage {
    const changes = this.#sql
      .exec<{ kind: ChangeKind; id: string; place: number; queuedAtMs: number; times: number }>(
        `SELECT kind, id, MAX(place) AS place, MIN(queued_at_ms) AS queuedAtMs, COUNT(*) AS times
         FROM (SELECT kind, id, place, queued_at_ms FROM outbox WHERE place > ? ORDER BY place LIMIT ?) GROUP BY kind, id ORDER BY 3`,
        afterPlace,
        changesMax,
      )
      .toArray();
    const rows: RecordedChange[] = [];
    let bytes = 0;
    for (const { kind, id } of changes) {
      const recorded = this.#recorded(kind, id);
      bytes += writtenBytes(recorded.record ?? '') + writtenBytes(recorded.replaced ?? '');
      if (rows.length > 0 && bytes > PAGE_RECORD_BYTES_MAX) break;
      rows.push({ kind, id, ...recorded });
    }
    const isCut = rows.length < changes.length;
    return {
      rows,
      place: changes[rows.length - 1]?.place ?? 0,
      sinceMs: Math.min(...changes.map(({ queuedAtMs }) => queuedAtMs)),
      more: isCut || changes.reduce((sum, { times }) => sum + times, 0) === changesMax,
    };
  }

  /** `null` for the customer, and where the record is gone. */
  #recorded(kind: ChangeKind, id: string): Recorded {
    const found = kind === 'customer' ? [] : this.#sql.exec<{ record: string }>(RECORDS[kind], id).toArray();
    return found[0] ?? { record: null };
  }

  /** Changes after that place. */
  state(afterPlace: number): { pending: number; oldestMs: number | null } {
    const sql = 'SELECT COUNT(*) AS pending FROM (SELECT DISTINCT kind, id FROM outbox WHERE place > ?)';
    return { ...this.#sql.exec<{ pending: number }>(sql, afterPlace).one(), oldestMs: this.oldestMs(afterPlace) };
  }

  /** When the oldest change after that place was made; `null` where there is none. */
  oldestMs(afterPlace = 0): number | null {
    const sql = 'SELECT queued_at_ms AS oldestMs FROM outbox WHERE place > ? ORDER BY place LIMIT 1';
    return this.#sql.exec<{ oldestMs: number }>(sql, afterPlace).toArray()[0]?.oldestMs ?? null;
  }

  /**
   * Forgets the changes up to that place, because a projector has them; with `keepsNewest` all but the newest of the outbox.
   * What changed again since has a later place.
   */
  drop(place: number, keepsNewest: boolean): void {
    const others = keepsNewest ? 'AND place < (SELECT MAX(place) FROM outbox)' : '';
    this.#sql.exec(`DELETE FROM outbox WHERE place <= ? ${others}`, place);
  }

  delivery(): Delivery {
    const sql = 'SELECT failures, due_at_ms AS dueAtMs, last_error AS lastError FROM delivery';
    return this.#sql.exec<{ failures: number; dueAtMs: number | null; lastError: string | null }>(sql).one();
  }

  historyDatabase(): DatabaseName | null {
    return this.#sql.exec<{ name: DatabaseName | null }>('SELECT history_database AS name FROM delivery').one().name;
  }

  saveHistoryDatabase(name: DatabaseName): void {
    this.#sql.exec('UPDATE delivery SET history_database = ?', name);
  }

  saveDelivery({ failures, dueAtMs, lastError }: Delivery): void {
    this.#sql.exec('UPDATE delivery SET failures = ?, due_at_ms = ?, last_error = ?', failures, dueAtMs, lastError);
  }
}
