/**
 * Whether a concurrent history could have happened one operation at a time: Wing and Gong's search, with memory.
 *
 * An operation that was answered before another was sent comes before it; any order that respects this, and in which
 * the model gives the same answers, is a witness. The finished operations and their resulting state are remembered: two
 * orders with the same result are searched once.
 */
export interface Operation<Model> {
  name: string;
  /** Moments on one logical clock. */
  sentAt: number;
  answeredAt: number;
  /** The answer, as text. */
  observed: string;
  /** Applies it to the model, and returns the model's answer. */
  apply(model: Model): string;
}

/** An order in which the model agrees with every answer; `null` if there is none. */
export function linearize<Model>(
  operations: readonly Operation<Model>[],
  start: () => Model,
  stateOf: (model: Model) => string,
): readonly Operation<Model>[] | null {
  const deadEnds = new Set<string>();
  const search = (order: readonly Operation<Model>[]): readonly Operation<Model>[] | null => {
    if (order.length === operations.length) return order;
    const waiting = operations.filter((operation) => !order.includes(operation));
    const firstAnswer = Math.min(...waiting.map(({ answeredAt }) => answeredAt));
    for (const operation of waiting.filter(({ sentAt }) => sentAt < firstAnswer)) {
      // The model is a mutable value: each branch replays its own.
      const model = start();
      for (const earlier of order) earlier.apply(model);
      if (operation.apply(model) !== operation.observed) continue;
      const next = [...order, operation];
      const place = `${next
        .map(({ name }) => name)
        .sort()
        .join()} ${stateOf(model)}`;
      if (deadEnds.has(place)) continue;
      const found = search(next);
      if (found) return found;
      deadEnds.add(place);
    }
    return null;
  };
  return search([]);
}
