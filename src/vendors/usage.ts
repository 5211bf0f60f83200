/**
 * Reads the usage of a model call in the vendor's own figures.
 *
 * The shape of the answer identifies the vendor. A zero stays a zero; an absent usage is `null` and is never estimated.
 * A figure that makes no sense is named as unclear, and changes no other. Among the totals in a stream, the highest
 * counts. Runs in any JavaScript runtime.
 */
import { EventBlocks, type StreamEvent } from './event-blocks.ts';
import { JsonSkim, readJson } from './json-skim.ts';
import { isMessage, isMessageEvent, MessageStream, readMessage, searchesOfMessage } from './usage/anthropic.ts';
import { readErrorEvent, readFailure } from './usage/failure.ts';
import { type Fields, isFields, type StreamReading, type VendorFailure, type VendorUsage } from './usage/figures.ts';
import { ContentStream, isContent, readContent, searchesOfContent } from './usage/google.ts';
import {
  CompletionStream,
  isCompletion,
  isResponse,
  isResponseEvent,
  ResponseStream,
  readCompletion,
  readResponse,
  searchesOfCompletion,
  searchesOfResponse,
} from './usage/openai.ts';

import { isMediaEvent, MediaStream } from './usage/openai-media.ts';

export { readFailure } from './usage/failure.ts';
export type { VendorFailure, VendorUsage } from './usage/figures.ts';

/** The usage that a whole, parsed answer reports. */
export function readUsage(body: unknown): VendorUsage | null {
  if (Array.isArray(body)) return readChunkArray(body).usage();
  if (!isFields(body)) return null;
  if (isMessage(body)) return readMessage(body);
  if (isContent(body)) return readContent(body);
  if (isCompletion(body)) return readCompletion(body);
  return isResponse(body) ? readResponse(body) : null;
}

/** Web searches of a whole answer, known even without usage. A count that makes no sense is 0. */
export function readSearches(body: unknown): number {
  if (Array.isArray(body)) return readChunkArray(body).searches();
  return isFields(body) ? searchesShown(body) : 0;
}

function searchesShown(body: Fields): number {
  if (isMessage(body)) return searchesOfMessage(body);
  if (isContent(body)) return searchesOfContent(body);
  return isCompletion(body) ? searchesOfCompletion(body) : searchesOfResponse(body);
}

/** Google's stream without events is an array of chunks. */
function readChunkArray(chunks: unknown[]): ContentStream {
  const stream = new ContentStream();
  for (const chunk of chunks) {
    if (isFields(chunk) && isContent(chunk)) stream.read(chunk);
  }
  return stream;
}

const encoder = new TextEncoder();

/** Counts the output of a stream. */
export interface Written {
  /** Takes the next event, parsed. */
  read(event: Fields): void;
  /** Output tokens so far, in all answers of the stream. */
  readonly tokens: number;
  /** Whether any output arrived, including pictures and sound, whose tokens cannot be counted. */
  readonly hasOutput: boolean;
}

/** The facts that are read of an answer while it passes. */
export interface PassingUsage {
  /** The first error that the vendor reported. */
  readonly failed: VendorFailure | null;
  /** The vendor has marked the end and reported everything; an answer that broke off has no such mark. */
  readonly completed: boolean;
  /** The answer is whole, but its usage may be missing. */
  readonly finished: boolean;
  /** The answer ended too early. Only known after `end`. */
  readonly truncated: boolean;
  /** Nothing arrived. */
  readonly empty: boolean;
  /** Callmeter's count of the text that arrived. */
  readonly outputTokens: number;
  /** Whether any output arrived. */
  readonly hasOutput: boolean;
  /** The id of OpenAI's response, which may be kept under it. */
  readonly responseId?: string | undefined;
  /** The usage that was reported so far. */
  usage(): VendorUsage | null;
  /** The report of an answer that has not ended; `null` for one that has. */
  partial(): VendorUsage | null;
  searches(): number;
  push(chunk: Uint8Array): void;
  /** Call this after the last chunk. */
  end(): void;
}

interface StreamUsageOptions {
  eventBytesMax?: number | undefined;
  written?: Written | undefined;
  anyForm?: boolean;
}

/**
 * Reads the usage of a stream while it passes. Memory is bounded by one event; a longer event is not read.
 *
 *     const usage = new StreamUsage();
 *     for await (const chunk of response.body) usage.push(chunk);
 *     usage.end();
 *     usage.usage(); // { modelUsed, inputTokens, ... } or null
 */
export class StreamUsage implements PassingUsage {
  /** The first error that the vendor reported inside the stream. */
  failed: VendorFailure | null = null;
  readonly #eventBytesMax: number | undefined;
  /** Cuts the stream, unless the caller does. */
  #blocks: EventBlocks | null = null;
  readonly #written: Written | undefined;
  readonly #anyForm: boolean;
  #reading: StreamReading | null = null;
  #done = false;
  /** There was an event. */
  #begun = false;
  /** The last event broke off in the middle of its JSON. */
  #torn = false;

  /** `anyForm`: events of an unknown form end well when the vendor ends them. */
  constructor({ eventBytesMax, written, anyForm = false }: StreamUsageOptions = {}) {
    this.#eventBytesMax = eventBytesMax;
    this.#written = written;
    this.#anyForm = anyForm;
  }

  /** The vendor has marked the end and reported everything; a stream that broke off has no such mark. */
  get completed(): boolean {
    return this.#done || (this.#reading?.completed ?? false);
  }

  /** The answer is whole, but its usage may be missing. */
  get finished(): boolean {
    return this.completed || (this.#reading?.finished ?? (this.#anyForm && !this.#torn));
  }

  /** The stream ended too early. Only known after `end`, and only for a stream in the form of a known vendor. */
  get truncated(): boolean {
    return !this.finished && (this.#reading !== null || this.#torn);
  }

  /** There was no event. */
  get empty(): boolean {
    return !this.#begun;
  }

  /** The usage that the stream has reported so far. */
  usage(): VendorUsage | null {
    return this.#reading?.usage() ?? null;
  }

  /**
   * The vendor's report of an answer that has not ended; `null` for one that has. Anthropic reports the input at the
   * beginning, with an output that is far too low until the end; Google reports all tokens so far with each chunk; of
   * the vendors in OpenAI's form, few report anything before the end.
   */
  partial(): VendorUsage | null {
    return this.completed ? null : this.usage();
  }

  get hasOutput(): boolean {
    return this.#written?.hasOutput ?? false;
  }

  /** Callmeter's count of the text that arrived so far, in all answers of the stream. */
  get outputTokens(): number {
    return this.#written?.tokens ?? 0;
  }

  get responseId(): string | undefined {
    return this.#reading?.responseId;
  }

  /** Web searches so far, known even without usage. A count that makes no sense is 0. */
  searches(): number {
    return this.#reading?.searches() ?? 0;
  }

  push(chunk: string | Uint8Array): void {
    this.#blocks ??= new EventBlocks(this.#eventBytesMax);
    for (const { event } of this.#blocks.push(typeof chunk === 'string' ? encoder.encode(chunk) : chunk)) {
      if (event) this.read(event);
    }
  }

  /** Call this after the last chunk. */
  end(): void {
    for (const { event } of this.#blocks?.end() ?? []) {
      if (event) this.read(event);
    }
  }

  /**
   * Takes one event, from a caller that cuts the stream itself. Returns its data, parsed; `null` if that is not an
   * object.
   */
  read({ event, data }: StreamEvent): Fields | null {
    this.#begun = true;
    if (data === '[DONE]') {
      this.#done = true;
      return null;
    }
    const body = readJson(data);
    this.failed ??= event === 'error' ? readErrorEvent(data, body) : readFailure(body);
    this.#torn = body === undefined && /^\s*[{[]/.test(data);
    if (!isFields(body)) return null;
    this.#reading ??= startReading(body);
    this.#reading?.read(body);
    if (event !== 'error') this.#written?.read(body);
    return body;
  }
}

function startReading(event: Fields): StreamReading | null {
  if (isMessageEvent(event)) return new MessageStream();
  if (isResponseEvent(event)) return new ResponseStream();
  if (isMediaEvent(event)) return new MediaStream();
  if (isContent(event)) return new ContentStream();
  return isCompletion(event) ? new CompletionStream() : null;
}

/** Reads a stream whose events may contain pictures: their long texts are left out first. */
export class SkimmedUsage extends StreamUsage {
  readonly #skim = new JsonSkim('lines');

  override push(chunk: Uint8Array): void {
    super.push(this.#skim.push(chunk));
  }
}
