/**
 * Bodies and lines are read within their bounds, wherever the chunks are cut.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readBounded, streamLines } from '../../src/platform/bytes.ts';

const encoder = new TextEncoder();

/** A stream of the text, cut at the given positions; `cancelled` tells whether it was released before its end. */
function cutStream(text: string, cuts: readonly number[] = []) {
  const bytes = encoder.encode(text);
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const chunks = [...at, bytes.length]
    .map((end, index) => bytes.slice(at[index - 1] ?? 0, end))
    .filter(({ length }) => length > 0);
  const state = { cancelled: false, pulled: 0 };
  const body: ReadableStream<Uint8Array> = new ReadableStream(
    {
      type: 'bytes',
      pull(controller) {
        const chunk = chunks[state.pulled++];
        if (chunk) return controller.enqueue(chunk);
        controller.close();
        // A reader with memory of its own notices the end by this.
        controller.byobRequest?.respond(0);
      },
      cancel: () => {
        state.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, state };
}

describe('a body', () => {
  test('is read completely up to its limit, and rejected above it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme' }),
        fc.array(fc.nat(200), { maxLength: 8 }),
        fc.nat(60),
        async (text, cuts, bytesMax) => {
          const { body } = cutStream(text, cuts);
          const read = await readBounded(body, bytesMax);
          const fits = encoder.encode(text).length <= bytesMax;
          expect(read && new TextDecoder().decode(read)).toEqual(fits ? text : null);
        },
      ),
    );
    expect(await readBounded(null, 0)).toEqual(new Uint8Array());
  });

  test('without an end is cancelled shortly above the limit', async () => {
    let pulled = 0;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(64 * 1024));
      },
      cancel() {
        cancelled = true;
      },
    });
    expect(await readBounded(body, 100)).toBeNull();
    expect(cancelled).toBe(true);
    expect(pulled).toBeLessThan(20);
  });

  test('that stalls is cancelled at its timeout', async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: () => new Promise(() => undefined),
      cancel() {
        cancelled = true;
      },
    });
    await expect(readBounded(body, 10, 10)).rejects.toThrow('in time');
    expect(cancelled).toBe(true);
  });
});

describe('lines', () => {
  test('with their numbers do not depend on where chunks are split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom('a', '\n', 'é', '👋', ' ') }),
        fc.array(fc.nat(200), { maxLength: 8 }),
        async (text, cuts) => {
          const expected = text
            .split('\n')
            .map((line, index) => ({ number: index + 1, text: line, cut: false, shortened: false }))
            .filter((line) => line.text.trim() !== '');
          const { body } = cutStream(text, cuts);
          expect(await Array.fromAsync(streamLines(body, 1_000))).toEqual(expected);
        },
      ),
    );
  });

  test('that are too long are truncated, and those after them are complete', async () => {
    const long = `{"custom_id":"big","x":"${'y'.repeat(20_000)}"}`;
    for (const cuts of [[], [5], [10_000, 20_010], Array.from({ length: 50 }, (_, index) => index * 400)]) {
      const { body } = cutStream(`first\n${long}\nlast`, cuts);
      const [first, cut, last] = await Array.fromAsync(streamLines(body, 5_000));
      expect([first, last]).toEqual([
        { number: 1, text: 'first', cut: false, shortened: false },
        { number: 3, text: 'last', cut: false, shortened: false },
      ]);
      expect(cut?.cut).toBe(true);
      expect(cut?.text.length).toBeLessThanOrEqual(5_000);
      expect(long.startsWith(cut?.text ?? '-')).toBe(true);
    }
  });
});
