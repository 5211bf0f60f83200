/**
 * The memory of an isolate for answers that are held. All requests of the isolate share it: vendors and callers that
 * are slow in the middle of large answers must not fill the isolate, which has 128 MB in all.
 */
import { remember } from '../platform/isolate-memory.ts';

/** The most bytes of an answer that may be held, if there is room. */
export const HELD_BYTES_MAX = 10 * 1024 * 1024;
/**
 * The bound for all answers together: those held until they are complete, or until a slow caller has read the part that
 * arrived, including long events; and those recorded for a retry while they pass.
 */
const POOL_BYTES_MAX = { whole: 32 * 1024 * 1024, recorded: 16 * 1024 * 1024 };
/**
 * If this much is held of answers that must be complete, no further request begins: those in progress need the rest.
 */
export const BUSY_BYTES = 20 * 1024 * 1024;
/** Why a request must come back later. */
export const ANSWERS_HELD = "vendors' large answers fill the memory for the moment; send the request again";

const held = remember(() => ({ whole: 0, recorded: 0 }));

/** Whether a request must come back later. */
export function isAnswerMemoryFull(): boolean {
  return held.value.whole >= BUSY_BYTES;
}

/** The bytes that one answer holds. */
export class HeldBytes {
  readonly #pool: keyof typeof POOL_BYTES_MAX;
  #bytes = 0;

  constructor(pool: keyof typeof POOL_BYTES_MAX = 'whole') {
    this.#pool = pool;
  }

  /** Takes room for more bytes; `false` if there is none, for this answer or at all. */
  take(bytes: number): boolean {
    const all = held.value[this.#pool] + bytes;
    if (this.#bytes + bytes > HELD_BYTES_MAX || all > POOL_BYTES_MAX[this.#pool]) return false;
    this.#bytes += bytes;
    held.value[this.#pool] = all;
    return true;
  }

  /** Gives all of it back. */
  release(): void {
    held.value[this.#pool] = Math.max(0, held.value[this.#pool] - this.#bytes);
    this.#bytes = 0;
  }
}
