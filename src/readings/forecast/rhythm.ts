/**
 * The weekly rhythm of a series of days: a factor for each day of the week.
 *
 * Factors are shrunk: each weekday towards the average of weekdays or weekends, and that towards no rhythm, depending
 * on how large the difference is relative to its uncertainty.
 */
import { DAYS_PER_WEEK } from '../calendar.ts';
import { clamp, mean, median, SD_PER_MAD } from '../statistics.ts';
import { weekPhase } from './history.ts';

/** Residuals are capped at this many standard deviations, so that one outlier does not determine the noise. */
const STRAY_SD_MAX = 4;
/** Parameters of the line over the weekend's share: mean and slope. */
const LINE_PARAMETERS = 2;
/** Weight of the prior on a day's variance, in observations. */
const PRIOR_WEIGHT = 2;
/** One week cannot separate rhythm from noise: this share of the differences between its days counts as noise. */
const NOISE_SHARE_OF_ONE_WEEK = 0.15;

/**
 * The factors by phase of `days[0, length)`; their mean is 1. `days` is the whole history: its end determines the phases.
 */
export function weeklyRhythm(days: readonly number[], length: number, weekendShares: readonly number[]): number[] {
  const total = days.length;
  const ratios = levelRatios(days, length);
  const { means, counts } = phaseMeans(ratios, total);
  const rarest = Math.min(...counts);
  if (rarest === 0) return flat();

  const group = weekendLine(means, weekendShares);
  const between =
    meanSquare(means.map((value, phase) => value - (group.line[phase] ?? 1))) *
    (DAYS_PER_WEEK / (DAYS_PER_WEEK - LINE_PARAMETERS));
  const known = counts.reduce((all, count) => all + count, 0);
  const within = strayed(ratios, total, means);
  const dayVariance =
    (within + PRIOR_WEIGHT * between * NOISE_SHARE_OF_ONE_WEEK) / (known - DAYS_PER_WEEK + PRIOR_WEIGHT);
  // Empirical Bayes: variance between the weekdays beyond their own uncertainty is real.
  const real = Math.max(0, between - dayVariance / rarest);
  const weight = real === 0 ? 0 : real / (real + dayVariance / rarest);
  const belief = groupBelief(group, dayVariance, known);
  const factors = means.map((value, phase) => {
    const common = 1 + belief * ((group.line[phase] ?? 1) - 1);
    return Math.max(0, common + weight * (value - common));
  });
  const scale = factors.reduce((all, factor) => all + factor, 0) / DAYS_PER_WEEK;
  return scale > 0 ? factors.map((factor) => factor / scale) : flat();
}

function flat(): number[] {
  return new Array<number>(DAYS_PER_WEEK).fill(1);
}

function phaseMeans(ratios: readonly (number | null)[], total: number): { means: number[]; counts: number[] } {
  const sums = new Array<number>(DAYS_PER_WEEK).fill(0);
  const counts = new Array<number>(DAYS_PER_WEEK).fill(0);
  ratios.forEach((ratio, index) => {
    if (ratio === null) return;
    const phase = weekPhase(index, total);
    sums[phase] = (sums[phase] ?? 0) + ratio;
    counts[phase] = (counts[phase] ?? 0) + 1;
  });
  return { means: sums.map((sum, phase) => sum / Math.max(1, counts[phase] ?? 0)), counts };
}

/** Each day divided by the mean of the week around it; `null` if that week is empty. */
function levelRatios(days: readonly number[], length: number): (number | null)[] {
  const window = Math.min(DAYS_PER_WEEK, length);
  return days.slice(0, length).map((day, index) => {
    const from = clamp(index - 3, 0, length - window);
    const level = mean(days.slice(from, from + window));
    return level > 0 ? day / level : null;
  });
}

interface WeekendLine {
  /** By phase: the factor that the weekend's share alone explains. */
  line: number[];
  slope: number;
  /** Sum of squares of the weekend's share around its mean, which determines the certainty of the slope. */
  spread: number;
}

/** The least-squares line of the factors over each day's weekend share. */
function weekendLine(means: readonly number[], weekendShares: readonly number[]): WeekendLine {
  const centre = weekendShares.reduce((all, share) => all + share, 0) / DAYS_PER_WEEK;
  let across = 0;
  let along = 0;
  means.forEach((value, phase) => {
    const distance = (weekendShares[phase] ?? 0) - centre;
    across += distance * (value - 1);
    along += distance * distance;
  });
  const slope = along > 0 ? across / along : 0;
  return { line: weekendShares.map((share) => 1 + slope * (share - centre)), slope, spread: along };
}

/** 0 to 1: how significant the weekend's difference is. */
function groupBelief({ slope, spread: along }: WeekendLine, dayVariance: number, known: number): number {
  if (slope === 0) return 0;
  return Math.max(0, 1 - (dayVariance * DAYS_PER_WEEK) / (known * along * slope * slope));
}

/** The sum of squared residuals around the weekday means, with outliers capped. */
function strayed(ratios: readonly (number | null)[], total: number, means: readonly number[]): number {
  const residuals: number[] = [];
  ratios.forEach((ratio, index) => {
    if (ratio !== null) residuals.push(ratio - (means[weekPhase(index, total)] ?? 1));
  });
  const bound = STRAY_SD_MAX * SD_PER_MAD * median(residuals.map(Math.abs));
  let squares = 0;
  for (const residual of residuals)
    squares += bound > 0 ? Math.min(residual * residual, bound * bound) : residual * residual;
  return squares;
}

function meanSquare(values: readonly number[]): number {
  let squares = 0;
  for (const value of values) squares += value * value;
  return values.length === 0 ? 0 : squares / values.length;
}
