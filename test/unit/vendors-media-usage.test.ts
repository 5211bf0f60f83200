/**
 * The usage of OpenAI's streams of images, speech and transcriptions is read as it passes; an answer that passes as it
 * comes tells whether it is whole.
 */
import { describe, expect, test } from 'vitest';
import type { ByteSource } from '../../src/vendors/byte-source.ts';
import { PassedBody } from '../../src/vendors/passed-body.ts';
import { requestVendor } from '../../src/vendors/request.ts';
import { StreamUsage } from '../../src/vendors/usage.ts';

const encoder = new TextEncoder();

function reading(...events: object[]): StreamUsage {
  const usage = new StreamUsage();
  for (const event of events) usage.push(`data: ${JSON.stringify(event)}\n\n`);
  usage.end();
  return usage;
}

describe('a stream', () => {
  test('of several images has the sum of their usage, and is whole with the first, but may go on', () => {
    const image = (input: number, output: number) => ({
      type: 'image_generation.completed',
      b64_json: 'AAAA',
      usage: { input_tokens: input, input_tokens_details: { text_tokens: input }, output_tokens: output },
    });
    const usage = reading({ type: 'image_generation.partial_image', b64_json: 'AA' }, image(10, 200), image(0, 300));
    expect(usage.usage()).toMatchObject({ inputTokens: 10, responseTokens: 500, imageOutputTokens: 500 });
    expect([usage.finished, usage.completed, usage.truncated]).toEqual([true, false, false]);
    const torn = reading({ type: 'image_edit.partial_image', b64_json: 'AA' });
    expect([torn.finished, torn.truncated, torn.usage()]).toEqual([false, true, null]);
  });

  test('of a transcription reports tokens, or seconds', () => {
    const done = (usage: object) => ({ type: 'transcript.text.done', text: 'hi', usage });
    const tokens = { type: 'tokens', input_tokens: 20, input_token_details: { audio_tokens: 15 }, output_tokens: 3 };
    const byTokens = reading({ type: 'transcript.text.delta', delta: 'hi' }, done(tokens));
    expect(byTokens.usage()).toMatchObject({ inputTokens: 20, audioInputTokens: 15, responseTokens: 3 });
    expect(byTokens.completed).toBe(true);
    expect(reading(done({ type: 'duration', seconds: 7 })).usage()).toMatchObject({ audioSeconds: 7, inputTokens: 0 });
  });

  test('of speech has audio as its output', () => {
    const usage = { input_tokens: 5, output_tokens: 80, total_tokens: 85 };
    const spoken = reading({ type: 'speech.audio.delta', audio: 'AA' }, { type: 'speech.audio.done', usage });
    expect(spoken.usage()).toMatchObject({ inputTokens: 5, responseTokens: 80, audioOutputTokens: 80 });
    const odd = reading({ type: 'speech.audio.done', usage: { input_tokens: -1, output_tokens: 80 } });
    expect(odd.usage()).toMatchObject({ audioOutputTokens: 80, unclear: ['inputTokens'] });
    const oddSound = reading({ type: 'speech.audio.done', usage: { input_tokens: 5, output_tokens: 'x' } });
    expect(oddSound.usage()).toMatchObject({ inputTokens: 5, unclear: ['audioOutputTokens', 'responseTokens'] });
  });
});

describe('an answer that passes as it comes', () => {
  const body = (headers: Record<string, string>, ...chunks: string[]) => {
    const passed = new PassedBody(new Headers(headers), /json/.test(headers['content-type'] ?? ''));
    for (const chunk of chunks) passed.push(encoder.encode(chunk));
    return passed;
  };
  const JSON_TYPE = { 'content-type': 'application/json' };

  test('of JSON is whole when its JSON is, and reports its usage', () => {
    const answer = '{"data":[{"b64_json":"AAAA"}],"usage":{"input_tokens":1,"output_tokens":2}}';
    const cut = body(JSON_TYPE, answer.slice(0, 40));
    cut.end();
    expect([cut.completed, cut.finished, cut.truncated, cut.usage()]).toEqual([false, false, true, null]);
    expect(body(JSON_TYPE, answer.slice(0, 40), answer.slice(40)).usage()).toMatchObject({ imageOutputTokens: 2 });
  });

  test('of anything else is whole at its declared length, or when it ends', () => {
    const audio = { 'content-type': 'audio/mpeg' };
    const declared = body({ ...audio, 'content-length': '4' }, 'ab');
    expect(declared.completed).toBe(false);
    declared.push(encoder.encode('cd'));
    expect(declared.completed).toBe(true);
    const open = body(audio, 'ab');
    expect([open.completed, open.finished]).toEqual([false, false]);
    open.end();
    expect([open.completed, open.finished]).toEqual([false, true]);
  });

  test('holds no more than a bound of JSON, and knows its usage whatever else is in it', () => {
    const many = `{"data":[${Array.from({ length: 300_000 }, (_, at) => at).join(',')}]`;
    const passed = body(JSON_TYPE, many, ',"usage":{"input_tokens":1,"output_tokens":2}}');
    expect([passed.usage()?.responseTokens, JSON.stringify(passed.document).length]).toEqual([2, 56]);
  });
});

/** All text of a source. */
async function readText(source: ByteSource): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for (let part = await source.read(); !part.done; part = await source.read())
    text += decoder.decode(part.value, { stream: true });
  return text;
}

describe('an answer that may be large', () => {
  const ask = (response: Response) =>
    requestVendor(
      { url: 'https://vendor.example.com', method: 'POST', headers: {}, timeoutMs: 10_000, responseType: 'passed' },
      async () => response,
    );

  test('is text up to the bound, and a stream of all its bytes above it', async () => {
    const small = await ask(new Response('{"a":1}'));
    expect(small).toMatchObject({ kind: 'answer', body: '{"a":1}' });
    const text = `{"a":"${'é'.repeat(6 * 1024 * 1024)}"}`;
    const large = await ask(new Response(new Blob([text]).stream()));
    if (large.kind !== 'passing') throw new Error('a large answer passes while it arrives');
    expect(large.content).toBe('json');
    expect((await readText(large.body)) === text).toBe(true);
    expect(await ask(new Response('{"error":{}}', { status: 500 }))).toMatchObject({ kind: 'answer', ok: false });
  });
});
