/**
 * The life of one metered call: begin, end, time out.
 *
 * Begin decides what is allowed and reserves it; end records the usage, prices it and turns the reservation into
 * consumption; a call that is never ended times out and gives its reservation back. A late end is still recorded,
 * because the money was spent. All facts of a call are plain JSON; money in them is a decimal string of nano-USD.
 */
import { type Account, isCanceled } from './account.ts';
import { type CompressionCounts, type CompressionSavings, compressionSavings } from './compression.ts';
import {
  allowedTiers,
  decideEntitlements,
  type EntitlementDecision,
  type Entitlements,
  type SuggestedTier,
  type Tier,
} from './entitlements.ts';
import { addQuantities, type Quantities, subtractQuantities, summarize } from './meters.ts';
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

export type StoredCompression = Omit<CompressionSavings, 'inputCostAvoidedNanoUsd'> & { inputCostAvoidedNanoUsd: string | null };

export interface CallOutcome extends Reasoning {
  endedAtMs: number;
  providerUsed: string | null;
  modelUsed: string | null;
  usage: Usage;
  /** The mode that applied: the end's own, or the one of begin. */
  pricingMode: PricingMode;
  tier: Tier;
  /** What the call took of the allowances. */
  consumed: Quantities;
  error: CallError | null;
  price: CallPrice;
  compression: StoredCompression | null;
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
  /** When a call that is no longer in progress stopped being so. */
  finishedAtMs: number | null;
  outcome: CallOutcome | null;
  revision: number;
}

export interface Begun {
  account: Account;
  call: Call;
  decision: EntitlementDecision;
  /** The output tokens that were reserved for the caller to stay within; `null` where the plan reserves none. */
  maxResponseTokens: number | null;
}

export function beginCall(account: Account, callId: string, request: BeginRequest, deadlineAtMs: number, nowMs: number): Begun {
  const { plan, usagePlanVersionId } = account.subscription.plan;
  const decision = decideEntitlements(plan, account.meters, request.requested, isCanceled(account));
  const { suggestedModelTier } = decision.hints;
  const reserved = decision.admitted ? reservationFor(account, decision.allowed) : {};
  const revision = account.revision + 1;
  const meters = { ...account.meters, reserved: addQuantities(account.meters.reserved, reserved) };
  const call: Call = {
    ...request,
    callId,
    customerId: account.customerId,
    status: decision.admitted ? 'IN_PROGRESS' : 'NOT_ALLOWED',
    startedAtMs: nowMs,
    deadlineAtMs,
    usagePlanVersionId,
    allowed: decision.allowed,
    suggestedTier: suggestedModelTier,
    reserved,
    finishedAtMs: decision.admitted ? null : nowMs,
    outcome: null,
    revision,
  };
  const maxResponseTokens =
    plan.reserveOutputTokens === null || suggestedModelTier === 'none' ? null : (reserved[`${suggestedModelTier}Tokens`] ?? 0);
  return { account: { ...account, meters, revision }, call, decision, maxResponseTokens };
}

/**
 * One call of each tier that the caller may run on, and the plan's output tokens (or what is left of them). Both tiers
 * are held where both were requested and allowed, because only the end says which one was used.
 */
function reservationFor(account: Account, allowed: Entitlements): Quantities {
  const { plan } = account.subscription.plan;
  const reserved: Quantities = {};
  for (const tier of allowedTiers(allowed)) {
    reserved[`${tier}Calls`] = 1;
    if (plan.reserveOutputTokens === null) continue;
    const { unlimited, remaining } = summarize(plan, account.meters, `${tier}Tokens`);
    const bounded = !unlimited && plan.limitType !== 'NONE';
    reserved[`${tier}Tokens`] = bounded ? Math.min(plan.reserveOutputTokens, remaining) : plan.reserveOutputTokens;
  }
  return reserved;
}

export function endCall(
  account: Account,
  call: Call,
  request: EndRequest,
  price: ResolvedPrice,
  nowMs: number,
): { account: Account; call: Call } {
  const pricingMode = request.pricingMode ?? call.pricingMode;
  const tier = billedTier(call, request, price);
  const consumed = consumption(call, request, tier);
  const revision = account.revision + 1;
  const ended: Call = {
    ...call,
    status: request.error ? 'FAILED' : 'COMPLETED',
    reserved: {},
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
      consumed,
      error: request.error ? normalizeError(request.error) : null,
      price: price.available ? finalPrice(costOf(price.card, request.usage, pricingMode)) : { status: 'UNAVAILABLE', reason: price.reason },
      compression: request.promptCompression
        ? storeCompression(compressionSavings(request.promptCompression, price.available ? price.card : null))
        : null,
      stripeCustomerId: request.stripeCustomerId ?? account.contact.stripeCustomerId ?? null,
    },
  };
  const meters = {
    consumed: addQuantities(account.meters.consumed, consumed),
    reserved: subtractQuantities(account.meters.reserved, call.reserved),
  };
  return { account: { ...account, meters, revision }, call: ended };
}

export function timeOutCall(account: Account, call: Call): { account: Account; call: Call } {
  return giveUp(account, call, 'TIMEOUT', call.deadlineAtMs);
}

/** Takes the admission of an open call back. */
export function refuseCall(account: Account, call: Call, nowMs: number): { account: Account; call: Call } {
  return giveUp(account, call, 'NOT_ALLOWED', nowMs);
}

/** Ends a call without an outcome; what it held is free. */
function giveUp(account: Account, call: Call, status: CallStatus, finishedAtMs: number): { account: Account; call: Call } {
  const revision = account.revision + 1;
  const meters = { ...account.meters, reserved: subtractQuantities(account.meters.reserved, call.reserved) };
  return { account: { ...account, meters, revision }, call: { ...call, status, reserved: {}, finishedAtMs, revision } };
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

function consumption(call: Call, request: EndRequest, tier: Tier): Quantities {
  const { usage } = request;
  const used = Object.values(usage).some((quantity) => quantity > 0);
  const modelRan = call.suggestedTier !== 'none' || request.modelUsed !== undefined || usage.inputTokens > 0 || usage.responseTokens > 0;
  // A failed call that used nothing costs no allowance; a call for a capability alone is no model call.
  const counts = modelRan && (used || !request.error);
  return {
    ...(counts ? { [`${tier}Calls`]: 1 } : {}),
    ...(usage.responseTokens > 0 ? { [`${tier}Tokens`]: usage.responseTokens } : {}),
    ...(usage.searches > 0 ? { searches: usage.searches } : {}),
    ...(usage.audioSeconds > 0 ? { audioSeconds: usage.audioSeconds } : {}),
  };
}

function normalizeError(error: CallError): CallError {
  return { code: sanitizeErrorMessage(error.code), message: sanitizeErrorMessage(error.message) };
}

function finalPrice(cost: Cost): CallPrice {
  return { status: 'FINAL', costNanoUsd: cost.totalNanoUsd.toString(), breakdown: breakdownOf(cost) };
}

function storeCompression(savings: CompressionSavings): StoredCompression {
  return { ...savings, inputCostAvoidedNanoUsd: savings.inputCostAvoidedNanoUsd?.toString() ?? null };
}
