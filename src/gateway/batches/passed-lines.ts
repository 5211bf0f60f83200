/**
 * The lines of a batch's input on their way to the vendor. A line passes once it is whole and can run: byte for byte, but
 * for the name of its model where the vendor calls it otherwise.
 *
 * What is held is one line of at most `BATCH_LINE_BYTES_MAX`. Chunks pass as they come where nothing is replaced.
 */

import { joined, LF } from '../../platform/bytes.ts';
import { placeOf } from '../../platform/json-place.ts';
import { BATCH_LINE_BYTES_MAX, BATCH_LINES_MAX } from './input-line.ts';
import type { LineCheck } from './line-check.ts';

/** Where the line names its model. */
const MODEL_PLACE = ['body', 'model'];

const utf8 = new TextDecoder();
const encoder = new TextEncoder();

export class PassedLines {
  /** What is wrong with the first line that cannot run. Nothing after it is looked at, and all of it passes. */
  broken: string | null = null;
  /** The first line whose model was replaced. */
  replaced: { number: number; named: string } | null = null;
  readonly #check: LineCheck;
  /** The line that has begun. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #number = 1;

  constructor(check: LineCheck) {
    this.#check = check;
  }

  /** What may pass now: views of the bytes, whose memory may be used again once they are sent, and what was held. */
  async push(bytes: Uint8Array): Promise<Uint8Array[]> {
    if (this.broken !== null) return [bytes];
    const passed: Uint8Array[] = [];
    /** Where that begins which has not passed, and the line. */
    let [from, start] = [0, 0];
    for (let end = bytes.indexOf(LF); end >= 0 && this.broken === null; end = bytes.indexOf(LF, start)) {
      const held = this.#held;
      const replaced = await this.#complete(bytes.subarray(start, end));
      if (replaced) passed.push(bytes.subarray(from, start), ...replaced);
      else passed.push(...held);
      if (replaced) from = end;
      start = end + 1;
    }
    passed.push(bytes.subarray(from, start));
    if (this.broken === null) this.#hold(bytes.slice(start));
    else passed.push(bytes.subarray(start));
    return [...passed, ...this.#tooLong()];
  }

  /** The last line, where it has no end of its own. */
  async end(): Promise<Uint8Array[]> {
    const held = this.#held;
    return (await this.#complete(new Uint8Array())) ?? held;
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  /** A line that is too long is not held on. */
  #tooLong(): Uint8Array[] {
    if (this.#heldBytes <= BATCH_LINE_BYTES_MAX) return [];
    this.#break(`has more than ${BATCH_LINE_BYTES_MAX} bytes`);
    const held = this.#held;
    this.#held = [];
    return held;
  }

  /** The line with these last bytes as it is to pass, where its model is replaced. */
  async #complete(last: Uint8Array): Promise<Uint8Array[] | null> {
    const parts = [...this.#held, last];
    const length = this.#heldBytes + last.length;
    this.#held = [];
    this.#heldBytes = 0;
    const replaced = await this.#replaced(parts, length);
    this.#number += 1;
    return replaced;
  }

  async #replaced(parts: readonly Uint8Array[], length: number): Promise<Uint8Array[] | null> {
    if (length > BATCH_LINE_BYTES_MAX) return this.#break(`has more than ${BATCH_LINE_BYTES_MAX} bytes`);
    const text = textOf(parts);
    if (text.trim() === '') return null;
    const line = await this.#check.next(text);
    if (line === null) {
      this.broken = `the file has more than ${BATCH_LINES_MAX} lines`;
      return null;
    }
    if ('rule' in line) return this.#break(line.rule);
    if (line.named === line.model) return null;
    const bytes = joined(parts, length);
    const place = placeOf(bytes, MODEL_PLACE);
    if (!place) return this.#break('must have body and model once');
    this.replaced ??= { number: this.#number, named: line.named };
    return [bytes.subarray(0, place.start), encoder.encode(JSON.stringify(line.model)), bytes.subarray(place.end)];
  }

  #break(rule: string): null {
    this.broken = `line ${this.#number} of the file ${rule}`;
    return null;
  }
}

function textOf(parts: readonly Uint8Array[]): string {
  let text = '';
  for (const part of parts) text += utf8.decode(part, { stream: true });
  return text + utf8.decode();
}
