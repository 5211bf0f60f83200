/**
 * No honest customer is stopped: credit pays for each request of the corpus at the catalog's prices, except the listed
 * ones with a use that has no rate or no bound.
 */
import { describe, expect, test } from 'vitest';
import { boundOfCorpus, REFUSED_OF_CORPUS } from '../support/corpus-on-credit.ts';
import { CORPUS_DIALECTS, requestCorpus } from '../support/request-corpus.ts';

test('is refused only for what is listed', async () => {
  const refused: Record<string, number> = {};
  for (const dialect of CORPUS_DIALECTS) {
    for (const request of requestCorpus(dialect)) {
      const { gap } = await boundOfCorpus(dialect, request);
      if (!gap) continue;
      const what = `${dialect}: ${gap.code} ${gap.component}`;
      refused[what] = (refused[what] ?? 0) + 1;
    }
  }
  expect(refused).toEqual(REFUSED_OF_CORPUS);
});

describe('what a request cannot say', () => {
  test.each(CORPUS_DIALECTS)('a field that nobody knows makes each request of %s open', async (dialect) => {
    for (const request of requestCorpus(dialect)) {
      if ((await boundOfCorpus(dialect, request)).gap) continue;
      const body = { ...request.body, from_tomorrow: 1 };
      const { gap } = await boundOfCorpus(dialect, { ...request, body });
      expect(gap).toMatchObject({ code: 'BOUND_UNKNOWN', param: 'from_tomorrow' });
    }
  });
});
