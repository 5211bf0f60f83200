/**
 * The days of a page of usage: a range that ends today, or the dates that were asked for.
 */
import type { FC } from 'hono/jsx';
import type { UsageSummaryData } from '../contract/usage-summary.ts';
import { DAY_MS } from '../platform/time.ts';

/** Days, today included. */
const RANGES = [1, 7, 30, 90] as const;
const RANGE_DEFAULT = 30;

export interface AskedDays {
  /** `null` where dates were asked for. */
  range: number | null;
  /** UTC dates, not checked; the second is exclusive. */
  dates: { from?: string; to?: string };
  /** What a link takes along to ask for the same days. */
  query: Record<string, string>;
}

export function parseAskedDays({ from, to, days }: Readonly<Record<string, string>>, nowMs: number): AskedDays {
  if (from !== undefined || to !== undefined) {
    const dates = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
    return { range: null, dates, query: dates };
  }
  const range = RANGES.find((one) => String(one) === days) ?? RANGE_DEFAULT;
  const first = new Date(nowMs - (range - 1) * DAY_MS).toISOString().slice(0, 10);
  return { range, dates: { from: first }, query: { days: String(range) } };
}

/** Links to the ranges; `query` is what else they keep. */
/** That the figures of a period are complete from a later day on; empty if they are from its start. */
export const completeSinceText = ({ period, completeSince }: Pick<UsageSummaryData, 'period' | 'completeSince'>) =>
  completeSince > period.startedAt ? ` · complete since ${completeSince.slice(0, 10)}` : '';

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
