/**
 * Reads the usage of a vendor's response on its way to the caller: a plain response as a whole, a stream as it passes.
 *
 * The caller gets the vendor's bytes, status and headers. If the caller stops reading a stream, the rest is still read
 * within limits, because the vendor keeps billing. An abort by the caller's own signal reaches the vendor at once.
 */

import { parseJson } from '../../platform/json.ts';
import { joined, type StreamEvent } from '../../vendors/event-blocks.ts';
import { meterStream, type StreamOutcome, type Transform } from '../../vendors/tee.ts';
import { isFields } from '../../vendors/usage/figures.ts';
import { readUsage, type VendorUsage } from '../../vendors/usage.ts';

/** As long as the vendors' SDKs wait for a response. */
const IDLE_MS_MAX = 600_000;
/** How long, and how many bytes, a stream is read after its caller stopped reading. */
const DRAIN_MS_MAX = 30_000;
const DRAIN_BYTES_MAX = 8 * 1024 * 1024;
const DONE = '[DONE]';

/** The facts that were read from a plain response. */
export interface PlainOutcome {
  /** The body is complete and is JSON. */
  whole: boolean;
  usage: VendorUsage | null;
}

/**
 * Reads the whole body. If it breaks off, so does the returned response's body. Throws if the signal aborted it,
 * because an SDK that timed out may retry.
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
  /** The vendor sends the usage in a chunk that the caller did not request. */
  hidesUsage: boolean;
  /** The signal that the SDK aborts when its caller stops reading. */
  signal: AbortSignal | null | undefined;
  /** Called on abort, before reading continues or ends. */
  onAbort(): void;
  onEnd(outcome: StreamOutcome): Promise<void>;
}

/** Meters a streamed response, which must have a body. */
export function readStream(response: Response, metering: StreamMetering): Response {
  const { hidesUsage, signal, onAbort, onEnd } = metering;
  let ended: Promise<void> | null = null;
  const end = (outcome: StreamOutcome) => {
    ended ??= onEnd(outcome);
    return ended;
  };
  const transform: Transform = async (event, reading) => {
    // OpenAI's SDK stops reading after this event, so the call must have ended by then.
    if (event.data === DONE)
      await end({
        end: 'completed',
        completed: true,
        usage: reading.usage(),
        partial: null,
        outputTokens: reading.outputTokens,
        hasOutput: reading.hasOutput,
        failure: reading.failed,
      });
    return hidesUsage && isUsageChunk(event) ? null : event;
  };
  const bounds = { idleTimeoutMs: IDLE_MS_MAX, drainMsMax: DRAIN_MS_MAX, bytesMax: DRAIN_BYTES_MAX };
  const body = response.body as ReadableStream<Uint8Array>;
  const metered = meterStream(body.getReader(), { ...bounds, onEnd: end, transform });
  return sameAs(response, signal ? abortable(metered, signal, onAbort) : metered);
}

/** The chunk that OpenAI adds for usage has no choices. A chunk with usage and choices is the vendor's usual format. */
function isUsageChunk({ data }: StreamEvent): boolean {
  const body = parse(data);
  return isFields(body) && isFields(body.usage) && Array.isArray(body.choices) && body.choices.length === 0;
}

/** Makes the stream fail for its reader when the signal aborts, like the body of a `fetch`. */
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

/** A response with another body and the same status, headers and URL. */
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
