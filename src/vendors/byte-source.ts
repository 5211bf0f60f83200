/**
 * The bytes of an answer, read part by part by one reader: a stream's own reader, or parts that were read already and
 * then the reader's further ones.
 *
 * Such a source costs a call of a function for each part. A `ReadableStream` around the reader would cost the runtime a
 * request to a queue, an entry in it, and several promises.
 */

/** A part of the bytes, or their end. */
type Part = { done: false; value: Uint8Array } | { done: true; value?: Uint8Array | undefined };

/** A source has one reader, which asks for one part at a time. */
export interface ByteSource {
  /** The next part. The one after it may come in the same memory, so a reader that keeps a part copies it. */
  read(): Promise<Part>;
  /** Ends a read that is pending, and leaves the sender. */
  cancel(reason?: unknown): Promise<void>;
}

const OVER = { done: true, value: undefined } as const;

/** As much memory as the runtime takes for each part itself. */
const PART_BYTES_MAX = 4_096;

/** The bytes of a body. The runtime gets the same memory for each part, which costs it less than new memory. */
export function readBody(body: ReadableStream<Uint8Array>): ByteSource {
  try {
    return new ReadInto(body.getReader({ mode: 'byob' }));
  } catch {
    // A stream that a script has made may not read into given memory.
    return body.getReader();
  }
}

class ReadInto implements ByteSource {
  readonly #reader: ReadableStreamBYOBReader;
  #memory: ArrayBufferLike = new ArrayBuffer(PART_BYTES_MAX);

  constructor(reader: ReadableStreamBYOBReader) {
    this.#reader = reader;
  }

  async read(): Promise<Part> {
    const { done, value } = await this.#reader.read(new Uint8Array(this.#memory as ArrayBuffer));
    if (done) return OVER;
    this.#memory = value.buffer;
    return { done, value };
  }

  cancel(reason?: unknown): Promise<void> {
    return this.#reader.cancel(reason);
  }
}

/** Parts that were read, and then the reader's further bytes; never more than requested. */
export class ReplayedBytes implements ByteSource {
  readonly #parts: Uint8Array[];
  readonly #reader: ByteSource;
  #pending: ReturnType<ByteSource['read']> | null;
  readonly #letGo: () => void;
  #isCanceled = false;
  #endRead: () => void = () => undefined;

  /** `pending` is a read that has begun. `letGo` is called when no part is held any more. */
  constructor(
    parts: Uint8Array[],
    reader: ByteSource,
    {
      pending = null,
      letGo = () => undefined,
    }: { pending?: ReturnType<ByteSource['read']> | null; letGo?: () => void } = {},
  ) {
    this.#parts = parts;
    this.#reader = reader;
    this.#pending = pending;
    this.#letGo = letGo;
  }

  read(): Promise<Part> {
    const value = this.#parts.shift();
    if (value) {
      if (this.#parts.length === 0) this.#letGo();
      return Promise.resolve({ done: false, value });
    }
    if (this.#isCanceled) return Promise.resolve(OVER);
    const reading = this.#pending ?? this.#reader.read();
    this.#pending = null;
    return new Promise((resolve, reject) => {
      this.#endRead = () => resolve(OVER);
      reading.then(resolve, reject);
    });
  }

  cancel(reason?: unknown): Promise<void> {
    this.#isCanceled = true;
    this.#parts.length = 0;
    this.#letGo();
    this.#endRead();
    return this.#reader.cancel(reason);
  }
}
