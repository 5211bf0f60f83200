/**
 * The announced next payer pays: whatever the plan allows, whatever is used, held and owed, and whatever the policy,
 * the announced payer pays for a call that begins and an increment that is recorded, or they are denied for the
 * announced reason.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { planLimit } from '../../src/domain/allowances.ts';
import { beginCall } from '../../src/domain/begin-call.ts';
import type { Call } from '../../src/domain/call.ts';
import { incrementMeter } from '../../src/domain/custom-meter.ts';
import { unusableCredit } from '../../src/domain/funding.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { METER_NAMES, METER_SLOTS, type MeterSlot } from '../../src/domain/meters.ts';
import { capabilityPayer, isOnCredit, type NextPayer, slotPayer, tierPayer } from '../../src/domain/next-payer.ts';
import { CAPABILITIES, type CustomMeter } from '../../src/domain/plan.ts';
import { TIERS, type Tier } from '../../src/domain/tiers.ts';
import {
  addUnsettled,
  type CreditUnit,
  EMPTY_WALLET,
  grantCredit,
  hold,
  release,
  type Wallet,
} from '../../src/domain/wallet.ts';
import { account, plan } from '../unit/fixtures.ts';

const NOW_MS = 1_000;
const CREDIT_UNITS: readonly CreditUnit[] = ['USD', ...METER_SLOTS];
const CREDIT = { granted: '1000', remaining: '0', grantedAtMs: 0, expiresAtMs: null, reference: null };

const limit = fc.constantFrom(null, 0, 1, 2, 5);
const limitsRecord = (one: fc.Arbitrary<number | null>) =>
  fc.record({
    standardCalls: one,
    premiumCalls: one,
    standardTokens: one,
    premiumTokens: one,
    searches: one,
    audioSeconds: one,
  });
/** One plan in ten limits nothing. */
const limits = fc.oneof({ weight: 9, arbitrary: limitsRecord(limit) }, limitsRecord(fc.constant(null)));
const slot: fc.Arbitrary<CustomMeter | undefined> = fc.option(
  fc.record({
    enabled: fc.constantFrom(true, true, false),
    label: fc.constant('Pages'),
    included: fc.constantFrom(0, 1, 5),
    unlimited: fc.constantFrom(false, false, true),
    funding: fc.record({ credits: fc.boolean(), payg: fc.boolean() }),
    overage: fc.constantFrom(undefined, { model: 'SINGLE' as const, priceUsd: '0.01', per: '1' }),
  }),
  { nil: undefined },
);
const plans = fc.record({
  limitType: fc.constantFrom('NONE' as const, 'BLOCK' as const, 'DOWNGRADE' as const),
  limits,
  features: fc.record({ audio: fc.boolean(), image: fc.boolean(), search: fc.boolean(), tools: fc.boolean() }),
  payg: fc.record({ enabled: fc.boolean(), markupPercent: fc.constantFrom(0, 25) }),
  customMeters: fc.record({ CUSTOM1: slot, CUSTOM2: slot, AGENTIC_API: slot }),
});

const quantities = fc.record(
  Object.fromEntries(METER_NAMES.map((name) => [name, fc.constantFrom(0, 0, 1, 2, 5)])) as Record<
    (typeof METER_NAMES)[number],
    fc.Arbitrary<number>
  >,
);
const amount = fc.bigInt({ min: 0n, max: 60n });
const wallets = fc
  .record({
    usd: amount,
    expires: fc.constantFrom(null, NOW_MS - 1, NOW_MS + 1),
    overdraft: fc.oneof(fc.constant(0n), amount),
    held: fc.oneof(fc.constant(0n), amount),
    unsettled: fc.oneof(fc.constant(0n), amount),
    units: fc.record({ CUSTOM1: fc.bigInt(0n, 3n), CUSTOM2: fc.bigInt(0n, 3n), AGENTIC_API: fc.bigInt(0n, 3n) }),
  })
  .map(({ usd, expires, overdraft, held, unsettled, units }): Wallet => {
    const grant = (wallet: Wallet, unit: 'USD' | MeterSlot, granted: bigint, expiresAtMs: number | null) =>
      granted === 0n
        ? wallet
        : grantCredit(wallet, {
            creditId: unit,
            unit,
            granted: granted.toString(),
            remaining: '0',
            grantedAtMs: 0,
            expiresAtMs,
            reference: null,
          });
    let wallet = grant(EMPTY_WALLET, 'USD', usd, expires);
    for (const of of METER_SLOTS) wallet = grant(wallet, of, units[of], null);
    // An overdraft excludes credit.
    if (usd === 0n) wallet = { ...wallet, overdraft: overdraft.toString() };
    return addUnsettled(hold(wallet, held), unsettled);
  });

const accounts = fc
  .record({ plan: plans, consumed: quantities, reserved: quantities, wallet: wallets, canceled: fc.nat(9) })
  .map(({ plan: change, consumed, reserved, wallet, canceled }): Account => {
    const { subscription, ...rest } = account(plan(change as Parameters<typeof plan>[0]), { consumed, reserved });
    // One in ten is canceled.
    return { ...rest, wallet, subscription: { ...subscription, canceledAtMs: canceled === 0 ? 1 : null } };
  });

/** The payer of the tier, according to a call that began. */
function payerOf(call: Call, before: Account, tier: Tier): Exclude<NextPayer['by'], 'nobody'> {
  if (call.credit?.tiers.includes(tier)) return 'balance';
  expect(call.reserved[`${tier}Calls`]).toBe(1);
  const { limits } = before.subscription.plan.plan;
  const isLeft = ([`${tier}Calls`, `${tier}Tokens`] as const).every((name) => {
    const used = (before.meters.consumed[name] ?? 0) + (before.meters.reserved[name] ?? 0);
    return limits[name] === null || used < (limits[name] ?? 0);
  });
  return isLeft ? 'allowance' : 'counted';
}

const seen = new Set<string>();

test('a call of a tier is paid as was said, by what was said, or denied for the reason that was said', () => {
  fc.assert(
    fc.property(accounts, fc.constantFrom(...TIERS), amount, (before, tier, needed) => {
      const said = tierPayer(before, tier, { neededNanoUsd: needed, nowMs: NOW_MS });
      const request = { requested: { [tier]: true }, pricingMode: 'standard' as const };
      const expected = { bounds: [], usualCharge: () => needed };
      const { call, denial } = beginCall(before, asCallId('call'), request, expected, {
        deadlineAtMs: NOW_MS + 1,
        nowMs: NOW_MS,
      });
      if (said.by === 'nobody') {
        seen.add(`${said.reason}${said.instead ? ` ${said.instead.payer.by} instead` : ''}`);
        expect(call.allowed[tier]).toBe(false);
        expect(call.status).toBe(said.instead ? 'IN_PROGRESS' : 'NOT_ALLOWED');
        if (!said.instead) expect(denial?.code).toBe(said.reason);
        else {
          expect(call.suggestedTier).toBe(said.instead.tier);
          expect(payerOf(call, before, said.instead.tier)).toBe(said.instead.payer.by);
        }
        return;
      }
      seen.add(said.by);
      expect(call.status).toBe('IN_PROGRESS');
      expect(call.allowed[tier]).toBe(true);
      expect(payerOf(call, before, tier)).toBe(said.by);
    }),
    { numRuns: 3_000 },
  );
});

test('a call for a capability is admitted if something pays for it or counts it', () => {
  fc.assert(
    fc.property(accounts, fc.constantFrom(...CAPABILITIES), (before, capability) => {
      const said = capabilityPayer(before, capability, NOW_MS);
      const request = { requested: { [capability]: true }, pricingMode: 'standard' as const };
      const expected = { bounds: [], usualCharge: () => 0n };
      const { call, denial } = beginCall(before, asCallId('call'), request, expected, {
        deadlineAtMs: NOW_MS + 1,
        nowMs: NOW_MS,
      });
      expect(call.status).toBe(said.by === 'nobody' ? 'NOT_ALLOWED' : 'IN_PROGRESS');
      expect(denial?.code ?? null).toBe(said.by === 'nobody' ? said.reason : null);
      expect(call.credit).toBeUndefined();
    }),
    { numRuns: 1_500 },
  );
});

test('a unit of a custom meter is paid by what was said', () => {
  fc.assert(
    fc.property(accounts, fc.constantFrom(...METER_SLOTS), (before, of) => {
      const said = slotPayer(before, of, NOW_MS);
      // An increment of a canceled customer is refused before it is looked at.
      if (before.subscription.canceledAtMs !== null) {
        expect(said).toEqual({ by: 'nobody', reason: 'SUBSCRIPTION_CANCELED' });
        return;
      }
      const recorded = incrementMeter(before, { slot: of, amount: 1 }, { eventId: 'e', chargeId: 'c' }, NOW_MS);
      if (!recorded) {
        expect(said).toEqual({ by: 'nobody', reason: 'METER_NOT_ENABLED' });
        return;
      }
      const { funding, unlimited } = recorded.event;
      const [paid] = Object.entries(funding).find(([, units]) => units > 0) ?? ['included'];
      const by = { included: 'allowance', credits: 'units', overage: 'balance', unfunded: 'nobody' }[paid];
      expect(said.by).toBe(unlimited ? 'allowance' : by);
      seen.add(`slot ${said.by}`);
    }),
    { numRuns: 3_000 },
  );
});

test('a customer is on credit if the balance pays for a tier, or would if open calls held nothing', () => {
  fc.assert(
    fc.property(accounts, (before) => {
      const free = { ...before, wallet: release(before.wallet, BigInt(before.wallet.held)) };
      const pays = TIERS.some((tier) => tierPayer(free, tier, { neededNanoUsd: 0n, nowMs: NOW_MS }).by === 'balance');
      expect(isOnCredit(before)).toBe(pays);
    }),
    { numRuns: 1_500 },
  );
});

/** Whether the balance pays for something now, and the slots whose purchased units pay. */
function paying(of: Account) {
  const slots = METER_SLOTS.map((slot) => ({ slot, by: slotPayer(of, slot, NOW_MS).by }));
  const tiers = TIERS.map((tier) => tierPayer(of, tier, { neededNanoUsd: 0n, nowMs: NOW_MS }).by);
  return {
    USD: [...tiers, ...slots.map(({ by }) => by)].includes('balance'),
    ...Object.fromEntries(slots.map(({ slot, by }) => [slot, by === 'units'])),
  } as Record<CreditUnit, boolean>;
}

test('credit pays for nothing if it is said so, and else pays once all that the plan includes is used up', () => {
  fc.assert(
    fc.property(accounts, (before) => {
      const now = paying(before);
      for (const { unit, gap } of unusableCredit(before)) {
        expect([unit, gap, now[unit]]).toEqual([unit, gap, false]);
        seen.add(`unusable ${gap}`);
      }
      const { plan } = before.subscription.plan;
      const consumed = Object.fromEntries(METER_NAMES.map((name) => [name, planLimit(plan, name) ?? 0]));
      const rich = CREDIT_UNITS.reduce(
        (wallet, unit) => grantCredit(wallet, { ...CREDIT, creditId: unit, unit }),
        EMPTY_WALLET,
      );
      const after = { ...before, meters: { consumed, reserved: {} }, wallet: rich };
      const unusable = unusableCredit(after).map(({ unit }) => unit);
      // Purchased units pay before the balance does, so that it is asked without them.
      const poor = { ...rich, credits: rich.credits.filter(({ unit }) => unit === 'USD') };
      const pays = { ...paying(after), USD: paying({ ...after, wallet: poor }).USD };
      expect(CREDIT_UNITS.filter((unit) => !pays[unit]).sort()).toEqual(unusable.sort());
    }),
    { numRuns: 3_000 },
  );
});

test('the properties above met every case', () => {
  expect([...seen].sort()).toEqual(
    expect.arrayContaining([
      'ALLOWANCE_EXHAUSTED',
      'ALLOWANCE_EXHAUSTED allowance instead',
      'BALANCE_HELD',
      'CREDIT_REQUIRED',
      'CREDIT_REQUIRED allowance instead',
      'SUBSCRIPTION_CANCELED',
      'allowance',
      'balance',
      'counted',
      'slot allowance',
      'slot balance',
      'slot nobody',
      'slot units',
      'unusable CANCELED',
      'unusable CREDITS_OFF',
      'unusable METER_NOT_IN_PLAN',
      'unusable METER_OFF',
      'unusable METER_UNLIMITED',
      'unusable NOTHING_TO_PAY',
      'unusable PAYG_OFF',
    ]),
  );
});
