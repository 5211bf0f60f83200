/**
 * When calls come: the shape of public traces of language models in production.
 *
 * Day: the Azure LLM inference traces of May 2024 (44.1 million requests of a week; Microsoft, CC BY 4.0). On weekdays
 * the busiest hour has 10.0 times the calls of the quietest in coding (124,202 an hour on average) and 2.0 times in
 * conversation (185,431 an hour). Minute: the traces of November 2023 (19,366 requests of conversation and 8,819 of coding
 * within an hour): the standard deviation of a minute's calls, without that of a Poisson process, by their mean.
 * No part of the traces is kept here, only these figures of them.
 */

const CODING = { callsPerHour: 124_202, peakByTrough: 10, minuteVariation: 1.04 };
const CONVERSATION = { callsPerHour: 185_431, peakByTrough: 2, minuteVariation: 0.21 };

/** A sine over the day with this ratio has its peak so far above the mean, as a share of it. */
export const amplitudeOf = (peakByTrough: number) => (peakByTrough - 1) / (peakByTrough + 1);

/** The ratio of a weekday's busiest hour to its mean hour, if both kinds of calls peak together. */
export const PEAK_BY_MEAN =
  1 +
  (CODING.callsPerHour * amplitudeOf(CODING.peakByTrough) +
    CONVERSATION.callsPerHour * amplitudeOf(CONVERSATION.peakByTrough)) /
    (CODING.callsPerHour + CONVERSATION.callsPerHour);

/** The share among all calls. */
export const CODING_SHARE = CODING.callsPerHour / (CODING.callsPerHour + CONVERSATION.callsPerHour);

export const MINUTE_VARIATION = { coding: CODING.minuteVariation, conversation: CONVERSATION.minuteVariation };

/** Zipf's law: the k-th of `count` has 1/k of the first one's amount. Returns the first one's share of all. */
export function largestShare(count: number): number {
  return 1 / harmonic(count);
}

/** The share of all that is beyond `most` of each, if the first one has `largest`. */
export function shareBeyond(count: number, largest: number, most: number): number {
  const ranks = Math.min(count, Math.floor(largest / most));
  return (harmonic(ranks) - (ranks * most) / largest) / harmonic(count);
}

function harmonic(count: number): number {
  let sum = 0;
  for (let rank = 1; rank <= count; rank += 1) sum += 1 / rank;
  return sum;
}
