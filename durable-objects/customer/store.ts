/**
 * The only file that touches the storage of a customer's object.
 *
 * Rows in, rows out: no rule is decided here. `transaction` is synchronous, so a command runs to its end or leaves
 * nothing behind, and the next wake-up is set inside it. The schema comes into being with the first write, so that
 * reading a customer who was never seen leaves no trace.
 */
import type { Account } from '../../src/domain/account.ts';
import type { Call } from '../../src/domain/call.ts';
import type { NanoUsd } from '../../src/domain/money.ts';
import { NEVER_MS } from '../../src/domain/period.ts';
import { type Due, nextAlarm } from './alarms.ts';
import { MIGRATIONS } from './migrations.ts';

export interface StoredCall {
  call: Call;
  beginFingerprint: string;
  beginAnswer: string | null;
  endFingerprint: string | null;
  endAnswer: string | null;
}

export interface UsageHour {
  completedCalls: number;
  failedCalls: number;
  inputTokens: number;
  outputTokens: number;
  completedCostNanoUsd: NanoUsd;
  failedCostNanoUsd: NanoUsd;
}

export interface Delivery {
  failures: number;
  dueAtMs: number | null;
  lastError: string | null;
}

export interface OutboxRow {
  kind: 'customer' | 'call';
  id: string;
  revision: number;
  /** The call's facts; `null` for the customer. */
  call: Call | null;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Answers are replayed for this long after a call has finished. */
export const ANSWER_RETENTION_MS = 48 * HOUR_MS;
/** A finished call stays in the object for this long; afterwards D1 answers. */
export const CALL_RETENTION_MS = 7 * DAY_MS;
const USAGE_HOURS_RETENTION_MS = 100 * DAY_MS;
/** Rows wait this long for others before they are sent to D1 together. */
const OUTBOX_DELAY_MS = 1_000;
/** Rows of each kind that one round of housekeeping removes at most. */
const PRUNE_ROWS_MAX = 500;
/** Housekeeping comes round at most this often. */
const PRUNE_INTERVAL_MS = HOUR_MS;

export class CustomerStore {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  #exists: boolean;
  /** The account as committed; dropped when a transaction fails. */
  #account: Account | null | undefined;
  #due: Due | undefined;
  #alarmMs: number | null | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#exists = this.#sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'schema_version'`).toArray().length > 0;
    if (this.#exists) storage.transactionSync(() => this.#migrate());
  }

  /** Runs a command. What it wrote, its answer and the next alarm become durable together, or nothing does. */
  transaction<Result>(nowMs: number, command: () => Result): Result {
    try {
      return this.#storage.transactionSync(() => {
        const result = command();
        if (this.#exists) this.#arm(nowMs);
        return result;
      });
    } catch (error) {
      this.#account = undefined;
      this.#due = undefined;
      this.#alarmMs = undefined;
      this.#exists = this.#sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'schema_version'`).toArray().length > 0;
      throw error;
    }
  }

  /** Reads the alarm that stands, once per life of the object. To be awaited before the first transaction. */
  async load(): Promise<void> {
    this.#alarmMs ??= await this.#storage.getAlarm();
  }

  account(): Account | null {
    if (!this.#exists) return null;
    if (this.#account === undefined) {
      const row = this.#sql.exec<{ value: string }>('SELECT value FROM account WHERE id = 1').toArray()[0];
      this.#account = row ? (JSON.parse(row.value) as Account) : null;
    }
    return this.#account;
  }

  /** Stores the account; creates the schema with the first one. */
  saveAccount(account: Account, nowMs: number): void {
    if (!this.#exists) this.#create();
    const before = this.#account;
    this.#sql.exec(
      'INSERT INTO account (id, value) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value',
      JSON.stringify(account),
    );
    this.#account = account;
    this.#dueNow().replenishMs = replenishmentOf(account);
    if (before?.subscription !== account.subscription || before.contact !== account.contact) {
      this.#enqueue('customer', account.customerId, account.revision, nowMs);
    }
  }

  call(callId: string): StoredCall | null {
    if (!this.#exists) return null;
    const row = this.#sql
      .exec<{
        record: string;
        begin_fingerprint: string;
        begin_answer: string | null;
        end_fingerprint: string | null;
        end_answer: string | null;
      }>('SELECT record, begin_fingerprint, begin_answer, end_fingerprint, end_answer FROM calls WHERE call_id = ?', callId)
      .toArray()[0];
    if (!row) return null;
    return {
      call: JSON.parse(row.record) as Call,
      beginFingerprint: row.begin_fingerprint,
      beginAnswer: row.begin_answer,
      endFingerprint: row.end_fingerprint,
      endAnswer: row.end_answer,
    };
  }

  insertCall(call: Call, fingerprint: string, answer: string, nowMs: number): void {
    this.#sql.exec(
      `INSERT INTO calls (call_id, status, started_at_ms, deadline_at_ms, finished_at_ms, record, begin_fingerprint, begin_answer)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      call.callId,
      call.status,
      call.startedAtMs,
      call.deadlineAtMs,
      call.finishedAtMs,
      JSON.stringify(call),
      fingerprint,
      answer,
    );
    const due = this.#dueNow();
    if (call.status === 'IN_PROGRESS') due.deadlineMs = Math.min(due.deadlineMs ?? NEVER_MS, call.deadlineAtMs);
    else due.pruneMs ??= nowMs + ANSWER_RETENTION_MS;
    this.#enqueue('call', call.callId, call.revision, nowMs);
  }

  /** Stores a call that stopped being in progress, with the answer of its end where it has one. */
  finishCall(call: Call, end: { fingerprint: string; answer: string } | null, nowMs: number): void {
    this.#sql.exec(
      `UPDATE calls SET status = ?, finished_at_ms = ?, record = ?, end_fingerprint = ?, end_answer = ? WHERE call_id = ?`,
      call.status,
      call.finishedAtMs,
      JSON.stringify(call),
      end?.fingerprint ?? null,
      end?.answer ?? null,
      call.callId,
    );
    this.#dueNow().pruneMs ??= nowMs + ANSWER_RETENTION_MS;
    this.#enqueue('call', call.callId, call.revision, nowMs);
  }

  /** Open calls whose deadline has come, at most `rowsMax` of them. */
  callsPastDeadline(nowMs: number, rowsMax: number): Call[] {
    if ((this.#dueNow().deadlineMs ?? NEVER_MS) > nowMs) return [];
    const rows = this.#sql
      .exec<{ record: string }>(
        `SELECT record FROM calls WHERE status = 'IN_PROGRESS' AND deadline_at_ms <= ? ORDER BY deadline_at_ms LIMIT ?`,
        nowMs,
        rowsMax,
      )
      .toArray();
    return rows.map(({ record }) => JSON.parse(record) as Call);
  }

  /** To be called when overdue calls have been finished: the next deadline is another one. */
  refreshDeadline(): void {
    this.#dueNow().deadlineMs = this.#single<number | null>(`SELECT MIN(deadline_at_ms) AS value FROM calls WHERE status = 'IN_PROGRESS'`);
  }

  /** Admitted calls that began after `sinceMs`, and when the oldest of them did. */
  callsBegunSince(sinceMs: number): { count: number; oldestMs: number | null } {
    if (!this.#exists) return { count: 0, oldestMs: null };
    const row = this.#sql
      .exec<{ count: number; oldest: number | null }>(
        `SELECT COUNT(*) AS count, MIN(started_at_ms) AS oldest FROM calls WHERE started_at_ms > ? AND status <> 'NOT_ALLOWED'`,
        sinceMs,
      )
      .one();
    return { count: row.count, oldestMs: row.oldest };
  }

  openCalls(): number {
    return this.#single<number>(`SELECT COUNT(*) AS value FROM calls WHERE status = 'IN_PROGRESS'`);
  }

  recentCalls(rowsMax: number): Call[] {
    const rows = this.#sql
      .exec<{ record: string }>('SELECT record FROM calls ORDER BY started_at_ms DESC, call_id LIMIT ?', rowsMax)
      .toArray();
    return rows.map(({ record }) => JSON.parse(record) as Call);
  }

  derivedKey(hash: string): { generation: number; callId: string } | null {
    if (!this.#exists) return null;
    const row = this.#sql
      .exec<{ generation: number; call_id: string }>('SELECT generation, call_id FROM derived_keys WHERE hash = ?', hash)
      .toArray()[0];
    return row ? { generation: row.generation, callId: row.call_id } : null;
  }

  saveDerivedKey(hash: string, generation: number, callId: string, nowMs: number): void {
    this.#sql.exec(
      `INSERT INTO derived_keys (hash, generation, call_id, at_ms) VALUES (?, ?, ?, ?)
       ON CONFLICT (hash) DO UPDATE SET generation = excluded.generation, call_id = excluded.call_id, at_ms = excluded.at_ms`,
      hash,
      generation,
      callId,
      nowMs,
    );
  }

  idempotencyKey(operation: string, key: string): { fingerprint: string; callId: string | null; answer: string | null } | null {
    if (!this.#exists) return null;
    const row = this.#sql
      .exec<{ fingerprint: string; call_id: string | null; answer: string | null }>(
        'SELECT fingerprint, call_id, answer FROM idempotency_keys WHERE operation = ? AND key = ?',
        operation,
        key,
      )
      .toArray()[0];
    return row ? { fingerprint: row.fingerprint, callId: row.call_id, answer: row.answer } : null;
  }

  saveIdempotencyKey(operation: string, key: string, fingerprint: string, to: { callId?: string; answer?: string }, nowMs: number): void {
    this.#sql.exec(
      'INSERT INTO idempotency_keys (operation, key, fingerprint, call_id, answer, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
      operation,
      key,
      fingerprint,
      to.callId ?? null,
      to.answer ?? null,
      nowMs + ANSWER_RETENTION_MS,
    );
    this.#dueNow().pruneMs ??= nowMs + ANSWER_RETENTION_MS;
  }

  addUsage(atMs: number, usage: UsageHour): void {
    this.#sql.exec(
      `INSERT INTO usage_hours (hour_ms, completed_calls, failed_calls, input_tokens, output_tokens, completed_cost_nano_usd, failed_cost_nano_usd)
       VALUES (?, ?, ?, ?, ?, CAST(? AS INTEGER), CAST(? AS INTEGER))
       ON CONFLICT (hour_ms) DO UPDATE SET
         completed_calls = completed_calls + excluded.completed_calls,
         failed_calls = failed_calls + excluded.failed_calls,
         input_tokens = input_tokens + excluded.input_tokens,
         output_tokens = output_tokens + excluded.output_tokens,
         completed_cost_nano_usd = completed_cost_nano_usd + excluded.completed_cost_nano_usd,
         failed_cost_nano_usd = failed_cost_nano_usd + excluded.failed_cost_nano_usd`,
      atMs - (atMs % HOUR_MS),
      usage.completedCalls,
      usage.failedCalls,
      usage.inputTokens,
      usage.outputTokens,
      usage.completedCostNanoUsd.toString(),
      usage.failedCostNanoUsd.toString(),
    );
  }

  /** Completed calls and their cost in [fromMs, toMs), both on the hour. */
  completedBetween(fromMs: number, toMs: number): { calls: number; costNanoUsd: NanoUsd } {
    const row = this.#sql
      .exec<{ calls: number; cost: string }>(
        `SELECT COALESCE(SUM(completed_calls), 0) AS calls, CAST(COALESCE(SUM(completed_cost_nano_usd), 0) AS TEXT) AS cost
         FROM usage_hours WHERE hour_ms >= ? AND hour_ms < ?`,
        fromMs,
        toMs,
      )
      .one();
    return { calls: row.calls, costNanoUsd: BigInt(row.cost) };
  }

  /** The oldest changes that D1 does not have, at most `rowsMax`. */
  outboxRows(rowsMax: number): OutboxRow[] {
    if (!this.#exists) return [];
    const rows = this.#sql
      .exec<{ kind: 'customer' | 'call'; id: string; revision: number; record: string | null }>(
        `SELECT o.kind, o.id, o.revision, c.record FROM outbox o LEFT JOIN calls c ON o.kind = 'call' AND c.call_id = o.id
         ORDER BY o.queued_at_ms LIMIT ?`,
        rowsMax,
      )
      .toArray();
    return rows.map(({ record, ...row }) => ({ ...row, call: record === null ? null : (JSON.parse(record) as Call) }));
  }

  outboxState(): { pending: number; oldestMs: number | null } {
    const row = this.#sql
      .exec<{ pending: number; oldest: number | null }>('SELECT COUNT(*) AS pending, MIN(queued_at_ms) AS oldest FROM outbox')
      .one();
    return { pending: row.pending, oldestMs: row.oldest };
  }

  /** Forgets rows that D1 has, unless they changed in the meantime. */
  outboxSent(rows: readonly OutboxRow[]): void {
    const sent = JSON.stringify(rows.map(({ kind, id, revision }) => ({ kind, id, revision })));
    this.#sql.exec(
      `DELETE FROM outbox WHERE EXISTS (
         SELECT 1 FROM json_each(?) sent WHERE sent.value ->> 'kind' = outbox.kind AND sent.value ->> 'id' = outbox.id
           AND sent.value ->> 'revision' = outbox.revision)`,
      sent,
    );
  }

  delivery(): Delivery {
    const row = this.#sql
      .exec<{ failures: number; due_at_ms: number | null; last_error: string | null }>(
        'SELECT failures, due_at_ms, last_error FROM delivery',
      )
      .one();
    return { failures: row.failures, dueAtMs: row.due_at_ms, lastError: row.last_error };
  }

  saveDelivery(delivery: Delivery): void {
    this.#sql.exec(
      'UPDATE delivery SET failures = ?, due_at_ms = ?, last_error = ?',
      delivery.failures,
      delivery.dueAtMs,
      delivery.lastError,
    );
    this.#dueNow().outboxMs = delivery.dueAtMs;
  }

  /** Removes what is past its retention, a bounded number of rows. Calls that D1 does not have yet stay. */
  prune(nowMs: number): void {
    if ((this.#dueNow().pruneMs ?? NEVER_MS) > nowMs) return;
    const counts = [
      this.#sql.exec(
        `UPDATE calls SET begin_answer = NULL, end_answer = NULL WHERE call_id IN (
           SELECT call_id FROM calls WHERE finished_at_ms <= ? AND begin_answer IS NOT NULL LIMIT ?)`,
        nowMs - ANSWER_RETENTION_MS,
        PRUNE_ROWS_MAX,
      ).rowsWritten,
      this.#sql.exec(
        `DELETE FROM calls WHERE call_id IN (
           SELECT call_id FROM calls WHERE finished_at_ms <= ?
             AND NOT EXISTS (SELECT 1 FROM outbox WHERE kind = 'call' AND id = calls.call_id) LIMIT ?)`,
        nowMs - CALL_RETENTION_MS,
        PRUNE_ROWS_MAX,
      ).rowsWritten,
      this.#sql.exec(
        `DELETE FROM idempotency_keys WHERE (operation, key) IN (SELECT operation, key FROM idempotency_keys WHERE expires_at_ms <= ? LIMIT ?)`,
        nowMs,
        PRUNE_ROWS_MAX,
      ).rowsWritten,
      this.#sql.exec(
        `DELETE FROM derived_keys WHERE hash IN (
           SELECT hash FROM derived_keys WHERE at_ms <= ? AND call_id NOT IN (SELECT call_id FROM calls) LIMIT ?)`,
        nowMs - CALL_RETENTION_MS,
        PRUNE_ROWS_MAX,
      ).rowsWritten,
      this.#sql.exec(
        'DELETE FROM usage_hours WHERE hour_ms IN (SELECT hour_ms FROM usage_hours WHERE hour_ms < ? LIMIT ?)',
        nowMs - USAGE_HOURS_RETENTION_MS,
        PRUNE_ROWS_MAX,
      ).rowsWritten,
    ];
    const more = counts.some((rows) => rows >= PRUNE_ROWS_MAX);
    this.#dueNow().pruneMs = more ? nowMs + 1_000 : this.#nextPrune(nowMs);
  }

  #nextPrune(nowMs: number): number | null {
    const oldest = (sql: string) => this.#single<number | null>(sql);
    const answer = oldest('SELECT MIN(finished_at_ms) AS value FROM calls WHERE finished_at_ms IS NOT NULL AND begin_answer IS NOT NULL');
    const call = oldest('SELECT MIN(finished_at_ms) AS value FROM calls WHERE finished_at_ms IS NOT NULL');
    const key = oldest('SELECT MIN(expires_at_ms) AS value FROM idempotency_keys');
    const hour = oldest('SELECT MIN(hour_ms) AS value FROM usage_hours');
    const times = [
      answer === null ? null : answer + ANSWER_RETENTION_MS,
      call === null ? null : call + CALL_RETENTION_MS,
      key,
      hour === null ? null : hour + USAGE_HOURS_RETENTION_MS,
    ].filter((time) => time !== null);
    return times.length === 0 ? null : Math.max(Math.min(...times), nowMs + PRUNE_INTERVAL_MS);
  }

  #enqueue(kind: OutboxRow['kind'], id: string, revision: number, nowMs: number): void {
    this.#sql.exec(
      `INSERT INTO outbox (kind, id, revision, queued_at_ms) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision`,
      kind,
      id,
      revision,
      nowMs,
    );
    if (this.#dueNow().outboxMs === null) {
      this.saveDelivery({ failures: 0, dueAtMs: nowMs + OUTBOX_DELAY_MS, lastError: null });
    }
  }

  #dueNow(): Due {
    this.#due ??= {
      outboxMs: this.delivery().dueAtMs,
      deadlineMs: this.#single<number | null>(`SELECT MIN(deadline_at_ms) AS value FROM calls WHERE status = 'IN_PROGRESS'`),
      replenishMs: replenishmentOf(this.account()),
      pruneMs: this.#nextPrune(Number.NEGATIVE_INFINITY),
    };
    return this.#due;
  }

  /** Sets the alarm where it is not yet what is due. It is part of the transaction. */
  #arm(nowMs: number): void {
    const alarmMs = nextAlarm(this.#dueNow(), nowMs);
    if (alarmMs === this.#alarmMs) return;
    if (alarmMs === null) void this.#storage.deleteAlarm();
    else if (this.#alarmMs != null && this.#alarmMs > nowMs && this.#alarmMs < alarmMs)
      return; // an early alarm finds nothing due and re-arms
    else void this.#storage.setAlarm(alarmMs);
    this.#alarmMs = alarmMs;
  }

  /** To be called when the alarm fires: none stands any more. */
  alarmFired(): void {
    this.#alarmMs = null;
  }

  #create(): void {
    this.#sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL)');
    this.#sql.exec('INSERT INTO schema_version (version) VALUES (0)');
    this.#exists = true;
    this.#migrate();
  }

  #migrate(): void {
    const version = this.#single<number>('SELECT version AS value FROM schema_version');
    for (const migration of MIGRATIONS.slice(version)) this.#sql.exec(migration);
    if (version < MIGRATIONS.length) this.#sql.exec('UPDATE schema_version SET version = ?', MIGRATIONS.length);
  }

  #single<Value extends SqlStorageValue>(sql: string): Value {
    return this.#sql.exec<{ value: Value }>(sql).one().value;
  }
}

function replenishmentOf(account: Account | null): number | null {
  const atMs = account?.subscription.nextReplenishAtMs ?? NEVER_MS;
  return atMs < NEVER_MS ? atMs : null;
}
