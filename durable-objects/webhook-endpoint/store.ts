/**
 * The storage of a webhook's object: its position in the organization's events, the waiting events, and the results of
 * the others.
 *
 * The events of a customer are a lane, and events without a customer are another lane. In each lane, one event has a
 * time at which it is sent: the oldest that waits. While no alarm is set and there are rows, one is due within a day.
 */

import type { SwitchOff, WebhookRow } from '../../src/config/webhooks.ts';
import { EVENT_RETENTION_DAYS } from '../../src/contract/events.ts';
import type { CustomerId, OrganizationId } from '../../src/domain/ids.ts';
import {
  deliveryOutcome,
  failingSince,
  isLost,
  nextAttemptMs,
  type Outcome,
  type WebhookKey,
} from '../../src/domain/webhook-delivery.ts';
import type { Message, Reply } from '../../src/events/webhooks/send.ts';
import { getsType } from '../../src/events/webhooks/types.ts';
import type { RecordedEvent } from '../../src/history/organization-events.ts';
import type { DeliveryRow, EndpointState } from '../../src/objects/webhook-commands.ts';
import { DAY_MS } from '../../src/platform/time.ts';
import { ObjectSchema } from '../schema.ts';
import { MIGRATIONS } from './migrations.ts';

/** The most events that wait here; further ones wait in D1. */
export const PENDING_MAX = 10_000;
/** The most deliveries that are kept after they ended, and for how long. */
const LOGGED_MAX = 2_000;
const LOGGED_MS = 30 * DAY_MS;
/** The most replays that run at the same time. */
const REPLAYS_MAX = 10;

/** An event to be sent. */
export interface DueDelivery extends Message {
  delivery: number;
  lane: string;
}

export interface Replay {
  replay: number;
  afterId: string;
  beforeId: string;
}

/** The planned action on a webhook whose endpoint no longer takes events. */
export type PlannedSwitchOff = Pick<SwitchOff, 'reason' | 'atMs'> & Pick<WebhookRow, 'updatedAtMs'>;

const COLUMNS = `delivery, event_id AS eventId, type, NULLIF(lane, '') AS customerId, at_ms AS atMs, status, attempts,
  last_attempt_ms AS lastAttemptMs, next_attempt_ms AS nextAttemptMs, answer_status AS answerStatus, answer`;

export class EndpointStore {
  readonly schema: ObjectSchema;
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  /** Increases with each erasure: events that were read from D1 before one are not stored after it. */
  erasures = 0;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.schema = new ObjectSchema(storage, 'WebhookEndpoint', MIGRATIONS);
    this.schema.migrate();
  }

  /** Remembers the webhook of this object. */
  know({ organizationId, webhookId }: WebhookKey): void {
    const sql = 'INSERT OR IGNORE INTO endpoint (id, organization_id, webhook_id) VALUES (1, ?, ?)';
    this.#sql.exec(sql, organizationId, webhookId);
  }

  /** `null` before the object knows its webhook. */
  webhook(): WebhookKey | null {
    const sql = 'SELECT organization_id AS organizationId, webhook_id AS webhookId FROM endpoint';
    return this.#sql.exec<{ organizationId: OrganizationId; webhookId: string }>(sql).toArray()[0] ?? null;
  }

  /**
   * Takes over the webhook's configuration: a new one with the same id begins anew, and one that was enabled again
   * sends its waiting events at once, with all attempts available.
   */
  configure({ createdAtMs, afterPlace }: WebhookRow, nowMs: number): void {
    const { known, isOff } = this.#sql
      .exec<{ known: number | null; isOff: number }>('SELECT created_at_ms AS known, is_off AS isOff FROM endpoint')
      .one();
    if (known === createdAtMs && !isOff) return;
    this.#storage.transactionSync(() => {
      if (known !== createdAtMs) {
        if (known !== null) {
          this.#sql.exec('DELETE FROM deliveries');
          this.#sql.exec('DELETE FROM replays');
        }
        this.#sql.exec(
          'UPDATE endpoint SET created_at_ms = ?, after_place = ?, failing_since_ms = NULL, is_off = 0, switch_off = NULL',
          createdAtMs,
          afterPlace,
        );
        return;
      }
      this.#sql.exec('UPDATE endpoint SET failing_since_ms = NULL, is_off = 0, switch_off = NULL');
      this.#sql.exec("UPDATE deliveries SET attempts = 0, first_attempt_ms = NULL WHERE status = 'PENDING'");
      this.#sql.exec('UPDATE deliveries SET next_attempt_ms = ? WHERE next_attempt_ms IS NOT NULL', nowMs);
    });
  }

  /** Notes that the webhook is disabled. */
  seenOff(): void {
    this.#sql.exec('UPDATE endpoint SET is_off = 1');
  }

  /** The creation time of the webhook whose events these are. */
  createdAtMs(): number | null {
    return this.#sql.exec<{ atMs: number | null }>('SELECT created_at_ms AS atMs FROM endpoint').one().atMs;
  }

  afterPlace(): number {
    return this.#sql.exec<{ place: number }>('SELECT after_place AS place FROM endpoint').one().place;
  }

  /** Takes a page of new events: events of the given types wait, and the rest is not looked at again. */
  takeNew(events: readonly RecordedEvent[], types: readonly string[] | null, nowMs: number): void {
    const last = events.at(-1);
    if (!last) return;
    this.#storage.transactionSync(() => {
      this.#add(events, types, nowMs);
      this.#sql.exec('UPDATE endpoint SET after_place = ?', last.place);
    });
  }

  addReplay(afterId: string, beforeId: string): boolean {
    const { running } = this.#sql.exec<{ running: number }>('SELECT COUNT(*) AS running FROM replays').one();
    if (running >= REPLAYS_MAX) return false;
    this.#sql.exec('INSERT INTO replays (after_id, before_id) VALUES (?, ?)', afterId, beforeId);
    return true;
  }

  /** The running replay; `null` if there is none. */
  replay(): Replay | null {
    const sql = 'SELECT replay, after_id AS afterId, before_id AS beforeId FROM replays ORDER BY replay LIMIT 1';
    return this.#sql.exec<Replay & Record<string, SqlStorageValue>>(sql).toArray()[0] ?? null;
  }

  /** Takes a page of a replay's events; it ends with its last page. */
  takeReplayed(
    { replay }: Replay,
    events: readonly RecordedEvent[],
    isLast: boolean,
    types: readonly string[] | null,
    nowMs: number,
  ): void {
    this.#storage.transactionSync(() => {
      this.#sql.exec(
        `DELETE FROM deliveries WHERE status <> 'PENDING' AND event_id IN (SELECT value FROM json_each(?))`,
        JSON.stringify(events.map(({ eventId }) => eventId)),
      );
      this.#add(events, types, nowMs);
      if (isLast) this.#sql.exec('DELETE FROM replays WHERE replay = ?', replay);
      else this.#sql.exec('UPDATE replays SET after_id = ? WHERE replay = ?', events.at(-1)?.eventId ?? '', replay);
    });
  }

  /** Sends an event again, as if it were new, and the events before it at once. */
  resend(event: Omit<RecordedEvent, 'place'>, nowMs: number): void {
    this.#storage.transactionSync(() => {
      this.#sql.exec('DELETE FROM deliveries WHERE event_id = ?', event.eventId);
      this.#add([event], null, nowMs);
      this.#sql.exec(
        "UPDATE deliveries SET next_attempt_ms = ? WHERE lane = ? AND status = 'PENDING' AND next_attempt_ms IS NOT NULL",
        nowMs,
        event.customerId ?? '',
      );
    });
  }

  find(eventId: string): DeliveryRow | null {
    return this.#rows(`SELECT ${COLUMNS} FROM deliveries WHERE event_id = ?`, eventId)[0] ?? null;
  }

  list(before: number | null, rowsMax: number): DeliveryRow[] {
    return this.#rows(
      `SELECT ${COLUMNS} FROM deliveries WHERE delivery < ? ORDER BY delivery DESC LIMIT ?`,
      before ?? Number.MAX_SAFE_INTEGER,
      rowsMax,
    );
  }

  /** At most `rowsMax` due events, from lanes without a request in progress. */
  due(nowMs: number, underWay: ReadonlySet<string>, rowsMax: number): DueDelivery[] {
    // Each lane has at most one row here.
    const rows = this.#sql.exec<DueDelivery & Record<string, SqlStorageValue>>(
      `SELECT delivery, lane, event_id AS eventId, type, at_ms AS atMs, data FROM deliveries
       WHERE next_attempt_ms <= ? ORDER BY next_attempt_ms, event_id LIMIT ?`,
      nowMs,
      rowsMax + underWay.size,
    );
    return rows
      .toArray()
      .filter(({ lane }) => !underWay.has(lane))
      .slice(0, rowsMax);
  }

  /** The time at which the next event is due; `null` if none waits. */
  nextDueMs(): number | null {
    const sql = 'SELECT MIN(next_attempt_ms) AS atMs FROM deliveries WHERE next_attempt_ms IS NOT NULL';
    return this.#sql.exec<{ atMs: number | null }>(sql).one().atMs;
  }

  /** Records an attempt. Nothing is recorded for an event that was erased meanwhile. */
  record(
    { delivery, lane }: DueDelivery,
    { status, answer }: Reply,
    { sentAtMs, nowMs }: { sentAtMs: number; nowMs: number },
  ): Outcome {
    const outcome = deliveryOutcome(status);
    this.#storage.transactionSync(() => {
      const [row] = this.#sql
        .exec<{ attempts: number; firstMs: number | null }>(
          "SELECT attempts, first_attempt_ms AS firstMs FROM deliveries WHERE delivery = ? AND status = 'PENDING'",
          delivery,
        )
        .toArray();
      if (outcome === 'delivered') this.#sql.exec('UPDATE endpoint SET failing_since_ms = NULL');
      else this.#failed(nowMs);
      if (!row) return;
      const attempts = row.attempts + 1;
      const firstMs = row.firstMs ?? sentAtMs;
      const nextMs = outcome === 'delivered' ? null : nextAttemptMs(attempts, { firstAttemptMs: firstMs, nowMs });
      this.#sql.exec(
        `UPDATE deliveries SET status = ?1, attempts = ?2, first_attempt_ms = ?3, last_attempt_ms = ?4, next_attempt_ms = ?5,
           answer_status = ?6, answer = ?7, data = iif(?5 IS NULL, NULL, data), ended_at_ms = iif(?5 IS NULL, ?8, NULL)
         WHERE delivery = ?9`,
        outcome === 'delivered' ? 'DELIVERED' : nextMs === null ? 'GIVEN_UP' : 'PENDING',
        attempts,
        firstMs,
        sentAtMs,
        nextMs,
        status,
        answer,
        nowMs,
        delivery,
      );
      this.#lead(lane, nowMs);
    });
    return outcome;
  }

  #failed(nowMs: number): void {
    const { sinceMs, lastMs } = this.#sql
      .exec<{ sinceMs: number | null; lastMs: number | null }>(
        'SELECT failing_since_ms AS sinceMs, last_failed_ms AS lastMs FROM endpoint',
      )
      .one();
    const sql = 'UPDATE endpoint SET failing_since_ms = ?, last_failed_ms = ?';
    this.#sql.exec(sql, failingSince({ sinceMs, lastFailedMs: lastMs, nowMs }), nowMs);
  }

  /** Forgets an event that the webhook no longer gets. */
  drop({ delivery, lane }: DueDelivery, nowMs: number): void {
    this.#storage.transactionSync(() => {
      this.#sql.exec("DELETE FROM deliveries WHERE delivery = ? AND status = 'PENDING'", delivery);
      this.#lead(lane, nowMs);
    });
  }

  /** Records a test, which is not repeated, and does not affect the endpoint's state. */
  recordTest({ eventId, type, atMs }: Message, { status, answer }: Reply, nowMs: number): void {
    this.#sql.exec(
      `INSERT INTO deliveries (event_id, lane, type, at_ms, status, attempts, first_attempt_ms, last_attempt_ms, answer_status, answer, ended_at_ms)
       VALUES (?1, '', ?2, ?3, ?4, 1, ?3, ?3, ?5, ?6, ?7)`,
      eventId,
      type,
      atMs,
      deliveryOutcome(status) === 'delivered' ? 'DELIVERED' : 'GIVEN_UP',
      status,
      answer,
      nowMs,
    );
  }

  /** Whether every request has failed for so long that the webhook has to be disabled. */
  isLost(nowMs: number): boolean {
    const { failingSinceMs } = this.state();
    return failingSinceMs !== null && isLost({ failingSinceMs, nowMs });
  }

  planSwitchOff(planned: PlannedSwitchOff): void {
    this.#sql.exec('UPDATE endpoint SET switch_off = ? WHERE switch_off IS NULL', JSON.stringify(planned));
  }

  plannedSwitchOff(): PlannedSwitchOff | null {
    const { planned } = this.#sql.exec<{ planned: string | null }>('SELECT switch_off AS planned FROM endpoint').one();
    return planned === null ? null : JSON.parse(planned);
  }

  /** `isOff`: the webhook is disabled now; otherwise it was changed since, and stays on. */
  switchedOff(isOff: boolean): void {
    this.#sql.exec('UPDATE endpoint SET switch_off = NULL, failing_since_ms = NULL, is_off = ?', isOff ? 1 : 0);
  }

  state(): EndpointState {
    const [row] = this.#sql
      .exec<{ failingSinceMs: number | null }>('SELECT failing_since_ms AS failingSinceMs FROM endpoint')
      .toArray();
    return { pending: this.pending(), failingSinceMs: row?.failingSinceMs ?? null };
  }

  pending(): number {
    const sql = "SELECT COUNT(*) AS rows FROM deliveries WHERE status = 'PENDING'";
    return this.#sql.exec<{ rows: number }>(sql).one().rows;
  }

  isEmpty(): boolean {
    return this.#sql.exec('SELECT 1 FROM deliveries LIMIT 1').toArray().length === 0;
  }

  /** Removes rows that are past their time, and those beyond the bounds. */
  prune(nowMs: number): void {
    this.#storage.transactionSync(() => {
      this.#sql.exec('DELETE FROM deliveries WHERE ended_at_ms < ?', nowMs - LOGGED_MS);
      this.#sql.exec(
        `DELETE FROM deliveries WHERE delivery IN (
           SELECT delivery FROM deliveries WHERE ended_at_ms IS NOT NULL ORDER BY ended_at_ms DESC LIMIT -1 OFFSET ${LOGGED_MAX})`,
      );
      const expired = this.#sql
        .exec<{ lane: string }>(
          "DELETE FROM deliveries WHERE status = 'PENDING' AND at_ms < ? RETURNING lane",
          nowMs - EVENT_RETENTION_DAYS * DAY_MS,
        )
        .toArray();
      for (const lane of new Set(expired.map((row) => row.lane))) this.#lead(lane, nowMs);
    });
  }

  forgetAnswers(): void {
    this.#sql.exec('UPDATE deliveries SET answer = NULL WHERE answer IS NOT NULL');
  }

  erase(customerId: CustomerId): void {
    this.erasures += 1;
    this.#sql.exec('DELETE FROM deliveries WHERE lane = ?', customerId);
  }

  #add(events: readonly Omit<RecordedEvent, 'place'>[], types: readonly string[] | null, nowMs: number): void {
    const wanted = events.filter(({ type }) => getsType({ types }, type));
    for (const { eventId, customerId, type, atMs, data } of wanted)
      this.#sql.exec(
        "INSERT OR IGNORE INTO deliveries (event_id, lane, type, at_ms, data, status) VALUES (?, ?, ?, ?, ?, 'PENDING')",
        eventId,
        customerId ?? '',
        type,
        atMs,
        data,
      );
    for (const lane of new Set(wanted.map(({ customerId }) => customerId ?? ''))) this.#lead(lane, nowMs);
  }

  /** Gives the oldest event of a lane its time, and removes the time from any other. */
  #lead(lane: string, nowMs: number): void {
    const [first] = this.#sql
      .exec<{ delivery: number }>(
        "SELECT delivery FROM deliveries WHERE lane = ? AND status = 'PENDING' ORDER BY event_id LIMIT 1",
        lane,
      )
      .toArray();
    if (!first) return;
    this.#sql.exec(
      "UPDATE deliveries SET next_attempt_ms = NULL WHERE lane = ? AND status = 'PENDING' AND next_attempt_ms IS NOT NULL AND delivery <> ?",
      lane,
      first.delivery,
    );
    this.#sql.exec(
      'UPDATE deliveries SET next_attempt_ms = ? WHERE delivery = ? AND next_attempt_ms IS NULL',
      nowMs,
      first.delivery,
    );
  }

  #rows(sql: string, ...values: SqlStorageValue[]): DeliveryRow[] {
    return this.#sql.exec<DeliveryRow & Record<string, SqlStorageValue>>(sql, ...values).toArray();
  }
}
