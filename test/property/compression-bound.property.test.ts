/**
 * The savings that a session reports stay within the input of its call, whether the report is refused or cut.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundedCounts, compressionSavings, excessiveCount, SESSION_TOKENS_MAX } from '../../src/domain/compression.ts';

const tokens = fc.oneof(fc.nat(3_000), fc.nat({ max: 1_000_000_000 }));
const counts = fc
  .record({ originalTokens: tokens, compressedTokens: tokens })
  .map((both) => ({ provider: 'toon', techniques: [] as string[], ...both }));

test('after the end, accepted savings never exceed the input tokens, and limiting changes only rejected savings', () => {
  fc.assert(
    fc.property(counts, tokens, (reported, inputTokens) => {
      const refused = excessiveCount(reported, inputTokens);
      const bounded = boundedCounts(reported, inputTokens);
      expect(excessiveCount(bounded, inputTokens)).toBeNull();
      expect(compressionSavings(bounded, null).savedTokens).toBeLessThanOrEqual(inputTokens);
      if (refused) expect(reported[refused.field]).toBeGreaterThan(refused.max);
      else expect(bounded).toEqual(reported);
    }),
  );
});

test('before the end, both counts have the same limit', () => {
  fc.assert(
    fc.property(counts, (reported) => {
      const isWithin = reported.originalTokens <= SESSION_TOKENS_MAX && reported.compressedTokens <= SESSION_TOKENS_MAX;
      expect(excessiveCount(reported, null) === null).toBe(isWithin);
    }),
  );
});
