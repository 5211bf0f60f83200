/**
 * Unsettled charges: created with the usage, taken from the balance, reported to the billing provider. A settled charge
 * is removed from the table; its outcome is in its call or its meter event.
 */
import type { NanoUsd } from '../../../src/domain/money.ts';

export interface OpenCharge {
  chargeId: string;
  kind: 'call' | 'meter_event';
  subjectId: string;
  /** Below zero where a correction gives back. */
  amountNanoUsd: NanoUsd;
  stripeCustomerId: string | null;
  atMs: number;
  /** `null` until the balance has paid. */
  debitedAtMs: number | null;
  /** Attempts to report it, and when the first was made. */
  attempts: number;
  firstAttemptAtMs: number | null;
  dueAtMs: number;
  /** Of a correction: when what it corrects was recorded, and the charge of that, where there is one. */
  correction: { subjectAtMs: number; corrects: string | null } | null;
}

type Row = {
  charge_id: string;
  kind: OpenCharge['kind'];
  subject_id: string;
  amount_nano_usd: string;
  stripe_customer_id: string | null;
  at_ms: number;
  debited_at_ms: number | null;
  attempts: number;
  first_attempt_at_ms: number | null;
  due_at_ms: number;
  subject_at_ms: number | null;
  corrects: string | null;
};

export class ChargeTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  save(charge: OpenCharge): void {
    this.#sql.exec(
      `INSERT INTO charges (charge_id, kind, subject_id, amount_nano_usd, stripe_customer_id, at_ms, debited_at_ms, attempts,
         first_attempt_at_ms, due_at_ms, subject_at_ms, corrects) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (charge_id) DO UPDATE SET debited_at_ms = excluded.debited_at_ms, attempts = excluded.attempts,
         first_attempt_at_ms = excluded.first_attempt_at_ms, due_at_ms = excluded.due_at_ms`,
      charge.chargeId,
      charge.kind,
      charge.subjectId,
      charge.amountNanoUsd.toString(),
      charge.stripeCustomerId,
      charge.atMs,
      charge.debitedAtMs,
      charge.attempts,
      charge.firstAttemptAtMs,
      charge.dueAtMs,
      charge.correction?.subjectAtMs ?? null,
      charge.correction?.corrects ?? null,
    );
  }

  find(chargeId: string): OpenCharge | null {
    return this.#sql.exec<Row>('SELECT * FROM charges WHERE charge_id = ?', chargeId).toArray().map(fromRow)[0] ?? null;
  }

  /** Charges that the balance has not paid, then those that it has and that are due; the earliest first. */
  toSettle(nowMs: number, rowsMax: number): OpenCharge[] {
    return this.#sql
      .exec<Row>(
        `SELECT * FROM charges WHERE debited_at_ms IS NULL OR due_at_ms <= ?
         ORDER BY debited_at_ms IS NOT NULL, due_at_ms LIMIT ?`,
        nowMs,
        rowsMax,
      )
      .toArray()
      .map(fromRow);
  }

  /** Charges that the balance has paid, that are due for the billing provider, the earliest first. */
  toReport(nowMs: number, rowsMax: number): OpenCharge[] {
    return this.#sql
      .exec<Row>(
        `SELECT * FROM charges WHERE due_at_ms <= ? AND debited_at_ms IS NOT NULL AND stripe_customer_id IS NOT NULL
         ORDER BY due_at_ms LIMIT ?`,
        nowMs,
        rowsMax,
      )
      .toArray()
      .map(fromRow);
  }

  unreportCorrections(chargeId: string): void {
    this.#sql.exec('UPDATE charges SET stripe_customer_id = NULL WHERE corrects = ?', chargeId);
  }

  drop(chargeId: string): void {
    this.#sql.exec('DELETE FROM charges WHERE charge_id = ?', chargeId);
  }

  nextDueMs(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT MIN(due_at_ms) AS at FROM charges').one().at;
  }

  count(): number {
    return this.#sql.exec<{ count: number }>('SELECT COUNT(*) AS count FROM charges').one().count;
  }
}

function fromRow(row: Row): OpenCharge {
  return {
    chargeId: row.charge_id,
    kind: row.kind,
    subjectId: row.subject_id,
    amountNanoUsd: BigInt(row.amount_nano_usd),
    stripeCustomerId: row.stripe_customer_id,
    atMs: row.at_ms,
    debitedAtMs: row.debited_at_ms,
    attempts: row.attempts,
    firstAttemptAtMs: row.first_attempt_at_ms,
    dueAtMs: row.due_at_ms,
    correction: row.subject_at_ms === null ? null : { subjectAtMs: row.subject_at_ms, corrects: row.corrects },
  };
}
