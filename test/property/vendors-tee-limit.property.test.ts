/**
 * Wherever the network cuts a stream, its limit is asked before more than it granted is passed, and the count of the
 * stream is the count of its text.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StreamLimit } from '../../src/vendors/tee.ts';
import { TokenCount } from '../../src/vendors/token-count.ts';
import { cut, DONE, delta, meter, sentBy, text } from '../support/metered-stream.ts';

const words = fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }), { maxLength: 12 });
const cuts = fc.array(fc.nat(), { maxLength: 30 });

/** The count after each of the words; only words with text count. */
function countPieces(list: string[]): number[] {
  const count = new TokenCount();
  let pieces = 0;
  return list.map((word) => {
    count.add(word);
    if (word !== '') pieces += 1;
    return Math.max(count.tokens, pieces);
  });
}

test('what passes is the longest beginning that was granted, and the count is that of the text that came', async () => {
  await fc.assert(
    fc.asyncProperty(words, cuts, fc.nat({ max: 120 }), fc.boolean(), async (list, places, granted, later) => {
      const counts = countPieces(list);
      const asked: number[] = [];
      const limit: StreamLimit = {
        mayContinue: (tokens) => {
          asked.push(tokens);
          if (tokens > granted) return Promise.resolve(false);
          return later ? Promise.resolve(true) : true;
        },
        passed: () => undefined,
        close: () => DONE,
      };
      const bytes = new TextEncoder().encode(list.map((word) => delta(word)).join('') + DONE);
      const { stream, ended } = meter(sentBy(...cut(bytes, places)), { limit });
      const refusedAt = counts.findIndex((count) => count > granted);
      const passed = refusedAt === -1 ? list : list.slice(0, refusedAt);
      expect(await text(stream)).toBe(passed.map((word) => delta(word)).join('') + DONE);
      const came = refusedAt === -1 ? counts : counts.slice(0, refusedAt + 1);
      expect(await ended).toMatchObject({
        end: refusedAt === -1 ? 'completed' : 'stopped',
        outputTokens: came.at(-1) ?? 0,
      });
      expect(asked).toEqual([...new Set(came)].filter((count) => count > 0));
    }),
    { numRuns: 200 },
  );
});
