/**
 * Streams of the gateway: the usage chunk that the vendor was asked for, and what is kept for retries.
 *
 * A chunk that says nothing of usage passes byte for byte. Where the caller did not ask for usage, the chunk that has
 * nothing else is left out, and usage is taken out of a chunk that has more. Where it asked, the chunk also says the
 * cost.
 */
import { usdFromNano } from '../domain/money.ts';
import { costOf, type ResolvedPrice } from '../domain/pricing.ts';
import { usageOf } from '../metering/finish-call.ts';
import { parseAnswer } from '../platform/json.ts';
import { meterStream, type StreamOutcome, type Transform } from '../vendors/tee.ts';
import type { VendorUsage } from '../vendors/usage.ts';

/** A chunk whose usage is an object; most chunks say `"usage":null`, or nothing. */
const HAS_USAGE = /"usage"\s*:\s*\{/;

/** The cost, in USD, of what a stream used so far; `null` where it is not known. */
export type StreamCost = (usage: VendorUsage) => Promise<number | null>;

export function streamCost(priceOf: (usage: VendorUsage) => Promise<ResolvedPrice>): StreamCost {
  return async (usage) => {
    const price = await priceOf(usage);
    return price.available ? usdFromNano(costOf(price.card, usageOf(usage), 'standard').totalNanoUsd) : null;
  };
}

/** What becomes of the chunks of a chat completion. */
export function usageTransform(asked: boolean, cost: StreamCost): Transform {
  return async (event, reading) => {
    if (!HAS_USAGE.test(event.data)) return event;
    const chunk = parseAnswer(event.data) as { usage?: unknown; choices?: unknown } | null | undefined;
    if (chunk == null || typeof chunk.usage !== 'object' || chunk.usage === null) return event;
    if (asked) {
      const usage = reading.usage();
      const costUsd = usage && (await cost(usage));
      return costUsd === null
        ? event
        : { ...event, data: JSON.stringify({ ...chunk, usage: { ...chunk.usage, cost_usd: costUsd } }) };
    }
    const { usage: _usage, ...rest } = chunk;
    return Array.isArray(chunk.choices) && chunk.choices.length > 0 ? { ...event, data: JSON.stringify(rest) } : null;
  };
}

/** Why a stream that ended so is a failed call; `undefined` where it is none. */
export function failureOf({ end, completed, failure }: StreamOutcome): { code: string; message: string } | undefined {
  if (failure) return failure;
  if (completed || end === 'completed') return undefined;
  switch (end) {
    case 'client_left':
      return {
        code: 'CLIENT_LEFT',
        message: 'the caller left, and the stream did not end in the time that it was read on',
      };
    case 'timeout':
      return { code: 'VENDOR_TIMEOUT', message: 'the vendor fell silent in the middle of its stream' };
    case 'vendor_cut':
      return { code: 'VENDOR_STREAM_CUT', message: "the vendor's stream ended before its end" };
  }
}

/** A stream that also remembers its bytes, up to a bound. */
export function recorded(
  body: ReadableStream<Uint8Array>,
  bytesMax: number,
): { body: ReadableStream<Uint8Array>; text(): string | null } {
  let chunks: Uint8Array[] | null = [];
  let bytes = 0;
  const remember = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) chunks = null;
      chunks?.push(chunk.slice());
      controller.enqueue(chunk);
    },
  });
  return {
    body: body.pipeThrough(remember),
    text() {
      if (chunks === null) return null;
      const decoder = new TextDecoder();
      return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('') + decoder.decode();
    },
  };
}

/** A stream that was kept, once more. */
export function replayed(text: string, transform: Transform | undefined): ReadableStream<Uint8Array> {
  const body = new Blob([text]).stream() as unknown as ReadableStream<Uint8Array>;
  const waits = { idleTimeoutMs: 60_000, drainMsMax: 1, bytesMax: 0 };
  return meterStream(body, { ...waits, ...(transform && { transform }), onEnd: () => undefined });
}
