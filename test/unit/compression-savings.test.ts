/**
 * The savings of compression on realistic prompts, to the token, and the text that must remain.
 */
import { describe, expect, test } from 'vitest';
import { compressText } from '../../src/compression/compress.ts';
import { TECHNIQUES } from '../../src/compression/techniques.ts';
import { countTokens } from '../compression/figures.ts';
import { AGENT, ANALYSIS, CODE, POLICY, SUPPORT } from '../compression/prompts.ts';

/** Tokens of o200k_base before, and after at aggressiveness 0, 0.5 and 1. */
describe.each([
  {
    name: 'a support answer with retrieved sources',
    text: SUPPORT,
    tokens: [215, 215, 215, 151],
    kept: ['"I   want my money back, please!!!"', POLICY, 'do not promise anything', '[Source 3]'],
  },
  {
    name: 'a question about a table of 20 orders',
    text: ANALYSIS,
    tokens: [952, 593, 593, 353],
    kept: ['48219', 'Alan Turing'],
  },
  {
    name: 'an agent with plain instructions',
    text: AGENT,
    tokens: [71, 68, 56, 56],
    kept: ['You are the planner of a sales team. ', 'there are many time zones, name the zone.'],
  },
  {
    name: 'a review of code',
    text: CODE,
    tokens: [88, 88, 88, 78],
    kept: ['Item[])   {\n    // please   keep the order\n', '`total([])`'],
  },
])('$name', ({ text, tokens: [before, ...after], kept }) => {
  test.each([0, 0.5, 1].map((aggressiveness, index) => ({ aggressiveness, tokens: after[index] })))(
    'at aggressiveness $aggressiveness has $tokens tokens',
    ({ aggressiveness, tokens }) => {
      const profile = { techniques: TECHNIQUES, aggressiveness, protectedPhrases: ['Acme Corp'], minInputTokens: 0 };
      const result = compressText(text, profile, countTokens);
      for (const part of kept) expect(result.text).toContain(part);
      expect([result.originalTokens, result.compressedTokens]).toEqual([before, tokens]);
    },
  );
});

test('the support prompt is shorter with the same content', () => {
  const { text } = compressText(SUPPORT, {
    techniques: TECHNIQUES,
    aggressiveness: 1,
    protectedPhrases: ['Acme Corp'],
    minInputTokens: 0,
  });
  expect(text).toBe(`Act as a support agent for Acme Corp. Make sure you always answer in the language of the customer!

=== CONTEXT ===

[Source 1]
${POLICY}

[Source 2]
Because shipping costs are charged by the carrier, they are not refunded. In the event that an item arrives broken, the customer is able to choose between a refund and a replacement.

[Source 3]

=== QUESTION ===

The customer is upset. The customer wrote: "I   want my money back, please!!!"

Answer to calm the customer down? The answer may have five sentences, and do not promise anything that the sources do not say.`);
});
