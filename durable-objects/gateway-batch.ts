/**
 * class GatewayBatch: one object per batch at a vendor, which knows for whom it is metered.
 *
 * It asks the vendor by alarm, with a pause that grows up to a bound, until the batch is finished; then it meters the
 * lines (src/gateway/batch-metering.ts), each once. It keeps its place, so that a restart goes on where it was, and no
 * error ends it before the vendor has deleted the files.
 */
import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../src/env.ts';
import { type BatchProgress, meterBatch, type WatchedBatch } from '../src/gateway/batch-metering.ts';
import { errorText } from '../src/platform/error-text.ts';

interface State {
  batch: WatchedBatch;
  progress: BatchProgress;
  watchedAtMs: number;
  /** Times that the vendor was asked, or could not be, since something moved. */
  rounds: number;
  lastError: string | null;
  finishedAtMs: number | null;
}

const KEY = 'state';
const PAUSE_MS = 5_000;
const PAUSE_MS_MAX = 5 * 60_000;
/** The vendor keeps the files for 30 days. */
const WATCH_MS_MAX = 30 * 24 * 3_600_000;
/** What is known of a finished batch is kept this long: a read of it finds that nothing is to be done. */
const RETENTION_MS = 30 * 24 * 3_600_000;
const ERROR_LENGTH_MAX = 300;

export class GatewayBatch extends DurableObject<Env> {
  /** Begins to watch; a batch that is watched stays as it is. */
  async watch(batch: WatchedBatch): Promise<void> {
    if (await this.ctx.storage.get(KEY)) return;
    const nowMs = Date.now();
    const progress = { output: 0, error: 0, refused: 0 };
    await this.#save({ batch, progress, watchedAtMs: nowMs, rounds: 0, lastError: null, finishedAtMs: null }, nowMs + PAUSE_MS);
  }

  /** The batch is said to be finished: asks the vendor now. */
  async hurry(): Promise<void> {
    const state = await this.ctx.storage.get<State>(KEY);
    if (state && state.finishedAtMs === null) await this.ctx.storage.setAlarm(Date.now());
  }

  override async alarm(): Promise<void> {
    const state = await this.ctx.storage.get<State>(KEY);
    if (!state) return;
    const nowMs = Date.now();
    if (state.finishedAtMs !== null) return this.#retire(state.finishedAtMs + RETENTION_MS, nowMs);
    if (nowMs - state.watchedAtMs > WATCH_MS_MAX) {
      console.error(JSON.stringify({ event: 'batch_given_up', batchId: state.batch.batchId, lastError: state.lastError }));
      return this.#save({ ...state, finishedAtMs: nowMs }, nowMs + RETENTION_MS);
    }
    try {
      await this.#step(state);
    } catch (error) {
      const lastError = errorText(error).slice(0, ERROR_LENGTH_MAX);
      console.warn(JSON.stringify({ event: 'batch_delayed', batchId: state.batch.batchId, error: lastError }));
      await this.#pause({ ...state, lastError });
    }
  }

  async #step(state: State): Promise<void> {
    const { batch, progress } = state;
    const defer = (work: Promise<unknown>) => this.ctx.waitUntil(work);
    const keep = async () => void (await this.ctx.storage.put(KEY, { ...state, progress }));
    const found = await meterBatch(this.env, batch, progress, keep, defer);
    const nowMs = Date.now();
    const next = { ...state, progress, lastError: null };
    switch (found) {
      case 'pending':
        return this.#pause(next);
      case 'more':
        return this.#save({ ...next, rounds: 0 }, nowMs);
      case 'done':
        return this.#save({ ...next, finishedAtMs: nowMs }, nowMs + RETENTION_MS);
    }
  }

  async #pause(state: State): Promise<void> {
    const pauseMs = Math.min(PAUSE_MS * 2 ** state.rounds, PAUSE_MS_MAX);
    await this.#save({ ...state, rounds: state.rounds + 1 }, Date.now() + pauseMs);
  }

  /** Forgets the batch once its time has come. An alarm that fires early takes nothing away. */
  async #retire(atMs: number, nowMs: number): Promise<void> {
    if (nowMs < atMs) return this.ctx.storage.setAlarm(atMs);
    await this.ctx.storage.deleteAll();
  }

  async #save(state: State, wakeAtMs: number): Promise<void> {
    await this.ctx.storage.transaction(async (transaction) => {
      await transaction.put(KEY, state);
      await transaction.setAlarm(wakeAtMs);
    });
  }
}
