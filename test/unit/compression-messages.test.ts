/**
 * In a conversation only texts are compressed; everything else is passed on as it is.
 */
import { describe, expect, test } from 'vitest';
import { compressMessages } from '../../src/compression/messages.ts';
import { TECHNIQUES } from '../../src/compression/techniques.ts';

const PROFILE = { techniques: TECHNIQUES, aggressiveness: 0.7, protectedPhrases: [], minInputTokens: 0 };
const ROWS = JSON.stringify(Array.from({ length: 5 }, (_, index) => ({ identifier: index, status: 'please   wait' })));
const TOON =
  '```toon\n[5]{identifier,status}:\n  0,please   wait\n  1,please   wait\n  2,please   wait\n  3,please   wait\n  4,please   wait\n```';

test('OpenAI: system, developer and user messages are compressed, tool results without loss, assistant messages not at all', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{ "please":   1 }' } };
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const messages = [
    { role: 'system', content: 'Please   be brief.' },
    { role: 'developer', content: [{ type: 'text', text: 'Please   be brief.' }] },
    {
      role: 'user',
      name: 'please',
      content: [{ type: 'text', text: 'Please   look.' }, image, { type: 'input_text', text: 'Please   see.' }],
    },
    { role: 'assistant', content: 'Please   wait.', tool_calls: [call] },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: `Please   wait.\n${ROWS}` },
  ];
  const result = compressMessages(messages, PROFILE);
  expect(result.messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
    {
      role: 'user',
      name: 'please',
      content: [{ type: 'text', text: 'Look.' }, image, { type: 'input_text', text: 'See.' }],
    },
    messages[3],
    messages[4],
    { role: 'tool', tool_call_id: 'call_1', content: `Please   wait.\n${TOON}` },
  ]);
  expect(result.messages[3]).toBe(messages[3]);
  expect(result.originalTokens - result.compressedTokens).toBe(
    result.techniques.reduce((sum, { savedTokens }) => sum + savedTokens, 0),
  );
  expect(result.techniques.map(({ name }) => name)).toEqual(['toon', 'whitespace', 'politeness']);
});

test('Anthropic: text parts keep their cache_control, tool results are treated as data, tool uses and thinking are unchanged', () => {
  const cache = { cache_control: { type: 'ephemeral' } };
  const messages = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Please   be brief.', ...cache },
        { type: 'tool_result', tool_use_id: 't1', content: `Please   wait.\n${ROWS}`, ...cache },
        {
          type: 'tool_result',
          tool_use_id: 't2',
          content: [
            { type: 'text', text: ROWS },
            { type: 'image', source: { data: 'AA' } },
          ],
        },
        { type: 'document', source: { type: 'text', data: 'Please   wait.' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Please   wait.', signature: 's' },
        { type: 'text', text: 'Please   wait.' },
        { type: 'tool_use', id: 't1', name: 'f', input: { a: 'x   y' } },
      ],
    },
  ];
  expect(compressMessages(messages, PROFILE).messages).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Be brief.', ...cache },
        { type: 'tool_result', tool_use_id: 't1', content: `Please   wait.\n${TOON}`, ...cache },
        {
          type: 'tool_result',
          tool_use_id: 't2',
          content: [
            { type: 'text', text: TOON },
            { type: 'image', source: { data: 'AA' } },
          ],
        },
        { type: 'document', source: { type: 'text', data: 'Please   wait.' } },
      ],
    },
    messages[1],
  ]);
});

test('the minimum of tokens applies to the sum of all texts', () => {
  const messages = [
    { role: 'user', content: 'Please   act.' },
    { role: 'assistant', content: 'One two three four five six.' },
  ];
  const { originalTokens } = compressMessages(messages, PROFILE);
  expect(compressMessages(messages, { ...PROFILE, minInputTokens: originalTokens }).messages[0]).toEqual({
    role: 'user',
    content: 'Act.',
  });
  expect(compressMessages(messages, { ...PROFILE, minInputTokens: originalTokens + 1 })).toEqual({
    messages,
    originalTokens,
    compressedTokens: originalTokens,
    techniques: [],
  });
});

describe('a value that is not a message of either API', () => {
  test.each([
    [[{}]],
    [[{ role: 'user' }]],
    [[{ role: 'user', content: 5 }]],
    [
      [
        {
          role: 'user',
          content: [
            null,
            'Please   act.',
            { type: 'text' },
            { type: 'text', text: 1 },
            { type: 'text', text: ['Please   act.'] },
            [],
          ],
        },
      ],
    ],
    [[{ role: 'stranger', content: 'Please   act.' }]],
    [[['Please   act.']]],
  ])('%j is passed on', (messages) => {
    const result = compressMessages(messages as object[], PROFILE);
    expect(result.messages).toEqual(messages);
    expect(result.techniques).toEqual([]);
  });
});
