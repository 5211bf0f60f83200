/**
 * Whatever a vendor has sent, its stream can be ended, and the end is events in JSON.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chatCompletions } from '../../src/gateway/dialects/chat-completions.ts';
import type { StreamClosing } from '../../src/gateway/dialects/dialect.ts';
import { streamGenerateContent } from '../../src/gateway/dialects/generate-content.ts';
import { messages } from '../../src/gateway/dialects/messages.ts';
import { responses } from '../../src/gateway/dialects/responses.ts';
import { isFields } from '../../src/vendors/usage/figures.ts';
import { StreamUsage } from '../../src/vendors/usage.ts';
import { WrittenTokens } from '../../src/vendors/written-tokens.ts';

const anything = fc.jsonValue({ maxDepth: 3 });
const text = fc.constantFrom('a', '', 'wörld');
/** A vendor's usual value in this place, or any other. */
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

const messageEvent = fc.record(
  {
    type: mostly(
      fc.constantFrom(
        ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop'],
        ...['message_delta', 'message_stop', 'ping', 'error', 'constructor'],
      ),
    ),
    index: place,
    message: mostly(fc.record({ id: text, usage: mostly(fc.record({ input_tokens: place, output_tokens: place })) })),
    content_block: mostly(fc.record({ type: fc.constantFrom('text', 'thinking', 'tool_use'), text })),
    delta: mostly(fc.record({ text, stop_reason: mostly(fc.constantFrom(null, 'end_turn')) }, { requiredKeys: [] })),
    usage: mostly(fc.record({ output_tokens: place })),
  },
  { requiredKeys: ['type'] },
);

const candidate = fc.record(
  {
    index: place,
    content: mostly(fc.record({ parts: mostly(fc.array(fc.record({ text }), { maxLength: 2 })) })),
    finishReason: mostly(fc.constantFrom('STOP', 'MAX_TOKENS')),
  },
  { requiredKeys: [] },
);
const contentChunk = fc.record(
  {
    candidates: mostly(fc.array(mostly(candidate), { maxLength: 3 })),
    usageMetadata: anything,
    modelVersion: mostly(text),
  },
  { requiredKeys: [] },
);

const DIALECTS: { name: string; events: fc.Arbitrary<object>; closing: () => StreamClosing | undefined }[] = [
  {
    name: 'chat completions',
    events: chunk,
    closing: () => chatCompletions.streamClosing({ model: 'm', messages: [] }),
  },
  { name: 'responses', events: event, closing: () => responses.streamClosing({ model: 'm', input: '' }) },
  {
    name: 'messages',
    events: messageEvent,
    closing: () => messages.streamClosing({ model: 'm', messages: [] }),
  },
  {
    name: 'streamed content',
    events: contentChunk,
    closing: () => streamGenerateContent.streamClosing({ model: 'm', contents: [] }),
  },
];

test.each(DIALECTS)('$name', ({ events, closing: newClosing }) => {
  fc.assert(
    fc.property(fc.array(events, { maxLength: 12 }), (list) => {
      const closing = newClosing();
      const usage = new StreamUsage({ written: new WrittenTokens('compatible', 'model') });
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
