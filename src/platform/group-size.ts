/**
 * class GroupSize: how many are likely to come together, learnt from the groups before.
 *
 * Callers who come back as soon as they are answered come in the same number again. Whoever gathers them needs to wait
 * no longer than until that many are there, and to look only now and then whether still others follow.
 */

/** A look takes a millisecond where nobody follows: so many groups go without one then. */
const UNLOOKED_GROUPS = 16;

export class GroupSize {
  /** How many the next group is likely to have, as the last ones had; 0 before the first. */
  #expected = 0;
  /** Groups that go without a look for more. */
  #unlooked = 0;

  /** The last groups had more than one. */
  get isSeveral(): boolean {
    return this.#expected > 1;
  }

  isComplete(count: number): boolean {
    return count === this.#expected;
  }

  /** Whether a group that is complete goes without a look for more. */
  goesUnlooked(): boolean {
    if (this.#unlooked === 0) return false;
    this.#unlooked -= 1;
    return true;
  }

  /**
   * To be called with what a group came to that waited or looked: where more or fewer came than were expected, the next
   * one looks again.
   */
  waited(count: number): void {
    this.#unlooked = this.isComplete(count) ? UNLOOKED_GROUPS : 0;
  }

  /**
   * To be called with the size of each group. One that was late for once does not make small ones of those that follow.
   */
  went(count: number): void {
    this.#expected = Math.max(count, Math.floor((this.#expected + count) / 2));
  }
}
