/**
 * class StoredJob: the life of a job in its object's storage. It works in steps, one per alarm, until it has finished.
 * A failed step is counted and repeated; the stored result of a step survives a restart; a finished job can be read for
 * thirty days.
 */
import type { OrganizationId } from '../src/domain/ids.ts';
import { errorText } from '../src/platform/log.ts';
import { DAY_MS } from '../src/platform/time.ts';
import { StoredValue } from './stored-value.ts';

/** The state that every job stores. */
export interface JobState {
  jobId: string;
  organizationId: OrganizationId;
  failures: number;
  lastError: string | null;
  startedAtMs: number;
  finishedAtMs: number | null;
}

const RETRY_MS = 5_000;
/** A finished job can be read for this long. */
const RETENTION_MS = 30 * DAY_MS;

export class StoredJob<State extends JobState> {
  readonly #storage: DurableObjectStorage;
  readonly #value = new StoredValue<State>('state', [(stored) => stored as State]);

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  async state(): Promise<State | null> {
    return (await this.#value.get(this.#storage)) ?? null;
  }

  /** The state for the organization: `null` if the job is another's. */
  async stateFor(organizationId: OrganizationId): Promise<State | null> {
    const state = await this.state();
    return state?.organizationId === organizationId ? state : null;
  }

  /** Stores the state; the next step is made at that time. */
  async save(state: State, wakeAtMs: number): Promise<void> {
    await this.#storage.transaction(async (transaction) => {
      await this.#value.put(transaction, state);
      await transaction.setAlarm(wakeAtMs);
    });
  }

  finish(state: State, nowMs: number): Promise<void> {
    return this.save({ ...state, finishedAtMs: nowMs }, nowMs + RETENTION_MS);
  }

  /** Called by the alarm: one step of a job that has not finished. The step saves the state, or finishes the job. */
  async wake(step: (state: State) => Promise<void>): Promise<void> {
    const state = await this.state();
    if (!state) return;
    if (state.finishedAtMs !== null) return this.#retire(state.finishedAtMs + RETENTION_MS);
    try {
      await step(state);
    } catch (error) {
      const lastError = errorText(error);
      // The step may have saved a part of its work.
      const saved = (await this.state()) ?? state;
      await this.save({ ...saved, failures: saved.failures + 1, lastError }, Date.now() + RETRY_MS);
    }
  }

  /** Erases the job when its retention has passed. An alarm that fires early only sets the next one. */
  async #retire(atMs: number): Promise<void> {
    if (Date.now() < atMs) return this.#storage.setAlarm(atMs);
    await this.#storage.deleteAll();
  }
}

/** The common part of a job's state at its start. */
export function newJob(startedAtMs: number): Omit<JobState, 'jobId' | 'organizationId'> {
  return { failures: 0, lastError: null, startedAtMs, finishedAtMs: null };
}

/** The common part of the answers about jobs. */
export function presentJob({ jobId, failures, lastError, startedAtMs, finishedAtMs }: JobState) {
  return {
    jobId,
    status: finishedAtMs === null ? ('RUNNING' as const) : ('COMPLETED' as const),
    failures,
    lastError,
    startedAt: new Date(startedAtMs).toISOString(),
    finishedAt: finishedAtMs === null ? null : new Date(finishedAtMs).toISOString(),
  };
}
