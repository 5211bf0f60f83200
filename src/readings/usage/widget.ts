/**
 * Use case: the data that a customer sees in a widget: calls, meters, the next payer, balance, spend, renewal, and when
 * limited quantities run out. All of it comes from the customer's object, and so is current. Spend is the customer's
 * charges: the cost of calls and the markup on it are the organization's own.
 */

import { type Account, owedBalance, periodCharge } from '../../domain/account.ts';
import { hasLeft, planLimit, summarize } from '../../domain/allowances.ts';
import { creditLeft } from '../../domain/begin-call.ts';
import { CAPABILITY_METERS } from '../../domain/entitlements.ts';
import { unusableCredit } from '../../domain/funding.ts';
import type { CustomerId } from '../../domain/ids.ts';
import { METER_NAMES, METERS, type MeterName, type MeterSlot } from '../../domain/meters.ts';
import type { NanoUsd } from '../../domain/money.ts';
import { capabilityPayer, type NextPayer, slotPayer, type TierPayer, tierPayer } from '../../domain/next-payer.ts';
import { CAPABILITIES, type Plan } from '../../domain/plan.ts';
import { TIERS, type Tier } from '../../domain/tiers.ts';
import type { CreditUnit } from '../../domain/wallet.ts';
import type { Caller } from '../../metering/caller.ts';
import type { RefusedCall } from '../../objects/customer-commands.ts';
import { joinSeries } from '../../objects/series-hours.ts';
import { DAY_MS } from '../../platform/time.ts';
import {
  COLUMNS,
  type CustomerHistory,
  customerHistory,
  makeForecast,
  recordedSince,
} from '../forecast/read-forecast.ts';
import { COLUMNS_NEEDED, metersRunningOut } from '../forecast/running-out.ts';

/** Days of the widget's chart. */
const WIDGET_DAYS = 14;

/** How long a refused call is shown. */
const REFUSED_TOLD_MS = DAY_MS;

export interface WidgetUsage {
  planName: string;
  /** The address at which the customer buys more; `null` if there is none. */
  upgradeUrl: string | null;
  canceledAtMs: number | null;
  renewsAtMs: number;
  /** The calls of the period, including open ones. */
  calls: number;
  tiers: WidgetTier[];
  /** `null` if the customer has no balance, and needs none. */
  balance: WidgetBalance | null;
  /** The usual hold of a call on credit. */
  usualNanoUsd: NanoUsd;
  /** The latest call that credit did not cover, if credit would still not cover it now. */
  refused: RefusedCall | null;
  /** Credit that the plan does not let pay for anything, neither now nor after a scheduled plan applies. */
  unusable: WidgetCredit[];
  meters: WidgetMeter[];
  /** Ended calls on each of the latest UTC days, today last. */
  days: { startMs: number; calls: number }[];
}

export interface WidgetTier {
  tier: Tier;
  payer: TierPayer;
  /** A meter that is used up, or that the plan does not include; `null` if there is none. */
  exhausted: MeterName | null;
  isIncluded: boolean;
  /** The balance pays, and is below a call's usual hold. */
  isShort: boolean;
}

export interface WidgetCredit {
  unit: CreditUnit;
  /** Nano-USD, or units. */
  amount: bigint;
  /** The name of the custom meter; `null` if the plan does not have it, and for USD. */
  label: string | null;
}

interface WidgetBalance {
  /** The balance less the pending charges; below zero it is overdrawn. */
  nanoUsd: NanoUsd;
  /** The part that calls in progress hold. */
  heldNanoUsd: NanoUsd;
  /** The charges of the period; `null` if they are not known. */
  spentNanoUsd: NanoUsd | null;
  /** By the forecast; `lasts` until the plan renews, `null` if too little is known. */
  runsOutAtMs: number | 'lasts' | null;
}

export interface WidgetMeter {
  name: MeterName;
  /** The name of a custom meter; `null` if the plan does not have it, and for other meters. */
  label: string | null;
  used: number;
  /** `null` is unlimited; 0 is not included. */
  limit: number | null;
  remaining: number;
  payer: NextPayer | TierPayer;
  /** Purchased units that are not used up; `null` if there are none. */
  bought: { units: number; left: number } | null;
  /** The forecast time at which it is used up; `null` if it lasts, or too little is known. */
  runsOutAtMs: number | null;
}

/** `null` for an unknown customer. */
export async function readWidgetUsage(
  caller: Caller,
  customerId: CustomerId,
  nowMs: number,
): Promise<WidgetUsage | null> {
  const history = await customerHistory(caller, customerId, COLUMNS_NEEDED, COLUMNS.calls);
  return history && widgetUsage(history, caller.organization.upgradeUrl, nowMs);
}

function widgetUsage(history: CustomerHistory, upgradeUrl: string | null, nowMs: number): WidgetUsage {
  const { account } = history;
  const { subscription } = account;
  const usualNanoUsd = BigInt(history.usualChargeNanoUsd);
  const tiers = TIERS.map((tier) => buildTier(account, tier, { usualNanoUsd, nowMs }));
  return {
    planName: subscription.plan.plan.name,
    upgradeUrl,
    canceledAtMs: subscription.canceledAtMs,
    renewsAtMs: subscription.nextReplenishAtMs,
    calls: countCalls(history),
    tiers,
    balance: balanceOfCustomer(history, tiers, nowMs),
    usualNanoUsd,
    refused: stillRefused(history, nowMs),
    unusable: unusableCredits(account),
    meters: buildMeters(history, tiers, nowMs),
    days: recentDays(history, nowMs),
  };
}

/** Calls that an allowance pays for are in its meter; calls that the balance pays for are counted beside it. */
function countCalls({ account, recent }: CustomerHistory): number {
  const { subscription, meters, onBalance } = account;
  const { plan } = subscription.plan;
  const onAllowance = TIERS.reduce((sum, tier) => sum + summarize(plan, meters, `${tier}Calls`).used, 0);
  if (onBalance) return onAllowance + onBalance.calls;
  return Math.max(onAllowance, recordedSince(recent, COLUMNS.calls, subscription.lastReplenishedAtMs));
}

function buildTier(
  account: Account,
  tier: Tier,
  { usualNanoUsd, nowMs }: { usualNanoUsd: NanoUsd; nowMs: number },
): WidgetTier {
  const { plan } = account.subscription.plan;
  const names = [`${tier}Calls`, `${tier}Tokens`] as const;
  const payer = tierPayer(account, tier, { neededNanoUsd: 0n, nowMs });
  return {
    tier,
    payer,
    exhausted: names.find((name) => !hasLeft(plan, account.meters, name)) ?? null,
    isIncluded: names.every((name) => planLimit(plan, name) !== 0),
    isShort:
      payer.by === 'balance' && tierPayer(account, tier, { neededNanoUsd: usualNanoUsd, nowMs }).by !== 'balance',
  };
}

function balanceOfCustomer(history: CustomerHistory, tiers: WidgetTier[], nowMs: number): WidgetBalance | null {
  const { account } = history;
  const { wallet, subscription } = account;
  const nanoUsd = owedBalance(account);
  const spentNanoUsd = periodCharge(account);
  const needsCredit = tiers.some(({ payer }) => payer.by === 'nobody' && payer.reason === 'CREDIT_REQUIRED');
  const isUsed = nanoUsd !== 0n || BigInt(wallet.held) > 0n || (spentNanoUsd ?? 0n) > 0n;
  if (!subscription.plan.plan.payg.enabled || !(isUsed || needsCredit)) return null;
  const isSpent = nanoUsd <= 0n || subscription.canceledAtMs !== null;
  return {
    nanoUsd,
    heldNanoUsd: BigInt(wallet.held),
    spentNanoUsd,
    runsOutAtMs: isSpent ? null : balanceRunsOut(history, nowMs),
  };
}

function balanceRunsOut(history: CustomerHistory, nowMs: number): number | 'lasts' | null {
  const { status, quality, runsOut } = makeForecast(history, 'dollars', 'UTC', nowMs);
  if (status !== 'available' || quality === 'LOW' || !runsOut) return null;
  return runsOut.expectedAt === null ? 'lasts' : Date.parse(runsOut.expectedAt);
}

function buildMeters(history: CustomerHistory, tiers: WidgetTier[], nowMs: number): WidgetMeter[] {
  const { account } = history;
  const { plan } = account.subscription.plan;
  const ends = new Map(metersRunningOut(history, nowMs).map(({ meter, expectedAt }) => [meter, expectedAt]));
  return METER_NAMES.map((name) => {
    const { used, limit, remaining } = summarize(plan, account.meters, name);
    const { slot } = METERS[name];
    const end = ends.get(name);
    return {
      name,
      label: slot === null ? null : slotLabel(plan, slot),
      // For a custom meter, the account counts all units, paid by any source.
      used: slot === null ? used : Number(account.slots?.[slot]?.usage ?? 0),
      limit,
      remaining,
      payer: slot === null ? meterPayer(account, name, tiers, nowMs) : slotPayer(account, slot, nowMs),
      bought: slot === null ? null : boughtUnits(account, slot),
      runsOutAtMs: end === undefined ? null : Date.parse(end),
    };
  });
}

function meterPayer(account: Account, name: MeterName, tiers: WidgetTier[], nowMs: number): NextPayer | TierPayer {
  const capability = CAPABILITIES.find((each) => CAPABILITY_METERS[each] === name);
  if (capability) return capabilityPayer(account, capability, nowMs);
  const tier = tiers.find((each) => name === `${each.tier}Calls` || name === `${each.tier}Tokens`);
  if (!tier) throw new Error(`${name} is of no tier, capability or slot`);
  return tier.payer;
}

function slotLabel({ customMeters }: Plan, slot: MeterSlot): string | null {
  const meter = customMeters[slot];
  return meter?.enabled ? meter.label : null;
}

function stillRefused({ account, refused }: CustomerHistory, nowMs: number): RefusedCall | null {
  if (!refused || nowMs - refused.atMs > REFUSED_TOLD_MS) return null;
  const needed = BigInt(refused.money.neededNanoUsd);
  return needed > 0n && !creditLeft(account, needed) ? refused : null;
}

/** A canceled subscription is reported as canceled. */
function unusableCredits(account: Account): WidgetCredit[] {
  const { plan } = account.subscription.plan;
  return unusableCredit(account)
    .filter(({ gap, fromMs }) => gap !== 'CANCELED' && fromMs === null)
    .map(({ unit, amount }) => ({ unit, amount, label: unit === 'USD' ? null : slotLabel(plan, unit) }));
}

/** The units of purchases that are not used up. */
function boughtUnits({ wallet, subscription }: Account, slot: MeterSlot): WidgetMeter['bought'] {
  const credits = wallet.credits.filter(({ unit }) => unit === slot);
  if (credits.length === 0 || !subscription.plan.plan.customMeters[slot]?.funding.credits) return null;
  const sum = (of: 'granted' | 'remaining') => credits.reduce((all, credit) => all + Number(credit[of]), 0);
  return { units: sum('granted'), left: sum('remaining') };
}

function recentDays({ recent }: CustomerHistory, nowMs: number): WidgetUsage['days'] {
  const todayMs = nowMs - (nowMs % DAY_MS);
  const days = Array.from({ length: WIDGET_DAYS }, (_, index) => ({
    startMs: todayMs - (WIDGET_DAYS - 1 - index) * DAY_MS,
    calls: 0,
  }));
  for (const { startMs, quantity } of joinSeries(recent, COLUMNS.calls)) {
    const day = days[Math.floor((startMs - (days[0]?.startMs ?? 0)) / DAY_MS)];
    if (day) day.calls += quantity;
  }
  return days;
}
