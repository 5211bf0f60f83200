/**
 * The output that a request asks for is read from every shape, and a bound reaches the vendor under its own name.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VendorKind } from '../../src/domain/vendor-kind.ts';
import { hasOutputBound, outputAsked, withOutputBound } from '../../src/gateway/demand/output.ts';

type Body = Record<string, unknown>;
const CHAT = 'chat/completions';
const GOOGLE = 'https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash:generateContent?alt=sse';

describe('a request asks for', () => {
  const GOOGLE = ':generateContent';
  test.each<[string, Body, number | null, number]>([
    [CHAT, { messages: [] }, null, 1],
    [CHAT, { max_tokens: 5 }, 5, 1],
    [CHAT, { max_completion_tokens: 7, max_tokens: 9 }, 7, 1],
    ['responses', { max_output_tokens: 20 }, 20, 1],
    [CHAT, { max_completion_tokens: 7, n: 3 }, 7, 3],
    [GOOGLE, { generationConfig: { maxOutputTokens: 64, candidateCount: 2 } }, 64, 2],
    [GOOGLE, { generation_config: { max_output_tokens: 64, candidate_count: 2 } }, 64, 2],
    [GOOGLE, { generationConfig: { maxOutputTokens: '64' } }, 64, 1],
    [CHAT, { max_tokens: null }, null, 1],
    [CHAT, { max_tokens: -1, n: 0 }, null, 1],
    // Vendors take 0 for no bound.
    [CHAT, { max_tokens: 0 }, null, 1],
    ['completions', { max_tokens: 10, prompt: ['a', 'b'], n: 2, best_of: 3 }, 10, 6],
    ['embeddings', { model: 'text-embedding-3-small', input: 'x' }, 0, 1],
    ['moderations', { model: 'omni-moderation-latest', input: 'x' }, 0, 1],
    // The bound of another endpoint does not count.
    ['responses', { max_tokens: 5, max_completion_tokens: 5 }, null, 1],
    ['messages', { max_completion_tokens: 5, max_output_tokens: 5 }, null, 1],
    [CHAT, { max_output_tokens: 5, generationConfig: { maxOutputTokens: 5 } }, null, 1],
    [GOOGLE, { max_tokens: 5, maxOutputTokens: 5 }, null, 1],
  ])('at %s %j: %j tokens, %d times', (path, body, perAnswer, answers) => {
    expect(outputAsked(body, path)).toMatchObject({ perAnswer, answers });
  });

  test.each<[string, Body, { count: number; param: string } | undefined]>([
    [CHAT, { n: 128 }, { count: 128, param: 'n' }],
    [CHAT, { n: 1 }, undefined],
    ['completions', { n: 2, best_of: 9, prompt: ['a', 'b'] }, { count: 9, param: 'best_of' }],
    [GOOGLE, { generation_config: { candidateCount: '3' } }, { count: 3, param: 'generation_config.candidateCount' }],
    // Pictures and vectors are no answers of text, and several prompts no more answers of one.
    ['images/generations', { n: 10 }, undefined],
    ['embeddings', { n: 10, input: ['a', 'b'] }, undefined],
    ['completions', { prompt: ['a', 'b'] }, undefined],
  ])('at %s %j the field that asks for several answers of text is %j', (path, body, choices) => {
    expect(outputAsked(body, path).choices).toEqual(choices);
  });

  test.each<[string, number | null]>([
    ['https://api.openai.com/v1/embeddings', 0],
    ['/v1/moderations', 0],
    ['/v1beta/models/gemini-embedding-2:embedContent', 0],
    ['/v1beta/models/gemini-embedding-2:batchEmbedContents?key=x', 0],
    ['/v1/responses', null],
    ['/v1/images/generations', null],
  ])('at %s: %j tokens', (path, perAnswer) => {
    expect(outputAsked({ model: 'a', input: 'x' }, path).perAnswer).toBe(perAnswer);
  });
});

describe('a bound of 100', () => {
  const bounded = (kind: VendorKind, path: string, body: Body) => withOutputBound(body, { kind, path }, 100);

  test.each<[VendorKind, string, Body, Body]>([
    // The newest name if the vendor knows it, the oldest elsewhere.
    ['openai', CHAT, {}, { max_completion_tokens: 100 }],
    ['google', '/v1beta/openai/chat/completions', {}, { max_completion_tokens: 100 }],
    ['compatible', 'https://api.groq.com/openai/v1/chat/completions', {}, { max_tokens: 100 }],
    ['openai', CHAT, { max_tokens: 500 }, { max_tokens: 100 }],
    ['openai', CHAT, { max_completion_tokens: 500, max_tokens: 9 }, { max_completion_tokens: 9 }],
    ['azure', CHAT, { max_completion_tokens: 50, max_tokens: 500 }, { max_completion_tokens: 50 }],
    ['azure', CHAT, {}, { max_completion_tokens: 100 }],
    ['openai', CHAT, { max_completion_tokens: null }, { max_completion_tokens: 100 }],
    ['openai', CHAT, { max_tokens: -1 }, { max_completion_tokens: 100 }],
    // A vendor that may not know the newest name gets the oldest too.
    ['compatible', CHAT, { max_completion_tokens: 9 }, { max_completion_tokens: 9, max_tokens: 9 }],
    ['compatible', CHAT, { max_completion_tokens: 500 }, { max_completion_tokens: 100, max_tokens: 100 }],
    ['openrouter', CHAT, {}, { max_tokens: 100 }],
    ['compatible', CHAT, { max_tokens: -1 }, { max_tokens: 100 }],
    ['openai', 'responses', { input: 'x' }, { input: 'x', max_output_tokens: 100 }],
    ['openai', 'responses', { max_output_tokens: 500, max_tokens: 1 }, { max_output_tokens: 100, max_tokens: 1 }],
    ['openai', '/v1/completions', { prompt: 'x' }, { prompt: 'x', max_tokens: 100 }],
    ['anthropic', '/v1/messages', { max_tokens: 500 }, { max_tokens: 100 }],
    ['anthropic', '/v1/messages?beta=true', {}, { max_tokens: 100 }],
    ['google', GOOGLE, {}, { generationConfig: { maxOutputTokens: 100 } }],
    [
      'google',
      GOOGLE,
      { generationConfig: { maxOutputTokens: 500, topK: 1, thinkingConfig: { thinkingBudget: 400 } } },
      { generationConfig: { maxOutputTokens: 100, topK: 1, thinkingConfig: { thinkingBudget: 400 } } },
    ],
    [
      'google',
      GOOGLE,
      { generation_config: { max_output_tokens: 500 } },
      { generation_config: { max_output_tokens: 100 } },
    ],
    [
      'google',
      GOOGLE,
      { generationConfig: { maxOutputTokens: '500' } },
      { generationConfig: { maxOutputTokens: 100 } },
    ],
    ['google', GOOGLE, { generation_config: {} }, { generation_config: { maxOutputTokens: 100 } }],
  ])('for %s %s: %j becomes %j', (kind, path, body, expected) => {
    expect(bounded(kind, path, body)).toEqual(expected);
  });

  test.each<[VendorKind, string, Body]>([
    ['openai', CHAT, { max_tokens: 100 }],
    ['openai', CHAT, { max_completion_tokens: 4 }],
    ['compatible', CHAT, { max_tokens: 4 }],
    ['openai', 'responses', { max_output_tokens: 99 }],
    ['anthropic', '/v1/messages', { max_tokens: 50, thinking: { type: 'enabled', budget_tokens: 2_000 } }],
    ['google', GOOGLE, { generationConfig: { maxOutputTokens: '99' } }],
    ['openai', 'embeddings', { input: 'x' }],
    ['openai', '/v1/images/generations', { prompt: 'x' }],
    ['compatible', '/v2/generate', { max_tokens: 500 }],
  ])('for %s %s leaves as it is: %j', (kind, path, body) => {
    expect(bounded(kind, path, body)).toBe(body);
  });
});

test('a completion of text that names no bound has that of its vendor: 16 tokens for each prompt', () => {
  const prompt = ['a', 'b'];
  expect(outputAsked({ prompt }, 'completions')).toEqual({ perAnswer: 16, answers: 2 });
  expect(outputAsked({ prompt, max_tokens: 50 }, '/v1/completions')).toEqual({ perAnswer: 50, answers: 2 });
  expect(withOutputBound({ prompt }, { kind: 'openai', path: 'completions' }, 16)).toEqual({
    prompt,
    max_tokens: 16,
  });
});

test.each<[string, boolean]>([
  [CHAT, true],
  ['https://api.openai.com/v1/responses?x=1', true],
  ['/v1/messages/', true],
  ['/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse', true],
  ['/v1/embeddings', true],
  ['/v1/images/generations', false],
  ['/model/x/converse', false],
  ['/v1/chat%2Fcompletions', false],
])('the output at %s has a bound: %j', (path, expected) => {
  expect(hasOutputBound(path)).toBe(expected);
});

describe("Anthropic's budget for thinking", () => {
  const bounded = (bound: number, budget: number) =>
    withOutputBound(
      { max_tokens: 64_000, thinking: { type: 'enabled', budget_tokens: budget, display: 'omitted' } },
      { kind: 'anthropic', path: '/v1/messages' },
      bound,
    );
  const thinking = (budget: number) => ({ type: 'enabled', budget_tokens: budget, display: 'omitted' });

  test.each<[number, number, Body]>([
    [4_000, 2_000, { max_tokens: 4_000, thinking: thinking(2_000) }],
    [4_000, 32_000, { max_tokens: 4_000, thinking: thinking(2_000) }],
    [4_000, 4_000, { max_tokens: 4_000, thinking: thinking(2_000) }],
    [1_500, 32_000, { max_tokens: 1_500, thinking: thinking(1_024) }],
    [1_025, 32_000, { max_tokens: 1_025, thinking: thinking(1_024) }],
    [1_024, 32_000, { max_tokens: 1_024 }],
    [10, 32_000, { max_tokens: 10 }],
  ])('under a bound of %d: %d is refused by the vendor no more', (bound, budget, expected) => {
    expect(bounded(bound, budget)).toEqual(expected);
  });
});

test("the budget is lowered at the endpoint that is compatible with OpenAI's too", () => {
  const thinking = { type: 'enabled', budget_tokens: 8_000 };
  expect(withOutputBound({ max_tokens: 9_000, thinking }, { kind: 'anthropic', path: CHAT }, 4_000)).toEqual({
    max_tokens: 4_000,
    thinking: { type: 'enabled', budget_tokens: 2_000 },
  });
});

test('any JSON has an output that is whole and not negative, and a bound that holds', () => {
  const names = fc.constantFrom(
    'max_tokens',
    'max_completion_tokens',
    'n',
    'generationConfig',
    'maxOutputTokens',
    'thinking',
  );
  const shaped = fc.dictionary(names, fc.oneof(fc.jsonValue(), fc.double(), fc.dictionary(names, fc.jsonValue())));
  const places = fc.constantFrom(CHAT, 'responses', 'messages', GOOGLE, 'embeddings', '');
  fc.assert(
    fc.property(fc.oneof(shaped, fc.jsonValue()), places, fc.integer({ min: 1, max: 9_999 }), (body, path, bound) => {
      const asked = outputAsked(body, path);
      expect(Number.isSafeInteger(asked.answers) && asked.answers >= 1).toBe(true);
      expect(asked.perAnswer === null || (Number.isSafeInteger(asked.perAnswer) && asked.perAnswer >= 0)).toBe(true);
      if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
      const once = withOutputBound(body as Body, { kind: 'openai', path }, bound);
      expect(withOutputBound(once, { kind: 'openai', path }, bound)).toBe(once);
      if (path === CHAT || path === 'responses' || path === 'messages' || path === GOOGLE) {
        expect(outputAsked(once, path).perAnswer).toBeLessThanOrEqual(bound);
      }
    }),
  );
});
