/**
 * The candidate methods of a forecast: each makes of the days so far an expectation for every day ahead.
 *
 * All of them are a level, times the weekly rhythm, plus a slope that fades; they differ in how fast they forget. The
 * floor is the last week repeated.
 */
import { DAYS_PER_WEEK } from './calendar.ts';
import { phaseOf } from './history.ts';

export const FORECAST_METHODS = ['weekday_seasonal', 'recent_level', 'damped_trend', 'seasonal_naive'] as const;
export type ForecastMethod = (typeof FORECAST_METHODS)[number];

export interface Candidate {
  method: ForecastMethod;
  /** What a week still weighs one week later; for the trend, what a day weighs one day later. */
  memory: number;
  /** Weight before the backtest has spoken. Repeating a week copies its noise, and an absent rhythm is known to the seasonal ones too. */
  plausibility: number;
}

export const SEASONAL: Candidate = { method: 'weekday_seasonal', memory: 0.8, plausibility: 1 };

export const CANDIDATES: readonly Candidate[] = [
  SEASONAL,
  { method: 'weekday_seasonal', memory: 0.4, plausibility: 1 },
  { method: 'recent_level', memory: 0.8, plausibility: 0.8 },
  { method: 'recent_level', memory: 0.4, plausibility: 0.8 },
  { method: 'damped_trend', memory: 0.95, plausibility: 0.8 },
  { method: 'damped_trend', memory: 0.98, plausibility: 0.8 },
  { method: 'seasonal_naive', memory: 0, plausibility: 0.3 },
];

/** A slope keeps this much of itself each day: two thirds after a month. */
const DAMPING = 0.985;
/** A slope is not read from less than ten days, and not believed where its square is below this many times its variance. */
const LINE_DAYS_MIN = 10;
const SLOPE_DOUBT = 1;

/** What a candidate expects, as seen from the end of `days[0, length)`. */
export interface Expectation {
  /** The day `ahead` (0 is the first one ahead). Never negative. */
  day(ahead: number): number;
  /** Variance of the level's estimate, in units of one day's variance; that of the slope beside it. */
  levelVariance: number;
  slopeVariance: number;
}

/** The days that a candidate looks at, and what is known of them. */
export interface Past {
  days: readonly number[];
  /** The end of what is seen: days from here on lie ahead. */
  length: number;
  /** The weekly rhythm, by phase. */
  factors: readonly number[];
  /** The first day of the present level. */
  levelStart: number;
  /** Variance of one day relative to the squared level. */
  dayVariance: number;
}

export function expectation(candidate: Candidate, past: Past): Expectation {
  const { days, length, factors, levelStart } = past;
  const factorAt = (index: number) => (candidate.method === 'recent_level' ? 1 : (factors[phaseOf(index, days.length)] ?? 1));
  switch (candidate.method) {
    case 'recent_level':
    case 'weekday_seasonal': {
      const { level, variance } = discountedLevel(candidate.memory, days, levelStart, length, factorAt);
      return { day: (ahead) => level * factorAt(length + ahead), levelVariance: variance, slopeVariance: 0 };
    }
    case 'damped_trend': {
      const line = discountedLine(candidate.memory, past, factorAt);
      const day = (ahead: number) => Math.max(0, line.level + line.slope * dampedSteps(ahead + 1)) * factorAt(length + ahead);
      return { day, levelVariance: line.levelVariance, slopeVariance: line.slopeVariance };
    }
    case 'seasonal_naive':
      return {
        day: (ahead) => days[length - DAYS_PER_WEEK + (ahead % DAYS_PER_WEEK)] ?? 0,
        levelVariance: 1 / DAYS_PER_WEEK,
        slopeVariance: 0,
      };
  }
}

/** 1 + d + d^2 ...: how many steps of the slope have been made after so many days. */
export function dampedSteps(count: number): number {
  return (DAMPING * (1 - DAMPING ** count)) / (1 - DAMPING);
}

type FactorAt = (index: number) => number;

/** The level at the end: what was used against what the rhythm alone expected, older days weighing less. */
function discountedLevel(memory: number, days: readonly number[], start: number, length: number, factorAt: FactorAt) {
  let used = 0;
  let expected = 0;
  let squares = 0;
  for (let index = length - 1; index >= start; index -= 1) {
    const weight = memory ** Math.floor((length - 1 - index) / DAYS_PER_WEEK);
    used += weight * (days[index] ?? 0);
    expected += weight * factorAt(index);
    squares += weight * weight * factorAt(index);
  }
  return expected > 0 ? { level: used / expected, variance: squares / (expected * expected) } : { level: 0, variance: 1 };
}

/**
 * The discounted least-squares line through the days without their rhythm, at the last day; believed as far as its slope
 * stands out of its own uncertainty, else the discounted level.
 */
function discountedLine(memory: number, { days, length, levelStart, dayVariance }: Past, factorAt: FactorAt) {
  const s = { w: 0, t: 0, tt: 0, y: 0, ty: 0, ww: 0, wwt: 0, wwtt: 0 };
  let weight = 1;
  for (let index = length - 1; index >= levelStart; index -= 1) {
    const t = index - (length - 1);
    const w = weight * factorAt(index);
    s.w += w;
    s.t += w * t;
    s.tt += w * t * t;
    s.y += weight * (days[index] ?? 0);
    s.ty += weight * t * (days[index] ?? 0);
    s.ww += weight * w;
    s.wwt += weight * w * t;
    s.wwtt += weight * w * t * t;
    weight *= memory;
  }
  if (s.w <= 0) return { level: 0, slope: 0, levelVariance: 1, slopeVariance: 0 };
  const level = s.y / s.w;
  const flat = { level, slope: 0, levelVariance: s.ww / (s.w * s.w), slopeVariance: 0 };
  const determinant = s.w * s.tt - s.t * s.t;
  if (length - levelStart < LINE_DAYS_MIN || determinant <= 1e-9 * s.w * s.tt) return flat;
  const squared = determinant * determinant;
  const slope = (s.w * s.ty - s.t * s.y) / determinant;
  const slopeVariance = (s.t * s.t * s.ww - 2 * s.t * s.w * s.wwt + s.w * s.w * s.wwtt) / squared;
  if (slope === 0) return flat;
  const belief = Math.max(0, 1 - (SLOPE_DOUBT * slopeVariance * dayVariance * level * level) / (slope * slope));
  const end = (s.tt * s.y - s.t * s.ty) / determinant;
  return {
    level: level + belief * (end - level),
    slope: belief * slope,
    levelVariance:
      flat.levelVariance + belief * ((s.tt * s.tt * s.ww - 2 * s.tt * s.t * s.wwt + s.t * s.t * s.wwtt) / squared - flat.levelVariance),
    slopeVariance: belief * slopeVariance,
  };
}
