/**
 * What an isolate remembers between requests: caches, and figures that it has still to send. Whatever a module keeps is
 * made here, so that `forgetAll` can bring an isolate to the state in which it starts, without evaluating its modules
 * again.
 */

/** The value of one module, which it reads and replaces. */
export interface Memory<Value> {
  value: Value;
}

/** One for each memory in the code, so their number is bounded by the code. */
const forget: (() => void)[] = [];

/** A memory that starts with what `empty` makes. Call it where a module is evaluated, never in a function. */
export function remember<Value>(empty: () => Value): Memory<Value> {
  const memory = { value: empty() };
  forget.push(() => {
    memory.value = empty();
  });
  return memory;
}

/**
 * Empties every memory of the isolate.
 *
 * @internal Tests share an isolate, and each file begins in a new one's state.
 */
export function forgetAll(): void {
  for (const empty of forget) empty();
}
