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

/** The prefix of a request's name. */
const REQUEST_PREFIX = 'request:';
/** The most requests that one erasure reaches; it is sent again for more. */
const ERASE_MAX = 100;

export class CustomerBatches extends DurableObject<Env> implements CustomerBatchesRpc {
  async add(requestName: string): Promise<void> {
    await this.ctx.storage.put(REQUEST_PREFIX + requestName, true);
  }

  /** Called when the request's object is gone. */
  async forget(requestName: string): Promise<void> {
    await this.#remove([REQUEST_PREFIX + requestName]);
  }

  /** Erases the objects of a bounded number of requests. Returns the number, and whether more may exist. */
  async erase(organizationId: OrganizationId): Promise<{ erased: number; more: boolean }> {
    const keys = await this.#keys(ERASE_MAX);
    const names = keys.map((key) => key.slice(REQUEST_PREFIX.length));
    await Promise.all(
      names.map((name) => ask(batchByRequest(this.env, organizationId, name), (batch) => batch.erase())),
    );
    await this.#remove(keys);
    return { erased: names.length, more: names.length === ERASE_MAX };
  }

  /**
   * Older objects, from before the customer's own object had the holds of batches, still have an alarm and that entry.
   */
  override async alarm(): Promise<void> {
    await this.#remove(['holds']);
  }

  /** Leaves nothing behind if the customer has no batches. */
  async #remove(keys: string[]): Promise<void> {
    const { storage } = this.ctx;
    await storage.delete(keys);
    if ((await this.#keys(1)).length > 0) return;
    await storage.deleteAlarm();
    await storage.deleteAll();
  }

  async #keys(limit: number): Promise<string[]> {
    return [...(await this.ctx.storage.list({ prefix: REQUEST_PREFIX, limit })).keys()];
  }
}
