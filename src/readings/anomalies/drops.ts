/**
 * Usage drops: periods with far fewer calls than the level, the weekday and the hour predict, at most half of them.
 *
 * Days of a silence are not drops as well.
 */
import { rounded, sum } from '../statistics.ts';
import { deviations } from './deviations.ts';
import { type Episode, gradeSeverity, type UsageBucket } from './episode.ts';
import { unlessFoundBefore } from './grain.ts';

/** Half of the usual calls. */
const RATIO_MIN = 2;
const SEVERE_LOSSES = { MEDIUM: 0.65, HIGH: 0.85 } as const;

/** Searches only whole days: parts of a day fall too often, on a quiet night or on a holiday's morning. */
export function usageDrops(days: readonly UsageBucket[], silent: readonly Episode[]): Episode[] {
  const observed = days.map((bucket) => bucket.calls);
  if (sum(observed) === 0) return [];
  const asked = { observed, unit: 1, silent, found: silent, direction: 'less', ratioMin: RATIO_MIN } as const;
  const drops = deviations({ buckets: days, perDay: 1 }, asked).map((found): Episode => {
    const share = found.observed / found.expected;
    return {
      kind: 'USAGE_DROP',
      startMs: found.startMs,
      endMs: found.endMs,
      expected: rounded(found.expected, 1),
      observed: found.observed,
      severity: gradeSeverity(1 - share, SEVERE_LOSSES, { value: found.expected - found.observed, unit: 'calls' }),
      evidence: { ratio: rounded(share, 2), ...found.evidence },
    };
  });
  return unlessFoundBefore(silent, drops);
}
