import type { StreamOutcome } from '../vendors/tee.ts';

/** Why a stream with this outcome is a failed call; `undefined` where it is not. */
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

/** The stream, and the text that has passed so far; `null` once that is over the bound. */
export function recorded(
  body: ReadableStream<Uint8Array>,
  bytesMax: number,
): { body: ReadableStream<Uint8Array>; text(): string | null } {
  let chunks: Uint8Array[] | null = [];
  let bytes = 0;
  const recorder = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) chunks = null;
      chunks?.push(chunk.slice());
      controller.enqueue(chunk);
    },
  });
  return {
    body: body.pipeThrough(recorder),
    text() {
      if (chunks === null) return null;
      const decoder = new TextDecoder();
      return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('') + decoder.decode();
    },
  };
}
