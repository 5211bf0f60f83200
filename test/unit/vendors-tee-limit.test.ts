/**
 * A stream with a limit passes no output that the limit has not allowed; after a refusal, the vendor is left at once
 * and the caller's stream ends regularly.
 */
import { describe, expect, test, vi } from 'vitest';
import type { StreamLimit } from '../../src/vendors/tee.ts';
import { DONE, delta, meter, scripted, sentBy, text, USAGE } from '../support/metered-stream.ts';

const THE_END = 'data: the end\n\n';

/** A limit at so many output tokens, and the questions to it. */
function limitAt(tokensMax: number, mayContinue?: StreamLimit['mayContinue']) {
  const asked: number[] = [];
  const passed: unknown[] = [];
  const limit: StreamLimit = {
    mayContinue: (tokens) => {
      asked.push(tokens);
      if (mayContinue) return mayContinue(tokens);
      return tokens <= tokensMax || Promise.resolve(false);
    },
    passed: (event) => void passed.push(event),
    close: () => THE_END,
  };
  return { limit, asked, passed };
}
const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

test('all that it allows passes byte for byte, and it is asked only when text has come', async () => {
  const sent = delta('') + delta('ab') + delta('c') + delta('', 'stop') + USAGE + DONE;
  const { limit, asked, passed } = limitAt(3);
  const { stream, outcomes } = meter(sentBy(sent), { limit });
  expect(await text(stream)).toBe(sent);
  expect(asked).toEqual([2, 3]);
  expect(passed).toHaveLength(5);
  expect(outcomes).toMatchObject([{ end: 'completed', completed: true, usage: { inputTokens: 7 }, outputTokens: 3 }]);
});

describe('a refusal', () => {
  test('stops the stream: what was allowed passes, then a regular end, and the vendor is left', async () => {
    const { body, send, state } = scripted();
    send(delta('ab') + delta('c') + delta('d') + delta('e'));
    const { limit, passed } = limitAt(3);
    const close = vi.spyOn(limit, 'close');
    const { stream, outcomes } = meter(body, { limit });
    expect(await text(stream)).toBe(delta('ab') + delta('c') + THE_END);
    expect(passed).toHaveLength(2);
    expect(close.mock.calls).toEqual([[{ partial: null, outputTokens: 4 }]]);
    // The text that was refused came too, and the vendor bills it.
    expect(outcomes).toMatchObject([{ end: 'stopped', completed: false, usage: null, partial: null, outputTokens: 4 }]);
    expect(state.cancelled).toBe(true);
  });

  test('leaves the vendor before the end of the caller is made', async () => {
    const { body, send, state } = scripted();
    send(delta('a'));
    const { limit } = limitAt(0);
    const { stream } = meter(body, { limit: { ...limit, close: () => String(state.cancelled) } });
    expect(await text(stream)).toBe('true');
  });

  test('of a limit that fails stops the stream too', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const { limit } = limitAt(0, () => Promise.reject(new Error('away')));
    const { stream, outcomes } = meter(sentBy(delta('a'), DONE), { limit });
    expect(await text(stream)).toBe(THE_END);
    expect(outcomes).toMatchObject([{ end: 'stopped' }]);
    expect(logged).toHaveBeenCalledOnce();
    logged.mockRestore();
  });

  test('breaks the stream of a caller for whom no end can be made', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const { limit } = limitAt(0);
    const close = () => Promise.reject(new Error('no'));
    const { stream, outcomes } = meter(sentBy(delta('a')), { limit: { ...limit, close } });
    await expect(text(stream)).rejects.toThrow();
    expect(outcomes).toMatchObject([{ end: 'stopped' }]);
    logged.mockRestore();
  });

  test('breaks a stream that is no list of events', async () => {
    const chunk = { candidates: [{ content: { parts: [{ text: 'abc' }] } }], usageMetadata: { promptTokenCount: 5 } };
    const { stream, outcomes } = meter(sentBy(JSON.stringify([chunk])), { limit: limitAt(0).limit });
    await expect(text(stream)).rejects.toThrow();
    expect(outcomes).toMatchObject([{ end: 'stopped', partial: { inputTokens: 5 } }]);
  });
});

describe('while the answer is awaited', () => {
  test('nothing is read from the vendor', async () => {
    let pulls = 0;
    const source: UnderlyingSource<Uint8Array> = {
      pull: (controller) => {
        (controller as ReadableStreamDefaultController<Uint8Array>).enqueue(new TextEncoder().encode(delta('a')));
        pulls += 1;
      },
    };
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { limit } = limitAt(0, () => promise);
    const { stream } = meter(new ReadableStream<Uint8Array>(source, { highWaterMark: 0 }), { limit });
    const first = stream.getReader().read();
    await settle();
    expect(pulls).toBe(1);
    resolve(true);
    expect(new TextDecoder().decode((await first).value)).toBe(delta('a'));
  });

  test('the vendor is not taken for silent', async () => {
    const slow = () => new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 60));
    const { limit } = limitAt(0, slow);
    const { stream, outcomes } = meter(sentBy(delta('a'), delta('', 'stop')), { limit, idleTimeoutMs: 20 });
    await text(stream);
    expect(outcomes).toMatchObject([{ end: 'completed' }]);
  });
});

describe('after the caller has left', () => {
  test('the limit is still asked, and a refusal leaves the vendor', async () => {
    const { body, send, state } = scripted();
    const { limit, asked } = limitAt(2);
    const close = vi.spyOn(limit, 'close');
    const { stream, ended } = meter(body, { limit });
    const reader = stream.getReader();
    send(delta('a'));
    await reader.read();
    await reader.cancel();
    send(delta('b'), delta('c'), delta('d'));
    expect(await ended).toMatchObject({ end: 'stopped', completed: false, outputTokens: 3 });
    expect(asked).toEqual([1, 2, 3]);
    expect(state.cancelled).toBe(true);
    expect(close).not.toHaveBeenCalled();
  });

  test('while the answer was awaited, the stream ends as the answer says', async () => {
    const { body, send } = scripted();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { stream, ended } = meter(body, { limit: limitAt(0, () => promise).limit });
    const reader = stream.getReader();
    send(delta('a'));
    const waiting = reader.read();
    await settle();
    await reader.cancel();
    await waiting;
    resolve(false);
    expect(await ended).toMatchObject({ end: 'stopped', outputTokens: 1 });
  });

  test('a time that is over ends the stream, whatever the answer will be', async () => {
    const { body, send } = scripted();
    const { limit } = limitAt(0, () => new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 60)));
    const { stream, outcomes, ended } = meter(body, { limit, drainMsMax: 20 });
    send(delta('a'));
    await stream.cancel();
    expect(await ended).toMatchObject({ end: 'client_left', outputTokens: 1 });
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(outcomes).toHaveLength(1);
  });
});
