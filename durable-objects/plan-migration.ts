/**
 * class PlanMigration: one object per job that moves every subscription of a plan to its newest version.
 *
 * It walks the customers in D1 in order of their ids, a batch per alarm, and keeps its place: a restart goes on where
 * it was. A customer that cannot be reached does not hold the others up. What is left after a walk (customers whose row
 * was not there yet, or that failed) is found by the next one; the job is done when a walk finds nobody.
 */

import { DurableObject } from 'cloudflare:workers';
import type { PlanMigration as Progress } from '../src/contract/operator-customers.ts';
import type { Env } from '../src/env.ts';
import type { MigrationCommand } from '../src/objects/job-commands.ts';
import type { PlanMigrationRpc } from '../src/objects/rpc.ts';
import { errorText } from '../src/platform/log.ts';
import { DAY_MS } from '../src/platform/time.ts';
import { put } from './stored-value.ts';

interface State extends MigrationCommand {
  total: number;
  migrated: number;
  unchanged: number;
  failures: number;
  lastError: string | null;
  startedAtMs: number;
  finishedAtMs: number | null;
  /** The last customer of this walk; `null` before the first. */
  after: string | null;
  /** Customers that this walk has found. */
  found: number;
}

const CUSTOMERS_PER_BATCH = 200;
/** Customers that are asked at the same time. */
const CONCURRENCY = 20;
/** After a walk, until the moved customers' rows have reached D1. */
const WALK_PAUSE_MS = 3_000;
const RETRY_MS = 5_000;
/** A finished job can be read for this long. */
const RETENTION_MS = 30 * DAY_MS;
const KEY = 'state';

/**
 * Subscriptions that are on an older version of the plan, or are to change to one: what src/domain/account.ts moves.
 * The parameters are numbered; ?1 is the organization.
 */
const OLDER =
  'SELECT usage_plan_version_id FROM plan_versions WHERE organization_id = ?1 AND plan_id = ?2 AND version < ?3';
const WHERE = `organization_id = ?1 AND (pending_usage_plan_version_id IN (${OLDER})
  OR (usage_plan_version_id IN (${OLDER}) AND (?4 = 'NOW' OR pending_usage_plan_version_id IS NULL)))`;

export class PlanMigration extends DurableObject<Env> implements PlanMigrationRpc {
  /** Begins the job; a job that was begun before goes on. */
  async start(migration: MigrationCommand): Promise<void> {
    if (await this.ctx.storage.get(KEY)) return;
    const row = await this.env.DB.prepare(`SELECT COUNT(*) AS total FROM customers WHERE ${WHERE}`)
      .bind(...conditionsOf(migration))
      .first<{ total: number }>();
    const startedAtMs = Date.now();
    const counts = { total: row?.total ?? 0, migrated: 0, unchanged: 0, failures: 0, found: 0 };
    await this.#save(
      { ...migration, ...counts, lastError: null, startedAtMs, finishedAtMs: null, after: null },
      startedAtMs,
    );
  }

  async read(organizationId: string): Promise<Progress | null> {
    const state = await this.ctx.storage.get<State>(KEY);
    return state && state.organizationId === organizationId ? present(state) : null;
  }

  override async alarm(): Promise<void> {
    const state = await this.ctx.storage.get<State>(KEY);
    if (!state) return;
    if (state.finishedAtMs !== null) return this.#retire(state.finishedAtMs + RETENTION_MS);
    try {
      await this.#step(state);
    } catch (error) {
      const lastError = errorText(error);
      await this.#save({ ...state, failures: state.failures + 1, lastError }, Date.now() + RETRY_MS);
    }
  }

  /** Forgets the job once its time has come. An alarm that fires again, or early, takes nothing away. */
  async #retire(atMs: number): Promise<void> {
    if (Date.now() < atMs) return this.ctx.storage.setAlarm(atMs);
    await this.ctx.storage.deleteAll();
  }

  /** One batch, or the end of a walk. */
  async #step(state: State): Promise<void> {
    const { results } = await this.env.DB.prepare(
      `SELECT customer_id FROM customers WHERE ${WHERE} AND customer_id > ?5 ORDER BY customer_id LIMIT ?6`,
    )
      .bind(...conditionsOf(state), state.after ?? '', CUSTOMERS_PER_BATCH)
      .all<{ customer_id: string }>();
    const nowMs = Date.now();
    if (results.length === 0) {
      // Customers who began a moment before the job have no row yet either.
      const again = state.found > 0 || nowMs - state.startedAtMs < WALK_PAUSE_MS;
      if (again) return this.#save({ ...state, after: null, found: 0 }, nowMs + WALK_PAUSE_MS);
      return this.#save({ ...state, finishedAtMs: nowMs }, nowMs + RETENTION_MS);
    }
    const next: State = { ...state, found: state.found + results.length, after: results.at(-1)?.customer_id ?? null };
    for (let from = 0; from < results.length; from += CONCURRENCY) {
      const some = results.slice(from, from + CONCURRENCY);
      await Promise.all(some.map(({ customer_id }) => this.#migrate(next, customer_id)));
    }
    await this.#save(next, Date.now());
  }

  /** Moves one customer, and counts it. */
  async #migrate(state: State, customerId: string): Promise<void> {
    const { organizationId, target, when } = state;
    try {
      const moved = await this.env.CUSTOMERS.getByName(`${organizationId}:${customerId}`).migrate({
        organizationId,
        target,
        when,
      });
      if (moved) state.migrated += 1;
      else state.unchanged += 1;
    } catch (error) {
      state.failures += 1;
      state.lastError = errorText(error);
    }
  }

  async #save(state: State, wakeAtMs: number): Promise<void> {
    await this.ctx.storage.transaction(async (transaction) => {
      await put(transaction, KEY, state);
      await transaction.setAlarm(wakeAtMs);
    });
  }
}

function conditionsOf({ organizationId, target, when }: MigrationCommand): unknown[] {
  return [organizationId, target.planId, target.version, when];
}

function present(state: State): Progress {
  const { jobId, target, when, total, migrated, unchanged, failures, lastError, startedAtMs, finishedAtMs } = state;
  return {
    jobId,
    planId: target.planId,
    usagePlanVersionId: target.usagePlanVersionId,
    when,
    status: finishedAtMs === null ? 'RUNNING' : 'COMPLETED',
    total,
    migrated,
    unchanged,
    failures,
    lastError,
    startedAt: new Date(startedAtMs).toISOString(),
    finishedAt: finishedAtMs === null ? null : new Date(finishedAtMs).toISOString(),
  };
}
