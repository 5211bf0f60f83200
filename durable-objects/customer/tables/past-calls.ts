/**
 * Past calls: D1 has them, and only retries ask for them here. Each is what its retries need, in some 400 bytes. They are in a
 * table of their own, in the order in which they became past, so that whole pages are freed when they go.
 */
import type { Call } from '../../../src/domain/call.ts';
import type { CallId } from '../../../src/domain/ids.ts';

/** The revision tells that a record of D1 is older than the call was. */
export interface PastCall extends Pick<Call, 'callId' | 'status' | 'revision' | 'feature' | 'pricingMode'> {
  beginFingerprint: string;
  endFingerprint: string | null;
}

/** A mode that is absent is `standard`. */
type PastFacts = Pick<Call, 'revision' | 'feature'> & Partial<Pick<Call, 'pricingMode'>>;

type Row = { status: Call['status']; facts: string; begin_fingerprint: string; end_fingerprint: string | null };

/** Characters of a fingerprint that tell payloads of one key apart: 64 bits. */
const SHORT_FINGERPRINT = 16;

export class PastCallTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  find(callId: CallId): PastCall | null {
    const sql = 'SELECT status, facts, begin_fingerprint, end_fingerprint FROM past_calls WHERE call_id = ?';
    const row = this.#sql.exec<Row>(sql, callId).toArray()[0];
    if (!row) return null;
    const { status, facts, begin_fingerprint: beginFingerprint, end_fingerprint: endFingerprint } = row;
    const kept = JSON.parse(facts) as PastFacts;
    return { pricingMode: 'standard', ...kept, callId, status, beginFingerprint, endFingerprint };
  }

  /** What retries of the call's begin or end get. */
  answer(callId: CallId, of: 'begin' | 'end'): string | null {
    const sql = `SELECT ${of}_answer AS answer FROM past_calls WHERE call_id = ?`;
    return this.#sql.exec<{ answer: string | null }>(sql, callId).toArray()[0]?.answer ?? null;
  }

  /** Takes a call over from the calls. Its fingerprints are those of its row. */
  take({ callId, revision, pricingMode, feature }: Call, fingerprints: { begin: string; end: string | null }): void {
    const facts: PastFacts = { revision, feature, ...(pricingMode !== 'standard' && { pricingMode }) };
    const { begin, end } = fingerprints;
    this.#sql.exec(
      `INSERT INTO past_calls (call_id, status, finished_at_ms, facts, begin_fingerprint, begin_answer, end_fingerprint, end_answer)
       SELECT call_id, status, COALESCE(ended_at_ms, finished_at_ms), ?, ?, begin_answer, ?, end_answer FROM calls WHERE call_id = ?`,
      JSON.stringify(facts),
      shortFingerprint(begin),
      end && shortFingerprint(end),
      callId,
    );
  }

  drop(callId: CallId): void {
    this.#sql.exec('DELETE FROM past_calls WHERE call_id = ?', callId);
  }

  /** Drops the oldest that finished by then. Returns the rows written. */
  dropOld(finishedByMs: number, rowsMax: number): number {
    const sql = `DELETE FROM past_calls WHERE place IN (
      SELECT place FROM (SELECT place, finished_at_ms FROM past_calls ORDER BY place LIMIT ?) WHERE finished_at_ms <= ?)`;
    return this.#sql.exec(sql, rowsMax, finishedByMs).rowsWritten;
  }

  /** When the oldest finished; `null` if there is none. */
  oldestMs(): number | null {
    const sql = 'SELECT finished_at_ms AS at FROM past_calls ORDER BY place LIMIT 1';
    return this.#sql.exec<{ at: number }>(sql).toArray()[0]?.at ?? null;
  }
}

/** Whether a retry has the payload of the first request, whose fingerprint may be shortened. */
export function isSamePayload(stored: string | null, fingerprint: string): boolean {
  return stored === fingerprint || stored === shortFingerprint(fingerprint);
}

/** The beginning of the hash, and what is added to it. */
function shortFingerprint(fingerprint: string): string {
  const [hash = '', ...more] = fingerprint.split(':');
  return [hash.slice(0, SHORT_FINGERPRINT), ...more].join(':');
}
