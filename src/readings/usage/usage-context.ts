/**
 * Use case: a compact summary of a customer for a person or a model that has to make a decision.
 */

import { type Complete, complete } from '../../contract/complete.ts';
import { accept } from '../../contract/errors.ts';
import { warnedOfCredit } from '../../contract/funding-warnings.ts';
import type { AnswerTo } from '../../contract/operations.ts';
import type { ForecastMetric, UsageContextData, UsageContextQuery } from '../../contract/readings.ts';
import { periodCharge } from '../../domain/account.ts';
import { summarize } from '../../domain/allowances.ts';
import type { CustomerId } from '../../domain/ids.ts';
import { METER_NAMES, METER_SLOTS, METERS, type MeterName, type MeterSlot, SLOT_METERS } from '../../domain/meters.ts';
import { usdFromNano } from '../../domain/money.ts';
import { type NextPayer, slotPayer, tierPayer } from '../../domain/next-payer.ts';
import { TIERS } from '../../domain/tiers.ts';
import { availableUsd, sumBalance } from '../../domain/wallet.ts';
import type { Caller } from '../../metering/caller.ts';
import { unknownCustomer } from '../../metering/customers.ts';
import { HOUR_COLUMNS, latestHour } from '../../objects/series-hours.ts';
import { HOUR_MS } from '../../platform/time.ts';
import { isTimeZone } from '../calendar.ts';
import {
  COLUMNS,
  type CustomerHistory,
  customerHistory,
  HISTORY_MS,
  METER_METRICS,
  makeForecast,
  neededBy,
  recordedSince,
  unknownTimezone,
} from '../forecast/read-forecast.ts';
import { evidenceCompleteness, reviewReasons } from './review.ts';
import { deriveSignals, type Signal } from './signals.ts';
import { compareWeeks, weekPeriods } from './weeks.ts';

type Metric = Exclude<ForecastMetric, 'allTokens'>;

export async function readUsageContext(
  caller: Caller,
  customerId: CustomerId,
  query: UsageContextQuery,
): Promise<AnswerTo<'readUsageContext'>> {
  if (!isTimeZone(query.timezone)) return unknownTimezone('timezone');
  const needed = query.includeForecast ? neededBy(query.forecastMetric) : [];
  // The whole history of calls, because the latest call may be older than `recent`.
  const history = await customerHistory(caller, customerId, [...COLUMNS.calls, ...needed], HOUR_COLUMNS);
  if (!history) return unknownCustomer();
  const nowMs = Date.now();
  return accept('USAGE_CONTEXT_READ', present(history, caller.organization, query, nowMs), nowMs);
}

function present(
  history: CustomerHistory,
  { upgradeUrl }: Caller['organization'],
  query: UsageContextQuery,
  nowMs: number,
): Complete<UsageContextData> {
  const { account, recent } = history;
  const { subscription, contact } = account;
  const { plan, planId, usagePlanVersionId } = subscription.plan;
  const { latest, preceding } = weekPeriods(nowMs);
  const periodStartMs = subscription.lastReplenishedAtMs;
  const signals = query.includeSignals ? findSignals(history, query.timezone, nowMs) : null;
  const evidence = evidenceCompleteness({
    firstDataMs: account.createdAtMs,
    keptFromMs: nowMs - HISTORY_MS,
    periodStartMs,
    comparedFromMs: preceding.startMs,
    callsWithoutPrice: recordedSince(recent, ['unpricedCalls'], periodStartMs),
  });
  const week = (metric: Metric) => compareWeeks(recent, COLUMNS[metric], nowMs);
  const recorded = (metric: Metric) => recordedSince(recent, COLUMNS[metric], periodStartMs);
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
    subscription: complete(history.subscription),
    meters: METER_NAMES.map((name) => ({ name, unit: METERS[name].unit, ...summarize(plan, account.meters, name) })),
    funding: { ...buildFunding(account, nowMs), upgradeUrl: upgradeUrl ?? undefined },
    weeks: {
      latest: period(latest),
      preceding: period(preceding),
      calls: week('calls'),
      failedCalls: compareWeeks(recent, ['failedCalls'], nowMs),
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
        failedCalls: recordedSince(recent, ['failedCalls'], periodStartMs),
        inputTokens: recorded('inputTokens'),
        outputTokens: recorded('outputTokens'),
        dollars: recorded('dollars'),
        provisionalCalls: recordedSince(recent, ['provisionalCalls'], periodStartMs),
        provisionalDollars: recordedSince(recent, ['provisionalCostUsd'], periodStartMs),
        agenticApi: recorded('agenticApi'),
        customMeter1: recorded('customMeter1'),
        customMeter2: recorded('customMeter2'),
      },
    },
    forecast: query.includeForecast
      ? complete(makeForecast(history, query.forecastMetric, query.timezone, nowMs))
      : undefined,
    signals: signals ?? undefined,
    reviewReasons: signals ? reviewReasons(signals) : undefined,
    evidence,
  };
}

function findSignals(history: CustomerHistory, timezone: string, nowMs: number): Signal[] {
  const { account, series, recent, chargedLatestWeekUsd } = history;
  const { plan } = account.subscription.plan;
  const balanceUsd = usdFromNano(sumBalance(account.wallet, 'USD'));
  const { pending, nextReplenishAtMs } = account.subscription;
  return deriveSignals({
    nowMs: nowMs - (nowMs % HOUR_MS),
    calls: compareWeeks(recent, COLUMNS.calls, nowMs),
    failedCalls: compareWeeks(recent, ['failedCalls'], nowMs),
    dollars: compareWeeks(recent, COLUMNS.dollars, nowMs),
    lastCallAtMs: latestHour(series, COLUMNS.calls),
    meters: METER_NAMES.map((meter) => {
      const summary = summarize(plan, account.meters, meter);
      // An unlimited or absent allowance cannot run out and needs no forecast.
      return {
        meter,
        summary,
        projectedExhaustionAtMs: summary.limit ? allowanceEndsAtMs(history, meter, timezone, nowMs) : null,
      };
    }),
    // A customer without credit and charges is not funded by credit, whatever the plan allows.
    credit:
      plan.payg.enabled && (balanceUsd !== 0 || chargedLatestWeekUsd !== 0)
        ? { balanceUsd, chargedLatestWeekUsd }
        : null,
    pendingPlan: pending && { usagePlanVersionId: pending.usagePlanVersionId, effectiveAtMs: nextReplenishAtMs },
  });
}

/** When the meter's allowance runs out at the forecast pace; `null` for a meter without its own metric. */
function allowanceEndsAtMs(history: CustomerHistory, meter: MeterName, timezone: string, nowMs: number): number | null {
  const metric = (Object.keys(METER_METRICS) as ForecastMetric[]).find((name) => METER_METRICS[name]?.meter === meter);
  if (!metric) return null;
  const { projectedAllowanceExhaustionAt: at } = makeForecast(history, metric, timezone, nowMs);
  return at ? Date.parse(at) : null;
}

function buildFunding(
  account: CustomerHistory['account'],
  nowMs: number,
): Omit<Complete<UsageContextData['funding']>, 'upgradeUrl'> {
  const { wallet, subscription } = account;
  const charged = periodCharge(account);
  const { plan } = subscription.plan;
  const available = availableUsd(wallet);
  const units = (slot: MeterSlot) => Number(sumBalance(wallet, slot));
  return {
    payAsYouGo: plan.payg.enabled,
    markupPercent: plan.payg.markupPercent,
    balanceUsd: usdFromNano(sumBalance(wallet, 'USD')),
    availableUsd: usdFromNano(available),
    purchasedUnits: {
      [SLOT_METERS.AGENTIC_API]: units('AGENTIC_API'),
      [SLOT_METERS.CUSTOM1]: units('CUSTOM1'),
      [SLOT_METERS.CUSTOM2]: units('CUSTOM2'),
    },
    continuesBeyondAllowance:
      subscription.canceledAtMs === null && (plan.limitType === 'NONE' || (plan.payg.enabled && available > 0n)),
    chargedUsd: charged === null ? undefined : usdFromNano(charged),
    next: nextPayers(account, nowMs),
    ...warnedOfCredit(account),
  };
}

const PAYERS = {
  allowance: 'ALLOWANCE',
  units: 'PURCHASED_UNITS',
  balance: 'BALANCE',
  counted: 'COUNTED',
  nobody: 'NOBODY',
} as const satisfies Record<NextPayer['by'], string>;

/** The next payer: for each tier, and for each custom meter that the plan has. */
function nextPayers(account: CustomerHistory['account'], nowMs: number): Complete<UsageContextData['funding']['next']> {
  const tiers = TIERS.map((tier) => {
    const payer = tierPayer(account, tier, { neededNanoUsd: 0n, nowMs });
    const instead = 'instead' in payer ? payer.instead?.tier : undefined;
    return { of: tier, ...presentPayer(payer), instead };
  });
  const slots = METER_SLOTS.filter((slot) => account.subscription.plan.plan.customMeters[slot]?.enabled);
  return [
    ...tiers,
    ...slots.map((slot) => {
      const payer = presentPayer(slotPayer(account, slot, nowMs));
      return { of: SLOT_METERS[slot], ...payer, instead: undefined };
    }),
  ];
}

function presentPayer(payer: NextPayer) {
  const reason = payer.by === 'nobody' && payer.reason !== 'METER_NOT_ENABLED' ? payer.reason : undefined;
  return { payer: PAYERS[payer.by], reason };
}

function period({ startMs, endMs }: { startMs: number; endMs: number }) {
  return { startedAt: iso(startMs), endedAt: iso(endMs) };
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
