/**
 * Rolling-origin backtest: what each candidate would have forecast at the end of every past day, compared with the
 * outcome.
 *
 * It gives the candidates their weights, and measures how much wider or narrower outcomes are spread than single days
 * suggest.
 */

import { DAYS_PER_WEEK } from '../calendar.ts';
import { quantiles, Z_90 } from '../statistics.ts';
import { CANDIDATES, type Candidate, dampedSteps, expectation, type Past } from './candidates.ts';
import { type History, phaseOf } from './history.ts';
import { ownSpread, type Spread, scoreOf, type Total, totalDeviation } from './interval.ts';
import { keptWeights, type LevelChange, levelChanges, oddDaysBelief } from './regime.ts';
import { type Rhythm, weeklyRhythm } from './rhythm.ts';

/** A window to forecast from every origin: whole days, or the first hours of a day. */
export interface Window {
  days: number;
  hours: number;
}

/** The forecasts at one origin, and the outcome. */
export interface Trial {
  /** The first day after the known ones. */
  origin: number;
  /** One per candidate, in the order of CANDIDATES. */
  totals: Total[];
  outcome: number;
}

/** Everything that is known at the end of `days[0, length)`. */
export interface Knowledge {
  rhythm: Rhythm;
  changes: LevelChange[];
  past: Past;
}

export function knowledgeAt(history: History, length: number): Knowledge {
  const { days, weekendShares } = history;
  const first = weeklyRhythm(days, length, weekendShares, []);
  const changes = levelChanges(days, length, byDay(first, days.length));
  // An undetected change of level looks like noise, so the rhythm is computed again once the changes are known.
  const rhythm =
    changes.length === 0
      ? first
      : weeklyRhythm(
          days,
          length,
          weekendShares,
          changes.map(({ day }) => day),
        );
  const factors = byDay(rhythm, days.length);
  const [last, before] = [...changes].reverse();
  const levelStart = last?.day ?? 0;
  const { dayVariance } = rhythm;
  const past: Past = {
    days,
    length,
    factors,
    kept: keptWeights(changes, length),
    levelStart,
    end: length,
    dayVariance,
  };
  const formerStart = before?.day ?? 0;
  const belief = oddDaysBelief(length - levelStart, levelStart - formerStart);
  if (belief > 0) {
    const kept = keptWeights(changes.slice(0, -1), levelStart);
    past.former = { past: { ...past, kept, levelStart: formerStart, end: levelStart }, belief };
  }
  return { rhythm, changes, past };
}

/** The factors indexed by day instead of phase: day `index` has the factor at `index % DAYS_PER_WEEK`. */
function byDay({ factors }: Rhythm, historyDays: number): number[] {
  return factors.map((_, index) => factors[phaseOf(index, historyDays)] ?? 1);
}

/** The trials of each window, oldest origin first, starting after the first week. */
export function backtest(history: History, windows: readonly Window[]): Trial[][] {
  const { days } = history;
  const trials: Trial[][] = windows.map(() => []);
  const actual = windows.map(({ hours }) => (hours === 24 ? days : history.openingTotals(hours)));
  for (let origin = DAYS_PER_WEEK; origin < days.length; origin += 1) {
    const { past } = knowledgeAt(history, origin);
    const reached = windows.filter((window) => origin + window.days <= days.length);
    const hours = reached[0]?.hours ?? 24;
    const share = hours === 24 ? 1 : history.shareOf(phaseOf(origin, days.length), 0, hours);
    const lengths = reached.map((window) => window.days);
    const shares = new Array<number>(Math.max(0, ...lengths)).fill(share);
    const byCandidate = CANDIDATES.map((candidate) => totalsAhead(candidate, past, shares, lengths));
    reached.forEach((window, at) => {
      let outcome = 0;
      for (let day = origin; day < origin + window.days; day += 1) outcome += actual[at]?.[day] ?? 0;
      trials[at]?.push({ origin, totals: byCandidate.map((totals) => totals[at] as Total), outcome });
    });
  }
  return trials;
}

/** What a candidate expects in total of the days ahead; `shares` is the part of each day that counts. */
export function totalAhead(candidate: Candidate, past: Past, shares: readonly number[]): Total {
  return totalsAhead(candidate, past, shares, [shares.length])[0] as Total;
}

/** The same for the first days only, for several ascending lengths. */
export function totalsAhead(
  candidate: Candidate,
  past: Past,
  shares: readonly number[],
  lengths: readonly number[],
): Total[] {
  const { day, levelVariance, slopeVariance, doubt } = expectation(candidate, past);
  const totals: Total[] = [];
  let expected = 0;
  let own = 0;
  let whole = 0;
  let slopeSteps = 0;
  let apart = 0;
  for (let ahead = 0; ; ahead += 1) {
    while (lengths[totals.length] === ahead) {
      const level = ahead > 0 ? whole / ahead : 0;
      const doubtVariance = doubt ? doubt.variance * apart * apart : 0;
      totals.push({
        expected,
        own,
        level,
        levelVariance,
        slopeVariance,
        slopeSteps,
        doubtVariance,
        betweenVariance: 0,
      });
    }
    const share = shares[ahead];
    if (share === undefined) return totals;
    const wholeDay = day(ahead);
    expected += share * wholeDay;
    own += ownSpread(share * wholeDay);
    whole += wholeDay;
    if (doubt) apart += share * doubt.apart(ahead);
    if (slopeVariance > 0) slopeSteps += share * dampedSteps(ahead + 1);
  }
}

/** Sum of absolute errors divided by the sum of outcomes; `null` if the outcomes sum to zero. */
export function weightedError(pairs: readonly { expected: number; outcome: number }[]): number | null {
  let errors = 0;
  let outcomes = 0;
  for (const { expected, outcome } of pairs) {
    errors += Math.abs(outcome - expected);
    outcomes += outcome;
  }
  return outcomes > 0 ? errors / outcomes : null;
}

/**
 * The spread of outcomes in standard deviations of the assumed spread: the mean of the deviation that holds 80 percent
 * of them, and of the root mean square, which rare large errors raise.
 */
export function outcomeWidth(pairs: readonly { total: Total; outcome: number }[], spread: Spread): number | null {
  const scores: number[] = [];
  let squares = 0;
  for (const { total, outcome } of pairs) {
    const deviation = totalDeviation(total, spread);
    if (deviation <= 0) continue;
    const score = Math.abs(scoreOf(outcome, total.expected, deviation));
    scores.push(score);
    squares += score * score;
  }
  if (scores.length === 0) return null;
  // 80 percent of a normal distribution lie between its 10th and 90th percentile.
  const [wide = 0] = quantiles(scores, [0.8]);
  return (wide / Z_90 + Math.sqrt(squares / scores.length)) / 2;
}
