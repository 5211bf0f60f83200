/**
 * The periods of a customer's usage that an operator chooses from. All are whole UTC days, today included.
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

/** What was asked for, or the default. */
export function periodNamed(asked: string | undefined): PeriodName {
  return asked !== undefined && Object.hasOwn(PERIODS, asked) ? (asked as PeriodName) : PERIOD_DEFAULT;
}

/** `replenishedAtMs` is when the usage period began: its whole first day is shown, and 400 days of it at most. */
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
