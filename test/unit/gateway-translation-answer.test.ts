/**
 * An answer of Anthropic is told in OpenAI's form, whole or as a stream, and SDKs of OpenAI read it without an error.
 */
import Anthropic from '@anthropic-ai/sdk';
import type { StopReason } from '@anthropic-ai/sdk/resources/messages';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { KEPT_LENGTH_MAX, MessageChunks } from '../../src/gateway/translation/message-stream-to-chunks.ts';
import { messageToCompletion } from '../../src/gateway/translation/message-to-completion.ts';
import { serializeEvent } from '../../src/vendors/event-blocks.ts';
import type { Fields } from '../../src/vendors/usage/figures.ts';
import { event } from '../support/metered-stream.ts';
import { type Answer, type Block, streamedAnswer, USAGE, wholeAnswer } from '../vendors/anthropic-blocks.ts';

const TERMS = { created: 1_790_000_000, id: 'call-1', model: 'claude-sonnet-5-5', includeUsage: true };
const answer = (blocks: Block[], stop: StopReason = 'end_turn', more: Partial<Answer> = {}): Answer => ({
  blocks,
  stop,
  usage: USAGE,
  ...more,
});

const THINKING: Block = { type: 'thinking', thinking: 'héllo 👋🏽', signature: 'sig' };
const WEATHER: Block = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Paris' } };
const NOW: Block = { type: 'tool_use', id: 'toolu_2', name: 'now', input: {} };
const EXAMPLE = { url: 'https://example.com', title: 'Example' };

const chosen = (made: Answer) => messageToCompletion(wholeAnswer(made), TERMS.created)?.choices[0];

function translateEvents(events: readonly object[], terms: Partial<typeof TERMS> = {}) {
  const chunks = new MessageChunks({ ...TERMS, ...terms });
  return events.flatMap((event) => chunks.read(event as Fields));
}

/** OpenAI's client, answered with a stream of these chunks. */
function client(parts: readonly unknown[]) {
  const stream = parts.map(event).join('');
  const headers = { 'content-type': 'text/event-stream' };
  return new OpenAI({ apiKey: 'x', maxRetries: 0, fetch: async () => new Response(stream, { headers }) });
}

const REQUEST = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] };

describe('a whole answer', () => {
  test('has the id, the model and the usage of the vendor, with its cache and its searches', () => {
    expect(messageToCompletion(wholeAnswer(answer([{ type: 'text', text: 'hello' }])), 1_790_000_000)).toEqual({
      id: 'msg_1',
      object: 'chat.completion',
      created: 1_790_000_000,
      model: 'claude-sonnet-5-5',
      service_tier: 'default',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
          native_finish_reason: 'end_turn',
        },
      ],
      usage: {
        prompt_tokens: 150,
        completion_tokens: 50,
        total_tokens: 200,
        prompt_tokens_details: {
          cached_tokens: 100,
          cache_write_tokens: 30,
          cache_write_tokens_details: { ttl_1h_tokens: 20 },
        },
        completion_tokens_details: { reasoning_tokens: 12 },
        server_tool_use: { web_search_requests: 2 },
      },
    });
  });

  test('has tool calls, thinking to read and thinking to send back', () => {
    const redacted: Block = { type: 'redacted_thinking', data: 'xyz' };
    expect(chosen(answer([THINKING, redacted, WEATHER, NOW], 'tool_use'))).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: null,
        reasoning_content: 'héllo 👋🏽',
        thinking_blocks: [THINKING, redacted],
        tool_calls: [
          { id: 'toolu_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
          { id: 'toolu_2', type: 'function', function: { name: 'now', arguments: '{}' } },
        ],
      },
    });
  });

  test('cites pages where they are cited, in characters, and has what it takes to go on', () => {
    const made = answer([
      { type: 'search', query: 'news' },
      { type: 'text', text: '👋 so ' },
      { type: 'text', text: 'it is', cites: [EXAMPLE] },
      { type: 'text', text: '' },
      { type: 'text', text: '.' },
    ]);
    expect(chosen(made)?.message).toEqual({
      role: 'assistant',
      content: '👋 so it is.',
      refusal: null,
      annotations: [{ type: 'url_citation', url_citation: { ...EXAMPLE, start_index: 5, end_index: 10 } }],
      content_blocks: wholeAnswer(made).content.filter((block) => block.type !== 'text' || block.text !== ''),
    });
  });

  test.each<[string, Block[], boolean]>([
    ['nothing', [], false],
    ['thinking, a text and calls', [THINKING, THINKING, { type: 'text', text: 'a' }, WEATHER, NOW], false],
    ['empty texts', [{ type: 'text', text: '' }, THINKING, { type: 'text', text: '' }], false],
    [
      'two texts',
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      true,
    ],
    ['thinking after a text', [{ type: 'text', text: 'a' }, THINKING], true],
    ['thinking between calls', [WEATHER, THINKING, NOW], true],
    ['a text that cites', [{ type: 'text', text: 'a', cites: [EXAMPLE] }], true],
    ['a search', [{ type: 'search', query: 'news' }], true],
  ])('of %s has its blocks as they came: %s %s', (_name, blocks, has) => {
    expect(chosen(answer(blocks))?.message.content_blocks !== undefined).toBe(has);
  });

  test.each<[StopReason | 'new_reason', string]>([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['pause_turn', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['new_reason', 'stop'],
  ])('that ended by %s has the reason %s', (native, reason) => {
    const choice = chosen(answer([], native as StopReason));
    expect(choice).toMatchObject({ finish_reason: reason, native_finish_reason: native });
  });

  test.each([
    ['I cannot', 'I cannot'],
    [null, 'The model refused to answer (cyber).'],
  ])('that was refused with the explanation %j says: %s', (explanation, refusal) => {
    expect(chosen(answer([], 'refusal', { explanation }))?.message.refusal).toBe(refusal);
  });

  test.each([
    ['batch', 'batch'],
    ['priority', 'priority'],
    [null, undefined],
  ])('of the tier %j is of the tier %j', (tier, told) => {
    const body = wholeAnswer(answer([], 'end_turn', { usage: { ...USAGE, service_tier: tier as 'batch' } }));
    expect(messageToCompletion(body, 0)?.service_tier).toBe(told);
  });

  test('without a usage that can be believed has none', () => {
    const body = wholeAnswer(answer([]));
    expect(messageToCompletion({ ...body, usage: undefined }, 0)).not.toHaveProperty('usage');
    expect(messageToCompletion({ ...body, usage: { ...USAGE, input_tokens: -1 } }, 0)).not.toHaveProperty('usage');
  });

  test.each([[{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }], ['text'], [null], [[]]])(
    'is none in %j',
    (body) => {
      expect(messageToCompletion(body, 0)).toBeNull();
    },
  );
});

describe('a stream', () => {
  const made = answer([THINKING, { type: 'text', text: 'Let me see', cites: [EXAMPLE] }, WEATHER, NOW], 'tool_use');

  test('begins with the role, ends with reason, usage and mark, and says everything once', () => {
    const parts = translateEvents([{ type: 'ping' }, ...streamedAnswer(made, [4])]);
    const choices = parts.flatMap((part) => (typeof part === 'object' && 'choices' in part ? part.choices : []));
    const calls = (index: number, call: object) => ({ tool_calls: [{ index, ...call }] });
    expect(choices.map(({ delta }) => delta)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning_content: 'héll' },
      { reasoning_content: 'o 👋🏽' },
      { content: 'Let ' },
      { content: 'me see' },
      calls(0, { id: 'toolu_1', type: 'function', function: { name: 'weather', arguments: '' } }),
      calls(0, { function: { arguments: '{"ci' } }),
      calls(0, { function: { arguments: 'ty":"Paris"}' } }),
      calls(1, { id: 'toolu_2', type: 'function', function: { name: 'now', arguments: '' } }),
      calls(1, { function: { arguments: '{}' } }),
      {
        thinking_blocks: [THINKING],
        content_blocks: wholeAnswer(made).content,
        annotations: [{ type: 'url_citation', url_citation: { ...EXAMPLE, start_index: 0, end_index: 10 } }],
      },
      {},
    ]);
    expect(choices.map(({ finish_reason: reason }) => reason)).toEqual([...Array(11).fill(null), 'tool_calls']);
    const [last, done] = parts.slice(-2);
    expect(last).toMatchObject({ id: 'msg_1', service_tier: 'default', choices: [], usage: { prompt_tokens: 150 } });
    expect(done).toBe('[DONE]');
  });

  test('tells no usage to those who did not ask', () => {
    const parts = translateEvents(streamedAnswer(made, []), { includeUsage: false });
    expect(parts.some((part) => typeof part === 'object' && 'usage' in part)).toBe(false);
  });

  test('without its beginning has the id and the model of the request', () => {
    const events = streamedAnswer(answer([{ type: 'text', text: 'hello' }]), []).slice(1);
    const parts = translateEvents(events, { includeUsage: false });
    expect(parts[0]).toMatchObject({
      id: 'call-1',
      model: 'claude-sonnet-5-5',
      choices: [{ delta: { role: 'assistant' } }],
    });
    expect(parts).toHaveLength(4);
  });

  test('that ends without a reason ends regularly', () => {
    const events = streamedAnswer(answer([{ type: 'text', text: 'hello' }]), []);
    const parts = translateEvents(events.filter(({ type }) => type !== 'message_delta'));
    expect(parts.at(-3)).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
  });

  test('whose blocks begin with content, or have no end, loses nothing', () => {
    const parts = translateEvents([
      { type: 'message_start', message: {} },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: 'hm', signature: 's' } },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'hel', citations: null } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_start', index: 2, content_block: WEATHER },
      { type: 'content_block_stop', index: 2 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
    ]);
    const deltas = parts.flatMap((part) => (typeof part === 'object' && 'choices' in part ? part.choices : []));
    const joined = deltas.map(({ delta }) => [
      delta.reasoning_content,
      delta.content,
      delta.tool_calls?.[0]?.function?.arguments,
    ]);
    expect(joined.map((parts) => parts.join('')).join('|')).toBe('|hm|hel|lo||{"city":"Paris"}||');
    expect(parts[0]).toMatchObject({ id: TERMS.id, model: TERMS.model });
    expect(deltas.at(-2)?.delta.thinking_blocks).toEqual([{ type: 'thinking', thinking: 'hm', signature: 's' }]);
  });

  test('keeps no more of the answer than its bound, and passes the rest', () => {
    const long: Block = { type: 'thinking', thinking: 'x'.repeat(KEPT_LENGTH_MAX), signature: 's' };
    const blocks: Block[] = [THINKING, long, { type: 'text', text: 'a' }, WEATHER, NOW];
    const parts = translateEvents(streamedAnswer(answer(blocks, 'tool_use'), []));
    const deltas = parts.flatMap((part) => (typeof part === 'object' && 'choices' in part ? part.choices : []));
    expect(deltas.map(({ delta }) => Object.keys(delta).join())).toEqual([
      'role,content',
      ...['reasoning_content', 'reasoning_content', 'content'],
      ...['tool_calls', 'tool_calls', 'tool_calls', 'tool_calls', ''],
    ]);
    expect(deltas.at(-4)?.delta.tool_calls?.[0]?.function?.arguments).toBe('{"city":"Paris"}');
    expect(deltas.at(-2)?.delta.tool_calls?.[0]?.function?.arguments).toBe('{}');
  });

  test('that breaks with an error tells it, and nothing after it', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const begun = streamedAnswer(answer([{ type: 'text', text: 'hello' }]), []).slice(0, 3);
    const parts = translateEvents([...begun, error, { type: 'message_stop' }]);
    expect(parts.at(-1)).toEqual({
      error: { message: 'Overloaded', type: 'overloaded_error', code: 'overloaded_error', param: null },
    });
    const stream = client(parts).chat.completions.stream(REQUEST);
    await expect(stream.finalChatCompletion()).rejects.toThrow('Overloaded');
  });

  test("is, as these tests make it, the whole answer for Anthropic's SDK", async () => {
    const events = streamedAnswer(answer([THINKING, { type: 'search', query: 'news' }, ...made.blocks]), [3, 0, 5]);
    const sent = events.map((event) => serializeEvent({ event: event.type, data: JSON.stringify(event) })).join('');
    const headers = { 'content-type': 'text/event-stream' };
    const anthropic = new Anthropic({ apiKey: 'x', maxRetries: 0, fetch: async () => new Response(sent, { headers }) });
    const message = await anthropic.messages.stream({ ...REQUEST, max_tokens: 9 }).finalMessage();
    const whole = wholeAnswer(answer([THINKING, { type: 'search', query: 'news' }, ...made.blocks]));
    expect(JSON.parse(JSON.stringify(message.content))).toEqual(whole.content);
    expect(message).toMatchObject({ id: 'msg_1', stop_reason: 'end_turn', usage: { output_tokens: 50 } });
  });

  test("a refusal in it is one for OpenAI's SDK", async () => {
    const refused = answer([{ type: 'text', text: 'Well' }], 'refusal', { explanation: 'I cannot' });
    const stream = client(translateEvents(streamedAnswer(refused, []))).chat.completions.stream(REQUEST);
    const heard: string[] = [];
    stream.on('refusal.done', ({ refusal }) => heard.push(refusal));
    expect((await stream.finalChatCompletion()).choices[0]).toMatchObject({
      finish_reason: 'content_filter',
      message: { content: 'Well', refusal: 'I cannot' },
    });
    expect(heard).toEqual(['I cannot']);
  });
});
