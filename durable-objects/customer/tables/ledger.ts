/**
 * The ledger: every change of a balance, in order. Each entry has the balance after it, so that the newest entry of a
 * unit is the sum of all its entries, also once old ones are in D1 alone.
 */

import type { LedgerRow } from '../../../src/domain/ledger-rows.ts';
import { NEVER_MS } from '../../../src/domain/period.ts';
import { CREDIT_UNITS, type CreditUnit, type LedgerEntry, PAYMENTS } from '../../../src/domain/wallet.ts';
import type { LedgerCommand } from '../../../src/objects/customer-commands.ts';

export interface StoredEntry extends LedgerEntry {
  /** Ascending. */
  entryId: number;
}

type Row = { entry_id: number; record: string };

/** The newest entry of each unit, found by the index. */
const NEWEST_OF_UNITS = CREDIT_UNITS.map(
  (unit) => `SELECT COALESCE(MAX(entry_id), 0) FROM ledger WHERE unit = '${unit}'`,
).join(' UNION ALL ');

export class LedgerTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Appends an entry. Returns its id. Throws where the entry does not continue from the balance before it. */
  append(entry: LedgerEntry): number {
    const before = this.balance(entry.unit);
    if (before + BigInt(entry.amount) !== BigInt(entry.balance)) {
      throw new Error(`the ledger of ${entry.unit} is at ${before}: ${entry.amount} does not make ${entry.balance}`);
    }
    const sql = 'INSERT INTO ledger (at_ms, unit, balance, record) VALUES (?, ?, ?, ?) RETURNING entry_id';
    return this.#sql.exec<{ entry_id: number }>(sql, entry.atMs, entry.unit, entry.balance, JSON.stringify(entry)).one()
      .entry_id;
  }

  /** The sum of the unit's entries. */
  balance(unit: CreditUnit): bigint {
    const sql = 'SELECT balance FROM ledger WHERE unit = ? ORDER BY entry_id DESC LIMIT 1';
    return BigInt(this.#sql.exec<{ balance: string }>(sql, unit).toArray()[0]?.balance ?? 0);
  }

  /** The entry of the credit's revocation, else its newest one. */
  entryOf(creditId: string): LedgerEntry | null {
    const sql = `SELECT record FROM ledger WHERE record ->> 'creditId' = ?
      ORDER BY record ->> 'cause' = 'REVOKE' DESC, entry_id DESC LIMIT 1`;
    const row = this.#sql.exec<Pick<Row, 'record'>>(sql, creditId).toArray()[0];
    return row ? (JSON.parse(row.record) as LedgerEntry) : null;
  }

  /** The newest entries of a unit, oldest first. */
  newest(unit: CreditUnit, rowsMax: number): LedgerEntry[] {
    const sql = 'SELECT record FROM ledger WHERE unit = ? ORDER BY entry_id DESC LIMIT ?';
    const rows = this.#sql.exec<Pick<Row, 'record'>>(sql, unit, rowsMax).toArray();
    return rows.map(({ record }) => JSON.parse(record) as LedgerEntry).reverse();
  }

  /** USD spent in [fromMs, toMs) less what was given back, as a number: for estimates, not for bills. */
  usdSpentBetween({ fromMs, toMs }: { fromMs: number; toMs: number }): number {
    const sql = `SELECT COALESCE(-SUM(CAST(record ->> 'amount' AS REAL)), 0) / 1e9 AS usd FROM ledger
      WHERE unit = 'USD' AND at_ms >= ? AND at_ms < ? AND record ->> 'cause' IN ('SPEND', 'RETURN')`;
    return this.#sql.exec<{ usd: number }>(sql, fromMs, toMs).one().usd;
  }

  /** The newest entries, newest first. */
  recent(rowsMax: number): StoredEntry[] {
    const rows = this.#sql
      .exec<Row>('SELECT entry_id, record FROM ledger ORDER BY entry_id DESC LIMIT ?', rowsMax)
      .toArray();
    return rows.map(({ entry_id, record }) => ({ ...(JSON.parse(record) as LedgerEntry), entryId: entry_id }));
  }

  /** Entries of a page of the list that D1 does not have yet, newest first. */
  missing({ filter, afterId, beforeId, known, rowsMax }: LedgerCommand): LedgerRow[] {
    const { fromMs = 0, toMs = NEVER_MS, unit = null, cause = null, subject, reference = null } = filter;
    const sql = `SELECT entry.entry_id, entry.record, COALESCE(call.record, event.record) ->> '$.feature' AS feature,
        call.record ->> '$.outcome.modelUsed' AS model
      FROM ledger entry
      LEFT JOIN calls call ON entry.record ->> '$.subject.kind' = 'call' AND call.call_id = entry.record ->> '$.subject.id'
      LEFT JOIN meter_events event
        ON entry.record ->> '$.subject.kind' = 'meter_event' AND event.event_id = entry.record ->> '$.subject.id'
      WHERE entry.entry_id > ?1 AND entry.entry_id < ?2 AND +entry.at_ms >= ?3 AND +entry.at_ms < ?4
        AND (?5 IS NULL OR +entry.unit = ?5) AND (?6 IS NULL OR entry.record ->> 'cause' = ?6)
        AND (?7 IS NULL OR (entry.record ->> '$.subject.kind' = ?7 AND entry.record ->> '$.subject.id' = ?8))
        AND (?9 IS NULL OR (entry.record ->> 'reference' = ?9
          AND entry.record ->> 'cause' NOT IN (SELECT value FROM json_each(?10))))
        AND entry.entry_id NOT IN (SELECT value FROM json_each(?11))
      ORDER BY entry.entry_id DESC LIMIT ?12`;
    const of = [subject?.kind ?? null, subject?.id ?? null, reference, JSON.stringify(PAYMENTS)];
    const bound = [afterId, beforeId, fromMs, toMs, unit, cause, ...of, JSON.stringify(known), rowsMax];
    return this.#sql
      .exec<Row & { feature: string | null; model: string | null }>(sql, ...bound)
      .toArray()
      .map(({ entry_id, record, feature, model }) => {
        const { subject = null, correction = null, corrects: _, ...entry } = JSON.parse(record) as LedgerEntry;
        return { ...entry, entryId: entry_id, subject, correction, feature, modelUsed: model };
      });
  }

  /**
   * Drops entries made by then that D1 has, except the newest of each unit. Returns the rows written. `listed`: those in the
   * outbox's list.
   */
  drop(madeByMs: number, listed: readonly string[], rowsMax: number): number {
    return this.#sql.exec(
      `DELETE FROM ledger WHERE entry_id IN (
         SELECT entry_id FROM ledger WHERE at_ms <= ?
           AND entry_id NOT IN (${NEWEST_OF_UNITS})
           AND entry_id NOT IN (SELECT CAST(value AS INTEGER) FROM json_each(?))
           AND entry_id NOT IN (SELECT CAST(id AS INTEGER) FROM outbox WHERE kind = 'credit_entry') LIMIT ?)`,
      madeByMs,
      JSON.stringify(listed),
      rowsMax,
    ).rowsWritten;
  }

  /** When the oldest entry that may be dropped later was made. */
  oldestMs(): number | null {
    const sql = `SELECT at_ms AS at FROM ledger WHERE entry_id NOT IN (${NEWEST_OF_UNITS}) ORDER BY at_ms LIMIT 1`;
    return this.#sql.exec<{ at: number }>(sql).toArray()[0]?.at ?? null;
  }
}
