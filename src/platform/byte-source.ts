/**
 * Bytes that are read at several places, wherever they are stored: in the pieces of a body, or in a text of base64.
 * Only the bytes that are read are copied.
 */

export interface ByteSource {
  readonly length: number;
  /** This many bytes from there on; fewer at the end. */
  read(at: number, length: number): Uint8Array;
}

/** The pieces of a body. No member is enumerable, so that comparing a request that holds it costs nothing. */
export class PieceBytes implements ByteSource {
  readonly #pieces: readonly Uint8Array[];
  readonly #length: number;
  /** The last piece that was read, and its start: the next read is mostly there or after it. */
  #index = 0;
  #from = 0;

  constructor(pieces: readonly Uint8Array[], length: number) {
    this.#pieces = pieces;
    this.#length = length;
  }

  get length(): number {
    return this.#length;
  }

  read(at: number, length: number): Uint8Array {
    const size = Math.max(0, Math.min(length, this.#length - at));
    if (at < this.#from) [this.#index, this.#from] = [0, 0];
    let piece = this.#pieces[this.#index];
    while (piece && at >= this.#from + piece.length) {
      this.#from += piece.length;
      this.#index += 1;
      piece = this.#pieces[this.#index];
    }
    const start = at - this.#from;
    if (piece && start + size <= piece.length) return piece.subarray(start, start + size);
    const bytes = new Uint8Array(size);
    let filled = 0;
    for (let index = this.#index, skip = start; filled < size; index += 1, skip = 0) {
      const part = this.#pieces[index]?.subarray(skip, skip + size - filled);
      if (part === undefined) break;
      bytes.set(part, filled);
      filled += part.length;
    }
    return bytes;
  }
}

/** Base64 as in RFC 4648: some readers skip other characters, and some stop at them. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The bytes of a text in base64, which begins at `from`; `null` if readers could disagree about them. */
export function base64Bytes(text: string, from: number): ByteSource | null {
  const characters = text.length - from;
  if (characters % 4 !== 0 || !BASE64.test(text.slice(from))) return null;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const length = (characters / 4) * 3 - padding;
  return {
    length,
    read(at, size) {
      const start = Math.floor(at / 3);
      const end = Math.ceil(Math.min(at + size, length) / 3);
      const decoded = atob(text.slice(from + 4 * start, from + 4 * end));
      const first = at - 3 * start;
      const bytes = new Uint8Array(Math.max(0, Math.min(size, length - at)));
      for (let index = 0; index < bytes.length; index += 1) bytes[index] = decoded.charCodeAt(first + index);
      return bytes;
    },
  };
}
