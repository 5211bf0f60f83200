/**
 * A skimmed answer is the same JSON without its long texts, wherever its bytes are cut; and events stay events. Its
 * usage is kept whatever comes before it, in bounded memory.
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

function skimmed(bytes: Uint8Array, at: readonly number[], of: 'document' | 'lines' = 'document'): string {
  const skim = new JsonSkim(of);
  const ends = [...new Set(at.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  return ends
    .map((end, index) => skim.push(bytes.slice(ends[index - 1] ?? 0, end)))
    .map((part) => decoder.decode(part, { stream: true }))
    .join('');
}

/**
 * The value with empty texts in place of those whose JSON has more than 1,024 bytes, and with lists without numbers and
 * literals.
 */
function withoutLong(value: unknown): unknown {
  if (typeof value === 'string') return encoder.encode(JSON.stringify(value)).length - 2 > 1_024 ? '' : value;
  if (Array.isArray(value))
    return value
      .filter((item) => typeof item === 'string' || (typeof item === 'object' && item !== null))
      .map(withoutLong);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutLong(member)]));
}

test('a document is the same but for what is long in it', () => {
  fc.assert(
    fc.property(json, cuts, fc.boolean(), (value, at, spaced) => {
      // Around lists and objects everything stays.
      const document = typeof value === 'object' ? value : [value];
      const bytes = encoder.encode(JSON.stringify(document, null, spaced ? 1 : undefined));
      expect(JSON.parse(skimmed(bytes, at))).toEqual(withoutLong(document));
    }),
  );
});

test('events are the same but for what is long in them, whatever lines stand between them', () => {
  const line = fc.constantFrom(': a "comment', ': "', ': {', 'data: {"broken": [', 'data: [DONE]', '', ': \\');
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.dictionary(fc.constantFrom('b64_json', 'usage'), json), line), { maxLength: 4 }),
      cuts,
      (events, at) => {
        const written = (of: (value: unknown) => unknown) =>
          events.map(([value, between]) => `data: ${JSON.stringify(of(value))}\n\n${between}\n`).join('');
        const { length } = written((value) => value);
        const text = skimmed(encoder.encode(written((value) => value)), at, 'lines');
        const data = (of: string) => of.split('\n').filter((one) => /^data: \{.*\}$/.test(one));
        expect(data(text).map((one) => JSON.parse(one.slice(6)))).toEqual(events.map(([value]) => withoutLong(value)));
        expect(text.length).toBeLessThanOrEqual(length);
      },
    ),
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

test.each([
  ['logprobs', '{"token":"a","logprob":-0.1,"bytes":[97],"top_logprobs":[]}'],
  ['pictures', `{"b64_json":"${'A'.repeat(4_000)}"}`],
  ['vectors', `{"embedding":[${'0.25,'.repeat(500)}1]}`],
  ['texts', '"some text"'],
])('of any number of %s the usage is kept, before and after them', (_, item) => {
  const items = encoder.encode(`${item},`.repeat(Math.ceil(100_000 / item.length)));
  const skim = new JsonSkim();
  const kept: Uint8Array[] = [skim.push(encoder.encode('{"usageMetadata":{"details":[{"of":"TEXT"}]},"data":['))];
  for (let index = 0; index < 300; index += 1) kept.push(skim.push(items));
  kept.push(skim.push(encoder.encode(`${item}],"model":"m","usage":{"details":[{"tokens":7}],"n":9}}`)));
  const bytes = Buffer.concat(kept);
  expect(bytes.length).toBeLessThan(600_000);
  expect(JSON.parse(bytes.toString())).toMatchObject({
    usageMetadata: { details: [{ of: 'TEXT' }] },
    model: 'm',
    usage: { details: [{ tokens: 7 }], n: 9 },
  });
});

test('a document of nothing but members is bounded too, and stays JSON', () => {
  const skim = new JsonSkim();
  const members = Array.from({ length: 200_000 }, (_, index) => `"name ${index}":{"a":${index}}`).join(',');
  const kept = skim.push(encoder.encode(`{${members}}`));
  expect(kept.length).toBeLessThan(600_000);
  expect(JSON.parse(decoder.decode(kept))['name 1']).toEqual({ a: 1 });
});
