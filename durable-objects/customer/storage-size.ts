/**
 * How full a customer's object is, so that nothing fails in the middle of a command because its storage is full.
 *
 * The organization is told at two shares of the limit. From a third on no new work begins; calls that are open end, what
 * is recorded is handed over, and what is old is removed, for which the rest is kept.
 */
import type { CustomerEvent } from '../../src/contract/event-data.ts';
import type { CustomerId } from '../../src/domain/ids.ts';
import { MINUTE_MS } from '../../src/platform/time.ts';

/** Cloudflare's limit for a SQLite-backed object. */
export const STORAGE_BYTES_MAX = 10_000_000_000;
/** Shares of which the organization is told, in percent. */
const TOLD_PERCENTS = [50, 80];
const FULL_PERCENT = 95;
/** A share is told again only after so much less was stored. */
const RECOVERED_PERCENT = 5;
/** The size is read this often: in less time no customer stores what is left. */
const READ_MS = MINUTE_MS;

export class StorageSize {
  readonly #sql: SqlStorage;
  #readAtMs = 0;
  #bytes = 0;
  /** The share of which the organization was told last, in percent; `undefined` until it is read. */
  #toldPercent: number | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Whether new work is refused. */
  isFull(nowMs: number): boolean {
    return this.#percent(nowMs) >= FULL_PERCENT;
  }

  /** What the organization is to be told; that it was is stored with it. */
  news(customerId: CustomerId, nowMs: number): CustomerEvent | null {
    const percent = this.#percent(nowMs);
    const told = this.#told();
    const reached = TOLD_PERCENTS.findLast((step) => percent >= step) ?? 0;
    if (reached < told && percent < told - RECOVERED_PERCENT) this.#remember(reached);
    if (reached <= told) return null;
    this.#remember(reached);
    const data = { customerId, percent: reached, storedBytes: this.#bytes, limitBytes: STORAGE_BYTES_MAX };
    return { type: 'customer.storage_high', data };
  }

  rolledBack(): void {
    this.#toldPercent = undefined;
  }

  #percent(nowMs: number): number {
    if (Math.abs(nowMs - this.#readAtMs) >= READ_MS) {
      this.#readAtMs = nowMs;
      this.#bytes = this.#sql.databaseSize;
    }
    return (this.#bytes / STORAGE_BYTES_MAX) * 100;
  }

  #told(): number {
    this.#toldPercent ??=
      this.#sql.exec<{ percent: number }>('SELECT percent FROM storage_told').toArray()[0]?.percent ?? 0;
    return this.#toldPercent;
  }

  #remember(percent: number): void {
    const sql =
      'INSERT INTO storage_told (id, percent) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET percent = excluded.percent';
    this.#sql.exec(sql, percent);
    this.#toldPercent = percent;
  }
}
