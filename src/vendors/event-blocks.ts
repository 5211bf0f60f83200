/**
 * Cuts the bytes of a stream where its events end, wherever the chunks end.
 *
 * All blocks together are exactly the bytes of the stream. Server-sent events end with an empty line. Google's other
 * form of stream is an array of JSON objects, and an answer that is no stream is one object. Events end with an ASCII
 * character in all three, so a character of several bytes is never cut. `eventsource-parser` reads the events.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser';

/**
 * The longest event that is read: a finished response of OpenAI repeats its whole output, pictures included. A longer
 * event passes in pieces without being read.
 */
export const EVENT_BYTES_MAX = 8 * 1024 * 1024;

export interface StreamEvent {
  event?: string | undefined;
  id?: string | undefined;
  data: string;
}

export interface Block {
  bytes: Uint8Array;
  /** `null` for comments, empty lines and pieces of an event that is too long. */
  event: StreamEvent | null;
  /** A server-sent event, which can be replaced, or a part of a JSON document. */
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
  /** The unfinished block is too long: its pieces pass as they come. */
  #overlong = false;
  // State of the server-sent events.
  #lineEmpty = true;
  #afterCr = false;
  // State of the JSON.
  #depth = 0;
  #inString = false;
  #escaped = false;
  #elementDepth = 0;
  /** Where the current element begins in the block. */
  #elementStart = 0;

  constructor(bytesMax = EVENT_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** The blocks that this chunk completes. The chunk may end anywhere. */
  push(chunk: Uint8Array): Block[] {
    this.#form ??= formOf(chunk);
    const blocks: Block[] = [];
    let start = 0;
    if (this.#form === 'sse' && chunk[0] === LF && this.#afterCr && this.#lineEmpty && this.#heldLength === 0) {
      // The LF of the CR LF whose CR has ended the block before.
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

  /** The rest, after the last chunk. The last event counts even without the empty line after it. */
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

  /** Whether an object ends that is alone or in the outermost array; `offset` counts from the start of this part. */
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

/** The event as a block of a stream. */
export function serializeEvent({ event, id, data }: StreamEvent): string {
  const lines = [
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...data.split('\n').map((line) => `data: ${line}`),
  ];
  return `${lines.join('\n')}\n\n`;
}

/** The first byte that is not white space decides: no line of an event begins with a bracket. */
function formOf(chunk: Uint8Array): 'sse' | 'json' | null {
  const first = chunk.find((byte) => !BEFORE_CONTENT.has(byte));
  if (first === undefined) return null;
  return OPENING.has(first) ? 'json' : 'sse';
}
