/**
 * class CustomerBatches: one object per customer that sends batches: its requests for batches, and what they hold of
 * its allowance.
 *
 * Batches are admitted one after the other, so that each sees what the others hold. A request is listed from its
 * admission until its object is erased, so that an erasure of the customer finds all of them.
 */

import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../src/env.ts';
import { admitBatch } from '../src/gateway/batches/admission.ts';
import { HOLDS_MAX, type Holds, lastExpiry, replaced, standing } from '../src/gateway/batches/holds.ts';
import { callerOf } from '../src/gateway/batches/metering.ts';
import { brokenAnswer, type Refused, refusalAnswer, refuseCall } from '../src/gateway/error-envelope.ts';
import { ask, batchByRequest } from '../src/objects/addresses.ts';
import type { BatchAnswer, BatchToAdmit, Lines } from '../src/objects/batch-commands.ts';
import type { CustomerBatchesRpc } from '../src/objects/rpc.ts';
import { log } from '../src/platform/log.ts';
import { put } from './stored-value.ts';

const HOLDS_KEY = 'holds';
/** Before the name of a request. */
const REQUEST_PREFIX = 'request:';
/** Requests that one erasure reaches; it is sent again for more. */
const ERASE_MAX = 100;

export class CustomerBatches extends DurableObject<Env> implements CustomerBatchesRpc {
  /** The admission under way: the next one waits for it, and sees what it holds. */
  #admission: Promise<unknown> = Promise.resolve();

  /** Admits the batch and holds its lines; or says why not. Sent again, it holds them once. */
  hold(batch: BatchToAdmit): Promise<BatchAnswer | null> {
    const admitted = this.#admission
      .then(() => this.#admit(batch))
      .catch((error) => {
        // The runtime logs an error that leaves an object, with the values of its query.
        const answer = brokenAnswer(error);
        log(answer.status === 503 ? 'warn' : 'error', 'batch_not_admitted', { requestName: batch.requestName }, error);
        return answer;
      });
    this.#admission = admitted.catch(() => undefined);
    return admitted;
  }

  /** Replaces what a request holds; `null` is nothing. */
  async replaceHold(requestName: string, lines: Lines | null): Promise<void> {
    const holds = await this.#holds();
    const held = holds[requestName];
    if (held) await this.#save(replaced(holds, requestName, lines && { ...held, lines }));
  }

  /** The request's object is gone. */
  async forget(requestName: string): Promise<void> {
    await this.replaceHold(requestName, null);
    await this.ctx.storage.delete(REQUEST_PREFIX + requestName);
    await this.#deleteIfEmpty();
  }

  /**
   * Erases the objects of a bounded number of requests, and what they held. Answers how many, and whether there may be
   * more.
   */
  async erase(organizationId: string): Promise<{ erased: number; more: boolean }> {
    await this.#admission;
    const { storage } = this.ctx;
    const keys = [...(await storage.list({ prefix: REQUEST_PREFIX, limit: ERASE_MAX })).keys()];
    if (keys.length === 0) return { erased: 0, more: false };
    const names = keys.map((key) => key.slice(REQUEST_PREFIX.length));
    await Promise.all(
      names.map((name) => ask(batchByRequest(this.env, organizationId, name), (batch) => batch.erase())),
    );
    await storage.delete(keys);
    await this.#save(names.reduce((holds, name) => replaced(holds, name, null), await this.#holds()));
    await this.#deleteIfEmpty();
    return { erased: names.length, more: names.length === ERASE_MAX };
  }

  /** Drops holds whose deadline has come. */
  override async alarm(): Promise<void> {
    await this.#save(await this.#holds());
    await this.#deleteIfEmpty();
  }

  async #admit(batch: BatchToAdmit): Promise<BatchAnswer | null> {
    const caller = await callerOf(this.env, batch.organizationId, (work) => this.ctx.waitUntil(work));
    const holds = await this.#holds();
    const admitted = Object.keys(holds).length < HOLDS_MAX ? await admitBatch(caller, batch, holds) : tooManyBatches();
    if (!admitted.ok) return refusalAnswer(admitted.refusal);
    const expiresAtMs = Date.now() + this.env.BATCH_CALL_DEADLINE_SECONDS * 1_000;
    await this.ctx.storage.put(REQUEST_PREFIX + batch.requestName, true);
    // Read again, because holds may have been replaced meanwhile.
    await this.#save(replaced(await this.#holds(), batch.requestName, { lines: batch.lines, expiresAtMs }));
    return null;
  }

  async #holds(): Promise<Holds> {
    return standing((await this.ctx.storage.get<Holds>(HOLDS_KEY)) ?? {}, Date.now());
  }

  async #save(holds: Holds): Promise<void> {
    const expiresAtMs = lastExpiry(holds);
    await this.ctx.storage.transaction(async (transaction) => {
      if (expiresAtMs === null) {
        await transaction.delete(HOLDS_KEY);
        await transaction.deleteAlarm();
      } else {
        await put(transaction, HOLDS_KEY, holds);
        await transaction.setAlarm(expiresAtMs);
      }
    });
  }

  /** Leaves nothing behind where the customer has no batches. */
  async #deleteIfEmpty(): Promise<void> {
    if ((await this.ctx.storage.list({ limit: 1 })).size === 0) await this.ctx.storage.deleteAll();
  }
}

function tooManyBatches(): Refused {
  return refuseCall('RATE_LIMITED', `a customer may have ${HOLDS_MAX} batches under way`, { retry: false });
}
