/**
 * class OrganizationWatch: one object per organization. It finds events that no single customer's transaction finds,
 * and reports them to the organization (src/events/watch).
 *
 * It looks every hour while the organization had calls in the last 30 days, and otherwise when it is woken. Its events
 * wait here until D1 has them.
 */

import { DurableObject } from 'cloudflare:workers';
import type { CustomerId, OrganizationId } from '../src/domain/ids.ts';
import type { Env } from '../src/env.ts';
import { runWatch } from '../src/events/watch/run.ts';
import type { OrganizationWatchRpc } from '../src/objects/rpc.ts';
import { runAutopilot } from '../src/operator/autopilot.ts';
import { log } from '../src/platform/log.ts';
import { MINUTE_MS, SECOND_MS } from '../src/platform/time.ts';
import { runAlarm } from './newer-state.ts';
import { StoredWatch } from './organization-watch/store.ts';

/** Changes that come at the same time are handled together. */
const GATHER_MS = SECOND_MS;
/** The wait after a run that failed for an unexpected reason. */
const RETRY_MS = 10 * MINUTE_MS;

export class OrganizationWatch extends DurableObject<Env> implements OrganizationWatchRpc {
  #opened: StoredWatch | null = null;
  /** The current run: an event that it sends may concern a customer who is erased meanwhile. */
  #running: Promise<void> | null = null;

  /** Looks soon if no run is planned; also if one is planned but there `isNews`. */
  async wake(organizationId: OrganizationId, isNews: boolean): Promise<void> {
    this.#store.watch(organizationId);
    const { storage } = this.ctx;
    const [alarmMs, soonMs] = [await storage.getAlarm(), Date.now() + GATHER_MS];
    if (alarmMs === null || (isNews && alarmMs > soonMs)) await storage.setAlarm(soonMs);
  }

  async erase(customerId: CustomerId): Promise<number> {
    const erased = this.#store.erase(customerId, Date.now());
    await this.#running;
    return erased;
  }

  override alarm(): Promise<void> {
    return runAlarm(this.ctx, async () => {
      this.#running = this.#run(Date.now());
      await this.#running;
      this.#running = null;
    });
  }

  get #store(): StoredWatch {
    this.#opened ??= new StoredWatch(this.ctx.storage);
    return this.#opened;
  }

  async #run(nowMs: number): Promise<void> {
    const organizationId = this.#store.organizationId();
    if (organizationId === null) return;
    const defer = (work: Promise<unknown>) => this.ctx.waitUntil(work);
    let nextMs: number | null = nowMs + RETRY_MS;
    try {
      const run = { env: this.env, organizationId, nowMs, defer };
      nextMs = await runWatch({ ...run, runAutopilot: () => runAutopilot(run) }, this.#store);
    } catch (error) {
      log('error', 'alarm_failed', { objectId: this.ctx.id.toString() }, error);
    }
    // A wake in the meantime has set an earlier one.
    const alarmMs = await this.ctx.storage.getAlarm();
    if (nextMs !== null && (alarmMs === null || nextMs < alarmMs)) await this.ctx.storage.setAlarm(nextMs);
  }
}
