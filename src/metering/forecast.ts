/**
 * Use case: the forecast of one metric of a customer until the next replenishment.
 *
 * Readings have the resolution of an hour: a forecast begins with the present hour, so the same data give the same answer.
 */

import type { CustomerHistory as SentHistory } from '../../durable-objects/customer/protocol.ts';
import type { Customer } from '../../durable-objects/customer.ts';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { ForecastData, ForecastFacts, ForecastMetric } from '../contract/readings.ts';
import { type MeterName, summarize } from '../domain/meters.ts';
import { NEVER_MS } from '../domain/period.ts';
import type { MeterSlot } from '../domain/plan.ts';
import { DAY_MS, HOUR_MS, isTimeZone } from '../domain/readings/calendar.ts';
import { projectedAllowanceExhaustionAt } from '../domain/readings/exhaustion.ts';
import { forecast, type Quantiles } from '../domain/readings/forecast.ts';
import { HISTORY_DAYS_MAX, type UsageHour } from '../domain/readings/history.ts';
import { parseHours, type SeriesHour } from '../domain/readings/series-hours.ts';
import { rounded } from '../domain/readings/statistics.ts';
import { ask, customerByName } from '../storage/objects.ts';
import type { Caller } from './caller.ts';

/** The metrics that are one meter each: these alone may say when an allowance is gone. */
export const METER_METRICS: Partial<Record<ForecastMetric, { meter: MeterName; slot: MeterSlot }>> = {
  agenticApi: { meter: 'agenticApi', slot: 'AGENTIC_API' },
  customMeter1: { meter: 'customMeter1', slot: 'CUSTOM1' },
  customMeter2: { meter: 'customMeter2', slot: 'CUSTOM2' },
};

/** The object keeps hours of usage for so long. */
export const HISTORY_MS = HISTORY_DAYS_MAX * DAY_MS;

/** Sums of USD as numbers are rounded to a nano-USD. */
const DECIMALS = 9;

const UNITS: Record<ForecastMetric, ForecastFacts['unit']> = {
  calls: 'calls',
  inputTokens: 'tokens',
  outputTokens: 'tokens',
  allTokens: 'tokens',
  dollars: 'USD',
  agenticApi: 'units',
  customMeter1: 'units',
  customMeter2: 'units',
};

export async function readForecast(
  caller: Caller,
  customerId: string,
  { metric, timezone }: { metric: ForecastMetric; timezone: string },
): Promise<Answer<ForecastData>> {
  if (!isTimeZone(timezone)) return unknownTimezone('timezone');
  const history = await customerHistory(caller, customerId);
  if (!history) return customerNotFound();
  const nowMs = Date.now();
  return accept('FORECAST_READ', { customerId, ...forecastOf(history, metric, timezone, nowMs) }, nowMs);
}

/** What readings of a customer are made from. */
export type CustomerHistory = SentHistory & { hours: SeriesHour[] };

/** The customer's account and hours of usage; `null` for one that is missing or another tenant's. */
export async function customerHistory(
  { env, organization: { organizationId } }: Caller,
  customerId: string,
): Promise<CustomerHistory | null> {
  const history = await ask<DurableObjectStub<Customer>, SentHistory | null>(
    customerByName(env, organizationId, customerId),
    (customer) => customer.readHistory(organizationId) as unknown as PromiseLike<SentHistory | null>,
  );
  return history && { ...history, hours: parseHours(history.hoursJson) };
}

export const customerNotFound = () => refuse('CUSTOMER_NOT_FOUND', 'no such customer');

export function unknownTimezone(path: string) {
  const message = 'must be the name of an IANA time zone, such as Europe/Berlin';
  return refuse('BAD_REQUEST', `${path}: ${message}`, { members: { details: [{ path, message }] } });
}

export function forecastOf(history: CustomerHistory, metric: ForecastMetric, timezone: string, nowMs: number): ForecastFacts {
  const { account, hours } = history;
  const presentMs = nowMs - (nowMs % HOUR_MS);
  const { subscription } = account;
  const { plan } = subscription.plan;
  const ofMeter = METER_METRICS[metric];
  const enabled = !ofMeter || plan.customMeters[ofMeter.slot]?.enabled === true;
  const { lastReplenishedAtMs: periodStartMs, nextReplenishAtMs: boundaryMs } = subscription;
  const series = seriesOf(hours, metric);
  const result = forecast({
    hours: series,
    firstDataMs: account.createdAtMs,
    nowMs: presentMs,
    periodStartMs,
    horizonEndMs: boundaryMs < NEVER_MS ? boundaryMs : null,
    timeZone: timezone,
    kind: metric === 'dollars' ? 'usd' : 'quantity',
    evidence: enabled ? evidenceFor(history, metric, presentMs) : 'not_applicable',
  });
  const { status, reason, remaining, method, quality, historyDays } = result;
  const recorded = recordedSince(series, periodStartMs);
  return {
    metric,
    unit: UNITS[metric],
    timezone,
    status,
    reason,
    period: { startedAt: iso(periodStartMs), endedAt: iso(boundaryMs) },
    horizon: { startedAt: iso(Math.max(presentMs, periodStartMs)), endedAt: iso(boundaryMs) },
    recorded,
    remaining,
    total: result.period && atLeast(result.period, recorded),
    method,
    backtest: result.backtest,
    quality,
    historyDays,
    ...(ofMeter && { projectedAllowanceExhaustionAt: exhaustionOf(account, ofMeter.meter, result, timezone, presentMs) }),
  };
}

/** A busy present hour may already exceed what was expected of it: no total is below what is recorded. */
function atLeast({ expected, p10, p50, p90 }: Quantiles, recorded: number): Quantiles {
  const raised = (quantity: number) => Math.max(quantity, recorded);
  return { expected: raised(expected), p10: raised(p10), p50: raised(p50), p90: raised(p90) };
}

/** The cost of a customer whose calls have no price, and a period that began before the kept hours, are known in part. */
function evidenceFor({ account, hours }: CustomerHistory, metric: ForecastMetric, nowMs: number): 'complete' | 'partial' {
  // A failed call without a price has most often cost nothing.
  if (metric === 'dollars' && hours.some(({ unpricedCalls, failedCalls }) => unpricedCalls > failedCalls)) return 'partial';
  const beganMs = Math.max(account.createdAtMs, account.subscription.lastReplenishedAtMs);
  return beganMs < nowMs - HISTORY_MS ? 'partial' : 'complete';
}

/** The hours of a metric. */
export function seriesOf(hours: readonly SeriesHour[], metric: ForecastMetric): UsageHour[] {
  return hours.map((hour) => ({ startMs: hour.startMs, quantity: quantityOf(hour, metric) })).filter(({ quantity }) => quantity > 0);
}

function quantityOf(hour: SeriesHour, metric: ForecastMetric): number {
  switch (metric) {
    case 'calls':
      return hour.completedCalls + hour.failedCalls;
    case 'allTokens':
      return hour.inputTokens + hour.outputTokens;
    case 'dollars':
      return hour.costUsd;
    default:
      return hour[metric];
  }
}

/** The quantity of the period so far, the present hour included. The hour in which the period began counts whole. */
export function recordedSince(series: readonly UsageHour[], periodStartMs: number): number {
  const recorded = series.reduce((sum, { startMs, quantity }) => (startMs > periodStartMs - HOUR_MS ? sum + quantity : sum), 0);
  return rounded(recorded, DECIMALS);
}

function exhaustionOf(
  { subscription, meters }: CustomerHistory['account'],
  meter: MeterName,
  result: ReturnType<typeof forecast>,
  timeZone: string,
  nowMs: number,
): string | null {
  const { limit, remaining } = summarize(subscription.plan.plan, meters, meter);
  // An allowance of zero is never used up: it was never there.
  const atMs = projectedAllowanceExhaustionAt({ forecast: result, remaining: limit ? remaining : null, nowMs, timeZone });
  return atMs === null ? null : iso(atMs);
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
