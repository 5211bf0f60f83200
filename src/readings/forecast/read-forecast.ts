/**
 * Use case: the forecast of one metric of a customer until the next replenishment.
 *
 * Readings have a resolution of one hour: a forecast starts at the current hour, or with the period that began in it, so
 * within an hour the same data give the same response.
 */

import type { Complete } from '../../contract/complete.ts';
import { accept, badRequest } from '../../contract/errors.ts';
import type { AnswerTo } from '../../contract/operations.ts';
import type { ForecastFacts, ForecastMetric } from '../../contract/readings.ts';
import { summarize } from '../../domain/allowances.ts';
import type { CustomerId } from '../../domain/ids.ts';
import type { MeterName, MeterSlot } from '../../domain/meters.ts';
import { usdFromNano } from '../../domain/money.ts';
import { NEVER_MS } from '../../domain/period.ts';
import { sumBalance } from '../../domain/wallet.ts';
import type { Caller, Reader } from '../../metering/caller.ts';
import { unknownCustomer } from '../../metering/customers.ts';
import { ask, customerByName } from '../../objects/addresses.ts';
import type { CustomerHistory as SentHistory } from '../../objects/customer-commands.ts';
import {
  firstOfPeriod,
  type HourColumn,
  joinSeries,
  parseHours,
  type SeriesHours,
  sumBetween,
} from '../../objects/series-hours.ts';
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { isTimeZone } from '../calendar.ts';
import { rounded } from '../statistics.ts';
import { compareWeeks } from '../usage/weeks.ts';
import type { ChartDay } from './course.ts';
import { type Exhaustion, forecastExhaustion } from './exhaustion.ts';
import { forecast, type Quantiles } from './forecast.ts';
import { HISTORY_DAYS_MAX } from './history.ts';
import { meterEnds } from './meters.ts';

/** The metrics that map to exactly one meter. Only these have a projected exhaustion. */
export const METER_METRICS: Partial<Record<ForecastMetric, { meter: MeterName; slot: MeterSlot }>> = {
  agenticApi: { meter: 'agenticApi', slot: 'AGENTIC_API' },
  customMeter1: { meter: 'customMeter1', slot: 'CUSTOM1' },
  customMeter2: { meter: 'customMeter2', slot: 'CUSTOM2' },
};

/** The meters on which each metric counts. */
export const METERS_OF: Partial<Record<ForecastMetric, readonly MeterName[]>> = {
  calls: ['standardCalls', 'premiumCalls'],
  outputTokens: ['standardTokens', 'premiumTokens'],
  agenticApi: ['agenticApi'],
  customMeter1: ['customMeter1'],
  customMeter2: ['customMeter2'],
};

/** A metric is the sum of these columns. */
export const COLUMNS: Record<ForecastMetric, readonly HourColumn[]> = {
  calls: ['completedCalls', 'failedCalls'],
  inputTokens: ['inputTokens'],
  outputTokens: ['outputTokens'],
  allTokens: ['inputTokens', 'outputTokens'],
  dollars: ['costUsd'],
  agenticApi: ['agenticApi'],
  customMeter1: ['customMeter1'],
  customMeter2: ['customMeter2'],
};

/** How long a customer's object stores hours of usage. */
export const HISTORY_MS = HISTORY_DAYS_MAX * DAY_MS;

/** Decimals of sums: USD are rounded to a nano-USD. */
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
  customerId: CustomerId,
  { metric, timezone }: { metric: ForecastMetric; timezone: string },
): Promise<AnswerTo<'readForecast'>> {
  if (!isTimeZone(timezone)) return unknownTimezone('timezone');
  const history = await customerHistory(caller, customerId, neededBy(metric), []);
  if (!history) return unknownCustomer();
  const nowMs = Date.now();
  const { facts, days } = forecastAndDays(history, metric, timezone, nowMs);
  return accept('FORECAST_READ', { customerId, ...facts, days: days?.map(presentDay) ?? null }, nowMs);
}

function presentDay({ startedAtMs, endedAtMs, ...figures }: ChartDay) {
  return { startedAt: iso(startedAtMs), endedAt: iso(endedAtMs), ...figures };
}

/** The data from which a customer's readings are computed. */
export interface CustomerHistory extends SentHistory {
  series: SeriesHours;
  /** The hours since the start of the period or of the last two completed weeks, whichever is earlier. */
  recent: SeriesHours;
}

/** The columns of the whole history that a metric's forecast needs. */
export function neededBy(metric: ForecastMetric): readonly HourColumn[] {
  return metric === 'dollars' ? [...COLUMNS.dollars, 'failedCalls', 'unpricedCalls'] : COLUMNS[metric];
}

/** The customer's account and hours of usage; `null` if the customer does not exist in this organization. */
export async function customerHistory(
  { env, organization: { organizationId } }: Reader,
  customerId: CustomerId,
  columns: readonly HourColumn[],
  recentColumns: readonly HourColumn[],
): Promise<CustomerHistory | null> {
  const history = await ask(customerByName(env, { organizationId, customerId }), (customer) =>
    customer.readHistory({ organizationId, columns, recentColumns }),
  );
  if (!history) return null;
  return { ...history, series: parseHours(history.hoursJson), recent: parseHours(history.recentHoursJson) };
}

export function unknownTimezone(path: string) {
  return badRequest({ path, message: 'must be the name of an IANA time zone, such as Europe/Berlin' });
}

/** The forecast without its days. */
export function makeForecast(
  history: CustomerHistory,
  metric: ForecastMetric,
  timezone: string,
  nowMs: number,
): ForecastFacts {
  return forecastAndDays(history, metric, timezone, nowMs).facts;
}

function forecastAndDays(history: CustomerHistory, metric: ForecastMetric, timezone: string, nowMs: number) {
  const { account, series } = history;
  const { subscription } = account;
  const { plan } = subscription.plan;
  const ofMeter = METER_METRICS[metric];
  const enabled = !ofMeter || plan.customMeters[ofMeter.slot]?.enabled === true;
  const { lastReplenishedAtMs: periodStartMs, nextReplenishAtMs: boundaryMs } = subscription;
  const presentMs = Math.max(nowMs - (nowMs % HOUR_MS), periodStartMs);
  const result = forecast({
    hours: joinSeries(series, COLUMNS[metric]),
    firstDataMs: account.createdAtMs,
    nowMs: presentMs,
    periodStartMs: firstOfPeriod(series, periodStartMs),
    horizonEndMs: boundaryMs < NEVER_MS ? boundaryMs : null,
    timeZone: timezone,
    kind: metric === 'dollars' ? 'usd' : 'quantity',
    evidence: enabled ? evidenceFor(history, metric, presentMs) : 'not_applicable',
  });
  const { status, reason, remaining, method, quality, historyDays } = result;
  const recorded = recordedSince(series, COLUMNS[metric], periodStartMs);
  const exhaustion = forecastExhaustion({
    forecast: result,
    remaining:
      metric === 'dollars' ? costUntilBalanceIsGone(history, presentMs) : allowanceLeft(account, ofMeter?.meter),
    nowMs: presentMs,
    timeZone: timezone,
  });
  const use = { forecast: result, recorded, nowMs: presentMs, timeZone: timezone };
  const ends = meterEnds(METERS_OF[metric] ?? [], account, use);
  const facts: Complete<ForecastFacts> = {
    metric,
    unit: UNITS[metric],
    timezone,
    status,
    reason,
    period: { startedAt: iso(periodStartMs), endedAt: iso(boundaryMs) },
    horizon: { startedAt: iso(presentMs), endedAt: iso(boundaryMs) },
    recorded,
    remaining,
    total: result.period && atLeast(result.period, recorded),
    method,
    backtest: result.backtest,
    quality,
    historyDays,
    runsOut: presentEnd(exhaustion),
    meters: ends.map((end) => ({ ...end, runsOut: presentEnd(end.runsOut) })),
    projectedAllowanceExhaustionAt: ofMeter && (presentEnd(exhaustion)?.expectedAt ?? null),
  };
  return { facts, days: result.days };
}

function presentEnd(exhaustion: Exhaustion | null) {
  const at = (ms: number | null) => (ms === null ? null : iso(ms));
  return (
    exhaustion && {
      earliestAt: at(exhaustion.earliestMs),
      expectedAt: at(exhaustion.expectedMs),
      latestAt: at(exhaustion.latestMs),
    }
  );
}

/** Usage in the current hour may already exceed its expectation, so no total is below the recorded one. */
function atLeast({ expected, p10, p50, p90 }: Quantiles, recorded: number): Quantiles {
  const raised = (quantity: number) => Math.max(quantity, recorded);
  return { expected: raised(expected), p10: raised(p10), p50: raised(p50), p90: raised(p90) };
}

/** Evidence is partial if calls have no price (for cost), or if the period began before the stored hours. */
function evidenceFor(
  { account, series }: CustomerHistory,
  metric: ForecastMetric,
  nowMs: number,
): 'complete' | 'partial' {
  // A failed call without a price usually cost nothing.
  const { unpricedCalls = [], failedCalls = [] } = series.columns;
  if (metric === 'dollars' && unpricedCalls.some((unpriced, at) => unpriced > (failedCalls[at] ?? 0))) return 'partial';
  const beganMs = Math.max(account.createdAtMs, account.subscription.lastReplenishedAtMs);
  return beganMs < nowMs - HISTORY_MS ? 'partial' : 'complete';
}

/** The quantity recorded in the period, including the current hour. */
export function recordedSince(series: SeriesHours, names: readonly HourColumn[], periodStartMs: number): number {
  return rounded(sumBetween(series, names, { fromMs: firstOfPeriod(series, periodStartMs), toMs: NEVER_MS }), DECIMALS);
}

/** The included units that are left; `null` without a meter or a limit. */
function allowanceLeft({ subscription, meters }: CustomerHistory['account'], meter: MeterName | undefined) {
  if (!meter) return null;
  const { limit, remaining } = summarize(subscription.plan.plan, meters, meter);
  // An allowance of zero cannot run out.
  return limit ? remaining : null;
}

/**
 * The provider cost in USD after which the balance is gone, if the same share of the cost is charged to it as in the
 * latest week. `null` if nothing was charged.
 */
function costUntilBalanceIsGone({ account, series, chargedLatestWeekUsd }: CustomerHistory, nowMs: number) {
  const { latest } = compareWeeks(series, COLUMNS.dollars, nowMs);
  if (!account.subscription.plan.plan.payg.enabled || chargedLatestWeekUsd <= 0 || latest <= 0) return null;
  return usdFromNano(sumBalance(account.wallet, 'USD')) / (chargedLatestWeekUsd / latest);
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
