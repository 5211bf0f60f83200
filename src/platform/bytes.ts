/**
 * Reading bodies within a bound: nothing larger is ever held, and what is refused is refused while it is read.
 */

/** A little more than the bound is read and let go, so that whoever sends it is done sending and hears the answer. */
export const LINGER_BYTES_MAX = 1024 * 1024;

/**
 * The bytes of a body; `null` where there are more than `bytesMax`, of which the rest is not read. Throws where the
 * body breaks off, and a TimeoutError where it has not ended after `timeoutMs`.
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
 * The bytes of a request's body; `null` where there are more than `bytesMax`. What declares to be far too large is not
 * read.
 */
export async function readRequest(request: Request, bytesMax: number): Promise<Uint8Array | null> {
  const declared = request.headers.get('Content-Length');
  // A length that is declared is one that the connection keeps to.
  if (declared !== null && Number(declared) <= bytesMax) return new Uint8Array(await request.arrayBuffer());
  if (declared !== null && Number(declared) > bytesMax + LINGER_BYTES_MAX) return null;
  return readBounded(request.body as ReadableStream<Uint8Array> | null, bytesMax);
}

/** The first bytes of a body, at least `bytesMin` where it has as many. The rest can be read afterwards. */
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

/** The chunks of a body. Who stops reading lets go of it, and so does the timeout. */
async function* chunksOf(body: ReadableStream<Uint8Array>, timeoutMs: number | undefined): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  // Whether the other side takes note is of no interest. A read under way then ends, as if the body had.
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

/** A line of a stream; the text of one that is too long is its beginning. */
export interface Line {
  text: string;
  cut: boolean;
}

/** What is kept of a line that is too long: enough to find its name in. */
const CUT_LINE_BYTES = 4_096;
const LF = 10;

/**
 * The lines of a stream that are not empty. One that has more than `lineBytesMax` bytes is cut, so that memory is
 * bounded. Throws where the stream breaks off, and a TimeoutError where it has not ended after `timeoutMs`.
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
