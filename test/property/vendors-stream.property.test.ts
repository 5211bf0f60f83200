/**
 * A stream yields the same usage wherever the network cuts it, and passes byte for byte.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventBlocks, joined } from '../../src/vendors/event-blocks.ts';
import { StreamUsage } from '../../src/vendors/usage.ts';
import { cut } from '../support/metered-stream.ts';

const encoder = new TextEncoder();
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const word = fc.string({ unit: 'grapheme', maxLength: 12 });

const chatEvents = fc
  .tuple(fc.array(word, { maxLength: 6 }), fc.nat({ max: 999 }), fc.nat({ max: 999 }), fc.boolean())
  .map(([words, prompt, completion, comments]) => {
    const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
    const lines = [
      ...words.map(
        (content) =>
          `data: ${JSON.stringify({ model: 'gpt-5.2', choices: [{ delta: { content }, finish_reason: null }], usage: null })}`,
      ),
      `data: ${JSON.stringify({ model: 'gpt-5.2', choices: [{ delta: {}, finish_reason: 'stop' }] })}`,
      `data: ${JSON.stringify({ model: 'gpt-5.2', choices: [], usage })}`,
      'data: [DONE]',
    ];
    return { events: comments ? lines.flatMap((line) => [': keep-alive', line]) : lines, prompt, completion };
  });

const cuts = fc.array(fc.nat(), { maxLength: 30 });

describe('server-sent events', () => {
  test('give the same usage for every cut and every line ending', () => {
    fc.assert(
      fc.property(chatEvents, lineEnd, cuts, ({ events, prompt, completion }, ending, places) => {
        const usage = new StreamUsage();
        const text = events.map((event) => `${event}${ending}${ending}`).join('');
        for (const part of cut(encoder.encode(text), places)) usage.push(part);
        usage.end();
        expect(usage.usage()).toMatchObject({ inputTokens: prompt, responseTokens: completion, modelUsed: 'gpt-5.2' });
        expect(usage.completed).toBe(true);
      }),
    );
  });

  test('give the same usage byte by byte', () => {
    fc.assert(
      fc.property(chatEvents, lineEnd, ({ events, prompt, completion }, ending) => {
        const usage = new StreamUsage();
        // One buffer for all of them, as a runtime may do.
        const buffer = new Uint8Array(1);
        for (const byte of encoder.encode(events.map((event) => `${event}${ending}${ending}`).join(''))) {
          buffer[0] = byte;
          usage.push(buffer);
        }
        expect(usage.usage()).toMatchObject({ inputTokens: prompt, responseTokens: completion });
      }),
      { numRuns: 30 },
    );
  });
});

test('an array of chunks gives the same usage for every cut and every string', () => {
  const texts = fc.array(fc.oneof(word, fc.constantFrom('}]', '{"a":"', '\\"', '[{', '"')), {
    minLength: 1,
    maxLength: 5,
  });
  fc.assert(
    fc.property(
      texts,
      fc.nat({ max: 999 }),
      cuts,
      fc.constantFrom(undefined, 2),
      (list, candidates, places, indent) => {
        const chunks = list.map((text, index) => ({
          candidates: [{ content: { parts: [{ text }] }, ...(index === list.length - 1 && { finishReason: 'STOP' }) }],
          usageMetadata: { promptTokenCount: 3, candidatesTokenCount: candidates + index },
        }));
        const usage = new StreamUsage();
        for (const part of cut(encoder.encode(JSON.stringify(chunks, null, indent)), places)) usage.push(part);
        usage.end();
        expect(usage.usage()).toMatchObject({ inputTokens: 3, responseTokens: candidates + list.length - 1 });
        expect(usage.completed).toBe(true);
      },
    ),
  );
});

test('the blocks of any bytes add up to those bytes, and none is longer than the bound and one chunk', () => {
  const noise = fc.array(
    fc.oneof(fc.constantFrom('\n', '\r', '\r\n', 'data: x', ':', '{', '}', '[', ']', '"', '\\'), word),
    {
      maxLength: 40,
    },
  );
  fc.assert(
    fc.property(noise, cuts, fc.integer({ min: 1, max: 50 }), (parts, places, bytesMax) => {
      const bytes = encoder.encode(parts.join(''));
      const pieces = cut(bytes, places);
      const blocks = new EventBlocks(bytesMax);
      const out = [...pieces.flatMap((piece) => blocks.push(piece)), ...blocks.end()];
      expect([...joined(out.map((block) => block.bytes))]).toEqual([...bytes]);
      const longest = Math.max(0, ...pieces.map((piece) => piece.length));
      for (const block of out) expect(block.bytes.length).toBeLessThanOrEqual(bytesMax + longest);
    }),
    { numRuns: 500 },
  );
});

test('no bytes make the reader throw', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 60 })), (pieces) => {
      const usage = new StreamUsage();
      for (const piece of pieces) usage.push(piece);
      usage.end();
      expect(usage.usage()).toBeNull();
    }),
  );
});
