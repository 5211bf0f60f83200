/**
 * class BoundedMap: a map that keeps at most a given number of entries. A new one drops the oldest.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    super();
    this.#entriesMax = entriesMax;
  }

  override set(key: Key, value: Value): this {
    super.set(key, value);
    if (this.size > this.#entriesMax) this.delete(this.keys().next().value as Key);
    return this;
  }
}
