/**
 * Silence: a customer who used the service regularly has stopped.
 *
 * A run of days without calls, compared with the four weeks before it: the calls that its weekdays would have had, and
 * the share of such days that were idle before. By both measures the run must have a probability of at most 2 percent.
 * It may still be ongoing.
 */

import { DAYS_PER_WEEK } from '../calendar.ts';
import { mean, median, rounded, sum } from '../statistics.ts';
import { type Episode, gradeSeverity, type UsageBucket } from './episode.ts';
import { FALSE_ALARM_CHANCE } from './grain.ts';

const BEFORE_DAYS_MAX = 28;
const BEFORE_DAYS_MIN = 7;
/** With a smaller share of active days before the run, the use was not regular. */
const ACTIVE_SHARE_MIN = 0.4;
/** A day is silent if it has at most this share of its weekday's calls. */
const SILENT_SHARE_MAX = 0.02;
/** Weight of the average idle share against a weekday's own, in days. */
const IDLE_PRIOR_DAYS = 2;
const SEVERE_DAYS = { MEDIUM: 3, HIGH: 7 } as const;
/** A day with fewer calls than this may be idle by chance; above it, silence is unlikely. */
const BUSY_CALLS = 10;

export function silences(daily: readonly UsageBucket[]): Episode[] {
  const calls = daily.map((bucket) => bucket.calls);
  const limit = Math.log(FALSE_ALARM_CHANCE / calls.length);
  const episodes: Episode[] = [];
  for (let at = BEFORE_DAYS_MIN; at < calls.length; at += 1) {
    const before = calls.slice(Math.max(0, at - BEFORE_DAYS_MAX), at);
    const usual = usualDays(before);
    let end = at;
    let chance = 0;
    let expected = 0;
    while (end < calls.length && isSilent(calls[end] ?? 0, usual(end - at).calls)) {
      const day = usual(end - at);
      chance += Math.log(day.idle);
      expected += day.calls;
      end += 1;
    }
    if (end === at) continue;
    const active = before.filter((count) => count > 0).length / before.length;
    if (chance < limit && active >= ACTIVE_SHARE_MIN) {
      const observed = sum(calls.slice(at, end));
      episodes.push({
        kind: 'SILENCE',
        startMs: (daily[at] as UsageBucket).startMs,
        endMs: (daily[end - 1] as UsageBucket).endMs,
        expected: rounded(expected, 1),
        observed,
        severity: gradeSeverity(end - at, SEVERE_DAYS, { value: expected - observed, unit: 'calls' }),
        evidence: {
          days: end - at,
          activeShareBefore: rounded(active, 3),
          logChance: rounded(chance, 2),
          logChanceLimit: rounded(limit, 2),
        },
      });
    }
    at = end - 1;
  }
  return episodes;
}

function isSilent(count: number, usual: number): boolean {
  return count === 0 || count <= SILENT_SHARE_MAX * usual;
}

/** The expectation of the days after `before`: their calls, and the probability that one is idle. */
function usualDays(before: readonly number[]): (ahead: number) => { calls: number; idle: number } {
  const isIdle = (count: number) => count === 0;
  const usual = (ahead: number) => {
    const common = (before.filter(isIdle).length + 0.5) / (before.length + 1);
    const same = before.filter(
      (_, at) => (before.length - at) % DAYS_PER_WEEK === (DAYS_PER_WEEK - ahead) % DAYS_PER_WEEK,
    );
    const calls = same.length > 0 ? (median(same) + mean(same)) / 2 : mean(before);
    const idle = (same.filter(isIdle).length + IDLE_PRIOR_DAYS * common) / (same.length + IDLE_PRIOR_DAYS);
    // A weekday whose smallest count is high is unlikely to be idle. If the weekday is known only once, all days count.
    const busy = Math.min(...(same.length > 1 ? same : before)) / BUSY_CALLS;
    return { calls, idle: idle * Math.exp(-busy) };
  };
  // Computed on demand, because most days are not followed by a silent one.
  const known: { calls: number; idle: number }[] = [];
  return (ahead) => {
    const weekday = ahead % DAYS_PER_WEEK;
    known[weekday] ??= usual(weekday);
    return known[weekday];
  };
}
