/**
 * The body of a request that is not read: it passes unchanged.
 */
import { sha256Hex } from './hash.ts';
import type { RequestBody } from './request-body.ts';

export class ByteBody implements RequestBody {
  readonly contentType: string;
  readonly isUnread: boolean;
  readonly #bytes: Uint8Array;

  /** The media type is empty if none is declared. */
  constructor(bytes: Uint8Array, contentType: string) {
    this.#bytes = bytes;
    this.isUnread = bytes.length > 0;
    this.contentType = contentType;
  }

  changed(): Uint8Array {
    return this.#bytes;
  }

  filesHash(): Promise<string> {
    return sha256Hex(new Uint8Array(this.#bytes));
  }
}
