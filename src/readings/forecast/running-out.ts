/**
 * The limits that a customer's forecast shows to run out: limited meters before the period ends, and the USD balance
 * within days. Pure: the customer's history and the time are arguments.
 */

import type { ForecastMetric } from '../../contract/readings.ts';
import { owedBalance } from '../../domain/account.ts';
import { lowBalanceDays } from '../../domain/alerts.ts';
import { planLimit } from '../../domain/allowances.ts';
import { meterLabel } from '../../domain/meter-names.ts';
import type { MeterName } from '../../domain/meters.ts';
import { formatUsd } from '../../domain/money.ts';
import { NEVER_MS } from '../../domain/period.ts';
import type { Alerts } from '../../domain/plan.ts';
import { sumBetween } from '../../objects/series-hours.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../platform/time.ts';
import { rounded } from '../statistics.ts';
import { weekPeriods } from '../usage/weeks.ts';
import { COLUMNS, type CustomerHistory, METERS_OF, makeForecast, neededBy } from './read-forecast.ts';

const DAYS_LEFT_DECIMALS = 1;
const TIME_ZONE = 'UTC';

/** The metrics whose meters are checked. */
const METRICS: readonly ForecastMetric[] = ['calls', 'outputTokens', 'agenticApi', 'customMeter1', 'customMeter2'];

/** The columns of a customer's history that this needs. */
export const COLUMNS_NEEDED = [...new Set([...METRICS, 'dollars' as const].flatMap(neededBy))];

export interface RunningOut {
  meter: MeterName;
  /** The plan's label of a custom meter. */
  meterLabel?: string;
  used: number;
  limit: number;
  expectedAt: string;
  earliestAt: string;
  latestAt: string | null;
  periodEndsAt: string;
  quality: 'HIGH' | 'MEDIUM';
}

/** The limited meters that are forecast to be used up before the period ends. */
export function metersRunningOut(history: CustomerHistory, nowMs: number): RunningOut[] {
  const { subscription } = history.account;
  if (subscription.nextReplenishAtMs >= NEVER_MS || subscription.canceledAtMs !== null) return [];
  const periodEndsAt = new Date(subscription.nextReplenishAtMs).toISOString();
  const { plan } = subscription.plan;
  // A forecast takes milliseconds: none is made for a metric without a limit.
  const bounded = METRICS.filter((metric) => METERS_OF[metric]?.some((meter) => planLimit(plan, meter)));
  return bounded.flatMap((metric) => {
    const { status, quality, meters } = makeForecast(history, metric, TIME_ZONE, nowMs);
    if (status !== 'available' || (quality !== 'HIGH' && quality !== 'MEDIUM')) return [];
    return meters.flatMap(({ meter, used, limit, runsOut }) => {
      const { earliestAt, expectedAt, latestAt } = runsOut ?? {};
      // A meter that is already used up is reported by its threshold.
      if (!expectedAt || !earliestAt || used >= limit) return [];
      const label = meterLabel(plan, meter);
      const course = { expectedAt: roundToMinute(expectedAt), earliestAt: roundToMinute(earliestAt) };
      return [
        {
          meter,
          ...(label !== null && { meterLabel: label }),
          used,
          limit,
          ...course,
          latestAt: latestAt ? roundToMinute(latestAt) : null,
          periodEndsAt,
          quality,
        },
      ];
    });
  });
}

/** Readings have a resolution of one hour: seconds would suggest more precision. */
function roundToMinute(at: string): string {
  return new Date(Math.round(Date.parse(at) / MINUTE_MS) * MINUTE_MS).toISOString();
}

export interface BalanceDays {
  isLow: boolean;
  balanceUsd: string;
  daysLeft: number;
  belowDays: number;
}

/**
 * The number of days that the balance lasts at the forecast spend, if the plan or the organization sets such an alert;
 * `null` if neither does, if nothing leaves the balance, or if the forecast is not good enough.
 */
export function balanceDays(
  history: CustomerHistory,
  organizationAlerts: Alerts | undefined,
  nowMs: number,
): BalanceDays | null {
  const { account, series, chargedLatestWeekUsd } = history;
  const { plan } = account.subscription.plan;
  const belowDays = lowBalanceDays(plan, organizationAlerts);
  const balance = owedBalance(account);
  if (belowDays === null || !plan.payg.enabled || balance <= 0n) return null;
  const { latest } = weekPeriods(nowMs);
  const cost = sumBetween(series, COLUMNS.dollars, { fromMs: latest.startMs, toMs: latest.endMs });
  // The horizon is the alert's number of days, whenever the usage period ends.
  const nextReplenishAtMs = nowMs - (nowMs % HOUR_MS) + belowDays * DAY_MS;
  const ahead = { ...history, account: { ...account, subscription: { ...account.subscription, nextReplenishAtMs } } };
  const { status, quality, remaining } = makeForecast(ahead, 'dollars', TIME_ZONE, nowMs);
  if (status !== 'available' || quality === 'LOW' || cost <= 0 || !remaining) return null;
  // This part of the calls' cost left the balance: an allowance paid the rest, or a markup came on top.
  const dailyUsd = (remaining.expected * (chargedLatestWeekUsd / cost)) / belowDays;
  if (dailyUsd <= 0) return null;
  const daysLeft = Number(formatUsd(balance)) / dailyUsd;
  return {
    isLow: daysLeft < belowDays,
    balanceUsd: formatUsd(balance),
    daysLeft: rounded(daysLeft, DAYS_LEFT_DECIMALS),
    belowDays,
  };
}
