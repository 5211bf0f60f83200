/**
 * Values that are made when they are first needed: a pattern of hundreds of words takes milliseconds, which the start of an
 * isolate that never compresses a prompt need not spend.
 */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
