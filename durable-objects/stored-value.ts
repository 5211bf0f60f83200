/**
 * The size limits of an object's storage. Cloudflare takes 2 MB for a key with its value, and for a row of a table (its
 * limits of SQLite-backed objects); a local workerd takes more, so the bound is checked here before anything is
 * written.
 *
 * Parsing refuses or shortens values that a caller could make larger. A value that arrives here and does not fit is a
 * bug.
 */

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

/** Stores a value under a key. */
export function put(storage: Pick<DurableObjectTransaction, 'put'>, key: string, value: unknown): Promise<void> {
  assertFits(key, value);
  return storage.put(key, value);
}

function storedLength(value: unknown): number {
  return typeof value === 'string' ? value.length : (JSON.stringify(value, writable) ?? '').length;
}

/** JSON has no bigint. */
function writable(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
