/**
 * class SessionRequests: how many requests of each browser's session were free or failed within a minute. Beyond a bound
 * further ones are refused until the minute is over.
 *
 * A call counts from its begin, and no longer once it has ended without an error: so what fails at the same time is bounded too.
 * The count is in memory, so an object that restarts begins a new minute.
 */
import type { CallId } from '../../src/domain/ids.ts';
import { BoundedMap } from '../../src/platform/bounded-map.ts';
import { MINUTE_MS } from '../../src/platform/time.ts';

/** Free and failed requests of a session in a minute. */
export const SESSION_REQUESTS_MAX = 60;
/** Sessions whose minutes are known at a time, and calls of sessions that are open. */
const SESSIONS_MAX = 1_000;
const CALLS_MAX = 10_000;

interface Minute {
  startedAtMs: number;
  count: number;
}

export class SessionRequests {
  readonly #minutes = new BoundedMap<string, Minute>(SESSIONS_MAX);
  /** The minute in which an open call counts. */
  readonly #calls = new BoundedMap<string, Minute>(CALLS_MAX);

  /** Counts a request. Answers when the next one is allowed if this one is not; else `null`. */
  count(session: string, nowMs: number): number | null {
    const minute = this.#minuteAt(session, nowMs);
    if (minute.count >= SESSION_REQUESTS_MAX) return minute.startedAtMs + MINUTE_MS;
    minute.count += 1;
    return null;
  }

  /** What was counted last is none of its own: its request comes again. */
  takeBack(session: string, nowMs: number): void {
    this.#minuteAt(session, nowMs).count -= 1;
  }

  /** What was counted last has begun a call. */
  begun(session: string, callId: CallId, nowMs: number): void {
    this.#calls.set(callId, this.#minuteAt(session, nowMs));
  }

  /** The call has ended, and counts no longer if it worked. */
  ended(callId: CallId, worked: boolean): void {
    const minute = this.#calls.get(callId);
    this.#calls.delete(callId);
    if (minute && worked) minute.count -= 1;
  }

  #minuteAt(session: string, nowMs: number): Minute {
    const known = this.#minutes.get(session);
    if (known && nowMs - known.startedAtMs < MINUTE_MS) return known;
    const minute = { startedAtMs: nowMs, count: 0 };
    // Set anew, so that it is the youngest.
    this.#minutes.delete(session);
    this.#minutes.set(session, minute);
    return minute;
  }
}
