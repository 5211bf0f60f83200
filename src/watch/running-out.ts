/**
 * What runs out by a customer's forecast: limited meters before the period ends, and the USD balance within days. Pure: the
 * customer's history and the time are arguments.
 *
 * Units of a custom meter are forecast themselves. Calls and tokens of a tier are forecast as their part of all calls and
 * all output tokens, which is taken from the period so far.
 */

import type { ForecastFacts, ForecastMetric } from '../contract/readings.ts';
import { lowBalanceDays } from '../domain/alerts.ts';
import { limitOf } from '../domain/allowances.ts';
import { owedBalance } from '../domain/customer-events.ts';
import type { MeterName } from '../domain/meters.ts';
import { formatUsd } from '../domain/money.ts';
import { NEVER_MS } from '../domain/period.ts';
import type { Alerts } from '../domain/plan.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../platform/time.ts';
import {
  COLUMNS,
  type CustomerHistory,
  forecastOf,
  METER_METRICS,
  neededBy,
} from '../readings/forecast/read-forecast.ts';
import { rounded } from '../readings/statistics.ts';
import { sumBetween } from '../readings/usage/series-hours.ts';
import { weekPeriods } from '../readings/usage/weeks.ts';

/** A part of a period that is younger says little of the rest. */
const PART_DAYS_MIN = 3;
const DAYS_LEFT_DECIMALS = 1;
const TIME_ZONE = 'UTC';

/** The columns of a customer's history that this needs. */
export const COLUMNS_NEEDED = [...new Set([...neededBy('calls'), ...neededBy('outputTokens'), ...neededBy('dollars')])];

/** Meters of which a forecast knows only the sum with others. */
const PART_OF: Partial<Record<MeterName, ForecastMetric>> = {
  standardCalls: 'calls',
  premiumCalls: 'calls',
  standardTokens: 'outputTokens',
  premiumTokens: 'outputTokens',
};

const FORECAST_ALONE = new Map(
  Object.entries(METER_METRICS).map(([metric, { meter }]) => [meter, metric as ForecastMetric]),
);

export interface RunningOut {
  meter: MeterName;
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
  const { subscription, meters } = history.account;
  if (subscription.nextReplenishAtMs >= NEVER_MS || subscription.canceledAtMs !== null) return [];
  const known = new Map<ForecastMetric, ForecastFacts>();
  const factsOf = (metric: ForecastMetric) => {
    const facts = known.get(metric) ?? forecastOf(history, metric, TIME_ZONE, nowMs);
    known.set(metric, facts);
    return facts;
  };
  const found: RunningOut[] = [];
  for (const [meter, metric] of [...Object.entries(PART_OF), ...FORECAST_ALONE] as [MeterName, ForecastMetric][]) {
    const limit = limitOf(subscription.plan.plan, meter);
    const used = meters.consumed[meter] ?? 0;
    if (limit === null || used === 0 || used >= limit) continue;
    const facts = factsOf(metric);
    const { quality } = facts;
    if (facts.status !== 'available' || (quality !== 'HIGH' && quality !== 'MEDIUM')) continue;
    const expectedMs = FORECAST_ALONE.has(meter)
      ? Date.parse(facts.projectedAllowanceExhaustionAt ?? '')
      : endOfPart(facts, used, limit - used, nowMs);
    if (!(expectedMs < subscription.nextReplenishAtMs)) continue;
    const course = intervalOf(facts, expectedMs);
    const periodEndsAt = new Date(subscription.nextReplenishAtMs).toISOString();
    if (course) found.push({ meter, used, limit, ...course, periodEndsAt, quality });
  }
  return found;
}

/** When a part of what is forecast is used up, at an even pace; not a number where it lasts, or where little is known. */
function endOfPart({ recorded, remaining, period, horizon }: ForecastFacts, used: number, left: number, nowMs: number) {
  if (nowMs - Date.parse(period.startedAt) < PART_DAYS_MIN * DAY_MS || recorded <= 0) return Number.NaN;
  const expected = (remaining?.expected ?? 0) * Math.min(1, used / recorded);
  const [fromMs, toMs] = [Date.parse(horizon.startedAt), Date.parse(horizon.endedAt)];
  return expected > left ? fromMs + (left / expected) * (toMs - fromMs) : Number.NaN;
}

/** The same where usage is as high, and as low, as in one of ten forecasts. */
function intervalOf({ remaining, horizon }: ForecastFacts, expectedMs: number) {
  if (!remaining) return null;
  const [fromMs, toMs] = [Date.parse(horizon.startedAt), Date.parse(horizon.endedAt)];
  const at = (quantity: number) => fromMs + (expectedMs - fromMs) * (remaining.expected / quantity);
  const latestMs = at(remaining.p10);
  return {
    expectedAt: minuteOf(expectedMs),
    earliestAt: minuteOf(Math.min(expectedMs, at(remaining.p90))),
    latestAt: latestMs < toMs ? minuteOf(Math.max(expectedMs, latestMs)) : null,
  };
}

/** Readings have the resolution of an hour: seconds would say more than is known. */
function minuteOf(atMs: number): string {
  return new Date(Math.round(atMs / MINUTE_MS) * MINUTE_MS).toISOString();
}

export interface BalanceDays {
  isLow: boolean;
  balanceUsd: string;
  daysLeft: number;
  belowDays: number;
}

/**
 * How many days the balance lasts at the forecast spend of the days that the plan or the organization names; `null` where
 * they name none, where nothing leaves the balance, or where the forecast is not good enough.
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
  const cost = sumBetween(series, COLUMNS.dollars, latest.startMs, latest.endMs);
  // The horizon is the days that count, whenever the usage period ends.
  const nextReplenishAtMs = nowMs - (nowMs % HOUR_MS) + belowDays * DAY_MS;
  const ahead = { ...history, account: { ...account, subscription: { ...account.subscription, nextReplenishAtMs } } };
  const { status, quality, remaining } = forecastOf(ahead, 'dollars', TIME_ZONE, nowMs);
  if (status !== 'available' || quality === 'LOW' || cost <= 0 || !remaining) return null;
  // Of what calls cost, so much left the balance: an allowance paid the rest, or a markup came on top.
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
