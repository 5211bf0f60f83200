/**
 * Promise: an id of a tool call that goes to Anthropic is one that it takes, is never that of another call, and can be told
 * again.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anthropicToolId, callerToolId, withTakenToolIds } from '../../src/vendors/tool-ids.ts';

test('an id that Anthropic takes stays as it is', () => {
  for (const id of ['toolu_01ABC', 'call_1', 'a-b']) expect(anthropicToolId(id)).toBe(id);
});

test('any other gets a substitute that Anthropic takes, of which the id comes back', () => {
  const ids = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('functions.now:0', '', 'callmeter_a', '_2e_'));
  fc.assert(
    fc.property(ids, ids, (one, other) => {
      const [first, second] = [one, other].map(anthropicToolId);
      expect(first).toMatch(/^[a-zA-Z0-9_-]+$/);
      expect(callerToolId(first ?? '')).toBe(one);
      expect(first === second).toBe(one === other);
    }),
  );
});

test('messages that have no other ids are the same list, so that they pass byte for byte', () => {
  const messages = [
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'now', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }, 'no block', null] },
    { role: 'user', content: 'hello' },
  ];
  expect(withTakenToolIds(messages)).toBe(messages);
});
