/**
 * class CallDirectory: which customer owns a call id. 64 objects per organization share the ids by hash.
 *
 * A claim carries the token of the request that made it, and is released only by who holds that: when nothing was
 * recorded under it. One without a token is final. Once its call exists it never changes, and may be remembered
 * anywhere. It is kept as long as D1 keeps calls.
 */

import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../src/env.ts';
import type { Claim } from '../src/objects/job-commands.ts';
import type { CallDirectoryRpc } from '../src/objects/rpc.ts';
import { log } from '../src/platform/log.ts';
import { DAY_MS } from '../src/platform/time.ts';
import { GroupCommit } from './group-commit.ts';

/** Claims that one alarm removes at most. */
const PRUNE_ROWS_MAX = 1_000;
const PRUNE_ROUND_MS = 1_000;

export class CallDirectory extends DurableObject<Env> implements CallDirectoryRpc {
  readonly #sql: SqlStorage;
  #exists: boolean;
  readonly #commits = new GroupCommit();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    const [known] = this.#sql.exec<{ sql: string }>(`SELECT sql FROM sqlite_master WHERE name = 'claims'`).toArray();
    this.#exists = known !== undefined;
    // Claims of an earlier version have no token, and nobody may release them.
    if (known && !known.sql.includes('token')) this.#sql.exec('ALTER TABLE claims ADD COLUMN token TEXT');
  }

  /** Gives the call id to the customer, unless another has it. Answers with the claim that stands either way. */
  claim(callId: string, customerId: string, token: string): Claim | Promise<Claim> {
    return this.#commits.run(() => this.#claim(callId, customerId, token));
  }

  #claim(callId: string, customerId: string, token: string): Claim {
    const nowMs = Date.now();
    if (!this.#exists) this.#create(nowMs);
    const sql = `INSERT INTO claims (call_id, customer_id, claimed_at_ms, token) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING call_id`;
    const claimed = this.#sql.exec(sql, callId, customerId, nowMs, token).toArray().length > 0;
    const earlier = claimed ? null : this.#row(callId);
    if (!earlier) return { customerId, claimedAtMs: nowMs, fresh: true, final: false };
    const { customer_id, claimed_at_ms: claimedAtMs } = earlier;
    return { customerId: customer_id, claimedAtMs, fresh: earlier.token === token, final: earlier.token === null };
  }

  /**
   * Makes the customer's claim final, and makes it anew where it was released. Answers with the customer whose call id
   * it is.
   */
  confirm(callId: string, customerId: string): string {
    const nowMs = Date.now();
    if (!this.#exists) this.#create(nowMs);
    const sql = `INSERT INTO claims (call_id, customer_id, claimed_at_ms, token) VALUES (?, ?, ?, NULL)
      ON CONFLICT (call_id) DO UPDATE SET token = NULL WHERE customer_id = excluded.customer_id`;
    this.#sql.exec(sql, callId, customerId, nowMs);
    return this.#row(callId)?.customer_id ?? customerId;
  }

  /** Gives back the claim of that token. */
  release(callId: string, token: string): void {
    if (this.#exists) this.#sql.exec('DELETE FROM claims WHERE call_id = ? AND token = ?', callId, token);
  }

  /** Forgets every call id of an erased customer. Answers how many there were. */
  forget(customerId: string): number {
    if (!this.#exists) return 0;
    return this.#sql
      .exec<{ call_id: string }>('DELETE FROM claims WHERE customer_id = ? RETURNING call_id', customerId)
      .toArray().length;
  }

  /** The customer whose call id it is. */
  find(callId: string): string | null {
    return this.#exists ? (this.#row(callId)?.customer_id ?? null) : null;
  }

  #row(callId: string): { customer_id: string; claimed_at_ms: number; token: string | null } | undefined {
    const sql = 'SELECT customer_id, claimed_at_ms, token FROM claims WHERE call_id = ?';
    return this.#sql
      .exec<{ customer_id: string; claimed_at_ms: number; token: string | null }>(sql, callId)
      .toArray()[0];
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
      CREATE TABLE claims (call_id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, claimed_at_ms INTEGER NOT NULL, token TEXT) WITHOUT ROWID;
      CREATE INDEX claims_by_age ON claims (claimed_at_ms);
    `);
    this.#exists = true;
    void this.ctx.storage.setAlarm(nowMs + DAY_MS);
  }
}
