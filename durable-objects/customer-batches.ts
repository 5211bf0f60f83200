/**
 * class CustomerBatches: what a customer's batches hold of its allowance, and which requests for batches there are.
 *
 * Batches are admitted one after the other, so that each sees what the others hold. A request is known from its
 * admission until its object forgets it: an erasure finds all of them.
 */

import type { Env } from '../src/env.ts';
import { admitBatch } from '../src/gateway/batches/admission.ts';
import { HOLDS_MAX, type Holds, lastExpiry, replaced, standing } from '../src/gateway/batches/holds.ts';
import { callerOf } from '../src/gateway/batches/metering.ts';
import { brokenAnswer, type Refused, refusalAnswer, refuseCall } from '../src/gateway/error-envelope.ts';
import { ask, batchByRequest } from '../src/objects/addresses.ts';
import type { BatchAnswer, BatchToAdmit, Lines } from '../src/objects/batch-commands.ts';
import { log } from '../src/platform/log.ts';
import { put } from './stored-value.ts';

const HOLDS_KEY = 'holds';
/** Before the name of a request. */
const REQUEST_PREFIX = 'request:';
/** Requests that one erasure reaches; it is sent again for more. */
const ERASE_MAX = 100;

export class CustomerBatches {
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  /** The admission under way: the next one sees what it holds. */
  #admission: Promise<unknown> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: Env) {
    this.#ctx = ctx;
    this.#env = env;
  }

  /** Admits the batch and holds its lines; or says why not. Sent again, it holds them once. */
  hold(organizationId: string, batch: BatchToAdmit): Promise<BatchAnswer | null> {
    const admitted = this.#admission
      .then(() => this.#admit(organizationId, batch))
      .catch((error) => {
        // As in the request's object: an error that left this one would be logged by the runtime, with the values of
        // its query.
        const answer = brokenAnswer(error);
        log(answer.status === 503 ? 'warn' : 'error', 'batch_not_admitted', { requestName: batch.requestName }, error);
        return answer;
      });
    this.#admission = admitted.catch(() => undefined);
    return admitted;
  }

  /** What a batch holds from now on; `null` is nothing. */
  async settle(requestName: string, lines: Lines | null): Promise<void> {
    const holds = await this.#holds();
    const held = holds[requestName];
    if (held) await this.#save(replaced(holds, requestName, lines && { ...held, lines }));
  }

  /** The request's object holds nothing any more. */
  async forget(requestName: string): Promise<void> {
    await this.settle(requestName, null);
    await this.#ctx.storage.delete(REQUEST_PREFIX + requestName);
    await this.#tidy();
  }

  /**
   * Erases the objects of a bounded number of requests, and what they held. Says how many, and whether some are left.
   */
  async erase(organizationId: string): Promise<{ erased: number; more: boolean }> {
    await this.#admission;
    const { storage } = this.#ctx;
    const keys = [...(await storage.list({ prefix: REQUEST_PREFIX, limit: ERASE_MAX })).keys()];
    if (keys.length === 0) return { erased: 0, more: false };
    const names = keys.map((key) => key.slice(REQUEST_PREFIX.length));
    await Promise.all(
      names.map((name) => ask(batchByRequest(this.#env, organizationId, name), (batch) => batch.erase())),
    );
    await storage.delete(keys);
    await this.#save(names.reduce((holds, name) => replaced(holds, name, null), await this.#holds()));
    await this.#tidy();
    return { erased: names.length, more: names.length === ERASE_MAX };
  }

  /** Lets go of holds whose deadline has come. */
  async expire(): Promise<void> {
    await this.#save(await this.#holds());
    await this.#tidy();
  }

  async #admit(organizationId: string, batch: BatchToAdmit): Promise<BatchAnswer | null> {
    const caller = await callerOf(this.#env, organizationId, (work) => this.#ctx.waitUntil(work));
    const holds = await this.#holds();
    const admitted = Object.keys(holds).length < HOLDS_MAX ? await admitBatch(caller, batch, holds) : tooManyBatches();
    if (!admitted.ok) return refusalAnswer(admitted.refusal);
    const expiresAtMs = Date.now() + this.#env.BATCH_CALL_DEADLINE_SECONDS * 1_000;
    await this.#ctx.storage.put(REQUEST_PREFIX + batch.requestName, true);
    // What was settled meanwhile stays settled.
    await this.#save(replaced(await this.#holds(), batch.requestName, { lines: batch.lines, expiresAtMs }));
    return null;
  }

  async #holds(): Promise<Holds> {
    return standing((await this.#ctx.storage.get<Holds>(HOLDS_KEY)) ?? {}, Date.now());
  }

  async #save(holds: Holds): Promise<void> {
    const expiresAtMs = lastExpiry(holds);
    await this.#ctx.storage.transaction(async (transaction) => {
      if (expiresAtMs === null) {
        await transaction.delete(HOLDS_KEY);
        await transaction.deleteAlarm();
      } else {
        await put(transaction, HOLDS_KEY, holds);
        await transaction.setAlarm(expiresAtMs);
      }
    });
  }

  /** Of a customer without batches nothing is left. */
  async #tidy(): Promise<void> {
    if ((await this.#ctx.storage.list({ limit: 1 })).size === 0) await this.#ctx.storage.deleteAll();
  }
}

function tooManyBatches(): Refused {
  return refuseCall('RATE_LIMITED', `a customer may have ${HOLDS_MAX} batches under way`, { retry: false });
}
