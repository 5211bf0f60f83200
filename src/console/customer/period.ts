/**
 * The periods of a customer's usage for an operator to choose from. All are whole UTC days, and include today.
 */
import { SUMMARY_DAYS_MAX } from '../../contract/usage-summary.ts';
import { DAY_MS } from '../../platform/time.ts';

export const PERIODS = {
  today: 'Today',
  yesterday: 'Yesterday',
  '7d': '7 days',
  '30d': '30 days',
  usage: 'Usage period',
} as const;

export type PeriodName = keyof typeof PERIODS;

const PERIOD_DEFAULT: PeriodName = '30d';

export interface Period {
  fromMs: number;
  toMs: number;
}

/** The requested period, or the default. */
export function periodNamed(asked: string | undefined): PeriodName {
  return asked !== undefined && Object.hasOwn(PERIODS, asked) ? (asked as PeriodName) : PERIOD_DEFAULT;
}

/**
 * The days of a period. The usage period begins at `replenishedAtMs`: its whole first day is shown, and at most 400
 * days.
 */
export function resolvePeriod(
  name: PeriodName,
  { replenishedAtMs, nowMs }: { replenishedAtMs: number; nowMs: number },
): Period {
  const todayMs = nowMs - (nowMs % DAY_MS);
  const toMs = todayMs + DAY_MS;
  switch (name) {
    case 'today':
      return { fromMs: todayMs, toMs };
    case 'yesterday':
      return { fromMs: todayMs - DAY_MS, toMs: todayMs };
    case '7d':
      return { fromMs: toMs - 7 * DAY_MS, toMs };
    case '30d':
      return { fromMs: toMs - 30 * DAY_MS, toMs };
    case 'usage': {
      const firstMs = replenishedAtMs - (replenishedAtMs % DAY_MS);
      return { fromMs: Math.min(todayMs, Math.max(firstMs, toMs - SUMMARY_DAYS_MAX * DAY_MS)), toMs };
    }
  }
}
