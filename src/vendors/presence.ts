/**
 * Whether a caller is still connected, and how long its vendor is read on after it has left: the vendor bills its work
 * even if nobody reads it, so its figures are awaited, but not for long.
 */

/**
 * How long a vendor is read on after the caller has left. Workers grant 30 s for work after that, and the end of the
 * call needs some of them. Source: developers.cloudflare.com/workers/platform/limits, "Duration".
 */
export const READ_ON_MS = 25_000;

export class Presence {
  #leftAtMs: number | null = null;
  #onLeave: (() => void) | null = null;

  /** The signal is aborted when the caller leaves. */
  constructor(signal: AbortSignal) {
    const leave = () => {
      this.#leftAtMs = Date.now();
      this.#onLeave?.();
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  }

  get hasLeft(): boolean {
    return this.#leftAtMs !== null;
  }

  /** How long the vendor is still read if the caller has left, or would be if it left now. */
  get readOnMs(): number {
    return this.#leftAtMs === null ? READ_ON_MS : Math.max(0, this.#leftAtMs + READ_ON_MS - Date.now());
  }

  /** Calls back when the vendor was read on for long enough; one watch at a time. The returned function ends it. */
  watch(over: () => void): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const readOn = () => {
      timer = setTimeout(over, this.readOnMs);
    };
    if (this.hasLeft) readOn();
    else this.#onLeave = readOn;
    return () => {
      this.#onLeave = null;
      clearTimeout(timer);
    };
  }
}
