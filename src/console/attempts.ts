/**
 * A bound on guesses of the operator's token: after ten wrong ones an address waits ten minutes, in each isolate.
 *
 * What makes guessing hopeless is the token itself, at least 32 characters. This keeps a guesser slow, and the others free to
 * sign in. What is remembered is bounded too.
 */
const ATTEMPTS_MAX = 10;
const WINDOW_MS = 10 * 60_000;
/** Addresses that one isolate remembers; the one that failed longest ago is forgotten first. */
const ADDRESSES_MAX = 10_000;

interface Failures {
  count: number;
  sinceMs: number;
}

export class SignInAttempts {
  readonly #failures = new Map<string, Failures>();

  /** Milliseconds for which the address has to wait; 0 where it may try. */
  waitMs(address: string, nowMs: number): number {
    const failures = this.#failures.get(address);
    if (!failures || failures.count < ATTEMPTS_MAX) return 0;
    return Math.max(0, failures.sinceMs + WINDOW_MS - nowMs);
  }

  /** Before the token is looked at, so that guesses sent at once are counted too. */
  count(address: string, nowMs: number): void {
    const known = this.#failures.get(address);
    const fresh = !known || known.sinceMs + WINDOW_MS <= nowMs;
    this.#failures.delete(address);
    this.#failures.set(address, fresh ? { count: 1, sinceMs: nowMs } : { ...known, count: known.count + 1 });
    if (this.#failures.size > ADDRESSES_MAX) this.#failures.delete(this.#failures.keys().next().value as string);
  }

  forget(address: string): void {
    this.#failures.delete(address);
  }
}
