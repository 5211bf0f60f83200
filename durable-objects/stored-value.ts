/**
 * Values that objects store by key, each with its version, and the check that a value fits into an object's storage.
 *
 * Cloudflare stores at most 2 MB in a row, and in a key with its value. A local workerd stores more, so the size is
 * checked here, before a value is written. Earlier checks refuse or shorten what callers send: a value that is too large
 * here is a bug.
 */
import { assertKnown } from './newer-state.ts';

/** Leaves room for the key, the other columns of the row, and the storage's own additions. */
const STORED_BYTES_MAX = 1_950_000;
/** The most bytes of a character in any stored form. */
const CHARACTER_BYTES = 3;

/** Whether the values fit into one row, or one stored value. */
export function fitsStorage(...values: readonly unknown[]): boolean {
  const length = values.reduce<number>((sum, value) => sum + storedLength(value), 0);
  return length * CHARACTER_BYTES <= STORED_BYTES_MAX;
}

/** Call this before a row with these values is written. */
export function assertFits(name: string, ...values: readonly unknown[]): void {
  if (!fitsStorage(...values)) throw new Error(`${name} is larger than an object can store`);
}

/** Call this before a row with only this text is written: SQLite stores it as UTF-8. */
export function assertTextFits(name: string, text: string): void {
  if (!fitsStorage(text) && utf8Bytes(text) > STORED_BYTES_MAX)
    throw new Error(`${name} is larger than an object can store`);
}

const encoder = new TextEncoder();

export function utf8Bytes(text: string): number {
  return encoder.encode(text).byteLength;
}

/** Reads what was stored with one version. */
type Reader<Value> = (stored: unknown) => Value;

/** A value from version 2 on. Version 1 is stored as it is, because values once had no version. */
interface Versioned {
  storedVersion: number;
  value: unknown;
}

type Reading = Pick<DurableObjectTransaction, 'get'>;
type Writing = Pick<DurableObjectTransaction, 'put'>;

/**
 * A value under a key. `readers` are of its versions, the oldest first; the newest is written. Append only: a value stays
 * as it is until it is written again.
 */
export class StoredValue<Value> {
  readonly #key: string;
  readonly #readers: readonly Reader<Value>[];

  constructor(key: string, readers: readonly Reader<Value>[]) {
    this.#key = key;
    this.#readers = readers;
  }

  /** `undefined` if none is stored. */
  async get(storage: Reading): Promise<Value | undefined> {
    const stored = await storage.get(this.#key);
    return stored === undefined ? undefined : this.#read(stored);
  }

  put(storage: Writing, value: Value): Promise<void> {
    return this.#put(storage, this.#key, value);
  }

  /** Stores one of many values, whose keys begin with this one. */
  putOne(storage: Writing, name: string, value: Value): Promise<void> {
    return this.#put(storage, this.#key + name, value);
  }

  /** Many values by their names, at most `limit`. */
  async list(storage: Pick<DurableObjectStorage, 'list'>, limit?: number): Promise<Map<string, Value>> {
    const stored = await storage.list({ prefix: this.#key, ...(limit !== undefined && { limit }) });
    return new Map([...stored].map(([key, value]) => [key.slice(this.#key.length), this.#read(value)]));
  }

  #read(stored: unknown): Value {
    const { storedVersion, value } = isVersioned(stored) ? stored : { storedVersion: 1, value: stored };
    assertKnown(`value of ${this.#key}`, storedVersion, this.#readers.length);
    const reader = this.#readers[storedVersion - 1];
    if (!reader) throw new Error(`${this.#key} has no version ${storedVersion}`);
    return reader(value);
  }

  #put(storage: Writing, key: string, value: Value): Promise<void> {
    const storedVersion = this.#readers.length;
    const stored = storedVersion === 1 ? value : ({ storedVersion, value } satisfies Versioned);
    assertFits(key, stored);
    return storage.put(key, stored);
  }
}

function isVersioned(stored: unknown): stored is Versioned {
  return typeof stored === 'object' && stored !== null && 'storedVersion' in stored;
}

function storedLength(value: unknown): number {
  return typeof value === 'string' ? value.length : (JSON.stringify(value, writable) ?? '').length;
}

/** JSON has no bigint. */
function writable(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
