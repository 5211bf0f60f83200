/**
 * Changes whose content D1 refused, with D1's reason.
 *
 * A change stays here until an operator sends it again, a later change of the same row has reached D1, or its customer
 * is erased.
 */

import type { CustomerId, CustomerKey, OrganizationId } from '../../src/domain/ids.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import type { ResentChanges, SetAsideChange, Whose } from '../../src/objects/projector-commands.ts';
import type { PageTable } from './pages.ts';
import { conditionOf } from './whose.ts';

export class SetAsideTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Sets aside a page of one change. Returns whether its row was not set aside before: one that was keeps its time, and
   * gets the new reason and content.
   */
  add(page: ProjectionPage, reason: string, nowMs: number): boolean {
    const { organizationId, customerId, subscriptionId, changes } = page;
    const [change] = changes;
    if (!change || changes.length > 1) throw new Error(`${changes.length} changes are set aside as one`);
    const key = [subscriptionId, change.kind, change.id];
    const found = this.#sql.exec('SELECT 1 FROM set_aside WHERE subscription_id = ? AND kind = ? AND id = ?', ...key);
    const isNew = found.toArray().length === 0;
    this.#sql.exec(
      `INSERT INTO set_aside (subscription_id, kind, id, organization_id, customer_id, at_ms, reason, page)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (subscription_id, kind, id) DO UPDATE SET reason = excluded.reason, page = excluded.page`,
      ...key,
      organizationId,
      customerId,
      nowMs,
      reason,
      JSON.stringify(page),
    );
    return isNew;
  }

  /** Removes the rows that D1 has taken. */
  drop(pages: readonly ProjectionPage[]): void {
    if (this.#sql.exec('SELECT 1 FROM set_aside LIMIT 1').toArray().length === 0) return;
    const sql = 'DELETE FROM set_aside WHERE subscription_id = ? AND kind = ? AND id = ?';
    for (const { subscriptionId, changes } of pages)
      for (const { kind, id } of changes) this.#sql.exec(sql, subscriptionId, kind, id);
  }

  erase({ organizationId, customerId }: CustomerKey): void {
    this.#sql.exec('DELETE FROM set_aside WHERE organization_id = ? AND customer_id = ?', organizationId, customerId);
  }

  /** Moves changes of an organization back to the end of the pages, at most so many. */
  resend(organizationId: OrganizationId, pages: PageTable, rowsMax: number, nowMs: number): ResentChanges {
    const rows = this.#sql
      .exec<{ place: number; customerId: CustomerId; page: string }>(
        'SELECT place, customer_id AS customerId, page FROM set_aside WHERE organization_id = ? ORDER BY place LIMIT ?',
        organizationId,
        rowsMax + 1,
      )
      .toArray();
    const sent = rows.slice(0, rowsMax);
    for (const { place, customerId, page } of sent) {
      const { subscriptionId } = JSON.parse(page) as ProjectionPage;
      pages.add({ organizationId, customerId, subscriptionId, sinceMs: nowMs, changes: 1, page });
      this.#sql.exec('DELETE FROM set_aside WHERE place = ?', place);
    }
    const customerIds = [...new Set(sent.map(({ customerId }) => customerId))];
    return { rows: sent.length, customerIds, more: rows.length > rowsMax };
  }

  /** Changes of an organization after a place. */
  list(organizationId: OrganizationId, afterPlace: number, rowsMax: number): SetAsideChange[] {
    return this.#sql
      .exec<SetAsideChange & Record<string, SqlStorageValue>>(
        `SELECT place, customer_id AS customerId, kind, id, at_ms AS atMs, reason FROM set_aside
         WHERE organization_id = ? AND place > ? ORDER BY place LIMIT ?`,
        organizationId,
        afterPlace,
        rowsMax,
      )
      .toArray();
  }

  state(whose: Whose): { rows: number; oldestMs: number | null } {
    const { condition, values } = conditionOf(whose);
    return this.#sql
      .exec<{ rows: number; oldestMs: number | null }>(
        `SELECT COUNT(*) AS rows, MIN(at_ms) AS oldestMs FROM set_aside WHERE ${condition}`,
        ...values,
      )
      .one();
  }
}
