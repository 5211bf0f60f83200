/**
 * The JSON body of a request, within bounds of bytes, values and levels.
 *
 * A large body is counted while it comes: nothing of it is kept once it breaks a bound. The rest is read and let go, so
 * that whoever sends it hears the answer.
 */
import { LINGER_BYTES_MAX } from './bytes.ts';
import { JsonCount, type ParsedJson, parsedText, parseJson, REQUEST_BOUNDS } from './json.ts';

/** `bytes` where there are more than may come, `empty` where there is none. */
export type JsonBody = ParsedJson | { ok: false; broken: 'bytes' | 'empty' };

/** Smaller bodies are read at once, at less cost. */
const COUNTED_WHILE_READ_BYTES = 256 * 1024;
const PART_BYTES = 64 * 1024;

export async function readJsonBody(request: Request, bytesMax: number): Promise<JsonBody> {
  const header = request.headers.get('Content-Length');
  const declared = header === null ? Number.POSITIVE_INFINITY : Number(header);
  // What declares to be far too large is not read.
  if (header !== null && declared > bytesMax + LINGER_BYTES_MAX) return { ok: false, broken: 'bytes' };
  // A length that is declared is one that the connection keeps to.
  if (declared <= Math.min(bytesMax, COUNTED_WHILE_READ_BYTES)) {
    const bytes = new Uint8Array(await request.arrayBuffer());
    return bytes.byteLength === 0 ? { ok: false, broken: 'empty' } : parseJson(bytes);
  }
  return request.body
    ? readCounted(request.body as ReadableStream<Uint8Array>, bytesMax)
    : { ok: false, broken: 'empty' };
}

async function readCounted(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<JsonBody> {
  const count = new JsonCount(REQUEST_BOUNDS);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  let text = '';
  let isUtf8 = true;
  let length = 0;
  for await (const chunk of partsOf(body)) {
    length += chunk.byteLength;
    if (length > bytesMax + LINGER_BYTES_MAX) break;
    if (length <= bytesMax && count.broken === null) count.push(chunk);
    if (length > bytesMax || count.broken !== null || !isUtf8) {
      text = '';
      continue;
    }
    try {
      text += decoder.decode(chunk, { stream: true });
    } catch {
      isUtf8 = false;
    }
  }
  if (length > bytesMax) return { ok: false, broken: 'bytes' };
  if (length === 0) return { ok: false, broken: 'empty' };
  if (count.broken !== null) return { ok: false, broken: count.broken };
  return isUtf8 ? parsedText(() => text + decoder.decode()) : { ok: false, broken: 'syntax' };
}

/** The body in parts, each in the memory of the one before: what was let go needs none. */
async function* partsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader({ mode: 'byob' });
  let buffer = new ArrayBuffer(PART_BYTES);
  try {
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done) return;
      yield value;
      buffer = value.buffer;
    }
  } finally {
    // Whether the other side takes note is of no interest.
    reader.cancel().catch(() => undefined);
  }
}
