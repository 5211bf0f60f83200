/**
 * class Denials: how many denied calls of the customer were recorded in the current minute, and when credit last did not
 * suffice. Beyond a bound no more are recorded until the minute is over, or until something changes what the customer may do.
 *
 * The count is in memory, so an object that restarts begins a new minute. What D1 gets of denied calls is bounded by
 * the stored counts (tables/denied-hours.ts) all the same. A transaction that fails counts nothing.
 */
import type { Call } from '../../src/domain/call.ts';

export const DENIALS_MAX = 60;
export const DENIALS_WINDOW_SECONDS = 60;

interface Minute {
  startedAtMs: number;
  count: number;
}

const NONE: Minute = { startedAtMs: Number.NEGATIVE_INFINITY, count: 0 };

export class Denials {
  /** When a call or a batch was last refused for want of credit. */
  creditRefusedAtMs: number | null = null;
  /** The latest call that was refused because open calls held the balance, and of which nothing is stored. */
  heldBack: Call | null = null;
  #minute = NONE;
  #committed = NONE;

  /** When denied calls are recorded again; `null` where they are now. */
  resumeAtMs(nowMs: number): number | null {
    const { startedAtMs, count } = this.#at(nowMs);
    return count < DENIALS_MAX ? null : startedAtMs + DENIALS_WINDOW_SECONDS * 1_000;
  }

  add(nowMs: number): void {
    const { startedAtMs, count } = this.#at(nowMs);
    this.#minute = { startedAtMs, count: count + 1 };
  }

  /** To be called when what was denied may be allowed now. */
  reset(): void {
    this.#minute = NONE;
  }

  committed(): void {
    this.#committed = this.#minute;
  }

  rolledBack(): void {
    this.#minute = this.#committed;
  }

  #at(nowMs: number): Minute {
    const isOver = nowMs - this.#minute.startedAtMs >= DENIALS_WINDOW_SECONDS * 1_000;
    return isOver ? { startedAtMs: nowMs, count: 0 } : this.#minute;
  }
}
