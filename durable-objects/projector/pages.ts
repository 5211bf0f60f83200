/**
 * The pages that wait for D1, in the order in which they came, as they came.
 */

import type { CustomerKey } from '../../src/domain/ids.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import type { HandOver, Whose } from '../../src/objects/projector-commands.ts';
import { assertTextFits } from '../stored-value.ts';
import { conditionOf } from './whose.ts';

/** Characters of pages in one D1 batch. An object has 128 MB of memory. */
export const PART_LENGTH_MAX = 4_000_000;

/** The oldest changes: whole pages, and the first changes of one more. */
export interface Part {
  pages: ProjectionPage[];
  /** Changes in them. */
  changes: number;
  /** The place of the last page that is in it as a whole; 0 where none is. */
  lastWhole: number;
  /** The page of which only the first changes are in it, as it is without them. */
  rest: { place: number; page: ProjectionPage } | null;
}

export class PageTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add({
    organizationId,
    customerId,
    subscriptionId,
    sinceMs,
    changes,
    page,
  }: Omit<HandOver, 'database' | 'more'>): void {
    assertTextFits('a page of changes', page);
    this.#sql.exec(
      'INSERT INTO pages (organization_id, customer_id, subscription_id, since_ms, changes, page) VALUES (?, ?, ?, ?, ?, ?)',
      organizationId,
      customerId,
      subscriptionId,
      sinceMs,
      changes,
      page,
    );
  }

  /** The oldest changes of the pages up to a place, at most so many. */
  first(lastPlace: number, changesMax: number): Part {
    const part: Part = { pages: [], changes: 0, lastWhole: 0, rest: null };
    let length = 0;
    // A page has at least one change, so no more rows than changes are read.
    const rows = this.#sql.exec<{ place: number; page: string }>(
      'SELECT place, page FROM pages WHERE place <= ? ORDER BY place LIMIT ?',
      lastPlace,
      changesMax,
    );
    for (const { place, page: text } of rows) {
      length += text.length;
      if (part.changes >= changesMax || (part.changes > 0 && length > PART_LENGTH_MAX)) break;
      const page = JSON.parse(text) as ProjectionPage;
      const room = changesMax - part.changes;
      if (page.changes.length > room) {
        part.pages.push({ ...page, changes: page.changes.slice(0, room) });
        part.rest = { place, page: { ...page, changes: page.changes.slice(room) } };
        part.changes += room;
        break;
      }
      part.pages.push(page);
      part.changes += page.changes.length;
      part.lastWhole = place;
    }
    return part;
  }

  /** Forgets what D1 has taken. Pages that an erasure removed meanwhile do not come back. */
  drop({ lastWhole, rest }: Part): void {
    this.#sql.exec('DELETE FROM pages WHERE place <= ?', lastWhole);
    if (!rest) return;
    const sql = 'UPDATE pages SET page = ?, changes = ? WHERE place = ?';
    this.#sql.exec(sql, JSON.stringify(rest.page), rest.page.changes.length, rest.place);
  }

  erase({ organizationId, customerId }: CustomerKey): void {
    this.#sql.exec('DELETE FROM pages WHERE organization_id = ? AND customer_id = ?', organizationId, customerId);
  }

  /** The place of the newest page; 0 where there is none. */
  lastPlace(): number {
    return this.#sql.exec<{ place: number | null }>('SELECT MAX(place) AS place FROM pages').one().place ?? 0;
  }

  /** When the oldest change of the oldest page was made. */
  oldestMs(): number | null {
    return (
      this.#sql.exec<{ at: number }>('SELECT since_ms AS at FROM pages ORDER BY place LIMIT 1').toArray()[0]?.at ?? null
    );
  }

  /** What waits, and what of it was made by `lateByMs`. */
  state(whose: Whose, lateByMs: number) {
    const { condition, values } = conditionOf(whose);
    return this.#sql
      .exec<{ changes: number; lateChanges: number; lateCustomers: number; oldestMs: number | null }>(
        `SELECT TOTAL(changes) AS changes, TOTAL(changes) FILTER (WHERE since_ms <= ?) AS lateChanges,
           COUNT(DISTINCT subscription_id) FILTER (WHERE since_ms <= ?) AS lateCustomers, MIN(since_ms) AS oldestMs
         FROM pages WHERE ${condition}`,
        lateByMs,
        lateByMs,
        ...values,
      )
      .one();
  }
}
