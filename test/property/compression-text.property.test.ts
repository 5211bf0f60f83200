/**
 * Whatever the text: compression never lengthens it, compressing twice is compressing once, protected spans are kept
 * byte for byte and in order, and the savings by technique add up to the whole.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compressText } from '../../src/compression/compress.ts';
import { compressMessages } from '../../src/compression/messages.ts';
import { joinSegments, splitSegments } from '../../src/compression/segments.ts';
import { type CompressionProfile, TECHNIQUES } from '../../src/compression/techniques.ts';
import { estimateTokens } from '../../src/compression/tokens.ts';
import { CHARACTER } from '../support/characters.ts';
import { swept } from '../support/sweep.ts';

const SENTENCES = [
  'Please summarize the report.',
  'In order to win, you are able to act.',
  'It is important to note that the very first item counts!!!',
  'Could you please please kindly answer?',
  'The quick brown fox jumps over the lazy dog, thank you.',
  'THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG, THANK YOU.',
  'Thank you very much in advance!',
  'Hello,',
  'This is **really** bold, as you know, basically.',
  '==========',
  '| a    | b |\n|------|---|',
  '- [ ] kindly do it',
];
const MARKS = [
  '"',
  '`',
  '``',
  '```',
  '\n```\n',
  '~~~',
  '\n~~~~\n',
  '“',
  '”',
  '„',
  '«',
  '»',
  '‘',
  '’',
  '<nocompress>',
  '</nocompress>',
  '{',
  '}',
  '[',
  ']',
  '\\',
  '\\"',
  '"""',
  ':',
  ',',
  '<',
  '\uFFFC',
  '\ud83d',
  '\0',
];
const DATA = [
  '[{"id": 1, "name": "a  b"}, {"id": 2, "name": "please"}, {"id": 3, "name": "c"}, {"id": 4, "name": "d"}]',
  '{"a" : [1, 2, 3], "b": {"c":   null}}',
  '{"a":1, "a":2,  "b":-0}',
];
const PROTECTED = [
  '"please   keep"',
  '`a   b`',
  '“in order to”',
  '<nocompress>very   very!!!</nocompress>',
  'https://a.example/please/x?y=very',
  '\n```js\nlet  x = {"a":   1}\n```\n',
  '«a   b»',
];
const PHRASES = ['in order to', 'Please', 'very', '  ', 'name', '"'];

const prose = fc.oneof(
  fc.constantFrom(...SENTENCES),
  fc.constantFrom(' ', '  ', '\n', '\n\n', '\n\n\n', '\r\n', '\t', ' and ', ' \n '),
  fc.lorem({ maxCount: 6 }),
);
const anything = fc.oneof(
  prose,
  fc.constantFrom(...MARKS),
  fc.constantFrom(...DATA),
  fc.constantFrom(...PROTECTED),
  fc.string({ unit: CHARACTER, maxLength: 8 }),
);
/** Examples of instructions below 0.7, and of the marks that end them. */
const instructions = fc
  .array(
    fc.constantFrom(
      'In order to win, act.',
      'Make sure that you act.',
      'Due to the fact that it is a holiday, rest.',
      'Be kind to all.',
      ' ',
      '  ',
      '\n',
      '\n\n\n\n',
      '\r\n',
      ' \n',
      ...MARKS,
    ),
    { maxLength: 12 },
  )
  .map((parts) => `You are an agent of Acme. ${parts.join('')}`);
const texts = fc.oneof(
  { weight: 3, arbitrary: fc.array(anything, { maxLength: 24 }).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: instructions },
);
const profiles: fc.Arbitrary<CompressionProfile> = fc.record({
  techniques: fc.oneof(fc.constant([...TECHNIQUES]), fc.subarray([...TECHNIQUES])),
  aggressiveness: fc.constantFrom(0, 0.2, 0.3, 0.5, 0.7, 1),
  protectedPhrases: fc.subarray(PHRASES),
  minInputTokens: fc.constantFrom(0, 0, 0, 30),
});
const RUNS = { numRuns: swept(1_000, 300) };

/** The positions of the parts, each after the one before it. */
function inOrder(parts: readonly string[], text: string): boolean {
  let at = 0;
  return parts.every((part) => {
    const found = text.indexOf(part, at);
    at = found + part.length;
    return found >= 0;
  });
}

test('a compressed text is never longer, in characters or in estimated tokens, and its savings add up', () => {
  fc.assert(
    fc.property(texts, profiles, (text, profile) => {
      const result = compressText(text, profile);
      expect(result.text.length).toBeLessThanOrEqual(text.length);
      expect(result.originalTokens).toBe(estimateTokens(text));
      expect(result.compressedTokens).toBe(estimateTokens(result.text));
      expect(result.compressedTokens).toBeLessThanOrEqual(result.originalTokens);
      const saved = result.techniques.map(({ savedTokens }) => savedTokens);
      expect(saved.every((tokens) => tokens >= 0)).toBe(true);
      expect(saved.reduce((sum, tokens) => sum + tokens, 0)).toBe(result.originalTokens - result.compressedTokens);
      if (result.techniques.length === 0) expect(result.text).toBe(text);
    }),
    RUNS,
  );
});

test('compressing twice is compressing once', () => {
  fc.assert(
    fc.property(texts, profiles, (text, profile) => {
      const once = compressText(text, profile);
      expect(compressText(once.text, profile)).toEqual({
        text: once.text,
        originalTokens: once.compressedTokens,
        compressedTokens: once.compressedTokens,
        techniques: [],
      });
    }),
    RUNS,
  );
});

test('protected spans in any prose stay unchanged and in order', () => {
  const words = fc.array(prose, { minLength: 1, maxLength: 4 }).map((parts) => ` ${parts.join(' ')} `);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(words, fc.constantFrom(...PROTECTED)), { maxLength: 8 }),
      profiles,
      (pairs, profile) => {
        const { text } = compressText(pairs.flat().join(''), profile);
        expect(
          inOrder(
            pairs.map(([, span]) => span.trim()),
            text,
          ),
        ).toBe(true);
      },
    ),
    RUNS,
  );
});

test('protected spans stay unchanged and in order even in malformed text', () => {
  fc.assert(
    fc.property(texts, profiles, (text, profile) => {
      const segments = splitSegments(text, profile.protectedPhrases);
      expect(joinSegments(segments)).toBe(text);
      const spans = segments.filter(({ kind }) => kind === 'protected').map((segment) => segment.text);
      expect(inOrder(spans, compressText(text, profile).text)).toBe(true);
    }),
    RUNS,
  );
});

test('every occurrence of a protected phrase stays unchanged', () => {
  const count = (text: string, phrase: string) => text.split(phrase).length - 1;
  fc.assert(
    fc.property(
      texts,
      fc.subarray(['in order to', 'very', 'name', 'Please'], { minLength: 1 }),
      (text, protectedPhrases) => {
        const result = compressText(text, {
          techniques: TECHNIQUES,
          aggressiveness: 1,
          protectedPhrases,
          minInputTokens: 0,
        });
        for (const phrase of protectedPhrases)
          expect(count(result.text, phrase)).toBeGreaterThanOrEqual(count(text, phrase));
      },
    ),
    RUNS,
  );
});

test('without techniques nothing changes', () => {
  fc.assert(
    fc.property(texts, profiles, (text, profile) => {
      expect(compressText(text, { ...profile, techniques: [] })).toMatchObject({ text, techniques: [] });
    }),
  );
});

test('the estimate of a prefix never exceeds the estimate of the whole text', () => {
  fc.assert(
    fc.property(texts, fc.nat(400), (text, length) => {
      expect(estimateTokens(text.slice(0, length))).toBeLessThanOrEqual(estimateTokens(text));
    }),
    RUNS,
  );
});

test('a conversation is compressed text by text: never longer, idempotent, and nothing but texts changes', () => {
  const content = fc.oneof(
    texts,
    fc.array(
      fc.record({
        type: fc.constantFrom('text', 'image'),
        text: texts,
        cache_control: fc.constant({ type: 'ephemeral' }),
      }),
      {
        maxLength: 3,
      },
    ),
  );
  const messages = fc.array(
    fc.record({ role: fc.constantFrom('system', 'user', 'assistant', 'tool'), content, id: fc.string() }),
    {
      maxLength: 5,
    },
  );
  const withoutTexts = (list: unknown) =>
    JSON.stringify(list, (key, value) =>
      (key === 'text' || key === 'content') && typeof value === 'string' ? '' : value,
    );
  fc.assert(
    fc.property(messages, profiles, (list, profile) => {
      const before = JSON.stringify(list);
      const result = compressMessages(list, profile);
      expect(JSON.stringify(list)).toBe(before);
      expect(withoutTexts(result.messages)).toBe(withoutTexts(list));
      expect(result.compressedTokens).toBeLessThanOrEqual(result.originalTokens);
      expect(result.techniques.reduce((sum, { savedTokens }) => sum + savedTokens, 0)).toBe(
        result.originalTokens - result.compressedTokens,
      );
      expect(compressMessages(result.messages, profile)).toMatchObject({
        messages: result.messages,
        originalTokens: result.compressedTokens,
        techniques: [],
      });
    }),
    { numRuns: swept(200, 60) },
  );
});
