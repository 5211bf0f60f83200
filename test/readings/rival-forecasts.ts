/**
 * The rivals of a forecast, each with its own 80 percent interval: the last week repeated, the plain mean, and
 * Holt-Winters (the additive ETS model with a damped trend and a weekly season).
 *
 * Intervals are the textbook ones: normal, from the model's own residuals, and never below zero.
 */
import { Z_90 } from '../../src/readings/statistics.ts';

const WEEK = 7;

export interface Interval {
  expected: number;
  p10: number;
  p90: number;
}

/** The total of the `horizon` days that follow `past`. */
type Rival = (past: readonly number[], horizon: number) => Interval;

function normal(expected: number, deviation: number): Interval {
  return {
    expected: Math.max(0, expected),
    p10: Math.max(0, expected - Z_90 * deviation),
    p90: Math.max(0, expected + Z_90 * deviation),
  };
}

/** The last week repeated. Each further week adds the difference between two weeks. */
const seasonalNaive: Rival = (past, horizon) => {
  let expected = 0;
  for (let ahead = 0; ahead < horizon; ahead += 1) expected += past[past.length - WEEK + (ahead % WEEK)] ?? 0;
  let squares = 0;
  for (let day = WEEK; day < past.length; day += 1) squares += ((past[day] ?? 0) - (past[day - WEEK] ?? 0)) ** 2;
  let steps = 0;
  for (let weekday = 0; weekday < Math.min(WEEK, horizon); weekday += 1) {
    const weeks = Math.ceil((horizon - weekday) / WEEK);
    for (let week = 1; week <= weeks; week += 1) steps += (weeks - week + 1) ** 2;
  }
  return normal(expected, Math.sqrt((squares / (past.length - WEEK)) * steps));
};

/** The mean of all days. */
const plainMean: Rival = (past, horizon) => {
  const mean = past.reduce((all, day) => all + day, 0) / past.length;
  const squares = past.reduce((all, day) => all + (day - mean) ** 2, 0);
  const variance = squares / (past.length - 1);
  return normal(mean * horizon, Math.sqrt(variance * (horizon + horizon ** 2 / past.length)));
};

const DAMPING = 0.98;
const GRID = { level: [0.02, 0.1, 0.2, 0.4, 0.7], trend: [0, 0.02, 0.1], season: [0.02, 0.1, 0.3] } as const;

/** Holt-Winters with the smoothing constants of the smallest squared error one day ahead. */
const holtWinters: Rival = (past, horizon) => {
  let best: Fit | null = null;
  for (const alpha of GRID.level)
    for (const beta of GRID.trend)
      for (const gamma of GRID.season) {
        const fit = smooth(past, { alpha, beta: beta * alpha, gamma });
        if (!best || fit.squares < best.squares) best = fit;
      }
  const { level, trend, season, squares, constants } = best as Fit;
  let expected = 0;
  let damped = 0;
  for (let ahead = 1; ahead <= horizon; ahead += 1) {
    damped += DAMPING ** ahead;
    expected += level + damped * trend + (season[(past.length + ahead - 1) % WEEK] ?? 0);
  }
  // A shock of one day goes on in all later ones: Hyndman et al., Forecasting with Exponential Smoothing, 6.1.
  let steps = 0;
  let shock = 1;
  let slope = 0;
  for (let later = 0; later < horizon; later += 1) {
    if (later > 0) {
      slope += DAMPING ** later;
      shock += constants.alpha + constants.beta * slope + (later % WEEK === 0 ? constants.gamma : 0);
    }
    steps += shock ** 2;
  }
  return normal(expected, Math.sqrt((squares / (past.length - WEEK)) * steps));
};

interface Constants {
  alpha: number;
  beta: number;
  gamma: number;
}

interface Fit {
  level: number;
  trend: number;
  season: number[];
  squares: number;
  constants: Constants;
}

/** Starts from the first week, whose days are not judged. */
function smooth(past: readonly number[], constants: Constants): Fit {
  const { alpha, beta, gamma } = constants;
  const whole = Math.floor(past.length / WEEK);
  const mean = past.slice(0, whole * WEEK).reduce((all, day) => all + day, 0) / (whole * WEEK);
  const season = Array.from({ length: WEEK }, (_, weekday) => {
    let sum = 0;
    for (let week = 0; week < whole; week += 1) sum += (past[week * WEEK + weekday] ?? 0) - mean;
    return sum / whole;
  });
  let level = past.slice(0, WEEK).reduce((all, day) => all + day, 0) / WEEK;
  let trend = 0;
  let squares = 0;
  for (let day = 0; day < past.length; day += 1) {
    const expected = level + DAMPING * trend + (season[day % WEEK] ?? 0);
    const error = (past[day] ?? 0) - expected;
    level += DAMPING * trend + alpha * error;
    trend = DAMPING * trend + beta * error;
    season[day % WEEK] = (season[day % WEEK] ?? 0) + gamma * error;
    if (day >= WEEK) squares += error ** 2;
  }
  return { level, trend, season, squares, constants };
}

export const RIVALS = { seasonalNaive, plainMean, holtWinters } as const;
export type RivalName = keyof typeof RIVALS;
