/**
 * Reads bodies up to a bound: memory never exceeds it, and a larger body is refused while it is read.
 *
 * A sender that is refused while it is sending would find the connection closed instead of the answer: so the rest of
 * the body is first read and discarded, up to a bound of its own.
 */

/** For a stranger's body: slightly more than the bound is read and discarded. */
export const LINGER_BYTES_MAX = 1024 * 1024;
/** For a body whose sender has a credential: more than the largest file. */
export const DRAIN_BYTES_MAX = 256 * 1024 * 1024;
/** A sender that has not finished by then gets the answer if it looks for one, or finds the connection closed. */
const DRAIN_MS_MAX = 60_000;

const PART_BYTES = 64 * 1024;

/**
 * The bytes of a body; `null` if there are more than `bytesMax`: the rest is not read. Throws if the body ends early,
 * and a TimeoutError if it has not ended after `timeoutMs`.
 */
export async function readBounded(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
  timeoutMs?: number,
): Promise<Uint8Array | null> {
  if (!body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of readChunks(body, timeoutMs)) {
    length += chunk.byteLength;
    if (length > bytesMax + LINGER_BYTES_MAX) return null;
    if (length <= bytesMax) chunks.push(chunk);
  }
  return length > bytesMax ? null : joined(chunks, length);
}

/**
 * The bytes of a request's body; `null` if there are more than `bytesMax`. A body whose declared length is far too
 * large is not read.
 */
export async function readRequest(request: Request, bytesMax: number): Promise<Uint8Array | null> {
  const declared = request.headers.get('Content-Length');
  // The connection never delivers more than the declared length.
  if (declared !== null && Number(declared) <= bytesMax) return new Uint8Array(await request.arrayBuffer());
  if (declared !== null && Number(declared) > bytesMax + LINGER_BYTES_MAX) return null;
  return readBounded(request.body as ReadableStream<Uint8Array> | null, bytesMax);
}

/** The first bytes of a body, at least `bytesMin` unless it is shorter. The rest can still be read. */
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

/** Reads the rest of a refused request's body. A body that is longer than `bytesMax` is not read to its end. */
export async function drain(request: Request, bytesMax: number): Promise<void> {
  const body = request.body as ReadableStream<Uint8Array> | null;
  if (!body || body.locked || Number(request.headers.get('Content-Length')) > bytesMax) return;
  let left = bytesMax;
  try {
    for await (const part of readParts(body, DRAIN_MS_MAX)) {
      left -= part.byteLength;
      if (left < 0) return;
    }
  } catch {
    // The sender is gone, or takes too long.
  }
}

/**
 * The body in parts; each part reuses the memory of the previous one. The rest can still be read. Throws if the body
 * ends early, and a TimeoutError if it has not ended after `timeoutMs`.
 */
export async function* readParts(body: ReadableStream<Uint8Array>, timeoutMs?: number): AsyncGenerator<Uint8Array> {
  const reader = body.getReader({ mode: 'byob' });
  const limit = timeLimit(reader, timeoutMs);
  let buffer = new ArrayBuffer(PART_BYTES);
  try {
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      limit.check();
      if (done) return;
      yield value;
      buffer = value.buffer;
    }
  } finally {
    limit.lift();
    reader.releaseLock();
  }
}

/** The chunks of a body. The body is canceled when the reader stops, and after the timeout. */
async function* readChunks(
  body: ReadableStream<Uint8Array>,
  timeoutMs: number | undefined,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const limit = timeLimit(reader, timeoutMs);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      limit.check();
      if (done) return;
      yield value;
    }
  } finally {
    limit.lift();
    letGo(reader);
  }
}

/**
 * Cancels the body after the time. A pending read then ends as if the body had ended; `check` distinguishes the two.
 */
function timeLimit(reader: Pick<ReadableStreamDefaultReader, 'cancel'>, timeoutMs: number | undefined) {
  let late = false;
  const expire = () => {
    late = true;
    letGo(reader);
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
  return {
    check() {
      if (late) throw new DOMException('the body did not end in time', 'TimeoutError');
    },
    lift: () => clearTimeout(timer),
  };
}

/** A failure to cancel changes nothing. */
function letGo(body: Pick<ReadableStream, 'cancel'>): void {
  body.cancel().catch(() => undefined);
}

/** A line. One that is too long is cut, or shortened. */
export interface Line {
  /** From 1; empty lines count. */
  number: number;
  text: string;
  cut: boolean;
  shortened: boolean;
}

/** Shortens a line that is too long, in bounded memory. */
export interface Shortener {
  push(part: Uint8Array): Uint8Array;
}

/** The part of an overlong line that is returned: enough to find its id. */
const CUT_LINE_BYTES = 4_096;
/** The end of a line. */
export const LF = 10;

/**
 * Finds lines in bytes that come in chunks, and leaves out empty ones. A line of more than `lineBytesMax` bytes is
 * shortened, or cut if nothing shortens it, so that memory is bounded.
 */
class LineSplitter {
  readonly #lineBytesMax: number;
  readonly #shortener: (() => Shortener) | undefined;
  /** Shortens the present line, which is too long. */
  #shortens: Shortener | null = null;
  readonly #decoder = new TextDecoder();
  #number = 1;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #cut = false;

  constructor(lineBytesMax: number, shortener: (() => Shortener) | undefined) {
    this.#lineBytesMax = lineBytesMax;
    this.#shortener = shortener;
  }

  /** The lines that end in the chunk, whose memory may be reused after all of them are taken. */
  *push(chunk: Uint8Array): Generator<Line> {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#take(chunk.subarray(start, end));
      yield* this.#complete();
      start = end + 1;
    }
    this.#take(chunk.slice(start));
  }

  /** The last line, if it has no line end. */
  *end(): Generator<Line> {
    yield* this.#complete();
  }

  #take(part: Uint8Array): void {
    if (part.length === 0 || this.#cut) return;
    const kept = this.#shortens?.push(part) ?? part;
    this.#heldBytes += kept.length;
    this.#held.push(kept);
    if (this.#heldBytes <= this.#lineBytesMax) return;
    if (this.#shortener && !this.#shortens) {
      const shortens = this.#shortener();
      this.#shortens = shortens;
      this.#held = this.#held.map((held) => shortens.push(held));
      this.#heldBytes = this.#held.reduce((sum, { length }) => sum + length, 0);
      return;
    }
    this.#held = [joined(this.#held, this.#heldBytes).slice(0, CUT_LINE_BYTES)];
    this.#cut = true;
  }

  *#complete(): Generator<Line> {
    let text = '';
    // Each part is released when it is text.
    for (let part = this.#held.shift(); part; part = this.#held.shift())
      text += this.#decoder.decode(part, { stream: true });
    text += this.#decoder.decode();
    const line = { number: this.#number, text, cut: this.#cut, shortened: this.#shortens !== null };
    this.#number += 1;
    this.#heldBytes = 0;
    this.#shortens = null;
    this.#cut = false;
    if (text.trim() !== '') yield line;
  }
}

/**
 * The lines of a stream of bytes, which is canceled when the reader stops. Throws if the stream ends early, and a
 * TimeoutError if it has not ended after `timeoutMs`.
 */
export async function* streamLines(
  body: ReadableStream<Uint8Array>,
  lineBytesMax: number,
  timeoutMs?: number,
  shortener?: () => Shortener,
): AsyncGenerator<Line> {
  const splitter = new LineSplitter(lineBytesMax, shortener);
  try {
    for await (const part of readParts(body, timeoutMs)) yield* splitter.push(part);
    yield* splitter.end();
  } finally {
    // A reader that stops early reads no more of it.
    letGo(body);
  }
}

export function joined<Bytes extends Uint8Array>(
  parts: readonly Bytes[],
  length: number,
): Bytes | Uint8Array<ArrayBuffer> {
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
