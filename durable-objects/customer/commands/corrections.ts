/**
 * The commands of corrections: what was recorded by mistake is taken back, with what it cost. The record stays and says
 * so; what was given back are entries of their own.
 */

import type { AmendedCall, ReversedCall, ReversedMeterEvent } from '../../../src/contract/corrections.ts';
import { type Accepted, accept, badRequest, refuse } from '../../../src/contract/errors.ts';
import { closedFeature } from '../../../src/contract/key-limits.ts';
import type { AnswerTo } from '../../../src/contract/operations.ts';
import { type Account, periodNumber } from '../../../src/domain/account.ts';
import type { Call, CallCorrection, CallOutcome } from '../../../src/domain/call.ts';
import type { CallReport } from '../../../src/domain/call-report.ts';
import { newCharge, pendingAmount } from '../../../src/domain/charge.ts';
import {
  amendCall as amendTheCall,
  countOutcomes,
  endByAmendment,
  isCorrectable,
  repriceCall,
  repricedCost,
  reverseCall as reverseTheCall,
} from '../../../src/domain/correct-call.ts';
import { CORRECTION_DAYS_MAX, CORRECTIONS_MAX } from '../../../src/domain/correction.ts';
import type { MeterEvent, MeterReversal } from '../../../src/domain/custom-meter.ts';
import { SLOT_METERS, subtractQuantities } from '../../../src/domain/meters.ts';
import { usdFromNano } from '../../../src/domain/money.ts';
import type { PricingUnavailableReason } from '../../../src/domain/pricing.ts';
import { type PeriodTotals, reverseIncrement, slotTotals } from '../../../src/domain/reverse-meter.ts';
import { excessiveParts } from '../../../src/domain/usage.ts';
import { addUnsettled } from '../../../src/domain/wallet.ts';
import type {
  AmendCallCommand,
  RepriceCallsCommand,
  Repriced,
  ReverseCallCommand,
  ReverseMeterEventCommand,
} from '../../../src/objects/customer-commands.ts';
import { DAY_MS } from '../../../src/platform/time.ts';
import { fitsStorage } from '../../stored-value.ts';
import type { CustomerStore } from '../store.ts';
import { fitsPage } from '../tables/outbox.ts';
import { callNotFound } from './calls.ts';
import { type Context, catchUp, keyed } from './context.ts';
import { saveEnd, storeCorrected, withOutcome } from './ending.ts';
import { giveBackTo, queueCharge } from './settlement.ts';

const BEHIND_SECONDS = 5;
const AT_ONCE_SECONDS = 1;

export function reverseCall(context: Context, command: ReverseCallCommand): AnswerTo<'reverseCall'> {
  const { store, nowMs, newId } = context;
  return store.transaction(nowMs, () => {
    const found = findCorrectable(context, command);
    if (!found.ok) return found;
    const { account, call } = found;
    const reversal = call.corrections?.findLast(({ kind }) => kind === 'REVERSED');
    if (reversal) return { ...reversedCall(call, reversal), replayed: true };
    if (!isCorrectable(call)) return notFinished(call);
    const { reason, by } = command;
    const corrected = reverseTheCall(account, call, { atMs: nowMs, reason, by }, newId());
    storeCorrected(context, call, corrected);
    return reversedCall(corrected.call, corrected.correction);
  });
}

/** Replaces what the call reported, once: the same amendment again, with nothing since, gets the answer of the first. */
export function amendCall(context: Context, command: AmendCallCommand): AnswerTo<'amendCall'> {
  const { nowMs, newId } = context;
  return keyed(context, 'amend', command, () => {
    const found = findCorrectable(context, command);
    if (!found.ok) return found;
    const { account, call } = found;
    const last = call.corrections?.at(-1);
    const { reason, by, report, price, fingerprint } = command;
    if (last?.kind === 'AMENDED' && last.fingerprint === fingerprint)
      return { ...amendedCall(call, last), replayed: true };
    if (call.reversedAtMs !== undefined)
      return refuse('CONFLICT', 'the call was reversed, and can no longer be amended');
    if (countOutcomes(call) > command.outcomes) return changedMeanwhile();
    const excessive = excessiveParts(report.usage);
    if (excessive) {
      const { field, message } = excessive;
      return badRequest({
        path: field,
        message: `${message}; what an amendment does not name stays as it was reported`,
      });
    }
    if (wouldMoveCharge(call, report)) {
      const path = 'stripeCustomerId';
      return badRequest({ path, message: 'must be that of the call, whose charge is billed to it' });
    }
    if (!mayBeCorrectedAgain(call)) return correctedTooOften();
    const [amendment, why] = [
      { report, price, fingerprint },
      { atMs: nowMs, reason, by },
    ];
    if (call.status === 'TIMEOUT' && !call.outcome) {
      const late = endByAmendment(account, call, amendment, why, newId());
      saveEnd(context, withOutcome(late));
      context.store.correctCall(call, late.call, nowMs);
      return amendedCall(late.call, late.correction);
    }
    const ids = { chargeId: newId(), differenceId: newId() };
    const corrected = amendTheCall(account, call, amendment, why, ids);
    if (!corrected) return notEnded(call);
    const lost = lostPrice(call, corrected.call);
    if (lost !== null) return priceUnavailable(lost);
    storeCorrected(context, call, corrected);
    return amendedCall(corrected.call, corrected.correction);
  });
}

/**
 * Gives calls the price that they lacked. A call that the same job priced before is not changed, but counted: the job repeats
 * a batch whose answer it did not get.
 */
export function repriceCalls(context: Context, { calls, jobId, reason, by, ...whose }: RepriceCallsCommand): Repriced {
  const { store, nowMs, newId } = context;
  return store.transaction(nowMs, () => {
    let repriced = 0;
    let differenceNanoUsd = 0n;
    for (const { callId, price, parts, old } of calls) {
      const found = findCorrectable(context, { ...whose, callId, old });
      if (!found.ok) continue;
      const { account, call } = found;
      const ids = { chargeId: newId(), differenceId: newId() };
      const mayBeRepriced = repricedCost(call, jobId) === null && mayBeCorrectedAgain(call);
      const corrected = mayBeRepriced
        ? repriceCall(account, call, { price, parts, jobId }, { atMs: nowMs, reason, by }, ids)
        : null;
      if (corrected) storeCorrected(context, call, corrected);
      const cost = repricedCost(corrected?.call ?? call, jobId);
      if (cost === null) continue;
      repriced += 1;
      differenceNanoUsd += cost;
    }
    return { repriced, differenceNanoUsd: differenceNanoUsd.toString() };
  });
}

/**
 * Whether the record of the call has room for one more correction and for a reversal, each of which keeps what the call said
 * before it.
 */
function mayBeCorrectedAgain(call: Call): boolean {
  const { corrections = [], outcome } = call;
  const largest = [call, outcome, outcome];
  return corrections.length < CORRECTIONS_MAX && fitsStorage(...largest) && fitsPage(JSON.stringify(largest));
}

/** Why the corrected call has no price any more; `null` if it has one, or had none before. */
function lostPrice(before: Call, { outcome }: Call): PricingUnavailableReason | null {
  if (before.outcome?.price.status !== 'FINAL' || outcome?.price.status !== 'UNAVAILABLE') return null;
  return outcome.price.reason;
}

function wouldMoveCharge({ outcome }: Call, { stripeCustomerId }: CallReport): boolean {
  const isCharged = outcome?.charge != null && outcome.stripeCustomerId !== null;
  return isCharged && stripeCustomerId !== undefined && stripeCustomerId !== outcome.stripeCustomerId;
}

/** The account and the call to correct: as the object has it, else as it came with the command. */
function findCorrectable(
  context: Context,
  { organizationId, callId, old, limits }: Pick<ReverseCallCommand, 'organizationId' | 'callId' | 'old' | 'limits'>,
) {
  const { store, nowMs } = context;
  const known = store.account();
  if (known?.organizationId !== organizationId) return callNotFound(context, { organizationId });
  const account = catchUp(context, known);
  const call = store.call(callId)?.call ?? (old?.customerId === known.customerId ? old : null);
  if (!call) return callNotFound(context, { organizationId });
  const closed = closedFeature(limits, call.feature);
  if (closed) return closed;
  if (isHistoryBehind(context, call)) return historyBehind();
  if (call.reversedAtMs === undefined && isTooOld({ atMs: call.startedAtMs, nowMs })) return tooOld();
  return { ok: true as const, account, call };
}

function amendedCall(
  { callId, customerId, outcome }: Call,
  { atMs, reason, by, previous, returned, taken, charge }: CallCorrection,
): Accepted<AmendedCall, 'CALL_AMENDED'> {
  if (!outcome) throw new Error('an amended call has an outcome');
  const differenceNanoUsd = BigInt(charge?.amountNanoUsd ?? 0);
  return accept(
    'CALL_AMENDED',
    {
      callId,
      customerId,
      status: outcome.error ? 'FAILED' : 'COMPLETED',
      amendedAt: new Date(atMs).toISOString(),
      reason,
      by,
      pricingStatus: outcome.price.status,
      costUsdNano: costOf(outcome),
      previousCostUsdNano: costOf(previous),
      returned,
      taken,
      differenceUsd: usdFromNano(differenceNanoUsd),
      differenceNanoUsd: differenceNanoUsd.toString(),
    },
    atMs,
  );
}

function costOf(outcome: CallOutcome | null): string | null {
  return outcome?.price.status === 'FINAL' ? outcome.price.costNanoUsd : null;
}

function reversedCall(
  { callId, customerId, status }: Call,
  { atMs, reason, by, previous, returned, charge }: CallCorrection,
): Accepted<ReversedCall, 'CALL_REVERSED'> {
  const refundNanoUsd = -BigInt(charge?.amountNanoUsd ?? 0);
  return accept(
    'CALL_REVERSED',
    {
      callId,
      customerId,
      status,
      reversedAt: new Date(atMs).toISOString(),
      reason,
      by,
      costUsdNano: costOf(previous),
      returned,
      refundUsd: usdFromNano(refundNanoUsd),
      refundNanoUsd: refundNanoUsd.toString(),
    },
    atMs,
  );
}

export function reverseMeterEvent(context: Context, command: ReverseMeterEventCommand): AnswerTo<'reverseMeterEvent'> {
  const { store, nowMs } = context;
  return store.transaction(nowMs, () => {
    const known = store.account();
    if (known?.organizationId !== command.organizationId) return noEvent();
    const old = command.old?.customerId === known.customerId ? command.old : null;
    const event = store.meterEvent(command.eventId) ?? old;
    if (!event) return noEvent();
    const closed = closedFeature(command.limits, event.feature);
    if (closed) return closed;
    if (event.revision < store.corrections.revision(event.eventId)) return historyBehind();
    if (event.reversal) return { ...reversed(event, event.reversal), replayed: true };
    if (isTooOld({ atMs: event.atMs, nowMs })) return tooOld();
    const reversal = reverse(context, catchUp(context, known), event, command);
    return reversed(event, reversal);
  });
}

/** Takes the event back. */
function reverse(
  context: Context,
  account: Account,
  event: MeterEvent,
  { reason, by }: ReverseMeterEventCommand,
): MeterReversal {
  const { store, nowMs, newId } = context;
  const { slot, eventId, charge: corrected } = event;
  const isCurrent = event.period === periodNumber(account);
  const { usage, funding, mistake, refundNanoUsd } = reverseIncrement(event, totalsFor(store, account, event));
  const charge = refundNanoUsd > 0n ? newCharge(newId(), { amountNanoUsd: -refundNanoUsd, markupPercent: null }) : null;
  const reversal: MeterReversal = { atMs: nowMs, reason, by, returned: funding, charge };

  const subject = { kind: 'meter_event', id: eventId } as const;
  const creditId = `returned-${eventId}`;
  const returned = {
    unit: slot,
    amount: BigInt(funding.credits),
    reference: eventId,
    subject,
    correction: 'REVERSED',
    creditId,
  } as const;
  const wallet =
    funding.credits > 0 ? giveBackTo(store, account.wallet, returned, () => mistake, nowMs) : account.wallet;
  const revision = account.revision + 1;
  const inPeriod: Partial<Account> = {
    meters: {
      ...account.meters,
      consumed: subtractQuantities(account.meters.consumed, { [SLOT_METERS[slot]]: funding.included }),
    },
    slots: { ...account.slots, [slot]: usage },
  };
  store.saveAccount(
    { ...account, ...(isCurrent && inPeriod), wallet: addUnsettled(wallet, pendingAmount(charge)), revision },
    nowMs,
  );
  const closed = isCurrent || event.period === undefined ? null : store.corrections.totals(event.period, slot);
  if (closed && event.period !== undefined)
    store.corrections.saveTotals(event.period, slot, { ...closed, usage }, nowMs);
  store.correctMeterEvent({ ...event, reversal, revision }, nowMs);
  store.usageHours.takeUnits({ atMs: event.atMs, isPresent: isCurrent }, slot, event.amount);
  // What may have been denied for the lack of it may be allowed now.
  store.denials.reset();
  const stripeCustomerId = event.stripeCustomerId ?? account.contact.stripeCustomerId ?? null;
  const correction = { subjectAtMs: event.atMs, corrects: corrected?.chargeId ?? null };
  queueCharge(context, {
    kind: 'meter_event',
    subjectId: eventId,
    stripeCustomerId,
    billed: event.billed,
    charge,
    correction,
  });
  return reversal;
}

/** What the meter came to in the event's period; of one that nobody remembers, what the event itself says. */
function totalsFor(store: CustomerStore, account: Account, event: MeterEvent): PeriodTotals {
  const { slot, period } = event;
  const current = period === periodNumber(account) ? slotTotals(account).find(([of]) => of === slot)?.[1] : undefined;
  const closed = current || period === undefined ? null : store.corrections.totals(period, slot);
  const alone = {
    usage: String(event.amount),
    overage: String(event.funding.overage),
    charged: event.charge?.amountNanoUsd ?? '0',
  };
  return current ?? closed ?? { usage: alone, usagePlanVersionId: event.usagePlanVersionId, meter: null };
}

function reversed(
  event: MeterEvent,
  { atMs, reason, by, returned, charge }: MeterReversal,
): Accepted<ReversedMeterEvent, 'METER_EVENT_REVERSED'> {
  const refundNanoUsd = -BigInt(charge?.amountNanoUsd ?? 0);
  const { eventId, customerId, slot, amount } = event;
  return accept(
    'METER_EVENT_REVERSED',
    {
      eventId,
      customerId,
      meterSlot: slot,
      amount,
      reversedAt: new Date(atMs).toISOString(),
      reason,
      by,
      returned,
      refundUsd: usdFromNano(refundNanoUsd),
      refundNanoUsd: refundNanoUsd.toString(),
    },
    atMs,
  );
}

const isTooOld = ({ atMs, nowMs }: { atMs: number; nowMs: number }) => nowMs - atMs > CORRECTION_DAYS_MAX * DAY_MS;

const notFinished = ({ status }: Call) =>
  refuse('CONFLICT', `the call is ${status}: only a call that ended or timed out can be reversed`, {
    members: { status },
  });
const notEnded = ({ status }: Call) =>
  refuse('CONFLICT', `the call is ${status}: only a call that ended or timed out can be amended`, {
    members: { status },
  });
const correctedTooOften = () =>
  refuse(
    'CONFLICT',
    `the call has ${CORRECTIONS_MAX} corrections, or as many as its record holds: it can only be reversed`,
  );
const noEvent = () => refuse('NOT_FOUND', 'no such meter event');
const tooOld = () => refuse('CONFLICT', `a record older than ${CORRECTION_DAYS_MAX} days can no longer be corrected`);
const priceUnavailable = (reason: PricingUnavailableReason) =>
  refuse('PRICE_UNAVAILABLE', `the amendment would leave the call without a price: ${reason}`, {
    members: { pricingUnavailableReason: reason },
  });
const changedMeanwhile = () =>
  refuse('SERVICE_UNAVAILABLE', 'another correction of the call came first; retry', {
    retryAfterSeconds: AT_ONCE_SECONDS,
  });
/** Whether the record, which came from D1, is older than the call: D1 does not have the last correction yet. */
export function isHistoryBehind({ store }: Context, { callId, revision }: Call): boolean {
  return revision < Math.max(store.corrections.revision(callId), store.pastCall(callId)?.revision ?? 0);
}

export const historyBehind = () =>
  refuse('SERVICE_UNAVAILABLE', 'the last change has not reached the history yet; retry', {
    retryAfterSeconds: BEHIND_SECONDS,
  });
