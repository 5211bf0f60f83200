/**
 * The storage of an organization's watch: events that wait for D1, remembered facts about reported ones, and the day's
 * customers that are still to be looked at.
 */

import type { CustomerId, OrganizationId } from '../../src/domain/ids.ts';
import { eventCustomer, type News } from '../../src/events/watch/look.ts';
import type { WatchStore } from '../../src/events/watch/run.ts';
import type { NewOrganizationEvent } from '../../src/history/organization-events.ts';
import { BoundedMap } from '../../src/platform/bounded-map.ts';
import { newEventId } from '../../src/platform/event-id.ts';
import { MINUTE_MS } from '../../src/platform/time.ts';
import { ObjectSchema } from '../schema.ts';
import { MIGRATIONS } from './migrations.ts';

/** An erasure is over within this time. */
const ERASURE_MS = 10 * MINUTE_MS;
const ERASED_MAX = 1_000;

interface WaitingRow extends Record<string, SqlStorageValue> {
  eventId: string;
  customerId: CustomerId | null;
  type: string;
  atMs: number;
  data: string;
}

export class StoredWatch implements WatchStore {
  failures = 0;
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  /** The times at which customers were erased whose rows D1 may still have: a run's events about them are dropped. */
  readonly #erased = new BoundedMap<string, number>(ERASED_MAX);

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
    new ObjectSchema(storage, 'OrganizationWatch', MIGRATIONS).migrate();
  }

  /** Called by the first wake: sets the organization of the watch. */
  watch(organizationId: OrganizationId): void {
    this.#sql.exec('INSERT OR IGNORE INTO organization (id, organization_id) VALUES (1, ?)', organizationId);
  }

  organizationId(): OrganizationId | null {
    const sql = 'SELECT organization_id AS id FROM organization';
    return this.#sql.exec<{ id: OrganizationId }>(sql).toArray()[0]?.id ?? null;
  }

  get(key: string): string | null {
    const sql = 'SELECT value FROM remembered WHERE key = ?';
    return this.#sql.exec<{ value: string }>(sql, key).toArray()[0]?.value ?? null;
  }

  commit({ events = [], remember = [], forget = [] }: News, customers: readonly string[] = []): void {
    this.#storage.transactionSync(() => {
      for (const [place, event] of events.entries()) {
        const { type, atMs, data, eventId = newEventId(atMs, place) } = event;
        const customerId = eventCustomer(event);
        if (customerId !== null && this.#erased.has(customerId)) continue;
        this.#sql.exec(
          'INSERT OR IGNORE INTO waiting (event_id, customer_id, type, at_ms, data) VALUES (?, ?, ?, ?, ?)',
          ...[eventId, customerId, type, atMs, JSON.stringify(data)],
        );
      }
      for (const { key, value, untilMs, customerId = null } of remember) {
        if (customerId !== null && this.#erased.has(customerId)) continue;
        this.#sql.exec(
          'INSERT OR REPLACE INTO remembered (key, value, until_ms, customer_id) VALUES (?, ?, ?, ?)',
          ...[key, value, untilMs, customerId],
        );
      }
      for (const key of forget) this.#sql.exec('DELETE FROM remembered WHERE key = ?', key);
      for (const customerId of customers) {
        if (this.#erased.has(customerId)) continue;
        this.#sql.exec('INSERT OR IGNORE INTO customers (customer_id) VALUES (?)', customerId);
      }
    });
  }

  waiting(limit: number): NewOrganizationEvent[] {
    return this.#sql
      .exec<WaitingRow>(
        `SELECT event_id AS eventId, customer_id AS customerId, type, at_ms AS atMs, data FROM waiting
         ORDER BY place LIMIT ?`,
        limit,
      )
      .toArray()
      .map((row) => ({ ...row, data: JSON.parse(row.data) as unknown }));
  }

  countWaiting(): number {
    return this.#sql.exec<{ rows: number }>('SELECT COUNT(*) AS rows FROM waiting').one().rows;
  }

  sent(eventIds: readonly string[]): void {
    const sql = 'DELETE FROM waiting WHERE event_id IN (SELECT value FROM json_each(?))';
    this.#sql.exec(sql, JSON.stringify(eventIds));
  }

  customers(limit: number): CustomerId[] {
    const sql = 'SELECT customer_id AS id FROM customers ORDER BY place LIMIT ?';
    return this.#sql
      .exec<{ id: CustomerId }>(sql, limit)
      .toArray()
      .map(({ id }) => id);
  }

  dropCustomers(customerIds: readonly CustomerId[]): void {
    const sql = 'DELETE FROM customers WHERE customer_id IN (SELECT value FROM json_each(?))';
    this.#sql.exec(sql, JSON.stringify(customerIds));
  }

  prune(nowMs: number): void {
    for (const [customerId, atMs] of this.#erased) if (atMs < nowMs - ERASURE_MS) this.#erased.delete(customerId);
    this.#sql.exec('DELETE FROM remembered WHERE until_ms < ?', nowMs);
  }

  /** Forgets a customer. Returns how many of the customer's events waited. */
  erase(customerId: CustomerId, nowMs: number): number {
    this.#erased.set(customerId, nowMs);
    return this.#storage.transactionSync(() => {
      this.#sql.exec('DELETE FROM remembered WHERE customer_id = ?', customerId);
      this.#sql.exec('DELETE FROM customers WHERE customer_id = ?', customerId);
      return this.#sql.exec('DELETE FROM waiting WHERE customer_id = ? RETURNING 1', customerId).toArray().length;
    });
  }
}
