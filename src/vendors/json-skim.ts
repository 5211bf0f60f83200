/**
 * Leaves the contents of long texts out of JSON, so that an answer with pictures becomes a short one with the same
 * members. Takes whole documents and server-sent events alike, in chunks that end anywhere.
 *
 * A text that is longer than the bound becomes an empty one; all else stays. A line end within a text is no JSON: the
 * text is taken to have ended there, so that a line that is no JSON does not change how the next one is read.
 */
import { joined } from './event-blocks.ts';

/** Longer than the name of any model, event or kind of usage. */
const TEXT_BYTES_MAX = 1_024;
const LF = 10;
const QUOTE = 34;
const BACKSLASH = 92;
const NO_BYTES = new Uint8Array();

export class JsonSkim {
  /** The text that is being read, while it is within the bound. */
  readonly #text = new Uint8Array(TEXT_BYTES_MAX);
  #length = 0;
  #inText = false;
  /** The last byte so far is a backslash that escapes the next one. */
  #escapes = false;

  /** What is left of the chunk, and of the end of a text that began before it. */
  push(chunk: Uint8Array): Uint8Array {
    const parts: Uint8Array[] = [];
    let at = 0;
    let lineEnd = -1;
    while (at < chunk.length) {
      if (!this.#inText) {
        const quote = chunk.indexOf(QUOTE, at);
        const end = quote < 0 ? chunk.length : quote + 1;
        parts.push(chunk.subarray(at, end));
        at = end;
        this.#inText = quote >= 0;
        continue;
      }
      if (lineEnd < at) lineEnd = indexFrom(chunk, LF, at);
      const end = Math.min(lineEnd, this.#endOfText(chunk, at));
      this.#take(chunk.subarray(at, end));
      at = end;
      if (end === chunk.length) break;
      // The quote, or the line end, belongs to what is outside.
      parts.push(this.#released(), chunk.subarray(end, end + 1));
      at = end + 1;
      this.#inText = false;
      this.#escapes = false;
    }
    return parts.length === 0 ? NO_BYTES : joined(parts);
  }

  /** Where the closing quote stands, or the end of the chunk. */
  #endOfText(chunk: Uint8Array, from: number): number {
    for (let quote = indexFrom(chunk, QUOTE, from); ; quote = indexFrom(chunk, QUOTE, quote + 1)) {
      let slashes = quote;
      while (slashes > from && chunk[slashes - 1] === BACKSLASH) slashes -= 1;
      const isBegun = slashes === from && this.#escapes;
      const isOdd = (quote - slashes) % 2 === 1;
      const escapes = isBegun ? !isOdd : isOdd;
      if (quote === chunk.length) {
        this.#escapes = escapes;
        return quote;
      }
      if (!escapes) return quote;
    }
  }

  #take(part: Uint8Array): void {
    if (this.#length + part.length <= TEXT_BYTES_MAX) this.#text.set(part, this.#length);
    this.#length += part.length;
  }

  #released(): Uint8Array {
    const text = this.#length <= TEXT_BYTES_MAX ? this.#text.slice(0, this.#length) : NO_BYTES;
    this.#length = 0;
    return text;
  }
}

function indexFrom(bytes: Uint8Array, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? bytes.length : at;
}
