/**
 * Finds the parts of a form (`multipart/form-data`, RFC 7578) in bytes that come in chunks, without holding more of
 * them than the headers of one part. Every byte that was read is a byte of an event, in order, so that a form can be
 * passed on with other contents.
 */

import { joined } from './bytes.ts';

export type FormEvent =
  /**
   * A part begins. `name` is `null` where its headers do not say it. `head` is what stands between the boundary and the
   * empty line: a line end and the headers, as a view of memory that may be used again.
   */
  | { kind: 'part'; name: string | null; head: Uint8Array }
  /** Bytes of the part's content: a view of memory that may be used again afterwards. */
  | { kind: 'content'; bytes: Uint8Array }
  | { kind: 'partEnd' }
  /** Bytes that are no content: boundaries, headers, what stands before and behind them. A view as that of content. */
  | { kind: 'frame'; bytes: Uint8Array }
  | { kind: 'broken'; rule: string };

/** A form of a file has two parts. */
const PARTS_MAX = 100;
const HEADERS_BYTES_MAX = 16 * 1024;
/** Bytes between a boundary and the end of its line. */
const BLANKS_MAX = 100;
const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;
const NAME = /^content-disposition:[^\r\n]*;[\t ]*name=(?:"([^"\r\n]*)"|([^\s";]+))/im;

const encoder = new TextEncoder();
const HEADERS_END = encoder.encode('\r\n\r\n');
const LINE_END = encoder.encode('\r\n');
const NO_BYTES = new Uint8Array();

/** A form that is being uploaded. Its Content-Type has a boundary. */
export interface UploadedForm {
  request: Request;
  bytesMax: number;
}

/** The boundary in a Content-Type; `null` where there is none. */
export function boundaryOf(contentType: string): string | null {
  const [, quoted, plain] = /;[\t ]*boundary=(?:"([^"]{1,200})"|([^\s";]{1,200}))/i.exec(contentType) ?? [];
  return quoted ?? plain ?? null;
}

export class FormScanner {
  /** The last part has ended, and the form with it. What follows is not looked at. */
  isComplete = false;
  readonly #delimiter: Uint8Array;
  #state: 'preamble' | 'delimiter' | 'headers' | 'content' | 'over' = 'preamble';
  /** Bytes that may be the beginning of a delimiter, or of headers. A form may begin with its first boundary. */
  #held: Uint8Array = LINE_END;
  /** What is held and was never read. */
  #added = LINE_END.length;
  #parts = 0;

  constructor(boundary: string) {
    this.#delimiter = encoder.encode(`\r\n--${boundary}`);
  }

  *push(chunk: Uint8Array): Generator<FormEvent> {
    let rest = this.#held.length === 0 ? chunk : joined([this.#held, chunk], this.#held.length + chunk.length);
    this.#held = NO_BYTES;
    while (this.#state !== 'over') {
      switch (this.#state) {
        case 'preamble':
        case 'content': {
          const { at, isWhole } = find(rest, this.#delimiter);
          const before = rest.subarray(0, at);
          if (this.#state === 'preamble') yield* this.#frame(before);
          else if (at > 0) yield { kind: 'content', bytes: before };
          if (!isWhole) return this.#hold(rest.subarray(at));
          if (this.#state === 'content') yield { kind: 'partEnd' };
          yield* this.#frame(rest.subarray(at, at + this.#delimiter.length));
          rest = rest.subarray(at + this.#delimiter.length);
          this.#state = 'delimiter';
          break;
        }
        case 'delimiter': {
          // Two dashes end the form; blanks may stand before the end of the line.
          if (rest.length < 2) return this.#hold(rest);
          if (rest[0] === DASH && rest[1] === DASH) {
            this.isComplete = true;
            this.#state = 'over';
            break;
          }
          const end = rest.indexOf(LF);
          if (end < 0 ? rest.length > BLANKS_MAX : end > BLANKS_MAX || rest[end - 1] !== CR)
            return yield this.#broken('must be multipart/form-data');
          if (end < 0) return this.#hold(rest);
          this.#parts += 1;
          if (this.#parts > PARTS_MAX) return yield this.#broken(`must have at most ${PARTS_MAX} parts`);
          // Headers end with an empty line; a part may have none.
          yield* this.#frame(rest.subarray(0, end - 1));
          rest = rest.subarray(end - 1);
          this.#state = 'headers';
          break;
        }
        case 'headers': {
          const { at, isWhole } = find(rest, HEADERS_END);
          if (at > HEADERS_BYTES_MAX)
            return yield this.#broken(`must have at most ${HEADERS_BYTES_MAX} bytes of headers in each part`);
          if (!isWhole) return this.#hold(rest);
          const head = rest.subarray(0, at);
          const [, quoted, plain] = NAME.exec(new TextDecoder().decode(head)) ?? [];
          yield* this.#frame(rest.subarray(0, at + HEADERS_END.length));
          yield { kind: 'part', name: quoted ?? plain ?? null, head };
          rest = rest.subarray(at + HEADERS_END.length);
          this.#state = 'content';
        }
      }
    }
    yield* this.#frame(rest);
  }

  *#frame(bytes: Uint8Array): Generator<FormEvent> {
    const read = bytes.subarray(this.#added);
    this.#added -= bytes.length - read.length;
    if (read.length > 0) yield { kind: 'frame', bytes: read };
  }

  #hold(bytes: Uint8Array): void {
    // The chunk's memory may be used again.
    this.#held = bytes.slice();
  }

  #broken(rule: string): FormEvent {
    this.#state = 'over';
    return { kind: 'broken', rule };
  }
}

/** Where the text begins, which starts with CR; or where its beginning stands at the end of the bytes, or their end. */
function find(bytes: Uint8Array, text: Uint8Array): { at: number; isWhole: boolean } {
  for (let at = bytes.indexOf(CR); at >= 0; at = bytes.indexOf(CR, at + 1)) {
    let same = 1;
    while (same < text.length && at + same < bytes.length && bytes[at + same] === text[same]) same += 1;
    if (same === text.length || at + same === bytes.length) return { at, isWhole: same === text.length };
  }
  return { at: bytes.length, isWhole: false };
}
