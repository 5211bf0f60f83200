/**
 * An answer is read part by part, and one whose beginning was read already from its first byte again. Parts may share
 * their memory, and the caller's never do.
 */
import { describe, expect, test } from 'vitest';
import { type ByteSource, ReplayedBytes, readBody } from '../../src/vendors/byte-source.ts';
import { delta, meter } from '../support/metered-stream.ts';

const part = (byte: number) => ({ done: false, value: Uint8Array.of(byte) }) as const;
const OVER = { done: true, value: undefined } as const;

/** A vendor that sends these parts and then falls silent. */
function vendor(...bytes: number[]) {
  const state = { reads: 0, canceled: null as unknown };
  const source: ByteSource = {
    read() {
      state.reads += 1;
      const byte = bytes.shift();
      return byte === undefined ? new Promise(() => undefined) : Promise.resolve(part(byte));
    },
    async cancel(reason) {
      state.canceled = reason;
    },
  };
  return { source, state };
}

describe('replayed bytes', () => {
  test('are the parts, then a read that has begun, then the further reads', async () => {
    const { source, state } = vendor(3, 4);
    let isHeld = true;
    const letGo = () => {
      isHeld = false;
    };
    const replayed = new ReplayedBytes(
      [1, 2].map((byte) => part(byte).value),
      source,
      { pending: source.read(), letGo },
    );
    expect(await replayed.read()).toEqual(part(1));
    expect(isHeld).toBe(true);
    expect(await replayed.read()).toEqual(part(2));
    expect([isHeld, state.reads]).toEqual([false, 1]);
    expect(await replayed.read()).toEqual(part(3));
    expect(await replayed.read()).toEqual(part(4));
    expect(state.reads).toBe(2);
  });

  test('fail as their reader fails', async () => {
    const broken: ByteSource = { read: () => Promise.reject(new Error('lost')), cancel: async () => undefined };
    await expect(new ReplayedBytes([], broken).read()).rejects.toThrow('lost');
  });

  test('end a read that is pending when they are canceled, give their parts back, and leave the vendor', async () => {
    const { source, state } = vendor();
    let isHeld = true;
    const silent = new ReplayedBytes([Uint8Array.of(1)], source, { letGo: () => (isHeld = false) });
    await silent.read();
    const reading = silent.read();
    await silent.cancel('enough');
    expect(await reading).toEqual(OVER);
    expect(await silent.read()).toEqual(OVER);
    expect([state.canceled, isHeld]).toEqual(['enough', false]);
  });
});

describe('a body', () => {
  const bytes = Uint8Array.from({ length: 10_000 }, (_, index) => index);

  /** Everything that a source has, copied part by part. */
  async function readAll(source: ByteSource): Promise<number[]> {
    const all: number[] = [];
    for (let next = await source.read(); !next.done; next = await source.read()) all.push(...next.value);
    return all;
  }

  test('is read whole, by the runtime or by a script', async () => {
    const ofRuntime = new Response(bytes).body as ReadableStream<Uint8Array>;
    expect(await readAll(readBody(ofRuntime))).toEqual([...bytes]);
    const ofScript = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes);
        controller.close();
      },
    });
    expect(await readAll(readBody(ofScript))).toEqual([...bytes]);
  });

  test('can be left', async () => {
    const source = readBody(new Response(bytes).body as ReadableStream<Uint8Array>);
    await source.read();
    await source.cancel();
    expect((await source.read()).done).toBe(true);
  });
});

/** A source that has one memory for all of its parts, each of the same length. */
function sharing(...parts: string[]): ByteSource {
  const memory = new Uint8Array(parts[0]?.length ?? 0);
  return {
    async read() {
      const text = parts.shift();
      if (text === undefined) return OVER;
      new TextEncoder().encodeInto(text, memory);
      return { done: false, value: memory };
    },
    cancel: async () => undefined,
  };
}

test.each([
  ['in whole events', { broken: () => '' }],
  ['as it comes', {}],
])('a caller that keeps the parts of a stream %s has them all', async (_, options) => {
  const stream = [delta('one'), delta('two'), delta('six')];
  const { stream: metered } = meter(sharing(...stream), options);
  const kept: Uint8Array[] = [];
  for await (const part of metered as unknown as AsyncIterable<Uint8Array>) kept.push(part);
  expect(kept.map((part) => new TextDecoder().decode(part)).join('')).toBe(stream.join(''));
});
