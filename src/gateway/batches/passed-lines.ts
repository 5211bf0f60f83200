/**
 * The lines of a batch's input on their way to the vendor. A line passes once it is whole and can run: byte for byte, but
 * for the name of its model where the vendor calls it otherwise.
 *
 * What is held is one line of at most `BATCH_LINE_BYTES_MAX`; a line that lies whole in a chunk is read where it lies.
 */

import { LF } from '../../platform/bytes.ts';
import { placeOf } from '../../platform/json-text.ts';
import { BATCH_LINE_BYTES_MAX, BATCH_LINES_MAX } from './input-line.ts';
import type { LineCheck } from './line-check.ts';

/** Where a line names its model. */
const MODEL_PLACE = ['body', 'model'];
const TOO_LONG = `has more than ${BATCH_LINE_BYTES_MAX} bytes`;
const NO_BYTES = new Uint8Array();

const decoder = new TextDecoder();
const encoder = new TextEncoder();

export class PassedLines {
  /** What is wrong with the first line that cannot run. Nothing after it is looked at, and all of it passes. */
  broken: string | null = null;
  /** The first line whose model was replaced. */
  replaced: { number: number; named: string } | null = null;
  readonly #check: LineCheck;
  readonly #held = new Held();
  #number = 1;

  constructor(check: LineCheck) {
    this.#check = check;
  }

  /** What may pass now: views of the chunk, whose memory may be used again once they are sent, and what was held. */
  async push(chunk: Uint8Array): Promise<Uint8Array[]> {
    const passed: Uint8Array[] = [];
    /** Where that begins which has not passed, and where the line begins. */
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

  /** The last line, where it has no end of its own. */
  async end(): Promise<Uint8Array[]> {
    const line = this.#held.taken(NO_BYTES);
    return (await this.#complete(line)) ?? [line];
  }

  /** The line as it is to pass, where its model is replaced. */
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
    const place = placeOf(line, MODEL_PLACE);
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

  /** What is held with the last bytes behind it, which are not copied where nothing is. Nothing is held afterwards. */
  taken(last: Uint8Array): Uint8Array {
    if (this.length === 0) return last;
    this.add(last);
    const taken = this.#memory.subarray(0, this.length);
    this.#memory = NO_BYTES;
    this.length = 0;
    return taken;
  }
}
