/**
 * A vendor's answer on its way to the caller, read for its usage: a plain one as a whole, a stream as it passes.
 *
 * The caller gets the vendor's bytes, its status and its headers. A stream that the caller leaves is read on to its end
 * within bounds, because the vendor goes on billing; an abort by the caller's own signal reaches the vendor at once.
 */

import { parseJson } from '../../platform/json.ts';
import { joined, type StreamEvent } from '../../vendors/event-blocks.ts';
import { meterStream, type StreamOutcome, type Transform } from '../../vendors/tee.ts';
import { isFields } from '../../vendors/usage/figures.ts';
import { readUsage, type VendorUsage } from '../../vendors/usage.ts';

/** As long as the vendors' SDKs wait for an answer. */
const IDLE_MS_MAX = 600_000;
/** How long, and how many bytes, a stream is read on after its caller left. */
const DRAIN_MS_MAX = 30_000;
const DRAIN_BYTES_MAX = 8 * 1024 * 1024;
const DONE = '[DONE]';

/** What a plain answer told. */
export interface PlainOutcome {
  /** The body arrived whole, and is JSON. */
  whole: boolean;
  usage: VendorUsage | null;
}

/**
 * Reads the body to its end; where it breaks off, so does the body of the answer that comes back. Throws where it was
 * the signal that broke it off: an SDK that ran out of time may try again.
 */
export async function readPlain(
  response: Response,
  signal: AbortSignal | null | undefined,
  onEnd: (outcome: PlainOutcome) => Promise<void>,
): Promise<Response> {
  const chunks: Uint8Array[] = [];
  const reader = response.body?.getReader();
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) chunks.push(read.value);
  } catch (error) {
    if (signal?.aborted) throw error;
    await onEnd({ whole: false, usage: null });
    return sameAs(response, broken(chunks, error));
  }
  const bytes = joined(chunks.length > 0 ? chunks : [new Uint8Array()]);
  const body = parse(new TextDecoder().decode(bytes));
  await onEnd({ whole: body !== undefined, usage: readUsage(body) });
  return response.body ? sameAs(response, bytes) : response;
}

export interface StreamMetering {
  /** The usage comes in a chunk for which the caller did not ask. */
  hidesUsage: boolean;
  /** What the SDK aborts when its caller leaves. */
  signal: AbortSignal | null | undefined;
  /** Told of the abort, before the reading goes on or ends. */
  onAbort(): void;
  onEnd(outcome: StreamOutcome): Promise<void>;
}

/** Of an answer that has a body. */
export function readStream(response: Response, metering: StreamMetering): Response {
  const { hidesUsage, signal, onAbort, onEnd } = metering;
  let ended: Promise<void> | null = null;
  const end = (outcome: StreamOutcome) => {
    ended ??= onEnd(outcome);
    return ended;
  };
  const transform: Transform = async (event, reading) => {
    // The last word, after which OpenAI's SDK reads no further: its caller should find the call ended.
    if (event.data === DONE)
      await end({ end: 'completed', completed: true, usage: reading.reported(), failure: reading.failed });
    return hidesUsage && isUsageChunk(event) ? null : event;
  };
  const bounds = { idleTimeoutMs: IDLE_MS_MAX, drainMsMax: DRAIN_MS_MAX, bytesMax: DRAIN_BYTES_MAX };
  const metered = meterStream(response.body as ReadableStream<Uint8Array>, { ...bounds, onEnd: end, transform });
  return sameAs(response, signal ? abortable(metered, signal, onAbort) : metered);
}

/** The chunk that OpenAI adds for the usage has no choices; usage beside choices is the vendor's own habit. */
function isUsageChunk({ data }: StreamEvent): boolean {
  const body = parse(data);
  return isFields(body) && isFields(body.usage) && Array.isArray(body.choices) && body.choices.length === 0;
}

/** Breaks off for its reader when the signal aborts, as the body of a `fetch` does. */
function abortable(
  source: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onAbort: () => void,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let abort = () => {};
  const done = () => signal.removeEventListener('abort', abort);
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        abort = () => {
          done();
          controller.error(signal.reason);
          onAbort();
          reader.cancel().catch(() => undefined);
        };
        signal.addEventListener('abort', abort);
        if (signal.aborted) abort();
      },
      async pull(controller) {
        const { done: isDone, value } = await reader.read();
        if (signal.aborted) return;
        if (!isDone) return controller.enqueue(value);
        done();
        controller.close();
      },
      cancel(reason) {
        done();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

function broken(chunks: readonly Uint8Array[], error: unknown): ReadableStream<Uint8Array> {
  const left = [...chunks];
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = left.shift();
        if (chunk) controller.enqueue(chunk);
        else controller.error(error);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Another body under the same status, headers and address. */
function sameAs(response: Response, body: ReadableStream<Uint8Array> | Uint8Array): Response {
  const { status, statusText, headers, url } = response;
  const copy = new Response(body as ConstructorParameters<typeof Response>[0], { status, statusText, headers });
  Object.defineProperty(copy, 'url', { value: url });
  return copy;
}

function parse(text: string): unknown {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
}
