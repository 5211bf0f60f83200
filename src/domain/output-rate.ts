/**
 * How fast a model writes: what one answer tells of it, and what is taken if none did.
 *
 * Only the highest rate counts, so slow answers tell nothing, and nobody can lower what others have shown. An answer
 * that is short, or faster than any model, may come from a cache and tells nothing either.
 */

/** Output tokens a second of one answer, if none was seen of the model. */
export const OUTPUT_RATE_UNKNOWN = 500;
/** A lower rate is that of a slow reader, or of a long wait before the first token. */
export const OUTPUT_RATE_MIN = 100;
/** More than the fastest models write today, which are at some 3,000. */
export const OUTPUT_RATE_MAX = 5_000;
/** What an answer must have, and how long it must take, to tell a rate. */
const ANSWER_TOKENS_MIN = 256;
const ANSWER_MS_MIN = 1_000;

/** How long a vendor worked at a request, and the answers that it asked for. */
export interface Worked {
  ms: number;
  answers: number;
}

/** The output tokens a second of one answer, in whole numbers; `undefined` if the answers tell none. */
export function outputRateOf(outputTokens: number, { ms, answers }: Worked): number | undefined {
  const tokens = outputTokens / answers;
  if (tokens < ANSWER_TOKENS_MIN || ms < ANSWER_MS_MIN) return undefined;
  const rate = Math.ceil((tokens * 1000) / ms);
  return rate > OUTPUT_RATE_MAX ? undefined : Math.max(OUTPUT_RATE_MIN, rate);
}
