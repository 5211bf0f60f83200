/**
 * Whatever a vendor has sent, its stream can be ended, and the end is events in JSON.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chatCompletions } from '../../src/gateway/dialects/chat-completions.ts';
import type { StreamClosing } from '../../src/gateway/dialects/dialect.ts';
import { responses } from '../../src/gateway/dialects/responses.ts';
import { isFields } from '../../src/vendors/usage/figures.ts';
import { StreamUsage } from '../../src/vendors/usage.ts';
import { WrittenTokens } from '../../src/vendors/written-tokens.ts';

const anything = fc.jsonValue({ maxDepth: 3 });
const text = fc.constantFrom('a', '', 'wörld');
/** What a vendor sends in this place, or anything else. */
const mostly = (...values: fc.Arbitrary<unknown>[]) =>
  fc.oneof({ weight: 4, arbitrary: fc.oneof(...values) }, anything);
const place = mostly(fc.nat({ max: 3 }));

const call = fc.record({ index: place, function: mostly(fc.record({ name: text, arguments: text })) });
const delta = fc.record(
  { role: text, content: mostly(text), refusal: mostly(text), tool_calls: mostly(fc.array(call, { maxLength: 2 })) },
  { requiredKeys: [] },
);
const choice = fc.record({ index: place, delta: mostly(delta), finish_reason: mostly(fc.constantFrom(null, 'stop')) });
const chunk = fc.record({ id: mostly(text), choices: mostly(fc.array(mostly(choice), { maxLength: 3 })) });

const part = fc.record({
  type: mostly(fc.constantFrom('output_text', 'refusal', 'summary_text', 'constructor')),
  text,
});
const item = fc.record({
  id: text,
  type: fc.constantFrom('message', 'function_call'),
  content: mostly(fc.array(part)),
});
const event = fc.record(
  {
    type: mostly(
      fc
        .constantFrom(
          ...['created', 'output_item.added', 'output_item.done', 'content_part.added', 'content_part.done'],
          ...['output_text.delta', 'refusal.delta', 'function_call_arguments.delta', 'reasoning_summary_text.delta'],
          ...['reasoning_summary_part.added', 'output_text.annotation.added', 'constructor'],
        )
        .map((name) => `response.${name}`),
    ),
    output_index: place,
    content_index: place,
    summary_index: place,
    sequence_number: place,
    delta: mostly(text),
    item: mostly(item),
    part: mostly(part),
    annotation: anything,
    response: anything,
  },
  { requiredKeys: ['type'] },
);

const DIALECTS: { name: string; events: fc.Arbitrary<object>; closing: () => StreamClosing | undefined }[] = [
  {
    name: 'chat completions',
    events: chunk,
    closing: () => chatCompletions.streamClosing({ model: 'm', messages: [] }),
  },
  { name: 'responses', events: event, closing: () => responses.streamClosing({ model: 'm', input: '' }) },
];

test.each(DIALECTS)('$name', ({ events, closing: newClosing }) => {
  fc.assert(
    fc.property(fc.array(events, { maxLength: 12 }), (list) => {
      const closing = newClosing();
      const usage = new StreamUsage({ written: new WrittenTokens('acme', 'model') });
      for (const sent of list) {
        const data = JSON.stringify(sent);
        const read = usage.read({ data });
        if (isFields(read)) closing?.passed(read, data);
      }
      expect(usage.outputTokens).toBeGreaterThanOrEqual(0);
      const blocks = closing?.close({ code: 'X', usage: null }).trimEnd().split('\n\n') ?? [];
      const bodies = blocks.map((block) => /^(?:event: .+\n)?data: (.+)$/.exec(block)?.[1] ?? '');
      const last = bodies.at(-1) === '[DONE]' ? bodies.slice(0, -1) : bodies;
      for (const body of last) expect(isFields(JSON.parse(body))).toBe(true);
      expect(blocks.length).toBeGreaterThan(0);
    }),
    { numRuns: 300 },
  );
});
