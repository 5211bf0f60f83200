/**
 * Settlement: charges leave the balance, and are reported to the billing provider where one is configured.
 *
 * A charge is queued with the usage that made it. The next hand-over takes it from the balance, so that D1 learns of the
 * call and its charge at once, or the alarm does for an object that was gone; without a provider it is POSTED then. One that
 * was queued under a key of the provider waits for a key. A correction is a charge of its own, below zero if it gives back.
 *
 * The provider is told of each call or increment what it comes to, less what the provider has accepted of it
 * (src/domain/billed.ts): one event at a time, under the id of the newest charge in it. An event of which the provider may
 * have something is repeated as it is until that is known. One that it refuses makes its charges FAILED with the reason, and
 * is tried again as long as the provider deduplicates; it gives way to a later correction. What is not known by then is
 * listed, and nothing more of that call or increment is sent. The balance has paid in any case: what was used was used.
 */

import { changeWallet, expireDue } from '../../../src/domain/account.ts';
import { type Position, positionOfCall, positionOfMeterEvent } from '../../../src/domain/billed.ts';
import type { Call, CallOutcome } from '../../../src/domain/call.ts';
import { type Charge, pendingAmount, settled } from '../../../src/domain/charge.ts';
import type { CorrectionKind } from '../../../src/domain/correction.ts';
import { asCallId } from '../../../src/domain/ids.ts';
import { formatUsd, type NanoUsd } from '../../../src/domain/money.ts';
import { ENTRIES_MAX, findPayers, type Mistake, mistakenCharge } from '../../../src/domain/payers.ts';
import { NEVER_MS } from '../../../src/domain/period.ts';
import { type GivenBack, giveBack, type LedgerEntry, settle, type Wallet } from '../../../src/domain/wallet.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/platform/time.ts';
import type { CustomerStore } from '../store.ts';
import type { OpenCharge } from '../tables/charges.ts';

/** The billing provider's response to an event. */
export type Report =
  | { status: 'REPORTED' }
  | { status: 'REJECTED'; reason: string }
  /** `isNotThere`: this attempt left nothing at the provider. */
  | { status: 'RETRY'; reason: string; retryAfterMs: number | null; isNotThere?: boolean };

export type Reporter = (charge: OpenCharge & { stripeCustomerId: string }) => Promise<Report>;

/** A charge is taken from the balance by the alarm, where no hand-over has done so in this time. */
const SETTLE_ALARM_MS = 5_000;
/** A charge waits this long after the event that is under way before it is looked at again. */
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
/** Of what waits for people: an event that the provider refuses, or a key. */
const MENDED_BACKOFF_MAX_MS = HOUR_MS;
/** The provider deduplicates by a charge's identifier for 24 hours. A later attempt could bill twice. */
const REPORT_WINDOW_MS = 23 * HOUR_MS;
/** The reason of a charge of which that is not known after the window. */
const OUTCOME_UNKNOWN = 'STRIPE_outcome_unknown';

/** Where a charge is queued. */
export interface ChargeBooks {
  store: CustomerStore;
  /** A billing provider is configured. */
  reports: boolean;
  nowMs: number;
}

/** Queues a charge. `billed` is what the call or the increment says of it, where this is a correction. */
export function queueCharge(
  { store, reports, nowMs }: ChargeBooks,
  {
    kind,
    subjectId,
    stripeCustomerId,
    billed,
    charge,
    correction = null,
  }: Pick<OpenCharge, 'kind' | 'subjectId' | 'stripeCustomerId'> &
    Partial<Pick<OpenCharge, 'correction'>> & { charge: Charge | null; billed?: Call['billed'] | undefined },
): void {
  if (charge?.status !== 'PENDING') return;
  const reportedTo = billed === null ? null : stripeCustomerId;
  // What the provider has, or is to get, is corrected there.
  const isBilled =
    billed !== undefined ||
    (correction !== null && store.reportedCharges({ kind, subjectId }).some(({ keyed }) => keyed));
  store.saveCharge({
    chargeId: charge.chargeId,
    kind,
    subjectId,
    amountNanoUsd: pendingAmount(charge),
    stripeCustomerId: reportedTo,
    atMs: nowMs,
    debitedAtMs: null,
    attempts: 0,
    firstAttemptAtMs: null,
    dueAtMs: nowMs + SETTLE_ALARM_MS,
    keyed: reportedTo !== null && (reports || isBilled),
    eventNanoUsd: null,
    mayBeThere: false,
    failureReason: null,
    correction,
  });
}

/** Takes charges from the balance. Those that are not reported to a provider are POSTED. */
export function debit(store: CustomerStore, reports: boolean, nowMs: number): void {
  const unpaid = store.chargesToDebit(DEBITS_MAX);
  // Nobody reports the others: they wait for a key.
  const charges = reports ? unpaid : [...unpaid, ...store.chargesToReport(nowMs, DEBITS_MAX - unpaid.length)];
  if (charges.length === 0) return;
  store.transaction(nowMs, () => {
    const known = store.account();
    if (!known) return;
    // A credit pays only before its expiry, whether this or the housekeeping runs first.
    let account = expireDue(known, nowMs);
    let returns = 0;
    for (const charge of charges) {
      const isReported = charge.stripeCustomerId !== null && (reports || charge.keyed);
      const { debitedAtMs } = charge;
      if (debitedAtMs === null) {
        if (charge.amountNanoUsd < 0n) {
          if (returns === RETURNS_MAX) break;
          returns += 1;
          // The ledger tells which credits paid.
          account = store.saveAccount(account, nowMs);
        }
        account = changeWallet(account, settledWallet(store, account.wallet, charge, nowMs));
      }
      if (isReported && (debitedAtMs === null || !reports)) {
        const paidAtMs = debitedAtMs ?? nowMs;
        const dueAtMs = reports ? nowMs : nowMs + waitForKeyMs(nowMs - paidAtMs);
        store.saveCharge({ ...charge, debitedAtMs: paidAtMs, dueAtMs, keyed: true });
      }
      if (!isReported) {
        const isAlone = charge.correction?.corrects == null;
        record(store, [charge], { failureReason: null, isAlone }, account.revision, nowMs);
        store.dropCharge(charge.chargeId);
      }
    }
    if (account !== store.account()) store.saveAccount(account, nowMs);
  });
}

/** The wallet after the charge was taken from it, or was given back to the credits that paid. */
function settledWallet(store: CustomerStore, wallet: Wallet, charge: OpenCharge, nowMs: number): Wallet {
  const { chargeId, kind, subjectId, amountNanoUsd, correction } = charge;
  const subject = { kind, id: subjectId };
  const of = { subject, correction: correction ? correctionOf(store, charge) : undefined };
  if (amountNanoUsd >= 0n) return settle(wallet, amountNanoUsd, chargeId, nowMs, of);
  const corrects = { reference: correction?.corrects ?? null, atMs: correction?.subjectAtMs ?? charge.atMs };
  const returned = {
    unit: 'USD',
    amount: -amountNanoUsd,
    reference: chargeId,
    ...of,
    creditId: `returned-${chargeId}`,
  } as const;
  return giveBackTo(store, wallet, returned, (entries) => mistakenCharge(entries, corrects), nowMs);
}

/** What the charge corrects its call or increment by. */
function correctionOf(store: CustomerStore, { kind, subjectId, chargeId }: OpenCharge): CorrectionKind | undefined {
  // An increment is only ever reversed.
  if (kind === 'meter_event') return 'REVERSED';
  return store.call(asCallId(subjectId))?.call.corrections?.find(({ charge }) => charge?.chargeId === chargeId)?.kind;
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
  const after = giveBack(wallet, { ...returned, corrects, payers: findPayers(entries, credits, mistake) }, nowMs);
  const own = after.credits.find(({ creditId }) => creditId === returned.creditId);
  if (own) store.corrections.saveCredit(own);
  return after;
}

/** Reports what is due that the balance has paid. Never throws: what fails is due again later. */
export async function reportDue(store: CustomerStore, report: Reporter, now: () => number): Promise<void> {
  for (const { chargeId } of store.chargesToReport(now(), REPORTS_MAX)) {
    // Stored before the provider is asked, so that it is known that it may have the event, whatever happens.
    const attempt = store.transaction(now(), () => nextAttempt(store, chargeId, now()));
    if (!attempt) continue;
    const result = await report({ ...attempt.event, amountNanoUsd: attempt.amountNanoUsd });
    store.transaction(now(), () => conclude(store, attempt, result, now()));
    // The provider would not take the others either.
    if (result.status === 'RETRY') break;
  }
}

interface Attempt {
  /** The charge under whose id the event is sent. */
  event: OpenCharge & { stripeCustomerId: string };
  amountNanoUsd: NanoUsd;
  /** The provider may have the event from an earlier attempt. */
  mayBeThereBefore: boolean;
}

/** The event to be sent for a charge that is due; `null` if there is none, or none yet. */
function nextAttempt(store: CustomerStore, chargeId: string, nowMs: number): Attempt | null {
  // What came of the charges before it may have settled it.
  const due = store.charge(chargeId);
  const stripeCustomerId = due?.stripeCustomerId ?? null;
  if (!due || stripeCustomerId === null) return null;
  const others = chargesWith(store, due);
  // What the provider may have comes first. Else the newest charge stands for all of them.
  const event = others.find(({ mayBeThere }) => mayBeThere) ?? others.at(-1) ?? due;
  const covered = upTo(others, event);
  if (event.mayBeThere && isWindowOver(event, nowMs)) {
    giveUp(store, event, nowMs);
    // Nothing can be told of what came since, as long as nobody knows what the provider has.
    if (due.chargeId !== event.chargeId) giveUp(store, due, nowMs);
    return null;
  }
  if (event.debitedAtMs === null || event.dueAtMs > nowMs) {
    store.saveCharge({ ...due, dueAtMs: Math.min(NEVER_MS, Math.max(event.dueAtMs, nowMs) + REPORT_DELAY_MS) });
    return null;
  }
  const amountNanoUsd = event.eventNanoUsd ?? unbilled(store, event, stripeCustomerId);
  if (amountNanoUsd === 0n) {
    settleReported(store, covered, { stripeCustomerId, amountNanoUsd }, nowMs);
    return null;
  }
  const attempts = event.attempts + 1;
  const dueAtMs = nowMs + backoffMs(attempts);
  const attempt = {
    ...event,
    stripeCustomerId,
    eventNanoUsd: amountNanoUsd,
    attempts,
    firstAttemptAtMs: event.firstAttemptAtMs ?? nowMs,
    dueAtMs,
    mayBeThere: true,
  };
  for (const older of covered.slice(0, -1))
    store.saveCharge({ ...older, failureReason: null, dueAtMs: dueAtMs + REPORT_DELAY_MS });
  store.saveCharge(attempt);
  return { event: attempt, amountNanoUsd, mayBeThereBefore: event.mayBeThere };
}

/** The charges of the same call or increment that are billed to the same customer of the provider's, the oldest first. */
function chargesWith(store: CustomerStore, charge: OpenCharge): OpenCharge[] {
  return store.reportedCharges(charge).filter(({ stripeCustomerId }) => stripeCustomerId === charge.stripeCustomerId);
}

/** An event stands for its own charge, and for those before it. */
function upTo(charges: OpenCharge[], event: OpenCharge): OpenCharge[] {
  return charges.slice(0, charges.findIndex(({ chargeId }) => chargeId === event.chargeId) + 1);
}

const isWindowOver = ({ firstAttemptAtMs }: OpenCharge, nowMs: number) =>
  firstAttemptAtMs !== null && nowMs - firstAttemptAtMs >= REPORT_WINDOW_MS;

/** What the provider is to be told of a call or an increment. */
function unbilled(store: CustomerStore, { kind, subjectId }: OpenCharge, stripeCustomerId: string): NanoUsd {
  const call = kind === 'call' ? store.call(asCallId(subjectId))?.call : null;
  const event = kind === 'meter_event' ? store.meterEvent(subjectId) : null;
  const position = call
    ? positionOfCall(call, stripeCustomerId)
    : event && positionOfMeterEvent(event, stripeCustomerId);
  if (!position) throw new Error(`the ${kind} ${subjectId} is gone before its charge`);
  return position.target - position.accepted;
}

function conclude(store: CustomerStore, attempt: Attempt, result: Report, nowMs: number): void {
  const { event, amountNanoUsd, mayBeThereBefore } = attempt;
  // The customer may have been erased while the provider answered.
  if (!store.account() || !store.charge(event.chargeId)) return;
  const covered = upTo(chargesWith(store, event), event);
  if (result.status === 'REPORTED') {
    settleReported(store, covered, { stripeCustomerId: event.stripeCustomerId, amountNanoUsd }, nowMs);
    return;
  }
  const isOver = isWindowOver(event, nowMs);
  const isRefused = result.status === 'REJECTED';
  const mayBeThere = !isRefused && (mayBeThereBefore || result.isNotThere !== true);
  const asked = { ...event, mayBeThere };
  if (isOver && mayBeThere) {
    giveUp(store, asked, nowMs);
    return;
  }
  const backoff = backoffMs(event.attempts, isRefused ? MENDED_BACKOFF_MAX_MS : BACKOFF_MAX_MS);
  const retryAfterMs = isRefused ? 0 : (result.retryAfterMs ?? 0);
  const dueAtMs = isOver ? NEVER_MS : nowMs + Math.max(retryAfterMs, backoff);
  if (isRefused || isOver) fail(store, covered, { ...asked, dueAtMs }, result.reason, nowMs);
  else store.saveCharge({ ...asked, dueAtMs });
}

/** Nobody knows whether the provider has the event, and a later attempt could bill twice. */
function giveUp(store: CustomerStore, event: OpenCharge, nowMs: number): void {
  const covered = upTo(chargesWith(store, event), event);
  fail(store, covered, { ...event, dueAtMs: NEVER_MS }, OUTCOME_UNKNOWN, nowMs);
}

/** The provider does not have the event, as far as is known. Each reason is told once. */
function fail(store: CustomerStore, covered: OpenCharge[], event: OpenCharge, reason: string, nowMs: number): void {
  store.saveCharge({ ...event, failureReason: reason });
  const account = store.account();
  if (!account || event.failureReason === reason) return;
  const revision = account.revision + 1;
  store.saveAccount({ ...account, revision }, nowMs);
  const { chargeId, kind: subject, subjectId, eventNanoUsd, amountNanoUsd } = event;
  const data = { chargeId, subject, subjectId, amountUsd: formatUsd(eventNanoUsd ?? amountNanoUsd), reason };
  store.recordEvent({ type: 'charge.failed', data: { customerId: account.customerId, ...data } }, nowMs);
  record(store, covered, { failureReason: reason }, revision, nowMs);
}

/** The provider has what the charges come to. */
function settleReported(
  store: CustomerStore,
  charges: OpenCharge[],
  accepted: { stripeCustomerId: string; amountNanoUsd: NanoUsd },
  nowMs: number,
): void {
  const account = store.account();
  if (!account) return;
  const revision = account.revision + 1;
  store.saveAccount({ ...account, revision }, nowMs);
  record(store, charges, { failureReason: null, accepted }, revision, nowMs);
  for (const { chargeId } of charges) store.dropCharge(chargeId);
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

/** Records what became of charges in the call or meter event that made them. */
function record(
  store: CustomerStore,
  charges: OpenCharge[],
  end: {
    failureReason: string | null;
    /** The provider has accepted this of it. */
    accepted?: { stripeCustomerId: string; amountNanoUsd: NanoUsd };
    /** The balance alone settles it, and what corrects it. */
    isAlone?: boolean;
  },
  revision: number,
  nowMs: number,
): void {
  const [first] = charges;
  if (!first) return;
  const { kind, subjectId } = first;
  const ids = new Set(charges.map(({ chargeId }) => chargeId));
  const close = <C extends Charge | null>(charge: C): C | Charge =>
    charge && ids.has(charge.chargeId) ? settled(charge, end.failureReason) : charge;
  const { accepted, isAlone = false } = end;
  const billedWith = ({ billed }: Pick<Call, 'billed'>, before: (stripeCustomerId: string) => Position) => {
    if (!accepted) return isAlone && billed === undefined && { billed: null };
    const { stripeCustomerId, amountNanoUsd } = accepted;
    const sum = before(stripeCustomerId).accepted + amountNanoUsd;
    return { billed: { ...billed, [stripeCustomerId]: sum.toString() } };
  };
  if (kind === 'call') {
    const call = store.call(asCallId(subjectId))?.call;
    if (!call?.outcome) return;
    const billed = billedWith(call, (stripeCustomerId) => positionOfCall(call, stripeCustomerId));
    store.updateCall({ ...withCharges(call, close), ...billed, revision }, nowMs);
  } else {
    const event = store.meterEvent(subjectId);
    if (!event) return;
    const { charge, reversal } = event;
    const reversed = reversal && { reversal: { ...reversal, charge: close(reversal.charge) } };
    const billed = billedWith(event, (stripeCustomerId) => positionOfMeterEvent(event, stripeCustomerId));
    store.saveMeterEvent({ ...event, charge: close(charge), ...reversed, ...billed, revision }, nowMs);
  }
}

function backoffMs(attempts: number, mostMs = BACKOFF_MAX_MS): number {
  return Math.min(mostMs, BACKOFF_BASE_MS * 2 ** (attempts - 1));
}

/** A charge that waits for a key is looked at again after as long as it has waited, within bounds. */
function waitForKeyMs(waitedMs: number): number {
  return Math.min(MENDED_BACKOFF_MAX_MS, Math.max(SETTLE_ALARM_MS, waitedMs));
}
