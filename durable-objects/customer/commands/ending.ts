/**
 * The end of a call in the books of its customer: what it used is counted, and what it costs is charged. What was
 * estimated is replaced when the figures come after all.
 */
import type { Account } from '../../../src/domain/account.ts';
import { type Call, type CallOutcome, endCall, timeOutCall } from '../../../src/domain/call.ts';
import {
  type Corrected,
  countedOutcome,
  isOfPresentPeriod,
  replaceEstimate,
} from '../../../src/domain/correct-call.ts';
import { shareOfBound } from '../../../src/domain/expected-hold.ts';
import { endLostCall, withEstimate, withLostAttempts } from '../../../src/domain/lost-call.ts';
import { firstUnpriced } from '../../../src/events/customer-events.ts';
import type { EndCommand, EndServiceCallCommand } from '../../../src/objects/customer-commands.ts';
import { UNUSED_HOUR, type UsageHour } from '../tables/usage-hours.ts';
import { type ChargeBooks, queueCharge } from './settlement.ts';

/** Where an end is recorded. */
interface Books extends ChargeBooks {
  newId: () => string;
}

/** A call that has ended, and the account after it. */
export interface Ended {
  account: Account;
  call: Call;
  outcome: CallOutcome;
}

type ServiceEnding = Partial<Pick<EndServiceCallCommand, 'estimate' | 'lost'>>;

/** Ends the call, and counts what it used. The call itself is left to be stored with `finishCall`. */
export function recordEnd(
  books: Books,
  account: Account,
  open: Call,
  { report, price, estimate, lost = [] }: Pick<EndCommand, 'report' | 'price'> & ServiceEnding,
): Ended {
  const { newId, nowMs } = books;
  const ending = withLostAttempts(open, withEstimate(open, { report, price }, estimate), lost);
  // It timed out, and was estimated then.
  if (countedOutcome(open)) {
    const ids = { chargeId: newId(), differenceId: newId() };
    const corrected = replaceEstimate(account, open, ending, nowMs, ids);
    if (corrected) {
      storeCorrected(books, open, corrected);
      return withOutcome(corrected);
    }
  }
  const ended = withOutcome(endCall(account, open, ending.report, ending.price, newId(), nowMs));
  saveEnd(books, ended);
  const { expectation } = open.credit ?? {};
  const share = expectation ? shareOfBound(expectation, ended.outcome) : null;
  if (expectation && share !== null) books.store.addBoundShare(expectation.model, share, nowMs);
  return ended;
}

/** Stores the account after the end, and counts what the call used. The call itself is left to be stored. */
export function saveEnd(books: ChargeBooks, ended: Ended): void {
  const { store, nowMs } = books;
  const unpriced = firstUnpriced(ended.account, ended.call, ended.outcome, nowMs);
  store.saveAccount(unpriced?.account ?? ended.account, nowMs);
  if (unpriced) store.recordEvent(unpriced.event, nowMs);
  count(books, ended);
}

/**
 * Finishes a call whose deadline has come: a call of the service as one that the vendor made, because nothing tells that
 * it did not. Its account is left to be stored.
 */
export function finishOverdue(books: Books, account: Account, call: Call): Account {
  const { store, newId, nowMs } = books;
  const finished = call.ifLost ? endLostCall(account, call, call.ifLost, newId()) : timeOutCall(account, call);
  store.finishCall(finished.call, null, nowMs);
  if (!finished.call.outcome) return finished.account;
  const ended = withOutcome(finished);
  count(books, ended);
  const unpriced = firstUnpriced(ended.account, ended.call, ended.outcome, nowMs);
  if (unpriced) store.recordEvent(unpriced.event, nowMs);
  return unpriced?.account ?? ended.account;
}

/** Stores a call that was corrected, and all that follows from the difference. */
export function storeCorrected(books: ChargeBooks, before: Call, { account, call, correction }: Corrected): void {
  const { store, nowMs } = books;
  const [was, is] = [countedOutcome(before), countedOutcome(call)];
  store.saveAccount(account, nowMs);
  store.correctCall(before, call, nowMs);
  if (was) {
    const recorded = { atMs: was.endedAtMs, isPresent: isOfPresentPeriod(account, was) };
    store.usageHours.replace(recorded, usageOf(was), is ? usageOf(is) : UNUSED_HOUR);
  }
  store.denials.reset();
  const { charge } = correction;
  // One that had no price was never charged.
  const corrected = was?.charge?.amountNanoUsd == null ? null : was.charge;
  queueCharge(books, {
    kind: 'call',
    subjectId: call.callId,
    // What is billed already stays with whom it is billed to.
    stripeCustomerId: (corrected ? was : is)?.stripeCustomerId ?? null,
    billed: call.billed,
    charge,
    correction: { subjectAtMs: was?.endedAtMs ?? nowMs, corrects: corrected?.chargeId ?? null },
  });
}

function count(books: ChargeBooks, { call, outcome }: Ended): void {
  books.store.usageHours.add(outcome.endedAtMs, usageOf(outcome));
  const { stripeCustomerId, charge } = outcome;
  queueCharge(books, { kind: 'call', subjectId: call.callId, stripeCustomerId, charge });
}

export function withOutcome({ account, call }: { account: Account; call: Call }): Ended {
  const { outcome } = call;
  if (!outcome) throw new Error('an ended call has an outcome');
  return { account, call, outcome };
}

/** What an outcome counts in its hour. */
function usageOf({ price, error, usage, usageSource }: CallOutcome): UsageHour {
  const costNanoUsd = price.status === 'FINAL' ? BigInt(price.costNanoUsd) : 0n;
  const failed = error !== null;
  const provisional = usageSource !== undefined;
  return {
    completedCalls: failed ? 0 : 1,
    failedCalls: failed ? 1 : 0,
    inputTokens: usage.inputTokens,
    outputTokens: usage.responseTokens,
    completedCostNanoUsd: failed ? 0n : costNanoUsd,
    failedCostNanoUsd: failed ? costNanoUsd : 0n,
    unpricedCalls: price.status === 'FINAL' ? 0 : 1,
    provisionalCalls: provisional ? 1 : 0,
    provisionalCostNanoUsd: provisional ? costNanoUsd : 0n,
  };
}
