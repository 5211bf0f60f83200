/**
 * A skimmed answer is the same JSON with its long texts empty, wherever its bytes are cut; and events stay events.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonSkim } from '../../src/vendors/json-skim.ts';
import { SkimmedUsage } from '../../src/vendors/usage.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Texts of all that JSON escapes, some of them about as long as the bound. */
const text = fc
  .tuple(
    fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '/', 'é', '\u{1f44b}', '\u0001', '{', ']'), maxLength: 8 }),
    fc.constantFrom(0, 0, 1, 1_015, 1_024, 1_025, 3_000),
  )
  .map(([some, length]) => some + 'x'.repeat(length) + some);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.integer(),
    fc.constantFrom(true, null),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('b64_json', 'a "name"', 'usage', '\\'), tie('json'), { maxKeys: 3 }),
  ),
}));
const cuts = fc.array(fc.nat(10_000), { maxLength: 12 });

function skimmed(bytes: Uint8Array, at: readonly number[]): string {
  const skim = new JsonSkim();
  const ends = [...new Set(at.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  return ends
    .map((end, index) => skim.push(bytes.slice(ends[index - 1] ?? 0, end)))
    .map((part) => decoder.decode(part, { stream: true }))
    .join('');
}

/** The value with each text empty whose JSON has more than 1,024 bytes. */
function withoutLong(value: unknown): unknown {
  if (typeof value === 'string') return encoder.encode(JSON.stringify(value)).length - 2 > 1_024 ? '' : value;
  if (Array.isArray(value)) return value.map(withoutLong);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutLong(member)]));
}

test('a document is the same but for its long texts', () => {
  fc.assert(
    fc.property(json, cuts, fc.boolean(), (value, at, spaced) => {
      const bytes = encoder.encode(JSON.stringify(value, null, spaced ? 1 : undefined));
      expect(JSON.parse(skimmed(bytes, at))).toEqual(withoutLong(value));
    }),
  );
});

test('events are the same but for their long texts, whatever lines stand between them', () => {
  const line = fc.constantFrom(': a "comment', ': "', 'data: [DONE]', '', ': \\');
  fc.assert(
    fc.property(fc.array(fc.tuple(json, line), { maxLength: 4 }), cuts, (events, at) => {
      const written = (of: (value: unknown) => unknown) =>
        events.map(([value, between]) => `data: ${JSON.stringify(of(value))}\n\n${between}\n`).join('');
      const { length } = written((value) => value);
      const text = skimmed(encoder.encode(written((value) => value)), at);
      const data = (of: string) => of.split('\n').filter((one) => one.startsWith('data: ') && one !== 'data: [DONE]');
      expect(data(text).map((one) => JSON.parse(one.slice(6)))).toEqual(events.map(([value]) => withoutLong(value)));
      expect(text.length).toBeLessThanOrEqual(length);
    }),
  );
});

test('of a picture of any size only its usage is held', () => {
  const usage = { input_tokens: 7, output_tokens: 9 };
  const reading = new SkimmedUsage();
  reading.push(encoder.encode('data: {"type":"image_generation.completed","b64_json":"'));
  const megabyte = encoder.encode('A'.repeat(1024 * 1024));
  for (let index = 0; index < 50; index += 1) reading.push(megabyte);
  reading.push(encoder.encode(`","usage":${JSON.stringify(usage)}}\n\n`));
  reading.end();
  expect(reading.usage()).toMatchObject({ inputTokens: 7, responseTokens: 9, imageOutputTokens: 9 });
});
