/**
 * Reads the body of a form within bounds: its bytes are counted while they are read, its fields before they are parsed.
 *
 * The first field of a large form is the session's CSRF token, so that a body that does not begin with the right token
 * is discarded unread.
 */
import { joined, readBounded, readHead, readRequest } from '../platform/bytes.ts';

export type FormBody = { kind: 'form'; data: FormData } | { kind: 'too large'; bound: string };

/** The most fields of a form. The largest form, a plan, has about forty. */
const FIELDS_MAX = 1_000;
/** Enough bytes for the first field with its boundary and its headers. */
const HEAD_BYTES = 1_024;
const AMPERSAND = 0x26;
const KIB = 1_024;

/** The fields of a form of at most `bytesMax` bytes. */
export async function readForm(request: Request, bytesMax: number): Promise<FormBody> {
  return parseForm(request, await readRequest(request, bytesMax), bytesMax);
}

/** The same for a large form, which is `foreign` and not read on where it does not begin with `token`. */
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

/** A body that is not a form gives no fields. */
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
