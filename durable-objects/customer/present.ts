/**
 * Presents an account and its calls as the contract's answers. Pure: no storage, no clock.
 */

import type { BeginCallData, EndCallData } from '../../src/contract/calls.ts';
import { type Complete, complete } from '../../src/contract/complete.ts';
import type { CustomMeterData } from '../../src/contract/custom-meter.ts';
import type { CustomerUsageData } from '../../src/contract/customers.ts';
import { presentFigures, sumsSentence } from '../../src/contract/denial.ts';
import type { CustomerState } from '../../src/contract/entitlements.ts';
import { warnedOfCredit } from '../../src/contract/funding-warnings.ts';
import type { Left, Rolling } from '../../src/contract/limit-headers.ts';
import type { Account } from '../../src/domain/account.ts';
import { summarize, summarizeAll } from '../../src/domain/allowances.ts';
import { type CallDecision, creditLeft, outputTokensByTier } from '../../src/domain/begin-call.ts';
import type { Call, CallOutcome } from '../../src/domain/call.ts';
import { takeFacts } from '../../src/domain/call-facts.ts';
import { type Nothing, presentReported } from '../../src/domain/call-report.ts';
import type { Charge } from '../../src/domain/charge.ts';
import type { Incremented } from '../../src/domain/custom-meter.ts';
import type { RecordedDenial } from '../../src/domain/denial.ts';
import { decideEntitlements, type EntitlementDecision, EVERYTHING } from '../../src/domain/entitlements.ts';
import type { CustomerId } from '../../src/domain/ids.ts';
import { type MeterName, SLOT_METERS } from '../../src/domain/meters.ts';
import { type NanoUsd, usdFromNano } from '../../src/domain/money.ts';
import { costMultiplier } from '../../src/domain/pricing.ts';
import type { WindowState } from '../../src/domain/rolling-window.ts';
import type { Tier } from '../../src/domain/tiers.ts';
import { billableInputTokens } from '../../src/domain/usage.ts';
import { availableUsd } from '../../src/domain/wallet.ts';
import type { BeginCommand, TierHints } from '../../src/objects/customer-commands.ts';
import { DAY_MS, HOUR_MS } from '../../src/platform/time.ts';

/** What the customer has now, as `POST /customers` and the usage reading show it. */
export function presentCustomer(account: Account, models: CustomerState['models']): Complete<CustomerUsageData> {
  const { plan } = account.subscription.plan;
  const canceled = account.subscription.canceledAtMs !== null;
  const decision = decideEntitlements(plan, account.meters, EVERYTHING, canceled, () => creditLeft(account, 0n));
  const { stripeCustomerId } = account.contact;
  return {
    customerId: account.customerId,
    ...presentState(account, decision, models),
    stripeCustomerId,
    ...warnedOfCredit(account),
  };
}

/** A plan's rolling limit, and what its window has now. */
export interface RollingState extends WindowState {
  limit: number;
  windowSeconds: number;
}

export interface BeginFacts {
  decided: CallDecision;
  newCustomer: boolean;
  source: 'explicit' | 'derived';
  rolling: RollingState | null;
}

export function presentBegin(
  { decided, newCustomer, source, rolling }: BeginFacts,
  command: BeginCommand,
): Complete<BeginCallData> {
  const { account, call, decision, denial } = decided;
  return {
    callId: call.callId,
    callType: command.callType,
    startTime: iso(call.startedAtMs),
    feature: call.feature ?? '',
    tags: call.tags,
    newCustomer,
    ...presentState(account, decision, command.models),
    denial: denial ? presentDenial(denial) : undefined,
    rateLimits: rolling
      ? {
          rollingCalls: {
            limit: rolling.limit,
            used: rolling.used,
            remaining: Math.max(0, rolling.limit - rolling.used),
            windowSeconds: rolling.windowSeconds,
            resetsAt: iso(rolling.resetsAtMs),
          },
        }
      : undefined,
    idempotency: { key: call.callId, source },
    batch: call.pricingMode === 'batch',
    pricingMode: call.pricingMode,
    vendorHints: presentVendorHints(decided, command.tierHints),
  };
}

function presentDenial(denial: RecordedDenial): Complete<BeginCallData['denial']> {
  const figures = presentFigures(denial);
  return { code: denial.code, message: sumsSentence(figures) || undefined, ...figures };
}

/** What is left of the account for the headers of an answer. */
export function presentLeft(
  account: Account,
  tier: Tier | 'none',
  rolling: BeginFacts['rolling'],
  nowMs: number,
): Left {
  const { plan } = account.subscription.plan;
  const left = (meter: MeterName) => {
    const { unlimited, remaining } = summarize(plan, account.meters, meter);
    return unlimited ? null : remaining;
  };
  return {
    tier: tier === 'none' ? null : tier,
    tiers: {
      standard: { calls: left('standardCalls'), tokens: left('standardTokens') },
      premium: { calls: left('premiumCalls'), tokens: left('premiumTokens') },
    },
    ...(plan.payg.enabled && { usdNano: availableUsd(account.wallet).toString() }),
    ...(rolling && { rolling: presentRolling(rolling, nowMs) }),
  };
}

export function presentRolling({ limit, used, windowSeconds, resetsAtMs }: RollingState, nowMs: number): Rolling {
  const resetSeconds = Math.max(0, Math.ceil((resetsAtMs - nowMs) / 1000));
  return { limit, remaining: Math.max(0, limit - used), windowSeconds, resetSeconds };
}

function presentVendorHints(
  { call }: CallDecision,
  tierHints: BeginCommand['tierHints'],
): Complete<BeginCallData['vendorHints']> {
  const tier = call.suggestedTier;
  const model: TierHints | undefined = tier === 'none' ? undefined : tierHints[tier];
  const maxTokens = [tier === 'none' ? undefined : outputTokensByTier(call)[tier], model?.maxResponseTokens].filter(
    (tokens) => tokens !== undefined,
  );
  if (!model && maxTokens.length === 0) return undefined;
  return {
    preferredModel: model?.preferredModel,
    maxInputTokens: model?.maxInputTokens,
    maxResponseTokens: maxTokens.length > 0 ? Math.min(...maxTokens) : undefined,
  };
}

export interface Velocity {
  hour: { calls: number; costNanoUsd: NanoUsd };
  day: { calls: number; costNanoUsd: NanoUsd };
}

export function presentEnd(
  account: Account,
  call: Call,
  outcome: CallOutcome,
  velocity: Velocity,
): Complete<EndCallData> {
  const { facts, rest: decided } = takeFacts(outcome);
  const { endedAtMs, usage, pricingMode, calls, charge, error, price, ...more } = decided;
  const { stripeCustomerId, tier: _tier, consumed: _consumed, period: _period, parts: _parts, ...told } = more;
  const {
    changed: _changed,
    unclear: _unclear,
    vendorReported: _reported,
    isPremium: _asserted,
    usageSource,
    outputBasis,
    outputRate: _rate,
    ...rest
  } = told;
  rest satisfies Nothing;
  const { searches, audio, audioSeconds, ...reported } = usage;
  const { responseTokens, reasoningTokens } = reported;
  const final = price.status === 'FINAL' ? price : null;
  const costNanoUsd = BigInt(final?.costNanoUsd ?? 0);
  return {
    callId: call.callId,
    status: error ? 'FAILED' : 'COMPLETED',
    error: error ?? undefined,
    ...facts,
    costUSD: usdFromNano(costNanoUsd),
    costUsdNano: final?.costNanoUsd,
    costBreakdown: complete(final?.breakdown),
    standardCostUSD: final?.breakdown.standardCostUSD ?? 0,
    pricingStatus: price.status,
    pricingUnavailableReason: price.status === 'UNAVAILABLE' ? price.reason : undefined,
    ...presentReported(outcome),
    pricingMultiplier: costMultiplier(final, pricingMode),
    batch: pricingMode === 'batch',
    pricingMode,
    usageSource: usageSource ?? 'reported',
    outputBasis,
    usage: { ...complete(reported), billableInputTokens: billableInputTokens(usage) },
    metered: { calls, tokens: responseTokens, reasoningTokens, searches, audio, audioSeconds },
    spendVelocity: presentVelocity(account.customerId, costNanoUsd, velocity, endedAtMs),
    balances: presentBalances(account),
    payg: presentCharge(charge),
    stripeCustomerId: stripeCustomerId ?? undefined,
  };
}

/** The charge, if credit pays and the amount is known. */
function presentCharge(charge: Charge | null): Complete<EndCallData['payg']> {
  if (charge === null || charge.amountNanoUsd === null) return undefined;
  const { amountNanoUsd, markupPercent, basis } = charge;
  return { chargedUsd: usdFromNano(BigInt(amountNanoUsd)), markupPercent: markupPercent ?? 0, basis };
}

export function presentIncrement({ account, event, meter }: Incremented): Complete<CustomMeterData> {
  const { slot, amount, eventId, funding, components, periodUsageBefore, periodUsageAfter } = event;
  return {
    success: true,
    eventId,
    meterSlot: slot,
    amount,
    blocked: funding.unfunded > 0,
    meter: {
      ...summarize(account.subscription.plan.plan, account.meters, SLOT_METERS[slot]),
      // An unlimited meter shows no consumption, also where it was limited before.
      ...(meter.unlimited && { used: 0 }),
      label: meter.label,
      periodUsageBefore,
      periodUsageAfter,
      overagePricingModel: meter.overage?.model ?? 'SINGLE',
      overagePricingComponents: components,
    },
  };
}

function presentState(
  account: Account,
  decision: EntitlementDecision,
  models: CustomerState['models'],
): Complete<CustomerState> {
  const { subscription, contact } = account;
  const { plan, planId, usagePlanVersionId, version } = subscription.plan;
  const meters = summarizeAll(plan, account.meters);
  const { tools: _tools, ...allowed } = decision.allowed;
  return {
    canceled: subscription.canceledAtMs !== null,
    policy: plan.limitType,
    allowed,
    entitlementHints: complete(decision.hints),
    meters,
    remainingRatios: Object.fromEntries(Object.entries(meters).map(([name, { ratio }]) => [name, ratio])),
    subscription: {
      id: subscription.id,
      usagePlanVersionId,
      planName: plan.name,
      planVersion: String(version),
      limitType: plan.limitType,
      reasoningLevel: plan.reasoningLevel,
      lastReplenishedAt: iso(subscription.lastReplenishedAtMs),
      nextReplenishAt: iso(subscription.nextReplenishAtMs),
      subscriptionVersion: subscription.version,
      customerFriendlyName: contact.friendlyName,
      customerEmail: contact.email,
      stripeCustomerId: contact.stripeCustomerId,
      pending: subscription.pending
        ? {
            usagePlanVersionId: subscription.pending.usagePlanVersionId,
            strategy: 'AT_NEXT_REPLENISH',
            effectiveAt: iso(subscription.nextReplenishAtMs),
          }
        : undefined,
    },
    models,
    plan: { id: planId, name: plan.name, version: String(version) },
    balances: presentBalances(account),
  };
}

/** What is left, without what is unlimited. */
function presentBalances(account: Account): Complete<NonNullable<CustomerState['balances']>> {
  const meters = summarizeAll(account.subscription.plan.plan, account.meters);
  const left = (...names: MeterName[]) =>
    names.some((name) => meters[name].unlimited)
      ? undefined
      : names.reduce((sum, name) => sum + meters[name].remaining, 0);
  return {
    tokensRemaining: left('standardTokens', 'premiumTokens'),
    searchesRemaining: left('searches'),
    audioSecondsRemaining: left('audioSeconds'),
  };
}

function presentVelocity(
  customerId: CustomerId,
  costNanoUsd: NanoUsd,
  velocity: Velocity,
  nowMs: number,
): NonNullable<EndCallData['spendVelocity']> {
  const hourMs = nowMs - (nowMs % HOUR_MS);
  const dayMs = nowMs - (nowMs % DAY_MS);
  return {
    currency: 'USD',
    source: 'usage_aggregate',
    generatedAt: iso(nowMs),
    customerId,
    currentCallCostUsd: usdFromNano(costNanoUsd),
    windows: {
      hour: {
        bucket: iso(hourMs).slice(0, 'yyyy-mm-ddThh'.length),
        windowMinutes: 60,
        startedAt: iso(hourMs),
        endedAt: iso(hourMs + HOUR_MS),
        completedCostUsd: usdFromNano(velocity.hour.costNanoUsd),
        completedCalls: velocity.hour.calls,
      },
      day: {
        bucket: iso(dayMs).slice(0, 'yyyy-mm-dd'.length),
        windowMinutes: 1440,
        startedAt: iso(dayMs),
        endedAt: iso(dayMs + DAY_MS),
        completedCostUsd: usdFromNano(velocity.day.costNanoUsd),
        completedCalls: velocity.day.calls,
      },
    },
  };
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
