/**
 * Finds the parts of a form (`multipart/form-data`, RFC 7578) in bytes that come in chunks, without holding more of
 * them than the headers of one part. The bytes of its events, in order, are the form up to its last boundary, so that
 * it can be passed on with other contents.
 *
 * Vendors read forms by parsers that differ: those of the WHATWG and undici, busboy, Go's `mime/multipart`,
 * python-multipart, werkzeug, Django. So a form is read only if it is plain: all of them read it alike, or refuse it.
 * Any other form is broken: bare line ends, folded and doubled headers, `name*`, escapes, other encodings, a boundary
 * within a part. The forms of clients are plain; the tests contain them.
 */

import { joined } from './bytes.ts';

/** The facts in the headers of a part. */
export interface PartHead {
  name: string;
  /** `null` for a text. */
  fileName: string | null;
  /** The media type of a file, without parameters; empty if there is none. */
  contentType: string;
  /** Its headers name an encoding other than UTF-8, so only ASCII means the same to all readers. */
  isAscii: boolean;
}

export type FormEvent =
  /**
   * A part begins. `head` has the bytes between the boundary and the empty line: a line end and the headers, as a view
   * of memory that may be reused.
   */
  | ({ kind: 'part'; head: Uint8Array } & PartHead)
  /** Bytes of the part's content: a view of memory that may be reused afterwards. */
  | { kind: 'content'; bytes: Uint8Array }
  | { kind: 'partEnd' }
  /** Bytes outside of the content: boundaries, headers, line ends before them. A view like that of the content. */
  | { kind: 'frame'; bytes: Uint8Array }
  | { kind: 'broken'; rule: string };

/** A form of a file has two parts. */
const PARTS_MAX = 100;
const HEADERS_BYTES_MAX = 16 * 1024;
const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;

const HEADER = /^([a-z\d-]+): *(\S.*)$/i;
/** The name and the file's name; `filename*` may repeat the latter, as in .NET. Names need no escapes. */
const DISPOSITION =
  /^form-data *; *name=(?:"([\w.:[\]-]+)"|([\w.:-]+))(?: *; *filename=(?:"([^"]+)"|([\w.~-]+))(?: *; *filename\*=[\w.~%'!#$&+^`|-]+)?)?$/;
const FILE_TYPE = /^((?!multipart\/|message\/)[\w!#$&^.+-]+\/[\w!#$&^.+-]+) *(?:;.*)?$/i;
const TEXT_TYPE = /^(?:text\/plain|application\/json) *(?:; *charset="?(utf-8|us-ascii|iso-8859-1)"? *)?$/i;
/** The contents are the bytes as they stand. */
const TRANSFER_ENCODING = /^(?:binary|8bit|7bit)$/i;
/** Controls, and characters that some readers take for a line end. */
const UNREADABLE = /[\p{Cc}\u2028\u2029]/u;
/** Its value would be the encoding of all texts. */
const CHARSET_FIELD = '_charset_';
const PLAIN_RULE =
  'must have plain headers in each part: Content-Disposition: form-data; name="field", with filename="name" for a file, and a Content-Type that fits';

const encoder = new TextEncoder();
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const HEADERS_END = encoder.encode('\r\n\r\n');
const LINE_END = encoder.encode('\r\n');
const NO_BYTES = new Uint8Array();

/** A form that is being uploaded. Its Content-Type has a boundary. */
export interface UploadedForm {
  request: Request;
  bytesMax: number;
}

/** A boundary of RFC 2046, and no other parameter except that texts are UTF-8. */
const FORM_TYPE =
  /^multipart\/form-data *; *(?:charset="?utf-8"? *; *)?boundary=(?:"([\w'()+,./:=? -]{0,69}[\w'()+,./:=?-])"|([\w'+.-]{1,70})) *(?:; *charset="?utf-8"? *)?$/i;

/** The boundary in the Content-Type of a form; `null` if readers could disagree about it. */
export function parseBoundary(contentType: string): string | null {
  const [, quoted, plain] = FORM_TYPE.exec(contentType) ?? [];
  return quoted ?? plain ?? null;
}

/** The field to which a part belongs: the text before the first bracket of its name. */
export function parseFieldName(name: string): string {
  return name.split('[', 1)[0] || name;
}

export class FormScanner {
  /** The last part has ended, and so has the form. Later bytes are left out, except the line end. */
  isComplete = false;
  readonly #delimiter: Uint8Array;
  #state: 'preamble' | 'delimiter' | 'headers' | 'content' | 'end' | 'over' = 'preamble';
  /** Bytes that may be the beginning of a delimiter, or of headers. A form may begin with its first boundary. */
  #held: Uint8Array = LINE_END;
  /** Held bytes that were never read. */
  #added = LINE_END.length;
  #parts = 0;

  constructor(boundary: string) {
    this.#delimiter = encoder.encode(`--${boundary}`);
  }

  *push(chunk: Uint8Array): Generator<FormEvent> {
    let rest = this.#held.length === 0 ? chunk : joined([this.#held, chunk], this.#held.length + chunk.length);
    this.#held = NO_BYTES;
    while (this.#state !== 'over') {
      switch (this.#state) {
        case 'preamble':
        case 'content': {
          const { at, isWhole } = find(rest, this.#delimiter);
          const lineEnd = lineEndBefore(rest, at);
          const before = rest.subarray(0, at - lineEnd);
          if (this.#state === 'preamble') {
            if (!isLineEnds(before)) return yield this.#broken('must begin with its boundary');
            yield* this.#frame(before);
          } else if (before.length > 0) yield { kind: 'content', bytes: before };
          if (!isWhole) return this.#hold(rest.subarray(before.length));
          if (lineEnd < LINE_END.length) return yield this.#broken('must not have its boundary within a part');
          if (this.#state === 'content') yield { kind: 'partEnd' };
          const next = at + this.#delimiter.length;
          yield* this.#frame(rest.subarray(before.length, next));
          rest = rest.subarray(next);
          this.#state = 'delimiter';
          break;
        }
        case 'delimiter': {
          if (rest.length < 2) return this.#hold(rest);
          // Two dashes end the form.
          if (rest[0] === DASH && rest[1] === DASH) {
            this.isComplete = true;
            this.#state = 'end';
            yield* this.#frame(rest.subarray(0, 2));
            rest = rest.subarray(2);
            break;
          }
          if (rest[0] !== CR || rest[1] !== LF) return yield this.#broken('must be multipart/form-data');
          this.#parts += 1;
          if (this.#parts > PARTS_MAX) return yield this.#broken(`must have at most ${PARTS_MAX} parts`);
          this.#state = 'headers';
          break;
        }
        case 'headers': {
          const { at, isWhole } = find(rest, HEADERS_END);
          if (at > HEADERS_BYTES_MAX)
            return yield this.#broken(`must have at most ${HEADERS_BYTES_MAX} bytes of headers in each part`);
          if (!isWhole) return this.#hold(rest);
          const head = rest.subarray(0, at);
          const read = readHead(head);
          if (read === null) return yield this.#broken(PLAIN_RULE);
          yield* this.#frame(rest.subarray(0, at + HEADERS_END.length));
          yield { kind: 'part', head, ...read };
          rest = rest.subarray(at + HEADERS_END.length);
          this.#state = 'content';
          break;
        }
        case 'end': {
          // Only a line end passes.
          const { at, isWhole } = find(rest.subarray(0, LINE_END.length), LINE_END);
          if (at === 0 && !isWhole) return this.#hold(rest);
          if (isWhole) yield* this.#frame(LINE_END);
          this.#state = 'over';
        }
      }
    }
  }

  *#frame(bytes: Uint8Array): Generator<FormEvent> {
    const read = bytes.subarray(this.#added);
    this.#added -= bytes.length - read.length;
    if (read.length > 0) yield { kind: 'frame', bytes: read };
  }

  #hold(bytes: Uint8Array): void {
    // The chunk's memory may be reused.
    this.#held = bytes.slice();
  }

  #broken(rule: string): FormEvent {
    this.#state = 'over';
    return { kind: 'broken', rule };
  }
}

/** The start of the text; or, at the end of the bytes, the start of its beginning, or their end. */
function find(bytes: Uint8Array, text: Uint8Array): { at: number; isWhole: boolean } {
  const first = text[0] as number;
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1)) {
    let same = 1;
    while (same < text.length && at + same < bytes.length && bytes[at + same] === text[same]) same += 1;
    if (same === text.length || at + same === bytes.length) return { at, isWhole: same === text.length };
  }
  return { at: bytes.length, isWhole: false };
}

/** The number of bytes before `at` that are a line end, or the beginning of one at the end of the bytes. */
function lineEndBefore(bytes: Uint8Array, at: number): number {
  if (bytes[at - 2] === CR && bytes[at - 1] === LF) return 2;
  return at === bytes.length && bytes[at - 1] === CR ? 1 : 0;
}

function isLineEnds(bytes: Uint8Array): boolean {
  return bytes.length % 2 === 0 && bytes.every((byte, at) => byte === (at % 2 === 0 ? CR : LF));
}

/** The facts in the headers, each of which is on a line of its own; `null` if they are not plain. */
function readHead(head: Uint8Array): PartHead | null {
  const headers = parseHeaders(head);
  const [disposed, quotedName, name = quotedName, quotedFile, file = quotedFile] =
    DISPOSITION.exec(headers?.get('content-disposition') ?? '') ?? [];
  if (disposed === undefined || name === undefined || name.toLowerCase() === CHARSET_FIELD) return null;
  // Some readers take the quote after a backslash for a part of the name.
  if (file?.endsWith('\\')) return null;
  if (!TRANSFER_ENCODING.test(headers?.get('content-transfer-encoding') ?? 'binary')) return null;
  const type = headers?.get('content-type');
  const isFile = file !== undefined;
  const [typed, detail = ''] = type === undefined ? [''] : ((isFile ? FILE_TYPE : TEXT_TYPE).exec(type) ?? []);
  if (typed === undefined) return null;
  return {
    name,
    fileName: file ?? null,
    contentType: isFile ? detail : '',
    isAscii: !isFile && !/^(?:utf-8)?$/i.test(detail),
  };
}

function parseHeaders(head: Uint8Array): Map<string, string> | null {
  const headers = new Map<string, string>();
  for (const line of decodeUtf8(head)?.split('\r\n').slice(1) ?? []) {
    const [, name = '', value = ''] = UNREADABLE.test(line) ? [] : (HEADER.exec(line) ?? []);
    if (name === '' || headers.has(name.toLowerCase())) return null;
    headers.set(name.toLowerCase(), value.trimEnd());
  }
  return headers;
}

/** `null` if the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
