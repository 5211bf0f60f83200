/**
 * The shared parts of the tests of metered streams: vendors' streams under a test's own control, events of chat
 * completions, and a metered stream with its reported outcomes.
 */
import type { ByteSource } from '../../src/vendors/byte-source.ts';
import { type MeterOptions, meterStream, type StreamOutcome } from '../../src/vendors/tee.ts';
import { WrittenTokens } from '../../src/vendors/written-tokens.ts';

const encoder = new TextEncoder();

export interface Metered {
  stream: ReadableStream<Uint8Array>;
  outcomes: StreamOutcome[];
  ended: Promise<StreamOutcome>;
}

export function meter(body: ReadableStream<Uint8Array> | ByteSource, options: Partial<MeterOptions> = {}): Metered {
  const outcomes: StreamOutcome[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<StreamOutcome>();
  const stream = meterStream('getReader' in body ? body.getReader() : body, {
    idleTimeoutMs: 2_000,
    drainMsMax: 2_000,
    bytesMax: 1_000_000,
    written: new WrittenTokens('compatible', 'model'),
    onEnd: (outcome) => {
      outcomes.push(outcome);
      resolve(outcome);
    },
    ...options,
  });
  return { stream, outcomes, ended };
}

export async function text(stream: ReadableStream<Uint8Array>): Promise<string> {
  const parts: string[] = [];
  const streaming = new TextDecoder();
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>)
    parts.push(streaming.decode(chunk, { stream: true }));
  return parts.join('');
}

/** A vendor's stream under the test's own control. */
export function scripted() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const state = { cancelled: false };
  const source = {
    start: (given: unknown) => {
      controller = given as ReadableStreamDefaultController<Uint8Array>;
    },
    cancel: () => {
      state.cancelled = true;
    },
  };
  const body = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
  return {
    body,
    state,
    send: (...parts: (string | Uint8Array)[]) => {
      for (const part of parts) controller.enqueue(typeof part === 'string' ? encoder.encode(part) : part);
    },
    close: () => controller.close(),
    fail: () => controller.error(new Error('connection lost')),
  };
}

/** A vendor's stream that is over. */
export function sentBy(...parts: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const { body, send, close } = scripted();
  send(...parts);
  close();
  return body;
}

/** The bytes in parts that end at the given positions. */
export function cut(bytes: Uint8Array, cuts: number[]): Uint8Array[] {
  const at = [...new Set(cuts.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.slice(from, at[index] ?? bytes.length));
}

export const event = (body: unknown) => `data: ${typeof body === 'string' ? body : JSON.stringify(body)}\n\n`;
export const delta = (content: string, finish_reason: string | null = null) =>
  event({ model: 'gpt-5.2', choices: [{ delta: { content }, finish_reason }] });
export const USAGE = event({ model: 'gpt-5.2', choices: [], usage: { prompt_tokens: 7, completion_tokens: 2 } });
export const DONE = event('[DONE]');
