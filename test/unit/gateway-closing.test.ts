/**
 * A stream that is stopped ends for the callers' SDKs as at the bound of its output: without an error, with all that was
 * passed, and with the reason in `service`.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { streamText } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chatCompletions } from '../../src/gateway/dialects/chat-completions.ts';
import { completions } from '../../src/gateway/dialects/completions.ts';
import type { Stopped } from '../../src/gateway/dialects/dialect.ts';
import { streamGenerateContent } from '../../src/gateway/dialects/generate-content.ts';
import { messages } from '../../src/gateway/dialects/messages.ts';
import { responses } from '../../src/gateway/dialects/responses.ts';
import { meterStream, type StreamLimit } from '../../src/vendors/tee.ts';
import { TokenCount } from '../../src/vendors/token-count.ts';
import { WrittenTokens } from '../../src/vendors/written-tokens.ts';
import { sentBy } from '../support/metered-stream.ts';
import { type FakeVendor, startVendor } from '../vendors/vendor.ts';

let vendor: FakeVendor;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.close());

const CODE = 'BALANCE_EXHAUSTED';
const NODE_FETCH = globalThis.fetch;
/** The text of the vendor's `[reply:6]`; its first four words are granted. */
const GRANTED = 'héllo 世界 👋🏽 wörld ';
const PROMPT = 'say it [reply:6]';
const MODEL = 'gpt-5.2';

/** The count of a text that comes in these pieces. */
function countTokens(...pieces: string[]): number {
  const count = new TokenCount();
  for (const piece of pieces) count.add(piece);
  return Math.max(count.tokens, pieces.length);
}

/** Stops each stream after so many output tokens, like the gateway. `events` replace those of the vendor. */
function stopping(tokensMax: number, events?: object[]): typeof fetch {
  return async (url, init) => {
    const response = await NODE_FETCH(url, init);
    const request = JSON.parse(String(init?.body));
    const body = events
      ? sentBy(...events.map((event) => `data: ${JSON.stringify(event)}\n\n`))
      : (response.body as unknown as ReadableStream<Uint8Array>);
    const isChat = String(url).endsWith('/chat/completions');
    const closing = closingOf(String(url), request);
    const transform = isChat ? chatCompletions.streamTransform(request, async () => null, true) : undefined;
    if (!closing) throw new Error('the endpoint has streams');
    const limit: StreamLimit = {
      mayContinue: (tokens) => tokens <= tokensMax || Promise.resolve(false),
      passed: closing.passed.bind(closing),
      close: ({ outputTokens }) => closing.close({ code: CODE, usage: usedSoFar(outputTokens) }),
    };
    const bounds = { idleTimeoutMs: 5_000, drainMsMax: 1_000, bytesMax: 1_000 };
    const metered = meterStream(body.getReader(), {
      ...bounds,
      written: new WrittenTokens('compatible', 'model'),
      limit,
      ...(transform && { transform }),
      onEnd: () => undefined,
    });
    return new Response(metered as never, { headers: { 'Content-Type': 'text/event-stream' } });
  };
}

function closingOf(url: string, request: { model: string; messages: unknown[]; contents: unknown[] }) {
  if (url.endsWith('/chat/completions')) return chatCompletions.streamClosing(request);
  if (url.endsWith('/responses')) return responses.streamClosing(request);
  if (url.endsWith('/messages')) return messages.streamClosing(request);
  return streamGenerateContent.streamClosing({ ...request, model: 'gemini-3.8-flash' });
}

function usedSoFar(responseTokens: number): Stopped['usage'] {
  const figures = {
    inputTokens: 20,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    responseTokens,
    reasoningTokens: 0,
  };
  return { figures, source: 'estimated', costUsd: 0.25 };
}

const openai = (tokensMax: number, events?: object[]) =>
  new OpenAI({ apiKey: 'x', baseURL: `${vendor.url}/v1`, fetch: stopping(tokensMax, events), maxRetries: 0 });
const granted = countTokens(GRANTED);
/** The word that was refused came too. */
const came = countTokens(`${GRANTED}héllo `);

describe('chat completions', () => {
  const messages = [{ role: 'user' as const, content: PROMPT }];

  test('end with the reason "length" and with the usage that was asked for', async () => {
    const stream = openai(granted).chat.completions.stream({
      model: MODEL,
      messages,
      stream_options: { include_usage: true },
    });
    const chunks: object[] = [];
    stream.on('chunk', (chunk) => chunks.push(chunk));
    const { id, model, choices, usage } = await stream.finalChatCompletion();
    expect([id, model]).toEqual(['chatcmpl-fake-1', MODEL]);
    expect(choices).toMatchObject([{ index: 0, finish_reason: 'length', message: { content: GRANTED } }]);
    expect(usage).toMatchObject({
      prompt_tokens: 20,
      completion_tokens: came,
      total_tokens: 20 + came,
      cost_usd: 0.25,
    });
    expect(chunks.slice(-2)).toMatchObject([
      { object: 'chat.completion.chunk', choices: [{ finish_reason: 'length' }], service: { code: CODE } },
      { choices: [], service: { usageSource: 'estimated' } },
    ]);
  });

  test('end without a usage that was not asked for', async () => {
    const stream = openai(granted).chat.completions.stream({ model: MODEL, messages });
    const chunks: object[] = [];
    stream.on('chunk', (chunk) => chunks.push(chunk));
    expect((await stream.finalChatCompletion()).choices[0]?.finish_reason).toBe('length');
    expect(chunks.filter((chunk) => 'usage' in chunk && chunk.usage)).toEqual([]);
  });

  test('end every choice that was asked for, and none twice', async () => {
    const chunk = (index: number, delta: object, finish_reason: string | null = null) => ({
      id: 'chatcmpl-9',
      object: 'chat.completion.chunk',
      created: 9,
      model: MODEL,
      choices: [{ index, delta, finish_reason }],
    });
    const events = [
      chunk(0, { role: 'assistant', content: 'a' }),
      chunk(1, { role: 'assistant', content: 'b' }),
      chunk(0, {}, 'stop'),
      chunk(1, { content: 'c' }),
    ];
    const stream = openai(2, events).chat.completions.stream({ model: MODEL, messages, n: 3 });
    expect((await stream.finalChatCompletion()).choices).toMatchObject([
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'a' } },
      { index: 1, finish_reason: 'length', message: { role: 'assistant', content: 'b' } },
      { index: 2, finish_reason: 'length', message: { role: 'assistant', content: '' } },
    ]);
  });

  test('of which nothing was granted end as well', async () => {
    const stream = openai(0).chat.completions.stream({ model: MODEL, messages });
    expect((await stream.finalChatCompletion()).choices).toMatchObject([
      { finish_reason: 'length', message: { content: '' } },
    ]);
  });

  test('in the middle of a tool call end as well', async () => {
    const call = (fields: object) => ({
      id: 'chatcmpl-9',
      object: 'chat.completion.chunk',
      created: 9,
      model: MODEL,
      choices: [{ index: 0, delta: { role: 'assistant', tool_calls: [{ index: 0, ...fields }] }, finish_reason: null }],
    });
    const events = [
      call({ id: 'call_1', type: 'function', function: { name: 'find', arguments: '{"a"' } }),
      call({ function: { arguments: ':1}' } }),
    ];
    const stream = openai(countTokens('find', '{"a"'), events).chat.completions.stream({ model: MODEL, messages });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { tool_calls: [{ id: 'call_1', function: { name: 'find', arguments: '{"a"' } }] },
    });
  });

  test('end for the AI SDK too', async () => {
    const provider = createOpenAICompatible({
      name: 'callmeter',
      baseURL: `${vendor.url}/v1`,
      apiKey: 'x',
      includeUsage: true,
      fetch: stopping(granted),
    });
    const errors: unknown[] = [];
    const result = streamText({
      model: provider(MODEL),
      prompt: PROMPT,
      onError: ({ error }) => void errors.push(error),
    });
    let text = '';
    for await (const part of result.textStream) text += part;
    expect([text, await result.finishReason, errors]).toEqual([GRANTED, 'length', []]);
    expect(await result.usage).toMatchObject({ inputTokens: 20, outputTokens: came });
  });
});

describe('responses', () => {
  /** All events of the stream, and the final response. */
  async function streamed(tokensMax: number, events?: object[]) {
    const stream = openai(tokensMax, events).responses.stream({ model: MODEL, input: PROMPT });
    // biome-ignore lint/suspicious/noExplicitAny: events of all types
    const seen: any[] = [];
    for await (const event of stream) seen.push(event);
    return { seen, final: await stream.finalResponse() };
  }

  test('are incomplete at the bound of their output, with the text that was passed', async () => {
    const { seen, final } = await streamed(granted);
    expect(final).toMatchObject({
      id: 'resp_fake-1',
      model: MODEL,
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output_text: GRANTED,
      output: [{ id: 'msg_1', status: 'incomplete', content: [{ type: 'output_text', text: GRANTED }] }],
      usage: { input_tokens: 20, output_tokens: came, total_tokens: 20 + came },
    });
    expect(seen.slice(-4)).toMatchObject([
      { type: 'response.output_text.done', item_id: 'msg_1', output_index: 0, content_index: 0, text: GRANTED },
      { type: 'response.content_part.done', item_id: 'msg_1', part: { type: 'output_text', text: GRANTED } },
      { type: 'response.output_item.done', item: { id: 'msg_1', status: 'incomplete' } },
      { type: 'response.incomplete', service: { code: CODE, usageSource: 'estimated' } },
    ]);
    expect(seen.map((event) => event.sequence_number)).toEqual(seen.map((_event, index) => index));
  });

  test('of which nothing was granted are incomplete as well', async () => {
    const { final } = await streamed(0);
    expect(final).toMatchObject({ status: 'incomplete', output: [{ content: [{ text: '' }] }] });
  });

  const begun = { id: 'resp_9', object: 'response', created_at: 9, model: MODEL, status: 'in_progress', output: [] };
  const numbered = (events: object[]) => events.map((event, index) => ({ ...event, sequence_number: index }));

  test('close whatever is open, and leave what is done', async () => {
    const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], status: 'in_progress' };
    const done = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' };
    const part = { type: 'output_text', text: 'done', annotations: [], logprobs: [] };
    const call = {
      id: 'fc_1',
      type: 'function_call',
      call_id: 'call_1',
      name: 'find',
      arguments: '',
      status: 'in_progress',
    };
    const inSummary = { item_id: 'rs_1', output_index: 0, summary_index: 0 };
    const inMessage = { item_id: 'msg_1', output_index: 1, content_index: 0 };
    const inCall = { item_id: 'fc_1', output_index: 2 };
    const { seen, final } = await streamed(
      countTokens('why', 'done', 'find', '{"a"'),
      numbered([
        { type: 'response.created', response: begun },
        { type: 'response.output_item.added', output_index: 0, item: reasoning },
        { type: 'response.reasoning_summary_part.added', ...inSummary, part: { type: 'summary_text', text: '' } },
        { type: 'response.reasoning_summary_text.delta', ...inSummary, delta: 'why' },
        { type: 'response.output_item.added', output_index: 1, item: { ...done, status: 'in_progress', content: [] } },
        { type: 'response.content_part.added', ...inMessage, part: { ...part, text: '' } },
        { type: 'response.output_text.delta', ...inMessage, delta: 'done', logprobs: [] },
        { type: 'response.output_text.done', ...inMessage, text: 'done', logprobs: [] },
        { type: 'response.content_part.done', ...inMessage, part },
        { type: 'response.output_item.done', output_index: 1, item: { ...done, content: [part] } },
        { type: 'response.output_item.added', output_index: 2, item: call },
        { type: 'response.function_call_arguments.delta', ...inCall, delta: '{"a"' },
        { type: 'response.function_call_arguments.delta', ...inCall, delta: ':"refused"}' },
      ]),
    );
    expect(seen.slice(12).map(({ type }) => type)).toEqual([
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.incomplete',
    ]);
    expect(seen.at(-3)).toMatchObject({ ...inCall, arguments: '{"a"', name: 'find' });
    expect(final.output).toMatchObject([
      { id: 'rs_1', status: 'incomplete', summary: [{ type: 'summary_text', text: 'why' }] },
      { id: 'msg_1', status: 'completed', content: [{ text: 'done' }] },
      { id: 'fc_1', status: 'incomplete', name: 'find', arguments: '{"a"' },
    ]);
    expect(seen.map((event) => event.sequence_number)).toEqual(seen.map((_event, index) => index));
  });

  test('of a vendor that does not announce parts, with refusals and citations', async () => {
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
    const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const annotation = { type: 'url_citation', url: 'https://example.com', title: 'x', start_index: 0, end_index: 1 };
    const closing = responses.streamClosing({ model: MODEL, input: '' });
    for (const event of [
      { type: 'response.created', response: begun },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_text.delta', ...at, delta: 'ab' },
      { type: 'response.output_text.annotation.added', ...at, annotation_index: 0, annotation },
      { type: 'response.refusal.delta', ...at, content_index: 1, delta: 'no' },
    ])
      closing?.passed(event, JSON.stringify(event));
    const text = closing?.close({ code: CODE, usage: null }) ?? '';
    const last = JSON.parse(text.split('data: ').at(-1) ?? '');
    expect(last).toMatchObject({ service: { code: CODE }, response: { usage: null } });
    expect(last.response.output[0].content).toEqual([
      { type: 'output_text', text: 'ab', annotations: [annotation], logprobs: [] },
      { type: 'refusal', refusal: 'no' },
    ]);
  });

  test('longer than what is kept are closed without their output, which SDKs have themselves', async () => {
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
    const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
    const long = 'x'.repeat(5 * 1024 * 1024);
    const { seen, final } = await streamed(
      long.length,
      numbered([
        { type: 'response.created', response: begun },
        { type: 'response.output_item.added', output_index: 0, item },
        { type: 'response.content_part.added', ...at, part },
        { type: 'response.output_text.delta', ...at, delta: long, logprobs: [] },
        { type: 'response.output_text.delta', ...at, delta: 'refused', logprobs: [] },
      ]),
    );
    expect(seen.at(-2).type).toBe('response.output_text.delta');
    expect([final.status, final.output_text.length]).toEqual(['incomplete', long.length]);
  });
});

describe("a message of Anthropic's", () => {
  const ask = { model: 'claude-sonnet-5-5', max_tokens: 100, messages: [{ role: 'user' as const, content: PROMPT }] };
  const anthropic = (tokensMax: number, events?: object[]) =>
    new Anthropic({ apiKey: 'x', baseURL: vendor.url, fetch: stopping(tokensMax, events), maxRetries: 0 });

  test('ends for the reason max_tokens with what was granted, and says why', async () => {
    const stream = anthropic(granted).messages.stream(ask);
    const events: { type: string; service?: unknown }[] = [];
    stream.on('streamEvent', (event) => events.push(event as never));
    const message = await stream.finalMessage();
    expect(message).toMatchObject({
      stop_reason: 'max_tokens',
      content: [{ type: 'text', text: GRANTED }],
      usage: { output_tokens: came },
    });
    expect(events.slice(-3)).toMatchObject([
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', usage: { cost_usd: 0.25 }, service: { code: CODE, usageSource: 'estimated' } },
      { type: 'message_stop' },
    ]);
  });

  test('of which nothing came is an empty message', async () => {
    const message = await anthropic(-1).messages.stream(ask).finalMessage();
    expect(message).toMatchObject({ stop_reason: 'max_tokens', role: 'assistant' });
  });

  test('that has its reason already gets no second one', async () => {
    const closing = messages.streamClosing(ask);
    closing?.passed({ type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } }, '');
    closing?.passed({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }, '');
    expect(closing?.close({ code: CODE, usage: null })).toBe('event: message_stop\ndata: {"type":"message_stop"}\n\n');
  });
});

describe("content of Google's", () => {
  test('ends for the reason MAX_TOKENS with what was granted, and says why', async () => {
    globalThis.fetch = stopping(granted);
    try {
      const google = new GoogleGenAI({ apiKey: 'x', httpOptions: { baseUrl: vendor.url } });
      const stream = await google.models.generateContentStream({ model: 'gemini-3.8-flash', contents: PROMPT });
      const chunks = [];
      for await (const chunk of stream) chunks.push(chunk);
      expect(chunks.map(({ text = '' }) => text).join('')).toBe(GRANTED);
      expect(chunks.at(-1)).toMatchObject({
        candidates: [{ finishReason: 'MAX_TOKENS', index: 0 }],
        usageMetadata: { promptTokenCount: 20, candidatesTokenCount: came },
      });
    } finally {
      globalThis.fetch = NODE_FETCH;
    }
  });

  test('says why in its last chunk, and closes each candidate that is open', () => {
    const closing = streamGenerateContent.streamClosing({ contents: [], generationConfig: { candidateCount: 2 } });
    closing?.passed({ candidates: [{ index: 1, finishReason: 'STOP' }], responseId: 'r' }, '');
    expect(JSON.parse(closing?.close({ code: CODE, usage: null }).slice('data: '.length) ?? '')).toMatchObject({
      candidates: [{ index: 0, finishReason: 'MAX_TOKENS' }],
      responseId: 'r',
      service: { code: CODE },
    });
  });
});

test('a stream of completions of text ends with each of its texts, the usage and the mark of the end', () => {
  const request = { model: MODEL, prompt: ['a', 'b'], stream: true, stream_options: { include_usage: true } };
  const closing = completions.streamClosing(request);
  closing?.passed(
    {
      ...{ id: 'cmpl-1', object: 'text_completion', created: 7, model: MODEL },
      choices: [{ index: 0, text: 'done', finish_reason: 'stop' }],
    },
    '',
  );
  const events = closing?.close({ code: CODE, usage: usedSoFar(5) }).split('\n\n') ?? [];
  const [end, usage] = events.slice(0, 2).map((event) => JSON.parse(event.replace('data: ', '')));
  expect(end).toMatchObject({
    ...{ id: 'cmpl-1', object: 'text_completion', service: { code: CODE } },
    choices: [{ index: 1, text: '', finish_reason: 'length' }],
  });
  expect(usage).toMatchObject({ choices: [], usage: { completion_tokens: 5 } });
  expect(events.slice(2)).toEqual(['data: [DONE]', '']);
});
