/**
 * class Turns: lets a few begins start in each turn of the event loop, first come first.
 *
 * In a turn the runtime reads what a few connections have received, but starts every request that has come on a new one.
 * Beyond the capacity, new calls would fill each turn, and the calls under way would wait until what their vendors
 * answered is read.
 */

/** In a turn the runtime reads some fifteen connections, and a completion needs two reads to a dozen. */
const STARTS_PER_TURN = 4;
/** A begin takes at least so long. One that is far behind looks so much later whether its turn has come. */
const BEGIN_MS = 1;

export class Turns {
  /** Begins that have come, and how many of them may start. */
  #came = 0;
  #mayStart = STARTS_PER_TURN;
  #turn = 0;

  /** Waits for the turn of one more begin; `null` if it may start at once. */
  next(): Promise<void> | null {
    const place = this.#came;
    this.#came += 1;
    return place < this.#mayStart ? null : this.#waitAt(place);
  }

  async #waitAt(place: number): Promise<void> {
    while (place >= this.#mayStart) {
      const turn = this.#turn;
      const before = place - this.#mayStart;
      // A timer fires in a later turn, even if it is due at once.
      await scheduler.wait((before - (before % STARTS_PER_TURN)) * BEGIN_MS);
      if (turn !== this.#turn) continue;
      this.#turn += 1;
      this.#mayStart = Math.min(this.#mayStart, this.#came) + STARTS_PER_TURN;
    }
  }
}
