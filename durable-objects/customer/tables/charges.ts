/**
 * Unsettled charges: created with the usage, taken from the balance, reported to the billing provider. A settled charge
 * is removed from the table; its outcome is in its call or its meter event. One that the provider does not take stays, and
 * is listed.
 */
import type { NanoUsd } from '../../../src/domain/money.ts';
import { NEVER_MS } from '../../../src/domain/period.ts';

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
  /** NEVER_MS if it is not tried again. */
  dueAtMs: number;
  /** It was queued under a key of the billing provider, and so waits for one. */
  keyed: boolean;
  /** The amount of the event that was sent under the charge's id; `null` until then. It stays the same for good. */
  eventNanoUsd: NanoUsd | null;
  /** The provider may have the event, because nothing is known of the last attempt. */
  mayBeThere: boolean;
  /** Why the provider does not have it; `null` if it was not refused. */
  failureReason: string | null;
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
  keyed: number;
  event_nano_usd: string | null;
  may_be_there: number;
  failure_reason: string | null;
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
         first_attempt_at_ms, due_at_ms, keyed, event_nano_usd, may_be_there, failure_reason, subject_at_ms, corrects)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (charge_id) DO UPDATE SET debited_at_ms = excluded.debited_at_ms, attempts = excluded.attempts,
         first_attempt_at_ms = excluded.first_attempt_at_ms, due_at_ms = excluded.due_at_ms, keyed = excluded.keyed,
         event_nano_usd = excluded.event_nano_usd, may_be_there = excluded.may_be_there,
         failure_reason = excluded.failure_reason`,
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
      charge.keyed ? 1 : 0,
      charge.eventNanoUsd?.toString() ?? null,
      charge.mayBeThere ? 1 : 0,
      charge.failureReason,
      charge.correction?.subjectAtMs ?? null,
      charge.correction?.corrects ?? null,
    );
  }

  find(chargeId: string): OpenCharge | null {
    return this.#sql.exec<Row>('SELECT * FROM charges WHERE charge_id = ?', chargeId).toArray().map(fromRow)[0] ?? null;
  }

  /** Charges that the balance has not paid, the earliest first. */
  toDebit(rowsMax: number): OpenCharge[] {
    const sql = 'SELECT * FROM charges WHERE debited_at_ms IS NULL ORDER BY due_at_ms LIMIT ?';
    return this.#sql.exec<Row>(sql, rowsMax).toArray().map(fromRow);
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

  /** The charges of a call or an increment that the provider is told of, the oldest first. */
  reportedOf({ kind, subjectId }: Pick<OpenCharge, 'kind' | 'subjectId'>): OpenCharge[] {
    return this.#sql
      .exec<Row>(
        `SELECT * FROM charges WHERE subject_id = ? AND kind = ? AND stripe_customer_id IS NOT NULL ORDER BY rowid`,
        subjectId,
        kind,
      )
      .toArray()
      .map(fromRow);
  }

  /** Charges that the provider does not take, the newest first. */
  failed(rowsMax: number): OpenCharge[] {
    return this.#sql
      .exec<Row>(
        'SELECT * FROM charges WHERE failure_reason IS NOT NULL ORDER BY at_ms DESC, rowid DESC LIMIT ?',
        rowsMax,
      )
      .toArray()
      .map(fromRow);
  }

  drop(chargeId: string): void {
    this.#sql.exec('DELETE FROM charges WHERE charge_id = ?', chargeId);
  }

  /** Drops charges made by then that are not tried again. Returns the rows written. */
  dropGivenUp(madeByMs: number, rowsMax: number): number {
    return this.#sql.exec(
      `DELETE FROM charges WHERE charge_id IN (
         SELECT charge_id FROM charges WHERE debited_at_ms IS NOT NULL AND due_at_ms >= ? AND at_ms <= ? LIMIT ?)`,
      NEVER_MS,
      madeByMs,
      rowsMax,
    ).rowsWritten;
  }

  nextDueMs(): number | null {
    const sql = `SELECT MIN(at) AS at FROM (SELECT MIN(due_at_ms) AS at FROM charges WHERE debited_at_ms IS NULL
      UNION ALL SELECT MIN(due_at_ms) FROM charges WHERE debited_at_ms IS NOT NULL AND due_at_ms < ?)`;
    return this.#sql.exec<{ at: number | null }>(sql, NEVER_MS).one().at;
  }

  /** Charges on their way: of those that the provider does not take it is not known whether they ever arrive. */
  count(): number {
    return this.#sql.exec<{ count: number }>('SELECT COUNT(*) AS count FROM charges WHERE failure_reason IS NULL').one()
      .count;
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
    keyed: row.keyed === 1,
    eventNanoUsd: row.event_nano_usd === null ? null : BigInt(row.event_nano_usd),
    mayBeThere: row.may_be_there === 1,
    failureReason: row.failure_reason,
    correction: row.subject_at_ms === null ? null : { subjectAtMs: row.subject_at_ms, corrects: row.corrects },
  };
}
