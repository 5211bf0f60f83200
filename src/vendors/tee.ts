/**
 * A vendor's stream on its way to the caller, read for its usage as it passes.
 *
 * The caller gets the vendor's bytes when they come and no faster than it takes them. A caller that leaves early does
 * not stop the reading: the vendor goes on billing, so the stream is read to its end, within a time and a number of
 * bytes, and ends with the vendor's own figures. Every stream ends exactly once, and says how.
 */
import { log } from '../platform/log.ts';
import { EventBlocks, joined, type StreamEvent } from './event-blocks.ts';
import { type ReportedUsage, StreamUsage, type VendorFailure } from './usage.ts';

export type { StreamEvent } from './event-blocks.ts';

export interface StreamOutcome {
  /**
   * `completed`: the vendor's answer is whole. `client_left`: the caller went before that. `vendor_cut`: the vendor's
   * stream ended before its end, or broke. `timeout`: the vendor fell silent.
   */
  end: 'completed' | 'client_left' | 'vendor_cut' | 'timeout';
  /** The vendor's answer is whole, be it that the end came after the caller had left. */
  completed: boolean;
  usage: ReportedUsage;
  /** Web searches that went by, also where the usage did not come; absent where there were none. */
  searches?: number | undefined;
  /** An error that the vendor reported inside the stream. */
  failure: VendorFailure | null;
}

/**
 * What becomes of an event: itself (passed byte for byte), `null` (left out), or another one in its place. `reading` is
 * what the stream told so far, this event included.
 */
export type Transform = (
  event: StreamEvent,
  reading: Pick<StreamUsage, 'usage' | 'reported' | 'completed' | 'failed'>,
) => StreamEvent | null | Promise<StreamEvent | null>;

export interface MeterOptions {
  /** Called once. The caller's stream closes when it is done, so that what follows a stream finds it recorded. */
  onEnd(outcome: StreamOutcome): void | Promise<void>;
  /** How long the vendor may be silent. */
  idleTimeoutMs: number;
  /** How long the stream is read on after the caller left. */
  drainMsMax: number;
  /** How many bytes are read after the caller left. */
  bytesMax: number;
  /**
   * Only for server-sent events; a stream of another form passes as it is. With it, an event travels when it is whole.
   */
  transform?: Transform;
}

export function meterStream(body: ReadableStream<Uint8Array>, options: MeterOptions): ReadableStream<Uint8Array> {
  const metered = new MeteredStream(body, options);
  // Nothing is read ahead of the caller.
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => metered.pull(controller as ReadableStreamDefaultController<Uint8Array>),
      cancel: () => metered.leave(),
    },
    { highWaterMark: 0 },
  );
}

class MeteredStream {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #options: MeterOptions;
  readonly #usage = new StreamUsage();
  readonly #blocks = new EventBlocks();
  readonly #encoder = new TextEncoder();
  /** Set once, by whatever ended the stream; resolves when `onEnd` is done. */
  #ended: Promise<void> | null = null;
  #failed = false;
  #left = false;
  #drainedBytes = 0;
  /** The reading under way, of which there is one at a time. */
  #step: Promise<Uint8Array | null> = Promise.resolve(null);

  constructor(body: ReadableStream<Uint8Array>, options: MeterOptions) {
    this.#reader = body.getReader();
    this.#options = options;
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (!this.#left) {
      this.#step = this.#advance();
      const bytes = await this.#step;
      if (this.#left) return;
      if (bytes !== null && bytes.length > 0) controller.enqueue(bytes);
      if (this.#ended) {
        await this.#ended;
        if (this.#left) return;
        if (this.#failed) controller.error(new Error("the vendor's stream broke off"));
        else controller.close();
        return;
      }
      if (bytes !== null && bytes.length > 0) return;
    }
  }

  /** The caller is gone: what is left is read for its usage alone. */
  leave(): void {
    this.#left = true;
    if (this.#ended) return;
    // Everything was said, and the caller went after the last word.
    if (this.#usage.completed) {
      this.#end('completed');
      return;
    }
    const timer = setTimeout(() => this.#end('client_left'), this.#options.drainMsMax);
    this.#drain().finally(() => clearTimeout(timer));
  }

  async #drain(): Promise<void> {
    await this.#step;
    while (!this.#ended) {
      if (this.#drainedBytes > this.#options.bytesMax) this.#end('client_left');
      else await this.#advance();
    }
  }

  /** Reads one chunk: what of it goes to the caller, `null` at the end. Never throws. */
  async #advance(): Promise<Uint8Array | null> {
    const idle = setTimeout(() => this.#end(this.#left ? 'client_left' : 'timeout'), this.#options.idleTimeoutMs);
    try {
      const { done, value } = await this.#reader.read();
      if (this.#ended) return null;
      clearTimeout(idle);
      if (this.#left && value) this.#drainedBytes += value.byteLength;
      if (!done) return await this.#take(value);
      const rest = await this.#takeRest();
      // A vendor that closes the stream has said what it had to say: nobody knows of a usage that did not come.
      this.#endOfVendor(this.#usage.finished);
      return rest;
    } catch {
      // The connection broke. Should the vendor have said all before, nothing was lost.
      this.#endOfVendor(this.#usage.completed, !this.#usage.completed);
      return null;
    } finally {
      clearTimeout(idle);
    }
  }

  async #take(chunk: Uint8Array): Promise<Uint8Array> {
    if (this.#options.transform) return this.#transformed(this.#blocks.push(chunk));
    this.#usage.push(chunk);
    return chunk;
  }

  async #takeRest(): Promise<Uint8Array> {
    if (this.#options.transform) return this.#transformed(this.#blocks.end());
    this.#usage.end();
    return new Uint8Array();
  }

  async #transformed(blocks: ReturnType<EventBlocks['push']>): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (const { bytes, event, form } of blocks) {
      if (event) this.#usage.read(event);
      const changed = event && form === 'sse' && !this.#left ? await this.#change(event) : event;
      if (changed === event) parts.push(bytes);
      else if (changed) parts.push(this.#encoder.encode(written(changed)));
    }
    return joined(parts);
  }

  /** A transform that fails is a bug, but not one for which the caller should lose its stream. */
  async #change(event: StreamEvent): Promise<StreamEvent | null> {
    try {
      return (await this.#options.transform?.(event, this.#usage)) ?? null;
    } catch (error) {
      log('error', 'stream_transform_failed', {}, error);
      return event;
    }
  }

  #endOfVendor(whole: boolean, failed = false): void {
    this.#end(this.#left ? 'client_left' : whole ? 'completed' : 'vendor_cut', failed, whole);
  }

  /** Ends the stream, once; `failed` makes the caller's stream break as the vendor's did. */
  #end(end: StreamOutcome['end'], failed = end === 'timeout', completed = this.#usage.completed): void {
    if (this.#ended) return;
    this.#failed = failed;
    const { failed: failure } = this.#usage;
    this.#ended = this.#report({
      end,
      completed,
      usage: this.#usage.reported(),
      searches: this.#usage.searches() || undefined,
      failure,
    });
    // Lets go of the vendor where its stream is not over; a read under way then ends.
    this.#reader.cancel().catch(() => undefined);
  }

  async #report(outcome: StreamOutcome): Promise<void> {
    try {
      await this.#options.onEnd(outcome);
    } catch (error) {
      log('error', 'stream_end_failed', {}, error);
    }
  }
}

function written({ event, id, data }: StreamEvent): string {
  const lines = [
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...data.split('\n').map((line) => `data: ${line}`),
  ];
  return `${lines.join('\n')}\n\n`;
}
