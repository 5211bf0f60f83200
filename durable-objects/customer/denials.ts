/**
 * class Denials: how many calls the customer was denied, on record, within the minute. Beyond a bound no further one is
 * recorded until the minute is over, or until something changes what the customer may do.
 *
 * It counts in memory. An object that dies begins a new minute, and who goes on being denied gains as many records by
 * that; what D1 gets of them in full is bounded by what is stored (tables/denied-hours.ts). A transaction that fails
 * has counted nothing.
 */
export const DENIALS_MAX = 60;
export const DENIALS_WINDOW_SECONDS = 60;

interface Minute {
  startedAtMs: number;
  count: number;
}

const NONE: Minute = { startedAtMs: Number.NEGATIVE_INFINITY, count: 0 };

export class Denials {
  #minute = NONE;
  #committed = NONE;

  /** When a denied call is recorded again; `null` where it is now. */
  resumeAtMs(nowMs: number): number | null {
    const { startedAtMs, count } = this.#at(nowMs);
    return count < DENIALS_MAX ? null : startedAtMs + DENIALS_WINDOW_SECONDS * 1_000;
  }

  /** A call was denied. */
  add(nowMs: number): void {
    const { startedAtMs, count } = this.#at(nowMs);
    this.#minute = { startedAtMs, count: count + 1 };
  }

  /** What was denied may be allowed now. */
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
