/**
 * A stream's bytes, cut where its events end, whatever the chunks are.
 *
 * The blocks put together are the bytes that came in: nothing is added, lost or changed. Server-sent events end with an
 * empty line; Google's other form of stream is an array of JSON objects, and an answer that is no stream is one object.
 * Every mark of all three is ASCII, so no character of several bytes is ever cut. What an event says is read by
 * `eventsource-parser`.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser';

/**
 * One event's bytes at most: a finished response of OpenAI repeats its whole output, pictures included. A longer event
 * passes in pieces, unread.
 */
export const EVENT_BYTES_MAX = 8 * 1024 * 1024;

export interface StreamEvent {
  event?: string | undefined;
  id?: string | undefined;
  data: string;
}

export interface Block {
  bytes: Uint8Array;
  /** What the block says; `null` for comments, empty lines and pieces of an event that is too long. */
  event: StreamEvent | null;
  /** Whether the block is a server-sent event, which could be written anew, or a part of a JSON document. */
  form: 'sse' | 'json';
}

const LF = 10;
const CR = 13;
const QUOTE = 34;
const BACKSLASH = 92;
const OPENING = new Set([...'{['].map((character) => character.charCodeAt(0)));
const CLOSING = new Set([...'}]'].map((character) => character.charCodeAt(0)));
const BRACE = 123;
/** Space, line ends, and the three bytes of a byte order mark. */
const BEFORE_CONTENT = new Set([9, LF, CR, 32, 0xef, 0xbb, 0xbf]);

export class EventBlocks {
  readonly #bytesMax: number;
  readonly #decoder = new TextDecoder();
  readonly #parsed: EventSourceMessage[] = [];
  readonly #parser = createParser({ onEvent: (event) => this.#parsed.push(event) });
  #form: 'sse' | 'json' | null = null;
  /** The bytes of the unfinished block. */
  #held: Uint8Array[] = [];
  #heldLength = 0;
  /** The unfinished block was too long: its pieces pass as they come. */
  #overlong = false;
  // Where the server-sent events stand.
  #lineEmpty = true;
  #afterCr = false;
  // Where the JSON stands.
  #depth = 0;
  #inString = false;
  #escaped = false;
  #elementDepth = 0;
  /** Where the current element begins in its block. */
  #elementStart = 0;

  constructor(bytesMax = EVENT_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** The blocks that this chunk completes. The chunk may be cut anywhere. */
  push(chunk: Uint8Array): Block[] {
    this.#form ??= formOf(chunk);
    const blocks: Block[] = [];
    let start = 0;
    if (this.#form === 'sse' && chunk[0] === LF && this.#afterCr && this.#lineEmpty && this.#heldLength === 0) {
      // The second half of the line end that closed the block before, which is gone already.
      blocks.push({ bytes: chunk.subarray(0, 1), event: null, form: 'sse' });
      this.#afterCr = false;
      start = 1;
    }
    for (let index = start; index < chunk.length; index += 1) {
      const byte = chunk[index] as number;
      if (!(this.#form === 'json' ? this.#jsonEnds(byte, index - start) : this.#eventEnds(byte))) continue;
      if (this.#form === 'sse' && byte === CR && chunk[index + 1] === LF) {
        this.#afterCr = false;
        index += 1;
      }
      blocks.push(this.#complete(chunk.subarray(start, index + 1)));
      start = index + 1;
    }
    if (start < chunk.length) blocks.push(...this.#hold(chunk.subarray(start)));
    return blocks;
  }

  /** What is left when the stream is over. Its last event counts even where the empty line after it is missing. */
  end(): Block[] {
    if (this.#heldLength === 0) return [];
    const bytes = this.#release(new Uint8Array());
    const form = this.#form ?? 'sse';
    const event = form === 'sse' && !this.#overlong ? this.#read(`${this.#decoder.decode(bytes)}\n\n`) : null;
    return [{ bytes, event, form }];
  }

  #eventEnds(byte: number): boolean {
    const secondHalf = this.#afterCr && byte === LF;
    this.#afterCr = byte === CR;
    // The LF of a CR LF whose CR has ended the line already.
    if (secondHalf) return false;
    const wasEmpty = this.#lineEmpty;
    this.#lineEmpty = byte === LF || byte === CR;
    return this.#lineEmpty && wasEmpty;
  }

  /** An object that stands alone or in the outermost array ends; `offset` counts from where this chunk's part began. */
  #jsonEnds(byte: number, offset: number): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
      return false;
    }
    if (byte === QUOTE) this.#inString = true;
    else if (OPENING.has(byte)) {
      if (byte === BRACE && this.#elementDepth === 0 && this.#depth <= 1) {
        this.#elementDepth = this.#depth + 1;
        this.#elementStart = this.#heldLength + offset;
      }
      this.#depth += 1;
    } else if (CLOSING.has(byte)) {
      const ends = this.#depth === this.#elementDepth;
      this.#depth -= 1;
      return ends;
    }
    return false;
  }

  #hold(part: Uint8Array): Block[] {
    if (!this.#overlong && this.#heldLength + part.length <= this.#bytesMax) {
      // A copy: the runtime may use the chunk's memory again.
      this.#held.push(part.slice());
      this.#heldLength += part.length;
      return [];
    }
    this.#overlong = true;
    return [{ bytes: this.#release(part), event: null, form: this.#form ?? 'sse' }];
  }

  #complete(part: Uint8Array): Block {
    const form = this.#form ?? 'sse';
    const overlong = this.#overlong || this.#heldLength + part.length > this.#bytesMax;
    const elementStart = this.#elementStart;
    this.#overlong = false;
    this.#elementDepth = 0;
    const bytes = this.#release(part);
    if (overlong) return { bytes, event: null, form };
    const event =
      form === 'json'
        ? { data: this.#decoder.decode(bytes.subarray(elementStart)) }
        : this.#read(this.#decoder.decode(bytes));
    return { bytes, event, form };
  }

  #release(part: Uint8Array): Uint8Array {
    const bytes = this.#held.length === 0 ? part : joined([...this.#held, part]);
    this.#held = [];
    this.#heldLength = 0;
    return bytes;
  }

  #read(text: string): StreamEvent | null {
    this.#parser.feed(text);
    return this.#parsed.splice(0)[0] ?? null;
  }
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only) return only;
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** What the first byte that says anything tells; no line of an event begins with a bracket. */
function formOf(chunk: Uint8Array): 'sse' | 'json' | null {
  const first = chunk.find((byte) => !BEFORE_CONTENT.has(byte));
  if (first === undefined) return null;
  return OPENING.has(first) ? 'json' : 'sse';
}
