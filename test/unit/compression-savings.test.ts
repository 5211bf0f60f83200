/**
 * What compression saves on prompts as applications write them, to the token, and what must still be in them.
 */
import { describe, expect, test } from 'vitest';
import { compressText } from '../../src/compression/compress.ts';
import { TECHNIQUES } from '../../src/compression/techniques.ts';

const POLICY =
  'Refunds are possible within 30 days of delivery, provided that the item is unused and in its original packaging.';

const SUPPORT = `Hello,

I would like you to act as a support agent for Acme Corp. Please make sure that you always answer in the language of the customer!!!

==================== CONTEXT ====================

[Source 1]
${POLICY}

[Source 2]
Due to the fact that shipping costs are charged by the carrier, they are not refunded. In the event that an item arrives broken, the customer is able to choose between a refund and a replacement.

[Source 3]
${POLICY}

==================== QUESTION ====================

It is important to note that the customer is really upset. The customer wrote: "I   want my money back, please!!!"

Could you please answer in order to calm the customer down?   Please note that the answer may have five sentences, and please do not promise anything that the sources do not say.

Thank you very much in advance!
`;

const ORDERS = Array.from({ length: 20 }, (_, index) => ({
  orderId: 48_200 + index,
  customer: ['Ada Lovelace', 'Alan Turing', 'Grace Hopper'][index % 3],
  country: ['DE', 'FR', 'US', 'BR'][index % 4],
  amountCents: 1_999 + index * 350,
  shipped: index % 5 !== 0,
}));
const ANALYSIS = `You are a data analyst. Here are the last orders:

${JSON.stringify(ORDERS, null, 2)}

Which country has the highest revenue? Answer with the country and the sum in cents.`;

const CODE = `Please review the following function. In order to be helpful, be specific.

\`\`\`ts
export function total(items: Item[])   {
    // please   keep the order
    return items.reduce((sum, item) => sum + item.price,   0);
}
\`\`\`

The config is {"currency": "EUR", "rounding": "half-up"} and \`total([])\` must be 0. Thanks in advance.`;

/** Estimated tokens before, and after at aggressiveness 0, 0.5 and 1. */
describe.each([
  {
    name: 'a support answer with retrieved sources',
    text: SUPPORT,
    tokens: [222, 217, 167, 149],
    kept: ['"I   want my money back, please!!!"', POLICY, 'do not promise anything', '[Source 3]'],
  },
  {
    name: 'a question about a table of 20 orders',
    text: ANALYSIS,
    tokens: [974, 331, 331, 331],
    kept: ['  48219,Alan Turing,BR,8649,true\n'],
  },
  {
    name: 'a review of code',
    text: CODE,
    tokens: [94, 91, 84, 84],
    kept: ['Item[])   {\n    // please   keep the order\n', '`total([])`'],
  },
])('$name', ({ text, tokens: [before, ...after], kept }) => {
  test.each([0, 0.5, 1].map((aggressiveness, index) => ({ aggressiveness, tokens: after[index] })))(
    'at aggressiveness $aggressiveness has $tokens tokens',
    ({ aggressiveness, tokens }) => {
      const result = compressText(text, {
        techniques: TECHNIQUES,
        aggressiveness,
        protectedPhrases: ['Acme Corp'],
        minInputTokens: 0,
      });
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
  expect(text).toBe(`Act as a support agent for Acme Corp. Be sure to always answer in the language of the customer!

=== CONTEXT ===

[Source 1]
${POLICY}

[Source 2]
Because shipping costs are charged by the carrier, they are not refunded. If an item arrives broken, the customer can choose between a refund and a replacement.

[Source 3]

=== QUESTION ===

The customer is upset. The customer wrote: "I   want my money back, please!!!"

Answer to calm the customer down? The answer may have five sentences, and do not promise anything that the sources do not say.`);
});
