/**
 * class GroupCommit: commands of requests that are under way at the same time run in one turn, and so share one commit.
 *
 * Committing costs more than most commands do. A command that finds the object idle runs at once. While others follow
 * closely, they are gathered until the event loop has seen what else has arrived; where that were several, the next ones
 * for a moment longer. Each command is a transaction of its own: one that fails takes nothing with it. No answer leaves the
 * object before its commit is durable, whoever shares it.
 */

/** Commands of one turn. */
const GROUP_MAX = 100;
/** How long the commands of a busy object wait for company. Twice as long makes hardly larger groups of the commands of 16 callers. */
const BUSY_GATHER_MS = 2;

export class GroupCommit {
  #waiting: (() => void)[] = [];
  /** A turn was taken so recently that the next one gathers. */
  #gathering = false;

  /** Runs the command in this turn or the next. Rejects with what it throws. */
  run<Result>(command: () => Result): Result | Promise<Result> {
    if (!this.#gathering) {
      this.#gather();
      return command();
    }
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push(() => {
      try {
        resolve(command());
      } catch (error) {
        reject(error);
      }
    });
    if (this.#waiting.length >= GROUP_MAX) this.#runAll();
    return promise;
  }

  #gather(forMs = 0): void {
    this.#gathering = true;
    setTimeout(() => {
      const gathered = this.#waiting.length;
      if (gathered === 0) {
        this.#gathering = false;
        return;
      }
      this.#runAll();
      this.#gather(gathered > 1 ? BUSY_GATHER_MS : 0);
    }, forMs);
  }

  #runAll(): void {
    const group = this.#waiting;
    this.#waiting = [];
    for (const run of group) run();
  }
}
