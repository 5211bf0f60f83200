/**
 * The vendors' official SDKs, wrapped: each request is one call with the vendor's own figures, and the SDK behaves the
 * same as without the wrapper.
 */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI, { APIPromise } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type MeterEach, modelByTier, wrapFetch, wrapOpenAI } from '../../src/client/vendors.ts';
import { chat, MeteredSdks, NOTHING, openaiUsed, PROMPT, REPLY, USED, until, user } from '../support/metered-sdks.ts';

const TIERS = { premium: 'gpt-5.2', standard: 'gpt-4.1-mini' };

let sdks: MeteredSdks;
beforeAll(async () => {
  sdks = await MeteredSdks.start();
});
afterAll(() => sdks.stop());
beforeEach(() => sdks.reset());

describe('OpenAI', () => {
  test('a chat begins a call and ends it with its usage before the response is returned', async () => {
    const answer = await sdks
      .openai({ feature: 'chat', tags: ['a'], customerUserId: 'u1' })
      .chat.completions.create(chat);
    expect(answer.choices[0]?.message.content).toBe(REPLY);
    expect(sdks.begins()).toEqual([{ customerId: 'alice', feature: 'chat', tags: ['a'], customerUserId: 'u1' }]);
    expect(sdks.ends()).toEqual([openaiUsed]);
    expect(sdks.vendor.requests[0]?.body).toEqual(chat);
  });

  test('a streamed chat requests the usage and hides the chunk that contains it', async () => {
    const chunks = await Array.fromAsync(await sdks.openai().chat.completions.create({ ...chat, stream: true }));
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(REPLY);
    expect(chunks.filter(({ choices, usage }) => choices.length === 0 || usage)).toEqual([]);
    expect(sdks.vendor.requests[0]?.body.stream_options).toEqual({ include_usage: true });
    expect(sdks.ends()).toEqual([openaiUsed]);
  });

  test('a caller who requested that chunk gets it', async () => {
    const request = { ...chat, stream: true as const, stream_options: { include_usage: true } };
    expect((await Array.fromAsync(await sdks.openai().chat.completions.create(request))).at(-1)).toMatchObject({
      choices: [],
      usage: {},
    });
    expect(sdks.ends()).toEqual([openaiUsed]);
  });

  test('usage in a chunk with choices is passed on and counted', async () => {
    const request = { model: 'gpt-5.2', messages: user(`${PROMPT} [fail:usage-in-choices]`), stream: true as const };
    const chunks = await Array.fromAsync(await sdks.openai().chat.completions.create(request));
    expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: { completion_tokens: 10 } });
    expect(sdks.ends()).toMatchObject([{ responseTokens: 10 }]);
  });

  test('a figure that makes no sense is not reported, and the others are', async () => {
    await sdks.openai().chat.completions.create({ ...chat, messages: user(`${PROMPT} [reasoning:5000000000]`) });
    const [end] = sdks.ends();
    expect(end).toMatchObject({ modelUsed: 'gpt-5.2', inputTokens: expect.any(Number) });
    expect(Number((end as { inputTokens?: number }).inputTokens)).toBeGreaterThan(0);
    expect(end).not.toHaveProperty('unclear');
    // The server accepted it: its fields are those of an end.
    expect(sdks.ends()).toHaveLength(1);
  });

  test('helpers of the SDK work: stream, parse, withResponse, asResponse', async () => {
    const openai = sdks.openai();
    expect(openai).toBeInstanceOf(OpenAI);
    const stream = openai.chat.completions.stream(chat);
    expect(await stream.finalContent()).toBe(REPLY);
    const format = { type: 'json_schema' as const, json_schema: { name: 'a', schema: { type: 'object' } } };
    const parsed = await openai.chat.completions.parse({ ...chat, response_format: format });
    expect(JSON.parse(parsed.choices[0]?.message.content ?? '')).toEqual({ answer: '42' });
    const promise = openai.chat.completions.create(chat);
    expect(promise).toBeInstanceOf(APIPromise);
    const { data, response, request_id } = await promise.withResponse();
    expect([data.model, response.status, response.url, request_id]).toEqual([
      'gpt-5.2',
      200,
      `${sdks.vendor.url}/v1/chat/completions`,
      'req_fake',
    ]);
    expect(await (await openai.chat.completions.create(chat).asResponse()).json()).toMatchObject({
      object: 'chat.completion',
    });
    expect(sdks.ends().map((end) => 'responseTokens' in end && end.responseTokens)).toEqual([10, 5, 10, 10]);
  });

  test('a tool runner makes as many calls as requests', async () => {
    const calls: string[] = [];
    const weather = (input: string) => `${calls.push(input)} degrees`;
    const tool = {
      type: 'function' as const,
      function: { name: 'weather', description: '', parameters: { type: 'object' }, function: weather },
    };
    const runner = sdks
      .openai()
      .chat.completions.runTools(
        { model: 'gpt-5.2', messages: user('[tool]'), tools: [tool] },
        { maxChatCompletions: 2 },
      );
    await runner.done();
    expect(sdks.vendor.requests).toHaveLength(2);
    expect(calls).toHaveLength(2);
    expect([sdks.begins().length, sdks.ends().length]).toEqual([2, 2]);
  });

  test('responses, plain and streamed, with searches and effort', async () => {
    const openai = sdks.openai();
    const request = { model: 'gpt-5.2', input: PROMPT, reasoning: { effort: 'low' as const } };
    const used = { ...openaiUsed, searches: 3, reasoningEffort: 'low', reasoningEffortSource: 'provider_response' };
    expect((await openai.responses.create(request)).output_text).toBe(REPLY);
    expect((await openai.responses.stream(request).finalResponse()).output_text).toBe(REPLY);
    await Array.fromAsync(await openai.responses.create({ ...request, stream: true }));
    expect(sdks.ends()).toEqual([used, used, used]);
    expect(sdks.vendor.requests[2]?.body).toEqual({ ...request, stream: true });
  });

  test('embeddings are metered, and requests that run no model are not', async () => {
    const openai = sdks.openai();
    await openai.embeddings.create({ model: 'text-embedding-3-small', input: ['one two', 'three'] });
    expect(sdks.ends()).toMatchObject([{ modelUsed: 'text-embedding-3-small', inputTokens: 3, responseTokens: 0 }]);
    expect(await Array.fromAsync(openai.models.list())).toHaveLength(2);
    await expect(openai.files.retrieve('none')).rejects.toMatchObject({ status: 404 });
    expect(sdks.server.seen).toHaveLength(2);
  });

  test('the requested effort is reported if the response has none', async () => {
    await sdks.openai().chat.completions.create({ ...chat, reasoning_effort: 'high' });
    expect(sdks.ends()).toMatchObject([{ reasoningEffort: 'high', reasoningEffortSource: 'provider_request' }]);
  });

  test('the original client is unchanged, and a copy of the wrapped client is wrapped', async () => {
    const own = sdks.plainOpenai;
    const openai = wrapOpenAI(own, { callmeter: sdks.callmeter, customerId: 'alice' });
    await own.chat.completions.create(chat);
    expect(sdks.server.seen).toEqual([]);
    await openai.withOptions({ timeout: 5_000 }).withOptions({ maxRetries: 1 }).chat.completions.create(chat);
    expect([sdks.begins().length, sdks.ends().length]).toEqual([1, 1]);
  });

  test('the fetch of the caller is used', async () => {
    const seen: string[] = [];
    const fetch: typeof globalThis.fetch = (input, init) => {
      seen.push(String(input));
      return globalThis.fetch(input, init);
    };
    const own = sdks.plainOpenai.withOptions({ fetch });
    const openai = wrapOpenAI(own, { callmeter: sdks.callmeter, customerId: 'alice' });
    await openai.chat.completions.create(chat);
    await openai.withOptions({ fetch }).models.list();
    expect(seen).toEqual([`${sdks.vendor.url}/v1/chat/completions`, `${sdks.vendor.url}/v1/models`]);
    expect(sdks.ends()).toHaveLength(1);
  });
});

describe('Anthropic', () => {
  const message = { model: 'claude-sonnet-4-5', max_tokens: 100, messages: user(PROMPT) };
  const used = {
    modelUsed: 'claude-sonnet-4-5',
    providerUsed: 'anthropic',
    ...USED,
    searches: 3,
    serviceTier: 'standard',
  };

  test('messages, plain, streamed, by its helper and in beta', async () => {
    const anthropic = sdks.anthropic();
    expect(anthropic).toBeInstanceOf(Anthropic);
    expect((await anthropic.messages.create(message)).content).toMatchObject([{ text: REPLY }]);
    const events = await Array.fromAsync(await anthropic.messages.create({ ...message, stream: true }));
    expect(events.at(-1)?.type).toBe('message_stop');
    expect(await anthropic.messages.stream(message).finalText()).toBe(REPLY);
    expect((await anthropic.beta.messages.create(message)).content).toMatchObject([{ text: REPLY }]);
    const { data, request_id } = await anthropic.messages.create(message).withResponse();
    expect([data.model, request_id]).toEqual(['claude-sonnet-4-5', null]);
    expect(sdks.ends()).toEqual([used, used, used, used, used]);
    expect(sdks.vendor.requests.map(({ body }) => body.stream_options)).toEqual(Array(5).fill(undefined));
  });

  test('a stream that the caller stops reading still reports its usage', async () => {
    for await (const event of await sdks.anthropic().messages.create({ ...message, stream: true }))
      if (event.type === 'content_block_delta') break;
    await until(() => sdks.ends().length === 1);
    expect(sdks.ends()).toEqual([used]);
    expect(sdks.vendor.requests[0]?.abandoned).toBe(false);
  });
});

describe('Google', () => {
  const request = { model: 'gemini-2.5-pro', contents: PROMPT };
  // The model is one that Google bills a search once for each grounded prompt.
  const used = { modelUsed: 'gemini-2.5-pro', providerUsed: 'google', ...USED, cacheWriteInputTokens: 0, searches: 1 };

  test('content, plain, streamed and in a chat', async () => {
    const google = sdks.google();
    expect(google).toBeInstanceOf(GoogleGenAI);
    expect((await google.models.generateContent(request)).text).toBe(REPLY);
    const chunks = await Array.fromAsync(await google.models.generateContentStream(request));
    expect(chunks.map(({ text }) => text).join('')).toBe(REPLY);
    const talk = google.chats.create({ model: 'gemini-2.5-pro' });
    expect((await talk.sendMessage({ message: PROMPT })).text).toBe(REPLY);
    expect(await Array.fromAsync(await talk.sendMessageStream({ message: 'and now' }))).not.toEqual([]);
    expect(talk.getHistory()[0]).toEqual({ role: 'user', parts: [{ text: PROMPT }] });
    expect(sdks.ends().slice(0, 3)).toEqual([used, used, used]);
    expect([sdks.begins().length, sdks.ends().length]).toEqual([4, 4]);
  });

  /** Answers each function call, and lets the test do something before the next request. */
  const callable = (between: () => void) => ({
    tool: async () => ({ functionDeclarations: [{ name: 'weather', parametersJsonSchema: { type: 'object' } }] }),
    callTool: async () => {
      between();
      return [{ functionResponse: { name: 'weather', response: {} } }];
    },
  });
  const open = { model: modelByTier({ premium: 'gemini-2.5-pro', standard: 'gemini-2.5-flash' }), contents: '[tool]' };

  test('each request of an automatic function call is a call and runs on the tier that is still allowed', async () => {
    sdks.allowed = { ...NOTHING, premium: true };
    const tool = callable(() => {
      sdks.allowed = { ...NOTHING, standard: true };
    });
    const config = { tools: [tool], automaticFunctionCalling: { maximumRemoteCalls: 2 } };
    await sdks.google().models.generateContent({ ...open, config });
    expect(sdks.sentModels()).toEqual(['gemini-2.5-pro', 'gemini-2.5-flash']);
    await Array.fromAsync(await sdks.google().models.generateContentStream({ ...open, config }));
    expect(sdks.ends()).toHaveLength(sdks.vendor.requests.length);
    expect(sdks.begins()).toHaveLength(sdks.vendor.requests.length);
  });

  test('a denial during an automatic function call ends it, and the vendor is not called again', async () => {
    const tool = callable(() => {
      sdks.allowed = NOTHING;
    });
    const asking = sdks.google().models.generateContent({ ...open, config: { tools: [tool] } });
    await expect(asking).rejects.toMatchObject({ name: 'CallDeniedError' });
    expect([sdks.vendor.requests.length, sdks.begins().length, sdks.ends().length]).toEqual([1, 2, 1]);
  });

  test('a stream that the caller stops reading still reports its usage', async () => {
    for await (const _chunk of await sdks.google().models.generateContentStream(request)) break;
    await until(() => sdks.ends().length === 1);
    expect(sdks.ends()).toEqual([used]);
  });

  test('retries of the SDK are one call, which fails if the last one fails', async () => {
    const retryOptions = { attempts: 3, initialDelay: 0.001, maxDelay: 0.001 };
    sdks.vendor.fail('503', '429');
    await sdks.google().models.generateContent({ ...request, config: { httpOptions: { retryOptions } } });
    expect([sdks.begins().length, sdks.ends()]).toEqual([1, [used]]);
    sdks.vendor.fail('503', '503', '503');
    await expect(
      sdks.google().models.generateContent({ ...request, config: { httpOptions: { retryOptions } } }),
    ).rejects.toMatchObject({
      status: 503,
    });
    expect(sdks.ends()).toMatchObject([{}, { modelUsed: 'gemini-2.5-pro', error: { code: 'HTTP_503' } }]);
  });
});

describe('fetch', () => {
  const headers = { authorization: 'Bearer sk-test', 'content-type': 'application/json' };
  const fetching = (more: Partial<MeterEach> = {}) =>
    wrapFetch(fetch, { callmeter: sdks.callmeter, customerId: 'alice', ...more });

  test('what ran beside the model that answered is reported, of all requests of a call', async () => {
    const run = (type: string, model: string) => ({ type, model, input_tokens: 5, output_tokens: 7 });
    const iterations = [run('message', 'claude-fable-5'), run('fallback_message', 'claude-opus-4-8')];
    const usage = { input_tokens: 5, output_tokens: 7, iterations };
    const vendor = async (_url: string | URL | Request, _init?: RequestInit) =>
      Response.json({ type: 'message', model: 'claude-opus-4-8', content: [], stop_reason: 'end_turn', usage });
    const part = expect.objectContaining({ modelUsed: 'claude-fable-5', inputTokens: 5, responseTokens: 7 });
    const ask = (metered: typeof vendor) =>
      metered('https://api.anthropic.com/v1/messages', {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'claude-fable-5', messages: user(PROMPT) }),
      });
    await ask(wrapFetch(vendor, { callmeter: sdks.callmeter, customerId: 'alice' }));
    const [alone] = sdks.ends();
    expect(alone).toMatchObject({ modelUsed: 'claude-opus-4-8', responseTokens: 7, parts: [part] });
    expect(alone).not.toHaveProperty('isFallback');
    await sdks.callmeter.withCall({ customerId: 'alice' }, async (call) => {
      for (let request = 0; request < 2; request += 1) await ask(wrapFetch(vendor, { call }));
    });
    expect(sdks.ends()[1]).toMatchObject({ responseTokens: 14, parts: [part, part] });
  });

  test.each([
    ['OpenAI', '/v1/chat/completions', { model: 'gpt-5.2', messages: user(PROMPT) }, 'gpt-5.2'],
    ['Anthropic', '/v1/messages', { model: 'claude-sonnet-4-5', messages: user(PROMPT) }, 'claude-sonnet-4-5'],
    [
      'Google',
      '/v1beta/models/gemini-2.5-pro:generateContent',
      { contents: [{ parts: [{ text: PROMPT }] }] },
      'gemini-2.5-pro',
    ],
    [
      'Google, as an array',
      '/v1beta/models/gemini-2.5-pro:streamGenerateContent',
      { contents: [{ parts: [{ text: PROMPT }] }] },
      'gemini-2.5-pro',
    ],
  ])('%s', async (_vendor, path, body, modelUsed) => {
    const response = await fetching()(`${sdks.vendor.url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect(response.url).toBe(`${sdks.vendor.url}${path}`);
    expect(await response.json()).toBeTruthy();
    expect(sdks.ends()).toMatchObject([{ modelUsed, inputTokens: USED.inputTokens, responseTokens: 10 }]);
  });

  test('a model by tier is replaced in body and URL, also for a Request and a body of bytes', async () => {
    sdks.allowed = { ...NOTHING, premium: true, standard: true };
    const body = JSON.stringify({ model: modelByTier(TIERS), messages: user('hi') });
    await fetching()(new Request(`${sdks.vendor.url}/v1/chat/completions`, { method: 'POST', headers, body }));
    await fetching()(new URL(`${sdks.vendor.url}/v1/chat/completions`), {
      method: 'post',
      headers,
      body: new TextEncoder().encode(body),
    });
    const gemini = encodeURIComponent(modelByTier({ premium: 'gemini-2.5-pro', standard: 'gemini-2.5-flash' }));
    const contents = JSON.stringify({ contents: 'hi' });
    await fetching()(`${sdks.vendor.url}/v1beta/models/${gemini}:generateContent?a=b`, {
      method: 'POST',
      headers,
      body: contents,
    });
    expect(sdks.sentModels()).toEqual(['gpt-5.2', 'gpt-5.2', 'gemini-2.5-pro']);
    expect(sdks.vendor.requests[2]?.path).toContain('?a=b');
    expect(sdks.ends()).toHaveLength(3);
  });

  test('other requests pass unchanged', async () => {
    expect((await fetching()(`${sdks.vendor.url}/v1/models`, { headers })).status).toBe(200);
    expect(
      (await fetching()(`${sdks.vendor.url}/v1/chat/completions`, { method: 'POST', headers, body: 'no JSON' })).status,
    ).toBe(200);
    expect(
      (
        await fetching()(`${sdks.vendor.url}/v1/threads/t1/messages`, {
          method: 'POST',
          headers,
          body: '{"model":"m"}',
        })
      ).status,
    ).toBe(404);
    expect(sdks.server.seen).toEqual([]);
  });

  test('each failure is a failed call, and the caller gets the response', async () => {
    const response = await fetching()(`${sdks.vendor.url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'gpt-5.2', messages: user('[fail:500]') }),
    });
    expect([response.status, await response.json()]).toMatchObject([500, { error: { type: 'server_error' } }]);
    expect(sdks.ends()).toMatchObject([{ modelUsed: 'gpt-5.2', error: { code: 'HTTP_500' } }]);
  });
});
