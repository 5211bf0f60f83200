/**
 * The life of an account: its opening, its move to a newer version of its plan, its cancellation, and its contact. Each
 * change counts one revision, and a change without an effect counts none.
 */

import { describe, expect, test } from 'vitest';
import {
  type Account,
  changePlan,
  changeWallet,
  countOnBalance,
  expireDue,
  fillContact,
  isCanceled,
  migratePlan,
  openAccount,
  periodCharge,
  replenishDue,
  replenishNow,
  setCanceled,
  updateContact,
} from '../../src/domain/account.ts';
import { summarize } from '../../src/domain/allowances.ts';
import { canonicalJson } from '../../src/domain/canonical.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import { METERS, SLOT_METERS } from '../../src/domain/meters.ts';
import type { Replenish } from '../../src/domain/period.ts';
import type { PlanVersion } from '../../src/domain/plan.ts';
import { TIERS } from '../../src/domain/tiers.ts';
import { grantCredit, sumBalance } from '../../src/domain/wallet.ts';
import { plan } from './fixtures.ts';

const NOW = Date.UTC(2026, 10, 20);

const version = (planId: string, number: number): PlanVersion => ({
  planId,
  usagePlanVersionId: `${planId}:v${number}`,
  version: number,
  plan: plan(),
});

const opened = (on: PlanVersion): Account =>
  openAccount(
    {
      organizationId: asOrganizationId('o'),
      customerId: asCustomerId('c'),
      subscriptionId: 's',
      plan: on,
      contact: {},
    },
    NOW,
  );

const versionIds = ({ subscription: { plan, pending } }: Account) => [
  plan.usagePlanVersionId,
  pending?.usagePlanVersionId ?? null,
];

const revisionsOf = ({ revision, subscription }: Account) => [revision, subscription.version];

test('an account opens at its first revision, with a period from now', () => {
  const account = opened(version('pro', 1));
  expect(revisionsOf(account)).toEqual([1, 1]);
  expect(account.subscription).toMatchObject({
    lastReplenishedAtMs: NOW,
    nextReplenishAtMs: Date.UTC(2026, 11, 20),
    canceledAtMs: null,
    pending: null,
  });
});

describe('a migration to the newest version', () => {
  const old = opened(version('pro', 1));
  const newest = version('pro', 3);

  test('applies now, or at the next replenishment', () => {
    expect(versionIds(migratePlan(old, newest, 'NOW', NOW))).toEqual(['pro:v3', null]);
    const later = migratePlan(old, newest, 'AT_NEXT_REPLENISH', NOW);
    expect(versionIds(later)).toEqual(['pro:v1', 'pro:v3']);
    expect(revisionsOf(later)).toEqual([2, 2]);
    expect(migratePlan(later, newest, 'AT_NEXT_REPLENISH', NOW)).toBe(later);
    expect(versionIds(migratePlan(later, newest, 'NOW', NOW))).toEqual(['pro:v3', null]);
  });

  test('leaves the newest version, a newer one and another plan as they are', () => {
    for (const current of [newest, version('pro', 4), version('team', 1)])
      for (const when of ['NOW', 'AT_NEXT_REPLENISH'] as const) {
        const account = opened(current);
        expect(migratePlan(account, newest, when, NOW)).toBe(account);
      }
  });

  test('keeps a pending change to another plan, and renews one to an older version', () => {
    const leaving = changePlan(old, version('team', 1), 'AT_NEXT_REPLENISH', NOW);
    expect(versionIds(migratePlan(leaving, newest, 'NOW', NOW))).toEqual(['pro:v3', 'team:v1']);
    expect(migratePlan(leaving, newest, 'AT_NEXT_REPLENISH', NOW)).toBe(leaving);
    const joining = changePlan(opened(version('team', 1)), version('pro', 2), 'AT_NEXT_REPLENISH', NOW);
    for (const when of ['NOW', 'AT_NEXT_REPLENISH'] as const)
      expect(versionIds(migratePlan(joining, newest, when, NOW))).toEqual(['team:v1', 'pro:v3']);
  });
});

describe('a plan that replenishes and one that never does', () => {
  const WEEK = 7 * 86_400_000;
  const LATER = NOW + WEEK;
  const NEVER = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  const on = (planId: string, number: number, replenish: Replenish): PlanVersion => ({
    ...version(planId, number),
    plan: plan({ replenish, limits: { searches: 5 } }),
  });
  const used = (account: Account): Account => ({
    ...account,
    meters: { ...account.meters, consumed: { searches: 3 } },
  });
  const datesOf = ({ subscription: { lastReplenishedAtMs, nextReplenishAtMs } }: Account) => [
    lastReplenishedAtMs,
    nextReplenishAtMs,
  ];
  const weekly = on('pro', 2, { every: 1, unit: 'WEEK' });
  const once = on('pro', 2, null);

  test('a change with usage kept to one that does counts its interval from now, and replenishes then', () => {
    const trial = used(opened(on('trial', 1, null)));
    const changes = [
      changePlan(trial, weekly, 'IMMEDIATE_PRORATED', LATER),
      migratePlan(used(opened(on('pro', 1, null))), weekly, 'NOW', LATER),
    ];
    for (const changed of changes) {
      expect(datesOf(changed)).toEqual([NOW, LATER + WEEK]);
      expect(changed.meters.consumed).toEqual({ searches: 3 });
      expect(replenishDue(changed, LATER + WEEK - 1)).toBe(changed);
      const next = replenishDue(changed, LATER + WEEK);
      expect([datesOf(next), next.meters.consumed]).toEqual([[LATER + WEEK, LATER + 2 * WEEK], {}]);
    }
  });

  test('a change with usage kept to one that does not gives its allowance once', () => {
    const monthly = (planId: string) => used(opened(on(planId, 1, { every: 1, unit: 'MONTH' })));
    const changes = [
      changePlan(monthly('team'), once, 'IMMEDIATE_PRORATED', LATER),
      migratePlan(monthly('pro'), once, 'NOW', LATER),
    ];
    for (const changed of changes) {
      expect(datesOf(changed)).toEqual([NOW, NEVER]);
      expect(replenishDue(changed, NEVER - 1).meters.consumed).toEqual({ searches: 3 });
    }
  });

  test('a change at the next replenishment keeps the date that there is, or waits for a replenishment by hand', () => {
    const leaving = migratePlan(opened(on('pro', 1, { every: 1, unit: 'WEEK' })), once, 'AT_NEXT_REPLENISH', NOW);
    expect(datesOf(leaving)).toEqual([NOW, NOW + WEEK]);
    expect(datesOf(replenishDue(leaving, NOW + WEEK))).toEqual([NOW + WEEK, NEVER]);
    const waiting = migratePlan(opened(on('pro', 1, null)), weekly, 'AT_NEXT_REPLENISH', NOW);
    expect(replenishDue(waiting, LATER)).toBe(waiting);
    expect(datesOf(replenishNow(waiting, LATER))).toEqual([LATER, LATER + WEEK]);
  });
});

test.each(['IMMEDIATE_PRORATED', 'AT_NEXT_REPLENISH'] as const)(
  'a change to the current version by %s only removes a pending change',
  (strategy) => {
    const account = opened(version('pro', 1));
    expect(changePlan(account, version('pro', 1), strategy, NOW)).toBe(account);
    const leaving = changePlan(account, version('team', 1), 'AT_NEXT_REPLENISH', NOW);
    expect(changePlan(leaving, version('team', 1), 'AT_NEXT_REPLENISH', NOW)).toBe(leaving);
    expect(versionIds(changePlan(leaving, version('pro', 1), strategy, NOW))).toEqual(['pro:v1', null]);
  },
);

test('a subscription is canceled and reactivated once', () => {
  const account = opened(version('pro', 1));
  const canceled = setCanceled(account, true, NOW + 1);
  expect([isCanceled(account), isCanceled(canceled), canceled.subscription.canceledAtMs]).toEqual([
    false,
    true,
    NOW + 1,
  ]);
  expect(setCanceled(canceled, true, NOW + 2)).toBe(canceled);
  expect(setCanceled(account, false, NOW + 2)).toBe(account);
  expect(setCanceled(canceled, false, NOW + 2).subscription.canceledAtMs).toBeNull();
});

test('credit that has expired is removed once, in a revision of its own', () => {
  const account = opened(version('pro', 1));
  const amount = { granted: '5', remaining: '5', unit: 'USD' } as const;
  const credit = { creditId: 'g', ...amount, grantedAtMs: NOW, expiresAtMs: NOW + 10, reference: null };
  const rich = changeWallet(account, grantCredit(account.wallet, credit));
  expect(revisionsOf(rich)).toEqual([2, 1]);
  expect(expireDue(rich, NOW + 9)).toBe(rich);
  const poor = expireDue(rich, NOW + 10);
  expect([poor.revision, sumBalance(poor.wallet, 'USD')]).toEqual([3, 0n]);
  expect(expireDue(poor, NOW + 20)).toBe(poor);
});

test('the meter of each slot names its slot, and each meter counts what it is named after', () => {
  for (const [slot, meter] of Object.entries(SLOT_METERS)) expect(METERS[meter].slot).toBe(slot);
  const units = Object.fromEntries(Object.entries(METERS).map(([name, { unit }]) => [name, unit]));
  for (const tier of TIERS) expect([units[`${tier}Calls`], units[`${tier}Tokens`]]).toEqual(['calls', 'tokens']);
  expect([units.searches, units.audioSeconds]).toEqual(['searches', 'seconds']);
  for (const meter of Object.values(SLOT_METERS)) expect(units[meter]).toBe('units');
});

test('canonical JSON keeps lists apart and sorts members', () => {
  expect(canonicalJson([1, 2, [undefined]])).toBe('[1,2,[null]]');
  expect(canonicalJson({ b: 1, a: { d: undefined, c: 'x' } })).toBe('{"a":{"c":"x"},"b":1}');
});

test('a contact takes the given fields, and filling it keeps the known ones', () => {
  const account = updateContact(opened(version('pro', 1)), { email: 'a@example.org' });
  expect([account.contact, account.revision]).toEqual([{ email: 'a@example.org' }, 2]);
  expect(updateContact(account, { email: 'a@example.org' })).toBe(account);
  const filled = fillContact(account, { email: 'b@example.org', friendlyName: 'Ada' });
  expect([filled.contact, filled.revision]).toEqual([{ email: 'a@example.org', friendlyName: 'Ada' }, 3]);
  expect(fillContact(filled, { stripeCustomerId: undefined } as never)).toBe(filled);
});

test('what the balance pays is counted for the period, with custom meters, and follows corrections', () => {
  const first = countOnBalance(opened(version('pro', 1)), { calls: 1, nanoUsd: '900' });
  const second = countOnBalance(first, { calls: 1, nanoUsd: '100' });
  const corrected = countOnBalance(second, { calls: 0, nanoUsd: '0' }, { calls: 1, nanoUsd: '900' });
  expect([first, second, corrected].map(periodCharge)).toEqual([900n, 1_000n, 100n]);
  expect(corrected.onBalance).toEqual({ calls: 1, nanoUsd: '100' });
  const slots = { CUSTOM1: { usage: '3', overage: '2', charged: '20' }, CUSTOM2: { usage: '1', overage: '0' } };
  expect(periodCharge({ ...corrected, slots })).toBe(120n);
  expect(periodCharge(replenishNow({ ...corrected, slots }, NOW))).toBe(0n);
});

test('what the balance pays is not known in a period that began before it was counted, and is in the next one', () => {
  const { onBalance: _, ...before } = opened(version('pro', 1));
  const after = countOnBalance(before, { calls: 1, nanoUsd: '900' });
  expect(after).toBe(before);
  expect(periodCharge(after)).toBeNull();
  expect(periodCharge(replenishNow(after, NOW))).toBe(0n);
});

test('an allowance shows what is left as a share of its limit, and none of a limit of zero', () => {
  const summaryOf = (searches: number | null) =>
    summarize(plan({ limits: { searches } }), { consumed: { searches: 2 }, reserved: { searches: 1 } }, 'searches');
  expect(summaryOf(12)).toEqual({ remaining: 9, limit: 12, used: 3, unlimited: false, ratio: 0.75 });
  expect(summaryOf(0)).toMatchObject({ limit: 0, used: 3, unlimited: false, ratio: null });
  expect(summaryOf(null)).toMatchObject({ limit: null, used: 3, unlimited: true, ratio: null });
});
