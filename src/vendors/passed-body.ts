/**
 * The parts that are read of an answer that passes while it arrives and is not a stream of events: of JSON, everything
 * except its long texts; of any other content, only whether it arrived completely.
 */
import { parseAnswer } from '../platform/json.ts';
import { joined } from './event-blocks.ts';
import { JsonSkim } from './json-skim.ts';
import {
  type PassingUsage,
  readFailure,
  readSearches,
  readUsage,
  type VendorFailure,
  type VendorUsage,
} from './usage.ts';

/** The most JSON that is held: more than skimming ever keeps of one document. */
const SKIMMED_BYTES_MAX = 1024 * 1024;

export class PassedBody implements PassingUsage {
  readonly outputTokens = 0;
  readonly #declaredBytes: number | null;
  readonly #skim: JsonSkim | null;
  #skimmed: Uint8Array[] = [];
  #skimmedBytes = 0;
  #bytes = 0;
  #ended = false;

  /** For an answer with these headers; `isJson` is whether it is JSON. */
  constructor(headers: Headers, isJson: boolean) {
    const declared = headers.get('content-length');
    this.#declaredBytes = declared === null || headers.has('content-encoding') ? null : Number(declared);
    this.#skim = isJson ? new JsonSkim() : null;
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (!this.#skim || this.#skimmedBytes > SKIMMED_BYTES_MAX) return;
    // A copy: the runtime may reuse the chunk's memory.
    const skimmed = this.#skim.push(chunk).slice();
    this.#skimmedBytes += skimmed.length;
    if (this.#skimmedBytes > SKIMMED_BYTES_MAX) this.#skimmed = [];
    else this.#skimmed.push(skimmed);
  }

  end(): void {
    this.#ended = true;
  }

  /** The JSON without its long texts; `undefined` if it is not JSON, or not complete. */
  get document(): unknown {
    if (this.#skimmed.length === 0) return undefined;
    this.#skimmed = [joined(this.#skimmed)];
    return parseAnswer(new TextDecoder().decode(this.#skimmed[0]));
  }

  get completed(): boolean {
    if (this.#declaredBytes !== null) return this.#bytes >= this.#declaredBytes;
    return this.#skim !== null && this.document !== undefined;
  }

  get finished(): boolean {
    return this.completed || (this.#ended && this.#skim === null);
  }

  get truncated(): boolean {
    return this.#ended && !this.finished;
  }

  get empty(): boolean {
    return this.#bytes === 0;
  }

  /** A document that is too large to hold is more than an error, and bytes are output. */
  get hasOutput(): boolean {
    return !this.empty;
  }

  get failed(): VendorFailure | null {
    return readFailure(this.document);
  }

  usage(): VendorUsage | null {
    return readUsage(this.document);
  }

  partial(): null {
    return null;
  }

  searches(): number {
    return readSearches(this.document);
  }
}
