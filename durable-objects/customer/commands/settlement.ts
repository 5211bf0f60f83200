/**
 * Settlement: charges leave the balance, and are reported to the billing provider where one is configured.
 *
 * A charge is queued with the usage that made it. The next hand-over takes it from the balance, so that D1 learns of the
 * call and its charge at once, or the alarm does for an object that was gone; without a provider it is POSTED then. With
 * one it stays PENDING until the provider has it, tried again with a capped backoff; a provider that
 * refuses for good makes it FAILED with the reason. The balance has paid either way: what was used was used. A correction
 * is a charge of its own, below zero where it gives back; the provider gets it after the charge that it corrects.
 */

import { changeWallet, expireDue } from '../../../src/domain/account.ts';
import type { Call, CallOutcome } from '../../../src/domain/call.ts';
import { type Charge, pendingAmount, settled } from '../../../src/domain/charge.ts';
import { formatUsd } from '../../../src/domain/money.ts';
import { ENTRIES_MAX, type Mistake, mistakenCharge, payersOf } from '../../../src/domain/payers.ts';
import { type GivenBack, giveBack, type LedgerEntry, settle, type Wallet } from '../../../src/domain/wallet.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/platform/time.ts';
import type { CustomerStore } from '../store.ts';
import type { OpenCharge } from '../tables/charges.ts';

/** The billing provider's response to a charge. */
export type Report =
  | { status: 'REPORTED' }
  | { status: 'REJECTED'; reason: string }
  | { status: 'RETRY'; reason: string; retryAfterMs: number | null };

export type Reporter = (charge: OpenCharge & { stripeCustomerId: string }) => Promise<Report>;

/** A charge is taken from the balance by the alarm, where no hand-over has done so in this time. */
const SETTLE_ALARM_MS = 5_000;
/** A correction waits this long after what it corrects before it is reported. */
const REPORT_DELAY_MS = 1_000;
/**
 * Charges that one run takes from the balance, of these how many that give back, and that it reports; the next one
 * continues. One that gives back reads the ledger, which may take 50 ms.
 */
const DEBITS_MAX = 500;
const RETURNS_MAX = 20;
const REPORTS_MAX = 20;
const BACKOFF_BASE_MS = 2_000;
const BACKOFF_MAX_MS = 5 * MINUTE_MS;
/** The provider deduplicates by a charge's identifier for 24 hours. A later attempt could bill twice. */
const REPORT_WINDOW_MS = 23 * HOUR_MS;

export function queueCharge(
  store: CustomerStore,
  {
    kind,
    subjectId,
    stripeCustomerId,
    charge,
    correction = null,
  }: Pick<OpenCharge, 'kind' | 'subjectId' | 'stripeCustomerId'> &
    Partial<Pick<OpenCharge, 'correction'>> & { charge: Charge | null },
  nowMs: number,
): void {
  if (charge?.status !== 'PENDING') return;
  store.saveCharge({
    chargeId: charge.chargeId,
    kind,
    subjectId,
    amountNanoUsd: pendingAmount(charge),
    stripeCustomerId,
    atMs: nowMs,
    debitedAtMs: null,
    attempts: 0,
    firstAttemptAtMs: null,
    dueAtMs: nowMs + SETTLE_ALARM_MS,
    correction,
  });
}

/** Takes charges from the balance. Those that are not reported to a provider are POSTED. */
export function debit(store: CustomerStore, reports: boolean, nowMs: number): void {
  const charges = store.chargesToSettle(nowMs, DEBITS_MAX);
  if (charges.length === 0) return;
  store.transaction(nowMs, () => {
    const known = store.account();
    if (!known) return;
    // A credit pays only before its expiry, whether this or the housekeeping runs first.
    let account = expireDue(known, nowMs);
    let returns = 0;
    for (const charge of charges) {
      const isReported = reports && charge.stripeCustomerId !== null;
      if (charge.debitedAtMs === null) {
        if (charge.amountNanoUsd < 0n) {
          if (returns === RETURNS_MAX) break;
          returns += 1;
          // The ledger tells which credits paid.
          account = store.saveAccount(account, nowMs);
        }
        account = changeWallet(account, settledWallet(store, account.wallet, charge, nowMs));
        if (isReported) store.saveCharge({ ...charge, debitedAtMs: nowMs, dueAtMs: nowMs });
      }
      if (!isReported) close(store, charge, null, account.revision, nowMs);
    }
    if (account !== store.account()) store.saveAccount(account, nowMs);
  });
}

/** The wallet after the charge was taken from it, or was given back to the credits that paid. */
function settledWallet(store: CustomerStore, wallet: Wallet, charge: OpenCharge, nowMs: number): Wallet {
  const { chargeId, kind, subjectId, amountNanoUsd, correction } = charge;
  const subject = { kind, id: subjectId };
  if (amountNanoUsd >= 0n) return settle(wallet, amountNanoUsd, chargeId, nowMs, subject);
  const corrects = { reference: correction?.corrects ?? null, atMs: correction?.subjectAtMs ?? charge.atMs };
  const returned = {
    unit: 'USD',
    amount: -amountNanoUsd,
    reference: chargeId,
    subject,
    creditId: `returned-${chargeId}`,
  } as const;
  return giveBackTo(store, wallet, returned, (entries) => mistakenCharge(entries, corrects), nowMs);
}

/** Gives back to the credits that would have it without the mistake. */
export function giveBackTo(
  store: CustomerStore,
  wallet: Wallet,
  returned: Omit<GivenBack, 'payers' | 'corrects'>,
  mistakeIn: (entries: LedgerEntry[]) => Mistake,
  nowMs: number,
): Wallet {
  const entries = store.ledger.newest(returned.unit, ENTRIES_MAX);
  const credits = [...new Set(entries.map(({ creditId }) => creditId))].flatMap(
    (creditId) => (creditId === null ? null : store.corrections.credit(creditId)) ?? [],
  );
  const mistake = mistakeIn(entries);
  const corrects = { reference: mistake.reference, atMs: mistake.atMs };
  const after = giveBack(wallet, { ...returned, corrects, payers: payersOf(entries, credits, mistake) }, nowMs);
  const own = after.credits.find(({ creditId }) => creditId === returned.creditId);
  if (own) store.corrections.saveCredit(own);
  return after;
}

/** Reports due charges that the balance has paid. Never throws: what fails is due again later. */
export async function reportDue(store: CustomerStore, report: Reporter, now: () => number): Promise<void> {
  for (const { chargeId } of store.chargesToReport(now(), REPORTS_MAX)) {
    // What came of the charges before it may have changed it.
    const charge = store.charge(chargeId);
    const stripeCustomerId = charge?.stripeCustomerId ?? null;
    if (!charge || charge.debitedAtMs === null || stripeCustomerId === null) continue;
    const corrected = charge.correction?.corrects ? store.charge(charge.correction.corrects) : null;
    if (corrected) {
      // What is corrected is reported first, or not at all.
      const dueAtMs = Math.max(corrected.dueAtMs, now()) + REPORT_DELAY_MS;
      store.transaction(now(), () => store.saveCharge({ ...charge, dueAtMs }));
      continue;
    }
    // Stored before the provider is asked, so that the window is counted from the first attempt whatever happens.
    const attempt = { ...charge, attempts: charge.attempts + 1, firstAttemptAtMs: charge.firstAttemptAtMs ?? now() };
    store.transaction(now(), () => store.saveCharge({ ...attempt, dueAtMs: now() + backoffMs(attempt.attempts) }));
    const result = await report({ ...attempt, stripeCustomerId });
    store.transaction(now(), () => conclude(store, attempt, result, now()));
    // The provider would not take the others either.
    if (result.status === 'RETRY') break;
  }
}

function conclude(store: CustomerStore, charge: OpenCharge, result: Report, nowMs: number): void {
  const account = store.account();
  // The customer may have been erased while the provider answered.
  if (!account || !store.charge(charge.chargeId)) return;
  const revision = account.revision + 1;
  const expired = nowMs - (charge.firstAttemptAtMs ?? nowMs) >= REPORT_WINDOW_MS;
  if (result.status === 'RETRY' && !expired) {
    store.saveCharge({ ...charge, dueAtMs: nowMs + Math.max(result.retryAfterMs ?? 0, backoffMs(charge.attempts)) });
    return;
  }
  store.saveAccount({ ...account, revision }, nowMs);
  // The provider does not have the charge, so it gets no correction of it either.
  if (result.status !== 'REPORTED') {
    const { chargeId, kind: subject, subjectId, amountNanoUsd } = charge;
    store.unreportCorrections(chargeId);
    const data = { chargeId, subject, subjectId, amountUsd: formatUsd(amountNanoUsd), reason: result.reason };
    store.recordEvent({ type: 'charge.failed', data: { customerId: account.customerId, ...data } }, nowMs);
  }
  close(store, charge, result.status === 'REPORTED' ? null : result.reason, revision, nowMs);
}

/** The call with each of its charges, those of its corrections too, as `change` makes them. */
function withCharges(call: Call, change: (charge: Charge | null) => Charge | null): Call {
  const { outcome, corrections } = call;
  const ofOutcome = <O extends CallOutcome | null>(of: O): O => (of ? { ...of, charge: change(of.charge) } : of);
  const corrected = corrections?.map((each) => ({
    ...each,
    previous: ofOutcome(each.previous),
    charge: change(each.charge),
  }));
  return { ...call, outcome: ofOutcome(outcome), ...(corrected && { corrections: corrected }) };
}

/** Records the end of a charge in the call or meter event that made it. */
function close(
  store: CustomerStore,
  { chargeId, kind, subjectId }: OpenCharge,
  failureReason: string | null,
  revision: number,
  nowMs: number,
): void {
  const close = <C extends Charge | null>(charge: C): C | Charge =>
    charge?.chargeId === chargeId ? settled(charge, failureReason) : charge;
  if (kind === 'call') {
    const call = store.call(subjectId)?.call;
    if (call?.outcome) store.updateCall({ ...withCharges(call, close), revision }, nowMs);
  } else {
    const event = store.meterEvent(subjectId);
    if (event) {
      const { charge, reversal } = event;
      const reversed = reversal && { reversal: { ...reversal, charge: close(reversal.charge) } };
      store.saveMeterEvent({ ...event, charge: close(charge), ...reversed, revision }, nowMs);
    }
  }
  store.dropCharge(chargeId);
}

function backoffMs(attempts: number): number {
  return Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (attempts - 1));
}
