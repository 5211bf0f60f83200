/**
 * Shifts: a ratio of the day that leaves its usual value and stays away for three days or more, such as the cost of a
 * call, the share of input that came from the cache, a customer's share of the spend.
 *
 * The usual value is the median of up to four weeks before the shift. It stays so while the shift lasts, for at most
 * four weeks: then the new value is the usual one.
 */
import { mean, median, quantiles, rounded, SD_PER_MAD, sum, Z_95 } from '../statistics.ts';
import { type Episode, gradeSeverity, type Severity, type UsageBucket } from './episode.ts';

const BEFORE_DAYS_MAX = 28;
const BEFORE_DAYS_MIN = 10;
const SHIFT_DAYS_MIN = 3;
const SHIFT_DAYS_MAX = 28;
/** The least distance of the shift's mean, in usual deviations. */
const DEVIATIONS_MIN = 3;
/** A day with fewer calls does not give a reliable ratio. */
const CALLS_MIN = 20;
const INPUT_TOKENS_MIN = 10_000;

/**
 * If the share of failed calls on a day differs by this much from the usual one, the day does not show the cost of a
 * call.
 */
const FAILED_SHARE_OFF_MAX = 0.1;

/** For a cost per call: a quarter more or less. */
const COST_RATIO_MIN = 1.25;
const SEVERE_COST_RATIOS = { MEDIUM: 1.5, HIGH: 2.5 } as const;
/** For a cache rate: a third of it, and ten percentage points. */
const CACHE_LOSS_MIN = 1 / 3;
const SEVERE_CACHE_LOSSES = { MEDIUM: 0.5, HIGH: 0.8 } as const;
const POINTS_MIN = 0.1;
/** For a customer's share: half as much again, and ten percentage points. */
const SHARE_RATIO_MIN = 1.5;
const SEVERE_SHARES_ADDED = { MEDIUM: 0.2, HIGH: 0.4 } as const;

/** The part and the whole of one day; `null` if the day is not reliable. */
type Parts = { part: number; whole: number } | null;

interface Rule {
  /** The least usual deviation, in the scale of `scaled`. */
  noiseMin: number;
  /** Turns a ratio into a number whose deviations are alike at all sizes. */
  scaled: (ratio: number) => number;
  /** Whether a day's ratio is far enough from the usual one. */
  isAway: (ratio: number, usual: number) => boolean;
}

interface Shift {
  start: number;
  end: number;
  usual: number;
  ratio: number;
  /** The wholes of its reliable days together. */
  whole: number;
  evidence: { days: number; usualDeviation: number; deviations: number };
}

/** A call became more expensive or cheaper: another model, a longer prompt, a new price. */
export function costPerCallShifts(days: readonly UsageBucket[]): Episode[] {
  const failed = days.map(({ calls, failedCalls }) => (calls > 0 ? failedCalls / calls : 0));
  const usuallyFailed = median(failed);
  const parts = days.map(({ spend, calls }, at) => {
    // Whether failed calls cost something is unknown here.
    const isUsual = Math.abs((failed[at] ?? 0) - usuallyFailed) <= FAILED_SHARE_OFF_MAX;
    return isUsual && calls >= CALLS_MIN && spend > 0 ? { part: spend, whole: calls } : null;
  });
  const rule: Rule = {
    noiseMin: 0.03,
    scaled: Math.log,
    isAway: (ratio, usual) => ratio >= COST_RATIO_MIN * usual || ratio * COST_RATIO_MIN <= usual,
  };
  return findShifts(parts, rule).map((shift) => {
    const times = shift.ratio / shift.usual;
    const value = Math.abs(shift.ratio - shift.usual) * shift.whole;
    const severity = gradeSeverity(times, SEVERE_COST_RATIOS, { value, unit: 'USD' });
    return shiftEpisode('COST_PER_CALL_SHIFT', days, shift, 9, severity, { ratio: rounded(times, 2) });
  });
}

/** Less of the input came from the cache: the beginning of a prompt changed, or its lifetime did. */
export function cacheRateDrops(days: readonly UsageBucket[]): Episode[] {
  if (days.every(({ cachedInputTokens }) => cachedInputTokens === 0)) return [];
  const parts = days.map(({ inputTokens, cachedInputTokens }) =>
    inputTokens >= INPUT_TOKENS_MIN ? { part: cachedInputTokens, whole: inputTokens } : null,
  );
  const rule: Rule = {
    noiseMin: 0.02,
    scaled: (rate) => rate,
    isAway: (rate, usual) => usual - rate >= Math.max(POINTS_MIN, CACHE_LOSS_MIN * usual),
  };
  return findShifts(parts, rule).map((shift) => {
    const lost = 1 - shift.ratio / shift.usual;
    // Input from the cache costs a fraction, so lost points of the rate raise the spend by about as many.
    const value = (shift.usual - shift.ratio) * sum(days.slice(shift.start, shift.end).map(({ spend }) => spend));
    const severity = gradeSeverity(lost, SEVERE_CACHE_LOSSES, { value, unit: 'USD' });
    return shiftEpisode('CACHE_RATE_DROP', days, shift, 4, severity, { lostShare: rounded(lost, 4) });
  });
}

/**
 * A customer takes a far larger share of the organization's spend. `all` has the spend of the organization on the same
 * days.
 */
export function shareRises(days: readonly UsageBucket[], all: readonly number[]): Episode[] {
  const parts = days.map(({ spend }, at) => ((all[at] ?? 0) > 0 ? { part: spend, whole: all[at] as number } : null));
  const rule: Rule = {
    noiseMin: 0.02,
    scaled: (share) => share,
    isAway: (share, usual) => share - usual >= POINTS_MIN && share >= SHARE_RATIO_MIN * usual,
  };
  return findShifts(parts, rule).map((shift) => {
    const added = shift.ratio - shift.usual;
    const severity = gradeSeverity(added, SEVERE_SHARES_ADDED, { value: added * shift.whole, unit: 'USD' });
    return shiftEpisode('CUSTOMER_SHARE_RISE', days, shift, 4, severity, { addedShare: rounded(added, 4) });
  });
}

function findShifts(parts: readonly Parts[], rule: Rule): Shift[] {
  const ratios = parts.map((day) => (day ? day.part / day.whole : null));
  const shifts: Shift[] = [];
  for (let start = BEFORE_DAYS_MIN; start + SHIFT_DAYS_MIN <= ratios.length; start += 1) {
    const shift = ratios[start] === null ? null : shiftAt(parts, ratios, start, rule);
    if (!shift) continue;
    shifts.push(shift);
    start = shift.end - 1;
  }
  return shifts;
}

function shiftAt(parts: readonly Parts[], ratios: readonly (number | null)[], start: number, rule: Rule): Shift | null {
  const { scaled, isAway, noiseMin } = rule;
  const before = ratios.slice(Math.max(0, start - BEFORE_DAYS_MAX), start).filter((ratio) => ratio !== null);
  if (before.length < BEFORE_DAYS_MIN) return null;
  const usual = median(before);
  const away = (ratio: number) => isAway(ratio, usual);
  const first = ratios[start] as number;
  if (!away(first)) return null;
  let end = start;
  for (let at = start; at < Math.min(ratios.length, start + SHIFT_DAYS_MAX); at += 1) {
    const ratio = ratios[at] ?? null;
    // An unreliable day does not end a shift.
    if (ratio === null) continue;
    if (!away(ratio) || ratio > usual !== first > usual) break;
    end = at + 1;
  }
  const known = parts.slice(start, end).filter((day) => day !== null);
  if (known.length < SHIFT_DAYS_MIN) return null;
  const strays = before.map((ratio) => Math.abs(scaled(ratio) - scaled(usual)));
  // For a customer who comes and goes, the median means nothing: most days are alike, and the others are far away.
  const [half = 0, most = 0] = quantiles(strays, [0.5, 0.9]);
  const noise = Math.max(noiseMin, SD_PER_MAD * half, most / Z_95);
  const distance = Math.abs(mean(known.map(({ part, whole }) => scaled(part / whole))) - scaled(usual)) / noise;
  if (!(distance >= DEVIATIONS_MIN)) return null;
  let part = 0;
  let whole = 0;
  for (const day of known) {
    part += day.part;
    whole += day.whole;
  }
  const evidence = { days: end - start, usualDeviation: rounded(noise, 4), deviations: rounded(distance, 2) };
  return { start, end, usual, ratio: part / whole, whole, evidence };
}

function shiftEpisode(
  kind: Episode['kind'],
  days: readonly UsageBucket[],
  shift: Shift,
  decimals: number,
  severity: Severity,
  figures: Record<string, number>,
): Episode {
  return {
    kind,
    startMs: (days[shift.start] as UsageBucket).startMs,
    endMs: (days[shift.end - 1] as UsageBucket).endMs,
    expected: rounded(shift.usual, decimals),
    observed: rounded(shift.ratio, decimals),
    severity,
    evidence: { ...figures, ...shift.evidence },
  };
}
