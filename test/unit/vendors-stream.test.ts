/**
 * The usage of a stream is the highest of the vendor's totals, whatever the form of the stream and wherever it ends.
 */
import { describe, expect, test } from 'vitest';
import { JSON_VALUES_MAX } from '../../src/platform/json.ts';
import { readFailure, StreamUsage, type VendorUsage } from '../../src/vendors/usage.ts';
import { chat, claude, content, gemini, openai, response, used } from '../support/vendor-bodies.ts';

const sse = (...events: unknown[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
function streamed(text: string): StreamUsage {
  const usage = new StreamUsage();
  usage.push(text);
  usage.end();
  return usage;
}
const chunk = (choices: object[], usage?: unknown) => ({
  object: 'chat.completion.chunk',
  model: 'gpt-5.2',
  choices,
  ...(usage !== undefined && { usage }),
});
const delta = (text: string, finish_reason: string | null = null) => ({
  index: 0,
  delta: { content: text },
  finish_reason,
});

describe('streams', () => {
  const figures = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
  const seven = used({ ...openai, inputTokens: 7, responseTokens: 2 });

  test.each<[string, string, VendorUsage | null, boolean]>([
    [
      'usage after the finish',
      sse(chunk([delta('a')], null), chunk([delta('', 'stop')], null), chunk([], figures), '[DONE]'),
      seven,
      true,
    ],
    [
      'usage in a chunk that has choices',
      sse(chunk([delta('a')]), chunk([delta('b', 'stop')], figures), '[DONE]'),
      seven,
      true,
    ],
    [
      'usage so far in each chunk',
      sse(chunk([delta('a')], { ...figures, completion_tokens: 1 }), chunk([delta('b', 'stop')], figures)),
      seven,
      true,
    ],
    [
      'a null after the usage says nothing',
      sse(chunk([delta('', 'stop')], figures), chunk([], null), '[DONE]'),
      seven,
      true,
    ],
    [
      'an empty usage after the usage says nothing',
      sse(chunk([delta('', 'stop')], figures), chunk([], {}), '[DONE]'),
      seven,
      true,
    ],
    [
      'zeros after the usage take nothing back',
      sse(chunk([delta('', 'stop')], figures), chunk([], { prompt_tokens: 0, completion_tokens: 0 }), '[DONE]'),
      seven,
      true,
    ],
    [
      'usage twice: the higher, in any order',
      sse(chunk([delta('', 'stop')], figures), chunk([], { ...figures, prompt_tokens: 1 }), '[DONE]'),
      seven,
      true,
    ],
    [
      'usage twice: the later',
      sse(chunk([delta('', 'stop')], { ...figures, prompt_tokens: 1 }), chunk([], figures), '[DONE]'),
      seven,
      true,
    ],
    [
      'zero usage',
      sse(chunk([delta('', 'stop')]), chunk([], { prompt_tokens: 0, completion_tokens: 0 }), '[DONE]'),
      used(openai),
      true,
    ],
    ['no usage', sse(chunk([delta('a', 'stop')]), '[DONE]'), null, true],
    ['no mark of the end', sse(chunk([delta('a')])), null, false],
    ['finished but without usage and without a mark', sse(chunk([delta('a', 'stop')])), null, false],
    [
      'a broken figure at the end: the highest so far, and unclear',
      sse(chunk([delta('', 'stop')], figures), chunk([], { ...figures, prompt_tokens: -1 }), '[DONE]'),
      { ...seven, unclear: ['inputTokens'] },
      true,
    ],
    [
      'comments, CR LF and fields of no interest',
      `: hi\r\n\r\nid: 4\r\nretry: 9\r\nevent: x\r\ndata: ${JSON.stringify(chunk([], figures))}\r\n\r\ndata: [DONE]\r\n\r\n`,
      seven,
      true,
    ],
    [
      'data in several lines, CR alone',
      `data: {"choices":[],"model":"gpt-5.2",\rdata: "usage":${JSON.stringify(figures)}}\r\rdata:[DONE]\r\r`,
      seven,
      true,
    ],
    ['a byte order mark', `\ufeff${sse(chunk([], figures), '[DONE]')}`, seven, true],
    [
      'a last event without the empty line',
      `${sse(chunk([delta('', 'stop')]))}data: ${JSON.stringify(chunk([], figures))}`,
      seven,
      true,
    ],
    [
      'an event that broke off',
      `${sse(chunk([delta('', 'stop')]))}data: {"choices":[],"usage":{"prompt_tok`,
      null,
      false,
    ],
    ['events that are no JSON', sse('hello', chunk([], figures), '[DONE]'), seven, true],
    [
      'a whole answer where a stream was expected',
      JSON.stringify({ ...chat(figures), choices: [{ finish_reason: 'stop' }] }),
      seven,
      true,
    ],
    ['nothing', '', null, false],
  ])('chat: %s', (_, text, usage, completed) => {
    const stream = streamed(text);
    expect(stream.usage()).toEqual(usage);
    expect(stream.completed).toBe(completed);
    expect(stream.failed).toBeNull();
  });

  const second = (finish_reason: string | null) => ({ ...delta('b', finish_reason), index: 1 });

  test.each<[string, string, 'whole' | 'truncated' | 'not judged']>([
    ['stopped and marked', sse(chunk([delta('a', 'stop')]), '[DONE]'), 'whole'],
    ['marked alone', sse(chunk([delta('a')]), '[DONE]'), 'whole'],
    ['stopped alone', sse(chunk([delta('a')]), chunk([delta('', 'length')])), 'whole'],
    ['stopped, and then a chunk of no interest', sse(chunk([delta('a', 'stop')]), chunk([delta('')])), 'whole'],
    ['neither', sse(chunk([delta('a')])), 'truncated'],
    ['an empty reason, as some write where there is none', sse(chunk([delta('a', '')])), 'truncated'],
    [
      'one of two answers stopped',
      sse(chunk([delta('a')]), chunk([second(null)]), chunk([delta('', 'stop')])),
      'truncated',
    ],
    ['both answers stopped', sse(chunk([delta('a', 'stop'), second(null)]), chunk([second('stop')])), 'whole'],
    ['broken off in the first event', 'data: {"choices":[{"index":0,"delta":{"con', 'truncated'],
    ['a response that runs', sse({ type: 'response.created', response: { status: 'in_progress' } }), 'truncated'],
    [
      'a response that was cut short by its bound',
      sse({ type: 'response.incomplete', response: { status: 'incomplete' } }),
      'whole',
    ],
    ['a message without its stop', sse({ type: 'message_start', message: { type: 'message' } }), 'truncated'],
    ['a message that stopped', sse({ type: 'message_start', message: {} }, { type: 'message_stop' }), 'whole'],
    ['a candidate without a reason', sse({ candidates: [{ content: {} }] }), 'truncated'],
    [
      'one of two candidates',
      sse({ candidates: [{ content: {} }, { index: 1 }] }, { candidates: [{ index: 1, finishReason: 'STOP' }] }),
      'truncated',
    ],
    ['a candidate that stopped', sse({ candidates: [{ finishReason: 'MAX_TOKENS' }] }), 'whole'],
    [
      "an array of Google's without its end",
      `[${JSON.stringify({ candidates: [{ content: {} }] })},\r\n{"cand`,
      'truncated',
    ],
    ['a stream in a form of its own', sse({ token: 'hello' }), 'not judged'],
    ['words', sse('hello'), 'not judged'],
    ['nothing', '', 'not judged'],
  ])('is whole or truncated: %s', (_, text, verdict) => {
    const stream = streamed(text);
    expect([stream.finished, stream.truncated]).toEqual([verdict === 'whole', verdict === 'truncated']);
    expect(stream.empty).toBe(text === '');
  });

  const start = {
    type: 'message_start',
    message: {
      type: 'message',
      model: 'claude-sonnet-5',
      usage: { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: 3, output_tokens: 1 },
    },
  };
  const messageDelta = (usage: object) => ({ type: 'message_delta', delta: {}, usage });

  test('messages: the highest of the totals counts, and null and zeros change nothing', () => {
    const stream = streamed(
      sse(
        start,
        { type: 'ping' },
        messageDelta({ output_tokens: 20 }),
        messageDelta({ input_tokens: null, output_tokens: 41, server_tool_use: { web_search_requests: 1 } }),
        messageDelta({ input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 }),
        { type: 'message_stop' },
      ),
    );
    expect(stream.usage()).toEqual(
      used({
        ...claude,
        inputTokens: 18,
        cachedInputTokens: 5,
        cacheWriteInputTokens: 3,
        responseTokens: 41,
        searches: 1,
      }),
    );
    expect(stream.completed).toBe(true);
    const grown = streamed(
      sse(start, messageDelta({ input_tokens: 30, cache_read_input_tokens: 6, output_tokens: 2 })),
    );
    expect(grown.usage()).toMatchObject({ inputTokens: 39, cachedInputTokens: 6, responseTokens: 2 });
    expect(grown.completed).toBe(false);
  });

  test('messages: a stream that breaks off keeps the figures so far', () => {
    const stream = streamed(sse(start, { type: 'content_block_delta', delta: { text: 'hi' } }));
    expect(stream.usage()).toMatchObject({ inputTokens: 18, responseTokens: 1 });
    expect(stream.completed).toBe(false);
  });

  test('searches are known before the end, and the final figure replaces them', () => {
    const searched = { type: 'response.output_item.done', item: { type: 'web_search_call', status: 'completed' } };
    const broken = streamed(sse({ type: 'response.created', response: response(null) }, searched, searched));
    expect([broken.usage(), broken.searches()]).toEqual([null, 2]);
    const block = {
      type: 'content_block_start',
      content_block: { type: 'server_tool_use', name: 'web_search', input: {} },
    };
    expect(streamed(sse(start, block, { ...block, content_block: { type: 'text' } })).usage()).toMatchObject({
      searches: 1,
    });
    const counted = messageDelta({ output_tokens: 5, server_tool_use: { web_search_requests: 0 } });
    expect(streamed(sse(start, block, counted)).usage()).toMatchObject({ searches: 0 });
    const cites = chunk([{ index: 0, delta: { annotations: [{ type: 'url_citation' }] } }]);
    expect(streamed(sse(cites)).searches()).toBe(1);
    const usage = { prompt_tokens: 1, completion_tokens: 1, completion_tokens_details: { audio_tokens: 1 } };
    expect(streamed(sse(cites, chunk([delta('a', 'stop')]), chunk([], usage))).usage()).toMatchObject({
      searches: 1,
      audio: 1,
    });
  });

  test('responses: only a search that is done counts', () => {
    const event = (type: string, item: object) => ({ type: `response.output_item.${type}`, item });
    const search = { type: 'web_search_call' };
    const stream = streamed(sse(event('added', search), event('done', { type: 'message' }), event('done', search)));
    expect(stream.searches()).toBe(1);
  });

  test.each(['completed', 'incomplete', 'failed', 'cancelled'])('a whole response that is %s is complete', (status) => {
    const stream = streamed(sse(response({ input_tokens: 7, output_tokens: 2 }, { status })));
    expect([stream.completed, stream.usage()]).toEqual([true, seven]);
  });

  test('a whole message in place of a stream has its usage, and is complete with a stop reason', () => {
    const message = (stop_reason: string | null) =>
      streamed(
        sse({ type: 'message', model: 'claude-sonnet-5', stop_reason, usage: { input_tokens: 7, output_tokens: 2 } }),
      );
    expect([message('end_turn').completed, message(null).completed]).toEqual([true, false]);
    expect(message('end_turn').usage()).toEqual(used({ ...claude, inputTokens: 7, responseTokens: 2 }));
  });

  test.each([
    ['response.completed', 'completed', null],
    ['response.incomplete', 'incomplete', null],
    ['response.failed', 'failed', { code: 'server_error', message: 'broken' }],
  ])('responses: %s ends the stream and has the usage', (type, status, failure) => {
    const final = response({ input_tokens: 7, output_tokens: 2 }, { status, error: failure });
    const stream = streamed(
      sse(
        { type: 'response.created', response: response(null) },
        { type: 'response.output_text.delta', delta: 'x' },
        { type, response: final },
      ),
    );
    expect(stream.usage()).toEqual(seven);
    expect(stream.completed).toBe(true);
    expect(stream.failed).toEqual(failure);
  });

  test('responses: a response in progress does not end the stream', () => {
    const stream = streamed(sse({ type: 'response.created', response: response(null, { status: 'in_progress' }) }));
    expect([stream.completed, stream.usage()]).toEqual([false, null]);
  });

  const chunks = [
    content(
      { promptTokenCount: 4, candidatesTokenCount: 1 },
      {
        candidates: [
          { content: { parts: [{ text: '}]{"\\"' }] }, groundingMetadata: { webSearchQueries: ['a', 'b'] } },
        ],
      },
    ),
    content(
      { promptTokenCount: 4, candidatesTokenCount: 9, thoughtsTokenCount: 2 },
      { candidates: [{ finishReason: 'STOP', groundingMetadata: { webSearchQueries: ['a'] } }] },
    ),
  ];
  test.each([
    ['events', sse(...chunks)],
    ['an array', JSON.stringify(chunks)],
    [
      'an array, written as Google writes it',
      `[${chunks.map((item) => JSON.stringify(item, null, 2)).join('\n,\r\n')}\n]\n`,
    ],
  ])('generateContent as %s: the latest totals and the highest number of searches', (_, text) => {
    const stream = streamed(text);
    expect(stream.usage()).toEqual(
      used({ ...gemini, inputTokens: 4, responseTokens: 11, reasoningTokens: 2, searches: 2 }),
    );
    expect(stream.completed).toBe(true);
  });

  test('generateContent: a stop reason or a blocked prompt ends the stream', () => {
    expect(streamed(sse(chunks[0])).completed).toBe(false);
    expect(
      streamed(sse({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 3 } })).completed,
    ).toBe(true);
  });

  test('an event that is too long to be held is read without what is long in it', () => {
    const stream = new StreamUsage({ eventBytesMax: 1_000 });
    stream.push(sse({ ...chunk([delta('x'.repeat(5_000), 'stop')], figures), more: ['y'.repeat(5_000)] }, '[DONE]'));
    expect(stream.usage()).toEqual(seven);
  });
});

test('an event of any number of values is read, and so are the others', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 2 };
  const event = (values: number, figures: object) =>
    `data: {"object":"chat.completion.chunk","model":"gpt-5.2","choices":[],"usage":${JSON.stringify(figures)},"more":[${'{},'.repeat(values)}{}]}\n\n`;
  const large = { prompt_tokens: 900, completion_tokens: 900 };
  expect(streamed(event(100_000, usage)).usage()).toMatchObject({ inputTokens: 3, responseTokens: 2 });
  const read = { inputTokens: 900, responseTokens: 900 };
  expect(streamed(event(JSON_VALUES_MAX, large)).usage()).toMatchObject(read);
  expect(streamed(event(0, usage) + event(JSON_VALUES_MAX, large) + sse('[DONE]')).usage()).toMatchObject(read);
});

describe('errors inside a stream', () => {
  test.each([
    [
      'OpenAI, chat',
      sse(chunk([delta('a')]), { error: { message: 'overloaded', type: 'server_error', code: null } }),
      'server_error',
      'overloaded',
    ],
    [
      'OpenAI, responses',
      'event: error\ndata: {"type":"error","code":"rate_limit","message":"slow down"}\n\n',
      'rate_limit',
      'slow down',
    ],
    [
      'Anthropic',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
      'overloaded_error',
      'Overloaded',
    ],
    ['Google', sse({ error: { code: 503, message: 'busy', status: 'UNAVAILABLE' } }), 'UNAVAILABLE', 'busy'],
    ['Google, as an array', '[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]', 'UNAVAILABLE', 'busy'],
    ['a text', sse({ error: 'no luck' }), 'vendor_error', 'no luck'],
    ['an error event in words', 'event: error\ndata: bad gateway\n\n', 'vendor_error', 'bad gateway'],
    [
      'the code before the type',
      sse({ error: { message: 'no', type: 'requests', code: 'rate_limit_exceeded' } }),
      'rate_limit_exceeded',
      'no',
    ],
    [
      'the word error, which names nothing',
      sse({ error: { type: 'error', code: ' ', message: 'no' } }),
      'vendor_error',
      'no',
    ],
    [
      'a status before the word error',
      sse({ error: { code: 'error', status: 'BUSY' } }),
      'BUSY',
      'the vendor gave no reason',
    ],
    ['nothing but a number', sse({ error: { code: 429 } }), '429', 'the vendor gave no reason'],
  ])('%s', (_, text, code, message) => {
    expect(streamed(text).failed).toEqual({ code, message });
  });

  test('a code is one word of at most 100 characters, and a long message is cut', () => {
    const failure = readFailure({ error: { code: `bad\nword ${'x'.repeat(200)}`, message: 'm'.repeat(9_000) } });
    expect(failure?.code).toMatch(/^bad_word_x+$/);
    expect(failure?.code).toHaveLength(100);
    expect(failure?.message).toHaveLength(4_000);
  });

  test('an answer without an error has no failure', () => {
    expect([
      readFailure(response({ input_tokens: 1 }, { error: null })),
      readFailure('text'),
      readFailure(null),
    ]).toEqual([null, null, null]);
  });
});
