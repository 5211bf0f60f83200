/**
 * Error bursts: periods in which far more calls failed than usual. Denial bursts are the same for requests that were
 * denied.
 *
 * The probability of so many failures has an upper bound (Chernoff), which is fair to small counts: two failures of
 * three calls are not a burst if ten percent usually fail. If the failed share itself varies, the bound widens
 * accordingly.
 */

import { median, rounded, SD_PER_MAD, sum } from '../statistics.ts';
import { type Episode, gradeSeverity, type UsageBucket } from './episode.ts';
import { FALSE_ALARM_CHANCE, type Grain, oneADay, runs, unlessFoundBefore } from './grain.ts';

const FAILURES_MIN = 3;
/** A burst at least triples the odds of a failure, and adds five percentage points to the failed share. */
const ODDS_RATIO_MIN = 3;
const SHARE_ADDED_MIN = 0.05;
/** How often the usual share is measured again without the bursts found so far. */
const ROUNDS = 2;
const SEVERE_SHARES = { MEDIUM: 0.2, HIGH: 0.5 } as const;

export function errorBursts(grains: readonly Grain[]): Episode[] {
  return bursts(grains, 'ERROR_BURST', (bucket) => bucket);
}

export function denialBursts(grains: readonly Grain[]): Episode[] {
  return bursts(grains, 'DENIAL_BURST', ({ startMs, endMs, calls, deniedCalls }) => ({
    startMs,
    endMs,
    calls: calls + deniedCalls,
    failedCalls: deniedCalls,
  }));
}

/** The data that a burst is searched in: calls, and the number of them that failed. */
type Attempts = Pick<UsageBucket, 'startMs' | 'endMs' | 'calls' | 'failedCalls'>;

function bursts(
  grains: readonly Grain[],
  kind: 'ERROR_BURST' | 'DENIAL_BURST',
  attempts: (bucket: UsageBucket) => Attempts,
): Episode[] {
  const series = grains.map((grain) => grain.buckets.map(attempts));
  const days = series.at(-1) ?? [];
  const found: Episode[] = [];
  // A day that is not over appears only among the finest buckets.
  if (series[0]?.every(({ failedCalls }) => failedCalls === 0)) return found;
  for (const buckets of series) found.push(...unlessFoundBefore(found, burstsAt(buckets, days, kind)));
  return found;
}

function burstsAt(buckets: readonly Attempts[], days: readonly Attempts[], kind: Episode['kind']): Episode[] {
  const limit = Math.log(FALSE_ALARM_CHANCE / buckets.length);
  let usual = typicalShare(days);
  let width = dispersion(buckets, usual);
  let marked = buckets.map((bucket) => isBurst(bucket, usual, width, limit));
  for (let round = 0; round < ROUNDS; round += 1) {
    const calm = buckets.filter((_, at) => !marked[at]);
    usual = pooledShare(calm);
    width = dispersion(calm, usual);
    marked = buckets.map((bucket) => isBurst(bucket, usual, width, limit));
  }
  return oneADay(runs(marked), buckets).map(([start, end]) => {
    const part = buckets.slice(start, end);
    const calls = sum(part.map((bucket) => bucket.calls));
    const failed = sum(part.map((bucket) => bucket.failedCalls));
    return {
      kind,
      startMs: (part[0] as Attempts).startMs,
      endMs: (part[part.length - 1] as Attempts).endMs,
      expected: rounded(calls * usual, 1),
      observed: failed,
      severity: gradeSeverity(failed / calls, SEVERE_SHARES, { value: failed, unit: 'calls' }),
      evidence: {
        calls,
        failedShare: rounded(failed / calls, 4),
        usualFailedShare: rounded(usual, 4),
        logChance: rounded(Math.min(...part.map((bucket) => logChance(bucket, usual) / width)), 2),
        logChanceLimit: rounded(limit, 2),
      },
    };
  });
}

/**
 * The failed share of a typical day, robust against bad days: the median day, or all but the worst fifth if failures
 * are rare.
 */
function typicalShare(days: readonly Attempts[]): number {
  const used = days.filter(({ calls }) => calls > 0).sort((a, b) => a.failedCalls / a.calls - b.failedCalls / b.calls);
  const middle = median(used.map(({ calls, failedCalls }) => failedCalls / calls));
  return Math.max(middle, pooledShare(used.slice(0, Math.ceil(used.length * 0.8))));
}

function pooledShare(buckets: readonly Attempts[]): number {
  const calls = sum(buckets.map((bucket) => bucket.calls));
  const failed = sum(buckets.map((bucket) => bucket.failedCalls));
  return (failed + 0.5) / (calls + 1);
}

/** The variance of the shares as a multiple of the binomial variance; at least 1. */
function dispersion(buckets: readonly Attempts[], usual: number): number {
  const squares: number[] = [];
  for (const { calls, failedCalls } of buckets) {
    // A bucket with less than one expected failure cannot measure the variance.
    if (calls * usual >= 1)
      squares.push(Math.abs(failedCalls - calls * usual) / Math.sqrt(calls * usual * (1 - usual)));
  }
  return Math.max(1, (SD_PER_MAD * median(squares)) ** 2);
}

function isBurst(bucket: Attempts, usual: number, width: number, limit: number): boolean {
  const { calls, failedCalls } = bucket;
  if (failedCalls < FAILURES_MIN) return false;
  const share = failedCalls / calls;
  const oddsRatio = (failedCalls * (1 - usual)) / (Math.max(calls - failedCalls, 0.5) * usual);
  return oddsRatio >= ODDS_RATIO_MIN && share >= usual + SHARE_ADDED_MIN && logChance(bucket, usual) / width < limit;
}

/**
 * The logarithm of a bound on the probability of at least this many failures: -n times the divergence of the observed
 * from the usual share.
 */
function logChance({ calls, failedCalls }: Attempts, usual: number): number {
  if (failedCalls <= calls * usual) return 0;
  const share = failedCalls / calls;
  const passed = share < 1 ? (1 - share) * Math.log((1 - share) / (1 - usual)) : 0;
  return -calls * (share * Math.log(share / usual) + passed);
}
