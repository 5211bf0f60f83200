/**
 * Deviations of a series: buckets whose quantity is further from its expectation than chance allows, and by a ratio
 * that matters. Neighbours with raised scores belong to the same run.
 *
 * The larger the ratio, the less certainty is required: a large difference is rarely noise.
 */
import { DAYS_PER_WEEK } from '../calendar.ts';
import { rounded, sum } from '../statistics.ts';
import { seasonalExpectation } from './baseline.ts';
import { believedNoise, limitForFew, relativeNoise, scoreFor, scoreLimit } from './dispersion.ts';
import { type Episode, idleDays, type UsageBucket } from './episode.ts';
import { type Grain, isTaken, oneADay, runs } from './grain.ts';

/** A neighbour belongs to the run if its score reaches this share of the limit. */
const NEIGHBOUR_SHARE = 0.5;
/** The days to which a chance of a false alarm refers. */
const CHANCE_DAYS = 30;
/** The chance that a ratio of any size is a false alarm: for whole days, and for their parts. */
const DAY_CHANCE = 0.02;
const PART_CHANCE = 0.005;
/** The same for a large ratio. */
const LARGE = { ratio: 2.25, chance: 0.2 } as const;
/** With less history the expectation is less certain, so a smaller ratio counts as large. */
const LARGE_OF_FEW = { ratio: 1.75, chance: 0.4 } as const;
const FEW_DAYS_MAX = 27;

export interface Deviation {
  startMs: number;
  endMs: number;
  observed: number;
  expected: number;
  evidence: { score: number; scoreLimit: number; relativeNoise: number };
}

export interface Question {
  observed: readonly number[];
  /** The quantity of one count. */
  unit: number;
  /** Episodes whose days do not count as usual. */
  silent: readonly Episode[];
  /** Episodes of a finer resolution. Their time is not searched again. */
  found: readonly Episode[];
  direction: 'more' | 'less';
  /** The least ratio, upwards or downwards, that matters. */
  ratioMin: number;
}

export function deviations({ buckets, perDay }: Grain, asked: Question): Deviation[] {
  const { observed, unit, silent, found, direction, ratioMin } = asked;
  const expected = seasonalExpectation(observed, perDay, idleDays(buckets, perDay, silent));
  const sign = direction === 'more' ? 1 : -1;
  // A ratio to nothing has no meaning: at least one count is expected.
  const ratios = observed.map((value, at) => {
    const usual = Math.max(expected[at] ?? 0, sign > 0 ? unit : 0);
    return sign > 0 ? value / usual : usual / value;
  });
  if (!ratios.some((ratio) => ratio >= ratioMin)) return [];

  // The first week has no earlier days: its expectation was often learned from itself.
  const first = DAYS_PER_WEEK * perDay;
  const measured = observed.length - first;
  const noise = believedNoise(relativeNoise(observed.slice(first), expected.slice(first), unit), measured);
  const scoreLimitFor = (chance: number) => limitForFew(scoreLimit(CHANCE_DAYS * perDay, chance), measured);
  const limit = scoreLimitFor(perDay === 1 ? DAY_CHANCE : PART_CHANCE);
  const large = observed.length / perDay > FEW_DAYS_MAX ? LARGE : LARGE_OF_FEW;
  const largeLimit = perDay === 1 ? scoreLimitFor(large.chance) : limit;

  const score = scoreFor(unit, noise);
  const scores = observed.map((value, at) => sign * score(value, expected[at] ?? 0));
  const limits = ratios.map((ratio) => (ratio >= large.ratio ? largeLimit : limit));
  const isBeyond = (at: number, least: number) =>
    (ratios[at] ?? 0) >= ratioMin && (scores[at] ?? 0) > least && !isTaken(found, buckets[at] as UsageBucket);
  const neighbour = Math.min(largeLimit, NEIGHBOUR_SHARE * limit);
  const standing = scores.map((_, at) => isBeyond(at, limits[at] ?? limit));
  const standingRuns = runs(scores.map((_, at) => isBeyond(at, neighbour))).filter(([start, end]) =>
    standing.slice(start, end).includes(true),
  );
  return oneADay(standingRuns, buckets).map(([start, end]) => {
    let largest = start;
    for (let at = start; at < end; at += 1)
      if (standing[at] && (!standing[largest] || (scores[at] ?? 0) > (scores[largest] ?? 0))) largest = at;
    return {
      startMs: (buckets[start] as UsageBucket).startMs,
      endMs: (buckets[end - 1] as UsageBucket).endMs,
      observed: sum(observed.slice(start, end)),
      expected: sum(expected.slice(start, end)),
      evidence: {
        score: rounded(scores[largest] ?? 0, 2),
        scoreLimit: rounded(limits[largest] ?? limit, 2),
        relativeNoise: rounded(noise, 3),
      },
    };
  });
}
