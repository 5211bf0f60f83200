/**
 * Rolling-origin backtest: the forecast that would have been made at the end of every past day, from the days before it
 * alone, and the outcome.
 *
 * The present forecast is made in the same way, so its errors can be expected to be similar.
 */
import { DAYS_PER_WEEK } from '../calendar.ts';
import { sum } from '../statistics.ts';
import { type History, weekPhase } from './history.ts';
import { levelsAt, MEMORIES, weighMemories } from './level.ts';
import { weeklyRhythm } from './rhythm.ts';

/** The weight of an error against that of an error one day younger: half in two weeks. */
export const ERROR_MEMORY = 0.95;

/** A time to forecast from every origin: whole days, or the first hours of a day. */
export interface Window {
  days: number;
  hours: number;
}

/** The expectation at the end of `days[0, origin)`. */
export interface Expectation {
  origin: number;
  level: number;
  /** The weekly rhythm by phase. */
  factors: readonly number[];
}

/** One window of the past, oldest first. */
export interface Trial {
  expected: number;
  outcome: number;
}

/**
 * The expectations at the ends of the past days, oldest first; the last one is the present one. The first half of the
 * days, at most a week, is only used to learn.
 */
export function expectations({ days, weekendShares }: History): Expectation[] {
  const first = Math.min(DAYS_PER_WEEK, Math.floor(days.length / 2));
  let errors = MEMORIES.map(() => 0);
  const made: Expectation[] = [];
  for (let origin = first; origin <= days.length; origin += 1) {
    const factors = weeklyRhythm(days, origin, weekendShares);
    const levels = levelsAt(days, origin, factors);
    const weights = weighMemories(errors);
    made.push({ origin, factors, level: sum(levels.map((level, at) => level * (weights[at] ?? 0))) });
    const factor = factors[weekPhase(origin, days.length)] ?? 1;
    const outcome = days[origin] ?? 0;
    errors = levels.map((level, at) => ERROR_MEMORY * (errors[at] ?? 0) + Math.abs(outcome - level * factor));
  }
  return made;
}

/** The trials of a window: one for each past day after which the window has ended by now. */
export function runTrials(history: History, made: readonly Expectation[], { days: length, hours }: Window): Trial[] {
  const { days } = history;
  const openings = hours < 24 ? history.openingTotals(hours) : null;
  return made
    .filter(({ origin }) => origin + length <= days.length)
    .map((one) => {
      if (!openings)
        return {
          expected: expectedTotal(one, length, days.length),
          outcome: sum(days.slice(one.origin, one.origin + length)),
        };
      const share = history.shareOfDay(weekPhase(one.origin, days.length), 0, hours);
      return { expected: share * expectedTotal(one, 1, days.length), outcome: openings[one.origin] ?? 0 };
    });
}

/** The expected total of the first `count` days. */
export function expectedTotal({ origin, level, factors }: Expectation, count: number, total: number): number {
  let expected = 0;
  for (let day = origin; day < origin + count; day += 1) expected += level * (factors[weekPhase(day, total)] ?? 1);
  return expected;
}

/** Sum of absolute errors divided by the sum of outcomes; `null` if the outcomes sum to zero. */
export function weightedError(trials: readonly Trial[]): number | null {
  let errors = 0;
  let outcomes = 0;
  for (const { expected, outcome } of trials) {
    errors += Math.abs(outcome - expected);
    outcomes += outcome;
  }
  return outcomes > 0 ? errors / outcomes : null;
}
