/**
 * The candidate methods of a forecast: each turns the days so far into an expectation for every day ahead.
 *
 * Each is a level times the weekly rhythm, plus a damped slope; they differ in how fast they forget. The baseline
 * repeats the last week.
 */
import { DAYS_PER_WEEK } from '../calendar.ts';
import { HORIZON_DAYS_MAX } from './history.ts';

export const FORECAST_METHODS = ['weekday_seasonal', 'recent_level', 'damped_trend', 'seasonal_naive'] as const;
export type ForecastMethod = (typeof FORECAST_METHODS)[number];

export interface Candidate {
  method: ForecastMethod;
  /** The weight of a week one week later; for the trend, the weight of a day one day later. */
  memory: number;
  /**
   * Weight before any backtest. Repeating a week copies its noise, and the seasonal methods also handle a series
   * without rhythm.
   */
  plausibility: number;
}

export const SEASONAL: Candidate = { method: 'weekday_seasonal', memory: 1, plausibility: 1 };

const TREND: Candidate = { method: 'damped_trend', memory: 0.97, plausibility: 0.8 };

export const CANDIDATES: readonly Candidate[] = [
  SEASONAL,
  { method: 'weekday_seasonal', memory: 0.7, plausibility: 1 },
  { method: 'weekday_seasonal', memory: 0.4, plausibility: 1 },
  { method: 'recent_level', memory: 0.7, plausibility: 0.8 },
  TREND,
  { method: 'seasonal_naive', memory: 0, plausibility: 0.3 },
];

/** Each day the slope shrinks to this share: two fifths after a month. */
const DAMPING = 0.97;
/** A slope needs at least ten days, and is ignored if its square is below this multiple of its variance. */
const LINE_DAYS_MIN = 10;
const SLOPE_DOUBT = 2.5;
/** Days with less weight say nothing. */
const WEIGHT_MIN = 1e-6;

/** A candidate's expectation at the end of `days[0, length)`. */
export interface Expectation {
  /** The expected quantity of day `ahead` (0 is the first). Never negative. */
  day(ahead: number): number;
  /** Variance of the estimated level and of the slope, in units of one day's variance. */
  levelVariance: number;
  slopeVariance: number;
  /**
   * Present if the level is uncertain: the variance between the two possible levels per squared distance, and their
   * distance.
   */
  doubt?: { variance: number; apart(ahead: number): number };
}

/** The days that a candidate uses, and what is known about them. */
export interface Past {
  days: readonly number[];
  /** The number of known days: days from this index on lie ahead. */
  length: number;
  /** The weekly rhythm: day `index` has the factor at `index % DAYS_PER_WEEK`. */
  factors: readonly number[];
  /** The share of its weight that each day keeps after the changes of level since. */
  kept: readonly number[];
  /** The first day of the current level. */
  levelStart: number;
  /** The day after the last one that is used. */
  end: number;
  /** Variance of one day relative to the squared level. */
  dayVariance: number;
  /**
   * The previous level, while the current one is so young that its days may be outliers, and the probability of that, 0
   * to 1.
   */
  former?: { past: Past; belief: number };
}

/** A candidate's expectation, from both levels if the current one is uncertain. */
export function expectation(candidate: Candidate, past: Past): Expectation {
  const present = expectationOf(candidate, past);
  // The seasonal naive method has no level.
  if (!past.former || candidate.method === 'seasonal_naive') return present;
  const { belief } = past.former;
  const former = expectationOf(candidate, past.former.past);
  const mixed = (a: number, b: number) => a + belief * (b - a);
  return {
    day: (ahead) => mixed(present.day(ahead), former.day(ahead)),
    levelVariance: mixed(present.levelVariance, former.levelVariance),
    slopeVariance: mixed(present.slopeVariance, former.slopeVariance),
    doubt: { variance: belief * (1 - belief), apart: (ahead) => present.day(ahead) - former.day(ahead) },
  };
}

function expectationOf(candidate: Candidate, past: Past): Expectation {
  const { days, length, factors } = past;
  switch (candidate.method) {
    case 'recent_level': {
      const { level, variance } = discountedLevel(candidate.memory, past, NO_RHYTHM);
      return { day: () => level, levelVariance: variance, slopeVariance: 0 };
    }
    case 'weekday_seasonal': {
      const { level, variance } = discountedLevel(candidate.memory, past, factors);
      return {
        day: (ahead) => level * (factors[(length + ahead) % DAYS_PER_WEEK] ?? 1),
        levelVariance: variance,
        slopeVariance: 0,
      };
    }
    case 'damped_trend': {
      const { level, slope, levelVariance, slopeVariance } = discountedLine(candidate.memory, past);
      const day = (ahead: number) =>
        Math.max(0, level + slope * dampedSteps(ahead + 1)) * (factors[(length + ahead) % DAYS_PER_WEEK] ?? 1);
      return { day, levelVariance, slopeVariance };
    }
    case 'seasonal_naive':
      return {
        day: (ahead) => days[length - DAYS_PER_WEEK + (ahead % DAYS_PER_WEEK)] ?? 0,
        levelVariance: 1 / DAYS_PER_WEEK,
        slopeVariance: 0,
      };
  }
}

/** The sum of the damped slope steps after `count` days: d + d^2 + ... */
export function dampedSteps(count: number): number {
  return DAMPED_STEPS[count] ?? 0;
}

const DAMPED_STEPS = Float64Array.from(
  { length: HORIZON_DAYS_MAX + 1 },
  (_, count) => (DAMPING * (1 - DAMPING ** count)) / (1 - DAMPING),
);
const NO_RHYTHM: readonly number[] = new Array<number>(DAYS_PER_WEEK).fill(1);

/**
 * The level at the end: actual usage divided by the usage that the rhythm alone predicts, with older days discounted.
 */
function discountedLevel(memory: number, { days, kept, end }: Past, factors: readonly number[]) {
  let used = 0;
  let expected = 0;
  let squares = 0;
  let discount = 1;
  for (let age = 0; age < end; age += 1) {
    if (age > 0 && age % DAYS_PER_WEEK === 0) discount *= memory;
    const index = end - 1 - age;
    const weight = discount * (kept[index] ?? 1);
    if (weight < WEIGHT_MIN) break;
    const factor = factors[index % DAYS_PER_WEEK] ?? 1;
    used += weight * (days[index] ?? 0);
    expected += weight * factor;
    squares += weight * weight * factor;
  }
  return expected > 0
    ? { level: used / expected, variance: squares / (expected * expected) }
    : { level: 0, variance: 1 };
}

/**
 * The discounted least-squares line through the days without their rhythm, at the last day. The slope counts as far as
 * it is significant; otherwise this is the discounted level.
 */
function discountedLine(memory: number, past: Past) {
  const { days, length, factors, kept, levelStart, end, dayVariance } = past;
  const s = { w: 0, t: 0, tt: 0, y: 0, ty: 0, ww: 0, wwt: 0, wwtt: 0 };
  let discount = 1;
  for (let index = end - 1; index >= 0; index -= 1) {
    const weight = discount * (kept[index] ?? 1);
    if (weight < WEIGHT_MIN) break;
    discount *= memory;
    const t = index - (length - 1);
    const w = weight * (factors[index % DAYS_PER_WEEK] ?? 1);
    s.w += w;
    s.t += w * t;
    s.tt += w * t * t;
    s.y += weight * (days[index] ?? 0);
    s.ty += weight * t * (days[index] ?? 0);
    s.ww += weight * w;
    s.wwt += weight * w * t;
    s.wwtt += weight * w * t * t;
  }
  if (s.w <= 0) return { level: 0, slope: 0, levelVariance: 1, slopeVariance: 0, belief: 0 };
  const level = s.y / s.w;
  const flat = { level, slope: 0, levelVariance: s.ww / (s.w * s.w), slopeVariance: 0, belief: 0 };
  const determinant = s.w * s.tt - s.t * s.t;
  if (end - levelStart < LINE_DAYS_MIN || determinant <= 1e-9 * s.w * s.tt) return flat;
  const squared = determinant * determinant;
  const slope = (s.w * s.ty - s.t * s.y) / determinant;
  const slopeVariance = (s.t * s.t * s.ww - 2 * s.t * s.w * s.wwt + s.w * s.w * s.wwtt) / squared;
  if (slope === 0) return flat;
  const belief = Math.max(0, 1 - (SLOPE_DOUBT * slopeVariance * dayVariance * level * level) / (slope * slope));
  const atEnd = (s.tt * s.y - s.t * s.ty) / determinant;
  return {
    level: level + belief * (atEnd - level),
    slope: belief * slope,
    levelVariance:
      flat.levelVariance +
      belief * ((s.tt * s.tt * s.ww - 2 * s.tt * s.t * s.wwt + s.t * s.t * s.wwtt) / squared - flat.levelVariance),
    // An insignificant slope is not proof of no slope, so its variance stays.
    slopeVariance,
    belief,
  };
}

/** 0 to 1: how significant a slope is. */
export function trendBelief(past: Past): number {
  return discountedLine(TREND.memory, past).belief;
}
