/**
 * One request to a vendor, with every outcome as data: an answer, a stream, silence, no connection, or a caller that
 * has left.
 *
 * Redirects are not followed but returned as answers, because nobody has checked the address behind one. An answer is
 * held up to a bound and within the time limit; if a larger one must be held, only its usage is read. The headers of
 * the request contain the vendor's key, so they appear in no outcome, no message and no log.
 */

import { isConnectionHeader } from '../domain/vendor-headers.ts';
import { hasTooManyValues, JSON_VALUES_MAX, parseAnswer } from '../platform/json.ts';
import { SERVICE_VERSION } from '../platform/version.ts';
import { HELD_BYTES_MAX, HeldBytes } from './answer-memory.ts';
import { type ByteSource, ReplayedBytes, readBody } from './byte-source.ts';
import { type Opening, readOpening } from './opening.ts';
import { PassedBody } from './passed-body.ts';
import type { Presence } from './presence.ts';
import { type PassingUsage, SkimmedUsage } from './usage.ts';

/** The most bytes that are read for the usage of an answer that cannot be held. */
const READ_BYTES_MAX = 64 * 1024 * 1024;
/** The largest answer that passes through the gateway as a whole; a larger one passes while it arrives. */
const WHOLE_BYTES_MAX = 4 * 1024 * 1024;

export type Fetcher = (url: string, init: RequestInit) => Promise<Response>;

/** How an answer of the gateway is taken, which may pass while it arrives. */
export type PassedAs = 'passed' | 'passed-text' | 'any' | 'held';

export interface VendorRequest {
  /** Checked by `checkVendorUrl`. */
  url: string | URL;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers: Readonly<Record<string, string>>;
  /** Text, bytes, streams and forms are sent unchanged, any other value as JSON. A GET has none. */
  body?: unknown;
  /** For the whole answer; for a stream, until its headers arrive: after that, `meterStream` watches it. */
  timeoutMs: number;
  /**
   * `json`, `text`: held until complete. `stream`: any answer is a stream. `passed`: events pass while they arrive, and
   * so does an answer that is too large to hold; any other answer is text. `passed-text`: the same if a text may be the
   * answer, so only a content type makes it events. `any`: like `passed`, but everything except JSON passes. `held`:
   * events pass, and any other answer is text that is held until complete.
   */
  responseType: 'json' | 'text' | 'stream' | PassedAs;
  /** The caller that waits for the answer: some time after it has left, the request is aborted. */
  presence?: Presence;
  /** Aborts the request at once, with a body that is not complete. */
  signal?: AbortSignal | undefined;
}

export type VendorResult = WholeResult | StreamResult | PassingResult;

/** The result of a request whose answer is held until it is complete. */
export type WholeResult =
  /**
   * `body` is the parsed JSON, or the text if text was requested or if it is not JSON. The refusal of a stream also has
   * this form, parsed if it is JSON.
   */
  | { kind: 'answer'; status: number; ok: boolean; headers: Headers; body: unknown }
  /** It cannot be held, or not be parsed. It was still read to its end, for the facts that it states. */
  | { kind: 'too_large'; status: number; ok: boolean; headers: Headers; reading: PassingUsage; message: string }
  /** Also if the request was aborted. */
  | { kind: 'timeout' }
  /**
   * The caller left, and no answer arrived in the time for which the vendor was read on. The vendor may have done the
   * work.
   */
  | { kind: 'left' }
  /** No answer arrived: there was no connection, or the request cannot be sent. */
  | { kind: 'unreachable'; message: string }
  /** The answer broke off. The vendor may have done the work, so the request must not simply be repeated. */
  | { kind: 'broken'; status: number; message: string };

/** An answer that nobody has read. */
export interface StreamResult {
  kind: 'stream';
  status: number;
  headers: Headers;
  body: ReadableStream<Uint8Array>;
}

/** An answer that passes while it arrives, judged by its beginning. */
export interface PassingResult extends Opening {
  kind: 'passing';
  status: number;
  headers: Headers;
}

/** The recorded error of a call whose outcome is `left`. */
export const CLIENT_LEFT = 'the caller left, and the vendor did not answer in the time for which it was read on';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Identifies the sender to vendors, unless the request has its own. */
const USER_AGENT = `callmeter/${SERVICE_VERSION}`;

export async function requestVendor(
  request: VendorRequest & { responseType: 'json' | 'text' },
  fetcher?: Fetcher,
): Promise<WholeResult>;
export async function requestVendor(
  request: VendorRequest & { responseType: 'stream' },
  fetcher?: Fetcher,
): Promise<WholeResult | StreamResult>;
export async function requestVendor(
  request: VendorRequest & { responseType: PassedAs },
  fetcher?: Fetcher,
): Promise<WholeResult | PassingResult>;
export async function requestVendor(request: VendorRequest, fetcher?: Fetcher): Promise<VendorResult>;
export async function requestVendor(
  request: VendorRequest,
  fetcher: Fetcher = (url, init) => fetch(url, init as never) as unknown as Promise<Response>,
): Promise<VendorResult> {
  const body = encodeBody(request);
  const headers = buildHeaders(request.headers, body.contentType);
  if (typeof headers === 'string') return { kind: 'unreachable', message: headers };
  const limit = timeLimit(request);
  let status: number | null = null;
  try {
    const asked = fetcher(String(request.url), {
      method: request.method,
      headers,
      body: body.content ?? null,
      redirect: 'manual',
      signal: limit.signal,
    });
    // The connection has its own copy, and a large one would be held twice for as long as the vendor takes.
    delete body.content;
    const response = await asked;
    status = response.status;
    return await toVendorResult(request.responseType, response);
  } catch (error) {
    if (limit.signal.aborted) return { kind: limit.signal.reason === CLIENT_LEFT ? 'left' : 'timeout' };
    if (status === null)
      return { kind: 'unreachable', message: `the vendor could not be reached${systemErrorCode(error)}` };
    return { kind: 'broken', status, message: `the vendor's answer broke off${systemErrorCode(error)}` };
  } finally {
    limit.lift();
  }
}

/** It must be lifted: a stream outlives the limit, and a running timer keeps a Durable Object awake. */
function timeLimit({ timeoutMs, presence, signal }: VendorRequest): { signal: AbortSignal; lift: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  const ignore = presence?.watch(() => controller.abort(CLIENT_LEFT));
  const giveUp = () => controller.abort();
  signal?.addEventListener('abort', giveUp);
  const lift = () => {
    signal?.removeEventListener('abort', giveUp);
    clearTimeout(timer);
    ignore?.();
  };
  return { signal: controller.signal, lift };
}

async function toVendorResult(responseType: VendorRequest['responseType'], response: Response): Promise<VendorResult> {
  const { status, ok, headers } = response;
  const body = response.body as ReadableStream<Uint8Array> | null;
  const answered = (text: string | null): VendorResult => ({
    kind: 'answer',
    status,
    ok,
    headers,
    body: isParsed(responseType) ? parsed(text ?? '') : (text ?? ''),
  });
  if (!body) return answered('');
  const tooLarge = (reading: PassingUsage, message: string): VendorResult => ({
    kind: 'too_large',
    status,
    ok,
    headers,
    reading,
    message,
  });
  if (responseType === 'stream' && ok) return { kind: 'stream', status, headers, body };
  const reader = readBody(body);
  if (!ok || responseType === 'json' || responseType === 'text') {
    const whole = await readWhole(reader, headers);
    if (typeof whole !== 'string') return tooLarge(whole, TOO_LARGE);
    if (responseType !== 'json' || !hasTooManyValues(whole)) return answered(whole);
    const reading = new PassedBody(headers, true);
    reading.push(new TextEncoder().encode(whole));
    reading.end();
    return tooLarge(reading, `the vendor's answer has more than ${JSON_VALUES_MAX} JSON values`);
  }
  const opening = await readOpening(reader, headers.get('content-type') ?? '', {
    isText: responseType === 'passed-text',
    isBinary: responseType === 'any',
  });
  const passes = opening.content === 'events' || (responseType === 'any' && opening.content === 'other');
  if (passes) return { kind: 'passing', status, headers, ...opening };
  if (responseType === 'held') {
    const whole = await readWhole(opening.body, headers);
    return typeof whole === 'string' ? answered(whole) : tooLarge(whole, TOO_LARGE);
  }
  const held = await readHeld(opening.body);
  return typeof held === 'string' ? answered(held) : { kind: 'passing', status, headers, ...opening, body: held };
}

function isParsed(responseType: VendorRequest['responseType']): boolean {
  return responseType === 'json' || responseType === 'stream';
}

type Content = NonNullable<RequestInit['body']>;

const SENT_AS_IS = [Uint8Array, ReadableStream, FormData];

function encodeBody({ method, body }: VendorRequest): { content?: Content; contentType?: string } {
  if (method === 'GET' || body === undefined) return {};
  if (typeof body === 'string' || SENT_AS_IS.some((kind) => body instanceof kind)) return { content: body as Content };
  return { content: JSON.stringify(body), contentType: 'application/json' };
}

/**
 * The headers to send, with names in lower case; or, as text, why they cannot be sent. The text contains no header
 * values.
 */
function buildHeaders(
  given: Readonly<Record<string, string>>,
  contentType: string | undefined,
): Record<string, string> | string {
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (isConnectionHeader(lower)) continue;
    if (!HEADER_NAME.test(name)) return 'a header of the request has a name that cannot travel';
    if (typeof value !== 'string' || !HEADER_VALUE.test(value))
      return `the header ${lower} has a value that cannot travel`;
    // Two spellings of one header become one header with both values.
    const before = headers.get(lower);
    headers.set(lower, before === undefined ? value : `${before}, ${value}`);
  }
  if (contentType !== undefined && !headers.has('content-type')) headers.set('content-type', contentType);
  if (!headers.has('user-agent')) headers.set('user-agent', USER_AGENT);
  return Object.fromEntries(headers);
}

/** The text of the body; or, if it cannot be held, the facts that are read of it while it passes. */
async function readWhole(reader: ByteSource, headers: Headers): Promise<string | PassingUsage> {
  const memory = new HeldBytes();
  try {
    const chunks: Uint8Array[] = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return decodeChunks(chunks);
      chunks.push(value.slice());
      if (!memory.take(value.byteLength)) return await readPassing(chunks, reader, headers);
    }
  } finally {
    memory.release();
  }
}

async function readPassing(chunks: Uint8Array[], reader: ByteSource, headers: Headers): Promise<PassingUsage> {
  const opening = await readOpening(new ReplayedBytes(chunks, reader), headers.get('content-type') ?? '', {
    isText: false,
    isBinary: false,
  });
  const reading =
    opening.content === 'events' ? new SkimmedUsage() : new PassedBody(headers, opening.content === 'json');
  let bytes = 0;
  for (;;) {
    const { done, value } = await opening.body.read();
    if (done) break;
    bytes += value.byteLength;
    if (bytes > READ_BYTES_MAX) {
      await opening.body.cancel();
      break;
    }
    reading.push(value);
  }
  reading.end();
  return reading;
}

/** The text of the body; or, if it is too large to pass as a whole, its bytes from the beginning. */
async function readHeld(reader: ByteSource): Promise<string | ByteSource> {
  const memory = new HeldBytes();
  let isPassed = false;
  try {
    const chunks: Uint8Array[] = [];
    for (let bytes = 0; ; ) {
      const { done, value } = await reader.read();
      if (done) return decodeChunks(chunks);
      chunks.push(value.slice());
      bytes += value.byteLength;
      if (bytes <= WHOLE_BYTES_MAX && memory.take(value.byteLength)) continue;
      // A slow caller keeps the bytes that were read.
      isPassed = true;
      return new ReplayedBytes(chunks, reader, { letGo: () => memory.release() });
    }
  } finally {
    if (!isPassed) memory.release();
  }
}

const TOO_LARGE = `the vendor's answer has more than ${HELD_BYTES_MAX} bytes, or others fill the memory`;

/** Each chunk is released when it is text. */
function decodeChunks(chunks: Uint8Array[]): string {
  const decoder = new TextDecoder();
  let text = '';
  for (let chunk = chunks.shift(); chunk; chunk = chunks.shift()) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

function parsed(text: string): unknown {
  const value = parseAnswer(text);
  return value === undefined ? text : value;
}

/** Only the system's error code: the messages of these errors can repeat what was sent. */
function systemErrorCode(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : undefined;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? ` (${code})` : '';
}
