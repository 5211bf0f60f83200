/**
 * Makes a short document of JSON of any length, in bounded memory: it keeps the facts about the model, the end and the
 * usage of an answer. Takes whole documents and server-sent events, in chunks that end anywhere.
 *
 * A text that is longer than the bound becomes an empty one. Numbers and literals in a list are left out: they are the
 * content of embeddings. After `KEPT_BYTES` of the document, all elements of lists are left out except those below a
 * member that is named after usage; after `KEPT_BYTES_MAX`, everything is. The result is JSON if the whole was.
 */

import { LF } from '../platform/bytes.ts';
import { hasTooManyValues, parseAnswer } from '../platform/json.ts';
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isSpace,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  StringEnd,
} from '../platform/json-scan.ts';

/** Longer than the name of any model, event or kind of usage. */
const TEXT_BYTES_MAX = 1_024;
/** For one document. More than ten pictures or a thousand embeddings leave after skimming. */
const KEPT_BYTES = 256 * 1024;
const KEPT_BYTES_MAX = 512 * 1024;
/** Deeper values are left out. */
const LEVELS_MAX = 64;

/** A list or an object that is open. */
interface Level {
  isList: boolean;
  /** It has an element or a member that is kept. */
  isBegun: boolean;
  /** It is below a member that is named after usage. */
  isUsage: boolean;
}

export class JsonSkim {
  readonly #isLines: boolean;
  readonly #kept = new Bytes();
  /** Bytes of the document that are kept so far. */
  #keptBytes = 0;
  readonly #levels: Level[] = [];
  /** Levels of a value that is left out. */
  #leftOut = 0;
  /** The name of the member whose value comes next, with its quotes; `null` before it. */
  #name: Uint8Array | null = null;
  /** The text that is being read, as far as it is within the bound. */
  readonly #text = new Uint8Array(TEXT_BYTES_MAX);
  #length = 0;
  #inText = false;
  readonly #end = new StringEnd();
  /** The end of the next line in this chunk, after it has been searched. */
  #lineEnd = -1;
  /** Whether a number or a literal is being read, and whether it is kept. */
  #inWord: 'kept' | 'left out' | null = null;

  /** `lines`: each line is a document of its own, whatever comes before it; server-sent events are like that. */
  constructor(of: 'document' | 'lines' = 'document') {
    this.#isLines = of === 'lines';
  }

  /** The kept part of the chunk, and of the end of a value that began before it. */
  push(chunk: Uint8Array): Uint8Array {
    this.#lineEnd = -1;
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#inText) {
        const end = this.#end.find(chunk, at, this.#endOfLine(chunk, at));
        this.#take(chunk.subarray(at, end));
        if (end === chunk.length) break;
        at = end;
        this.#inText = false;
        if (!this.#end.isOpen) {
          this.#endText();
          continue;
        }
        this.#end.leave();
        this.#length = 0;
      }
      this.#byte(chunk[at] as number);
    }
    return this.#kept.released();
  }

  #byte(byte: number): void {
    if (byte === LF && this.#isLines) this.#endLine();
    else if (this.#levels.length === 0 && this.#leftOut === 0 && byte !== OPEN_OBJECT && byte !== OPEN_LIST)
      // Everything around documents is kept.
      this.#kept.add(byte);
    else if (byte === QUOTE) {
      this.#inWord = null;
      this.#inText = true;
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open(byte);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#close(byte);
    else if (byte === COMMA || byte === COLON || isSpace(byte)) this.#inWord = null;
    else this.#word(byte);
  }

  #open(byte: number): void {
    this.#inWord = null;
    const usage = this.#isUsageNext();
    const isKept = this.#leftOut === 0 && this.#levels.length < LEVELS_MAX && this.#isKept(usage);
    if (!isKept) {
      this.#name = null;
      this.#leftOut += 1;
      return;
    }
    if (this.#levels.length === 0) this.#keptBytes = 0;
    this.#begin();
    this.#keep(byte);
    this.#levels.push({ isList: byte === OPEN_LIST, isBegun: false, isUsage: usage });
  }

  #close(byte: number): void {
    this.#inWord = null;
    this.#name = null;
    if (this.#leftOut > 0) this.#leftOut -= 1;
    else {
      this.#levels.pop();
      this.#keep(byte);
    }
  }

  /** Reads a number or a literal. */
  #word(byte: number): void {
    if (this.#leftOut > 0) return;
    if (this.#inWord === null) {
      const isKept = !this.#levels.at(-1)?.isList && this.#isKept(this.#isUsageNext());
      this.#inWord = isKept ? 'kept' : 'left out';
      if (isKept) this.#begin();
      this.#name = null;
    }
    if (this.#inWord === 'kept') this.#keep(byte);
  }

  /** Ends the name of a member, or a value. */
  #endText(): void {
    const isWhole = this.#length <= TEXT_BYTES_MAX;
    const text = this.#text.subarray(0, isWhole ? this.#length : 0);
    this.#length = 0;
    if (this.#leftOut > 0) return;
    const level = this.#levels.at(-1);
    if (level && !level.isList && this.#name === null) {
      this.#name = text.slice();
      return;
    }
    if (this.#isKept(this.#isUsageNext())) {
      this.#begin();
      this.#keepText(text);
    }
    this.#name = null;
  }

  /** Called before a value that is kept. */
  #begin(): void {
    const level = this.#levels.at(-1);
    if (!level) return;
    if (level.isBegun) this.#keep(COMMA);
    level.isBegun = true;
    if (level.isList) return;
    this.#keepText(this.#name ?? NO_BYTES);
    this.#keep(COLON);
    this.#name = null;
  }

  #isKept(isUsage: boolean): boolean {
    if (this.#keptBytes > KEPT_BYTES_MAX) return false;
    return isUsage || this.#keptBytes <= KEPT_BYTES || !this.#levels.at(-1)?.isList;
  }

  #isUsageNext(): boolean {
    return (
      (this.#levels.at(-1)?.isUsage ?? false) || (this.#name !== null && /usage/i.test(decoder.decode(this.#name)))
    );
  }

  #keepText(text: Uint8Array): void {
    this.#keep(QUOTE);
    for (const byte of text) this.#keep(byte);
    this.#keep(QUOTE);
  }

  #keep(byte: number): void {
    this.#kept.add(byte);
    this.#keptBytes += 1;
  }

  /** The next line is another document, whatever was open. */
  #endLine(): void {
    this.#levels.length = 0;
    this.#leftOut = 0;
    this.#name = null;
    this.#inWord = null;
    this.#kept.add(LF);
  }

  /** The end of the line in the chunk that contains `from`; a document is one line. */
  #endOfLine(chunk: Uint8Array, from: number): number {
    if (!this.#isLines) return chunk.length;
    if (this.#lineEnd < from) {
      const at = chunk.indexOf(LF, from);
      this.#lineEnd = at < 0 ? chunk.length : at;
    }
    return this.#lineEnd;
  }

  #take(part: Uint8Array): void {
    if (this.#length + part.length <= TEXT_BYTES_MAX) this.#text.set(part, this.#length);
    this.#length += part.length;
  }
}

/** A vendor's JSON, parsed: without its long texts if it has too many values. `undefined` if it is not JSON. */
export function readJson(text: string): unknown {
  return hasTooManyValues(text) ? parseAnswer(decoder.decode(skimmed(text))) : parseAnswer(text);
}

function skimmed(text: string): Uint8Array {
  return new JsonSkim().push(new TextEncoder().encode(text));
}

const NO_BYTES = new Uint8Array();
const decoder = new TextDecoder();

/** Bytes that grow one by one. */
class Bytes {
  #bytes = new Uint8Array(1_024);
  #length = 0;

  add(byte: number): void {
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(this.#length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#length] = byte;
    this.#length += 1;
  }

  /** All of the bytes, whose memory is released. */
  released(): Uint8Array {
    const bytes = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    return bytes;
  }
}
