/**
 * Cuts the bytes of a stream at the ends of its events, wherever the chunks end.
 *
 * All blocks together are exactly the bytes of the stream. Server-sent events end with an empty line. Google's other
 * form of stream is an array of JSON objects, and an answer that is not a stream is one object. Events end with an
 * ASCII character in all three, so a character of several bytes is never cut. `eventsource-parser` reads the events.
 */
import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser';
import { LF } from '../platform/bytes.ts';
import { CLOSE_LIST, CLOSE_OBJECT, OPEN_LIST, OPEN_OBJECT, QUOTE, StringEnd } from '../platform/json-scan.ts';
import { HeldBytes } from './answer-memory.ts';
import { JsonSkim } from './json-skim.ts';

/**
 * The longest event that is held until it is complete. A longer one (a picture, a finished response that repeats its
 * whole output) passes in pieces, and is read without its long texts.
 */
const EVENT_BYTES_MAX = 1024 * 1024;
/**
 * The same bound for events that must be complete, because they are replaced or their text is limited, if there is
 * memory for them.
 */
export const WHOLE_EVENT_BYTES_MAX = 10 * 1024 * 1024;

export interface StreamEvent {
  event?: string | undefined;
  id?: string | undefined;
  data: string;
}

export interface Block {
  bytes: Uint8Array;
  /**
   * `null` for comments, empty lines and pieces of a long event. Only its last piece has an event, which contains its
   * short texts.
   */
  event: StreamEvent | null;
  /** A server-sent event, which can be replaced if it is complete, or a part of a JSON document. */
  form: 'sse' | 'json';
  /** Only the last piece of a long event: it cannot be replaced. */
  isPiece?: true;
}

const CR = 13;
/** Space, line ends, and the three bytes of a byte order mark. */
const BEFORE_CONTENT = new Set([9, LF, CR, 32, 0xef, 0xbb, 0xbf]);
const decoder = new TextDecoder();

export class EventBlocks {
  readonly #bytesMax: number;
  /** For an event that is longer than usual. */
  readonly #memory = new HeldBytes();
  readonly #parsed: EventSourceMessage[] = [];
  /** Made for the first event that is read. */
  #parser: EventSourceParser | null = null;
  #form: 'sse' | 'json' | null = null;
  /** The bytes of the unfinished block. */
  #held: Uint8Array[] = [];
  #heldLength = 0;
  /** Reads the unfinished block, if it is too long to be held: its pieces pass as they come. */
  #skim: JsonSkim | null = null;
  /** The skimmed text of the unfinished block. */
  #skimmed: Uint8Array[] = [];
  #skimmedLength = 0;
  // State of the server-sent events.
  #lineEmpty = true;
  #afterCr = false;
  // State of the JSON.
  #depth = 0;
  readonly #string = new StringEnd();
  #elementDepth = 0;
  /** The start of the current element in the block. */
  #elementStart = 0;

  constructor(bytesMax = EVENT_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** The blocks that this chunk completes. The chunk may end anywhere. */
  push(chunk: Uint8Array): Block[] {
    this.#form ??= detectForm(chunk);
    const isJson = this.#form === 'json';
    const blocks: Block[] = [];
    let start = 0;
    if (this.#form === 'sse' && chunk[0] === LF && this.#afterCr && this.#lineEmpty && this.#heldLength === 0) {
      // The LF of a CR LF whose CR has ended the previous block.
      blocks.push({ bytes: chunk.subarray(0, 1), event: null, form: 'sse' });
      this.#afterCr = false;
      start = 1;
    }
    const [lf, cr] = [new NextByte(chunk, LF), new NextByte(chunk, CR)];
    for (let index = this.#string.isOpen ? this.#string.find(chunk, 0) + 1 : start; index < chunk.length; index += 1) {
      // No event ends within a line.
      if (!isJson && !this.#lineEmpty) index = Math.min(lf.find(index), cr.find(index));
      if (index === chunk.length) break;
      const byte = chunk[index] as number;
      if (!isJson) {
        if (!this.#eventEnds(byte)) continue;
      } else if (byte === QUOTE) {
        // No element ends within a string.
        index = this.#string.find(chunk, index + 1);
        continue;
      } else if (!this.#jsonEnds(byte, index - start)) continue;
      if (this.#form === 'sse' && byte === CR && chunk[index + 1] === LF) {
        this.#afterCr = false;
        index += 1;
      }
      blocks.push(...this.#complete(chunk.subarray(start, index + 1)));
      start = index + 1;
    }
    if (start < chunk.length) blocks.push(...this.#hold(chunk.subarray(start)));
    return blocks;
  }

  /** The remaining blocks after the last chunk. The last event counts even without the empty line after it. */
  end(): Block[] {
    const isHeld = this.#heldLength > 0;
    if (!isHeld && !this.#skim) return [];
    const bytes = this.#release(new Uint8Array());
    const form = this.#form ?? 'sse';
    const read = isHeld ? bytes : this.#endSkim();
    const event = form === 'sse' ? this.#read(`${decoder.decode(read)}\n\n`) : null;
    return [{ bytes, event, form, ...(!isHeld && { isPiece: true }) }];
  }

  #eventEnds(byte: number): boolean {
    const secondHalf = this.#afterCr && byte === LF;
    this.#afterCr = byte === CR;
    // The LF of a CR LF whose CR has already ended the line.
    if (secondHalf) return false;
    const wasEmpty = this.#lineEmpty;
    this.#lineEmpty = byte === LF || byte === CR;
    return this.#lineEmpty && wasEmpty;
  }

  /**
   * Whether this byte ends an object that is alone or in the outermost array; `offset` counts from the start of this
   * part.
   */
  #jsonEnds(byte: number, offset: number): boolean {
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (byte === OPEN_OBJECT && this.#elementDepth === 0 && this.#depth <= 1) {
        this.#elementDepth = this.#depth + 1;
        this.#elementStart = this.#heldLength + offset;
      }
      this.#depth += 1;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      const ends = this.#depth === this.#elementDepth;
      this.#depth -= 1;
      return ends;
    }
    return false;
  }

  #hold(part: Uint8Array): Block[] {
    if (!this.#skim && this.#hasRoom(part.length)) {
      // A copy: the runtime may reuse the chunk's memory.
      this.#held.push(part.slice());
      this.#heldLength += part.length;
      return [];
    }
    const form = this.#form ?? 'sse';
    return [...this.#beginSkim(), part].map((bytes): Block => {
      this.#skimPiece(bytes);
      return { bytes, event: null, form };
    });
  }

  /** Whether this many more bytes of a block can be held. */
  #hasRoom(more: number): boolean {
    const length = this.#heldLength + more;
    return length <= this.#bytesMax && (length <= EVENT_BYTES_MAX || this.#memory.take(more));
  }

  /** Releases the memory of a stream that is not read to its end. */
  release(): void {
    this.#memory.release();
  }

  /** The held pieces of a block that became too long to be held. */
  #beginSkim(): Uint8Array[] {
    this.#skim ??= new JsonSkim(this.#form === 'json' ? 'document' : 'lines');
    this.#memory.release();
    this.#heldLength = 0;
    return this.#held.splice(0);
  }

  #skimPiece(bytes: Uint8Array): void {
    // The bytes before an element of a list are not part of it.
    const skipped = Math.min(bytes.length, this.#elementStart);
    this.#elementStart -= skipped;
    const kept = this.#skim?.push(bytes.subarray(skipped));
    if (!kept || this.#skimmedLength > this.#bytesMax) return;
    this.#skimmed.push(kept);
    this.#skimmedLength += kept.length;
  }

  /** The skimmed text of the block. */
  #endSkim(): Uint8Array {
    const skimmed = joined(this.#skimmed);
    this.#skim = null;
    this.#skimmed = [];
    this.#skimmedLength = 0;
    return skimmed;
  }

  #complete(part: Uint8Array): Block[] {
    const form = this.#form ?? 'sse';
    const isLong = this.#skim !== null || this.#heldLength + part.length > this.#bytesMax;
    if (!isLong) {
      const bytes = this.#release(part);
      return [{ bytes, event: this.#eventOf(bytes.subarray(this.#endElement())), form }];
    }
    const pieces = this.#hold(part);
    const event = this.#eventOf(this.#endSkim());
    this.#endElement();
    return pieces.map((piece, index) => (index === pieces.length - 1 ? { ...piece, event, isPiece: true } : piece));
  }

  /** The start of the list's element that ends here. */
  #endElement(): number {
    const start = this.#elementStart;
    this.#elementDepth = 0;
    this.#elementStart = 0;
    return start;
  }

  #eventOf(bytes: Uint8Array): StreamEvent | null {
    const text = decoder.decode(bytes);
    return this.#form === 'json' ? { data: text } : this.#read(text);
  }

  #release(part: Uint8Array): Uint8Array {
    const bytes = this.#held.length === 0 ? part : joined([...this.#held, part]);
    this.#memory.release();
    this.#held = [];
    this.#heldLength = 0;
    return bytes;
  }

  #read(text: string): StreamEvent | null {
    this.#parser ??= createParser({ onEvent: (event) => this.#parsed.push(event) });
    this.#parser.feed(text);
    return this.#parsed.splice(0)[0] ?? null;
  }
}

/** Finds the places of a byte in a chunk, asked for in ascending order. */
class NextByte {
  readonly #chunk: Uint8Array;
  readonly #byte: number;
  #at = -1;

  constructor(chunk: Uint8Array, byte: number) {
    this.#chunk = chunk;
    this.#byte = byte;
  }

  /** The first place from `from` on; the chunk's length if there is none. */
  find(from: number): number {
    if (this.#at < from) {
      const at = this.#chunk.indexOf(this.#byte, from);
      this.#at = at < 0 ? this.#chunk.length : at;
    }
    return this.#at;
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
function detectForm(chunk: Uint8Array): 'sse' | 'json' | null {
  const first = chunk.find((byte) => !BEFORE_CONTENT.has(byte));
  if (first === undefined) return null;
  return first === OPEN_OBJECT || first === OPEN_LIST ? 'json' : 'sse';
}
