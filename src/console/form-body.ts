/**
 * Reads the body of a form within bounds: it counts the bytes during the read, and the fields before it parses them.
 *
 * The first field of a large form is the session's CSRF token. If a body does not begin with the right token, it is
 * discarded unread.
 */
import { joined, readBounded, readHead, readRequest } from '../platform/bytes.ts';

export type FormBody = { kind: 'form'; data: FormData } | { kind: 'too large'; bound: string };

/** The most fields of a form. The mappings have about four for each model, and other forms at most fifty. */
const FIELDS_MAX = 2_000;
/** The bytes that are read to find the first field, with its boundary and its headers. */
const HEAD_BYTES = 1_024;
const AMPERSAND = 0x26;
const KIB = 1_024;

/** The fields of a form with at most `bytesMax` bytes. */
export async function readForm(request: Request, bytesMax: number): Promise<FormBody> {
  return parseForm(request, await readRequest(request, bytesMax), bytesMax);
}

/** The fields of a large form. If it does not begin with `token`, it is `foreign`, and the rest is not read. */
export async function readFormWith(
  token: string,
  request: Request,
  bytesMax: number,
): Promise<FormBody | { kind: 'foreign' }> {
  const body = request.body as ReadableStream<Uint8Array> | null;
  if (!body) return { kind: 'foreign' };
  const head = await readHead(body, HEAD_BYTES);
  if (!new TextDecoder().decode(head.subarray(0, HEAD_BYTES)).includes(token)) {
    body.cancel().catch(() => undefined);
    return { kind: 'foreign' };
  }
  const rest = await readBounded(body, Math.max(0, bytesMax - head.length));
  return parseForm(request, rest && joined([head, rest], head.length + rest.length), bytesMax);
}

/** Parses a body; one that is not a form has no fields. */
async function parseForm(request: Request, bytes: Uint8Array | null, bytesMax: number): Promise<FormBody> {
  if (bytes === null) return { kind: 'too large', bound: `at most ${bytesMax / KIB} KiB` };
  const type = request.headers.get('Content-Type') ?? '';
  if (/^application\/x-www-form-urlencoded\b/i.test(type) && separators(bytes) >= FIELDS_MAX) {
    return { kind: 'too large', bound: `at most ${FIELDS_MAX} fields` };
  }
  const data = await new Response(bytes, { headers: { 'Content-Type': type } }).formData().catch(() => new FormData());
  return { kind: 'form', data };
}

function separators(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if (byte === AMPERSAND) count += 1;
  return count;
}
