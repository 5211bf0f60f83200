/**
 * A customer's account: contact, subscription, usage of the current period, and wallet.
 *
 * An account is immutable: each function returns a new one. Replenishment is lazy: every command first calls
 * `replenishDue`, which starts the current period if the account is still in an earlier one.
 */

import type { MeterState } from './allowances.ts';
import type { DenialCode } from './denial.ts';
import type { CustomerKey } from './ids.ts';
import type { MeterName, MeterSlot } from './meters.ts';
import type { NanoUsd } from './money.ts';
import { periodAt, type Replenish } from './period.ts';
import type { Alerts, PlanVersion } from './plan.ts';
import { EMPTY_WALLET, expireCredits, sumBalance, type Wallet } from './wallet.ts';

export interface Contact {
  friendlyName?: string | undefined;
  email?: string | undefined;
  stripeCustomerId?: string | undefined;
}

interface Subscription {
  id: string;
  /** Grows by one with each change of the subscription. */
  version: number;
  plan: PlanVersion;
  /** Period boundaries are multiples of the interval after the anchor (period.ts). */
  cycle: { anchorMs: number; replenish: Replenish };
  lastReplenishedAtMs: number;
  nextReplenishAtMs: number;
  canceledAtMs: number | null;
  /** A plan change that applies at the next replenishment. */
  pending: PlanVersion | null;
}

export type ChangeStrategy = 'IMMEDIATE_RESET' | 'IMMEDIATE_PRORATED' | 'AT_NEXT_REPLENISH';

/** Units of a custom meter in the current period, as decimal strings; an absent field is zero. */
export interface SlotUsage {
  /** All units, paid by any source. */
  usage: string;
  overage: string;
  /** Units paid by purchased credits, and units that nothing paid. */
  credits?: string;
  unfunded?: string;
  /**
   * Units of the overage and units that nothing paid, alternating, in the order of their increments. Absent if all of
   * the overage came first (unit-runs.ts).
   */
  turns?: string[];
  /** Nano-USD of the overage, less the amounts that corrections gave back. */
  charged?: string;
  /** The number of increments so far, including reversed ones. */
  increments?: number;
  /** The last reversed increments. */
  reversed?: ReversedIncrement[];
}

/** The position of an increment that was reversed. */
export interface ReversedIncrement {
  /** Absent in older records. */
  eventId?: string;
  atMs?: number;
  amount: number;
  /** Its number in the period, and the number of increments at its reversal. */
  number: number;
  reversedAt: number;
  /** The totals before it. */
  before: Pick<SlotUsage, 'usage' | 'overage' | 'credits' | 'unfunded' | 'turns'>;
}

/** The calls that the balance pays, and their charges in decimal nano-USD. */
export interface OnBalance {
  calls: number;
  nanoUsd: string;
}

const NOTHING_ON_BALANCE: OnBalance = { calls: 0, nanoUsd: '0' };

export interface Account extends CustomerKey {
  createdAtMs: number;
  contact: Contact;
  subscription: Subscription;
  /** Counts the usage periods; absent in the first one. */
  period?: number;
  meters: MeterState;
  /** Usage of the custom meters in the current period; an absent slot has none. */
  slots?: Partial<Record<MeterSlot, SlotUsage>>;
  /**
   * The number of calls of the current period that the balance pays, and their charges, less the amounts that
   * corrections gave back. Absent if it is not known: the period began before it was counted.
   */
  onBalance?: OnBalance;
  /** The alerts that the organization wants if the plan sets none. Absent if it wants none of its own. */
  alerts?: Alerts | undefined;
  /**
   * Why calls were denied in the current period, each reason once: a meter, or else a code. Absent if no call was
   * denied.
   */
  denied?: readonly (MeterName | DenialCode)[];
  /**
   * The reports about calls that ended without a price, on the last day (since 1970, UTC) that had one: model and
   * reason. Absent if nothing was reported. `told` is absent if an earlier version of the service stored it.
   */
  unpriced?: { day: number; told?: readonly string[] };
  wallet: Wallet;
  /** Increases with each change of the account or of a call. D1 keeps the row with the highest revision. */
  revision: number;
}

export interface NewAccount extends CustomerKey {
  subscriptionId: string;
  plan: PlanVersion;
  contact: Contact;
}

export function openAccount(input: NewAccount, nowMs: number): Account {
  const { startMs, endMs } = periodAt(nowMs, input.plan.plan.replenish, nowMs);
  return {
    organizationId: input.organizationId,
    customerId: input.customerId,
    createdAtMs: nowMs,
    contact: input.contact,
    subscription: {
      id: input.subscriptionId,
      version: 1,
      plan: input.plan,
      cycle: { anchorMs: nowMs, replenish: input.plan.plan.replenish },
      lastReplenishedAtMs: startMs,
      nextReplenishAtMs: endMs,
      canceledAtMs: null,
      pending: null,
    },
    meters: { consumed: {}, reserved: {} },
    onBalance: NOTHING_ON_BALANCE,
    wallet: EMPTY_WALLET,
    revision: 1,
  };
}

/**
 * Starts the period that contains `nowMs` if the account is still in an earlier one. Consumption returns to zero; open
 * calls keep their reservations. A pending plan change applies at the first boundary that passed; if its interval
 * differs, that boundary is the anchor of a new cycle. Returns the same object if nothing is due.
 */
export function replenishDue(account: Account, nowMs: number): Account {
  const { subscription } = account;
  const { nextReplenishAtMs: boundaryMs } = subscription;
  if (nowMs < boundaryMs) return account;
  const plan = subscription.pending ?? subscription.plan;
  const same = sameInterval(plan.plan.replenish, subscription.cycle.replenish);
  const cycle = same ? subscription.cycle : { anchorMs: boundaryMs, replenish: plan.plan.replenish };
  return startPeriod(account, plan, cycle, nowMs);
}

/** Removes expired credits. Returns the same object if none has expired. */
export function expireDue(account: Account, nowMs: number): Account {
  const wallet = expireCredits(account.wallet, nowMs);
  return wallet === account.wallet ? account : changeWallet(account, wallet);
}

export function changeWallet(account: Account, wallet: Wallet): Account {
  return { ...account, wallet, revision: account.revision + 1 };
}

/** Starts a new period and a new cycle now, and applies a pending plan change. */
export function replenishNow(account: Account, nowMs: number): Account {
  const plan = account.subscription.pending ?? account.subscription.plan;
  return startPeriod(account, plan, { anchorMs: nowMs, replenish: plan.plan.replenish }, nowMs);
}

/** Whether the subscription may move to a version of the plan: to an archived plan only if it already has that plan. */
export function mayMoveTo(account: Account, { planId }: PlanVersion, isArchived: boolean): boolean {
  return !isArchived || account.subscription.plan.planId === planId;
}

/**
 * Moves the subscription to a plan version. The latest change wins: an immediate change cancels a pending one, and a
 * new pending change replaces it. If the customer already has the version, a reset starts a new period as for any
 * other, and the other strategies only cancel a pending change. Returns the same object if nothing changes.
 */
export function changePlan(account: Account, target: PlanVersion, strategy: ChangeStrategy, nowMs: number): Account {
  const { subscription } = account;
  if (strategy === 'IMMEDIATE_RESET')
    return startPeriod(account, target, { anchorMs: nowMs, replenish: target.plan.replenish }, nowMs);
  const current = target.usagePlanVersionId === subscription.plan.usagePlanVersionId;
  if (current) return subscription.pending ? changeSubscription(account, { pending: null }) : account;
  switch (strategy) {
    case 'IMMEDIATE_PRORATED':
      return changeSubscription(account, { ...onPlan(subscription, target, nowMs), pending: null });
    case 'AT_NEXT_REPLENISH':
      if (subscription.pending?.usagePlanVersionId === target.usagePlanVersionId) return account;
      return changeSubscription(account, { pending: target });
  }
}

/**
 * Moves a subscription to the newest version of its plan: now, without starting a new period, or at the next
 * replenishment. A pending change to another plan stays pending. Returns the same object if nothing changes.
 */
export function migratePlan(
  account: Account,
  newest: PlanVersion,
  when: 'NOW' | 'AT_NEXT_REPLENISH',
  nowMs: number,
): Account {
  const { subscription } = account;
  const { plan, pending } = subscription;
  const isOlder = (version: PlanVersion) => version.planId === newest.planId && version.version < newest.version;
  if (pending && isOlder(pending))
    return migratePlan(changeSubscription(account, { pending: newest }), newest, when, nowMs);
  if (!isOlder(plan)) return account;
  if (when === 'AT_NEXT_REPLENISH') return pending ? account : changeSubscription(account, { pending: newest });
  return changeSubscription(account, {
    ...onPlan(subscription, newest, nowMs),
    pending: pending?.planId === newest.planId ? null : pending,
  });
}

/**
 * The plan within the present period, whose start stays. Its end stays too, unless only one of the plans replenishes: a
 * subscription without a date gets one an interval from now, and a subscription on a plan that never replenishes has
 * none.
 */
function onPlan(
  { cycle, lastReplenishedAtMs }: Subscription,
  plan: PlanVersion,
  nowMs: number,
): Pick<Subscription, 'plan'> & Partial<Subscription> {
  const { replenish } = plan.plan;
  if ((replenish === null) === (cycle.replenish === null)) return { plan };
  const anchorMs = replenish === null ? lastReplenishedAtMs : nowMs;
  return {
    plan,
    cycle: { anchorMs, replenish },
    nextReplenishAtMs: periodAt(anchorMs, replenish, nowMs).endMs,
  };
}

function startPeriod(account: Account, plan: PlanVersion, cycle: Subscription['cycle'], nowMs: number): Account {
  const { startMs, endMs } = periodAt(cycle.anchorMs, cycle.replenish, nowMs);
  const change = { plan, cycle, lastReplenishedAtMs: startMs, nextReplenishAtMs: endMs, pending: null };
  return {
    ...changeSubscription(account, change),
    period: periodNumber(account) + 1,
    meters: { consumed: {}, reserved: account.meters.reserved },
    slots: {},
    onBalance: NOTHING_ON_BALANCE,
    denied: [],
  };
}

/** Replaces the earlier figure of the balance's payment for a call of the current period. */
export function countOnBalance(account: Account, after: OnBalance, before = NOTHING_ON_BALANCE): Account {
  const { onBalance } = account;
  if (onBalance === undefined || (after.calls === before.calls && after.nanoUsd === before.nanoUsd)) return account;
  const nanoUsd = BigInt(onBalance.nanoUsd) + BigInt(after.nanoUsd) - BigInt(before.nanoUsd);
  const calls = onBalance.calls + after.calls - before.calls;
  return { ...account, onBalance: { calls, nanoUsd: nanoUsd.toString() } };
}

/** The charges of calls and custom meters in the current period; `null` if they are not known. */
export function periodCharge({ onBalance, slots = {} }: Account): NanoUsd | null {
  if (onBalance === undefined) return null;
  return Object.values(slots).reduce((sum, { charged = 0 }) => sum + BigInt(charged), BigInt(onBalance.nanoUsd));
}

/** The number of the account's usage period. */
export function periodNumber({ period }: Account): number {
  return period ?? 0;
}

function sameInterval(a: Replenish, b: Replenish): boolean {
  return a?.every === b?.every && a?.unit === b?.unit;
}

/** Cancels or reactivates the subscription. Returns the same object if nothing changes. */
export function setCanceled(account: Account, canceled: boolean, nowMs: number): Account {
  if ((account.subscription.canceledAtMs !== null) === canceled) return account;
  return changeSubscription(account, { canceledAtMs: canceled ? nowMs : null });
}

/** Sets the given contact fields. Returns the same object if nothing changes. */
export function updateContact(account: Account, contact: Contact): Account {
  const merged = { ...account.contact, ...dropUndefined(contact) };
  const same = (['friendlyName', 'email', 'stripeCustomerId'] as const).every((f) => merged[f] === account.contact[f]);
  return same ? account : { ...account, contact: merged, revision: account.revision + 1 };
}

/** Removes the id at Stripe from the customer. Returns the same object if the customer has another one, or none. */
export function releaseStripeCustomer(account: Account, stripeCustomerId: string): Account {
  const { stripeCustomerId: present, ...contact } = account.contact;
  return present === stripeCustomerId ? { ...account, contact, revision: account.revision + 1 } : account;
}

/** Sets the organization's alerts. Returns the same object if nothing changes. */
export function setAlerts(account: Account, alerts: Alerts | null): Account {
  const { alerts: present, ...rest } = account;
  if (JSON.stringify(present ?? null) === JSON.stringify(alerts)) return account;
  return alerts === null ? rest : { ...rest, alerts };
}

/** Sets only the contact fields that the account lacks. */
export function fillContact(account: Account, contact: Contact): Account {
  return updateContact(account, { ...dropUndefined(contact), ...dropUndefined(account.contact) });
}

/** The USD balance less the charges that are still to leave it; what open calls hold is not used yet. */
export function owedBalance({ wallet }: Account): NanoUsd {
  return sumBalance(wallet, 'USD') - BigInt(wallet.unsettled);
}

export function isCanceled(account: Account): boolean {
  return account.subscription.canceledAtMs !== null;
}

function changeSubscription(account: Account, change: Partial<Subscription>): Account {
  const subscription = { ...account.subscription, ...change, version: account.subscription.version + 1 };
  return { ...account, subscription, revision: account.revision + 1 };
}

function dropUndefined(contact: Contact): Contact {
  return Object.fromEntries(Object.entries(contact).filter(([, value]) => value !== undefined));
}
