/**
 * Promise: two requests have equal pieces only if a vendor counts the same tokens for them, and marks of the cache make no
 * difference.
 */
import { describe, expect, test } from 'vitest';
import { readConversation } from '../../src/gateway/demand/conversation.ts';

const MARK = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const user = (text: string, more: object = {}) => ({ role: 'user', content: [{ type: 'text', text, ...more }] });
const assistant = (...content: object[]) => ({ role: 'assistant', content });
const TOOL_USE = { type: 'tool_use', id: 't', name: 'read', input: { path: 'a' } };
const RESULT = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'text' }] };
const THOUGHT = { type: 'thinking', thinking: 'long', signature: 's' };

const messages = (body: object) => readConversation('/v1/messages', body as never);

describe('a conversation in pieces', () => {
  test('ends a piece where the model answers next, and at the end', () => {
    const turns = [
      user('a'),
      assistant(TOOL_USE),
      RESULT,
      user('b'),
      assistant({ type: 'text', text: 'c' }),
      user('d'),
    ];
    expect(messages({ messages: turns })?.ends).toEqual([1, 4, 6]);
    const items = [
      { role: 'user', content: 'a' },
      { type: 'reasoning', encrypted_content: 'r', summary: [] },
      { type: 'function_call', call_id: 'c', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'text' },
      { type: 'function_call', call_id: 'd', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'd', output: 'text' },
    ];
    expect(readConversation('responses', { input: items })?.ends).toEqual([1, 4, 6]);
    const contents = [
      { role: 'user', parts: [{ text: 'a' }] },
      { role: 'model', parts: [{ functionCall: { name: 'read', args: {} }, thoughtSignature: 's' }] },
      { role: 'user', parts: [{ functionResponse: { name: 'read', response: {} } }] },
    ];
    expect(readConversation('models/gemini-3.8-flash:generateContent', { contents })?.ends).toEqual([1, 3]);
  });

  test('is the same whatever parts of it are marked, and however a text is written', () => {
    const plain = messages({ system: 's', tools: [{ name: 't', input_schema: {} }], messages: [user('a'), RESULT] });
    const marked = messages({
      system: [{ type: 'text', text: 's', ...MARK }],
      tools: [{ name: 't', input_schema: {}, ...MARK }],
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: [{ ...RESULT.content[0], ...MARK }] },
      ],
    });
    expect(marked).toEqual(plain);
  });

  test.each([
    ['the input of a tool', assistant({ ...TOOL_USE, input: { path: 'a', ...MARK } }), assistant(TOOL_USE)],
    ['a mark that is none', user('a', { cache_control: { type: 'x'.repeat(1_000) } }), user('a')],
    ['a mark with more in it', user('a', { cache_control: { type: 'ephemeral', more: { text: 'b' } } }), user('a')],
  ])('is another with %s', (_what, one, other) => {
    expect(messages({ messages: [one, user('z')] })?.pieces).not.toEqual(
      messages({ messages: [other, user('z')] })?.pieces,
    );
  });
});

describe('no such form has', () => {
  test.each<[string, object]>([
    ['messages that the vendor edits', { context_management: { edits: [] }, messages: [user('a')] }],
    ['a message that is cleared later', { messages: [{ ...user('a'), clear_at: 'x' }] }],
    [
      'a tool that is loaded later',
      { tools: [{ name: 't', input_schema: {}, defer_loading: true }], messages: [user('a')] },
    ],
    ['a search for tools', { tools: [{ type: 'tool_search_tool_bm25', name: 't' }], messages: [user('a')] }],
    ['a tool that the vendor runs', { tools: [{ type: 'web_search_20250305', name: 'w' }], messages: [user('a')] }],
    ['what a tool of the vendor answered', { messages: [user('a'), assistant({ type: 'web_search_tool_result' })] }],
    [
      'a reference to a tool',
      { messages: [{ role: 'user', content: [{ type: 'tool_result', content: [{ type: 'tool_reference' }] }] }] },
    ],
    ['no message', { messages: [] }],
    [
      'a turn with tools and no thought, whose others have one',
      {
        thinking: { type: 'enabled', budget_tokens: 2_000 },
        messages: [user('a'), assistant(THOUGHT, { type: 'text', text: 'b' }), user('c'), assistant(TOOL_USE), RESULT],
      },
    ],
  ])('a request with %s', (_what, body) => {
    expect(messages(body)).toBe(null);
  });

  test('a request whose prompt the vendor may cut, and an endpoint without messages', () => {
    expect(readConversation('responses', { input: 'a', truncation: 'auto' })).toBe(null);
    expect(readConversation('responses', { input: 'a', truncation: 'disabled' })).not.toBe(null);
    expect(readConversation('responses', { input: [{ type: 'item_reference', id: 'i' }] })).toBe(null);
    expect(readConversation('embeddings', { input: ['a'] })).toBe(null);
    expect(readConversation('chat/completions', { messages: [user('a')], transforms: ['middle-out'] })).toBe(null);
  });

  test('none with thoughts in each turn, and adaptive ones', () => {
    const turns = [user('a'), assistant(THOUGHT, TOOL_USE), RESULT, assistant(TOOL_USE), RESULT];
    expect(messages({ thinking: { type: 'enabled' }, messages: turns })).not.toBe(null);
    const adaptive = [
      user('a'),
      assistant(THOUGHT, { type: 'text', text: 'b' }),
      user('c'),
      assistant(TOOL_USE),
      RESULT,
    ];
    expect(messages({ thinking: { type: 'adaptive' }, messages: adaptive })).not.toBe(null);
  });
});
