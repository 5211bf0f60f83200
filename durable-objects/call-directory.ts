/**
 * class CallDirectory: which customer owns a call id. 64 objects per organization share the ids by hash.
 *
 * A claim is released only by the request that made it, and only when nothing was recorded under it. Once its call
 * exists it never changes, and may be remembered anywhere. It is kept as long as D1 keeps calls.
 */
import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../src/env.ts';
import { log } from '../src/platform/log.ts';
import { GroupCommit } from './group-commit.ts';

export interface Claim {
  customerId: string;
  claimedAtMs: number;
  /** Made by this very request. Only whoever made a claim may release it. */
  fresh: boolean;
}

const DAY_MS = 24 * 3_600_000;
/** Claims that one alarm removes at most. */
const PRUNE_ROWS_MAX = 1_000;
const PRUNE_ROUND_MS = 1_000;

export class CallDirectory extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  #exists: boolean;
  readonly #commits = new GroupCommit();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#exists = this.#sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'claims'`).toArray().length > 0;
  }

  /** Gives the call id to the customer, unless another has it. Answers with the owner either way. */
  claim(callId: string, customerId: string): Claim | Promise<Claim> {
    return this.#commits.run(() => this.#claim(callId, customerId));
  }

  #claim(callId: string, customerId: string): Claim {
    const nowMs = Date.now();
    if (!this.#exists) this.#create(nowMs);
    const sql = 'INSERT INTO claims (call_id, customer_id, claimed_at_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING call_id';
    const claimed = this.#sql.exec(sql, callId, customerId, nowMs).toArray().length > 0;
    const earlier = claimed ? null : this.find(callId);
    return earlier ?? { customerId, claimedAtMs: nowMs, fresh: true };
  }

  /** Gives back a claim under which nothing was recorded. */
  release(callId: string, customerId: string): void {
    if (this.#exists) this.#sql.exec('DELETE FROM claims WHERE call_id = ? AND customer_id = ?', callId, customerId);
  }

  /** Forgets every call id of an erased customer. Answers how many there were. */
  forget(customerId: string): number {
    if (!this.#exists) return 0;
    return this.#sql.exec<{ call_id: string }>('DELETE FROM claims WHERE customer_id = ? RETURNING call_id', customerId).toArray().length;
  }

  find(callId: string): Claim | null {
    if (!this.#exists) return null;
    const row = this.#sql
      .exec<{ customer_id: string; claimed_at_ms: number }>('SELECT customer_id, claimed_at_ms FROM claims WHERE call_id = ?', callId)
      .toArray()[0];
    return row ? { customerId: row.customer_id, claimedAtMs: row.claimed_at_ms, fresh: false } : null;
  }

  override async alarm(): Promise<void> {
    const nowMs = Date.now();
    let delayMs = DAY_MS;
    try {
      if (this.#prune(nowMs - this.env.CALL_RETENTION_DAYS * DAY_MS) >= PRUNE_ROWS_MAX) delayMs = PRUNE_ROUND_MS;
    } catch (error) {
      // An alarm that fails too often is dropped, and nothing would be pruned any more.
      log('error', 'claims_not_pruned', { objectId: this.ctx.id.toString() }, error);
    }
    await this.ctx.storage.setAlarm(nowMs + delayMs);
  }

  /** Forgets claims made before then. Returns the rows written. */
  #prune(beforeMs: number): number {
    const sql = 'DELETE FROM claims WHERE call_id IN (SELECT call_id FROM claims WHERE claimed_at_ms < ? LIMIT ?)';
    return this.#sql.exec(sql, beforeMs, PRUNE_ROWS_MAX).rowsWritten;
  }

  #create(nowMs: number): void {
    this.#sql.exec(`
      CREATE TABLE claims (call_id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, claimed_at_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX claims_by_age ON claims (claimed_at_ms);
    `);
    this.#exists = true;
    void this.ctx.storage.setAlarm(nowMs + DAY_MS);
  }
}
