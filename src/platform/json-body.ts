/**
 * The JSON body of a request, within bounds of bytes, values and levels.
 *
 * A large body is counted while it arrives. After it breaks a bound, it is not read on: the code that answers drains
 * it.
 */
import { readParts } from './bytes.ts';
import { JsonCount, type ParsedJson, parseJson, REQUEST_BOUNDS } from './json.ts';

/** `bytes` for a body with too many bytes, `empty` for none. */
export type JsonBody = ParsedJson | { ok: false; broken: 'bytes' | 'empty' };

/** Smaller bodies are read at once, which costs less. */
const COUNTED_WHILE_READ_BYTES = 256 * 1024;

export async function readJsonBody(request: Request, bytesMax: number): Promise<JsonBody> {
  const header = request.headers.get('Content-Length');
  const declared = header === null ? Number.POSITIVE_INFINITY : Number(header);
  if (header !== null && declared > bytesMax) return { ok: false, broken: 'bytes' };
  // The connection enforces a declared length.
  if (declared <= Math.min(bytesMax, COUNTED_WHILE_READ_BYTES)) {
    const bytes = new Uint8Array(await request.arrayBuffer());
    return bytes.byteLength === 0 ? { ok: false, broken: 'empty' } : parseJson(bytes, REQUEST_BOUNDS);
  }
  return request.body
    ? readCounted(request.body as ReadableStream<Uint8Array>, bytesMax)
    : { ok: false, broken: 'empty' };
}

async function readCounted(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<JsonBody> {
  const count = new JsonCount(REQUEST_BOUNDS);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  let text = '';
  let undecodable: unknown;
  let length = 0;
  for await (const chunk of readParts(body)) {
    length += chunk.byteLength;
    if (length > bytesMax) return { ok: false, broken: 'bytes' };
    count.push(chunk);
    if (count.broken !== null) return { ok: false, broken: count.broken };
    if (undecodable) continue;
    try {
      text += decoder.decode(chunk, { stream: true });
    } catch (error) {
      undecodable = error;
      text = '';
    }
  }
  if (length === 0) return { ok: false, broken: 'empty' };
  try {
    if (!undecodable) return parseJson(text + decoder.decode());
  } catch (error) {
    undecodable = error;
  }
  return { ok: false, broken: 'syntax', reason: (undecodable as Error).message };
}
