/**
 * class PlanMigration: one object per job that moves every subscription of a plan to its newest version.
 *
 * It walks through the customers in D1 in the order of their ids, a batch per alarm, and stores its place, so that it
 * continues after a restart. A customer whose object fails does not block the others. Customers that a walk missed
 * (their row was not in D1 yet, or they failed) are found by the next walk; the job is done when a walk finds none.
 */

import { DurableObject } from 'cloudflare:workers';
import type { PlanMigration as Progress } from '../src/contract/operator-customers.ts';
import type { Env } from '../src/env.ts';
import type { MigrationCommand } from '../src/objects/job-commands.ts';
import type { PlanMigrationRpc } from '../src/objects/rpc.ts';
import { errorText } from '../src/platform/log.ts';
import { DAY_MS } from '../src/platform/time.ts';
import { countOlderSubscriptions, findOlderSubscriptions } from '../src/storage/plan-migration.ts';
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
/** Customers that are moved at the same time. */
const CONCURRENCY = 20;
/** Pause after a walk, in which the moved customers' rows reach D1. */
const WALK_PAUSE_MS = 5_000;
const RETRY_MS = 5_000;
/** A finished job can be read for this long. */
const RETENTION_MS = 30 * DAY_MS;
const KEY = 'state';

export class PlanMigration extends DurableObject<Env> implements PlanMigrationRpc {
  /** Starts the job; one that was started before continues. */
  async start(migration: MigrationCommand): Promise<void> {
    if (await this.ctx.storage.get(KEY)) return;
    const total = await countOlderSubscriptions(this.env, migration);
    const startedAtMs = Date.now();
    const counts = { total, migrated: 0, unchanged: 0, failures: 0, found: 0 };
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

  /** Deletes the job when its retention has passed. An alarm that fires early only sets the next one. */
  async #retire(atMs: number): Promise<void> {
    if (Date.now() < atMs) return this.ctx.storage.setAlarm(atMs);
    await this.ctx.storage.deleteAll();
  }

  /** One batch, or the end of a walk. */
  async #step(state: State): Promise<void> {
    const customerIds = await findOlderSubscriptions(this.env, state, state.after, CUSTOMERS_PER_BATCH);
    const nowMs = Date.now();
    if (customerIds.length === 0) {
      // Customers that were created a moment before the job may have no row yet.
      const again = state.found > 0 || nowMs - state.startedAtMs < WALK_PAUSE_MS;
      if (again) return this.#save({ ...state, after: null, found: 0 }, nowMs + WALK_PAUSE_MS);
      return this.#save({ ...state, finishedAtMs: nowMs }, nowMs + RETENTION_MS);
    }
    const next: State = { ...state, found: state.found + customerIds.length, after: customerIds.at(-1) ?? null };
    for (let from = 0; from < customerIds.length; from += CONCURRENCY) {
      const some = customerIds.slice(from, from + CONCURRENCY);
      await Promise.all(some.map((customerId) => this.#migrate(next, customerId)));
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
