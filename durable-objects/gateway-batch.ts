/**
 * class GatewayBatch: one object per request for a batch, which begins the batch at the vendor once and meters its
 * lines (src/gateway/batches/metering.ts) once. The customer's object holds the most that the batch may cost.
 *
 * The request is stored before the vendor is asked, so that the alarm can find the batch by its name even if an answer
 * is lost. The alarm then polls the vendor, with a pause that grows up to a bound, until the batch is finished. Erased
 * data is not written again.
 */

import { DurableObject } from 'cloudflare:workers';
import type { OrganizationId } from '../src/domain/ids.ts';
import type { Env } from '../src/env.ts';
import { endBatch, holdBatch, listUnreadLines, readInput } from '../src/gateway/batches/admission.ts';
import { askForBatch, BATCH_TEXT_LENGTH_MAX, findBatch } from '../src/gateway/batches/creation.ts';
import type { LineAsks } from '../src/gateway/batches/line-asks.ts';
import { type BatchProgress, loadCaller, meterBatch, type WatchedBatch } from '../src/gateway/batches/metering.ts';
import {
  answerNotKept,
  erasedMeanwhile,
  inFlight,
  keyOfAnotherBatch,
  notSentAgain,
  replayedAnswer,
} from '../src/gateway/batches/replies.ts';
import { brokenAnswer, refusalAnswer } from '../src/gateway/error-envelope.ts';
import { accessVendor, noVendor, type VendorAccess } from '../src/gateway/pass-through.ts';
import { ask, batchesOfCustomer } from '../src/objects/addresses.ts';
import type { BatchAnswer, BatchCommand, BatchInput } from '../src/objects/batch-commands.ts';
import type { CustomerBatchesRpc, GatewayBatchRpc } from '../src/objects/rpc.ts';
import { errorText, log } from '../src/platform/log.ts';
import { DAY_MS, MINUTE_MS } from '../src/platform/time.ts';
import { runAlarm } from './newer-state.ts';
import { StoredValue } from './stored-value.ts';

/** A request for a batch. */
interface Asked {
  command: BatchCommand;
  input: BatchInput;
  /** The time at which the vendor was asked; `null` before that, or if it has refused. */
  askedAtMs: number | null;
  /** The time since which the vendor's list of batches has not shown this one; `null` if it was not missing. */
  absentSinceMs: number | null;
  /** The number of searches for the batch at the vendor. */
  rounds: number;
  /** `null` while it is not known whether the vendor has begun. */
  answer: BatchAnswer | null;
}

/** A batch that the vendor has begun. */
interface State {
  batch: Omit<WatchedBatch, 'requestName' | 'lines' | 'asks'>;
  progress: BatchProgress;
  watchedAtMs: number;
  /** Polls of the vendor since the last progress, failed ones included. */
  rounds: number;
  lastError: string | null;
  /**
   * The time since which the batch is finished but the vendor cannot show lines that ran. Absent if that did not
   * happen.
   */
  unreadSinceMs?: number;
  finishedAtMs: number | null;
}

const ASKED = new StoredValue<Asked>('asked', [(stored) => stored as Asked]);
const STATE = new StoredValue<State>('state', [(stored) => stored as State]);
/** The asks of each line (`LineAsks`). Older batches have none. */
const LINE_ASKS = new StoredValue<LineAsks>('line-asks', [(stored) => stored as LineAsks]);
const PAUSE_MS = 5_000;
const PAUSE_MS_MAX = 5 * MINUTE_MS;
/** A batch that the vendor's list has not shown for this long was never begun. */
const DOUBT_MS_MAX = 60_000;
/** Answers that the vendor has not shown for this long after the batch was finished are gone. */
const UNREAD_MS_MAX = 60 * MINUTE_MS;
/** The vendor stores the files for 30 days. */
const WATCH_MS_MAX = 30 * DAY_MS;
/** A finished batch is stored for this long: its key is replayed, and a read of it finds nothing to do. */
const RETENTION_MS = 30 * DAY_MS;

export class GatewayBatch extends DurableObject<Env> implements GatewayBatchRpc {
  /** The fingerprint of the request that is being carried out; empty while the alarm searches for its batch. */
  #creating: string | null = null;

  /** Begins the batch, or repeats the answer if it has begun. Never asks the vendor for a second one. */
  async create(command: BatchCommand): Promise<BatchAnswer> {
    const { fingerprint, keyed } = command;
    if (this.#creating !== null)
      return [fingerprint, ''].includes(this.#creating) ? inFlight(keyed) : keyOfAnotherBatch();
    this.#creating = fingerprint;
    try {
      const asked = await ASKED.get(this.ctx.storage);
      if (!asked || asked.askedAtMs === null) return await this.#begin(command);
      if (asked.command.fingerprint !== fingerprint) return keyOfAnotherBatch();
      return asked.answer ? replayedAnswer(asked.answer) : await this.#resume(asked, command);
    } catch (error) {
      // The runtime logs an error that leaves an object, with the values of its query.
      const answer = brokenAnswer(error);
      log(answer.status === 503 ? 'warn' : 'error', 'batch_not_created', { requestName: command.requestName }, error);
      return answer;
    } finally {
      this.#creating = null;
    }
  }

  /** Polls the vendor now, because the batch is reported to be finished. */
  async pollNow(): Promise<void> {
    const state = await STATE.get(this.ctx.storage);
    if (state && state.finishedAtMs === null) await this.ctx.storage.setAlarm(Date.now());
  }

  /** Erases the data of the request. The vendor's batch continues, and nobody meters it. */
  async erase(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  override alarm(): Promise<void> {
    return runAlarm(this.ctx, async () => {
      const state = await STATE.get(this.ctx.storage);
      if (state) return this.#watch(state);
      if (await ASKED.get(this.ctx.storage)) return this.#lookAgain();
    });
  }

  async #begin(command: BatchCommand): Promise<BatchAnswer> {
    const caller = await this.#callerOf(command);
    const vendor = await accessVendor(caller);
    if (!vendor) return noVendor();
    const read = await readInput(caller, vendor, command);
    if (!read.ok) return read.answer;
    const { input, asks } = read;
    const { requestName } = command;
    const toAsk: Asked = { command, input, askedAtMs: null, absentSinceMs: null, rounds: 0, answer: null };
    // Done before anything is held, so that the alarm releases the hold of a request that dies here.
    await this.ctx.storage.transaction(async (transaction) => {
      await ASKED.put(transaction, toAsk);
      await LINE_ASKS.put(transaction, asks);
      await transaction.setAlarm(Date.now() + PAUSE_MS);
    });
    await ask(this.#batchesOf(command), (batches) => batches.add(requestName));
    const refused = await holdBatch(caller, command, input);
    if (refused) {
      await this.#forget(toAsk);
      return refusalAnswer(refused.refusal);
    }
    const asked = { ...toAsk, askedAtMs: Date.now() };
    if (!(await this.#saveAsked(asked))) {
      await this.#eraseEverywhere(command);
      return erasedMeanwhile();
    }
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

  /** Searches for a batch whose vendor's answer was lost, if no retry has come yet. */
  async #lookAgain(): Promise<void> {
    // The request is still being carried out.
    if (this.#creating !== null) return this.ctx.storage.setAlarm(Date.now() + PAUSE_MS);
    this.#creating = '';
    try {
      const asked = await ASKED.get(this.ctx.storage);
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

  /** The batch, which is watched from now on; or whether the vendor may still have it. */
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
    // The vendor has deleted its files by then: nothing is left to meter.
    if (nowMs - (askedAtMs ?? nowMs) > WATCH_MS_MAX) return 'never_begun';
    const sinceMs = found === 'absent' ? (absentSinceMs ?? nowMs) : null;
    await this.#saveAsked({ ...asked, absentSinceMs: sinceMs, rounds: rounds + 1 });
    return 'in_doubt';
  }

  /** Records that the vendor has the batch: it is watched from now on, and retries get its answer. */
  async #begun(asked: Asked, { batchId, answer }: { batchId: string; answer: BatchAnswer }): Promise<void> {
    const { command, input } = asked;
    const { organizationId, begin } = command;
    const nowMs = Date.now();
    const batch = { organizationId, batchId, begin, model: input.model };
    const progress: BatchProgress = { output: 0, error: 0, refused: 0 };
    const state: State = { batch, progress, watchedAtMs: nowMs, rounds: 0, lastError: null, finishedAtMs: null };
    await this.ctx.storage.transaction(async (transaction) => {
      if (!(await ASKED.get(transaction))) return;
      await ASKED.put(transaction, { ...asked, answer: storable(answer, batchId) });
      await STATE.put(transaction, state);
      await transaction.setAlarm(nowMs + PAUSE_MS);
    });
  }

  /** Records that the batch does not exist: the key is free again, and the hold is released. */
  async #forget(asked: Asked): Promise<void> {
    // The alarm tries again if the customer's object cannot be reached.
    await this.#saveAsked({ ...asked, askedAtMs: null });
    try {
      await this.#eraseEverywhere(asked.command);
    } catch (error) {
      log('warn', 'batch_hold_not_released', { requestName: asked.command.requestName }, error);
    }
  }

  async #watch(state: State): Promise<void> {
    const nowMs = Date.now();
    const { batch, watchedAtMs } = state;
    if (state.finishedAtMs !== null) return this.#retire({ atMs: state.finishedAtMs + RETENTION_MS, nowMs });
    try {
      if (nowMs - watchedAtMs > WATCH_MS_MAX) {
        log('error', 'batch_given_up', { batchId: batch.batchId, lastError: state.lastError });
        await this.#finish(batch, Number.MAX_SAFE_INTEGER, nowMs);
      } else await this.#step(state);
    } catch (error) {
      log('warn', 'batch_delayed', { batchId: batch.batchId }, error);
      await this.#pause(batch, errorText(error));
    }
  }

  /** Polls the vendor, and meters the answered lines. Only this writes the progress. */
  async #step({ batch, progress, unreadSinceMs }: State): Promise<void> {
    const asked = await ASKED.get(this.ctx.storage);
    if (!asked) return;
    const { command, input } = asked;
    const asks = await LINE_ASKS.get(this.ctx.storage);
    const watched = { ...batch, requestName: command.requestName, lines: input.lines, asks };
    const defer = (work: Promise<unknown>) => this.ctx.waitUntil(work);
    // After progress, failures are counted from zero again.
    const save = (moved: BatchProgress) =>
      this.#change(batch, () => ({ progress: moved, rounds: 0 }), Date.now() + PAUSE_MS);
    const found = await meterBatch(this.env, watched, progress, save, defer);
    switch (found) {
      case 'pending':
        return this.#pause(batch, null);
      case 'more':
        await this.#change(batch, () => ({ lastError: null }), Date.now());
        return;
      default: {
        const nowMs = Date.now();
        const sinceMs = unreadSinceMs ?? nowMs;
        if (found.unread === 0 || nowMs - sinceMs > UNREAD_MS_MAX) return this.#finish(batch, found.unread, nowMs);
        return this.#pause(batch, 'the vendor does not have the answers', { unreadSinceMs: sinceMs });
      }
    }
  }

  /** Ends the batch. `unread`: the number of lines, at most, that ran but whose answers cannot be read. */
  async #finish(batch: State['batch'], unread: number, nowMs: number): Promise<void> {
    const asked = await ASKED.get(this.ctx.storage);
    if (asked) {
      const { command } = asked;
      const lost = unread > 0 ? await listUnreadLines(await this.#callerOf(batch), command, unread, batch.model) : null;
      await endBatch(this.env, command, lost);
    }
    await this.#change(batch, () => ({ finishedAtMs: nowMs }), nowMs + RETENTION_MS);
  }

  /** Erases the data of the request, here and at the customer. */
  async #eraseEverywhere(command: BatchCommand): Promise<void> {
    await endBatch(this.env, command, null);
    await ask(this.#batchesOf(command), (batches) => batches.forget(command.requestName));
    await this.erase();
  }

  async #pause(batch: State['batch'], lastError: string | null, more: Partial<State> = {}): Promise<void> {
    await this.#change(
      batch,
      ({ rounds }) => ({ ...more, rounds: rounds + 1, lastError }),
      ({ rounds }) => Date.now() + pauseMs(rounds),
    );
  }

  /** Erases the batch after its retention. An alarm that fires early erases nothing. */
  async #retire({ atMs, nowMs }: { atMs: number; nowMs: number }): Promise<void> {
    if (nowMs < atMs) return this.ctx.storage.setAlarm(atMs);
    const asked = await ASKED.get(this.ctx.storage);
    return asked ? this.#eraseEverywhere(asked.command) : this.erase();
  }

  /**
   * Changes some fields of the stored state, and no others. `false` if it was erased meanwhile: then nothing is stored.
   */
  #change(
    { batchId }: State['batch'],
    changed: (state: State) => Partial<Omit<State, 'batch'>>,
    wakeAtMs: number | ((state: State) => number),
  ): Promise<boolean> {
    return this.ctx.storage.transaction(async (transaction) => {
      const state = await STATE.get(transaction);
      if (state?.batch.batchId !== batchId) return false;
      await STATE.put(transaction, { ...state, ...changed(state) });
      await transaction.setAlarm(typeof wakeAtMs === 'number' ? wakeAtMs : wakeAtMs(state));
      return true;
    });
  }

  /** Replaces the stored request. `false` if it was erased meanwhile: then nothing is stored. */
  #saveAsked(asked: Asked): Promise<boolean> {
    return this.ctx.storage.transaction(async (transaction) => {
      if (!(await ASKED.get(transaction))) return false;
      await ASKED.put(transaction, asked);
      await transaction.setAlarm(Date.now() + pauseMs(asked.rounds));
      return true;
    });
  }

  #callerOf({ organizationId }: { organizationId: OrganizationId }): ReturnType<typeof loadCaller> {
    return loadCaller(this.env, organizationId, (work) => this.ctx.waitUntil(work));
  }

  #batchesOf({ organizationId, begin }: BatchCommand): () => DurableObjectStub<CustomerBatchesRpc> {
    return batchesOfCustomer(this.env, { organizationId, customerId: begin.customerId });
  }
}

function pauseMs(rounds: number): number {
  return Math.min(PAUSE_MS * 2 ** rounds, PAUSE_MS_MAX);
}

/** The answer that retries get. */
function storable(answer: BatchAnswer, batchId: string): BatchAnswer {
  return answer.body.length <= BATCH_TEXT_LENGTH_MAX ? answer : answerNotKept(batchId);
}
