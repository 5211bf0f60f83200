/**
 * The wallet: a customer's prepaid USD balance and purchased units of the custom meters, with a ledger of every change.
 *
 * A wallet is immutable: each function returns a new one. Credits that expire soonest are spent first, then the oldest.
 * Charges that settle after the balance ran out overdraw USD; the next grant repays the overdraft. What open calls hold
 * and pending charges will take stays in a credit that expires meanwhile. Every change of a balance adds a ledger entry,
 * and the entries of a unit sum to its balance. Amounts are decimal strings of nano-USD or of units.
 */
import type { CorrectionKind } from './correction.ts';
import { METER_SLOTS, type MeterSlot } from './meters.ts';
import type { NanoUsd } from './money.ts';

export const CREDIT_UNITS = ['USD', ...METER_SLOTS] as const satisfies readonly ('USD' | MeterSlot)[];
export type CreditUnit = (typeof CREDIT_UNITS)[number];

export interface Credit {
  creditId: string;
  unit: CreditUnit;
  granted: string;
  /** Always above zero: a credit that is used up leaves the wallet. */
  remaining: string;
  grantedAtMs: number;
  /** Exclusive end of the time in which it can be spent; `null` never expires. */
  expiresAtMs: number | null;
  reference: string | null;
}

/** What a balance paid, or got back. */
export interface EntrySubject {
  kind: 'call' | 'meter_event';
  id: string;
}

export const ENTRY_CAUSES = ['GRANT', 'SPEND', 'EXPIRY', 'REVOKE', 'RETURN'] as const;
export type EntryCause = (typeof ENTRY_CAUSES)[number];
/** Causes of entries whose reference is a charge or an increment, and no text of the operator. */
export const PAYMENTS: readonly EntryCause[] = ['SPEND', 'RETURN'];

export interface LedgerEntry {
  atMs: number;
  unit: CreditUnit;
  cause: EntryCause;
  /** Signed: spending, expiry and revocation are negative. */
  amount: string;
  /** The balance of the unit after this entry. */
  balance: string;
  /** The credit that paid; `null` for an overdraft. */
  creditId: string | null;
  /** The id of the charge or the meter event, the operator's reference of a grant, or the reason of a revocation. What is returned names the charge or the meter event that returns it. */
  reference: string | null;
  /** Of what was spent and returned. Old entries do not have it. */
  subject?: EntrySubject | undefined;
  /** The correction of the subject that spent or returned it; absent if it was its first charge. */
  correction?: CorrectionKind | undefined;
  /** Of what is returned: what had taken it. Known in the customer's object alone. */
  corrects?: Recorded;
}

/** A charge or an increment that may have entries in the ledger. */
export interface Recorded {
  /** The reference of its entries. */
  reference: string | null;
  atMs: number;
}

export interface Wallet {
  /** In the order in which they are spent. */
  credits: Credit[];
  /** Nano-USD spent beyond the credits. While it is above zero there is no USD credit. */
  overdraft: string;
  /** Nano-USD held for open calls. */
  held: string;
  /** Nano-USD of pending charges; those that give back are not in it. */
  unsettled: string;
  /** Ledger entries since the wallet was last stored. */
  entries: LedgerEntry[];
}

export const EMPTY_WALLET: Wallet = { credits: [], overdraft: '0', held: '0', unsettled: '0', entries: [] };

/** Credits that a customer may have at the same time. */
export const LIVE_CREDITS_MAX = 100;

/** The sum of the credits of a unit. Only USD can be overdrawn, and then be negative. */
export function balanceOf(wallet: Wallet, unit: CreditUnit): bigint {
  const credit = wallet.credits.reduce(
    (sum, { unit: of, remaining }) => (of === unit ? sum + BigInt(remaining) : sum),
    0n,
  );
  return unit === 'USD' ? credit - BigInt(wallet.overdraft) : credit;
}

/** The USD balance less holds and pending charges: what new usage may spend. */
export function availableUsd(wallet: Wallet): NanoUsd {
  return balanceOf(wallet, 'USD') - BigInt(wallet.held) - BigInt(wallet.unsettled);
}

/**
 * Adds a credit and repays the overdraft from it. Ignores `credit.remaining`: a new credit has all that was granted.
 */
export function grantCredit(wallet: Wallet, credit: Credit): Wallet {
  const granted = BigInt(credit.granted);
  const overdraft = BigInt(wallet.overdraft);
  const repaid = credit.unit !== 'USD' ? 0n : least(overdraft, granted);
  const remaining = granted - repaid;
  const credits =
    remaining === 0n
      ? wallet.credits
      : [...wallet.credits, { ...credit, remaining: remaining.toString() }].sort(bySpendingOrder);
  const next = { ...wallet, credits, overdraft: (overdraft - repaid).toString() };
  const { creditId, unit, reference, grantedAtMs: atMs } = credit;
  return record(wallet, next, [{ atMs, unit, cause: 'GRANT', amount: granted, creditId, reference }]);
}

/** Spends `amount` of a unit. USD can be overdrawn. Throws a RangeError where another unit has less than `amount`. */
export function spend(
  wallet: Wallet,
  unit: CreditUnit,
  amount: bigint,
  reference: string,
  nowMs: number,
  of: Pick<LedgerEntry, 'subject' | 'correction'> = {},
): Wallet {
  let left = amount;
  const credits: Credit[] = [];
  const changes: Change[] = [];
  const change = { atMs: nowMs, unit, cause: 'SPEND', reference, ...of } as const;
  for (const credit of wallet.credits) {
    const remaining = BigInt(credit.remaining);
    const taken = credit.unit !== unit ? 0n : least(left, remaining);
    left -= taken;
    if (taken > 0n) changes.push({ ...change, amount: -taken, creditId: credit.creditId });
    if (taken < remaining)
      credits.push(taken === 0n ? credit : { ...credit, remaining: (remaining - taken).toString() });
  }
  if (left > 0n && unit !== 'USD') throw new RangeError(`${unit} has ${amount - left} units, not ${amount}`);
  if (left > 0n) changes.push({ ...change, amount: -left, creditId: null });
  return record(wallet, { ...wallet, credits, overdraft: (BigInt(wallet.overdraft) + left).toString() }, changes);
}

/**
 * Removes what is left of expired credits. USD that open calls hold, or pending charges will take, was there when it was
 * needed: as much of it stays as the credits that are spent before do not cover. Returns the same object when nothing
 * is removed.
 */
export function expireCredits(wallet: Wallet, nowMs: number): Wallet {
  let claimed = claimedUsd(wallet);
  const credits: Credit[] = [];
  const changes: Change[] = [];
  for (const credit of wallet.credits) {
    const remaining = BigInt(credit.remaining);
    const kept = !isExpired(credit, nowMs) ? remaining : credit.unit !== 'USD' ? 0n : least(remaining, claimed);
    if (credit.unit === 'USD') claimed -= least(remaining, claimed);
    if (kept > 0n) credits.push(kept === remaining ? credit : { ...credit, remaining: kept.toString() });
    if (kept === remaining) continue;
    const { unit, creditId, reference, expiresAtMs } = credit;
    const amount = kept - remaining;
    changes.push({ atMs: expiresAtMs ?? nowMs, unit, cause: 'EXPIRY', amount, creditId, reference });
  }
  return changes.length === 0 ? wallet : record(wallet, { ...wallet, credits }, changes);
}

/** A credit that paid, and what it paid. */
export interface Payer {
  /** Its terms; what remained of it is ignored. */
  credit: Credit;
  paid: bigint;
}

/**
 * Gives back what was spent: first the overdraft is repaid, then the credits that paid get it, the one that is spent last
 * first. What none of them takes becomes a credit of its own, for good. What a credit gets after its expiry expires
 * again.
 */
export function giveBack(
  wallet: Wallet,
  { unit, amount, payers, reference, subject, correction, corrects, creditId }: GivenBack,
  nowMs: number,
): Wallet {
  const change = { atMs: nowMs, unit, cause: 'RETURN', reference, subject, correction, corrects } as const;
  const changes: Change[] = [];
  const overdraft = BigInt(wallet.overdraft);
  const repaid = unit !== 'USD' ? 0n : least(overdraft, amount);
  if (repaid > 0n) changes.push({ ...change, amount: repaid, creditId: null });
  let left = amount - repaid;
  let { credits } = wallet;
  const own: Credit = { creditId, unit, granted: '', remaining: '', grantedAtMs: nowMs, expiresAtMs: null, reference };
  const stages = payers.map((stage) =>
    stage.filter(({ credit }) => credit.unit === unit).sort((a, b) => lastSpentFirst(a.credit, b.credit)),
  );
  for (const { credit, paid } of [...stages.flat(), { credit: own, paid: left }]) {
    const terms = credit === own ? { ...own, granted: left.toString() } : credit;
    const remaining = BigInt(credits.find((each) => each.creditId === terms.creditId)?.remaining ?? 0);
    const room = BigInt(terms.granted) - remaining;
    const part = least(least(left, paid), room);
    if (part <= 0n) continue;
    left -= part;
    changes.push({ ...change, amount: part, creditId: terms.creditId });
    const filled = { ...terms, remaining: (remaining + part).toString() };
    credits = [...credits.filter((each) => each.creditId !== terms.creditId), filled].sort(bySpendingOrder);
  }
  const next = { ...wallet, credits, overdraft: (overdraft - repaid).toString() };
  return expireCredits(record(wallet, next, changes), nowMs);
}

export const lastSpentFirst = (a: Credit, b: Credit) => bySpendingOrder(b, a);

/** What is given back, of which credits. */
export interface GivenBack {
  unit: CreditUnit;
  amount: bigint;
  /** The first ones before the next. */
  payers: readonly (readonly Payer[])[];
  reference: string;
  subject?: EntrySubject;
  correction?: CorrectionKind | undefined;
  corrects: Recorded;
  /** The id of the credit that takes what no other does. */
  creditId: string;
}

/**
 * Takes back what is left of a credit. What open calls hold of it, or pending charges will take, counts as spent, and
 * expires where it is not. Returns the same object where nothing is left.
 */
export function revokeCredit(wallet: Wallet, creditId: string, reason: string, nowMs: number): Wallet {
  const credit = wallet.credits.find((each) => each.creditId === creditId);
  if (!credit) return wallet;
  const spentLater = spend(wallet, 'USD', claimedUsd(wallet), '', nowMs);
  const left = BigInt(spentLater.credits.find((each) => each.creditId === creditId)?.remaining ?? 0);
  if (left === 0n) return wallet;
  const kept = BigInt(credit.remaining) - left;
  const others = wallet.credits.filter((each) => each !== credit);
  const claimed = { ...credit, remaining: kept.toString(), expiresAtMs: nowMs };
  const credits = kept === 0n ? others : [...others, claimed].sort(bySpendingOrder);
  const change = { atMs: nowMs, unit: credit.unit, cause: 'REVOKE', creditId, reference: reason } as const;
  return record(wallet, { ...wallet, credits }, [{ ...change, amount: -left }]);
}

/** When the next credit expires after `nowMs`; `null` where none does. What holds have kept of one goes with them. */
export function nextExpiryMs(wallet: Wallet, nowMs: number): number | null {
  // Spending order puts the soonest expiry first.
  return wallet.credits.find((credit) => !isExpired(credit, nowMs))?.expiresAtMs ?? null;
}

export function hold(wallet: Wallet, amount: NanoUsd): Wallet {
  return amount === 0n ? wallet : { ...wallet, held: (BigInt(wallet.held) + amount).toString() };
}

export function release(wallet: Wallet, amount: NanoUsd): Wallet {
  return hold(wallet, -amount);
}

/**
 * Counts a pending charge, so that new usage cannot spend its amount. One below zero does not count: what it gives back may
 * expire on its way, and can be spent when it is there.
 */
export function addUnsettled(wallet: Wallet, amount: NanoUsd): Wallet {
  return amount <= 0n ? wallet : { ...wallet, unsettled: (BigInt(wallet.unsettled) + amount).toString() };
}

/** Settles a pending charge: its amount leaves the balance. */
export function settle(
  wallet: Wallet,
  amount: NanoUsd,
  chargeId: string,
  nowMs: number,
  of?: Pick<LedgerEntry, 'subject' | 'correction'>,
): Wallet {
  const settled = { ...wallet, unsettled: (BigInt(wallet.unsettled) - amount).toString() };
  return spend(settled, 'USD', amount, chargeId, nowMs, of);
}

type Change = Omit<LedgerEntry, 'amount' | 'balance'> & { amount: bigint };

/** The new wallet with a ledger entry for each change. */
function record(before: Wallet, next: Wallet, changes: Change[]): Wallet {
  let balance = changes[0] ? balanceOf(before, changes[0].unit) : 0n;
  let unit = changes[0]?.unit;
  const entries: LedgerEntry[] = [];
  for (const change of changes) {
    if (change.unit !== unit) {
      unit = change.unit;
      const earlier = entries.findLast((entry) => entry.unit === change.unit);
      balance = earlier ? BigInt(earlier.balance) : balanceOf(before, change.unit);
    }
    balance += change.amount;
    entries.push({ ...change, amount: change.amount.toString(), balance: balance.toString() });
  }
  return { ...next, entries: [...before.entries, ...entries] };
}

/** What open calls hold, and pending charges will take. */
function claimedUsd({ held, unsettled }: Wallet): NanoUsd {
  return BigInt(held) + BigInt(unsettled);
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function isExpired({ expiresAtMs }: Credit, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs;
}

function bySpendingOrder(a: Credit, b: Credit): number {
  const expiry = (a.expiresAtMs ?? Number.POSITIVE_INFINITY) - (b.expiresAtMs ?? Number.POSITIVE_INFINITY);
  // NaN means that neither expires.
  if (expiry !== 0 && !Number.isNaN(expiry)) return expiry;
  return a.grantedAtMs - b.grantedAtMs || (a.creditId < b.creditId ? -1 : 1);
}
