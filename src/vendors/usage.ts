/**
 * What a model call used, in the vendor's own figures.
 *
 * The answer's shape tells whose it is. A zero stays a zero, and an absent usage is `null` and never an estimate. A
 * usage with a broken or impossible figure, or with a part larger than its whole, is no usage: `reported` tells it from
 * an absent one. Runs in any JavaScript runtime.
 */
import { parseAnswer } from '../platform/json.ts';
import { EventBlocks, type StreamEvent } from './event-blocks.ts';
import { isMessage, isMessageEvent, MessageStream, readMessage, searchesOfMessage } from './usage/anthropic.ts';
import { readErrorEvent, readFailure } from './usage/failure.ts';
import {
  type Fields,
  isFields,
  plausible,
  type ReportedUsage,
  type StreamReading,
  type VendorFailure,
  type VendorUsage,
} from './usage/figures.ts';
import { ContentStream, isContent, readContent, searchesOfContent } from './usage/google.ts';
import {
  CompletionStream,
  isCompletion,
  isDuration,
  isResponse,
  isResponseEvent,
  ResponseStream,
  readCompletion,
  readDuration,
  readResponse,
  searchesOfCompletion,
  searchesOfResponse,
} from './usage/openai.ts';

export { readFailure } from './usage/failure.ts';
export type { Effort, ReportedUsage, VendorFailure, VendorName, VendorUsage } from './usage/figures.ts';
export { IMPLAUSIBLE, plausible } from './usage/figures.ts';

/** Usage of a whole answer, parsed. */
export function readUsage(body: unknown): VendorUsage | null {
  return plausible(readReportedUsage(body));
}

/** What a whole answer, parsed, says of its usage. */
export function readReportedUsage(body: unknown): ReportedUsage {
  if (Array.isArray(body)) return readChunks(body);
  if (!isFields(body)) return null;
  if (isMessage(body)) return readMessage(body);
  if (isContent(body)) return readContent(body);
  if (isCompletion(body)) return readCompletion(body);
  if (isDuration(body)) return readDuration(body);
  return isResponse(body) ? readResponse(body) : null;
}

/** Web searches that a whole answer shows, also where its usage is missing. A count that is broken is none. */
export function readSearches(body: unknown): number {
  if (Array.isArray(body)) return streamOf(body).searches();
  return isFields(body) ? searchesShown(body) || 0 : 0;
}

function searchesShown(body: Fields): number {
  if (isMessage(body)) return searchesOfMessage(body);
  if (isContent(body)) return searchesOfContent(body);
  return isCompletion(body) ? searchesOfCompletion(body) : searchesOfResponse(body);
}

/** Google's stream, asked for without events, is an array of its chunks. */
function readChunks(chunks: unknown[]): ReportedUsage {
  return streamOf(chunks).usage();
}

function streamOf(chunks: unknown[]): ContentStream {
  const stream = new ContentStream();
  for (const chunk of chunks) {
    if (isFields(chunk) && isContent(chunk)) stream.read(chunk);
  }
  return stream;
}

/**
 * Usage of a streamed answer, read as it passes. Memory is bounded by one event; a longer one is not read.
 *
 *     const usage = new StreamUsage();
 *     for await (const chunk of response.body) usage.push(chunk);
 *     usage.end();
 *     usage.usage(); // { modelUsed, inputTokens, ... } or null
 */
export class StreamUsage {
  /** The first error that the vendor reported inside the stream. */
  failed: VendorFailure | null = null;
  readonly #blocks: EventBlocks;
  readonly #encoder = new TextEncoder();
  #reading: StreamReading | null = null;
  #done = false;
  /** An event went by, whatever it said. */
  #begun = false;
  /** An event broke off in the middle of its JSON. */
  #torn = false;

  constructor(eventBytesMax?: number) {
    this.#blocks = new EventBlocks(eventBytesMax);
  }

  /** The vendor's own mark of the end went by; a stream that broke off has none. */
  get completed(): boolean {
    return this.#done || (this.#reading?.completed ?? false);
  }

  /** The answer is whole, although its usage may be missing. */
  get finished(): boolean {
    return this.completed || (this.#reading?.finished ?? false);
  }

  /**
   * Over before its end, where it is a vendor's stream: one that is in nobody's form is not judged. To be asked after
   * `end`.
   */
  get truncated(): boolean {
    return !this.finished && (this.#reading !== null || this.#torn);
  }

  /** No event came. */
  get empty(): boolean {
    return !this.#begun;
  }

  usage(): VendorUsage | null {
    return plausible(this.reported());
  }

  /** What the stream said of its usage so far. */
  reported(): ReportedUsage {
    return this.#reading?.usage() ?? null;
  }

  /** Web searches that went by, also where the usage did not come. A count that is broken is none. */
  searches(): number {
    return this.#reading?.searches() || 0;
  }

  push(chunk: string | Uint8Array): void {
    for (const { event } of this.#blocks.push(typeof chunk === 'string' ? this.#encoder.encode(chunk) : chunk)) {
      if (event) this.read(event);
    }
  }

  /** After the last chunk. */
  end(): void {
    for (const { event } of this.#blocks.end()) {
      if (event) this.read(event);
    }
  }

  /** One event, for a caller that cuts the stream itself. */
  read({ event, data }: StreamEvent): void {
    this.#begun = true;
    if (data === '[DONE]') {
      this.#done = true;
      return;
    }
    const body = parseAnswer(data);
    this.failed ??= event === 'error' ? readErrorEvent(data, body) : readFailure(body);
    this.#torn = body === undefined && /^\s*[{[]/.test(data);
    if (!isFields(body)) return;
    this.#reading ??= readingOf(body);
    this.#reading?.read(body);
  }
}

function readingOf(event: Fields): StreamReading | null {
  if (isMessageEvent(event)) return new MessageStream();
  if (isResponseEvent(event)) return new ResponseStream();
  if (isContent(event)) return new ContentStream();
  return isCompletion(event) ? new CompletionStream() : null;
}
