/**
 * The days of a usage page: a range that ends today, or the requested dates.
 */
import type { FC } from 'hono/jsx';
import type { UsageSummaryData } from '../contract/usage-summary.ts';
import { DAY_MS, utcDay } from '../platform/time.ts';
import { calendarDay } from '../ui/format.ts';

/** The ranges in days, with today. */
const RANGES = [1, 7, 30, 90] as const;
const RANGE_DEFAULT = 30;

export interface AskedDays {
  /** `null` if the query has dates. */
  range: number | null;
  /** UTC dates, not validated; the second is exclusive. */
  dates: { from?: string; to?: string };
  /** The parameters for a link to the same days. */
  query: Record<string, string>;
}

export function parseAskedDays({ from, to, days }: Readonly<Record<string, string>>, nowMs: number): AskedDays {
  if (from !== undefined || to !== undefined) {
    const dates = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
    return { range: null, dates, query: dates };
  }
  const range = RANGES.find((one) => String(one) === days) ?? RANGE_DEFAULT;
  const first = utcDay(nowMs - (range - 1) * DAY_MS);
  return { range, dates: { from: first }, query: { days: String(range) } };
}

/** A note for figures that are complete only from a later day on; empty if the whole period is complete. */
export const completeSinceText = ({ period, completeSince }: Pick<UsageSummaryData, 'period' | 'completeSince'>) =>
  completeSince > period.startedAt ? ` · complete since ${calendarDay(completeSince)}` : '';

/** Links to the ranges, which keep the other parameters in `query`. */
export const RangeTabs: FC<{ path: string; query: Record<string, string>; range: number | null }> = ({
  path,
  query,
  range,
}) => (
  <nav class="tabs" aria-label="Period">
    {RANGES.map((one) => (
      <a
        href={`${path}?${new URLSearchParams({ ...query, days: String(one) })}`}
        aria-current={one === range ? 'true' : undefined}
      >
        {one === 1 ? 'Today' : `${one} days`}
      </a>
    ))}
  </nav>
);
