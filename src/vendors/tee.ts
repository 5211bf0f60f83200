/**
 * Passes a vendor's stream on to the caller and reads its usage on the way.
 *
 * The caller gets the vendor's bytes as they arrive, and no faster than it reads them. If the caller leaves early, the
 * vendor still bills the whole answer: the stream is read on to its end, within a time and a number of bytes, to get
 * the vendor's figures. A stream with a limit is stopped when its output may not continue: the vendor is left at once,
 * and the caller gets a regular end after the passed output. Every stream ends exactly once, with an outcome.
 */
import { log } from '../platform/log.ts';
import type { ByteSource } from './byte-source.ts';
import {
  type Block,
  EventBlocks,
  joined,
  type StreamEvent,
  serializeEvent,
  WHOLE_EVENT_BYTES_MAX,
} from './event-blocks.ts';
import type { Fields } from './usage/figures.ts';
import { type PassingUsage, StreamUsage, type VendorFailure, type VendorUsage, type Written } from './usage.ts';

export interface StreamOutcome {
  /**
   * `completed`: the vendor's answer is whole. `client_left`: the caller left before that. `vendor_cut`: the vendor's
   * stream broke, or closed before its own mark of the end. `timeout`: the vendor fell silent. `stopped`: the limit
   * allowed no more output, whether or not the caller was still connected. `unread`: the caller was connected and did
   * not read.
   */
  end: 'completed' | 'client_left' | 'vendor_cut' | 'timeout' | 'stopped' | 'unread';
  /** The vendor's answer is whole, even if its end came after the caller had left. */
  completed: boolean;
  /** The vendor's report of its whole answer; `null` if it reported nothing, or if the answer is not whole. */
  usage: VendorUsage | null;
  /**
   * The vendor's report at the end of an answer that is not whole: all of its input, or nothing. Its output is the
   * vendor's count until then, which may be less than `outputTokens`.
   */
  partial: VendorUsage | null;
  /** Callmeter's count of the text that arrived, in all answers of the stream, whether or not the caller got it. */
  outputTokens: number;
  /** Whether any output arrived, including output whose tokens cannot be counted. */
  hasOutput: boolean;
  /** Web searches in the stream, known even without usage; absent if there were none. */
  searches?: number | undefined;
  /** The id of OpenAI's response; absent if none came. */
  responseId?: string | undefined;
  /** An error that the vendor reported inside the stream. */
  failure: VendorFailure | null;
}

/**
 * Returns the same event to pass it byte for byte, another event or several to replace it, or `null` to leave it out.
 * `reading` is the stream's report so far, including this event.
 */
export type Transform = (
  event: StreamEvent,
  reading: Pick<PassingUsage, 'usage' | 'completed' | 'failed' | 'outputTokens' | 'hasOutput'>,
) => Changed | Promise<Changed>;

type Changed = StreamEvent | readonly StreamEvent[] | null;

/** The facts of a stream that are known before its end. */
export type StreamSoFar = Pick<StreamOutcome, 'partial' | 'outputTokens'>;

/** The most that a stream may write, and its end if it may not write more. */
export interface StreamLimit {
  /**
   * Called when text has arrived, before it is passed on, with our count of all output tokens, including that text.
   * Nothing is read from the vendor until the answer arrives. `false`, or a promise that is rejected, stops the stream.
   * Also called after the caller has left, because text that nobody reads is billed as well.
   */
  mayContinue(outputTokens: number): true | Promise<boolean>;
  /** Notes an event that the caller gets: its data, parsed and as text. */
  passed(event: Fields, data: string): void;
  /** The events with which a stopped stream ends regularly for its caller, after the passed ones. */
  close(soFar: StreamSoFar): string | Promise<string>;
}

export interface MeterOptions {
  /** Called once. The caller's stream closes after it, so a reader of the whole stream finds the call recorded. */
  onEnd(outcome: StreamOutcome): void | Promise<void>;
  /** How long the vendor may be silent. */
  idleTimeoutMs: number;
  /**
   * The treatment of a stream whose caller is connected and does not read. Without it, the vendor waits as long as the
   * caller.
   */
  unread?: {
    /** Asked every `everyMs` while the caller does not read; `true` stops the vendor. */
    isOver(unreadMs: number): Promise<boolean>;
    everyMs: number;
  };
  /** How long the stream is read on after the caller has left. */
  drainMsMax: number;
  /** How many bytes are read after the caller has left. */
  bytesMax: number;
  /**
   * Changes server-sent events; a stream of another form passes unchanged. Each event then waits until it is complete.
   */
  transform?: Transform;
  /** Counts the output of a stream; without it, `outputTokens` is 0. A limit needs it. */
  written?: Written;
  /** Reads the chunks instead of the events, for an answer that is not a stream of events or has very long ones. */
  reading?: PassingUsage;
  /** A stream without a limit writes as much as it likes. With one, each event waits until it is complete. */
  limit?: StreamLimit;
  /**
   * The events that end server-sent events for the caller if the vendor broke them off without a reason; `last` is the
   * last event, parsed. Each event then waits until it is complete. Without this, and in another form, the caller's
   * stream breaks like the vendor's.
   */
  broken?(end: StreamOutcome['end'], last: Fields | null): string;
  /** The text of an event, without the parts that the caller must not see. Called from the vendor's first error on. */
  told?(text: string): string;
}

const encoder = new TextEncoder();

export function meterStream(source: ByteSource, options: MeterOptions): ReadableStream<Uint8Array> {
  const metered = new MeteredStream(source, options);
  // Never reads ahead of the caller.
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => metered.pull(controller as ReadableStreamDefaultController<Uint8Array>),
      cancel: () => metered.leave(),
    },
    { highWaterMark: 0 },
  );
}

class MeteredStream {
  readonly #source: ByteSource;
  readonly #options: MeterOptions;
  readonly #usage: PassingUsage;
  /** Takes the events, unless the options read the chunks. */
  readonly #events: StreamUsage | null;
  readonly #blocks: EventBlocks;
  /** Set once, when the stream ends; resolves when `onEnd` is done. */
  #ended: Promise<void> | null = null;
  #failed = false;
  /** The events that report the break to the caller. */
  #closing: string | null = null;
  /** The last event, parsed, and the form of the stream. */
  #last: Fields | null = null;
  #form: Block['form'] = 'sse';
  #clientLeft = false;
  #drainedBytes = 0;
  /** The output tokens at the last question to the limit. */
  #askedTokens = 0;
  /** The time at which the vendor's silence began; `null` while nothing is read. */
  #silentSinceMs: number | null = null;
  /** One timer watches over all reads, because setting one for each costs more than the rest of a read. */
  #watch: ReturnType<typeof setTimeout> | undefined;
  /** The time since which the caller has not asked for more; `null` while it waits for the vendor. */
  #unreadSinceMs: number | null = Date.now();
  #unreadWatch: ReturnType<typeof setTimeout> | undefined;
  /** The current read; there is one at a time. */
  #pendingRead: Promise<Uint8Array | null> = Promise.resolve(null);

  /** Whole events are passed, not the chunks in which they arrive. */
  readonly #byEvent: boolean;

  constructor(source: ByteSource, options: MeterOptions) {
    this.#source = source;
    this.#options = options;
    const needsWhole = options.transform !== undefined || options.limit !== undefined;
    this.#blocks = new EventBlocks(needsWhole ? WHOLE_EVENT_BYTES_MAX : undefined);
    if (options.reading) {
      this.#events = null;
      this.#usage = options.reading;
    } else {
      this.#events = new StreamUsage({ written: options.written });
      this.#usage = this.#events;
    }
    if (options.unread) this.#watchReader(options.unread);
    this.#byEvent = [options.transform, options.limit, options.broken].some((option) => option !== undefined);
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#unreadSinceMs = null;
    while (!this.#clientLeft) {
      this.#pendingRead = this.#advance();
      const bytes = await this.#pendingRead;
      if (this.#clientLeft) return;
      if (bytes !== null && bytes.length > 0) controller.enqueue(bytes);
      if (this.#ended) {
        await this.#ended;
        if (this.#clientLeft) return;
        if (this.#closing !== null) controller.enqueue(encoder.encode(this.#closing));
        if (this.#failed && this.#closing === null) controller.error(new Error("the vendor's stream broke off"));
        else controller.close();
        return;
      }
      if (bytes !== null && bytes.length > 0) {
        this.#unreadSinceMs = Date.now();
        return;
      }
    }
  }

  #watchReader(unread: NonNullable<MeterOptions['unread']>): void {
    this.#unreadWatch = setTimeout(async () => {
      const sinceMs = this.#unreadSinceMs;
      const isOver = sinceMs !== null && !this.#clientLeft && (await unread.isOver(Date.now() - sinceMs).catch(keptOn));
      if (this.#ended) return;
      if (isOver && this.#unreadSinceMs === sinceMs && !this.#clientLeft) this.#end('unread', true);
      else this.#watchReader(unread);
    }, unread.everyMs);
  }

  /** The caller has left: the rest is read only for its usage. */
  leave(): void {
    this.#clientLeft = true;
    if (this.#ended) return;
    // The answer was complete before the caller left.
    if (this.#usage.completed) {
      this.#end('completed');
      return;
    }
    const timer = setTimeout(() => this.#end('client_left'), this.#options.drainMsMax);
    this.#drain().finally(() => clearTimeout(timer));
  }

  async #drain(): Promise<void> {
    await this.#pendingRead;
    while (!this.#ended) {
      if (this.#drainedBytes > this.#options.bytesMax) this.#end('client_left');
      else await this.#advance();
    }
  }

  /** Reads one chunk and returns the caller's part of it, `null` at the end. Never throws. */
  async #advance(): Promise<Uint8Array | null> {
    this.#silentSinceMs = Date.now();
    if (this.#watch === undefined) this.#watchFor(this.#options.idleTimeoutMs);
    try {
      const { done, value } = await this.#source.read();
      if (this.#ended) return null;
      this.#silentSinceMs = null;
      if (this.#clientLeft && value) this.#drainedBytes += value.byteLength;
      if (!done) return await this.#take(value);
      const rest = await this.#takeRest();
      // A vendor that closes its stream is done, even if it has reported no usage.
      this.#endOfVendor(this.#usage.finished);
      return rest;
    } catch {
      // The connection broke. If the answer was complete before that, nothing is missing.
      this.#endOfVendor(this.#usage.completed, !this.#usage.completed);
      return null;
    }
  }

  #watchFor(ms: number): void {
    this.#watch = setTimeout(() => {
      this.#watch = undefined;
      if (this.#silentSinceMs === null) return;
      const { idleTimeoutMs } = this.#options;
      const silentMs = Date.now() - this.#silentSinceMs;
      if (silentMs >= idleTimeoutMs) this.#end(this.#clientLeft ? 'client_left' : 'timeout');
      else this.#watchFor(idleTimeoutMs - silentMs);
    }, ms);
  }

  async #take(chunk: Uint8Array): Promise<Uint8Array> {
    if (!this.#byEvent || !this.#events) this.#usage.push(chunk);
    const passed = this.#byEvent ? await this.#pass(this.#blocks.push(chunk)) : chunk;
    // The caller may take it later than the source needs its memory.
    return passed.buffer === chunk.buffer ? passed.slice() : passed;
  }

  async #takeRest(): Promise<Uint8Array> {
    if (!this.#byEvent || !this.#events) this.#usage.end();
    if (!this.#byEvent) return new Uint8Array();
    const rest = await this.#pass(this.#blocks.end());
    // An event that broke off does not count.
    return this.#options.broken && this.#form === 'sse' && !this.#usage.finished ? new Uint8Array() : rest;
  }

  /** The caller's part of these blocks: up to the first whose text is more than the limit allows. */
  async #pass(blocks: Block[]): Promise<Uint8Array> {
    const { transform, limit, told } = this.#options;
    const parts: Uint8Array[] = [];
    for (const { bytes, event, form, isPiece } of blocks) {
      const body = event && this.#events ? this.#events.read(event) : null;
      this.#last = body ?? this.#last;
      this.#form = form;
      const allowed = limit === undefined || this.#allows(limit);
      if (allowed !== true && !(await allowed)) {
        // The stream may have ended for another reason while the answer was awaited.
        if (limit && !this.#ended) parts.push(await this.#stop(limit, form));
        break;
      }
      if (event && body && !this.#clientLeft) limit?.passed(body, event.data);
      const isChanged = transform && event && form === 'sse' && !isPiece && !this.#clientLeft;
      const change = isChanged ? this.#change(event) : event;
      // Most events pass as they are, and an `await` for each would cost more than its reading.
      const changed = change instanceof Promise ? await change : change;
      const isTold = told && !isPiece && this.#usage.failed !== null;
      const passed = (part: Uint8Array) =>
        parts.push(isTold ? encoder.encode(told(new TextDecoder().decode(part))) : part);
      if (changed === event) passed(bytes);
      else for (const one of [changed ?? []].flat()) passed(encoder.encode(serializeEvent(one)));
    }
    return joined(parts);
  }

  /** A transform that throws is a bug, but the caller must not lose its stream to it. */
  #change(event: StreamEvent): Changed | Promise<Changed> {
    const unchanged = (error: unknown) => {
      log('error', 'stream_transform_failed', {}, error);
      return event;
    };
    try {
      const changed = this.#options.transform?.(event, this.#usage) ?? null;
      return changed instanceof Promise ? changed.catch(unchanged) : changed;
    } catch (error) {
      return unchanged(error);
    }
  }

  #allows(limit: StreamLimit): true | Promise<boolean> {
    const { outputTokens } = this.#usage;
    if (outputTokens === this.#askedTokens) return true;
    this.#askedTokens = outputTokens;
    const answer = limit.mayContinue(outputTokens);
    return answer === true ? true : answer.catch(refusedBy);
  }

  /** Leaves the vendor and ends the caller's stream regularly; or breaks it, if no event can follow the passed ones. */
  async #stop(limit: StreamLimit, form: Block['form']): Promise<Uint8Array> {
    this.#end('stopped', form === 'json');
    if (this.#clientLeft || form === 'json') return new Uint8Array();
    const soFar = { partial: this.#usage.partial(), outputTokens: this.#usage.outputTokens };
    try {
      return encoder.encode(await limit.close(soFar));
    } catch (error) {
      log('error', 'stream_closing_failed', {}, error);
      this.#failed = true;
      this.#closing = this.#options.broken?.('stopped', this.#last) ?? null;
      return new Uint8Array();
    }
  }

  #endOfVendor(whole: boolean, failed = false): void {
    this.#end(this.#clientLeft ? 'client_left' : whole ? 'completed' : 'vendor_cut', failed, whole);
  }

  /** Ends the stream once; `failed` breaks the caller's stream like the vendor's. */
  #end(end: StreamOutcome['end'], failed = end === 'timeout', completed = this.#usage.completed): void {
    if (this.#ended) return;
    clearTimeout(this.#watch);
    clearTimeout(this.#unreadWatch);
    this.#blocks.release();
    this.#failed = failed;
    const { failed: failure, truncated, empty } = this.#usage;
    const brokeOff = failed || (end === 'vendor_cut' && (truncated || empty));
    if (brokeOff && failure === null && this.#form === 'sse')
      this.#closing = this.#options.broken?.(end, this.#last) ?? null;
    this.#ended = this.#report({
      end,
      completed,
      usage: completed ? this.#usage.usage() : null,
      partial: completed ? null : this.#usage.partial(),
      outputTokens: this.#usage.outputTokens,
      hasOutput: this.#usage.hasOutput,
      searches: this.#usage.searches() || undefined,
      responseId: this.#usage.responseId,
      failure,
    });
    // Closes the connection to the vendor if its stream is not over; a pending read then ends.
    this.#source.cancel().catch(() => undefined);
  }

  async #report(outcome: StreamOutcome): Promise<void> {
    try {
      await this.#options.onEnd(outcome);
    } catch (error) {
      log('error', 'stream_end_failed', {}, error);
    }
  }
}

/** While it is not known whether the vendor is to be stopped, it is not. */
function keptOn(error: unknown): false {
  log('warn', 'unread_stream_not_judged', {}, error);
  return false;
}

/** A limit that fails to answer has not allowed the stream to continue. */
function refusedBy(error: unknown): boolean {
  log('error', 'stream_limit_failed', {}, error);
  return false;
}
