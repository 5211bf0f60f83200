/**
 * The wallet: a customer's prepaid USD balance and purchased units of the custom meters, with a ledger of every change.
 *
 * A wallet is immutable: each function returns a new one. Credits that expire soonest are spent first, then the oldest.
 * Charges that settle after the balance ran out overdraw USD; the next grant repays the overdraft. If a credit expires,
 * the amounts that open calls hold and pending charges will take stay in it. Every change of a balance adds a ledger
 * entry, and the entries of a unit sum to its balance. Amounts are decimal strings of nano-USD or of units.
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
  /** Always above zero: a used-up credit leaves the wallet. */
  remaining: string;
  grantedAtMs: number;
  /** The exclusive end of the time in which it can be spent; `null` never expires. */
  expiresAtMs: number | null;
  reference: string | null;
}

/** The subject that a balance paid, or got back from. */
export interface EntrySubject {
  kind: 'call' | 'meter_event';
  id: string;
}

export const ENTRY_CAUSES = ['GRANT', 'SPEND', 'EXPIRY', 'REVOKE', 'RETURN'] as const;
export type EntryCause = (typeof ENTRY_CAUSES)[number];
/** Causes of entries whose reference is a charge or an increment, not an operator's text. */
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
  /**
   * The id of the charge or the meter event, the operator's reference of a grant, or the reason of a revocation. A
   * return names the charge or the meter event that returns the amount.
   */
  reference: string | null;
  /** The subject of amounts that were spent or returned. Older entries do not have it. */
  subject?: EntrySubject | undefined;
  /** The correction of the subject that spent or returned the amount; absent for its first charge. */
  correction?: CorrectionKind | undefined;
  /** For a return: the record that had taken the amount. Known only in the customer's object. */
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
  /** Nano-USD spent beyond the credits. While it is above zero, no USD credit exists. */
  overdraft: string;
  /** Nano-USD held for open calls. */
  held: string;
  /** Nano-USD of pending charges; charges that give back are not included. */
  unsettled: string;
  /** Ledger entries since the wallet was last stored. */
  entries: LedgerEntry[];
}

export const EMPTY_WALLET: Wallet = { credits: [], overdraft: '0', held: '0', unsettled: '0', entries: [] };

/** The most credits that a customer may have at the same time. */
export const LIVE_CREDITS_MAX = 100;

/** The sum of the credits of a unit. Only USD can be overdrawn, and so be negative. */
export function sumBalance(wallet: Wallet, unit: CreditUnit): bigint {
  const credit = wallet.credits.reduce(
    (sum, { unit: of, remaining }) => (of === unit ? sum + BigInt(remaining) : sum),
    0n,
  );
  return unit === 'USD' ? credit - BigInt(wallet.overdraft) : credit;
}

/** The USD balance less holds and pending charges: the amount that new usage may spend. */
export function availableUsd(wallet: Wallet): NanoUsd {
  return sumBalance(wallet, 'USD') - BigInt(wallet.held) - BigInt(wallet.unsettled);
}

/**
 * Adds a credit and repays the overdraft from it. Ignores `credit.remaining`: a new credit has the whole granted
 * amount.
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

/** Spends `amount` of a unit. USD can be overdrawn. Throws a RangeError if another unit has less than `amount`. */
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
 * Removes the rest of expired credits. USD that open calls hold, or pending charges will take, existed when it was
 * needed: the part that credits spent earlier do not cover stays. Returns the same object if nothing is removed.
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

/** A credit that paid, and the amount. */
export interface Payer {
  /** The terms of the credit; its remaining amount is ignored. */
  credit: Credit;
  paid: bigint;
}

/**
 * Gives back a spent amount: first the overdraft is repaid, then the credits that paid get it, the one that is spent
 * last first. The rest becomes a credit of its own, which never expires. An amount that a credit gets after its expiry
 * expires again.
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

/** The amount that is given back, and the credits that paid it. */
export interface GivenBack {
  unit: CreditUnit;
  amount: bigint;
  /** The earlier groups come before the later ones. */
  payers: readonly (readonly Payer[])[];
  reference: string;
  subject?: EntrySubject;
  correction?: CorrectionKind | undefined;
  corrects: Recorded;
  /** The id of the credit that takes the rest. */
  creditId: string;
}

/**
 * Revokes the rest of a credit. The part that open calls hold, or pending charges will take, counts as spent, and
 * expires if it is not spent. Returns the same object if nothing is left.
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

/**
 * The next expiry of a credit after `nowMs`; `null` if none expires. The part of a credit that holds have kept ends
 * with them.
 */
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
 * Counts a pending charge, so that new usage cannot spend its amount. A charge below zero does not count: the amount
 * that it gives back may expire on its way, and can be spent only when it arrives.
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
  let balance = changes[0] ? sumBalance(before, changes[0].unit) : 0n;
  let unit = changes[0]?.unit;
  const entries: LedgerEntry[] = [];
  for (const change of changes) {
    if (change.unit !== unit) {
      unit = change.unit;
      const earlier = entries.findLast((entry) => entry.unit === change.unit);
      balance = earlier ? BigInt(earlier.balance) : sumBalance(before, change.unit);
    }
    balance += change.amount;
    entries.push({ ...change, amount: change.amount.toString(), balance: balance.toString() });
  }
  return { ...next, entries: [...before.entries, ...entries] };
}

/** The holds of open calls, and the amount that pending charges will take. */
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
