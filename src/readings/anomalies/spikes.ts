/**
 * Spend spikes: periods in which far more was spent than the level, the weekday and the hour predict, at least 1.75
 * times.
 */
import { rounded, sum } from '../statistics.ts';
import { deviations } from './deviations.ts';
import { type Episode, gradeSeverity } from './episode.ts';
import { type Grain, unlessFoundBefore } from './grain.ts';

const RATIO_MIN = 1.75;
/** For an amount: a call may cost less than a thousandth of a cent. */
const USD_DECIMALS = 6;
const SEVERE_RATIOS = { MEDIUM: 2.5, HIGH: 5 } as const;

/** Finds spend spikes. Days inside the episodes in `silent` are not usual days. */
export function spendSpikes(grains: readonly Grain[], silent: readonly Episode[]): Episode[] {
  const buckets = grains[0]?.buckets ?? [];
  const calls = sum(buckets.map((bucket) => bucket.calls));
  const spend = sum(buckets.map((bucket) => bucket.spend));
  if (calls === 0 || spend <= 0) return [];
  const found: Episode[] = [];
  for (const grain of grains) found.push(...unlessFoundBefore(found, spikesAt(grain, spend / calls, silent, found)));
  return found;
}

function spikesAt(grain: Grain, unit: number, silent: readonly Episode[], before: readonly Episode[]): Episode[] {
  const observed = grain.buckets.map((bucket) => bucket.spend);
  return deviations(grain, { observed, unit, silent, found: before, direction: 'more', ratioMin: RATIO_MIN }).map(
    (spike) => {
      const ratio = spike.observed / Math.max(spike.expected, unit);
      return {
        kind: 'SPEND_SPIKE',
        startMs: spike.startMs,
        endMs: spike.endMs,
        expected: rounded(spike.expected, USD_DECIMALS),
        observed: rounded(spike.observed, USD_DECIMALS),
        severity: gradeSeverity(ratio, SEVERE_RATIOS, { value: spike.observed - spike.expected, unit: 'USD' }),
        evidence: { ratio: rounded(ratio, 2), ...spike.evidence },
      };
    },
  );
}
