/**
 * What corrections need to know for longer than the records themselves are kept: the terms of credits, what custom
 * meters came to in periods that are over, and what was corrected already.
 */
import type { MeterSlot } from '../../../src/domain/meters.ts';
import type { PeriodTotals } from '../../../src/domain/reverse-meter.ts';
import type { Credit } from '../../../src/domain/wallet.ts';

export class CorrectionTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  saveCredit(credit: Credit): void {
    const sql = 'INSERT INTO credits (credit_id, terms) VALUES (?, ?) ON CONFLICT DO UPDATE SET terms = excluded.terms';
    this.#sql.exec(sql, credit.creditId, JSON.stringify(credit));
  }

  credit(creditId: string): Credit | null {
    const sql = 'SELECT terms FROM credits WHERE credit_id = ?';
    const row = this.#sql.exec<{ terms: string }>(sql, creditId).toArray()[0];
    return row ? (JSON.parse(row.terms) as Credit) : null;
  }

  saveTotals(period: number, slot: MeterSlot, totals: PeriodTotals, closedAtMs: number): void {
    this.#sql.exec(
      `INSERT INTO slot_periods (period, slot, closed_at_ms, totals) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET totals = excluded.totals`,
      period,
      slot,
      closedAtMs,
      JSON.stringify(totals),
    );
  }

  totals(period: number, slot: MeterSlot): PeriodTotals | null {
    const sql = 'SELECT totals FROM slot_periods WHERE period = ? AND slot = ?';
    const row = this.#sql.exec<{ totals: string }>(sql, period, slot).toArray()[0];
    return row ? (JSON.parse(row.totals) as PeriodTotals) : null;
  }

  /** Remembers that a call or a meter event was corrected. */
  note(subjectId: string, revision: number, nowMs: number): void {
    const sql = `INSERT INTO corrections (subject_id, revision, at_ms) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET revision = excluded.revision, at_ms = excluded.at_ms`;
    this.#sql.exec(sql, subjectId, revision, nowMs);
  }

  /** The revision of the subject's last correction; 0 where it was never corrected. */
  revision(subjectId: string): number {
    const sql = 'SELECT revision FROM corrections WHERE subject_id = ?';
    return this.#sql.exec<{ revision: number }>(sql, subjectId).toArray()[0]?.revision ?? 0;
  }

  /** Drops what was closed or corrected by then. Returns the rows written. */
  drop(byMs: number, rowsMax: number): number {
    const periods = `DELETE FROM slot_periods WHERE (period, slot) IN (
      SELECT period, slot FROM slot_periods WHERE closed_at_ms <= ? LIMIT ?)`;
    const corrected =
      'DELETE FROM corrections WHERE subject_id IN (SELECT subject_id FROM corrections WHERE at_ms <= ? LIMIT ?)';
    return this.#sql.exec(periods, byMs, rowsMax).rowsWritten + this.#sql.exec(corrected, byMs, rowsMax).rowsWritten;
  }

  oldestMs(): number | null {
    const sql = `SELECT MIN(at) AS at FROM (
      SELECT MIN(closed_at_ms) AS at FROM slot_periods UNION ALL SELECT MIN(at_ms) FROM corrections)`;
    return this.#sql.exec<{ at: number | null }>(sql).one().at;
  }
}
