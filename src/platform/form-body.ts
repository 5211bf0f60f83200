/**
 * A form (`multipart/form-data`) as a request: its fields as an object, and the same form with a few changed fields.
 *
 * All parts stay unchanged, in their order, headers included; only those of a changed field are left out or written
 * anew. The names of fields are read as vendors' clients write them: `tags[]` is an item of the list `tags`, and
 * `customer[customerId]` a member of the object `customer`.
 *
 * If a field occurs twice, some vendors take the first, some the last, and some a list. So a field may occur only once,
 * in one spelling, unless its name is that of a list, or it is one of those that clients repeat.
 */
import { PieceBytes } from './byte-source.ts';
import { joined, readParts } from './bytes.ts';
import type { FormFile } from './form-file.ts';
import { sha256Hex } from './hash.ts';
import { decodeUtf8, FormScanner, type PartHead, parseFieldName } from './multipart.ts';
import type { RequestBody } from './request-body.ts';

export type FormFields = Record<string, unknown>;

export type ReadForm =
  | { ok: true; fields: FormFields; body: FormBody }
  | { ok: false; broken: 'bytes' }
  /** The problem, and its field. */
  | { ok: false; broken: 'form'; path: string; rule: string };

interface Part extends PartHead {
  /** The line end after the boundary, and the headers. */
  head: Uint8Array;
  content: Uint8Array<ArrayBuffer>[];
  bytes: number;
}

const HEAD_BYTES = 48;
/** A field, an item of a list, or a member of an object. */
const NAME = /^([^[\]]+)(?:\[([^[\]]*)\])?$/;

const encoder = new TextEncoder();

/** Reads a form of at most `bytesMax` bytes. `repeated` are the fields whose name may come more than once. */
export async function readFormBody(
  request: Request,
  boundary: string,
  bytesMax: number,
  repeated: readonly string[],
): Promise<ReadForm> {
  const scanner = new FormScanner(boundary);
  const parts: Part[] = [];
  let length = 0;
  for await (const chunk of readParts(request.body as ReadableStream<Uint8Array>)) {
    length += chunk.byteLength;
    if (length > bytesMax) return { ok: false, broken: 'bytes' };
    for (const event of scanner.push(chunk)) {
      const part = parts.at(-1);
      if (event.kind === 'broken') return broken('body', event.rule);
      if (event.kind === 'part') {
        const { kind: _kind, ...head } = event;
        // Its memory is reused.
        parts.push({ ...head, head: event.head.slice(), content: [], bytes: 0 });
      } else if (event.kind === 'content' && part) {
        part.content.push(new Uint8Array(event.bytes));
        part.bytes += event.bytes.length;
      }
    }
  }
  if (!scanner.isComplete) return broken('body', 'must be a form that ends with its boundary');
  const values = parts.map(readPart);
  const unread = values.indexOf(null);
  if (unread >= 0) return broken(parts[unread]?.name ?? 'body', 'must be text in UTF-8');
  const double = doubleIn(
    parts.map(({ name }) => name),
    repeated,
  );
  if (double !== null) return broken(double, 'must be in the form once');
  const contentType = request.headers.get('Content-Type') ?? '';
  return { ok: true, fields: groupFields(parts, values), body: new FormBody(parts, boundary, contentType) };
}

/**
 * The first field that occurs more than once and is not a list: under one name, in several spellings (`n` and `n[]`),
 * or in large and small letters, which some vendors do not distinguish. `null` if there is none.
 */
function doubleIn(names: readonly string[], repeated: readonly string[]): string | null {
  for (const group of Map.groupBy(names, (name) => parseFieldName(name).toLowerCase()).values()) {
    const [first = '', ...others] = group;
    const field = parseFieldName(first);
    const isMember = (name: string) => name.startsWith(`${field}[`) && !name.endsWith('[]');
    const areItems = group.every((name) => name === first) && (first.endsWith('[]') || repeated.includes(first));
    const areMembers = group.every(isMember) && new Set(group).size === group.length;
    if (others.length > 0 && !areItems && !areMembers) return field;
  }
  return null;
}

function broken(path: string, rule: string): ReadForm {
  return { ok: false, broken: 'form', path, rule };
}

export class FormBody implements RequestBody {
  readonly contentType: string;
  readonly #boundary: string;
  readonly #parts: readonly Part[];

  constructor(parts: readonly Part[], boundary: string, contentType: string) {
    this.#parts = parts;
    this.#boundary = boundary;
    this.contentType = contentType;
  }

  /** A changed field is text. */
  changed(before: FormFields, after: FormFields): Uint8Array {
    const names = [...Object.keys(before), ...Object.keys(after)];
    const changes = new Set(names.filter((name) => !Object.is(before[name], after[name])));
    const pieces: Uint8Array[] = [];
    const write = (head: Uint8Array, content: readonly Uint8Array[]) =>
      pieces.push(encoder.encode(`--${this.#boundary}`), head, encoder.encode('\r\n\r\n'), ...content, LINE_END);
    const added = new Set([...changes].filter((name) => after[name] != null));
    for (const { name, head, content } of this.#parts) {
      const field = parseFieldName(name);
      if (!changes.has(field)) write(head, content);
      else if (added.delete(field)) write(head, [encoder.encode(String(after[field]))]);
    }
    for (const name of added)
      write(encoder.encode(`\r\nContent-Disposition: form-data; name="${name}"`), [
        encoder.encode(String(after[name])),
      ]);
    pieces.push(encoder.encode(`--${this.#boundary}--\r\n`));
    return joined(
      pieces,
      pieces.reduce((sum, piece) => sum + piece.length, 0),
    );
  }

  async filesHash(): Promise<string> {
    const hashes: string[] = [];
    for (const { name, fileName, content, bytes } of this.#parts)
      if (fileName !== null) hashes.push(`${name} ${await sha256Hex(joined(content, bytes))}`);
    return sha256Hex(hashes.join('\n'));
  }
}

const LINE_END = encoder.encode('\r\n');

function groupFields(parts: readonly Part[], read: readonly unknown[]): FormFields {
  const fields: [string, unknown][] = [];
  for (const [field, all] of Map.groupBy(parts.keys(), (at) => parseFieldName(parts[at]?.name ?? ''))) {
    const members = all.map((at) => NAME.exec(parts[at]?.name ?? '')?.[2]);
    const values = all.map((at) => read[at]);
    const isObject = members.every((member) => member !== undefined && member !== '');
    const isOne = all.length === 1 && members[0] === undefined;
    if (isObject) fields.push([field, Object.fromEntries(members.map((member, at) => [member, values[at]]))]);
    else fields.push([field, isOne ? values[0] : values]);
  }
  return Object.fromEntries(fields);
}

/** `null` for a text that readers could read differently. */
function readPart({ fileName, contentType, isAscii, content, bytes }: Part): string | FormFile | null {
  if (fileName !== null)
    return { fileName, contentType, bytes, head: firstBytes(content), content: new PieceBytes(content, bytes) };
  const text = decodeUtf8(joined(content, bytes));
  return text === null || (isAscii && text.length < bytes) ? null : text;
}

function firstBytes(content: readonly Uint8Array[]): Uint8Array {
  const head = new Uint8Array(HEAD_BYTES);
  let length = 0;
  for (const piece of content) {
    if (length === HEAD_BYTES) break;
    const first = piece.subarray(0, HEAD_BYTES - length);
    head.set(first, length);
    length += first.length;
  }
  return head.subarray(0, length);
}
