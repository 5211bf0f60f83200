/**
 * class CallDirectory: which customer owns a call id. 64 objects per organization share the ids by hash.
 *
 * A claim carries the token of the request that made it. Only a holder of the token may release it, when nothing was
 * recorded under it; a claim without a token is final. The owner of a call that exists never changes, so it may be
 * cached anywhere. Claims are stored for as long as the organization keeps its calls; if there is an archive, which has
 * them for longer, for as long as an organization may. A walk over the claims, in the order of their ids, removes older ones: an
 * index of their age would be written with every claim.
 */

import { DurableObject } from 'cloudflare:workers';
import { withRetentionDefaults } from '../src/config/kept-part.ts';
import { findOrganizationRow } from '../src/config/organizations.ts';
import { RETENTION_DAYS_MAX } from '../src/contract/operator.ts';
import { asOrganizationId, type CallId, type CustomerId } from '../src/domain/ids.ts';
import type { Env } from '../src/env.ts';
import type { Claim } from '../src/objects/job-commands.ts';
import type { CallDirectoryRpc } from '../src/objects/rpc.ts';
import { BoundedMap } from '../src/platform/bounded-map.ts';
import { log } from '../src/platform/log.ts';
import { DAY_MS } from '../src/platform/time.ts';
import { GroupCommit } from './group-commit.ts';
import { prepareObject, runAlarm } from './newer-state.ts';
import { type Migration, ObjectSchema, REWRITE_PAUSE_MS } from './schema.ts';
import { StoredValue } from './stored-value.ts';

/** The schema, as a list of migrations. Append only: existing objects have run the ones before, the first without a version. */
const MIGRATIONS: readonly Migration[] = [
  `
  CREATE TABLE IF NOT EXISTS claims (
    call_id TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL,
    claimed_at_ms INTEGER NOT NULL,
    token TEXT
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS claims_by_age ON claims (claimed_at_ms);
  `,
  `
  DROP INDEX claims_by_age;
  -- How far the walk has come that removes old claims; no row between two walks.
  CREATE TABLE prune_walk (id INTEGER PRIMARY KEY CHECK (id = 1), after TEXT NOT NULL);
  `,
];

/** Claims that one alarm looks at, and the wait for the next one of the same walk. */
const WALKED_ROWS_MAX = 5_000;
const WALK_STEP_MS = 1_000;
/** A walk begins after a part of the time for which claims are kept, so that each claim is looked at a few times. */
const WALKS_OF_A_CLAIM = 5;
/** A walk begins at least this often: an organization may keep its calls for less time now. */
const WALK_PAUSE_DAYS_MAX = 30;
/** A call may begin days after its claim, and the retention may be behind. */
const CLAIM_DAYS_MORE = 10;
/** Lines of a batch are recorded under claims until 30 days after it began. */
const CLAIM_DAYS_MIN = 40;
/** The organization of the directory, which remembers it: an alarm need not tell an object its name. */
const ORGANIZATION = new StoredValue('organizationId', [(id) => asOrganizationId(id as string)]);
/** Owners of call ids that an erasure forgot just now. */
const ERASED_MAX = 1_000;

export class CallDirectory extends DurableObject<Env> implements CallDirectoryRpc {
  readonly #sql = this.ctx.storage.sql;
  readonly #schema = new ObjectSchema(this.ctx.storage, 'CallDirectory', MIGRATIONS);
  /** Whether there are claims; `null` before the object opened its tables. */
  #hasClaims: boolean | null = null;
  readonly #commits = new GroupCommit();
  /** In memory alone: nothing stored tells of a customer who was erased. */
  readonly #erased = new BoundedMap<string, CustomerId>(ERASED_MAX);

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(() => prepareObject(() => this.#load()));
  }

  async #load(): Promise<void> {
    if (!this.#exists) return;
    await this.#rememberOrganization();
    if (this.#schema.hasUnfinished) await this.ctx.storage.setAlarm(Date.now());
  }

  /** Opens the tables, if there are any. */
  get #exists(): boolean {
    if (this.#hasClaims === null) {
      const exists = this.#schema.exists();
      if (exists) this.#schema.migrate();
      this.#hasClaims = exists;
    }
    return this.#hasClaims;
  }

  /** Gives the call id to the customer, unless another has it. Answers with the claim that is in force. */
  claim(callId: CallId, customerId: CustomerId, token: string): Claim | Promise<Claim> {
    return this.#commits.run(() => this.#claim(callId, customerId, token));
  }

  #claim(callId: CallId, customerId: CustomerId, token: string): Claim {
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
   * Makes the customer's claim final, also where it was released. Answers with the customer who owns the call id.
   */
  confirm(callId: CallId, customerId: CustomerId): CustomerId {
    const nowMs = Date.now();
    if (!this.#exists) this.#create(nowMs);
    const sql = `INSERT INTO claims (call_id, customer_id, claimed_at_ms, token) VALUES (?, ?, ?, NULL)
      ON CONFLICT (call_id) DO UPDATE SET token = NULL WHERE customer_id = excluded.customer_id`;
    this.#sql.exec(sql, callId, customerId, nowMs);
    return this.#row(callId)?.customer_id ?? customerId;
  }

  /** Releases the claim that was made with the token. */
  release(callId: CallId, token: string): void {
    if (this.#exists) this.#sql.exec('DELETE FROM claims WHERE call_id = ? AND token = ?', callId, token);
  }

  forget(customerId: CustomerId, claimedByMs: number): number {
    if (!this.#exists) return 0;
    const sql = 'DELETE FROM claims WHERE customer_id = ? AND claimed_at_ms <= ? RETURNING call_id';
    const forgotten = this.#sql.exec<{ call_id: string }>(sql, customerId, claimedByMs).toArray();
    for (const { call_id } of forgotten) this.#erased.set(call_id, customerId);
    return forgotten.length;
  }

  /** The customer who owns the call id; just after an erasure also who owned it, because the object says what became of it. */
  find(callId: CallId): CustomerId | null {
    const owner = this.#exists ? this.#row(callId)?.customer_id : undefined;
    return owner ?? this.#erased.get(callId) ?? null;
  }

  /** When the call id was claimed. */
  claimedAt(callId: CallId): number | null {
    return this.#exists ? (this.#row(callId)?.claimed_at_ms ?? null) : null;
  }

  #row(callId: CallId): { customer_id: CustomerId; claimed_at_ms: number; token: string | null } | undefined {
    const sql = 'SELECT customer_id, claimed_at_ms, token FROM claims WHERE call_id = ?';
    return this.#sql
      .exec<{ customer_id: CustomerId; claimed_at_ms: number; token: string | null }>(sql, callId)
      .toArray()[0];
  }

  override alarm(): Promise<void> {
    return runAlarm(this.ctx, () => this.#housekeep());
  }

  async #housekeep(): Promise<void> {
    if (!this.#exists) return;
    const nowMs = Date.now();
    let delayMs = DAY_MS;
    try {
      const keptDays = await this.#daysOfClaims();
      const isWalked = this.ctx.storage.transactionSync(() => this.#pruneNext(nowMs - keptDays * DAY_MS));
      delayMs = isWalked ? Math.min(keptDays / WALKS_OF_A_CLAIM, WALK_PAUSE_DAYS_MAX) * DAY_MS : WALK_STEP_MS;
      await this.#schema.rewriteRows();
      if (this.#schema.hasUnfinished) delayMs = REWRITE_PAUSE_MS;
    } catch (error) {
      // An alarm that fails too often is dropped, and nothing would be pruned any more.
      log('error', 'claims_not_pruned', { objectId: this.ctx.id.toString() }, error);
    }
    await this.ctx.storage.setAlarm(nowMs + delayMs);
  }

  /** What is not known is kept. */
  async #daysOfClaims(): Promise<number> {
    const organizationId = await ORGANIZATION.get(this.ctx.storage);
    if (organizationId === undefined || this.env.ARCHIVE) return RETENTION_DAYS_MAX;
    const row = await findOrganizationRow(this.env, organizationId);
    if (!row) return RETENTION_DAYS_MAX;
    return Math.max(CLAIM_DAYS_MIN, withRetentionDefaults(row.retention).callRetentionDays + CLAIM_DAYS_MORE);
  }

  async #rememberOrganization(): Promise<void> {
    // The name is the organization and the number of the shard.
    const name = this.ctx.id.name?.slice(0, this.ctx.id.name.lastIndexOf(':'));
    if (name === undefined || (await ORGANIZATION.get(this.ctx.storage)) === name) return;
    await ORGANIZATION.put(this.ctx.storage, asOrganizationId(name));
  }

  /** Forgets claims of the next step of the walk that were made before then. Returns whether the walk has come to its end. */
  #pruneNext(beforeMs: number): boolean {
    const after = this.#sql.exec<{ after: string }>('SELECT after FROM prune_walk').toArray()[0]?.after ?? '';
    const end = 'SELECT call_id FROM claims WHERE call_id > ? ORDER BY call_id LIMIT 1 OFFSET ?';
    const last = this.#sql.exec<{ call_id: string }>(end, after, WALKED_ROWS_MAX - 1).toArray()[0]?.call_id ?? null;
    const remove = 'DELETE FROM claims WHERE call_id > ?1 AND (?2 IS NULL OR call_id <= ?2) AND claimed_at_ms < ?3';
    this.#sql.exec(remove, after, last, beforeMs);
    if (last === null) this.#sql.exec('DELETE FROM prune_walk');
    else this.#sql.exec('INSERT OR REPLACE INTO prune_walk (id, after) VALUES (1, ?)', last);
    return last === null;
  }

  #create(nowMs: number): void {
    this.#schema.migrate();
    this.#hasClaims = true;
    void this.#rememberOrganization();
    void this.ctx.storage.setAlarm(nowMs + DAY_MS);
  }
}
