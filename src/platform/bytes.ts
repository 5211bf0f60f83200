/**
 * Reads bodies up to a bound: memory never exceeds it, and a larger body is refused while it is read.
 */

/** A little more than the bound is read and discarded, so that the sender finishes sending and receives the answer. */
export const LINGER_BYTES_MAX = 1024 * 1024;

/**
 * The bytes of a body; `null` where there are more than `bytesMax`: the rest is not read. Throws where the body ends
 * early, and a TimeoutError where it has not ended after `timeoutMs`.
 */
export async function readBounded(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
  timeoutMs?: number,
): Promise<Uint8Array | null> {
  if (!body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunksOf(body, timeoutMs)) {
    length += chunk.byteLength;
    if (length > bytesMax + LINGER_BYTES_MAX) return null;
    if (length <= bytesMax) chunks.push(chunk);
  }
  return length > bytesMax ? null : joined(chunks, length);
}

/**
 * The bytes of a request's body; `null` where there are more than `bytesMax`. A body whose declared length is far too
 * large is not read.
 */
export async function readRequest(request: Request, bytesMax: number): Promise<Uint8Array | null> {
  const declared = request.headers.get('Content-Length');
  // The connection never delivers more than the declared length.
  if (declared !== null && Number(declared) <= bytesMax) return new Uint8Array(await request.arrayBuffer());
  if (declared !== null && Number(declared) > bytesMax + LINGER_BYTES_MAX) return null;
  return readBounded(request.body as ReadableStream<Uint8Array> | null, bytesMax);
}

/** The first bytes of a body, at least `bytesMin` unless it is shorter. The rest can be read afterwards. */
export async function readHead(body: ReadableStream<Uint8Array>, bytesMin: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  try {
    while (length < bytesMin) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      length += value.byteLength;
    }
  } finally {
    reader.releaseLock();
  }
  return joined(chunks, length);
}

/** The chunks of a body. The body is canceled when the reader stops, and after the timeout. */
async function* chunksOf(body: ReadableStream<Uint8Array>, timeoutMs: number | undefined): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  // A failure to cancel changes nothing. A pending read then ends as if the body had ended.
  const letGo = () => void reader.cancel().catch(() => undefined);
  let late = false;
  const expire = () => {
    late = true;
    letGo();
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (late) throw new DOMException('the body did not end in time', 'TimeoutError');
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    letGo();
  }
}

/** A line of a stream. A line that is too long is cut. */
export interface Line {
  text: string;
  cut: boolean;
}

/** The part of a line that is too long which is returned: enough to find its id. */
const CUT_LINE_BYTES = 4_096;
const LF = 10;

/**
 * The lines of a stream, without empty ones. A line of more than `lineBytesMax` bytes is cut, so that memory is
 * bounded. Throws where the stream ends early, and a TimeoutError where it has not ended after `timeoutMs`.
 */
export async function* linesOf(
  body: ReadableStream<Uint8Array>,
  lineBytesMax: number,
  timeoutMs?: number,
): AsyncGenerator<Line> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let cut = false;
  const decoder = new TextDecoder();
  const take = (part: Uint8Array) => {
    if (part.length === 0) return;
    if (!cut && heldBytes + part.length > lineBytesMax) {
      const whole = joined([...held, part], heldBytes + part.length);
      held = [whole.slice(0, CUT_LINE_BYTES)];
      cut = true;
    } else if (!cut) held.push(part.slice());
    heldBytes += part.length;
  };
  const complete = (): Line => {
    const line = {
      text: decoder.decode(
        joined(
          held,
          held.reduce((sum, { length }) => sum + length, 0),
        ),
      ),
      cut,
    };
    held = [];
    heldBytes = 0;
    cut = false;
    return line;
  };
  for await (const chunk of chunksOf(body, timeoutMs)) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      take(chunk.subarray(start, end));
      const line = complete();
      if (line.text.trim() !== '') yield line;
      start = end + 1;
    }
    take(chunk.subarray(start));
  }
  const last = complete();
  if (last.text.trim() !== '') yield last;
}

export function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only) return only;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
