/**
 * class AdaptiveLimit: how many commands may wait at the same time, found from how long they wait.
 *
 * A queue that is soon worked off is a burst, and nothing is refused for it. A queue that stands means more work than
 * can be done: if for a while nearly every command was answered later than usual, fewer may wait, period by period, down
 * to some; each period without such a queue lets more wait again. Some commands that are slow for a reason of their own
 * change nothing. A period without an answer tells nothing.
 */

const PERIOD_MS = 250;
/** The queue stands if more than this share of a period's commands was late. */
const LATE_SHARE = 0.75;
/** A queue that stands for less time is a burst. */
const BURST_MS = 1_000;
const FEWER = 0.75;
const MORE = 1.25;

export interface LimitBounds {
  /** The most that may wait. */
  waitingMax: number;
  /** So many may always wait, so that an isolate that judges wrongly still serves. */
  waitingAlways: number;
  /** A command is late if it took so much longer than usual. */
  lateMs: number;
}

export class AdaptiveLimit {
  readonly #bounds: LimitBounds;
  #limit: number;
  #waiting = 0;
  /** The most that waited in this period. */
  #waitedMost = 0;
  /** Commands that began to wait in this period. */
  #entered = 0;
  #periodStartMs = Number.NEGATIVE_INFINITY;
  /** Commands that were answered in this period, and those of them that were late. */
  #answered = 0;
  #late = 0;
  /** The start of the first period in which the queue stood; `null` if it did not stand in the last one. */
  #standsSinceMs: number | null = null;

  constructor(bounds: LimitBounds) {
    this.#bounds = bounds;
    this.#limit = bounds.waitingMax;
  }

  /**
   * Whether one more may wait. One in each period always may: if it is answered soon, the others wait for a reason of
   * their own.
   */
  hasRoom(nowMs: number): boolean {
    this.#judge(nowMs);
    return this.#waiting < (this.#entered === 0 ? this.#bounds.waitingMax : this.#limit);
  }

  enter(): void {
    this.#waiting += 1;
    this.#entered += 1;
    this.#waitedMost = Math.max(this.#waitedMost, this.#waiting);
  }

  leave(): void {
    this.#waiting -= 1;
  }

  /** A command was answered, so much later than usual. */
  noteDelay(beyondUsualMs: number, nowMs: number): void {
    this.#answered += 1;
    if (beyondUsualMs > this.#bounds.lateMs) this.#late += 1;
    this.#judge(nowMs);
  }

  /** Adapts the limit when a period is over. */
  #judge(nowMs: number): void {
    const lastedMs = nowMs - this.#periodStartMs;
    if (lastedMs < PERIOD_MS) return;
    if (this.#waiting === 0 && lastedMs >= BURST_MS) {
      this.#standsSinceMs = null;
      this.#limit = this.#bounds.waitingMax;
    } else if (this.#answered > 0 && this.#late <= this.#answered * LATE_SHARE) {
      this.#standsSinceMs = null;
      this.#limit = Math.min(this.#bounds.waitingMax, Math.ceil(this.#limit * MORE));
    } else if (this.#answered > 0) {
      this.#standsSinceMs ??= this.#periodStartMs;
      if (nowMs - this.#standsSinceMs >= BURST_MS)
        this.#limit = Math.max(this.#bounds.waitingAlways, Math.floor(Math.min(this.#limit, this.#waitedMost) * FEWER));
    }
    this.#periodStartMs = nowMs;
    this.#answered = 0;
    this.#late = 0;
    this.#waitedMost = this.#waiting;
    this.#entered = 0;
  }
}
