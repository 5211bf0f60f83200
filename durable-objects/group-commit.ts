/**
 * class GroupCommit: commands that arrive before the next turn of the event loop share one transaction, because a
 * commit costs more than most commands do.
 *
 * A command that finds the object idle runs at once, by itself and without a timer, unless the object gathers commands
 * for some time because no caller waits for them. A command that throws undoes no other: each command of its group then
 * runs again by itself. No answer leaves the object before its commit is durable.
 */

/** The most commands of one transaction. */
const GROUP_MAX = 100;
/** Characters that the commands of a group may hold in memory while they wait: with more, they run at once. */
const HELD_LENGTH_MAX = 8_000_000;
/** A command this soon after another one is probably followed by more, and they gather. */
const BUSY_MS = 10;

/** Runs commands as one transaction: if one of them throws, none takes effect. */
export type InOneTransaction = <Results>(commands: () => Results) => Results;

interface Waiting {
  command: () => unknown;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

export class GroupCommit {
  readonly #inOneTransaction: InOneTransaction | undefined;
  readonly #gatherMs: number;
  #waiting: Waiting[] = [];
  #heldLength = 0;
  /** Commands wait for the next turn of the event loop, or until the time to gather them is over. */
  #isGathering = false;
  /** The last command that ran by itself. */
  #ranAtMs = Number.NEGATIVE_INFINITY;

  /**
   * Without `inOneTransaction`, the commands of a group run by themselves in one turn, and share only its commit. With
   * `gatherMs`, the first command of a group also waits for others.
   */
  constructor({ inOneTransaction, gatherMs = 0 }: { inOneTransaction?: InOneTransaction; gatherMs?: number } = {}) {
    this.#inOneTransaction = inOneTransaction;
    this.#gatherMs = gatherMs;
  }

  /**
   * Rejects with the command's error. The command may run twice; the first run was then undone. `heldLength`: the characters
   * that it holds in memory.
   */
  run<Result>(command: () => Result, heldLength = 0): Result | Promise<Result> {
    if (!this.#isGathering) {
      const nowMs = Date.now();
      if (this.#gatherMs === 0 && nowMs - this.#ranAtMs > BUSY_MS) {
        this.#ranAtMs = nowMs;
        return command();
      }
      this.#gather();
    }
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push({ command, resolve: resolve as Waiting['resolve'], reject });
    this.#heldLength += heldLength;
    if (this.#waiting.length === GROUP_MAX || this.#heldLength >= HELD_LENGTH_MAX) this.#runGroup();
    return promise;
  }

  #gather(): void {
    this.#isGathering = true;
    setTimeout(() => {
      this.#isGathering = false;
      if (this.#waiting.length === 0) return;
      if (this.#gatherMs === 0) this.#gather();
      this.#runGroup();
    }, this.#gatherMs);
  }

  #runGroup(): void {
    const group = this.#waiting;
    this.#waiting = [];
    this.#heldLength = 0;
    let results: unknown[] | undefined;
    try {
      if (group.length > 1) results = this.#inOneTransaction?.(() => group.map(({ command }) => command()));
    } catch {
      // The failed transaction had no effect: each command runs by itself below.
    }
    for (const [index, { command, resolve, reject }] of group.entries()) {
      try {
        resolve(results ? results[index] : command());
      } catch (error) {
        reject(error);
      }
    }
  }
}
