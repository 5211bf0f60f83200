/**
 * class GatewayBatch: one object per request for a batch, which begins the batch at the vendor once and meters its
 * lines (src/gateway/batches/metering.ts) once. One more per customer knows that customer's requests, and what they
 * hold of its allowance (customer-batches.ts).
 *
 * What is going to be asked of the vendor is written down before: whatever is lost on the way, the alarm finds the
 * batch by its name. Later it asks the vendor, with a pause that grows up to a bound, until the batch is finished. What
 * was erased meanwhile is not written again.
 */

import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../src/env.ts';
import { readInput } from '../src/gateway/batches/admission.ts';
import { askForBatch, BATCH_TEXT_LENGTH_MAX, findBatch } from '../src/gateway/batches/creation.ts';
import { unrecorded } from '../src/gateway/batches/holds.ts';
import { type BatchProgress, callerOf, meterBatch, type WatchedBatch } from '../src/gateway/batches/metering.ts';
import {
  answerNotKept,
  erasedMeanwhile,
  inFlight,
  keyOfAnotherBatch,
  notSentAgain,
  replayedAnswer,
} from '../src/gateway/batches/replies.ts';
import { brokenAnswer } from '../src/gateway/error-envelope.ts';
import { accessVendor, noVendor, type VendorAccess } from '../src/gateway/pass-through.ts';
import { ask, batchesOfCustomer } from '../src/objects/addresses.ts';
import type { BatchAnswer, BatchCommand, BatchInput, BatchToAdmit, Lines } from '../src/objects/batch-commands.ts';
import type { GatewayBatchRpc } from '../src/objects/rpc.ts';
import { errorText, log } from '../src/platform/log.ts';
import { DAY_MS, MINUTE_MS } from '../src/platform/time.ts';
import { CustomerBatches } from './customer-batches.ts';
import { put } from './stored-value.ts';

/** A request for a batch. */
interface Asked {
  command: BatchCommand;
  input: BatchInput;
  /** When the vendor was asked; `null` while it was not, or has refused. */
  askedAtMs: number | null;
  /** Since when the vendor, asked for its batches, has not shown this one. */
  absentSinceMs: number | null;
  /** Times that the batch was looked for. */
  rounds: number;
  /** `null` while it is not known whether the vendor has begun. */
  answer: BatchAnswer | null;
}

/** A batch that the vendor has begun. */
interface State {
  batch: WatchedBatch;
  progress: BatchProgress;
  watchedAtMs: number;
  /** Times that the vendor was asked, or could not be, since something moved. */
  rounds: number;
  lastError: string | null;
  finishedAtMs: number | null;
}

const ASKED_KEY = 'asked';
const STATE_KEY = 'state';
const PAUSE_MS = 5_000;
const PAUSE_MS_MAX = 5 * MINUTE_MS;
/** A batch that the vendor has not shown for so long was never begun. */
const DOUBT_MS_MAX = 60_000;
/** The vendor keeps the files for 30 days. */
const WATCH_MS_MAX = 30 * DAY_MS;
/** What is known of a finished batch is kept this long: its key is replayed, and a read of it finds nothing to do. */
const RETENTION_MS = 30 * DAY_MS;

export class GatewayBatch extends DurableObject<Env> implements GatewayBatchRpc {
  /** The fingerprint of the request that is being carried out; empty while the alarm looks for its batch. */
  #creating: string | null = null;
  readonly #ofCustomer = new CustomerBatches(this.ctx, this.env);

  /** Begins the batch; or tells again what came of it. Never asks the vendor for a second one. */
  async create(command: BatchCommand): Promise<BatchAnswer> {
    const { fingerprint, keyed } = command;
    if (this.#creating !== null)
      return [fingerprint, ''].includes(this.#creating) ? inFlight(keyed) : keyOfAnotherBatch();
    this.#creating = fingerprint;
    try {
      const asked = await this.ctx.storage.get<Asked>(ASKED_KEY);
      if (!asked || asked.askedAtMs === null) return await this.#begin(command);
      if (asked.command.fingerprint !== fingerprint) return keyOfAnotherBatch();
      return asked.answer ? replayedAnswer(asked.answer) : await this.#resume(asked, command);
    } catch (error) {
      // An error that left the object would be logged by the runtime, with the values of its query.
      const answer = brokenAnswer(error);
      log(answer.status === 503 ? 'warn' : 'error', 'batch_not_created', { requestName: command.requestName }, error);
      return answer;
    } finally {
      this.#creating = null;
    }
  }

  /** The batch is said to be finished: asks the vendor now. */
  async hurry(): Promise<void> {
    const state = await this.ctx.storage.get<State>(STATE_KEY);
    if (state && state.finishedAtMs === null) await this.ctx.storage.setAlarm(Date.now());
  }

  /** Erases what is known of the request. The vendor's batch goes on, and nobody meters it. */
  async erase(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  /** Of a customer: admits the batch and holds its lines; or says why not. */
  hold({ organizationId, ...batch }: BatchToAdmit & { organizationId: string }): Promise<BatchAnswer | null> {
    return this.#ofCustomer.hold(organizationId, batch);
  }

  /** Of a customer: what a batch holds from now on; `null` is nothing. */
  settle(requestName: string, lines: Lines | null): Promise<void> {
    return this.#ofCustomer.settle(requestName, lines);
  }

  /** Of a customer: nothing is left of the request. */
  forget(requestName: string): Promise<void> {
    return this.#ofCustomer.forget(requestName);
  }

  /** Of a customer: erases some of its requests. */
  eraseRequests(organizationId: string): Promise<{ erased: number; more: boolean }> {
    return this.#ofCustomer.erase(organizationId);
  }

  override async alarm(): Promise<void> {
    const state = await this.ctx.storage.get<State>(STATE_KEY);
    if (state) return this.#watch(state);
    if (await this.ctx.storage.get<Asked>(ASKED_KEY)) return this.#lookAgain();
    await this.#ofCustomer.expire();
  }

  async #begin(command: BatchCommand): Promise<BatchAnswer> {
    const caller = await this.#callerOf(command);
    const vendor = await accessVendor(caller);
    if (!vendor) return noVendor();
    const read = await readInput(caller, vendor, command);
    if (!read.ok) return read.answer;
    const { input } = read;
    const { organizationId, requestName, begin } = command;
    const { lines, needs, unpriced } = input;
    const toAdmit = { organizationId, requestName, begin, lines, needs, unpriced };
    const toAsk: Asked = { command, input, askedAtMs: null, absentSinceMs: null, rounds: 0, answer: null };
    // Before anything is held, so that a hold of a request that died here is let go by the alarm.
    await this.ctx.storage.transaction(async (transaction) => {
      await put(transaction, ASKED_KEY, toAsk);
      await transaction.setAlarm(Date.now() + PAUSE_MS);
    });
    const refusal = await ask(this.#customerOf(command), (customer) => customer.hold(toAdmit));
    if (refusal) {
      await this.#forget(toAsk);
      return refusal;
    }
    const asked = { ...toAsk, askedAtMs: Date.now() };
    if (!(await this.#saveAsked(asked))) return erasedMeanwhile();
    const result = await askForBatch(vendor, command);
    switch (result.kind) {
      case 'created':
        await this.#begun(asked, result);
        return result.answer;
      case 'refused':
        await this.#forget(asked);
        return result.answer;
      case 'in_doubt': {
        const found = await this.#find(vendor, asked);
        return typeof found === 'string' ? notSentAgain(result.answer, command.keyed) : found.answer;
      }
    }
  }

  /** A retry of a request whose vendor's answer was lost. */
  async #resume(asked: Asked, command: BatchCommand): Promise<BatchAnswer> {
    const vendor = await accessVendor(await this.#callerOf(command));
    if (!vendor) return noVendor();
    const found = await this.#find(vendor, asked);
    if (typeof found !== 'string') return replayedAnswer(found.answer);
    return found === 'never_begun' ? this.#begin(command) : inFlight(command.keyed);
  }

  /** Nobody came back for a batch whose vendor's answer was lost, or not yet. */
  async #lookAgain(): Promise<void> {
    // The request that asks is still at it.
    if (this.#creating !== null) return this.ctx.storage.setAlarm(Date.now() + PAUSE_MS);
    this.#creating = '';
    try {
      const asked = await this.ctx.storage.get<Asked>(ASKED_KEY);
      if (asked && !asked.answer) await this.#findOrForget(asked);
    } catch (error) {
      log('warn', 'batch_search_failed', {}, error);
      await this.ctx.storage.setAlarm(Date.now() + PAUSE_MS_MAX);
    } finally {
      this.#creating = null;
    }
  }

  async #findOrForget(asked: Asked): Promise<void> {
    if (asked.askedAtMs === null) return this.#forget(asked);
    const vendor = await accessVendor(await this.#callerOf(asked.command));
    if ((await this.#find(vendor, asked)) === 'never_begun') await this.#forget(asked);
  }

  /** The batch, which is watched from now on; or whether it may still come to light. */
  async #find(
    vendor: VendorAccess | null,
    asked: Asked,
  ): Promise<{ answer: BatchAnswer } | 'never_begun' | 'in_doubt'> {
    const nowMs = Date.now();
    const { askedAtMs, absentSinceMs, command, rounds } = asked;
    const found = vendor ? await findBatch(vendor, command) : 'unknown';
    if (typeof found !== 'string') {
      await this.#begun(asked, found);
      return found;
    }
    if (found === 'absent' && absentSinceMs !== null && nowMs - absentSinceMs > DOUBT_MS_MAX) return 'never_begun';
    // The vendor's files are gone by then: there is nothing left to be metered.
    if (nowMs - (askedAtMs ?? nowMs) > WATCH_MS_MAX) return 'never_begun';
    const sinceMs = found === 'absent' ? (absentSinceMs ?? nowMs) : null;
    await this.#saveAsked({ ...asked, absentSinceMs: sinceMs, rounds: rounds + 1 });
    return 'in_doubt';
  }

  /** The vendor has the batch: from now on it is watched, and its answer is what a retry gets. */
  async #begun(asked: Asked, { batchId, answer }: { batchId: string; answer: BatchAnswer }): Promise<void> {
    const { command, input } = asked;
    const { organizationId, begin } = command;
    const nowMs = Date.now();
    const batch: WatchedBatch = { organizationId, batchId, begin, model: input.model };
    const progress: BatchProgress = { output: 0, error: 0, refused: 0, recorded: {} };
    const state: State = { batch, progress, watchedAtMs: nowMs, rounds: 0, lastError: null, finishedAtMs: null };
    await this.ctx.storage.transaction(async (transaction) => {
      if (!(await transaction.get(ASKED_KEY))) return;
      await put(transaction, ASKED_KEY, { ...asked, answer: storable(answer, batchId) } satisfies Asked);
      await put(transaction, STATE_KEY, state);
      await transaction.setAlarm(nowMs + PAUSE_MS);
    });
  }

  /** There is no batch: the key is free again, and nothing is held. */
  async #forget(asked: Asked): Promise<void> {
    // Should the customer's holds be away, the alarm tries again.
    await this.#saveAsked({ ...asked, askedAtMs: null });
    try {
      await this.#leave(asked.command);
    } catch (error) {
      log('warn', 'batch_hold_stays', { requestName: asked.command.requestName }, error);
    }
  }

  async #watch(state: State): Promise<void> {
    const nowMs = Date.now();
    const { batch, watchedAtMs } = state;
    if (state.finishedAtMs !== null) return this.#retire(state.finishedAtMs + RETENTION_MS, nowMs);
    try {
      if (nowMs - watchedAtMs > WATCH_MS_MAX) {
        log('error', 'batch_given_up', { batchId: batch.batchId, lastError: state.lastError });
        await this.#finish(batch, nowMs);
      } else await this.#step(state);
    } catch (error) {
      log('warn', 'batch_delayed', { batchId: batch.batchId }, error);
      await this.#pause(batch, errorText(error));
    }
  }

  /** Asks the vendor, and meters what is answered. The progress is written here alone. */
  async #step({ batch, progress }: State): Promise<void> {
    const asked = await this.ctx.storage.get<Asked>(ASKED_KEY);
    const defer = (work: Promise<unknown>) => this.ctx.waitUntil(work);
    const save = async (moved: BatchProgress) => {
      // Something moved: what breaks off from here on is the first time again.
      const saved = await this.#change(batch, () => ({ progress: moved, rounds: 0 }), Date.now() + PAUSE_MS);
      if (saved && asked) await this.#settle(asked, unrecorded(asked.input.lines, moved.recorded));
      return saved;
    };
    const found = await meterBatch(this.env, batch, { ...progress, recorded: progress.recorded ?? {} }, save, defer);
    switch (found) {
      case 'pending':
        return this.#pause(batch, null);
      case 'more':
        await this.#change(batch, () => ({ lastError: null }), Date.now());
        return;
      case 'done':
        return this.#finish(batch, Date.now());
    }
  }

  async #finish(batch: WatchedBatch, nowMs: number): Promise<void> {
    const asked = await this.ctx.storage.get<Asked>(ASKED_KEY);
    if (asked) await this.#settle(asked, null);
    await this.#change(batch, () => ({ finishedAtMs: nowMs }), nowMs + RETENTION_MS);
  }

  #settle({ command }: Asked, lines: Lines | null): Promise<void> {
    return ask(this.#customerOf(command), (customer) => customer.settle(command.requestName, lines));
  }

  /** Nothing is left, here and with the customer. */
  async #leave(command: BatchCommand): Promise<void> {
    await ask(this.#customerOf(command), (customer) => customer.forget(command.requestName));
    await this.erase();
  }

  async #pause(batch: WatchedBatch, lastError: string | null): Promise<void> {
    await this.#change(
      batch,
      ({ rounds }) => ({ rounds: rounds + 1, lastError }),
      ({ rounds }) => Date.now() + pauseMs(rounds),
    );
  }

  /** Forgets the batch once its time has come. An alarm that fires early takes nothing away. */
  async #retire(atMs: number, nowMs: number): Promise<void> {
    if (nowMs < atMs) return this.ctx.storage.setAlarm(atMs);
    const asked = await this.ctx.storage.get<Asked>(ASKED_KEY);
    return asked ? this.#leave(asked.command) : this.erase();
  }

  /**
   * Changes some of what stands of the batch, and nothing else of it. `false` where it was erased meanwhile: nothing is
   * stored then.
   */
  #change(
    { batchId }: WatchedBatch,
    changed: (standing: State) => Partial<Omit<State, 'batch'>>,
    wakeAtMs: number | ((standing: State) => number),
  ): Promise<boolean> {
    return this.ctx.storage.transaction(async (transaction) => {
      const standing = await transaction.get<State>(STATE_KEY);
      if (standing?.batch.batchId !== batchId) return false;
      await put(transaction, STATE_KEY, { ...standing, ...changed(standing) });
      await transaction.setAlarm(typeof wakeAtMs === 'number' ? wakeAtMs : wakeAtMs(standing));
      return true;
    });
  }

  /** Replaces what is known of the request. `false` where it was erased meanwhile: nothing is stored then. */
  #saveAsked(asked: Asked): Promise<boolean> {
    return this.ctx.storage.transaction(async (transaction) => {
      if (!(await transaction.get(ASKED_KEY))) return false;
      await put(transaction, ASKED_KEY, asked);
      await transaction.setAlarm(Date.now() + pauseMs(asked.rounds));
      return true;
    });
  }

  #callerOf({ organizationId }: { organizationId: string }): ReturnType<typeof callerOf> {
    return callerOf(this.env, organizationId, (work) => this.ctx.waitUntil(work));
  }

  /** The object that keeps what the customer's batches hold. */
  #customerOf({ organizationId, begin }: BatchCommand): () => DurableObjectStub<GatewayBatch> {
    return batchesOfCustomer(this.env, organizationId, begin.customerId);
  }
}

function pauseMs(rounds: number): number {
  return Math.min(PAUSE_MS * 2 ** rounds, PAUSE_MS_MAX);
}

/** The answer as a retry gets it. */
function storable(answer: BatchAnswer, batchId: string): BatchAnswer {
  return answer.body.length <= BATCH_TEXT_LENGTH_MAX ? answer : answerNotKept(batchId);
}
