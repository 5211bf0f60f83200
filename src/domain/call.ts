/**
 * The life of one metered call: begin, end, time out.
 *
 * Begin decides what is allowed and reserves it; end records the usage, prices it and turns the reservation into
 * consumption; a call that is never ended times out and gives its reservation back. A late end is still recorded,
 * because the money was spent. All facts of a call are plain JSON; money in them is a decimal string of nano-USD.
 */

import { type Account, isCanceled } from './account.ts';
import { isTierLeft, summarize } from './allowances.ts';
import { type Charge, newCharge, pendingAmount, withMarkup } from './charge.ts';
import {
  boundedCounts,
  type CompressionCounts,
  type CompressionSavings,
  compressionSavings,
  type ExcessiveCount,
  excessiveCount,
  type InputRate,
} from './compression.ts';
import {
  allowedTiers,
  decideEntitlements,
  type EntitlementDecision,
  type Entitlements,
  type SuggestedTier,
} from './entitlements.ts';
import { addQuantities, type Quantities, subtractQuantities } from './meters.ts';
import { type NanoUsd, nanoFromUsd } from './money.ts';
import type { Capability } from './plan.ts';
import {
  breakdownOf,
  type Cost,
  type CostBreakdown,
  costOf,
  isPremiumPrice,
  type PricingMode,
  type PricingUnavailableReason,
  type ResolvedPrice,
  type Usage,
} from './pricing.ts';
import { sanitizeErrorMessage } from './sanitize.ts';
import type { Tier } from './tiers.ts';
import { availableUsd, hold, promise, release } from './wallet.ts';

export type CallStatus = 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'TIMEOUT' | 'NOT_ALLOWED';

export interface CallError {
  code: string;
  message: string;
}

export interface Reasoning {
  reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined;
  reasoningEffortSource?: 'provider_response' | 'provider_request' | 'gateway_config' | 'model_default' | undefined;
  reasoningMode?: string | undefined;
  reasoningBudgetTokens?: number | undefined;
}

export interface BeginRequest {
  customerUserId?: string | undefined;
  customerUserName?: string | undefined;
  customerUserEmail?: string | undefined;
  feature?: string | undefined;
  tags?: string[] | undefined;
  requested: Partial<Entitlements>;
  holdUsd?: number | undefined;
  pricingMode: PricingMode;
  /**
   * The tiers of the models that are going to run, where that is known: the call is admitted for one of these alone.
   */
  runsOn?: Tier[] | undefined;
  /** What the request itself makes the vendor able to do: the call is admitted only where all of these are allowed. */
  needs?: Capability[] | undefined;
  /** The request that opened a call which the service makes itself: it alone may go on to make the call. */
  openedBy?: string | undefined;
}

export interface EndRequest extends Reasoning {
  providerUsed?: string | undefined;
  modelUsed?: string | undefined;
  usage: Usage;
  isPremium?: boolean | undefined;
  error?: CallError | undefined;
  stripeCustomerId?: string | undefined;
  promptCompression?: CompressionCounts | undefined;
  /** Only where the end names a mode of its own. */
  pricingMode?: PricingMode | undefined;
}

/** What a call cost, or why that is not known. */
export type CallPrice =
  | { status: 'FINAL'; costNanoUsd: string; breakdown: CostBreakdown }
  | { status: 'UNAVAILABLE'; reason: PricingUnavailableReason };

export type StoredCompression = Omit<CompressionSavings, 'inputCostAvoidedNanoUsd'> & {
  /** Decimal nano-USD; `null` while the call has no known price. */
  inputCostAvoidedNanoUsd: string | null;
  recordedAtMs: number;
  /** A browser's session reported it, so it is bounded by what the end reports. */
  bySession?: true;
};

export interface CallOutcome extends Reasoning {
  endedAtMs: number;
  providerUsed: string | null;
  modelUsed: string | null;
  usage: Usage;
  /** The mode that applied: the end's own, or the one of begin. */
  pricingMode: PricingMode;
  tier: Tier;
  /** 1 for a model call, 0 for none. */
  calls: number;
  /** What the call took of the allowances. */
  consumed: Quantities;
  /** What the customer's USD balance pays for the call; `null` where the allowance did. */
  charge: Charge | null;
  error: CallError | null;
  price: CallPrice;
  stripeCustomerId: string | null;
}

export interface Call extends BeginRequest {
  callId: string;
  customerId: string;
  status: CallStatus;
  startedAtMs: number;
  /** When the call becomes TIMEOUT, should no end arrive before. */
  deadlineAtMs: number;
  usagePlanVersionId: string;
  allowed: Entitlements;
  suggestedTier: SuggestedTier;
  /** Held of the allowances until the call ends or times out. */
  reserved: Quantities;
  /** Where credit pays for a tier that the call may run on. */
  credit?: CreditTerms;
  /** When a call that is no longer in progress stopped being so. */
  finishedAtMs: number | null;
  outcome: CallOutcome | null;
  /** Where the call's prompt was compressed: as reported last, before, with or after its end. */
  compression?: StoredCompression;
  /** A denied call that D1 knows as one of a number alone. */
  countedAlone?: true;
  revision: number;
}

/** On what terms credit pays for a call: as they were when it began. */
export interface CreditTerms {
  tiers: Tier[];
  markupPercent: number;
  /** Decimal nano-USD, held of the balance until the call ends or times out. */
  heldNanoUsd: string;
}

export interface Begun {
  account: Account;
  call: Call;
  decision: EntitlementDecision;
  /**
   * The output tokens that were reserved for the caller to stay within; `null` where the plan, or a tier on credit,
   * reserves none.
   */
  maxResponseTokens: number | null;
}

export function beginCall(
  account: Account,
  callId: string,
  request: BeginRequest,
  deadlineAtMs: number,
  nowMs: number,
): Begun {
  const { plan, usagePlanVersionId } = account.subscription.plan;
  const heldNanoUsd = nanoFromUsd(request.holdUsd ?? 0);
  const decision = decideEntitlements(
    plan,
    account.meters,
    request.requested,
    isCanceled(account),
    creditLeft(account, heldNanoUsd),
  );
  const { suggestedModelTier } = decision.hints;
  const { markupPercent } = plan.payg;
  const tiers = allowedTiers(decision.allowed).filter((tier) => request.runsOn?.includes(tier) ?? true);
  const needs = request.needs ?? [];
  const mayRun = request.runsOn === undefined || tiers.length > 0;
  const admitted = decision.admitted && mayRun && needs.every((capability) => decision.allowed[capability]);
  const onCredit = admitted ? tiers.filter((tier) => decision.onCredit.includes(tier)) : [];
  const credit = onCredit.length > 0 ? { tiers: onCredit, markupPercent, heldNanoUsd: heldNanoUsd.toString() } : null;
  const fromAllowance = tiers.filter((tier) => !onCredit.includes(tier));
  const reserved = admitted ? reservationFor(account, fromAllowance, needs) : {};
  const revision = account.revision + 1;
  const meters = { ...account.meters, reserved: addQuantities(account.meters.reserved, reserved) };
  const call: Call = {
    ...request,
    callId,
    customerId: account.customerId,
    status: admitted ? 'IN_PROGRESS' : 'NOT_ALLOWED',
    startedAtMs: nowMs,
    deadlineAtMs,
    usagePlanVersionId,
    allowed: decision.allowed,
    suggestedTier: suggestedModelTier,
    reserved,
    ...(credit && { credit }),
    finishedAtMs: admitted ? null : nowMs,
    outcome: null,
    revision,
  };
  const maxResponseTokens =
    plan.reserveOutputTokens === null || suggestedModelTier === 'none'
      ? null
      : (reserved[`${suggestedModelTier}Tokens`] ?? null);
  const wallet = credit ? hold(account.wallet, heldNanoUsd) : account.wallet;
  return { account: { ...account, meters, wallet, revision }, call, decision, maxResponseTokens };
}

/** Whether the USD balance, less what is held and under way, can pay for a call that wants to hold so much of it. */
export function creditLeft({ wallet }: Account, heldNanoUsd: NanoUsd): boolean {
  const available = availableUsd(wallet);
  return available > 0n && available >= heldNanoUsd;
}

/**
 * One call of each tier that the caller may run on, and the plan's output tokens (or what is left of them). Both tiers
 * are held where both were requested and allowed, because only the end says which one was used. A tier on credit takes
 * nothing of the allowance, and so holds nothing of it. A call that can search holds one search, so that calls at the
 * same time are not all admitted for the last one.
 */
function reservationFor(account: Account, tiers: readonly Tier[], needs: readonly Capability[]): Quantities {
  const { plan } = account.subscription.plan;
  const reserved: Quantities = needs.includes('search') ? { searches: 1 } : {};
  for (const tier of tiers) {
    reserved[`${tier}Calls`] = 1;
    if (plan.reserveOutputTokens === null) continue;
    const { unlimited, remaining } = summarize(plan, account.meters, `${tier}Tokens`);
    const bounded = !unlimited && plan.limitType !== 'NONE';
    reserved[`${tier}Tokens`] = bounded ? Math.min(plan.reserveOutputTokens, remaining) : plan.reserveOutputTokens;
  }
  return reserved;
}

/** Admits a call whatever is left: it ran already, and what it used is to be recorded. */
export function admitCall(begun: Begun): Begun {
  return { ...begun, call: { ...begun.call, status: 'IN_PROGRESS', finishedAtMs: null } };
}

export function endCall(
  account: Account,
  call: Call,
  request: EndRequest,
  resolved: ResolvedPrice,
  /** The id of the charge, should credit pay for the call. */
  chargeId: string,
  nowMs: number,
): { account: Account; call: Call } {
  const pricingMode = request.pricingMode ?? call.pricingMode;
  const price: CallPrice = resolved.available
    ? finalPrice(costOf(resolved.card, request.usage, pricingMode))
    : { status: 'UNAVAILABLE', reason: resolved.reason };
  const tier = billedTier(call, request, resolved);
  const free = holdLess(account, heldBy(call));
  const terms = creditTerms(free, call, tier);
  const calls = countsAsCall(call, request) ? 1 : 0;
  const consumed = consumption(request, tier, calls, terms !== null);
  // What failed before it used anything, and has no price, leaves nothing that could be charged.
  const charge =
    terms && (calls > 0 || price.status === 'FINAL') ? chargeFor(chargeId, price, terms.markupPercent) : null;
  const compression = compressionAtEnd(call, request, { price, pricingMode }, nowMs);
  const revision = account.revision + 1;
  const ended: Call = {
    ...call,
    ...(compression && { compression }),
    status: request.error ? 'FAILED' : 'COMPLETED',
    ...released(call),
    finishedAtMs: nowMs,
    revision,
    outcome: {
      endedAtMs: nowMs,
      providerUsed: request.providerUsed ?? null,
      modelUsed: request.modelUsed ?? null,
      reasoningEffort: request.reasoningEffort,
      reasoningEffortSource: request.reasoningEffortSource,
      reasoningMode: request.reasoningMode,
      reasoningBudgetTokens: request.reasoningBudgetTokens,
      usage: request.usage,
      pricingMode,
      tier,
      calls,
      consumed,
      charge,
      error: request.error ? normalizeError(request.error) : null,
      price,
      stripeCustomerId: request.stripeCustomerId ?? account.contact.stripeCustomerId ?? null,
    },
  };
  const meters = { ...free.meters, consumed: addQuantities(free.meters.consumed, consumed) };
  return { account: { ...free, meters, wallet: promise(free.wallet, pendingAmount(charge)), revision }, call: ended };
}

/**
 * On what terms credit pays for the tier that the call ran on; `null` where it does not. A tier that the call was not
 * allowed is on credit where its allowance is gone, and the plan is pay-as-you-go.
 */
function creditTerms(account: Account, call: Call, tier: Tier): { markupPercent: number } | null {
  if (call.credit?.tiers.includes(tier)) return call.credit;
  const { plan } = account.subscription.plan;
  if (call.allowed[tier] || !plan.payg.enabled || isTierLeft(plan, account.meters, tier)) return null;
  return { markupPercent: plan.payg.markupPercent };
}

/** Records what compressing the call's prompt saved, whatever the call's state: the last record stands. */
export function recordCompression(
  account: Account,
  call: Call,
  counts: CompressionCounts,
  nowMs: number,
  bySession = false,
): { account: Account; call: Call; compression: StoredCompression } {
  const revision = account.revision + 1;
  const compression: StoredCompression = {
    ...storeCompression(counts, call.outcome, nowMs),
    ...(bySession && { bySession }),
  };
  return { account: { ...account, revision }, call: { ...call, compression, revision }, compression };
}

/** Which count of a session is more than the call's input, as far as that is known, can hold; `null` where none is. */
export function excessiveOfSession(call: Call, counts: CompressionCounts): ExcessiveCount | null {
  // A call that was never allowed has no input, and will have none.
  return excessiveCount(counts, call.outcome?.usage.inputTokens ?? (canEnd(call) ? null : 0));
}

/** What the end reports of compression, else what was recorded before; either way at the price that is known now. */
function compressionAtEnd(
  call: Call,
  request: EndRequest,
  priced: Priced,
  nowMs: number,
): StoredCompression | undefined {
  if (request.promptCompression) return storeCompression(request.promptCompression, priced, nowMs);
  const { compression } = call;
  if (!compression?.bySession) return compression && storeCompression(compression, priced, compression.recordedAtMs);
  const bounded = boundedCounts(compression, request.usage.inputTokens);
  return { ...storeCompression(bounded, priced, compression.recordedAtMs), bySession: true };
}

type Priced = Pick<CallOutcome, 'price' | 'pricingMode'>;

function storeCompression(counts: CompressionCounts, priced: Priced | null, recordedAtMs: number): StoredCompression {
  const savings = compressionSavings(counts, priced && inputRateOf(priced));
  return { ...savings, inputCostAvoidedNanoUsd: savings.inputCostAvoidedNanoUsd?.toString() ?? null, recordedAtMs };
}

function inputRateOf({ price, pricingMode }: Priced): InputRate | null {
  const line =
    price.status === 'FINAL' ? price.breakdown.lines.find(({ component }) => component === 'input') : undefined;
  return line ? { nanoUsdPerMillion: BigInt(line.rateNanoUsdPerMillion), mode: pricingMode } : null;
}

export function timeOutCall(account: Account, call: Call): { account: Account; call: Call } {
  return giveUp(account, call, 'TIMEOUT', call.deadlineAtMs);
}

/** Takes the admission of an open call back. */
export function refuseCall(account: Account, call: Call, nowMs: number): { account: Account; call: Call } {
  return giveUp(account, call, 'NOT_ALLOWED', nowMs);
}

/** Ends a call without an outcome; what it held is free. */
function giveUp(
  account: Account,
  call: Call,
  status: CallStatus,
  finishedAtMs: number,
): { account: Account; call: Call } {
  const revision = account.revision + 1;
  return {
    account: { ...holdLess(account, heldBy(call)), revision },
    call: { ...call, ...released(call), status, finishedAtMs, revision },
  };
}

/** What open calls hold of a customer's allowances and balance. */
export interface Held {
  reserved: Quantities;
  nanoUsd: NanoUsd;
}

export function heldBy({ reserved, credit }: Call): Held {
  return { reserved, nanoUsd: BigInt(credit?.heldNanoUsd ?? 0) };
}

export function holdMore(account: Account, { reserved, nanoUsd }: Held): Account {
  const meters = { ...account.meters, reserved: addQuantities(account.meters.reserved, reserved) };
  return { ...account, meters, wallet: hold(account.wallet, nanoUsd) };
}

export function holdLess(account: Account, { reserved, nanoUsd }: Held): Account {
  const meters = { ...account.meters, reserved: subtractQuantities(account.meters.reserved, reserved) };
  return { ...account, meters, wallet: release(account.wallet, nanoUsd) };
}

function released({ credit }: Call): Pick<Call, 'reserved' | 'credit'> {
  return { reserved: {}, ...(credit && { credit: { ...credit, heldNanoUsd: '0' } }) };
}

/** Whether an end may still be recorded: while the call is open, and after it timed out. */
export function canEnd(call: Call): boolean {
  return call.status === 'IN_PROGRESS' || call.status === 'TIMEOUT';
}

/**
 * The tier whose allowance pays: what the caller asserts, else what the model's price says, else (no known price) the
 * tier that was suggested at begin.
 */
function billedTier(call: Call, request: EndRequest, price: ResolvedPrice): Tier {
  if (request.isPremium !== undefined) return request.isPremium ? 'premium' : 'standard';
  if (price.available) return isPremiumPrice(price.card) ? 'premium' : 'standard';
  return call.suggestedTier === 'premium' ? 'premium' : 'standard';
}

/** A failed call that used nothing is no call, and neither is one for a capability alone. */
function countsAsCall(call: Call, { usage, modelUsed, error }: EndRequest): boolean {
  const used = Object.values(usage).some((quantity) => quantity > 0);
  const modelRan =
    call.suggestedTier !== 'none' || modelUsed !== undefined || usage.inputTokens > 0 || usage.responseTokens > 0;
  return modelRan && (used || !error);
}

/** What the call takes of the allowances: where credit pays for its tier, nothing of that tier. */
function consumption({ usage }: EndRequest, tier: Tier, calls: number, onCredit: boolean): Quantities {
  return {
    ...(calls > 0 && !onCredit ? { [`${tier}Calls`]: calls } : {}),
    ...(usage.responseTokens > 0 && !onCredit ? { [`${tier}Tokens`]: usage.responseTokens } : {}),
    ...(usage.searches > 0 ? { searches: usage.searches } : {}),
    ...(usage.audioSeconds > 0 ? { audioSeconds: usage.audioSeconds } : {}),
  };
}

function normalizeError(error: CallError): CallError {
  return { code: sanitizeErrorMessage(error.code), message: sanitizeErrorMessage(error.message) };
}

function chargeFor(chargeId: string, price: CallPrice, markupPercent: number): Charge {
  const costNanoUsd = price.status === 'FINAL' ? withMarkup(BigInt(price.costNanoUsd), markupPercent) : null;
  return newCharge(chargeId, costNanoUsd, markupPercent);
}

function finalPrice(cost: Cost): CallPrice {
  return { status: 'FINAL', costNanoUsd: cost.totalNanoUsd.toString(), breakdown: breakdownOf(cost) };
}
