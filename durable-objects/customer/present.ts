/**
 * Presents an account and its calls as the contract's answers. Pure: no storage, no clock.
 */

import type { BeginCallData, EndCallData } from '../../src/contract/calls.ts';
import type { CustomMeterData } from '../../src/contract/custom-meter.ts';
import type { CustomerUsageData } from '../../src/contract/customers.ts';
import { presentFigures, sumsSentence } from '../../src/contract/denial.ts';
import type { CustomerState } from '../../src/contract/entitlements.ts';
import { warnedOfCredit } from '../../src/contract/funding-warnings.ts';
import type { Left, Rolling } from '../../src/contract/limit-headers.ts';
import type { Account } from '../../src/domain/account.ts';
import { summarize, summarizeAll } from '../../src/domain/allowances.ts';
import { type CallDecision, creditLeft, outputTokensOf } from '../../src/domain/begin-call.ts';
import type { Call, CallOutcome } from '../../src/domain/call.ts';
import { takeFacts } from '../../src/domain/call-facts.ts';
import { type Nothing, presentReported } from '../../src/domain/call-report.ts';
import type { Charge } from '../../src/domain/charge.ts';
import type { Incremented } from '../../src/domain/custom-meter.ts';
import type { RecordedDenial } from '../../src/domain/denial.ts';
import { decideEntitlements, type EntitlementDecision, EVERYTHING } from '../../src/domain/entitlements.ts';
import { type MeterName, SLOT_METERS } from '../../src/domain/meters.ts';
import { type NanoUsd, usdFromNano } from '../../src/domain/money.ts';
import { multiplierOf } from '../../src/domain/pricing.ts';
import type { Tier } from '../../src/domain/tiers.ts';
import { billableInputTokens, NO_USAGE } from '../../src/domain/usage.ts';
import { availableUsd } from '../../src/domain/wallet.ts';
import type { BeginCommand, TierHints } from '../../src/objects/customer-commands.ts';
import { DAY_MS, HOUR_MS } from '../../src/platform/time.ts';

/** What the customer has now, as `POST /customers` and the usage reading show it. */
export function presentCustomer(account: Account, models: CustomerState['models']): CustomerUsageData {
  const { plan } = account.subscription.plan;
  const canceled = account.subscription.canceledAtMs !== null;
  const decision = decideEntitlements(plan, account.meters, EVERYTHING, canceled, () => creditLeft(account, 0n));
  const { stripeCustomerId } = account.contact;
  return {
    customerId: account.customerId,
    ...presentState(account, decision, models),
    ...(stripeCustomerId !== undefined && { stripeCustomerId }),
    ...warnedOfCredit(account),
  };
}

export interface BeginFacts {
  decided: CallDecision;
  newCustomer: boolean;
  source: 'explicit' | 'derived';
  rolling: { limit: number; windowSeconds: number; used: number; oldestMs: number } | null;
}

export function presentBegin(
  { decided, newCustomer, source, rolling }: BeginFacts,
  command: BeginCommand,
): BeginCallData {
  const { account, call, decision, denial } = decided;
  const vendorHints = presentVendorHints(decided, command.tierHints);
  return {
    callId: call.callId,
    callType: command.callType,
    startTime: iso(call.startedAtMs),
    feature: call.feature ?? '',
    ...(call.tags !== undefined && { tags: call.tags }),
    newCustomer,
    ...presentState(account, decision, command.models),
    ...(denial && { denial: presentDenial(denial) }),
    ...(rolling && {
      rateLimits: {
        rollingCalls: {
          limit: rolling.limit,
          used: rolling.used,
          remaining: Math.max(0, rolling.limit - rolling.used),
          windowSeconds: rolling.windowSeconds,
          resetsAt: iso(rolling.oldestMs + rolling.windowSeconds * 1000),
        },
      },
    }),
    idempotency: { key: call.callId, source },
    batch: call.pricingMode === 'batch',
    pricingMode: call.pricingMode,
    ...(vendorHints && { vendorHints }),
  };
}

function presentDenial(denial: RecordedDenial): BeginCallData['denial'] {
  const figures = presentFigures(denial);
  const message = sumsSentence(figures);
  return { code: denial.code, ...(message !== '' && { message }), ...figures };
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

export function presentRolling(
  { limit, used, windowSeconds, oldestMs }: NonNullable<BeginFacts['rolling']>,
  nowMs: number,
): Rolling {
  const resetSeconds = Math.max(0, Math.ceil((oldestMs + windowSeconds * 1000 - nowMs) / 1000));
  return { limit, remaining: Math.max(0, limit - used), windowSeconds, resetSeconds };
}

function presentVendorHints(
  { call }: CallDecision,
  tierHints: BeginCommand['tierHints'],
): BeginCallData['vendorHints'] {
  const tier = call.suggestedTier;
  const model: TierHints | undefined = tier === 'none' ? undefined : tierHints[tier];
  const maxTokens = [tier === 'none' ? undefined : outputTokensOf(call)[tier], model?.maxResponseTokens].filter(
    (tokens) => tokens !== undefined,
  );
  if (!model && maxTokens.length === 0) return undefined;
  return {
    ...(model && { preferredModel: model.preferredModel }),
    ...(model?.maxInputTokens !== undefined && { maxInputTokens: model.maxInputTokens }),
    ...(maxTokens.length > 0 && { maxResponseTokens: Math.min(...maxTokens) }),
  };
}

export interface Velocity {
  hour: { calls: number; costNanoUsd: NanoUsd };
  day: { calls: number; costNanoUsd: NanoUsd };
}

export function presentEnd(account: Account, call: Call, outcome: CallOutcome, velocity: Velocity): EndCallData {
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
  const costNanoUsd = price.status === 'FINAL' ? BigInt(price.costNanoUsd) : 0n;
  return {
    callId: call.callId,
    status: error ? 'FAILED' : 'COMPLETED',
    ...(error && { error }),
    ...facts,
    costUSD: usdFromNano(costNanoUsd),
    ...(price.status === 'FINAL' && { costUsdNano: price.costNanoUsd, costBreakdown: price.breakdown }),
    standardCostUSD: price.status === 'FINAL' ? price.breakdown.standardCostUSD : 0,
    pricingStatus: price.status,
    ...(price.status === 'UNAVAILABLE' && { pricingUnavailableReason: price.reason }),
    ...presentReported(outcome),
    pricingMultiplier: multiplierOf(price.status === 'FINAL' ? price : null, pricingMode),
    batch: pricingMode === 'batch',
    pricingMode,
    usageSource: usageSource ?? 'reported',
    ...(outputBasis !== undefined && { outputBasis }),
    usage: {
      inputTokens: usage.inputTokens,
      cachedInputTokens: usage.cachedInputTokens,
      cacheWriteInputTokens: usage.cacheWriteInputTokens,
      billableInputTokens: billableInputTokens(usage),
      responseTokens: usage.responseTokens,
      reasoningTokens: usage.reasoningTokens,
      ...Object.fromEntries(Object.entries(usage).filter(([name]) => !(name in NO_USAGE))),
    },
    metered: {
      calls,
      tokens: usage.responseTokens,
      reasoningTokens: usage.reasoningTokens,
      searches: usage.searches,
      audio: usage.audio,
      audioSeconds: usage.audioSeconds,
    },
    spendVelocity: presentVelocity(account.customerId, costNanoUsd, velocity, endedAtMs),
    balances: presentBalances(account),
    ...presentCharge(charge),
    ...(stripeCustomerId !== null && { stripeCustomerId }),
  };
}

/** The charge, if credit pays and the amount is known. */
function presentCharge(charge: Charge | null): Pick<EndCallData, 'payg'> {
  if (charge === null || charge.amountNanoUsd === null) return {};
  const { amountNanoUsd, markupPercent, basis } = charge;
  const chargedUsd = usdFromNano(BigInt(amountNanoUsd));
  return { payg: { chargedUsd, markupPercent: markupPercent ?? 0, ...(basis && { basis }) } };
}

export function presentIncrement({ account, event, meter }: Incremented): CustomMeterData {
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

function presentState(account: Account, decision: EntitlementDecision, models: CustomerState['models']): CustomerState {
  const { subscription, contact } = account;
  const { plan, planId, usagePlanVersionId, version } = subscription.plan;
  const meters = summarizeAll(plan, account.meters);
  const { tools: _tools, ...allowed } = decision.allowed;
  return {
    canceled: subscription.canceledAtMs !== null,
    policy: plan.limitType,
    allowed,
    entitlementHints: decision.hints,
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
      ...(contact.friendlyName !== undefined && { customerFriendlyName: contact.friendlyName }),
      ...(contact.email !== undefined && { customerEmail: contact.email }),
      ...(contact.stripeCustomerId !== undefined && { stripeCustomerId: contact.stripeCustomerId }),
      ...(subscription.pending && {
        pending: {
          usagePlanVersionId: subscription.pending.usagePlanVersionId,
          strategy: 'AT_NEXT_REPLENISH',
          effectiveAt: iso(subscription.nextReplenishAtMs),
        },
      }),
    },
    ...(models && { models }),
    plan: { id: planId, name: plan.name, version: String(version) },
    balances: presentBalances(account),
  };
}

/** What is left, without what is unlimited. */
function presentBalances(account: Account): NonNullable<CustomerState['balances']> {
  const meters = summarizeAll(account.subscription.plan.plan, account.meters);
  const left = (...names: MeterName[]) =>
    names.some((name) => meters[name].unlimited)
      ? undefined
      : names.reduce((sum, name) => sum + meters[name].remaining, 0);
  const tokensRemaining = left('standardTokens', 'premiumTokens');
  const searchesRemaining = left('searches');
  const audioSecondsRemaining = left('audioSeconds');
  return {
    ...(tokensRemaining !== undefined && { tokensRemaining }),
    ...(searchesRemaining !== undefined && { searchesRemaining }),
    ...(audioSecondsRemaining !== undefined && { audioSecondsRemaining }),
  };
}

function presentVelocity(
  customerId: string,
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
