/**
 * The level of a series: usage per day without the weekly rhythm, with more weight on the latest weeks.
 *
 * The best speed of forgetting differs between customers and is not known beforehand. So three memories run side by
 * side, and each is weighted by its success so far.
 */
import { DAYS_PER_WEEK } from '../calendar.ts';
import { sum } from '../statistics.ts';
import { weekPhase } from './history.ts';

/**
 * The weight of a week against that of the week after it: all weeks alike, each half of the next, and the last week
 * alone.
 */
export const MEMORIES = [1, 0.5, 0] as const;

/** A memory is weighted by 1 / error^8: one with a tenth more error has half of the weight. */
const ERROR_POWER = 8;

/** By memory: the level at the end of `days[0, length)`. `factors` is the rhythm by phase. */
export function levelsAt(days: readonly number[], length: number, factors: readonly number[]): number[] {
  return MEMORIES.map((memory) => {
    let used = 0;
    let expected = 0;
    let weight = 1;
    for (let age = 0; age < length && weight > 0; age += 1) {
      const index = length - 1 - age;
      used += weight * (days[index] ?? 0);
      expected += weight * (factors[weekPhase(index, days.length)] ?? 1);
      if ((age + 1) % DAYS_PER_WEEK === 0) weight *= memory;
    }
    return expected > 0 ? used / expected : 0;
  });
}

/** The weights of the memories, which add up to 1, by their errors so far. */
export function weighMemories(errors: readonly number[]): number[] {
  const least = Math.min(...errors);
  // If a memory has no error, only such memories count.
  const weights = errors.map((error) => (least === 0 ? (error === 0 ? 1 : 0) : (least / error) ** ERROR_POWER));
  const all = sum(weights);
  return weights.map((weight) => weight / all);
}
