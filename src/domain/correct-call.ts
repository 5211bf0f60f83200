/**
 * The correction of a finished call: its outcome is replaced, and the account pays or gets back the difference.
 *
 * A reversed call no longer has an outcome that counts; its earlier outcome stays in the record. An allowance gets back
 * only amounts of the present period: older ones have lapsed.
 */
import { type Account, countOnBalance, periodNumber } from './account.ts';
import {
  type Call,
  type CallCorrection,
  type CallOutcome,
  type CallPrice,
  chargedToBalance,
  computeOutcome,
  creditTerms,
  endCall,
} from './call.ts';
import { pickFacts } from './call-facts.ts';
import { type CallPart, costOfAll, type PricedPart } from './call-parts.ts';
import type { CallReport } from './call-report.ts';
import { type Charge, newCharge, pendingAmount } from './charge.ts';
import type { Correction } from './correction.ts';
import { addQuantities, type Quantities, subtractQuantities } from './meters.ts';
import type { NanoUsd } from './money.ts';
import { computeCharges, type ResolvedPrice } from './pricing.ts';
import type { Tier } from './tiers.ts';
import type { Usage } from './usage.ts';
import { addUnsettled } from './wallet.ts';

export interface Corrected {
  account: Account;
  call: Call;
  correction: CallCorrection;
}

/** Whether the call is over and can have counted. */
export function isCorrectable({ status }: Call): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'TIMEOUT';
}

/** The outcome that the call counts; `null` if it counts nothing. */
export function countedOutcome({ outcome, reversedAtMs }: Pick<Call, 'outcome' | 'reversedAtMs'>): CallOutcome | null {
  return reversedAtMs === undefined ? outcome : null;
}

/** Whether the vendor's figures can still replace an estimate. */
export function lacksFigures(call: Call): boolean {
  const { usageSource, price } = countedOutcome(call) ?? {};
  return usageSource !== undefined || (price?.status === 'UNAVAILABLE' && price.reason === 'USAGE_NOT_REPORTED');
}

/** The number of outcomes that the call has had: an amendment applies to the outcome that it was made from. */
export function countOutcomes({ outcome, corrections = [] }: Call): number {
  return (outcome ? 1 : 0) + corrections.length;
}

/** The report that an amendment puts in place. */
export interface Amendment {
  report: CallReport;
  price: ResolvedPrice;
  fingerprint: string;
}

/**
 * Replaces the report of the call's end; the call stays in the period in which it ended. If the tier is the same, its
 * earlier payer pays again: the allowance, or credit at its markup. `null` if the call has no outcome that counts.
 */
export function amendCall(
  account: Account,
  call: Call,
  { report, price, fingerprint }: Amendment,
  why: Correction,
  ids: Ids,
): Corrected | null {
  return replaceReport(account, call, { report, price }, { ...why, kind: 'AMENDED', fingerprint }, ids);
}

/**
 * Records the end of a call that timed out, as an amendment: the application did not report it while `call_end` still
 * accepted it. It counts from now on, as a late end does.
 */
export function endByAmendment(
  account: Account,
  call: Call,
  { report, price, fingerprint }: Amendment,
  why: Correction,
  chargeId: string,
): Corrected {
  const ended = endCall(account, call, report, price, chargeId, why.atMs);
  const { consumed: taken = {}, charge = null } = ended.call.outcome ?? {};
  const correction: CallCorrection = {
    ...why,
    kind: 'AMENDED',
    fingerprint,
    previous: null,
    returned: {},
    taken,
    charge,
  };
  return { ...ended, call: { ...ended.call, corrections: [...(call.corrections ?? []), correction] }, correction };
}

/**
 * Gives a call the price that it lacked at its end. The price sets its tier and its charge: that charge failed without
 * a price, came from the hold, or used the price of another catalog. `null` if the call has a price, has no usage, or
 * has a use that still has no rate.
 */
export function repriceCall(
  account: Account,
  call: Call,
  { price, parts = [], jobId }: NewPrices & { jobId: string },
  why: Correction,
  ids: Ids,
): Corrected | null {
  const before = countedOutcome(call);
  if (!before || !lacksPrice(before) || addedCost(before, { price, parts }) === null) return null;
  const ending = { report: reportOfOutcome(before, parts), price };
  return replaceReport(account, call, ending, { ...why, kind: 'REPRICED', jobId }, ids);
}

/** Prices for a call that lacks one. */
export interface NewPrices {
  price: ResolvedPrice;
  /** Prices of the parts besides the answer itself, in the order of the call. */
  parts?: readonly PartPrice[] | undefined;
}

export interface PartPrice extends Pick<PricedPart, 'modelUsed' | 'price'> {}

/** The amount that the prices add to the cost of an outcome that lacks one; `null` if a use still has no rate. */
export function addedCost(outcome: CallOutcome, { price, parts = [] }: NewPrices): NanoUsd | null {
  const { price: before, pricingMode } = outcome;
  const others = otherParts(outcome);
  // The call was corrected since its prices were looked up.
  if (others.length !== parts.length || others.some(({ modelUsed }, at) => modelUsed !== parts[at]?.modelUsed))
    return null;
  const own = { price, usage: usageOfAnswer(outcome) };
  const all = [own, ...pricedParts(outcome, parts)] as const;
  const priced = costOfAll(all, pricingMode);
  // The published catalog is still unavailable.
  if (!priced.known || priced.cost.standsIn) return null;
  const isUnlisted = all.some(
    ({ price: of, usage }) =>
      of.available && computeCharges(of.card, usage, pricingMode, usage.inputTokens).unlisted.length > 0,
  );
  if (before.status === 'FINAL' && !before.standsIn && isUnlisted) return null;
  return priced.cost.totalNanoUsd - costKnown(before);
}

/** The usage of the answer itself. */
export function usageOfAnswer({ usage, parts }: CallOutcome): Usage {
  return parts?.[0]?.usage ?? usage;
}

/** The parts of the call besides the answer itself. */
export function otherParts({ parts = [] }: CallOutcome): CallPart[] {
  return parts.slice(1).map(({ tier: _tier, onCredit: _onCredit, ...part }) => part);
}

function pricedParts(outcome: CallOutcome, prices: readonly PartPrice[]): PricedPart[] {
  return otherParts(outcome).flatMap((part, at) => {
    const price = prices[at]?.price;
    return price ? [{ ...part, price }] : [];
  });
}

function costKnown(price: CallPrice): NanoUsd {
  return price.status === 'FINAL' ? BigInt(price.costNanoUsd) : 0n;
}

/** Replaces estimated usage by the figures that arrived later. `null` if the call has no outcome that counts. */
export function replaceEstimate(
  account: Account,
  call: Call,
  ending: { report: CallReport; price: ResolvedPrice },
  nowMs: number,
  ids: Ids,
): Corrected | null {
  const why = { atMs: nowMs, reason: 'the figures of the call came after its end', by: 'service' };
  return replaceReport(account, call, ending, { ...why, kind: 'AMENDED' }, ids);
}

/**
 * The amount that the job's price added to the cost of the call, whatever was corrected since; `null` if the job gave
 * it no price.
 */
export function repricedCost({ corrections = [], outcome }: Call, jobId: string): NanoUsd | null {
  const at = corrections.findIndex((correction) => correction.jobId === jobId);
  if (at === -1) return null;
  const next = corrections[at + 1];
  const price = (next ? next.previous : outcome)?.price;
  if (price?.status !== 'FINAL') throw new Error('a repriced call has a price');
  const before = corrections[at]?.previous?.price;
  return BigInt(price.costNanoUsd) - (before ? costKnown(before) : 0n);
}

/**
 * Whether the outcome lacks only a price: for its cost, for a use that its hold is charged for, or because another
 * catalog stood in. Without usage there is nothing to price.
 */
export function lacksPrice({ price, charge }: CallOutcome): boolean {
  if (price.status === 'FINAL') return charge?.basis !== undefined || price.standsIn === true;
  return !price.reason.startsWith('USAGE_');
}

/** The report of the call's end, with these prices of its parts. */
export function reportOfOutcome(outcome: CallOutcome, partPrices: readonly PartPrice[]): CallReport {
  const { error, stripeCustomerId, pricingMode, isPremium } = outcome;
  const { outputBasis, outputRate, changed, unclear, vendorReported, parts: [own] = [] } = outcome;
  const { usage, usageSource } = own ?? outcome;
  const parts = pricedParts(outcome, partPrices);
  return {
    ...pickFacts(outcome),
    error: error ?? undefined,
    stripeCustomerId: stripeCustomerId ?? undefined,
    parts: parts.length > 0 ? parts : undefined,
    ...{ usage, usageSource, unclear, outputBasis, outputRate },
    ...{ pricingMode, isPremium, changed, vendorReported },
    // Its record is stored with the call.
    promptCompression: undefined,
  } satisfies Record<keyof CallReport, unknown>;
}

interface Ids {
  chargeId: string;
  differenceId: string;
}

/** The call with another report, in the period in which it ended. */
function replaceReport(
  account: Account,
  call: Call,
  { report, price }: { report: CallReport; price: ResolvedPrice },
  what: Omit<CallCorrection, 'previous' | 'returned' | 'taken' | 'charge'>,
  ids: Ids,
): Corrected | null {
  const before = countedOutcome(call);
  if (!before) return null;
  const without = replaceOutcome(account, before, null, ids.differenceId).account;
  const terms = (tier: Tier) => {
    const wasOnCredit = before.calls === 0 ? undefined : paidOnCredit(before, tier);
    if (wasOnCredit === undefined) return creditTerms(without, call, tier);
    return wasOnCredit ? { markupPercent: before.charge?.markupPercent ?? 0 } : null;
  };
  const open = { ...call, pricingMode: before.pricingMode };
  const reported = computeOutcome(without, open, report, price, ids.chargeId, before.endedAtMs, terms);
  const { period } = before;
  const stripeCustomerId = report.stripeCustomerId ?? before.stripeCustomerId;
  // The request to the vendor stays the same, whatever is reported anew.
  const changed = report.changed ?? before.changed;
  const after = { ...reported.outcome, ...(period !== undefined && { period }), stripeCustomerId, changed };
  const { account: settled, charge, returned, taken } = replaceOutcome(account, before, after, ids.differenceId);
  const correction: CallCorrection = { ...what, previous: before, returned, taken, charge };
  const revision = account.revision + 1;
  return {
    account: { ...settled, revision },
    call: {
      ...call,
      ...reported,
      outcome: { ...after, charge: settlingWith(after.charge, before.charge, charge) },
      corrections: [...(call.corrections ?? []), correction],
      revision,
    },
    correction,
  };
}

/** Whether credit paid for the usage of the tier; `undefined` if nothing ran on it. */
function paidOnCredit({ parts, tier: own, charge }: CallOutcome, tier: Tier): boolean | undefined {
  if (parts) return parts.find((part) => part.tier === tier)?.onCredit;
  return tier === own ? charge !== null : undefined;
}

/** The charge of an amended call settles with the difference; if there is none, the earlier settlement stays. */
function settlingWith(after: Charge | null, before: Charge | null, difference: Charge | null): Charge | null {
  if (after?.status !== 'PENDING') return after;
  if (difference) return { ...after, chargeId: difference.chargeId };
  return before && { ...before, basis: after.basis, costNanoUsd: after.costNanoUsd };
}

export function reverseCall(account: Account, call: Call, why: Correction, chargeId: string): Corrected {
  const before = countedOutcome(call);
  const { account: settled, charge, returned, taken } = replaceOutcome(account, before, null, chargeId);
  const correction: CallCorrection = { ...why, kind: 'REVERSED', previous: before, returned, taken, charge };
  const corrections = [...(call.corrections ?? []), correction];
  const revision = account.revision + 1;
  return {
    account: { ...settled, revision },
    call: { ...call, corrections, reversedAtMs: why.atMs, revision },
    correction,
  };
}

/** The account after one outcome of a call counts instead of another; `null` means that nothing counts. */
function replaceOutcome(
  account: Account,
  before: CallOutcome | null,
  after: CallOutcome | null,
  chargeId: string,
): { account: Account; charge: Charge | null; returned: Quantities; taken: Quantities } {
  const isCurrent = before !== null && isOfPresentPeriod(account, before);
  const returned = isCurrent ? before.consumed : {};
  const taken = isCurrent && after ? after.consumed : {};
  const meters = {
    ...account.meters,
    consumed: addQuantities(subtractQuantities(account.meters.consumed, returned), taken),
  };
  const [paid, paidBefore] = [chargedToBalance(after), chargedToBalance(before)];
  const difference = BigInt(paid.nanoUsd) - BigInt(paidBefore.nanoUsd);
  const charge = difference === 0n ? null : newCharge(chargeId, { amountNanoUsd: difference, markupPercent: null });
  const wallet = addUnsettled(account.wallet, pendingAmount(charge));
  const corrected = { ...account, meters, wallet };
  return { account: isCurrent ? countOnBalance(corrected, paid, paidBefore) : corrected, charge, returned, taken };
}

/** Whether the call counts in the present usage period; for older outcomes, their time decides. */
export function isOfPresentPeriod(account: Account, { period, endedAtMs }: CallOutcome): boolean {
  return period === undefined ? endedAtMs > account.subscription.lastReplenishedAtMs : period === periodNumber(account);
}
