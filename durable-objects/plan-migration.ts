/**
 * class PlanMigration: one object per job that moves every subscription of a plan to its newest version.
 *
 * It walks through the customers in D1 in the order of their ids, a batch per alarm, and stores its position, so that
 * it continues after a restart. A customer whose object fails does not block the others. The next walk finds customers
 * that a walk missed (their row was not in D1 yet, or they failed); the job is done when a walk finds none.
 */

import { DurableObject } from 'cloudflare:workers';
import type { PlanMigration as Progress } from '../src/contract/operator-customers.ts';
import type { CustomerId, OrganizationId } from '../src/domain/ids.ts';
import type { Env } from '../src/env.ts';
import { countOlderSubscriptions, findOlderSubscriptions } from '../src/history/plan-migration.ts';
import type { MigrationCommand } from '../src/objects/job-commands.ts';
import type { PlanMigrationRpc } from '../src/objects/rpc.ts';
import { errorText } from '../src/platform/log.ts';
import { type JobState, newJob, presentJob, StoredJob } from './job.ts';
import { runAlarm } from './newer-state.ts';

interface State extends MigrationCommand, JobState {
  total: number;
  migrated: number;
  unchanged: number;
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

export class PlanMigration extends DurableObject<Env> implements PlanMigrationRpc {
  readonly #job = new StoredJob<State>(this.ctx.storage);

  /** Starts the job; one that was started before continues. */
  async start(migration: MigrationCommand): Promise<void> {
    if (await this.#job.state()) return;
    const total = await countOlderSubscriptions(this.env, migration);
    const startedAtMs = Date.now();
    const counts = { total, migrated: 0, unchanged: 0, found: 0 };
    await this.#job.save({ ...migration, ...newJob(startedAtMs), ...counts, after: null }, startedAtMs);
  }

  async read(organizationId: OrganizationId): Promise<Progress | null> {
    const state = await this.#job.stateFor(organizationId);
    return state && present(state);
  }

  override alarm(): Promise<void> {
    return runAlarm(this.ctx, () => this.#job.wake((state) => this.#step(state)));
  }

  /** Makes one batch, or ends a walk. */
  async #step(state: State): Promise<void> {
    const customerIds = await findOlderSubscriptions(this.env, state, state.after, CUSTOMERS_PER_BATCH);
    const nowMs = Date.now();
    if (customerIds.length === 0) {
      // Customers that were created a moment before the job may have no row yet.
      const again = state.found > 0 || nowMs - state.startedAtMs < WALK_PAUSE_MS;
      if (again) return this.#job.save({ ...state, after: null, found: 0 }, nowMs + WALK_PAUSE_MS);
      return this.#job.finish(state, nowMs);
    }
    const next: State = { ...state, found: state.found + customerIds.length, after: customerIds.at(-1) ?? null };
    for (let from = 0; from < customerIds.length; from += CONCURRENCY) {
      const some = customerIds.slice(from, from + CONCURRENCY);
      await Promise.all(some.map((customerId) => this.#migrate(next, customerId)));
    }
    await this.#job.save(next, Date.now());
  }

  /** Moves one customer, and counts it. */
  async #migrate(state: State, customerId: CustomerId): Promise<void> {
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
}

function present(state: State): Progress {
  const { target, when, total, migrated, unchanged } = state;
  return {
    ...presentJob(state),
    planId: target.planId,
    usagePlanVersionId: target.usagePlanVersionId,
    when,
    total,
    migrated,
    unchanged,
  };
}
