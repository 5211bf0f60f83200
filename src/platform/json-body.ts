/**
 * The JSON body of a request, within bounds of bytes, values and levels.
 *
 * The values of a large body are counted while it arrives. Once it exceeds a bound it is discarded, and the rest is
 * read so that the sender receives the answer.
 */
import { LINGER_BYTES_MAX } from './bytes.ts';
import { JsonCount, type ParsedJson, parsedText, parseJson, REQUEST_BOUNDS } from './json.ts';

/** Why there is no value: `bytes` where the body is too long, `empty` where there is none. */
export type JsonBody = ParsedJson | { ok: false; broken: 'bytes' | 'empty' };

/** Bodies below this are read in one go, which is cheaper. */
const COUNTED_WHILE_READ_BYTES = 256 * 1024;
const PART_BYTES = 64 * 1024;

export async function readJsonBody(request: Request, bytesMax: number): Promise<JsonBody> {
  const header = request.headers.get('Content-Length');
  const declared = header === null ? Number.POSITIVE_INFINITY : Number(header);
  // A body whose declared length is far too large is not read.
  if (header !== null && declared > bytesMax + LINGER_BYTES_MAX) return { ok: false, broken: 'bytes' };
  // The connection never delivers more than the declared length.
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

/** The chunks of the body, read into one reused buffer. */
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
    // A failure to cancel changes nothing.
    reader.cancel().catch(() => undefined);
  }
}
