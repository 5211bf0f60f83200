/**
 * class CustomerBatches: one object per customer that sends batches: the list of the customer's requests for batches,
 * for an erasure.
 *
 * A request is listed before anything of the customer is held for it, and until its object is erased.
 */

import { DurableObject } from 'cloudflare:workers';
import type { OrganizationId } from '../src/domain/ids.ts';
import type { Env } from '../src/env.ts';
import { ask, batchByRequest } from '../src/objects/addresses.ts';
import type { CustomerBatchesRpc } from '../src/objects/rpc.ts';
import { runAlarm } from './newer-state.ts';
import { StoredValue } from './stored-value.ts';

/** The prefix of a request's name. */
const REQUEST_PREFIX = 'request:';
const REQUESTS = new StoredValue<true>(REQUEST_PREFIX, [() => true]);
/** The most requests that one erasure reaches; it is sent again for more. */
const ERASE_MAX = 100;

export class CustomerBatches extends DurableObject<Env> implements CustomerBatchesRpc {
  async add(requestName: string): Promise<void> {
    await REQUESTS.putOne(this.ctx.storage, requestName, true);
  }

  /** Called when the request's object is gone. */
  async forget(requestName: string): Promise<void> {
    await this.#remove([REQUEST_PREFIX + requestName]);
  }

  /** Erases the objects of a bounded number of requests. Returns the number, and whether more may exist. */
  async erase(organizationId: OrganizationId): Promise<{ erased: number; more: boolean }> {
    const names = await this.#names(ERASE_MAX);
    await Promise.all(
      names.map((name) => ask(batchByRequest(this.env, organizationId, name), (batch) => batch.erase())),
    );
    await this.#remove(names.map((name) => REQUEST_PREFIX + name));
    return { erased: names.length, more: names.length === ERASE_MAX };
  }

  /**
   * Older objects, from before the customer's own object had the holds of batches, still have an alarm and that entry.
   */
  override alarm(): Promise<void> {
    return runAlarm(this.ctx, () => this.#remove(['holds']));
  }

  /** Leaves nothing behind if the customer has no batches. */
  async #remove(keys: string[]): Promise<void> {
    const { storage } = this.ctx;
    await storage.delete(keys);
    if ((await this.#names(1)).length > 0) return;
    await storage.deleteAlarm();
    await storage.deleteAll();
  }

  async #names(limit: number): Promise<string[]> {
    return [...(await REQUESTS.list(this.ctx.storage, limit)).keys()];
  }
}
