/**
 * Use case: a compact brief of a customer, for a person or a model that has to decide something about it.
 */
import { type Answer, accept } from '../contract/errors.ts';
import type { ForecastMetric, UsageContextData, UsageContextQuery } from '../contract/readings.ts';
import { METER_NAMES, type MeterName, SLOT_METERS, summarize } from '../domain/meters.ts';
import { usdFromNano } from '../domain/money.ts';
import type { MeterSlot } from '../domain/plan.ts';
import { HOUR_MS, isTimeZone } from '../domain/readings/calendar.ts';
import { evidenceCompleteness, reviewReasons } from '../domain/readings/review.ts';
import type { SeriesHour } from '../domain/readings/series-hours.ts';
import { type Signal, signalsOf } from '../domain/readings/signals.ts';
import { rounded } from '../domain/readings/statistics.ts';
import { compareWeeks, weekPeriods } from '../domain/readings/weeks.ts';
import { availableUsd, balanceOf } from '../domain/wallet.ts';
import type { Caller } from './caller.ts';
import {
  type CustomerHistory,
  customerHistory,
  customerNotFound,
  forecastOf,
  HISTORY_MS,
  METER_METRICS,
  recordedSince,
  seriesOf,
  unknownTimezone,
} from './forecast.ts';

/** Sums of USD as numbers are rounded to a nano-USD. */
const DECIMALS = 9;

type Metric = Exclude<ForecastMetric, 'allTokens'>;

const UNITS: Record<MeterName, UsageContextData['meters'][number]['unit']> = {
  standardCalls: 'calls',
  premiumCalls: 'calls',
  standardTokens: 'tokens',
  premiumTokens: 'tokens',
  searches: 'searches',
  audioSeconds: 'seconds',
  agenticApi: 'units',
  customMeter1: 'units',
  customMeter2: 'units',
};

export async function readUsageContext(caller: Caller, customerId: string, query: UsageContextQuery): Promise<Answer<UsageContextData>> {
  if (!isTimeZone(query.timezone)) return unknownTimezone('timezone');
  const history = await customerHistory(caller, customerId);
  if (!history) return customerNotFound();
  const nowMs = Date.now();
  return accept('USAGE_CONTEXT_READ', present(history, query, nowMs), nowMs);
}

function present(history: CustomerHistory, query: UsageContextQuery, nowMs: number): UsageContextData {
  const { account, hours } = history;
  const { subscription, contact } = account;
  const { plan, planId, usagePlanVersionId } = subscription.plan;
  const { latest, preceding } = weekPeriods(nowMs);
  const ofWeeks = hours.filter(({ startMs }) => startMs >= preceding.startMs);
  const periodStartMs = subscription.lastReplenishedAtMs;
  const ofPeriod = hours.filter(({ startMs }) => startMs > periodStartMs - HOUR_MS);
  const signals = query.includeSignals ? findSignals(history, ofWeeks, query.timezone, nowMs) : null;
  const { complete, gaps } = evidenceCompleteness({
    firstDataMs: account.createdAtMs,
    keptFromMs: nowMs - HISTORY_MS,
    periodStartMs,
    comparedFromMs: preceding.startMs,
    callsWithoutPrice: ofPeriod.reduce((sum, { unpricedCalls }) => sum + unpricedCalls, 0),
    seriesAvailable: true,
  });
  const week = (metric: Metric) => {
    const compared = compareWeeks(seriesOf(ofWeeks, metric), nowMs);
    return { ...compared, latest: rounded(compared.latest, DECIMALS), preceding: rounded(compared.preceding, DECIMALS) };
  };
  const recorded = (metric: Metric) => recordedSince(seriesOf(ofPeriod, metric), periodStartMs);
  return {
    contractVersion: 1,
    customerId: account.customerId,
    timezone: query.timezone,
    asOf: iso(nowMs - (nowMs % HOUR_MS)),
    customer: {
      friendlyName: contact.friendlyName ?? null,
      createdAt: iso(account.createdAtMs),
      canceled: subscription.canceledAtMs !== null,
    },
    plan: { planId, name: plan.name, usagePlanVersionId, limitType: plan.limitType },
    subscription: history.subscription,
    meters: METER_NAMES.map((name) => ({ name, unit: UNITS[name], ...summarize(plan, account.meters, name) })),
    funding: fundingOf(account),
    weeks: {
      latest: period(latest),
      preceding: period(preceding),
      calls: week('calls'),
      failedCalls: compareWeeks(failedSeries(ofWeeks), nowMs),
      inputTokens: week('inputTokens'),
      outputTokens: week('outputTokens'),
      dollars: week('dollars'),
      agenticApi: week('agenticApi'),
      customMeter1: week('customMeter1'),
      customMeter2: week('customMeter2'),
    },
    currentPeriod: {
      startedAt: iso(periodStartMs),
      endedAt: iso(subscription.nextReplenishAtMs),
      quantities: {
        calls: recorded('calls'),
        failedCalls: recordedSince(failedSeries(ofPeriod), periodStartMs),
        inputTokens: recorded('inputTokens'),
        outputTokens: recorded('outputTokens'),
        dollars: recorded('dollars'),
        agenticApi: recorded('agenticApi'),
        customMeter1: recorded('customMeter1'),
        customMeter2: recorded('customMeter2'),
      },
    },
    ...(query.includeForecast && { forecast: forecastOf(history, query.forecastMetric, query.timezone, nowMs) }),
    ...(signals && { signals, reviewReasons: reviewReasons(signals) }),
    evidence: { complete, gaps },
  };
}

function findSignals(history: CustomerHistory, ofWeeks: readonly SeriesHour[], timezone: string, nowMs: number): Signal[] {
  const { account, hours, chargedLatestWeekUsd } = history;
  const { plan } = account.subscription.plan;
  const balanceUsd = usdFromNano(balanceOf(account.wallet, 'USD'));
  const { pending, nextReplenishAtMs } = account.subscription;
  const lastCall = hours.findLast(({ completedCalls, failedCalls }) => completedCalls + failedCalls > 0);
  return signalsOf({
    nowMs: nowMs - (nowMs % HOUR_MS),
    calls: compareWeeks(seriesOf(ofWeeks, 'calls'), nowMs),
    failedCalls: compareWeeks(failedSeries(ofWeeks), nowMs),
    dollars: compareWeeks(seriesOf(ofWeeks, 'dollars'), nowMs),
    lastCallAtMs: lastCall?.startMs ?? null,
    meters: METER_NAMES.map((meter) => {
      const summary = summarize(plan, account.meters, meter);
      // Nothing is forecast of what cannot run out.
      return { meter, summary, projectedExhaustionAtMs: summary.limit ? exhaustionOf(history, meter, timezone, nowMs) : null };
    }),
    // Whoever has no credit and was charged nothing is not funded by it, whatever the plan would let them do.
    credit: plan.payg.enabled && (balanceUsd !== 0 || chargedLatestWeekUsd !== 0) ? { balanceUsd, chargedLatestWeekUsd } : null,
    pendingPlan: pending && { usagePlanVersionId: pending.usagePlanVersionId, effectiveAtMs: nextReplenishAtMs },
  });
}

/** When the meter's allowance is gone at the pace that is forecast; `null` for a meter that no metric stands for alone. */
function exhaustionOf(history: CustomerHistory, meter: MeterName, timezone: string, nowMs: number): number | null {
  const metric = (Object.keys(METER_METRICS) as ForecastMetric[]).find((name) => METER_METRICS[name]?.meter === meter);
  if (!metric) return null;
  const { projectedAllowanceExhaustionAt: at } = forecastOf(history, metric, timezone, nowMs);
  return at ? Date.parse(at) : null;
}

function failedSeries(hours: readonly SeriesHour[]) {
  return hours.map(({ startMs, failedCalls }) => ({ startMs, quantity: failedCalls })).filter(({ quantity }) => quantity > 0);
}

function fundingOf({ wallet, subscription }: CustomerHistory['account']): UsageContextData['funding'] {
  const { plan } = subscription.plan;
  const available = availableUsd(wallet);
  const units = (slot: MeterSlot) => Number(balanceOf(wallet, slot));
  return {
    payAsYouGo: plan.payg.enabled,
    markupPercent: plan.payg.markupPercent,
    balanceUsd: usdFromNano(balanceOf(wallet, 'USD')),
    availableUsd: usdFromNano(available),
    purchasedUnits: {
      [SLOT_METERS.AGENTIC_API]: units('AGENTIC_API'),
      [SLOT_METERS.CUSTOM1]: units('CUSTOM1'),
      [SLOT_METERS.CUSTOM2]: units('CUSTOM2'),
    },
    continuesBeyondAllowance: subscription.canceledAtMs === null && (plan.limitType === 'NONE' || (plan.payg.enabled && available > 0n)),
  };
}

function period({ startMs, endMs }: { startMs: number; endMs: number }) {
  return { startedAt: iso(startMs), endedAt: iso(endMs) };
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
