/**
 * Use case: the pricing of a call, from the customer's object; from D1 after the object has removed it, and from the
 * archive after D1 has.
 */

import type { ReadCallData } from '../contract/calls.ts';
import { type Complete, complete } from '../contract/complete.ts';
import { presentSums } from '../contract/denial.ts';
import { accept, refuse } from '../contract/errors.ts';
import type { AnswerTo } from '../contract/operations.ts';
import { type Call, usageSource } from '../domain/call.ts';
import { listedFacts } from '../domain/call-facts.ts';
import { presentReported } from '../domain/call-report.ts';
import { chargeLines } from '../domain/charge-lines.ts';
import { withDefaultTier } from '../domain/entitlements.ts';
import type { CallId } from '../domain/ids.ts';
import { usdFromNano } from '../domain/money.ts';
import { CAPABILITIES } from '../domain/plan.ts';
import { type CostBreakdown, costMultiplier } from '../domain/pricing.ts';
import { TIERS } from '../domain/tiers.ts';
import { findArchivedCall } from '../history/archive/read-call.ts';
import { findOldCall } from '../history/calls.ts';
import { ask, customerByCall, forgetOwner } from '../objects/addresses.ts';
import type { Caller } from './caller.ts';

export async function readCall({ env, organization, defer }: Caller, callId: CallId): Promise<AnswerTo<'readCall'>> {
  const { organizationId } = organization;
  const address = await customerByCall(env, organizationId, callId);
  if (!address) return refuse('CALL_NOT_FOUND', 'no such call');
  const call =
    (await ask(address, (customer) => customer.readCall(organizationId, callId))) ??
    (await findOldCall(env, organizationId, callId)) ??
    (await findArchivedCall(env, organizationId, callId));
  if (call) return accept('CALL_PRICING_RETRIEVED', presentCall(call), Date.now());
  // The cached owner may be outdated: try once more with the directory's.
  return forgetOwner(organizationId, callId)
    ? readCall({ env, organization, defer }, callId)
    : refuse('CALL_NOT_FOUND', 'no such call');
}

function presentCall(call: Call): Complete<ReadCallData> {
  const { outcome } = call;
  const price = outcome?.price;
  const final = price?.status === 'FINAL' ? price : null;
  const unavailable = unavailableReason(call);
  const pricingMode = outcome?.pricingMode ?? call.pricingMode;
  return {
    callId: call.callId,
    customerId: call.customerId,
    customerUserId: call.customerUserId ?? null,
    status: call.status,
    pricingStatus: final ? 'FINAL' : unavailable ? 'UNAVAILABLE' : 'PENDING',
    pricingUnavailableReason: unavailable,
    currency: 'USD',
    ...(final ? presentPrice(final.costNanoUsd, final.breakdown) : NO_PRICE),
    pricingMultiplier: costMultiplier(final, pricingMode),
    ...presentReported(outcome ?? {}),
    pricingMode,
    batch: pricingMode === 'batch',
    usageSource: usageSource(call),
    outputBasis: outcome?.outputBasis,
    ...listedFacts(outcome),
    startTime: new Date(call.startedAtMs).toISOString(),
    endTime: call.finishedAtMs === null ? null : new Date(call.finishedAtMs).toISOString(),
    payg: presentPayg(call),
    chargeLines: presentChargeLines(call),
    denial: presentDenial(call),
    ...presentCorrections(call),
  };
}

/** The part of the call that credit pays: known at its end, expected while it is open on credit. */
function presentPayg({ status, credit, suggestedTier, outcome }: Call): Complete<ReadCallData['payg']> {
  const charge = outcome?.charge ?? null;
  const amount = charge?.amountNanoUsd ?? null;
  const isExpected =
    status === 'IN_PROGRESS' &&
    credit !== undefined &&
    suggestedTier !== 'none' &&
    credit.tiers.includes(suggestedTier);
  return {
    usingCredit: charge !== null || isExpected,
    chargedUsd: amount === null ? null : usdFromNano(BigInt(amount)),
    chargeNanoUsd: amount,
    markupPercent: charge?.markupPercent ?? (isExpected ? credit.markupPercent : null),
    basis: charge?.basis,
    heldUsd: credit?.exceededNanoUsd === undefined ? undefined : usdFromNano(BigInt(credit.exceededNanoUsd)),
    settlementStatus: charge?.status ?? null,
    settlementFailureReason: charge?.failureReason ?? null,
  };
}

function presentChargeLines({ outcome }: Call): ReadCallData['chargeLines'] {
  const lines = outcome && chargeLines(outcome);
  return lines?.map(({ kind, amountNanoUsd }) => ({ kind, amountNanoUsd: amountNanoUsd.toString() }));
}

function presentDenial({ denial, requested, usagePlanVersionId }: Call): Complete<ReadCallData['denial']> {
  if (!denial) return undefined;
  const { code, capability = null, meter = null, limit = null, used = null } = denial;
  const asked = withDefaultTier(requested);
  const names = [...TIERS, ...CAPABILITIES].filter((name) => asked[name] === true);
  return { code, requested: names, capability, meter, limit, used, ...presentSums(denial), usagePlanVersionId };
}

function presentCorrections({
  reversedAtMs,
  corrections,
}: Call): Complete<Pick<ReadCallData, 'reversedAt' | 'corrections'>> {
  return {
    reversedAt: reversedAtMs === undefined ? undefined : new Date(reversedAtMs).toISOString(),
    corrections: corrections?.map(({ kind, atMs, reason, by, previous, charge }) => ({
      kind,
      at: new Date(atMs).toISOString(),
      reason,
      by,
      costUsdNano: previous?.price.status === 'FINAL' ? previous.price.costNanoUsd : null,
      chargeNanoUsd: previous?.charge?.amountNanoUsd ?? null,
      differenceNanoUsd: charge?.amountNanoUsd ?? '0',
    })),
  };
}

const NO_PRICE = {
  costUSD: null,
  standardCostUSD: null,
  costUsdNano: null,
  costBreakdown: null,
  modelPricingSnapshotId: null,
  pricingTier: null,
  pricingTierReason: null,
};

function presentPrice(costNanoUsd: string, breakdown: CostBreakdown) {
  return {
    costUSD: usdFromNano(BigInt(costNanoUsd)),
    standardCostUSD: breakdown.standardCostUSD,
    costUsdNano: costNanoUsd,
    costBreakdown: complete(breakdown),
    modelPricingSnapshotId: breakdown.snapshotId,
    pricingTier: breakdown.pricingTier,
    pricingTierReason: breakdown.pricingTierReason,
  };
}

/** Why a call that is not in progress has no price; `undefined` if it has one, or may still get one. */
function unavailableReason({ status, outcome }: Call): ReadCallData['pricingUnavailableReason'] {
  if (outcome) return outcome.price.status === 'UNAVAILABLE' ? outcome.price.reason : undefined;
  return status === 'NOT_ALLOWED' || status === 'TIMEOUT' ? status : undefined;
}
