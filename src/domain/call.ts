/**
 * A metered call, and its end.
 *
 * Begin (begin-call.ts) decides about the request and reserves allowance. End records and prices the usage and turns
 * the reservation into consumption. A call that is not ended before its deadline times out and releases its
 * reservation; a late end is still recorded, because the vendor was paid. A call is plain JSON; money in it is a
 * decimal string of nano-USD.
 */

import { DAY_MS } from '../platform/time.ts';
import { type Account, countOnBalance, type OnBalance, periodNumber } from './account.ts';
import type { AllowanceBound } from './allowance-bound.ts';
import { isTierLeft } from './allowances.ts';
import type { IfLost } from './bound.ts';
import { listedFacts, pickFacts, type RecordedFacts } from './call-facts.ts';
import {
  allParts,
  type BilledPart,
  type CallPart,
  chargeForParts,
  costOfPart,
  costOfParts,
  type PricedPart,
  type RecordedPart,
  sourceOfParts,
} from './call-parts.ts';
import type { CallError, CallReport, RecordedField, VendorReportedCost } from './call-report.ts';
import { type Billed, type Charge, pendingAmount } from './charge.ts';
import {
  boundedCounts,
  type CompressionCounts,
  type CompressionSavings,
  compressionSavings,
  type ExcessiveCount,
  excessiveCount,
  type InputRate,
} from './compression.ts';
import type { Correction, CorrectionKind } from './correction.ts';
import type { RecordedDenial } from './denial.ts';
import type { Entitlements, Requested, SuggestedTier } from './entitlements.ts';
import { type HeldTerms, heldForInput, heldPrice } from './held-charge.ts';
import type { Steps } from './hold.ts';
import type { CallId, CustomerId } from './ids.ts';
import type { Labels } from './labels.ts';
import { addQuantities, type Quantities, subtractQuantities } from './meters.ts';
import type { Capability } from './plan.ts';
import { tierOfPrice } from './price.ts';
import {
  buildBreakdown,
  type CostBreakdown,
  type Priced as PricedCost,
  type PricingMode,
  type PricingUnavailableReason,
  type ResolvedPrice,
  reportedCost,
} from './pricing.ts';
import { sanitizeErrorMessage } from './sanitize.ts';
import { assertedTier, DEFAULT_TIER, type Tier } from './tiers.ts';
import { isUsed, type OutputBasis, type ProvisionalSource, type Usage, type UsageSource } from './usage.ts';
import { sumUsage } from './usage-sum.ts';
import { addUnsettled, release } from './wallet.ts';

/**
 * How long a customer's object keeps a finished call. Until then the call accepts a report of its savings and, if it
 * timed out, of its end.
 */
export const CALL_RETENTION_MS = 7 * DAY_MS;

export const CALL_STATUSES = ['IN_PROGRESS', 'COMPLETED', 'FAILED', 'TIMEOUT', 'NOT_ALLOWED'] as const;
export type CallStatus = (typeof CALL_STATUSES)[number];

export interface BeginRequest extends Labels {
  requested: Requested;
  holdUsd?: number | undefined;
  pricingMode: PricingMode;
  /** The tiers of the models that will run, if they are known: the call is admitted only for one of these. */
  runsOn?: Tier[] | undefined;
  /** The capabilities that the vendor's request uses: the call is admitted only if all of them are allowed. */
  needs?: Capability[] | undefined;
  /** The request for which the service makes the call itself: no other request may make it. */
  openedBy?: string | undefined;
}

/** The cost of a call, or why it is not known. */
export type CallPrice =
  | {
      status: 'FINAL';
      costNanoUsd: string;
      breakdown: CostBreakdown;
      /** Priced by a catalog that stood in for the published one: the call may be repriced. */
      standsIn?: true;
    }
  | { status: 'UNAVAILABLE'; reason: PricingUnavailableReason };

export type StoredCompression = Omit<CompressionSavings, 'inputCostAvoidedNanoUsd'> & {
  /** Decimal nano-USD; `null` while the call has no known price. */
  inputCostAvoidedNanoUsd: string | null;
  recordedAtMs: number;
  /** Reported by a browser's session, and so bounded by the input tokens that the end reports. */
  bySession?: true;
};

export interface CallOutcome
  extends RecordedFacts,
    Record<Exclude<RecordedField, keyof RecordedFacts | 'changed' | 'unclear'>, unknown> {
  endedAtMs: number;
  /** The usage of all parts together. */
  usage: Usage;
  /** The answer's own usage first, then all other parts of the call; absent if the call has no other part. */
  parts: readonly RecordedPart[] | undefined;
  /** Absent if the usage is reported. */
  usageSource: ProvisionalSource | undefined;
  /** The basis of the output tokens of provisional usage. Absent in older outcomes, and for unread lines. */
  outputBasis: OutputBasis | undefined;
  /** The mode that applied: the end's if it names one, otherwise the begin's. */
  pricingMode: PricingMode;
  tier: Tier;
  /** 1 if the call counts against the call meter, otherwise 0. */
  calls: number;
  /** The call's consumption on each meter. */
  consumed: Quantities;
  /** The amount that the customer's USD balance pays; `null` if the allowance pays. */
  charge: Charge | null;
  error: CallError | null;
  price: CallPrice;
  stripeCustomerId: string | null;
  outputRate: number | undefined;
  /** The fields that were sent with another value than the caller's: `service_tier=default`. */
  changed?: readonly string[] | undefined;
  /** Figures of the usage that stand at the call's bound, because the vendor's report of them makes no sense. */
  unclear?: readonly string[] | undefined;
  /** The caller's own assertion of the model's tier. */
  isPremium: boolean | undefined;
  vendorReported: VendorReportedCost | undefined;
  /** The usage period that the call counts in. Absent in old outcomes. */
  period?: number;
}

/** How a finished call was corrected. */
export interface CallCorrection extends Correction {
  kind: CorrectionKind;
  /** The earlier outcome of the call; `null` if it had timed out. */
  previous: CallOutcome | null;
  /** The amounts that the allowance got back, less those that it gave instead. */
  returned: Quantities;
  taken: Quantities;
  /** The additional amount that the balance pays, or, below zero, gets back; `null` if that is nothing. */
  charge: Charge | null;
  /** For an amendment: the fingerprint of the request, so that it is made once. */
  fingerprint?: string;
  /** For a price that was added later: the job that added it. */
  jobId?: string;
}

export interface Call extends BeginRequest {
  callId: CallId;
  customerId: CustomerId;
  status: CallStatus;
  startedAtMs: number;
  /** When the call becomes TIMEOUT, unless it ends before. */
  deadlineAtMs: number;
  usagePlanVersionId: string;
  allowed: Entitlements;
  suggestedTier: SuggestedTier;
  /** Reserved on each meter until the call ends or times out. */
  reserved: Quantities;
  /** Present if credit pays for a tier that the call may run on. */
  credit?: CreditTerms;
  /** Present while the call is open, if its allowances bound it. */
  allowance?: AllowanceBound | undefined;
  /** While the service makes the call: the record to make if the vendor's result never becomes known. */
  ifLost?: LostCall | undefined;
  /** While it is open: the tokens of its prompts that were known at its begin, one for each model that may run. */
  promptTokens?: (number | null)[] | undefined;
  /** Why the call was denied. Absent in older denied calls. */
  denial?: RecordedDenial;
  /** When the call ended, timed out or was denied; `null` while it is in progress. */
  finishedAtMs: number | null;
  outcome: CallOutcome | null;
  /** The savings of a compressed prompt, from the latest report, which may come before, with or after the end. */
  compression?: StoredCompression;
  /** The corrections of the call, the oldest first. */
  corrections?: CallCorrection[];
  /** The time since which the call no longer counts, if it was a mistake. */
  reversedAtMs?: number;
  /**
   * The amount of the call that the billing provider has accepted. `null` if the balance alone settled its first
   * charge, and so settles its corrections; absent until a charge is settled, and in older calls.
   */
  billed?: Billed | null;
  /** A denied call, or a failed and free one, that D1 has only in an hourly count. */
  countedAlone?: true;
  /** While it is open: D1 gets it only at its end, because many of the customer's calls failed in this hour. */
  untold?: true | undefined;
  revision: number;
}

/** Whether an ended call failed, and neither used nor took anything. */
export function hasFailedFree({ outcome }: Pick<Call, 'outcome'>): boolean {
  if (!outcome?.error || outcome.charge !== null || outcome.calls > 0) return false;
  return Object.values(outcome.usage).every((figure) => figure === 0) && !outcome.usageSource && !outcome.parts;
}

/** How credit pays for a call, fixed at begin. */
export interface CreditTerms extends HeldTerms {
  tiers: Tier[];
  markupPercent: number;
  /** The most output tokens of all answers together; absent if the models are not known. */
  outputTokens?: number;
  /** Present if more is held while the call goes on. */
  steps?: Steps;
  /**
   * Decimal nano-USD that were held when the call ended with a higher charge: the vendor exceeded its own bound, or the
   * hold was an expected amount.
   */
  exceededNanoUsd?: string;
}

/** A call that the service makes and whose vendor may never answer. */
export interface LostCall extends IfLost {
  /** The output tokens of all answers together. */
  outputTokensMax: number;
}

export function endCall(
  account: Account,
  call: Call,
  report: CallReport,
  resolved: ResolvedPrice,
  /** The id of the charge, used if credit pays for the call. */
  chargeId: string,
  nowMs: number,
): { account: Account; call: Call } {
  const free = releaseHeld(account, call);
  const { outcome, ...more } = computeOutcome(free, call, report, resolved, chargeId, nowMs);
  const revision = account.revision + 1;
  const meters = { ...free.meters, consumed: addQuantities(free.meters.consumed, outcome.consumed) };
  return {
    account: countOnBalance(
      { ...free, meters, wallet: addUnsettled(free.wallet, pendingAmount(outcome.charge)), revision },
      chargedToBalance(outcome),
    ),
    call: { ...call, ...more, ...released(call, outcome.charge), finishedAtMs: nowMs, revision, outcome },
  };
}

/** The amount that the balance pays for the call. A charge without a known price takes nothing from it. */
export function chargedToBalance(outcome: Pick<CallOutcome, 'calls' | 'charge' | 'parts'> | null): OnBalance {
  if (!outcome?.charge) return { calls: 0, nanoUsd: '0' };
  const { calls, charge, parts } = outcome;
  // The call itself counts with its answer.
  const isAnswerPaid = parts?.[0]?.onCredit ?? true;
  return { calls: isAnswerPaid ? calls : 0, nanoUsd: charge.amountNanoUsd ?? '0' };
}

/** The outcome of the call by the report, in an account that holds and counts nothing for it. */
export function computeOutcome(
  account: Account,
  call: Call,
  report: CallReport,
  resolved: ResolvedPrice,
  chargeId: string,
  nowMs: number,
  termsOf: (tier: Tier) => { markupPercent: number } | null = (tier) => creditTerms(account, call, tier),
): { outcome: CallOutcome; status: CallStatus; compression?: StoredCompression } {
  const pricingMode = report.usage.serviceTier === 'batch' ? 'batch' : (report.pricingMode ?? call.pricingMode);
  const [answer, ...others] = allParts(report, resolved);
  const bill = (part: PricedPart, cost: PricedCost): BilledPart => {
    const tier = billedTier(call, part, part.price);
    return { ...part, tier, cost, terms: termsOf(tier) };
  };
  const own = bill(answer, costOfAnswer(report, answer, pricingMode));
  const parts = [own, ...others.map((part) => bill(part, costOfPart(part, pricingMode)))] as const;
  const price = finalPrice(costOfParts(parts));
  const { tier } = own;
  const usage = others.reduce((sum, part) => sumUsage(sum, part.usage), report.usage);
  const calls = countsAsCall(call, { ...report, usage }) ? 1 : 0;
  const held = heldPrice(call);
  const heldFor = (part: BilledPart) => (part === own && report.vendorReported?.isUsed ? null : held);
  // A failed call without usage and without a price has nothing to charge.
  const charge = calls > 0 || price.status === 'FINAL' ? chargeForParts(parts, heldFor, pricingMode, chargeId) : null;
  const compression = compressionAtEnd(call, report, { price, pricingMode }, nowMs);
  const outcome = {
    endedAtMs: nowMs,
    ...pickFacts(report),
    ...listedFacts(report),
    usage,
    parts: others.length > 0 ? parts.map(recorded) : undefined,
    usageSource: sourceOfParts(parts),
    outputBasis: report.outputBasis,
    outputRate: report.outputRate,
    changed: report.changed,
    unclear: report.unclear,
    isPremium: report.isPremium,
    vendorReported: report.vendorReported,
    pricingMode,
    tier,
    calls,
    consumed: consumption(parts, calls),
    charge,
    error: report.error ? normalizeError(report.error) : null,
    price,
    stripeCustomerId: report.stripeCustomerId ?? account.contact.stripeCustomerId ?? null,
    period: periodNumber(account),
  } satisfies Record<keyof CallOutcome, unknown>;
  return { outcome, status: report.error ? 'FAILED' : 'COMPLETED', ...(compression && { compression }) };
}

/** Whether credit pays for the call, as far as its begin decided. */
export function isOnCredit({ credit, suggestedTier }: Call, report: CallReport, price: ResolvedPrice): boolean {
  return credit?.tiers.includes(billedTier({ suggestedTier }, report, price)) ?? false;
}

/**
 * How credit pays for the tier that the call ran on; `null` if it does not. Credit also pays for a tier that the call
 * was not allowed to use, if that tier's allowance is used up and the plan is pay-as-you-go.
 */
export function creditTerms(account: Account, call: Call, tier: Tier): { markupPercent: number } | null {
  if (call.credit?.tiers.includes(tier)) return call.credit;
  const { plan } = account.subscription.plan;
  if (call.allowed[tier] || !plan.payg.enabled || isTierLeft(plan, account.meters, tier)) return null;
  return { markupPercent: plan.payg.markupPercent };
}

/** Records the savings of a compressed prompt, in any state of the call. The latest report replaces earlier ones. */
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

/** The count of a session that exceeds the call's input tokens, as far as they are known; `null` if none does. */
export function excessiveOfSession(call: Call, counts: CompressionCounts): ExcessiveCount | null {
  // A denied call never has input.
  return excessiveCount(counts, call.outcome?.usage.inputTokens ?? (canEnd(call) ? null : 0));
}

/** The savings that the end reports, or those recorded before, priced with the call's rate. */
function compressionAtEnd(
  call: Call,
  report: CallReport,
  priced: Priced,
  nowMs: number,
): StoredCompression | undefined {
  if (report.promptCompression) return storeCompression(report.promptCompression, priced, nowMs);
  const { compression } = call;
  if (!compression?.bySession) return compression && storeCompression(compression, priced, compression.recordedAtMs);
  const bounded = boundedCounts(compression, report.usage.inputTokens);
  return { ...storeCompression(bounded, priced, compression.recordedAtMs), bySession: true };
}

type Priced = Pick<CallOutcome, 'price' | 'pricingMode'>;

function storeCompression(counts: CompressionCounts, priced: Priced | null, recordedAtMs: number): StoredCompression {
  const savings = compressionSavings(counts, priced && findInputRate(priced));
  return { ...savings, inputCostAvoidedNanoUsd: savings.inputCostAvoidedNanoUsd?.toString() ?? null, recordedAtMs };
}

function findInputRate({ price, pricingMode }: Priced): InputRate | null {
  const line =
    price.status === 'FINAL' ? price.breakdown.lines.find(({ component }) => component === 'input') : undefined;
  return line ? { nanoUsdPerMillion: BigInt(line.rateNanoUsdPerMillion), mode: pricingMode } : null;
}

export function timeOutCall(account: Account, call: Call): { account: Account; call: Call } {
  return giveUp(account, call, 'TIMEOUT', call.deadlineAtMs);
}

/** The source of the recorded usage; `null` if none is recorded. */
export function usageSource({ outcome }: Call): UsageSource | null {
  return outcome && (outcome.usageSource ?? 'reported');
}

/** Turns an open call into a denied one. */
export function refuseCall(account: Account, call: Call, nowMs: number): { account: Account; call: Call } {
  return giveUp(account, call, 'NOT_ALLOWED', nowMs);
}

/** Ends a call without an outcome and releases its reservations. */
function giveUp(
  account: Account,
  call: Call,
  status: CallStatus,
  finishedAtMs: number,
): { account: Account; call: Call } {
  const revision = account.revision + 1;
  return {
    account: { ...releaseHeld(account, call), revision },
    call: { ...call, ...released(call, null), status, finishedAtMs, revision },
  };
}

/** The account without the call's holds on its allowances and balance. */
function releaseHeld(account: Account, { reserved, credit }: Call): Account {
  const meters = { ...account.meters, reserved: subtractQuantities(account.meters.reserved, reserved) };
  return { ...account, meters, wallet: release(account.wallet, BigInt(credit?.heldNanoUsd ?? 0)) };
}

/** The call without its holds. A charge above the hold is noted in it. */
function released(call: Call, charge: Charge | null): Partial<Call> {
  const { credit, status } = call;
  const freed = { reserved: {}, allowance: undefined, ifLost: undefined, promptTokens: undefined };
  // After its deadline, a call has no hold to release or exceed.
  if (!credit || status !== 'IN_PROGRESS') return freed;
  const { steps: _steps, heldNanoUsd, ...terms } = credit;
  const heldForInputNanoUsd = heldForInput(call);
  const exceeded = BigInt(charge?.amountNanoUsd ?? 0) > BigInt(heldNanoUsd);
  const atEnd = {
    ...(heldForInputNanoUsd !== undefined && { heldForInputNanoUsd }),
    heldAtEndNanoUsd: heldNanoUsd,
    ...(exceeded && { exceededNanoUsd: heldNanoUsd }),
  };
  return { ...freed, credit: { ...terms, heldNanoUsd: '0', ...atEnd } };
}

/** Whether an end can be recorded: while the call is in progress, and after it timed out. */
export function canEnd(call: Call): boolean {
  return call.status === 'IN_PROGRESS' || (call.status === 'TIMEOUT' && call.reversedAtMs === undefined);
}

/**
 * The tier that the call is billed to: the caller's assertion, otherwise the tier of the model's price, or (without a
 * known price) the tier that was suggested at begin.
 */
function billedTier(
  call: Pick<Call, 'suggestedTier'>,
  { isPremium }: Pick<CallPart, 'isPremium'>,
  price: ResolvedPrice,
): Tier {
  if (isPremium !== undefined) return assertedTier(isPremium);
  if (price.available) return tierOfPrice(price.card);
  return call.suggestedTier === 'none' ? DEFAULT_TIER : call.suggestedTier;
}

/**
 * Whether the call counts against the call meter: it does not if it failed without usage, or used only a capability.
 */
function countsAsCall(call: Call, { usage, modelUsed, error }: CallReport): boolean {
  const modelRan =
    call.suggestedTier !== 'none' || modelUsed !== undefined || usage.inputTokens > 0 || usage.responseTokens > 0;
  return modelRan && (isUsed(usage) || !error);
}

/** The call's consumption on each meter. If credit pays for a part, the meters of its tier are not touched. */
function consumption(parts: readonly BilledPart[], calls: number): Quantities {
  return parts
    .map(({ usage, tier, terms }, index) => ({
      ...(index === 0 && calls > 0 && !terms ? { [`${tier}Calls`]: calls } : {}),
      ...(usage.responseTokens > 0 && !terms ? { [`${tier}Tokens`]: usage.responseTokens } : {}),
      ...(usage.searches > 0 ? { searches: usage.searches } : {}),
      ...(usage.audioSeconds > 0 ? { audioSeconds: usage.audioSeconds } : {}),
    }))
    .reduce(addQuantities);
}

function recorded({ price: _price, cost: _cost, terms, ...part }: BilledPart): RecordedPart {
  return { ...part, onCredit: terms !== null };
}

function normalizeError(error: CallError): CallError {
  return { code: sanitizeErrorMessage(error.code), message: sanitizeErrorMessage(error.message) };
}

/** The cost of the answer itself: the vendor's own figure if the organization wants that, otherwise by the price. */
function costOfAnswer({ vendorReported, providerUsed, modelUsed }: CallReport, own: PricedPart, mode: PricingMode) {
  if (!vendorReported?.isUsed) return costOfPart(own, mode);
  const card = own.price.available ? own.price.card : { provider: providerUsed ?? '', modelKey: modelUsed ?? '' };
  return { known: true, cost: reportedCost(card, BigInt(vendorReported.nanoUsd)) } as const;
}

function finalPrice(priced: PricedCost): CallPrice {
  if (!priced.known) return { status: 'UNAVAILABLE', reason: priced.reason };
  const { totalNanoUsd, standsIn } = priced.cost;
  const price = {
    status: 'FINAL',
    costNanoUsd: totalNanoUsd.toString(),
    breakdown: buildBreakdown(priced.cost),
  } as const;
  return standsIn ? { ...price, standsIn } : price;
}
