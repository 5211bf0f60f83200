/**
 * Promise: the reason of a denial is a limit that blocks the call. A tier that the plan has nothing of is not named beside one
 * that is used up, and of limits that block alike the one that renews last is named, with the others beside it.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { beginCall } from '../../src/domain/begin-call.ts';
import { ALSO_MAX, type RecordedDenial } from '../../src/domain/denial.ts';
import type { Requested } from '../../src/domain/entitlements.ts';
import { asCallId } from '../../src/domain/ids.ts';
import type { MeterName, Quantities } from '../../src/domain/meters.ts';
import { NEVER_MS } from '../../src/domain/period.ts';
import type { Capability, Plan } from '../../src/domain/plan.ts';
import { TIERS } from '../../src/domain/tiers.ts';
import { account, plan } from './fixtures.ts';

const PERIOD_END_MS = 1_000_000;

/** A customer of the plan who has used this much; `next` is the plan after the period. */
function customer(content: Plan, consumed: Quantities, next: Plan | null = null, endsAtMs = PERIOD_END_MS): Account {
  const opened = account(content);
  return {
    ...opened,
    meters: { ...opened.meters, consumed },
    subscription: {
      ...opened.subscription,
      nextReplenishAtMs: endsAtMs,
      pending: next && account(next).subscription.plan,
    },
  };
}

function denialOf(of: Account, requested: Requested, needs: Capability[] = []): RecordedDenial | null {
  const request = { requested, pricingMode: 'standard', needs } as const;
  return beginCall(
    of,
    asCallId('call'),
    { ...request, needs },
    { bounds: [], usualCharge: () => 0n },
    { deadlineAtMs: NEVER_MS, nowMs: 0 },
  ).denial;
}

const BOTH = { standard: true, premium: true };
const renewing = { resetsAtMs: PERIOD_END_MS };

describe('the reason', () => {
  test('is the tier that is used up, not the one that the plan does not have', () => {
    const content = plan({ limits: { standardCalls: 20, premiumCalls: 0 } });
    expect(denialOf(customer(content, { standardCalls: 20 }), BOTH)).toEqual({
      ...{ code: 'ALLOWANCE_EXHAUSTED', meter: 'standardCalls', limit: 20, used: 20 },
    });
  });

  test('is the tier that a plan offers in place of one that it does not have', () => {
    const content = plan({ limitType: 'DOWNGRADE', limits: { standardCalls: 20, premiumCalls: 0 } });
    expect(denialOf(customer(content, { standardCalls: 20 }), { premium: true })).toMatchObject({
      ...{ meter: 'standardCalls', limit: 20, used: 20 },
    });
  });

  test('is the highest tier if the plan has none of them', () => {
    const content = plan({ limits: { standardCalls: 0, premiumCalls: 0 } });
    expect(denialOf(customer(content, {}), BOTH)).toEqual({
      ...{ code: 'ALLOWANCE_EXHAUSTED', meter: 'premiumCalls', limit: 0, used: 0 },
    });
  });

  test('of limits that renew together is that of the highest tier, calls before tokens', () => {
    const limits = { standardCalls: 2, standardTokens: 9, premiumCalls: 1, premiumTokens: 9 };
    const consumed = { standardCalls: 2, standardTokens: 9, premiumCalls: 1, premiumTokens: 9 };
    expect(denialOf(customer(plan({ limits }), consumed), BOTH)).toEqual({
      ...{ code: 'ALLOWANCE_EXHAUSTED', meter: 'premiumCalls', limit: 1, used: 1 },
      also: [
        { meter: 'premiumTokens', limit: 9, used: 9, ...renewing },
        { meter: 'standardCalls', limit: 2, used: 2, ...renewing },
        { meter: 'standardTokens', limit: 9, used: 9, ...renewing },
      ],
    });
  });

  test('is a limit that the next plan does not renew before one that it does', () => {
    const content = plan({ limits: { standardCalls: 2, premiumCalls: 1 } });
    const next = plan({ limits: { standardCalls: 0, premiumCalls: 1 } });
    const denial = denialOf(customer(content, { standardCalls: 2, premiumCalls: 1 }, next), BOTH);
    expect(denial).toMatchObject({
      ...{ meter: 'standardCalls', also: [{ meter: 'premiumCalls', limit: 1, used: 1, ...renewing }] },
    });
  });

  test('of a call that needs several capabilities is one that the plan does not have, with those that are used up', () => {
    const content = plan({ limits: { searches: 3, audioSeconds: 5 }, features: { audio: true, search: true } });
    const used = customer(content, { searches: 3, audioSeconds: 5 });
    expect(denialOf(used, { standard: true, audio: true, search: true }, ['audio', 'search'])).toEqual({
      ...{ code: 'ALLOWANCE_EXHAUSTED', capability: 'audio', meter: 'audioSeconds', limit: 5, used: 5 },
      also: [{ meter: 'searches', limit: 3, used: 3, ...renewing }],
    });
    const without = customer(plan({ limits: { searches: 3 }, features: { audio: false, search: true } }), {
      searches: 3,
    });
    expect(denialOf(without, { standard: true, audio: true, search: true }, ['search', 'audio'])).toEqual({
      ...{ code: 'CAPABILITY_NOT_IN_PLAN', capability: 'audio' },
      also: [{ meter: 'searches', limit: 3, used: 3, ...renewing }],
    });
    // Asked for alone, either of them would do.
    expect(denialOf(without, { audio: true, search: true })).toEqual({
      ...{ code: 'ALLOWANCE_EXHAUSTED', capability: 'search', meter: 'searches', limit: 3, used: 3 },
    });
  });

  test('of a call without its tier and without a capability is the one that does not renew', () => {
    const content = plan({ limits: { premiumCalls: 0, searches: 3 }, features: { search: true } });
    const denial = denialOf(customer(content, { searches: 3 }), { premium: true, search: true }, ['search']);
    expect(denial).toEqual({
      ...{ code: 'ALLOWANCE_EXHAUSTED', meter: 'premiumCalls', limit: 0, used: 0 },
      also: [{ meter: 'searches', limit: 3, used: 3, ...renewing }],
    });
  });

  test('with credit is told with the sums of the tier that is named', () => {
    const payg = { enabled: true, markupPercent: 0 };
    const content = plan({ limits: { standardCalls: 20, premiumCalls: 0 }, payg });
    const bound = { answers: 1, inSteps: false, outputTokens: 300 } as const;
    const costing = (tier: 'standard' | 'premium', inputNanoUsd: string) =>
      ({ ...bound, tier, cost: { inputNanoUsd, outputNanoUsdPerMillion: '0' } }) as never;
    const bounds = [costing('standard', '700'), costing('premium', '900000')];
    const used = customer(content, { standardCalls: 20 });
    const request = { requested: BOTH, pricingMode: 'standard' } as const;
    const { denial } = beginCall(
      used,
      asCallId('call'),
      request,
      { bounds, usualCharge: () => 0n },
      { deadlineAtMs: NEVER_MS, nowMs: 0 },
    );
    expect(denial).toMatchObject({
      ...{ code: 'CREDIT_REQUIRED', meter: 'standardCalls', money: { neededNanoUsd: '700' } },
    });
  });
});

const limit = fc.constantFrom(null, 0, 1, 20);
const limits = fc.record({
  ...{ standardCalls: limit, standardTokens: limit, premiumCalls: limit, premiumTokens: limit },
  ...{ searches: limit, audioSeconds: limit },
});
const isPart = fc.boolean();

test('whatever is asked of whatever plan, the named limit blocks and all that block are told', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(
      fc.record({ limits, next: fc.option(limits), used: fc.array(isPart, { minLength: 6, maxLength: 6 }) }),
      fc.record({ standard: isPart, premium: isPart, search: isPart, audio: isPart }),
      fc.constantFrom('BLOCK' as const, 'DOWNGRADE' as const),
      fc.record({ isPayg: isPart, isEndless: isPart, isForService: isPart }),
      ({ limits: content, next, used }, asked, limitType, { isPayg, isEndless, isForService }) => {
        const names = Object.keys(content) as (keyof typeof content)[];
        const consumed = Object.fromEntries(names.flatMap((name, place) => (used[place] ? [[name, 20]] : [])));
        const features = { audio: true, search: true };
        const terms = { limitType, features, payg: { enabled: isPayg, markupPercent: 0 } };
        const of = customer(
          plan({ ...terms, limits: content }),
          consumed,
          next && plan({ ...terms, limits: next }),
          isEndless ? NEVER_MS : PERIOD_END_MS,
        );
        const isForTier = asked.standard || asked.premium || !(asked.search || asked.audio);
        const capabilities = (['audio', 'search'] as const).filter((name) => asked[name]);
        const denial = denialOf(of, asked, isForService && isForTier ? [...capabilities] : []);
        if (denial?.meter === undefined) return;
        const also = denial.also ?? [];
        const isGone = (name: MeterName) => {
          const most = content[name as keyof typeof content];
          return most !== null && (consumed[name] ?? 0) >= most;
        };
        const told = [denial.meter, ...also.map(({ meter }) => meter)];
        expect(told.filter((name) => !isGone(name))).toEqual([]);
        expect(new Set(told).size).toBe(told.length);
        expect(also.length).toBeLessThanOrEqual(ALSO_MAX);

        const after = next ?? content;
        const renews = (name: MeterName) => !isEndless && after[name as keyof typeof after] !== 0;
        const isTier = (name: MeterName) => name.endsWith('Calls') || name.endsWith('Tokens');
        const rivals = isPayg && !isTier(denial.meter) ? told.filter((name) => !isTier(name)) : told;
        if (renews(denial.meter)) expect(rivals.filter((name) => !renews(name))).toEqual([]);

        const tierMeters = (tier: (typeof TIERS)[number]) => [`${tier}Calls`, `${tier}Tokens`] as const;
        const isAsked = (tier: (typeof TIERS)[number]) =>
          asked[tier] || (tier === 'standard' && (!asked.premium || limitType === 'DOWNGRADE'));
        const tiers = TIERS.filter((tier) => isForTier && isAsked(tier) && tierMeters(tier).some(isGone));
        const isOpen = (tier: (typeof TIERS)[number]) => tierMeters(tier).every((name) => content[name] !== 0);
        if (told.some(isTier)) {
          const open = tiers.filter(isOpen);
          const among = open.length > 0 ? open : tiers.slice(-1);
          expect(told.filter(isTier).sort()).toEqual(among.flatMap(tierMeters).filter(isGone).sort());
        }
        seen.add(`${tiers.some(isOpen) ? 'open' : 'closed'}${also.length > 0 ? ' with others' : ''}`);
      },
    ),
    { numRuns: 3_000 },
  );
  expect([...seen].sort()).toEqual(['closed', 'closed with others', 'open', 'open with others']);
});
