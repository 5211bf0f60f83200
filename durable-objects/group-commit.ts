/**
 * class GroupCommit: commands of requests that are under way at the same time run in one turn, and so share one commit.
 *
 * Committing costs more than most commands do. A command that finds the object idle runs at once. While others follow
 * closely, they are gathered until the event loop has seen what else has arrived; where that were several, the next ones
 * for a moment longer. A command that fails takes nothing with it. No answer leaves the object before its commit is
 * durable, whoever shares it.
 */

/** Commands of one turn. */
const GROUP_MAX = 100;
/** How long the commands of a busy object wait for company. Twice as long makes hardly larger groups of the commands of 16 callers. */
const BUSY_GATHER_MS = 2;

/** Runs commands as one transaction: where one of them throws, none has done anything. */
export type Together = <Results>(commands: () => Results) => Results;

interface Waiting {
  command: () => unknown;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

export class GroupCommit {
  readonly #together: Together | undefined;
  #waiting: Waiting[] = [];
  /** A turn was taken so recently that the next one gathers. */
  #gathering = false;

  /** Without `together`, each command of a group is left to itself. */
  constructor(together?: Together) {
    this.#together = together;
  }

  /** Runs the command in this turn or the next. Rejects with what it throws. It may be run again where the first run was undone. */
  run<Result>(command: () => Result): Result | Promise<Result> {
    if (!this.#gathering) {
      this.#gather();
      return command();
    }
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push({ command, resolve: resolve as Waiting['resolve'], reject });
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
    const results = group.length > 1 && this.#together ? this.#runTogether(group, this.#together) : null;
    for (const [index, { command, resolve, reject }] of group.entries()) {
      try {
        resolve(results ? results[index] : command());
      } catch (error) {
        reject(error);
      }
    }
  }

  /** What each command returned; `null` where one of them failed, so that each has to run by itself. */
  #runTogether(group: readonly Waiting[], together: Together): unknown[] | null {
    try {
      return together(() => group.map(({ command }) => command()));
    } catch {
      return null;
    }
  }
}
