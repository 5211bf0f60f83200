/**
 * What no projector has yet, and how handing it over goes: a log of changes. A change names what changed; what that
 * looks like is read when it is handed over. What changed several times is handed over once.
 *
 * The log is a list in the account's row, which a command writes in any case. A table has the changes that came after the
 * list was full: as long as the table has rows, new changes go there, so that the list has the older ones.
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
  /** When the oldest of them was made that is to be handed over soon; `null` if there is none. */
  sinceMs: number | null;
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

/** Changes in the list, which each command writes as a whole. */
const LISTED_MAX = 400;

interface WaitingChange {
  place: number;
  kind: ChangeKind;
  id: string;
  sinceMs: number;
  /** It may wait for the next one, as the begin of a call waits for its end. */
  mayWait: boolean;
}

/** A change in the list, as it is stored. */
type ListedChange = [place: number, kind: ChangeKind, id: string, sinceMs: number, mayWait?: true];

export class OutboxTable {
  readonly #sql: SqlStorage;
  /** The list, in the order of the places; `undefined` until it is read. */
  #list: WaitingChange[] | undefined;
  /** The list as JSON, as the account's row has it; `null` until it is read. */
  #text: string | null = null;
  #hasChanged = false;
  /** The table may have rows. */
  #hasRows = true;
  #lastPlace = 0;
  /** The last place of the newest page, which may be on its way. */
  #pagePlace = 0;
  /** Up to this place, projectors have everything. The next transaction forgets it. */
  #handedOverPlace = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Returns the place of the change. */
  add(kind: ChangeKind, id: string, nowMs: number, { mayWait }: Pick<WaitingChange, 'mayWait'>): number {
    const list = this.#read();
    // A page that is on its way does not have the change of now.
    const at = list.findLastIndex(
      (change) => change.place > this.#pagePlace && change.kind === kind && change.id === id,
    );
    this.#lastPlace += 1;
    if (this.#hasRows || (list.length >= LISTED_MAX && at === -1)) {
      const sql = 'INSERT INTO outbox (place, kind, id, queued_at_ms) VALUES (?, ?, ?, ?)';
      this.#sql.exec(sql, this.#lastPlace, kind, id, nowMs);
      this.#hasRows = true;
    } else {
      const [before] = at === -1 ? [] : list.splice(at, 1);
      const sinceMs = before && before.mayWait === mayWait ? before.sinceMs : nowMs;
      list.push({ place: this.#lastPlace, kind, id, sinceMs, mayWait });
      this.#hasChanged = true;
    }
    return this.#lastPlace;
  }

  /** What the oldest `changesMax` changes changed that no projector has, or as many of them as fit a page. */
  page(changesMax: number): OutboxPage {
    const waiting = this.#oldest(changesMax);
    const changes = new Map<string, WaitingChange>();
    for (const change of waiting) {
      const name = `${change.kind} ${change.id}`;
      changes.delete(name);
      changes.set(name, change);
    }
    const rows: RecordedChange[] = [];
    let [bytes, place] = [0, 0];
    for (const { kind, id, place: own } of changes.values()) {
      const recorded = this.#recorded(kind, id);
      bytes += writtenBytes(recorded.record ?? '') + writtenBytes(recorded.replaced ?? '');
      if (rows.length > 0 && bytes > PAGE_RECORD_BYTES_MAX) break;
      rows.push({ kind, id, ...recorded });
      place = own;
    }
    this.#pagePlace = place;
    return {
      rows,
      place,
      sinceMs: oldest(waiting.filter(({ mayWait }) => !mayWait)),
      more: rows.length < changes.size || waiting.length === changesMax,
    };
  }

  /** The oldest changes that no projector has. */
  #oldest(changesMax: number): WaitingChange[] {
    const listed = this.#waiting().slice(0, changesMax);
    if (!this.#hasRows || listed.length === changesMax) return listed;
    const sql = 'SELECT place, kind, id, queued_at_ms AS sinceMs FROM outbox WHERE place > ? ORDER BY place LIMIT ?';
    const rows = this.#sql.exec<Omit<WaitingChange, 'mayWait'> & Record<string, SqlStorageValue>>(
      sql,
      this.#handedOverPlace,
      changesMax - listed.length,
    );
    return [...listed, ...[...rows].map((row) => ({ ...row, mayWait: false }))];
  }

  /** The changes of the list that no projector has. */
  #waiting(): WaitingChange[] {
    return this.#read().filter(({ place }) => place > this.#handedOverPlace);
  }

  /** `null` for the customer, and where the record is gone. */
  #recorded(kind: ChangeKind, id: string): Recorded {
    const found = kind === 'customer' ? [] : this.#sql.exec<{ record: string }>(RECORDS[kind], id).toArray();
    return found[0] ?? { record: null };
  }

  /** The changes that no projector has. */
  state(): { pending: number; oldestMs: number | null } {
    const sql = `SELECT COUNT(*) AS pending FROM (SELECT DISTINCT kind, id FROM outbox WHERE place > ?
      UNION SELECT value ->> 0, value ->> 1 FROM json_each(?))`;
    const listed = JSON.stringify(this.#waiting().map(({ kind, id }) => [kind, id]));
    const { pending } = this.#sql.exec<{ pending: number }>(sql, this.#handedOverPlace, listed).one();
    return { pending, oldestMs: this.oldestMs() };
  }

  /** When the oldest change was made that no projector has; `null` if there is none. */
  oldestMs(): number | null {
    return oldest(this.#waiting()) ?? oldest(this.#oldest(1));
  }

  /** Whether no projector has a change of the call, whose last one has that place. */
  hasCall(callId: string, changePlace: number | null): boolean {
    if (this.#waiting().some(({ kind, id }) => kind === 'call' && id === callId)) return true;
    if (!this.#hasRows || (changePlace ?? 0) <= this.#handedOverPlace) return false;
    const sql = `SELECT 1 FROM outbox WHERE place = ? AND kind = 'call' AND id = ?`;
    return this.#sql.exec(sql, changePlace, callId).toArray().length > 0;
  }

  /** The ids of the changes of a kind that are in the list, and not in the table. */
  listed(kind: ChangeKind): string[] {
    return this.#read().flatMap((change) => (change.kind === kind ? [change.id] : []));
  }

  /** A projector has the changes up to that place. An object that stops before the next transaction hands them over again. */
  handedOver(place: number): void {
    this.#handedOverPlace = Math.max(this.#handedOverPlace, place);
  }

  /** Whether a projector has changes that are stored still. */
  get hasHandedOver(): boolean {
    return this.#handedOverPlace > 0;
  }

  /**
   * Forgets what was handed over, as a part of a transaction; with `keepsNewest` all but the newest change. What changed again
   * since has a later place.
   */
  forgetHandedOver(keepsNewest: boolean): void {
    if (!this.hasHandedOver) return;
    const list = this.#read();
    const waiting = this.#waiting();
    const kept = keepsNewest && waiting.length === 0 && !this.#hasRows ? list.slice(-1) : waiting;
    if (kept.length < list.length) {
      this.#list = kept;
      this.#hasChanged = true;
    }
    if (!this.#hasRows) return;
    const others = keepsNewest ? 'AND place < (SELECT MAX(place) FROM outbox)' : '';
    this.#sql.exec(`DELETE FROM outbox WHERE place <= ? ${others}`, this.#handedOverPlace);
    this.#hasRows = this.#sql.exec('SELECT 1 FROM outbox LIMIT 1').toArray().length > 0;
  }

  committed(): void {
    this.#handedOverPlace = 0;
  }

  rolledBack(): void {
    this.#list = undefined;
    this.#text = null;
    this.#hasChanged = false;
  }

  /** Whether the account's row is to be written for the list. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** What the account's row is to have; `null` if the list was not read. */
  takeText(): string | null {
    if (this.#hasChanged) {
      const listed = this.#read().map(
        ({ place, kind, id, sinceMs, mayWait }): ListedChange =>
          mayWait ? [place, kind, id, sinceMs, true] : [place, kind, id, sinceMs],
      );
      this.#text = JSON.stringify(listed);
    }
    this.#hasChanged = false;
    return this.#text;
  }

  #read(): WaitingChange[] {
    if (this.#list) return this.#list;
    this.#text =
      this.#sql.exec<{ text: string | null }>('SELECT pending AS text FROM account').toArray()[0]?.text ?? null;
    const listed = JSON.parse(this.#text ?? '[]') as ListedChange[];
    this.#list = listed.map(([place, kind, id, sinceMs, mayWait = false]) => ({ place, kind, id, sinceMs, mayWait }));
    const last = this.#sql.exec<{ place: number | null }>('SELECT MAX(place) AS place FROM outbox').one().place;
    this.#hasRows = last !== null;
    this.#lastPlace = Math.max(last ?? 0, listed.at(-1)?.[0] ?? 0, this.#handedOverPlace);
    return this.#list;
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

/** When the oldest of the changes was made; `null` if there is none. */
function oldest(changes: readonly WaitingChange[]): number | null {
  return changes.length === 0 ? null : Math.min(...changes.map(({ sinceMs }) => sinceMs));
}
