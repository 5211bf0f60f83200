/**
 * How fast a model writes: the rate that one answer shows, and the rate to use if none did.
 *
 * Only the highest rate counts, so slow answers show nothing, and nobody can lower the rate that others have shown. An
 * answer that is short, or faster than any model, may come from a cache and is ignored too.
 */

/** Output tokens a second of one answer, if none was observed for the model. */
export const OUTPUT_RATE_UNKNOWN = 500;
/** A lower rate is caused by a slow reader, or by a long wait before the first token. */
export const OUTPUT_RATE_MIN = 100;
/** More than the fastest models write today: about 3,000. */
export const OUTPUT_RATE_MAX = 5_000;
/** The least tokens and time of an answer that shows a rate. */
const ANSWER_TOKENS_MIN = 256;
const ANSWER_MS_MIN = 1_000;

/** How long a vendor worked at a request, and the number of requested answers. */
export interface Worked {
  ms: number;
  answers: number;
}

/** The output tokens a second of one answer, in whole numbers; `undefined` if the answers show none. */
export function measureOutputRate(outputTokens: number, { ms, answers }: Worked): number | undefined {
  const tokens = outputTokens / answers;
  if (tokens < ANSWER_TOKENS_MIN || ms < ANSWER_MS_MIN) return undefined;
  const rate = Math.ceil((tokens * 1000) / ms);
  return rate > OUTPUT_RATE_MAX ? undefined : Math.max(OUTPUT_RATE_MIN, rate);
}
