/**
 * The local days that a query requests by its dates and its time zone.
 */
import { SUMMARY_DAYS_MAX, type SummaryQuery } from '../../contract/usage-summary.ts';
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { isTimeZone, type LocalDay, localDays } from '../calendar.ts';

const DEFAULT_DAYS = 30;

/** The rule that the query breaks. */
export interface Broken {
  path: string;
  message: string;
}

/** In order and without gaps; or the rule that the query violates. */
export function askedDays(
  { from, to, timezone }: Pick<SummaryQuery, 'from' | 'to' | 'timezone'>,
  nowMs: number,
): LocalDay[] | Broken {
  if (!isTimeZone(timezone))
    return { path: 'timezone', message: 'must be the name of an IANA time zone, such as Europe/Berlin' };
  const last = to === undefined ? nowMs : startOfLocalDay(to, timezone) - 1;
  const end = localDays({ fromMs: last, toMs: last + 1 }, timezone)[0]?.endMs ?? last;
  const start = from === undefined ? end - DEFAULT_DAYS * DAY_MS + 2 * HOUR_MS : startOfLocalDay(from, timezone);
  if (start >= end) return { path: 'to', message: 'must be after from' };
  if (end - start > (SUMMARY_DAYS_MAX + 1) * DAY_MS)
    return { path: 'from', message: `must be at most ${SUMMARY_DAYS_MAX} days before to` };
  const days = localDays({ fromMs: start, toMs: end }, timezone);
  // Clock changes may make the default period overlap one more day at its start, which is removed.
  return from === undefined ? days.slice(-DEFAULT_DAYS) : days;
}

/** The start of a local date. */
function startOfLocalDay(date: string, timezone: string): number {
  const utcMs = Date.parse(`${date}T00:00:00Z`);
  const around = localDays({ fromMs: utcMs - 2 * DAY_MS, toMs: utcMs + 2 * DAY_MS }, timezone);
  // A date that a zone skipped starts with the next one.
  return around.find(({ label }) => label >= date)?.startMs ?? utcMs;
}
