/**
 * What a projector has: pages that wait in memory and stored ones, changes that D1 refused, and how the delivery goes.
 * While pages are stored, an alarm is set.
 */

import type { CustomerKey, OrganizationId } from '../../src/domain/ids.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import type { HandOver, ProjectorState, ResentChanges, Whose } from '../../src/objects/projector-commands.ts';
import type { DatabaseName } from '../../src/platform/database-name.ts';
import { ObjectSchema, REWRITE_PAUSE_MS } from '../schema.ts';
import { GatheredPages } from './gathered.ts';
import { MIGRATIONS } from './migrations.ts';
import { PageTable, type Part } from './pages.ts';
import { ServiceLog } from './service-log.ts';
import { SetAsideTable } from './set-aside.ts';

/** A page waits this long for others, which then share its transaction in D1. */
export const DELAY_MS = 1_000;
/** What waits longer than this is late: D1 is away, or slower than what comes. */
const LATE_MS = 5_000;
/** A projector whose oldest page is older than this asks customers to use the others too. */
const BUSY_MS = 3_000;
/** Pages are not taken beyond this size: an object holds 10 GB. The customers' objects keep their changes then. */
const STORED_BYTES_MAX = 8_000_000_000;
/** Changes that D1 refused which one command sends again. */
const RESENT_MAX = 5_000;
/** Organizations whose webhooks are woken at once. */
const WOKEN_MAX = 1_000;
/** Organizations are to be woken again after this, where it is not known that they were. */
const WAKE_RETRY_MS = 10_000;

/** An organization whose webhooks are to be woken. */
export interface ToWake {
  organizationId: OrganizationId;
  parts: number;
}

/** How the delivery goes. It is not stored: an object that starts again tries at once. */
interface Delivery {
  failures: number;
  lastError: string | null;
}

export class ProjectorStore {
  readonly pages: PageTable;
  readonly gathered = new GatheredPages();
  readonly setAside: SetAsideTable;
  readonly log: ServiceLog;
  delivery: Delivery = { failures: 0, lastError: null };
  readonly #storage: DurableObjectStorage;
  readonly #schema: ObjectSchema;
  #alarmMs: number | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#schema = new ObjectSchema(storage, 'Projector', MIGRATIONS);
    this.#schema.migrate();
    this.pages = new PageTable(storage.sql);
    this.setAside = new SetAsideTable(storage.sql);
    this.log = new ServiceLog(storage.sql);
  }

  async load(): Promise<void> {
    this.#alarmMs = await this.#storage.getAlarm();
    if (this.#schema.hasUnfinished && this.#alarmMs === null) this.wakeAt(Date.now());
  }

  /** Rewrites a bounded number of rows that are older than the schema. Sees to it that an alarm is set for the rest. */
  async rewriteRows(): Promise<void> {
    await this.#schema.rewriteRows();
    if (this.#schema.hasUnfinished && this.#alarmMs === null) this.wakeAt(Date.now() + REWRITE_PAUSE_MS);
  }

  /** To be called when the alarm fires: none is set any more. */
  alarmFired(): void {
    this.#alarmMs = null;
  }

  /** The alarm and what was written in the same turn become durable together. */
  wakeAt(atMs: number): void {
    this.#alarmMs = atMs;
    void this.#storage.setAlarm(atMs);
  }

  /** Stores a page. The alarm delivers it. */
  take(handOver: HandOver, nowMs: number): { isBusy: boolean } {
    if (this.#storage.sql.databaseSize > STORED_BYTES_MAX) throw new Error('the projector is full');
    // A later alarm is that of the next attempt after a failure; without pages, it is for webhooks alone.
    const isForWebhooks = this.#alarmMs !== null && this.#alarmMs > nowMs + DELAY_MS && !this.hasPages();
    this.#storage.transactionSync(() => {
      this.#storage.sql.exec('INSERT OR IGNORE INTO history_database (id, name) VALUES (1, ?)', handOver.database);
      this.pages.add(handOver);
    });
    if (this.#alarmMs === null || isForWebhooks) this.wakeAt(nowMs + DELAY_MS);
    return { isBusy: this.isBusy(nowMs) };
  }

  /** Stores the pages that are in memory, which answers their customers. */
  storeGathered(nowMs: number): void {
    this.gathered.moveTo((handOvers) =>
      this.#storage.transactionSync(() => {
        for (const handOver of handOvers) this.take(handOver, nowMs);
      }),
    );
  }

  /** Whether pages are stored. */
  hasPages(): boolean {
    return this.pages.lastPlace() > 0;
  }

  /** Whether customers are to use the other projectors too. */
  isBusy(nowMs: number): boolean {
    const oldestMs = this.pages.oldestMs() ?? this.gathered.oldestMs() ?? nowMs;
    return oldestMs < nowMs - BUSY_MS;
  }

  /** The database that the pages are for. Throws before the first page. */
  database(): DatabaseName {
    return this.#storage.sql.exec<{ name: DatabaseName }>('SELECT name FROM history_database').one().name;
  }

  /** D1 has taken a part of what is stored. */
  taken(part: Part, nowMs: number): void {
    this.#storage.transactionSync(() => {
      this.#noteDelivered(part.pages, this.pages.oldestMs() ?? nowMs, nowMs);
      this.pages.drop(part);
    });
  }

  /** D1 has taken pages from memory, whose oldest change was made at `sinceMs`. */
  delivered(pages: readonly ProjectionPage[], sinceMs: number, nowMs: number): void {
    this.#storage.transactionSync(() => this.#noteDelivered(pages, sinceMs, nowMs));
    this.wakeForWebhooks(nowMs);
  }

  /** What webhooks are to be told is remembered in the same transaction. */
  #noteDelivered(pages: readonly ProjectionPage[], sinceMs: number, nowMs: number): void {
    const changes = pages.reduce((sum, page) => sum + page.changes.length, 0);
    this.log.delivered(changes, { waitedMs: Math.max(0, nowMs - sinceMs), nowMs });
    this.setAside.drop(pages);
    const told = pages.filter((page) => page.changes.some(({ kind }) => kind === 'event'));
    for (const organizationId of new Set(told.map((page) => page.organizationId)))
      this.#storage.sql.exec(
        'INSERT INTO to_wake (organization_id, parts) VALUES (?, 1) ON CONFLICT DO UPDATE SET parts = parts + 1',
        organizationId,
      );
  }

  /** Organizations whose webhooks are to be woken. */
  toWake(): ToWake[] {
    return this.#storage.sql
      .exec<ToWake & Record<string, SqlStorageValue>>(
        `SELECT organization_id AS organizationId, parts FROM to_wake LIMIT ${WOKEN_MAX}`,
      )
      .toArray();
  }

  /** Sees to it that an alarm is set while webhooks are to be woken. */
  wakeForWebhooks(nowMs: number): void {
    if (this.#alarmMs === null && this.toWake().length > 0) this.wakeAt(nowMs + WAKE_RETRY_MS);
  }

  /** They were woken. One whose next part came meanwhile is to be woken again. If nothing else is to be done, no alarm fires. */
  woken(rows: readonly ToWake[]): void {
    this.#storage.sql.exec(
      'DELETE FROM to_wake WHERE (organization_id, parts) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))',
      JSON.stringify(rows.map(({ organizationId, parts }) => [organizationId, parts])),
    );
    if (this.#alarmMs === null || this.hasPages() || this.#schema.hasUnfinished || this.toWake().length > 0) return;
    this.#alarmMs = null;
    void this.#storage.deleteAlarm();
  }

  /** D1 refused a part of one change. Returns whether its row was not set aside before. */
  refused(part: Part, reason: string, nowMs: number): boolean {
    const [page] = part.pages;
    if (!page) throw new Error('nothing was refused');
    return this.#storage.transactionSync(() => {
      this.pages.drop(part);
      return this.setAside.add(page, reason, nowMs);
    });
  }

  resend(organizationId: OrganizationId, nowMs: number): ResentChanges {
    const resent = this.#storage.transactionSync(() =>
      this.setAside.resend(organizationId, this.pages, RESENT_MAX, nowMs),
    );
    if (resent.rows > 0 && this.#alarmMs === null) this.wakeAt(nowMs);
    return resent;
  }

  erase(customer: CustomerKey): void {
    this.gathered.erase(customer);
    this.#storage.transactionSync(() => {
      this.pages.erase(customer);
      this.setAside.erase(customer);
    });
  }

  /** The customers' own objects count what is in memory: they wait for the answer, a few seconds at most. */
  state(whose: Whose, nowMs: number): ProjectorState {
    const waiting = this.pages.state(whose, nowMs - LATE_MS);
    return { waiting, setAside: this.setAside.state(whose), ...this.delivery };
  }
}
