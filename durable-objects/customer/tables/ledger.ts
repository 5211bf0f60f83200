/**
 * The ledger: every change of a balance, in order. Each entry has the balance after it, so that the newest entry of a
 * unit is the sum of all its entries, also once old ones are in D1 alone.
 */
import type { CreditUnit, LedgerEntry } from '../../../src/domain/wallet.ts';

export interface StoredEntry extends LedgerEntry {
  /** Ascending. */
  entryId: number;
}

type Row = { entry_id: number; record: string };

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
  usdSpentBetween(fromMs: number, toMs: number): number {
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

  /** Drops entries made by then that D1 has, except the newest of each unit. Returns the rows written. */
  drop(madeByMs: number, rowsMax: number): number {
    return this.#sql.exec(
      `DELETE FROM ledger WHERE entry_id IN (
         SELECT entry_id FROM ledger WHERE at_ms <= ?
           AND entry_id NOT IN (SELECT MAX(entry_id) FROM ledger GROUP BY unit)
           AND entry_id NOT IN (SELECT CAST(id AS INTEGER) FROM outbox WHERE kind = 'credit_entry') LIMIT ?)`,
      madeByMs,
      rowsMax,
    ).rowsWritten;
  }

  /** When the oldest entry that may be dropped later was made. */
  oldestMs(): number | null {
    const sql =
      'SELECT MIN(at_ms) AS at FROM ledger WHERE entry_id NOT IN (SELECT MAX(entry_id) FROM ledger GROUP BY unit)';
    return this.#sql.exec<{ at: number | null }>(sql).one().at;
  }
}
