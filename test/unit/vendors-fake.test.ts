/**
 * The vendors on loopback behave like the real ones: the official SDKs understand every form and find the usage.
 */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI, { APIError, RateLimitError, toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readUsage, StreamUsage } from '../../src/vendors/usage.ts';
import { type FakeVendor, startVendor, tokensOf } from '../vendors/vendor.ts';

let vendor: FakeVendor;
let openai: OpenAI;
let anthropic: Anthropic;
let google: GoogleGenAI;
beforeAll(async () => {
  vendor = await startVendor();
  openai = new OpenAI({ apiKey: 'sk-test', baseURL: `${vendor.url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'sk-ant-test', baseURL: vendor.url, maxRetries: 0 });
  google = new GoogleGenAI({ apiKey: 'AIza-test', httpOptions: { baseUrl: vendor.url } });
});
afterAll(() => vendor.close());

const PROMPT = 'say hello [reply:6] [reasoning:4] [cached:2] [written:1] [searches:3]';
const REPLY = 'héllo 世界 👋🏽 wörld héllo 世界';
/** The usage of PROMPT that each form must state, if it can. */
const USED = {
  inputTokens: tokensOf(PROMPT),
  cachedInputTokens: 2,
  cacheWriteInputTokens: 1,
  responseTokens: 10,
  reasoningTokens: 4,
};
const user = [{ role: 'user' as const, content: PROMPT }];

/** The usage in a stream's events, as they stood on the wire. */
async function usageOf(path: string, body: object, headers: Record<string, string>): Promise<StreamUsage> {
  const response = await fetch(`${vendor.url}${path}`, { method: 'POST', body: JSON.stringify(body), headers });
  const usage = new StreamUsage();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) usage.push(chunk);
  usage.end();
  return usage;
}
const bearer = { authorization: 'Bearer sk-test', 'content-type': 'application/json' };

describe('OpenAI', () => {
  test('chat, whole', async () => {
    const answer = await openai.chat.completions.create({ model: 'gpt-5.2', messages: user });
    expect(answer.choices[0]?.message.content).toBe(REPLY);
    expect(answer.usage?.total_tokens).toBe(USED.inputTokens + USED.responseTokens);
    expect(readUsage(answer)).toEqual({ modelUsed: 'gpt-5.2', providerUsed: 'openai', ...USED });
  });

  test('chat, streamed, with usage only if it is asked for', async () => {
    const request = { model: 'gpt-5.2', messages: user, stream: true as const };
    const silent = await Array.fromAsync(await openai.chat.completions.create(request));
    expect(silent.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(REPLY);
    expect(silent.filter((chunk) => chunk.usage)).toEqual([]);
    const asked = await Array.fromAsync(
      await openai.chat.completions.create({ ...request, stream_options: { include_usage: true } }),
    );
    expect(asked.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 10 } });
    const usage = await usageOf(
      '/v1/chat/completions',
      { ...request, stream_options: { include_usage: true } },
      bearer,
    );
    expect(usage.usage()).toEqual({ modelUsed: 'gpt-5.2', providerUsed: 'openai', ...USED });
    expect(usage.completed).toBe(true);
  });

  test('tools and structured output', async () => {
    const tools = [
      { type: 'function' as const, function: { name: 'weather', parameters: { type: 'object', properties: {} } } },
    ];
    const called = await openai.chat.completions.create({
      model: 'gpt-5.2',
      messages: [{ role: 'user', content: '[tool]' }],
      tools,
    });
    expect(called.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'weather' } }] },
    });
    const stream = openai.chat.completions.stream({
      model: 'gpt-5.2',
      messages: [{ role: 'user', content: '[tool]' }],
      tools,
    });
    expect((await stream.finalChatCompletion()).choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { arguments: '{"city":"Paris"}' },
    });
    const schema = { name: 'a', schema: { type: 'object' } };
    const json = await openai.chat.completions.parse({
      model: 'gpt-5.2',
      messages: user,
      response_format: { type: 'json_schema', json_schema: schema },
    });
    expect(JSON.parse(json.choices[0]?.message.content ?? '')).toEqual({ answer: '42' });
  });

  test('responses, whole and streamed', async () => {
    const request = { model: 'gpt-5.2', input: PROMPT, reasoning: { effort: 'low' as const } };
    const answer = await openai.responses.create(request);
    expect(answer.output_text).toBe(REPLY);
    const expected = { modelUsed: 'gpt-5.2', providerUsed: 'openai', ...USED, searches: 3, reasoningEffort: 'low' };
    expect(readUsage(answer)).toEqual(expected);
    const final = await openai.responses.stream(request).finalResponse();
    expect(final.output_text).toBe(REPLY);
    const usage = await usageOf('/v1/responses', { ...request, stream: true }, bearer);
    expect(usage.usage()).toEqual(expected);
    expect(usage.completed).toBe(true);
  });

  test('embeddings and models', async () => {
    const answer = await openai.embeddings.create({
      model: 'text-embedding-3-small',
      input: ['one two', 'three'],
      encoding_format: 'float',
    });
    expect(answer.data).toHaveLength(2);
    expect(readUsage(answer)).toMatchObject({ inputTokens: 3, responseTokens: 0, providerUsed: 'openai' });
    expect((await Array.fromAsync(openai.models.list())).map(({ id }) => id)).toContain('gpt-5.2');
    expect((await openai.models.retrieve('gpt-5.2')).id).toBe('gpt-5.2');
  });

  test('a batch: uploaded, created, polled until it is done, read line by line', async () => {
    const line = (id: string, content: string) =>
      JSON.stringify({
        custom_id: id,
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model: 'gpt-5.2', messages: [{ role: 'user', content }] },
      });
    const content = `${line('a', 'one')}\n${line('b', 'one two [fail:400]')}\n`;
    const file = await openai.files.create({ file: await toFile(Buffer.from(content), 'in.jsonl'), purpose: 'batch' });
    expect(file).toMatchObject({ filename: 'in.jsonl', purpose: 'batch', bytes: Buffer.byteLength(content) });
    const batch = await openai.batches.create({
      input_file_id: file.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    const seen = [batch.status];
    let done = batch;
    for (let poll = 0; poll < 5 && done.status !== 'completed'; poll += 1) {
      done = await openai.batches.retrieve(batch.id);
      seen.push(done.status);
    }
    expect(seen).toEqual(['validating', 'in_progress', 'completed']);
    const output = await (await openai.files.content(done.output_file_id ?? '')).text();
    const lines = output
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text));
    expect(lines.map((entry) => [entry.custom_id, entry.response.status_code])).toEqual([
      ['a', 200],
      ['b', 400],
    ]);
    expect(readUsage(lines[0].response.body)).toMatchObject({ inputTokens: 1, responseTokens: 4 });
  });

  test('errors are those of the SDK', async () => {
    const ask = (content: string) =>
      openai.chat.completions.create({ model: 'gpt-5.2', messages: [{ role: 'user', content }] });
    await expect(ask('[fail:429]')).rejects.toThrow(RateLimitError);
    await expect(ask('[fail:500]')).rejects.toMatchObject({ status: 500, type: 'server_error' });
    const stream = await openai.chat.completions.create({
      model: 'gpt-5.2',
      messages: [{ role: 'user', content: '[fail:stream-error]' }],
      stream: true,
    });
    await expect(Array.fromAsync(stream)).rejects.toThrow(APIError);
  });
});

describe('Anthropic', () => {
  const request = { model: 'claude-sonnet-5', max_tokens: 100, messages: user };

  test('messages, whole and streamed', async () => {
    const answer = await anthropic.messages.create(request);
    expect(answer.content).toMatchObject([{ type: 'text', text: REPLY }]);
    expect(answer.usage.input_tokens).toBe(USED.inputTokens - 3);
    const expected = {
      modelUsed: 'claude-sonnet-5',
      providerUsed: 'anthropic',
      ...USED,
      searches: 3,
      serviceTier: 'standard',
    };
    expect(readUsage(answer)).toEqual(expected);
    const final = await anthropic.messages.stream(request).finalMessage();
    expect(final.content).toMatchObject([{ type: 'text', text: REPLY }]);
    expect(readUsage(final)).toEqual(expected);
    const usage = await usageOf('/v1/messages', { ...request, stream: true }, { 'x-api-key': 'k' });
    expect(usage.usage()).toEqual(expected);
    expect(usage.completed).toBe(true);
  });

  test('an error inside the stream is an error of the SDK', async () => {
    const failing = anthropic.messages.stream({
      ...request,
      messages: [{ role: 'user', content: '[fail:stream-error]' }],
    });
    await expect(failing.finalMessage()).rejects.toThrow(/overloaded/);
  });

  test('the OpenAI-compatible endpoint', async () => {
    const compatible = new OpenAI({ apiKey: 'sk-ant-test', baseURL: `${vendor.url}/v1`, maxRetries: 0 });
    const answer = await compatible.chat.completions.create({ model: 'claude-sonnet-5', messages: user });
    expect(readUsage(answer)).toMatchObject({
      providerUsed: 'anthropic',
      modelUsed: 'claude-sonnet-5',
      inputTokens: USED.inputTokens,
    });
  });
});

describe('Google', () => {
  const request = { model: 'gemini-3.5-flash', contents: PROMPT };
  const expected = {
    modelUsed: 'gemini-3.5-flash',
    providerUsed: 'google',
    ...USED,
    cacheWriteInputTokens: 0,
    searches: 3,
  };

  test('generateContent, whole and streamed', async () => {
    const answer = await google.models.generateContent(request);
    expect(answer.text).toBe(REPLY);
    expect(answer.usageMetadata).toMatchObject({ candidatesTokenCount: 6, thoughtsTokenCount: 4 });
    expect(readUsage(answer)).toEqual(expected);
    const chunks = await Array.fromAsync(await google.models.generateContentStream(request));
    expect(chunks.map(({ text }) => text ?? '').join('')).toBe(REPLY);
    const body = { contents: [{ parts: [{ text: PROMPT }] }] };
    const path = '/v1beta/models/gemini-3.5-flash:streamGenerateContent';
    for (const form of [`${path}?alt=sse`, path]) {
      const usage = await usageOf(form, body, { 'x-goog-api-key': 'k' });
      expect(usage.usage(), form).toEqual(expected);
      expect(usage.completed).toBe(true);
    }
  });

  test('the OpenAI-compatible endpoint, which counts thoughts only in the total', async () => {
    const compatible = new OpenAI({ apiKey: 'k', baseURL: `${vendor.url}/v1beta/openai`, maxRetries: 0 });
    const answer = await compatible.chat.completions.create({ model: 'gemini-3.5-flash', messages: user });
    expect(answer.usage).toMatchObject({ completion_tokens: 6, total_tokens: USED.inputTokens + 10 });
    expect(readUsage(answer)).toMatchObject({ providerUsed: 'google', responseTokens: 10, reasoningTokens: 4 });
  });
});

test('requests are recorded, and those without a key are refused', async () => {
  const before = vendor.requests.length;
  expect((await fetch(`${vendor.url}/v1/models?x=1`)).status).toBe(401);
  expect(vendor.requests[before]).toMatchObject({ method: 'GET', path: '/v1/models?x=1', abandoned: false });
});

test('a fault can be set for the next request only', async () => {
  vendor.fail('503');
  const ask = () => fetch(`${vendor.url}/v1/models`, { headers: bearer });
  const [first, second] = [await ask(), await ask()];
  expect([first.status, first.headers.get('retry-after'), second.status]).toEqual([503, '1', 200]);
});
