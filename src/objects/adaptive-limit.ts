/**
 * class AdaptiveLimit: how many commands may wait at the same time, found from how long they wait.
 *
 * A queue that is soon worked off is a burst, and nothing is refused for it. A queue that stands means more work than
 * can be done: if for a while no command was answered in about its usual time, fewer may wait, period by period, down to
 * a few; each period without such a queue lets more wait again. Only the fastest command of a period counts (as in CoDel,
 * RFC 8289), so one that is slow for a reason of its own changes nothing. A period without an answer tells nothing.
 */

const PERIOD_MS = 250;
/** The queue stands if the fastest command of a period took so much longer than usual. */
const STANDING_MS = 100;
/** A queue that stands for less time is a burst. */
const BURST_MS = 1_000;
/** So many may always wait, so that an isolate that judges wrongly still serves. */
const WAITING_ALWAYS = 8;
const FEWER = 0.75;
const MORE = 1.25;

export class AdaptiveLimit {
  readonly #waitingMax: number;
  #limit: number;
  #waiting = 0;
  /** The most that waited in this period. */
  #waitedMost = 0;
  /** Commands that began to wait in this period. */
  #entered = 0;
  #periodStartMs = Number.NEGATIVE_INFINITY;
  /** The least delay of a command that was answered in this period; infinite if none was. */
  #leastMs = Number.POSITIVE_INFINITY;
  /** The start of the first period in which the queue stood; `null` if it did not stand in the last one. */
  #standsSinceMs: number | null = null;

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
    this.#limit = waitingMax;
  }

  /**
   * Whether one more may wait. One in each period always may: if it is answered soon, the others wait for a reason of
   * their own.
   */
  hasRoom(nowMs: number): boolean {
    this.#judge(nowMs);
    return this.#waiting < (this.#entered === 0 ? this.#waitingMax : this.#limit);
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
    this.#leastMs = Math.min(this.#leastMs, beyondUsualMs);
    this.#judge(nowMs);
  }

  /** Adapts the limit when a period is over. */
  #judge(nowMs: number): void {
    const lastedMs = nowMs - this.#periodStartMs;
    if (lastedMs < PERIOD_MS) return;
    if (this.#waiting === 0 && lastedMs >= BURST_MS) {
      this.#standsSinceMs = null;
      this.#limit = this.#waitingMax;
    } else if (this.#leastMs <= STANDING_MS) {
      this.#standsSinceMs = null;
      this.#limit = Math.min(this.#waitingMax, Math.ceil(this.#limit * MORE));
    } else if (this.#leastMs !== Number.POSITIVE_INFINITY) {
      this.#standsSinceMs ??= this.#periodStartMs;
      if (nowMs - this.#standsSinceMs >= BURST_MS)
        this.#limit = Math.max(WAITING_ALWAYS, Math.floor(Math.min(this.#limit, this.#waitedMost) * FEWER));
    }
    this.#periodStartMs = nowMs;
    this.#leastMs = Number.POSITIVE_INFINITY;
    this.#waitedMost = this.#waiting;
    this.#entered = 0;
  }
}
