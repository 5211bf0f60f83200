/**
 * Everything that a stream writes is counted, in the form of every vendor: text, reasoning, refusals and tool calls of
 * all answers; and its report before it broke off is kept apart from the usage of a whole answer.
 */
import { describe, expect, test } from 'vitest';
import { TokenCount } from '../../src/vendors/token-count.ts';
import { StreamUsage } from '../../src/vendors/usage.ts';
import { WrittenTokens } from '../../src/vendors/written-tokens.ts';

const choice = (index: number, delta: object) => ({ choices: [{ index, delta, finish_reason: null }] });
const block = (delta: object) => ({ type: 'content_block_delta', index: 0, delta });
const parts = (...list: object[]) => ({ candidates: [{ content: { role: 'model', parts: list } }] });
const call = (fields: object) => choice(0, { tool_calls: [{ index: 0, ...fields }] });

const STREAMS: Record<string, [events: object[], written: string[]]> = {
  'chat: the text of all choices': [
    [choice(0, { content: 'ab' }), choice(1, { content: 'cde' })],
    ['ab', 'cde'],
  ],
  'chat: text that stands in parts': [
    [choice(0, { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }, { text: 'ok' }] })],
    ['hm', 'ok'],
  ],
  'chat: reasoning, once where it has two names': [
    [choice(0, { reasoning_content: 'why', reasoning: 'why' }), choice(0, { reasoning: 'so' })],
    ['why', 'so'],
  ],
  'chat: a refusal': [[choice(0, { refusal: 'no' })], ['no']],
  'chat: the name and the arguments of tool calls': [
    [
      call({ id: 'call_1', type: 'function', function: { name: 'find', arguments: '' } }),
      call({ function: { arguments: '{"a":1}' } }),
      call({ type: 'custom', custom: { name: 'run', input: 'ls' } }),
      choice(0, { function_call: { name: 'old', arguments: '{}' } }),
    ],
    ['find', '{"a":1}', 'run', 'ls', 'old', '{}'],
  ],
  'chat: the words of sound': [[choice(0, { audio: { data: 'AAAA', transcript: 'hi' } })], ['hi']],
  'chat: a whole answer in place of a stream': [[{ choices: [{ index: 0, message: { content: 'all' } }] }], ['all']],
  'completions: text': [[{ choices: [{ index: 0, text: 'abc' }] }], ['abc']],
  'responses: text, refusals, reasoning and calls': [
    [
      { type: 'response.output_item.added', item: { type: 'function_call', name: 'find', arguments: '' } },
      { type: 'response.function_call_arguments.delta', delta: '{"a":1}' },
      { type: 'response.function_call_arguments.done', arguments: '{"a":1}' },
      { type: 'response.output_text.delta', delta: 'text' },
      { type: 'response.output_text.done', text: 'text' },
      { type: 'response.refusal.delta', delta: 'no' },
      { type: 'response.reasoning_summary_text.delta', delta: 'why' },
      { type: 'response.reasoning_text.delta', delta: 'because' },
      { type: 'response.audio.delta', delta: 'AAAA' },
      { type: 'response.audio.transcript.delta', delta: 'hi' },
    ],
    ['find', '{"a":1}', 'text', 'no', 'why', 'because', 'hi'],
  ],
  'responses: a whole answer in place of a stream': [
    [{ object: 'response', output: [{ type: 'message', content: [{ type: 'output_text', text: 'all' }] }] }],
    ['all'],
  ],
  'messages: text, thinking and the input of tools': [
    [
      { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } },
      { type: 'content_block_start', content_block: { type: 'thinking', thinking: '' } },
      block({ type: 'thinking_delta', thinking: 'why' }),
      block({ type: 'signature_delta', signature: 'AAAA' }),
      block({ type: 'text_delta', text: 'text' }),
      { type: 'content_block_start', content_block: { type: 'tool_use', name: 'find', input: {} } },
      block({ type: 'input_json_delta', partial_json: '{"a":1}' }),
    ],
    ['why', 'text', 'find', '{"a":1}'],
  ],
  'content: text, thoughts and calls': [
    [
      parts({ text: 'why', thought: true }, { text: 'text' }),
      parts({ functionCall: { name: 'find', args: { a: 1 } } }, { executableCode: { code: 'print(1)' } }),
    ],
    ['why', 'text', '["find",{"a":1}]', 'print(1)'],
  ],
};

const outputOf = (events: object[]) => {
  const usage = new StreamUsage({ written: new WrittenTokens('compatible', 'model') });
  for (const event of events) usage.read({ data: JSON.stringify(event) });
  return usage.outputTokens;
};

test.each(Object.entries(STREAMS))('%s', (_name, [events, ...answers]) => {
  const counts = answers.map((pieces) => {
    const count = new TokenCount();
    for (const piece of pieces) count.add(piece);
    return Math.max(count.tokens, pieces.length);
  });
  expect(outputOf(events)).toBe(counts.reduce((sum, count) => sum + count, 0));
});

test('a piece of text counts at least as one token, and an empty one not at all', () => {
  const pieces = Array.from({ length: 100 }, (_, index) => choice(0, { content: index % 2 === 0 ? 'a' : '' }));
  expect(outputOf(pieces)).toBeGreaterThanOrEqual(50);
  expect(outputOf([choice(0, { content: '' })])).toBe(0);
});

describe('before its end, the vendor has reported', () => {
  const partialOf = (...events: unknown[]) => {
    const usage = new StreamUsage({ written: new WrittenTokens('compatible', 'model') });
    for (const event of events) usage.read({ data: typeof event === 'string' ? event : JSON.stringify(event) });
    return usage.partial();
  };
  const start = { type: 'message_start', message: { model: 'claude-x', usage: { input_tokens: 9, output_tokens: 1 } } };
  const chunk = { ...parts({ text: 'a' }), usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2 } };

  test('its input, in the form of Anthropic', () => {
    expect(partialOf(start)).toMatchObject({ inputTokens: 9, responseTokens: 1 });
    expect(partialOf(start, { type: 'message_delta', delta: {}, usage: { output_tokens: 30 } })).toMatchObject({
      inputTokens: 9,
      responseTokens: 30,
    });
  });

  test('all so far, in the form of Google', () => {
    expect(partialOf(chunk)).toMatchObject({ inputTokens: 4, responseTokens: 2 });
  });

  test('nothing, in the form of OpenAI', () => {
    expect(partialOf(choice(0, { content: 'a' }))).toBeNull();
    expect(partialOf({ type: 'response.created', response: { object: 'response', usage: null } })).toBeNull();
  });

  test('the other figures, if one is broken', () => {
    expect(partialOf({ ...start, message: { usage: { input_tokens: -1, output_tokens: 1 } } })).toMatchObject({
      responseTokens: 1,
      unclear: ['inputTokens'],
    });
  });

  test('and after its end, the usage is whole and not partial', () => {
    expect(partialOf(start, { type: 'message_stop' })).toBeNull();
    expect(partialOf({ ...chunk, candidates: [{ finishReason: 'STOP' }] })).toBeNull();
  });
});
