/**
 * The memory of an isolate between requests: caches, and figures that it has still to send. Each module makes its
 * stored values here, so that `forgetAll` can bring an isolate to its initial state without evaluating its modules
 * again.
 */

/** The value of one module, which it reads and replaces. */
export interface Memory<Value> {
  value: Value;
}

/** One for each memory in the code, so their number is bounded by the code. */
const forget: (() => void)[] = [];

/** A memory that starts with the value of `empty`. Call it when a module is evaluated, never in a function. */
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
