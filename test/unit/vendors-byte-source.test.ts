/** An answer whose beginning was read already is read again from its first byte, part by part. */
import { describe, expect, test } from 'vitest';
import { type ByteSource, ReplayedBytes } from '../../src/vendors/byte-source.ts';

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
