/**
 * A form (`multipart/form-data`) as a request: its fields as an object, and the same form with a few of them changed.
 *
 * All parts stay as they came, in their order, headers included; only those of a changed field are left out or written
 * anew. The names of fields are read as vendors' clients write them: `tags[]` is an item of the list `tags`, and
 * `customer[customerId]` a member of the object `customer`. A name that comes more than once is a list.
 */
import { joined, partsOf } from './bytes.ts';
import type { FormFile } from './form-file.ts';
import { sha256Hex } from './hash.ts';
import { FormScanner } from './multipart.ts';
import type { RequestBody } from './request-body.ts';

export type FormFields = Record<string, unknown>;

export type ReadForm =
  | { ok: true; fields: FormFields; body: FormBody }
  | { ok: false; broken: 'bytes' }
  /** What is wrong, and with which field. */
  | { ok: false; broken: 'form'; path: string; rule: string };

interface Part {
  name: string;
  /** The line end after the boundary, and the headers. */
  head: Uint8Array;
  content: Uint8Array<ArrayBuffer>[];
  bytes: number;
}

const HEAD_BYTES = 48;
const FILE_NAME = /^content-disposition:[^\r\n]*;[\t ]*filename\*?=(?:"([^"\r\n]*)"|([^\s";]+))/im;
const CONTENT_TYPE = /^content-type:[\t ]*([^\s;]+)/im;
/** A field, an item of a list, or a member of an object. */
const NAME = /^([^[\]]+)(?:\[([^[\]]*)\])?$/;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Reads a form of at most `bytesMax` bytes. */
export async function readFormBody(request: Request, boundary: string, bytesMax: number): Promise<ReadForm> {
  const scanner = new FormScanner(boundary);
  const parts: Part[] = [];
  let length = 0;
  for await (const chunk of partsOf(request.body as ReadableStream<Uint8Array>)) {
    length += chunk.byteLength;
    if (length > bytesMax) return { ok: false, broken: 'bytes' };
    for (const event of scanner.push(chunk)) {
      const part = parts.at(-1);
      if (event.kind === 'broken') return broken('body', event.rule);
      if (event.kind === 'part') {
        if (!event.name) return broken('body', 'must have a name for each part');
        // Its memory is used again.
        parts.push({ name: event.name, head: event.head.slice(), content: [], bytes: 0 });
      } else if (event.kind === 'content' && part) {
        part.content.push(new Uint8Array(event.bytes));
        part.bytes += event.bytes.length;
      }
    }
  }
  if (!scanner.isComplete) return broken('body', 'must be a form that ends with its boundary');
  const contentType = request.headers.get('Content-Type') ?? '';
  return { ok: true, fields: fieldsOf(parts), body: new FormBody(parts, boundary, contentType) };
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
      const field = fieldNameOf(name);
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
    for (const { name, head, content, bytes } of this.#parts)
      if (isFile(head)) hashes.push(`${name} ${await sha256Hex(joined(content, bytes))}`);
    return sha256Hex(hashes.join('\n'));
  }
}

const LINE_END = encoder.encode('\r\n');

/** The field that a part belongs to: what stands before the first bracket. */
function fieldNameOf(name: string): string {
  return name.split('[', 1)[0] || name;
}

function fieldsOf(parts: readonly Part[]): FormFields {
  const fields: [string, unknown][] = [];
  for (const [field, all] of Map.groupBy(parts, ({ name }) => fieldNameOf(name))) {
    const members = all.map(({ name }) => NAME.exec(name)?.[2]);
    const values = all.map(readPart);
    const isObject = members.every((member) => member !== undefined && member !== '');
    const isOne = all.length === 1 && members[0] === undefined;
    if (isObject) fields.push([field, Object.fromEntries(members.map((member, at) => [member, values[at]]))]);
    else fields.push([field, isOne ? values[0] : values]);
  }
  return Object.fromEntries(fields);
}

function isFile(head: Uint8Array): boolean {
  return FILE_NAME.test(decoder.decode(head));
}

function readPart({ head, content, bytes }: Part): string | FormFile {
  const headers = decoder.decode(head);
  const [named, quoted, plain] = FILE_NAME.exec(headers) ?? [];
  if (named === undefined) return decoder.decode(joined(content, bytes));
  return {
    fileName: quoted ?? plain ?? '',
    contentType: CONTENT_TYPE.exec(headers)?.[1] ?? '',
    bytes,
    head: headOf(content),
  };
}

function headOf(content: readonly Uint8Array[]): Uint8Array {
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
