/**
 * One request to a vendor, with every outcome as data: an answer, a stream, silence, no connection, or a caller that has
 * left.
 *
 * Redirects are not followed but returned as answers, because nobody has checked the address behind one. An answer is
 * read up to a bound and within the time limit. The headers of the request contain the vendor's key, so they appear in
 * no outcome, no message and no log.
 */

import { isConnectionHeader } from '../domain/vendor-headers.ts';
import { readHead } from '../platform/bytes.ts';
import { hasTooManyValues, JSON_VALUES_MAX, parseAnswer } from '../platform/json.ts';
import { SERVICE_VERSION } from '../platform/version.ts';
import type { Presence } from './presence.ts';

/** The largest answer that is read. The largest answers of models are batches of embeddings. */
export const ANSWER_BYTES_MAX = 10 * 1024 * 1024;

export type Fetcher = (url: string, init: RequestInit) => Promise<Response>;

export interface VendorRequest {
  /** Checked by `checkVendorUrl`. */
  url: string | URL;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers: Readonly<Record<string, string>>;
  /** Text, bytes, streams and forms are sent unchanged, anything else as JSON. A GET has none. */
  body?: unknown;
  /** For the whole answer; for a stream until its headers arrive, because `meterStream` watches it after that. */
  timeoutMs: number;
  /**
   * `events`: server-sent events are a stream, and any other answer is read as text. `large`: an answer that is larger
   * than `ANSWER_BYTES_MAX` is a stream, and any other is read as text. `any`: JSON as `large`, and any other is a stream.
   */
  responseType: 'json' | 'text' | 'stream' | 'events' | 'large' | 'any';
  /** The caller that waits for the answer: some time after it has left, the request is given up. */
  presence?: Presence;
  /** Gives the request up at once, with a body that is not complete. */
  signal?: AbortSignal | undefined;
}

export type VendorResult =
  /**
   * `body` is the parsed JSON, or the text if text was asked for or if it is no JSON. The refusal of a stream comes in
   * this form too, parsed if it is JSON.
   */
  | { kind: 'answer'; status: number; ok: boolean; headers: Headers; body: unknown }
  | { kind: 'stream'; status: number; headers: Headers; body: ReadableStream<Uint8Array> }
  /** Also where the request was given up. */
  | { kind: 'timeout' }
  /** The caller left, and no answer came in the time for which the vendor was read on. It may have done the work. */
  | { kind: 'left' }
  /** No answer came: there was no connection, or the request cannot be sent. */
  | { kind: 'unreachable'; message: string }
  /** The answer broke off. The vendor may have done the work, so the request must not simply be repeated. */
  | { kind: 'broken'; status: number; message: string };

/** What is recorded of a call whose outcome is `left`. */
export const CLIENT_LEFT = 'the caller left, and the vendor did not answer in the time for which it was read on';

/** What comes of a request that was not made for a stream. */
export type WholeResult = Exclude<VendorResult, { kind: 'stream' }>;

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** How vendors see who asks, unless the request says it itself. */
const USER_AGENT = `callmeter/${SERVICE_VERSION}`;

export async function requestVendor(
  request: VendorRequest & { responseType: 'json' | 'text' },
  fetcher?: Fetcher,
): Promise<WholeResult>;
export async function requestVendor(request: VendorRequest, fetcher?: Fetcher): Promise<VendorResult>;
export async function requestVendor(
  request: VendorRequest,
  fetcher: Fetcher = (url, init) => fetch(url, init as never) as unknown as Promise<Response>,
): Promise<VendorResult> {
  const body = bodyOf(request);
  const headers = headersOf(request.headers, body.contentType);
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
    if (isStream(request.responseType, response.headers) && response.ok && response.body) {
      return { kind: 'stream', status, headers: response.headers, body: response.body };
    }
    const isLarge = ['large', 'any'].includes(request.responseType) && response.ok;
    const read = isLarge ? await readLarge(response) : await readBounded(response);
    if (read instanceof ReadableStream) return { kind: 'stream', status, headers: response.headers, body: read };
    const text = read;
    if (text === null)
      return { kind: 'broken', status, message: `the vendor's answer has more than ${ANSWER_BYTES_MAX} bytes` };
    if (request.responseType === 'json' && hasTooManyValues(text)) {
      return { kind: 'broken', status, message: `the vendor's answer has more than ${JSON_VALUES_MAX} JSON values` };
    }
    const isParsed = request.responseType === 'json' || request.responseType === 'stream';
    const answer = isParsed ? parsed(text) : text;
    return { kind: 'answer', status, ok: response.ok, headers: response.headers, body: answer };
  } catch (error) {
    if (limit.signal.aborted) return { kind: limit.signal.reason === CLIENT_LEFT ? 'left' : 'timeout' };
    if (status === null) return { kind: 'unreachable', message: `the vendor could not be reached${codeOf(error)}` };
    return { kind: 'broken', status, message: `the vendor's answer broke off${codeOf(error)}` };
  } finally {
    limit.lift();
  }
}

/** Must be lifted: a stream outlives the limit, and a running timer keeps a Durable Object awake. */
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

/** Without a content type, a vendor that was asked for events is believed to send them. */
function isStream(responseType: VendorRequest['responseType'], headers: Headers): boolean {
  if (responseType === 'any') return !/\bjson\b/i.test(headers.get('content-type') ?? '');
  if (responseType !== 'events') return responseType === 'stream';
  return /event-stream/i.test(headers.get('content-type') ?? 'event-stream');
}

type Content = NonNullable<RequestInit['body']>;

const SENT_AS_IS = [Uint8Array, ReadableStream, FormData];

function bodyOf({ method, body }: VendorRequest): { content?: Content; contentType?: string } {
  if (method === 'GET' || body === undefined) return {};
  if (typeof body === 'string' || SENT_AS_IS.some((kind) => body instanceof kind)) return { content: body as Content };
  return { content: JSON.stringify(body), contentType: 'application/json' };
}

/** The headers to send, with names in lower case; or, as text, why they cannot be sent. The text has no values. */
function headersOf(
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

/** The text of the body; `null` if it is larger than the bound. The rest is then not read. */
async function readBounded(response: Response): Promise<string | null> {
  const declared = response.headers.get('content-length');
  // The connection enforces a declared length, but compressed content may be longer. `response.body` is not read before
  // this, because that alone creates a stream.
  if (declared !== null && Number(declared) <= ANSWER_BYTES_MAX && !response.headers.has('content-encoding'))
    return response.text();
  if (!response.body) return '';
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > ANSWER_BYTES_MAX) {
      // Whether the connection closes cleanly does not matter.
      reader.cancel().catch(() => undefined);
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** The text of the body, or, where it is larger than the bound, its bytes from the beginning. */
async function readLarge(response: Response): Promise<string | ReadableStream<Uint8Array>> {
  if (!response.body) return '';
  const body = response.body as ReadableStream<Uint8Array>;
  const head = await readHead(body, ANSWER_BYTES_MAX + 1);
  if (head.length <= ANSWER_BYTES_MAX) return new TextDecoder().decode(head);
  const reader = body.getReader();
  let first: Uint8Array | null = head;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = first ? { done: false, value: first } : await reader.read();
        first = null;
        if (value) controller.enqueue(value);
        if (done) controller.close();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function parsed(text: string): unknown {
  const value = parseAnswer(text);
  return value === undefined ? text : value;
}

/** Only the system's error code: the messages of these errors can repeat what was sent. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : undefined;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? ` (${code})` : '';
}
