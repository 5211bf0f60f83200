/**
 * class Turns: lets a few begins start in each turn of the event loop, first come first.
 *
 * In a turn the runtime reads what a few connections have received, but starts every request that has come on a new one.
 * Beyond the capacity, new calls would fill each turn, and the calls under way would wait until what their vendors
 * answered is read.
 */

/** In a turn the runtime reads some fifteen connections, and a completion needs two reads to a dozen. */
const STARTS_PER_TURN = 4;

export interface Clock {
  now(): number;
  /** Comes back in a later turn, even after no time. */
  wait(ms: number): Promise<void>;
}

export class Turns {
  readonly #clock: Clock;
  /** Begins that have come, and how many of them may start. */
  #came = 0;
  #mayStart = STARTS_PER_TURN;
  #turn = 0;
  /** When begins began to wait, and how many might start then: so the pace is known. */
  #since = { ms: 0, mayStart: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for the turn of one more begin; `null` if it may start at once. */
  next(): Promise<void> | null {
    const place = this.#came;
    this.#came += 1;
    if (place < this.#mayStart) return null;
    if (place === this.#mayStart) this.#since = { ms: this.#clock.now(), mayStart: place };
    return this.#waitAt(place);
  }

  /** A begin that never comes back from its wait, because its caller has left, delays nobody. */
  async #waitAt(place: number): Promise<void> {
    while (place >= this.#mayStart) {
      const turn = this.#turn;
      await this.#clock.wait(this.#halfTheWay(place));
      if (turn !== this.#turn) continue;
      this.#turn += 1;
      this.#mayStart = Math.min(this.#mayStart, this.#came) + STARTS_PER_TURN;
    }
  }

  /** Half the time until its turn, at the pace so far. To look more often would take time from the others. */
  #halfTheWay(place: number): number {
    const turns = Math.floor((place - this.#mayStart) / STARTS_PER_TURN);
    const started = this.#mayStart - this.#since.mayStart;
    const turnMs = started === 0 ? 1 : ((this.#clock.now() - this.#since.ms) * STARTS_PER_TURN) / started;
    return (turns * turnMs) / 2;
  }
}
