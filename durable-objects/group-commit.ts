/**
 * class GroupCommit: commands of requests that are under way at the same time run in one turn, and so share one commit.
 *
 * Committing costs more than most commands do, and commands that run one right after the other cost less each. A
 * command that finds the object idle runs at once. While others follow closely, they are gathered until the event loop
 * has seen what else has arrived. Where that were several, the next ones wait until as many are there again, or for a
 * moment at most: callers who come back as soon as they are answered then share every turn. Commands of one message
 * were gathered before they came, and wait for nobody. A command that fails takes nothing with it. No answer leaves the
 * object before its commit is durable, whoever shares it.
 */
import { GroupSize } from '../src/platform/group-size.ts';

/** Commands of one turn. */
const GROUP_MAX = 100;
/** How long the commands of a busy object wait for company at most. */
const BUSY_GATHER_MS = 20;
/** Looks, one after the other, whether still others follow than were expected. */
const LOOKS_MAX = 10;

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
  readonly #size = new GroupSize();
  /** Runs while a turn was taken so recently that the next one gathers. */
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Without `together`, each command of a group is left to itself. */
  constructor(together?: Together) {
    this.#together = together;
  }

  /**
   * Runs the command in this turn or the next. Rejects with what it throws. It may be run again where the first run was
   * undone.
   */
  run<Result>(command: () => Result): Result | Promise<Result> {
    if (this.#timer === null) {
      this.#gather(0);
      return command();
    }
    const promise = this.#wait(command);
    const count = this.#waiting.length;
    if (count >= GROUP_MAX) this.#runGroup();
    else if (this.#size.isComplete(count)) this.#complete();
    return promise;
  }

  /**
   * Runs commands that were gathered already: in this turn, together with whoever waits here. What became of each, in
   * their order.
   */
  runNow<Result>(commands: readonly (() => Result)[]): Promise<PromiseSettledResult<Result>[]> {
    const settled = Promise.allSettled(commands.map((command) => this.#wait(command)));
    this.#runAll();
    return settled;
  }

  #wait<Result>(command: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push({ command, resolve: resolve as Waiting['resolve'], reject });
    return promise;
  }

  /** All who were expected are there. */
  #complete(): void {
    if (this.#size.goesUnlooked()) this.#runGroup();
    else this.#gather(0, 1);
  }

  #gather(forMs: number, looks = 0): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const before = this.#waiting.length;
    this.#timer = setTimeout(() => this.#gathered(before, looks), forMs);
  }

  #gathered(before: number, looks: number): void {
    const count = this.#waiting.length;
    if (count === 0) {
      this.#timer = null;
    } else if (looks > 0 && looks < LOOKS_MAX && count > before) {
      this.#gather(0, looks + 1);
    } else {
      this.#size.waited(count);
      this.#runGroup();
    }
  }

  #runGroup(): void {
    const count = this.#waiting.length;
    this.#size.went(count);
    this.#runAll();
    this.#gather(count > 1 ? BUSY_GATHER_MS : 0);
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
