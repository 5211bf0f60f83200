/**
 * One customer's account: who the customer is, the subscription, and what is used of the current period.
 *
 * An account is a value: each function returns the next one. Replenishment is lazy, so every command first brings the
 * account up to the present with `replenishDue`.
 */
import type { MeterState } from './meters.ts';
import { periodAt } from './period.ts';
import type { PlanVersion } from './plan.ts';

export interface Contact {
  friendlyName?: string | undefined;
  email?: string | undefined;
  stripeCustomerId?: string | undefined;
}

export interface Subscription {
  id: string;
  /** Grows by one with each change of the subscription. */
  version: number;
  plan: PlanVersion;
  /** Every boundary is counted from here. */
  anchorMs: number;
  lastReplenishedAtMs: number;
  nextReplenishAtMs: number;
  canceledAtMs: number | null;
}

export interface Account {
  organizationId: string;
  customerId: string;
  createdAtMs: number;
  contact: Contact;
  subscription: Subscription;
  meters: MeterState;
  /** Grows with each change of the account or of a call; the projection to D1 keeps the highest. */
  revision: number;
}

export interface NewAccount {
  organizationId: string;
  customerId: string;
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
      anchorMs: nowMs,
      lastReplenishedAtMs: startMs,
      nextReplenishAtMs: endMs,
      canceledAtMs: null,
    },
    meters: { consumed: {}, reserved: {} },
    revision: 1,
  };
}

/**
 * Starts the period that contains `nowMs` where the account is still in an earlier one: nothing consumed, the
 * reservations of open calls kept. Returns the same object when nothing is due.
 */
export function replenishDue(account: Account, nowMs: number): Account {
  const { subscription } = account;
  if (nowMs < subscription.nextReplenishAtMs) return account;
  const { startMs, endMs } = periodAt(subscription.anchorMs, subscription.plan.plan.replenish, nowMs);
  return {
    ...changeSubscription(account, { lastReplenishedAtMs: startMs, nextReplenishAtMs: endMs }),
    meters: { consumed: {}, reserved: account.meters.reserved },
  };
}

/** Cancels or reactivates. Returns the same object when it already is so. */
export function setCanceled(account: Account, canceled: boolean, nowMs: number): Account {
  if ((account.subscription.canceledAtMs !== null) === canceled) return account;
  return changeSubscription(account, { canceledAtMs: canceled ? nowMs : null });
}

/** Takes over the given contact fields. Returns the same object when they say nothing new. */
export function updateContact(account: Account, contact: Contact): Account {
  const merged = { ...account.contact, ...dropUndefined(contact) };
  const same = (['friendlyName', 'email', 'stripeCustomerId'] as const).every((f) => merged[f] === account.contact[f]);
  return same ? account : { ...account, contact: merged, revision: account.revision + 1 };
}

/** Takes over only those contact fields that the account does not have yet. */
export function fillContact(account: Account, contact: Contact): Account {
  return updateContact(account, { ...dropUndefined(contact), ...dropUndefined(account.contact) });
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
