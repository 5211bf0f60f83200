/**
 * A metered stream gives the caller the vendor's bytes, ends exactly once, and reads the usage even after the caller
 * has left.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { MeterOptions, StreamOutcome } from '../../src/vendors/tee.ts';
import { DONE, delta, event, meter, scripted, sentBy, text, USAGE } from '../support/metered-stream.ts';
import { type FakeVendor, type Fault, startVendor } from '../vendors/vendor.ts';

let vendor: FakeVendor;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.close());

type Path = '/v1/chat/completions' | '/v1/messages' | '/v1/responses';
const encoder = new TextEncoder();
const decoder = new TextDecoder();

async function open(content: string, path: Path = '/v1/chat/completions'): Promise<ReadableStream<Uint8Array>> {
  const messages = [{ role: 'user', content }];
  const model = path === '/v1/messages' ? 'claude-sonnet-5' : 'gpt-5.2';
  const body = {
    model,
    messages,
    input: path === '/v1/responses' ? content : undefined,
    stream: true,
    stream_options: { include_usage: true },
  };
  const response = await fetch(`${vendor.url}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer x' },
    body: JSON.stringify(body),
  });
  return response.body as unknown as ReadableStream<Uint8Array>;
}

const figures = { inputTokens: 7, responseTokens: 2 };

describe('a caller that stays', () => {
  test.each<Path>(['/v1/chat/completions', '/v1/messages', '/v1/responses'])(
    'gets the bytes of %s unchanged, and the usage is known',
    async (path) => {
      const direct = await text(await open('[reply:30] [reasoning:3]', path));
      const { stream, outcomes } = meter(await open('[reply:30] [reasoning:3]', path));
      expect(await text(stream)).toBe(direct);
      expect(outcomes).toMatchObject([
        { end: 'completed', completed: true, usage: { responseTokens: 33, reasoningTokens: 3 }, failure: null },
      ]);
    },
  );

  test.each<[Fault, StreamOutcome['end'], object | null, object | null]>([
    ['split', 'completed', { inputTokens: 2, responseTokens: 6 }, null],
    ['no-usage', 'completed', null, null],
    ['zero-usage', 'completed', { inputTokens: 0, responseTokens: 0 }, null],
    ['usage-in-choices', 'completed', { inputTokens: 2, responseTokens: 6 }, null],
    ['end-early', 'vendor_cut', null, null],
    ['stream-error', 'vendor_cut', null, { code: 'server_error' }],
    ['big', 'completed', { inputTokens: 2, responseTokens: 20_480 }, null],
  ])('%s ends as %s', async (fault, end, usage, failure) => {
    const { stream, outcomes } = meter(await open(`[fail:${fault}] [reply:6]`));
    await text(stream);
    expect(outcomes).toHaveLength(1);
    expect(outcomes[0]?.end).toBe(end);
    if (usage) expect(outcomes[0]?.usage).toMatchObject(usage);
    else expect(outcomes[0]?.usage).toBeNull();
    if (failure) expect(outcomes[0]?.failure).toMatchObject(failure);
    else expect(outcomes[0]?.failure).toBeNull();
  });

  test('a broken connection breaks the stream of the caller, and the usage so far is kept', async () => {
    const { stream, outcomes } = meter(await open('[fail:cut] [reply:6]', '/v1/messages'));
    await expect(text(stream)).rejects.toThrow();
    expect(outcomes).toMatchObject([
      { end: 'vendor_cut', completed: false, usage: null, partial: { inputTokens: 2, responseTokens: 1 } },
    ]);
  });

  test('a stream that closes after a stop reason is complete, even without usage', async () => {
    const { stream, outcomes } = meter(sentBy(delta('a'), delta('', 'stop')));
    await text(stream);
    expect(outcomes).toEqual([
      {
        end: 'completed',
        completed: true,
        usage: null,
        partial: null,
        outputTokens: 1,
        hasOutput: true,
        failure: null,
      },
    ]);
  });

  test('a stream whose connection breaks before the usage is not complete', async () => {
    const { body, send, fail } = scripted();
    send(delta('a'), delta('', 'stop'));
    const { stream, outcomes } = meter(body);
    const reader = stream.getReader();
    await reader.read();
    await reader.read();
    fail();
    await expect(reader.read()).rejects.toThrow();
    expect(outcomes).toEqual([
      {
        end: 'vendor_cut',
        completed: false,
        usage: null,
        partial: null,
        outputTokens: 1,
        hasOutput: true,
        failure: null,
      },
    ]);
  });

  test('a vendor that falls silent ends the stream with a timeout', async () => {
    const { stream, outcomes } = meter(await open('[fail:silent] [reply:6]'), { idleTimeoutMs: 50 });
    await expect(text(stream)).rejects.toThrow();
    expect(outcomes).toMatchObject([{ end: 'timeout', completed: false, usage: null }]);
    await vi.waitFor(() => expect(vendor.requests.at(-1)?.abandoned).toBe(true));
  });

  test('makes the vendor wait: nothing is read ahead of it', async () => {
    let pulls = 0;
    const source: UnderlyingSource<Uint8Array> = {
      pull: (controller) => {
        (controller as ReadableStreamDefaultController<Uint8Array>).enqueue(encoder.encode(delta(String(pulls))));
        pulls += 1;
      },
    };
    const { stream } = meter(new ReadableStream<Uint8Array>(source, { highWaterMark: 0 }));
    const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
    await settle();
    expect(pulls).toBe(0);
    const reader = stream.getReader();
    for (const turn of [0, 1, 2]) {
      expect(decoder.decode((await reader.read()).value)).toBe(delta(String(turn)));
      await settle();
      expect(pulls).toBe(turn + 1);
    }
  });

  test('sees the end only after the call is recorded', async () => {
    const { body, send, close } = scripted();
    const order: string[] = [];
    const onEnd = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push('recorded');
    };
    const { stream } = meter(body, { onEnd });
    send(delta('a', 'stop'), USAGE, DONE);
    close();
    await text(stream);
    order.push('closed');
    expect(order).toEqual(['recorded', 'closed']);
  });

  test('keeps its stream if recording fails', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const { body, send, close } = scripted();
    const { stream } = meter(body, { onEnd: () => Promise.reject(new Error('no')) });
    send(DONE);
    close();
    expect(await text(stream)).toBe(DONE);
    expect(logged).toHaveBeenCalledOnce();
    logged.mockRestore();
  });
});

describe('a caller that leaves', () => {
  test.each([0, 1, 3])('after %d reads: the stream is read to its end, and the final figures count', async (reads) => {
    const { stream, outcomes, ended } = meter(await open('[fail:slow] [reply:4]'));
    const reader = stream.getReader();
    for (let read = 0; read < reads; read += 1) await reader.read();
    await reader.cancel();
    expect(await ended).toMatchObject({
      end: 'client_left',
      completed: true,
      usage: { inputTokens: 2, responseTokens: 4 },
      failure: null,
    });
    expect(outcomes).toHaveLength(1);
    expect(vendor.requests.at(-1)?.abandoned).toBe(false);
  });

  test('while a read waits for the vendor', async () => {
    const { body, send, close } = scripted();
    const { stream, ended } = meter(body);
    const reader = stream.getReader();
    const waiting = reader.read();
    await reader.cancel();
    expect((await waiting).done).toBe(true);
    send(delta('a', 'stop'), USAGE, DONE);
    close();
    expect(await ended).toMatchObject({ end: 'client_left', completed: true, usage: figures });
  });

  test('before a usage that never comes: the answer is still complete', async () => {
    const { body, send, close } = scripted();
    const { stream, ended } = meter(body);
    const reader = stream.getReader();
    send(delta('a', 'stop'));
    await reader.read();
    await reader.cancel();
    close();
    expect(await ended).toMatchObject({
      end: 'client_left',
      completed: true,
      usage: null,
      partial: null,
      failure: null,
    });
  });

  test('after the stream was complete', async () => {
    const { body, send, state } = scripted();
    const { stream, ended } = meter(body);
    const reader = stream.getReader();
    send(delta('a', 'stop') + USAGE + DONE);
    await reader.read();
    await reader.cancel();
    expect(await ended).toMatchObject({ end: 'completed', usage: figures });
    expect(state.cancelled).toBe(true);
  });

  test('for longer than the time limit ends the stream', async () => {
    const { body, send, state } = scripted();
    const { stream, ended } = meter(body, { drainMsMax: 30 });
    const reader = stream.getReader();
    send(USAGE);
    await reader.read();
    await reader.cancel();
    expect(await ended).toMatchObject({ end: 'client_left', completed: false, usage: null, partial: figures });
    expect(state.cancelled).toBe(true);
  });

  test('before more bytes than the limit ends the stream', async () => {
    const { stream, ended } = meter(await open('[fail:big] [reply:6]'), { bytesMax: 100_000 });
    await stream.cancel();
    expect(await ended).toMatchObject({ end: 'client_left', completed: false, usage: null });
    await vi.waitFor(() => expect(vendor.requests.at(-1)?.abandoned).toBe(true));
  });

  test('before a vendor that breaks off', async () => {
    const { stream, ended } = meter(await open('[fail:cut] [reply:6]', '/v1/messages'));
    await stream.cancel();
    expect(await ended).toMatchObject({ end: 'client_left', completed: false, partial: { inputTokens: 2 } });
  });
});

describe('a transform', () => {
  test('changes an event, leaves one out, and passes the others byte for byte', async () => {
    const { body, send, close } = scripted();
    const transform: MeterOptions['transform'] = (given, reading) => {
      if (given.data.includes('drop')) return null;
      return given.data.includes('usage')
        ? { ...given, data: JSON.stringify({ seen: reading.usage()?.inputTokens }) }
        : given;
    };
    const { stream, outcomes } = meter(body, { transform });
    const odd = ': comment\r\n\r\nid: 4\r\nevent:x\r\ndata:{"a":1,\r\ndata:"b": "wörld"}\r\n\r\n';
    const all = encoder.encode(`${odd}${delta('drop me')}${USAGE}${DONE}`);
    // Cut at difficult places: within characters, line ends and events.
    const pieces = Array.from({ length: Math.ceil(all.length / 7) }, (_, index) => all.slice(index * 7, index * 7 + 7));
    send(...pieces);
    close();
    expect(await text(stream)).toBe(`${odd}${event({ seen: 7 })}${DONE}`);
    expect(outcomes).toMatchObject([{ end: 'completed', usage: figures }]);
  });

  test('that leaves an event out keeps the line end before it, even if the network cut that in two', async () => {
    const { body, send, close } = scripted();
    const { stream } = meter(body, { transform: (given) => (given.data === 'drop' ? null : given) });
    send('data: a\r\n\r', '\ndata: drop\r\n\r\n', 'data: b\r\n\r\n');
    close();
    expect(await text(stream)).toBe('data: a\r\n\r\ndata: b\r\n\r\n');
  });

  test('under way when the caller leaves: its events are read before the end', async () => {
    const { body, send, close } = scripted();
    const slow = () => new Promise((resolve) => setTimeout(resolve, 30));
    const { stream, ended } = meter(body, { transform: (given) => slow().then(() => given) });
    const reader = stream.getReader();
    send(delta('a') + USAGE, DONE);
    close();
    const waiting = reader.read();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await reader.cancel();
    await waiting;
    expect(await ended).toMatchObject({ end: 'client_left', completed: true, usage: figures });
  });

  test('may be slow and keeps the order', async () => {
    const { body, send, close } = scripted();
    const transform: MeterOptions['transform'] = async (given) => {
      await new Promise((resolve) => setTimeout(resolve, given.data.includes('slow') ? 20 : 0));
      return given;
    };
    const { stream } = meter(body, { transform });
    send(delta('slow') + delta('b'), delta('c', 'stop'), USAGE + DONE);
    close();
    expect(await text(stream)).toBe(delta('slow') + delta('b') + delta('c', 'stop') + USAGE + DONE);
  });

  test('that throws lets the event pass', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const { body, send, close } = scripted();
    const transform = () => {
      throw new Error('no');
    };
    const { stream, outcomes } = meter(body, { transform });
    send(USAGE, DONE);
    close();
    expect(await text(stream)).toBe(USAGE + DONE);
    expect(outcomes).toMatchObject([{ end: 'completed', usage: figures }]);
    logged.mockRestore();
  });

  test('does not run after the caller has left, and the usage is still read', async () => {
    const { body, send, close } = scripted();
    const transform = vi.fn<NonNullable<MeterOptions['transform']>>((given) => given);
    const { stream, ended } = meter(body, { transform });
    await stream.cancel();
    send(delta('a', 'stop'), USAGE, DONE);
    close();
    expect(await ended).toMatchObject({ end: 'client_left', completed: true, usage: figures });
    expect(transform).not.toHaveBeenCalled();
  });

  test('does not change a stream without events', async () => {
    const { body, send, close } = scripted();
    const { stream, outcomes } = meter(body, { transform: () => null });
    const array = '[{"usageMetadata":{"promptTokenCount":3}}\n,\r\n{"candidates":[{"finishReason":"STOP"}]}]\n';
    send(array);
    close();
    expect(await text(stream)).toBe(array);
    expect(outcomes).toMatchObject([{ end: 'completed', usage: { inputTokens: 3 } }]);
  });
});

describe('a caller that is there and does not read', () => {
  /** A stream from which one event was read, and the unread time in each question. */
  async function unread(isOver: (unreadMs: number) => boolean) {
    const { body, state, send } = scripted();
    const asked: number[] = [];
    const judged = async (unreadMs: number) => {
      asked.push(unreadMs);
      return isOver(unreadMs);
    };
    const metered = meter(body, { unread: { everyMs: 10, isOver: judged } });
    const reader = metered.stream.getReader();
    send(delta('one two three'), delta(' four'));
    await reader.read();
    return { ...metered, reader, asked, state };
  }

  test('is stopped, once its time is over, with what was used', async () => {
    const { ended, reader, asked, state } = await unread((unreadMs) => unreadMs >= 30);
    expect(await ended).toMatchObject({ end: 'unread', completed: false, usage: null, outputTokens: 5 });
    expect(asked.at(-1)).toBeGreaterThanOrEqual(30);
    expect(asked.slice(0, -1).every((unreadMs) => unreadMs < 30)).toBe(true);
    expect(state.cancelled).toBe(true);
    await expect(reader.read()).rejects.toThrow('broke off');
  });

  test('is not stopped while it reads, or if nobody can say that it should be', async () => {
    const { outcomes, reader, asked } = await unread(() => {
      throw new Error('the object is away');
    });
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(2));
    expect((await reader.read()).done).toBe(false);
    const waiting = reader.read();
    const before = asked.length;
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect([asked.length, outcomes]).toEqual([before, []]);
    await reader.cancel();
    await waiting;
  });
});
