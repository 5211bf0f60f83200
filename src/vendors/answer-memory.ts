/**
 * The memory of an isolate for answers that are held until they are whole. All requests of the isolate share it: a vendor
 * that is slow in the middle of large answers must not fill the isolate, which has 128 MB for everything.
 */
import { remember } from '../platform/isolate-memory.ts';

/** An answer of so many bytes may be held, if there is room. */
export const HELD_BYTES_MAX = 10 * 1024 * 1024;
/** Of all answers together. Text takes up to twice its bytes, and is there twice while it is put together. */
const TOTAL_BYTES_MAX = 32 * 1024 * 1024;
/** If so much is held, no further request is begun: those under way need the rest. */
export const BUSY_BYTES = 20 * 1024 * 1024;

/** Why a request must come back later. */
export const ANSWERS_HELD = "vendors' large answers fill the memory for the moment; send the request again";

const held = remember(() => ({ bytes: 0 }));

/** Whether a request must come back later. */
export function isAnswerMemoryFull(): boolean {
  return held.value.bytes >= BUSY_BYTES;
}

/** What one answer holds. */
export class HeldBytes {
  #bytes = 0;

  /** Takes room for more bytes; `false` if there is none, for this answer or at all. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > HELD_BYTES_MAX || held.value.bytes + bytes > TOTAL_BYTES_MAX) return false;
    this.#bytes += bytes;
    held.value.bytes += bytes;
    return true;
  }

  /** Gives all of it back. */
  release(): void {
    held.value.bytes = Math.max(0, held.value.bytes - this.#bytes);
    this.#bytes = 0;
  }
}
