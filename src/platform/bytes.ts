/**
 * Reading bodies within a bound: nothing larger is ever held, and what is refused is refused while it is read.
 */

/**
 * The bytes of a body; `null` where there are more than `bytesMax`, of which the rest is not read. Throws where the body
 * breaks off, or the signal is given before its end.
 */
export async function readBounded(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
  signal?: AbortSignal,
): Promise<Uint8Array | null> {
  if (!body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunksOf(body, signal)) {
    length += chunk.byteLength;
    if (length > bytesMax) return null;
    chunks.push(chunk);
  }
  return joined(chunks, length);
}

/** The chunks of a body until its end or the signal, of which the latter throws. Who stops reading lets go of the body. */
async function* chunksOf(body: ReadableStream<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  // Whether the other side takes note is of no interest. A read under way then ends, as if the body had.
  const letGo = () => void reader.cancel().catch(() => undefined);
  signal?.addEventListener('abort', letGo, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      if (done) return;
      yield value;
    }
  } finally {
    signal?.removeEventListener('abort', letGo);
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
 * The lines of a stream that are not empty. One that has more than `lineBytesMax` bytes is cut, so that memory is bounded.
 * Throws where the stream breaks off, or the signal is given before its end.
 */
export async function* linesOf(body: ReadableStream<Uint8Array>, lineBytesMax: number, signal?: AbortSignal): AsyncGenerator<Line> {
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
  for await (const chunk of chunksOf(body, signal)) {
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

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
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
