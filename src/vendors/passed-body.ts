/**
 * What is read of an answer that passes as it comes and is no stream of events: of JSON all but what is long in it, of
 * anything else only whether it came whole.
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

/** What is held of JSON: more than is ever left of one document. */
const SKIMMED_BYTES_MAX = 1024 * 1024;

export class PassedBody implements PassingUsage {
  readonly outputTokens = 0;
  readonly #declaredBytes: number | null;
  readonly #skim: JsonSkim | null;
  #skimmed: Uint8Array[] = [];
  #skimmedBytes = 0;
  #bytes = 0;
  #ended = false;

  /** Of an answer with these headers, and whether it is JSON. */
  constructor(headers: Headers, isJson: boolean) {
    const declared = headers.get('content-length');
    this.#declaredBytes = declared === null || headers.has('content-encoding') ? null : Number(declared);
    this.#skim = isJson ? new JsonSkim() : null;
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (!this.#skim || this.#skimmedBytes > SKIMMED_BYTES_MAX) return;
    // A copy: the runtime may use the chunk's memory again.
    const skimmed = this.#skim.push(chunk).slice();
    this.#skimmedBytes += skimmed.length;
    if (this.#skimmedBytes > SKIMMED_BYTES_MAX) this.#skimmed = [];
    else this.#skimmed.push(skimmed);
  }

  end(): void {
    this.#ended = true;
  }

  /** The JSON without its long texts; `undefined` where it is none, or not whole. */
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

  /** What is too large to be held is no error alone, and bytes are output. */
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
