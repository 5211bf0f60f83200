/**
 * The lines of a batch's input on their way to the vendor. A line passes when it is complete and can run: byte for
 * byte, except the name of its model if the vendor's name differs.
 *
 * At most one line of `BATCH_LINE_BYTES_MAX` is held; a line that is complete within a chunk is read in the chunk.
 */

import { LF } from '../../platform/bytes.ts';
import { findValue } from '../../platform/json-text.ts';
import { BATCH_LINE_BYTES_MAX, BATCH_LINES_MAX } from './input-line.ts';
import type { LineCheck } from './line-check.ts';

/** The path of the model's name in a line. */
const MODEL_PLACE = ['body', 'model'];
const TOO_LONG = `has more than ${BATCH_LINE_BYTES_MAX} bytes`;
const NO_BYTES = new Uint8Array();

const decoder = new TextDecoder();
const encoder = new TextEncoder();

export class PassedLines {
  /** The error of the first line that cannot run. Nothing after it is checked, and all of it passes. */
  broken: string | null = null;
  /** The first line whose model was replaced. */
  replaced: { number: number; named: string } | null = null;
  readonly #check: LineCheck;
  readonly #held = new Held();
  #number = 1;

  constructor(check: LineCheck) {
    this.#check = check;
  }

  /**
   * The bytes that may pass now: views of the chunk, whose memory may be used again after they are sent, and held
   * bytes.
   */
  async push(chunk: Uint8Array): Promise<Uint8Array[]> {
    const passed: Uint8Array[] = [];
    /** The beginning of the bytes that have not passed, and the beginning of the line. */
    let [from, start] = [0, 0];
    for (let end = chunk.indexOf(LF); end >= 0 && this.broken === null; end = chunk.indexOf(LF, start)) {
      const wasHeld = this.#held.length > 0;
      const line = this.#held.taken(chunk.subarray(start, end));
      const replaced = await this.#complete(line);
      if (wasHeld || replaced) {
        passed.push(chunk.subarray(from, start), ...(replaced ?? [line]));
        from = end;
      }
      start = end + 1;
    }
    passed.push(chunk.subarray(from, start));
    if (this.broken !== null) return [...passed, chunk.subarray(start)];
    this.#held.add(chunk.subarray(start));
    if (this.#held.length <= BATCH_LINE_BYTES_MAX) return passed;
    this.#break(TOO_LONG);
    return [...passed, this.#held.taken(NO_BYTES)];
  }

  /** The last line, if it has no line end. */
  async end(): Promise<Uint8Array[]> {
    const line = this.#held.taken(NO_BYTES);
    return (await this.#complete(line)) ?? [line];
  }

  /** The line that passes, if its model is replaced. */
  async #complete(line: Uint8Array): Promise<Uint8Array[] | null> {
    const replaced = await this.#replaced(line);
    this.#number += 1;
    return replaced;
  }

  async #replaced(line: Uint8Array): Promise<Uint8Array[] | null> {
    if (line.length > BATCH_LINE_BYTES_MAX) return this.#break(TOO_LONG);
    const text = decoder.decode(line);
    if (text.trim() === '') return null;
    const checked = await this.#check.next(text);
    if (checked === null) {
      this.broken = `the file has more than ${BATCH_LINES_MAX} lines`;
      return null;
    }
    if ('rule' in checked) return this.#break(checked.rule);
    const { named, model } = checked;
    if (named === model) return null;
    const place = findValue(line, MODEL_PLACE);
    if (!place) return this.#break('must have each name once');
    this.replaced ??= { number: this.#number, named };
    return [line.subarray(0, place.start), encoder.encode(JSON.stringify(model)), line.subarray(place.end)];
  }

  #break(rule: string): null {
    this.broken = `line ${this.#number} of the file ${rule}`;
    return null;
  }
}

/** The beginning of a line, in memory that grows with it: a sender may send single bytes. */
class Held {
  length = 0;
  #memory: Uint8Array = NO_BYTES;

  add(bytes: Uint8Array): void {
    const length = this.length + bytes.length;
    if (length > this.#memory.length) {
      const grown = new Uint8Array(Math.max(length, Math.min(2 * this.#memory.length, BATCH_LINE_BYTES_MAX)));
      grown.set(this.#memory.subarray(0, this.length));
      this.#memory = grown;
    }
    this.#memory.set(bytes, this.length);
    this.length = length;
  }

  /**
   * Joins the held bytes and the last bytes, and then holds nothing. The last bytes are not copied if nothing is held.
   */
  taken(last: Uint8Array): Uint8Array {
    if (this.length === 0) return last;
    this.add(last);
    const taken = this.#memory.subarray(0, this.length);
    this.#memory = NO_BYTES;
    this.length = 0;
    return taken;
  }
}
