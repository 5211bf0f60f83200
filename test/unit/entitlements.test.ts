/**
 * The entitlements of a customer follow from the policy, the remaining amounts, and the request, and from nothing else.
 */

import { describe, expect, test } from 'vitest';
import type { MeterState } from '../../src/domain/allowances.ts';
import type { Requested } from '../../src/domain/entitlements.ts';
import { decideEntitlements, EVERYTHING, lowerLevel } from '../../src/domain/entitlements.ts';
import type { Quantities } from '../../src/domain/meters.ts';

import type { LimitPolicy, ReasoningLevel } from '../../src/domain/plan.ts';
import { type PlanChange, plan } from './fixtures.ts';

const used = (consumed: Quantities, reserved: Quantities = {}): MeterState => ({ consumed, reserved });

function decide(change: PlanChange, requested: Requested, meters = used({}), canceled = false) {
  return decideEntitlements(plan(change), meters, requested, canceled, () => false);
}

/** The meaning of each cell of the tables below. */
const OUTCOMES = {
  s: { standard: true, premium: false, tier: 'standard', admitted: true, downgrade: undefined },
  p: { standard: false, premium: true, tier: 'premium', admitted: true, downgrade: undefined },
  sp: { standard: true, premium: true, tier: 'premium', admitted: true, downgrade: undefined },
  denied: { standard: false, premium: false, tier: 'none', admitted: false, downgrade: undefined },
  'p>s': {
    standard: true,
    premium: false,
    tier: 'standard',
    admitted: true,
    downgrade: { reason: 'PREMIUM_QUOTA_EXHAUSTED', fallbackTier: 'standard' },
  },
  'p>none': {
    standard: false,
    premium: false,
    tier: 'none',
    admitted: false,
    downgrade: { reason: 'PREMIUM_QUOTA_EXHAUSTED', fallbackTier: 'none' },
  },
} as const;
type Outcome = keyof typeof OUTCOMES;

const REQUESTS: [string, Requested][] = [
  ['nothing', {}],
  ['standard', { standard: true }],
  ['premium', { premium: true }],
  ['both tiers', { standard: true, premium: true }],
];

/** Calls left of standard and premium, then the outcome of each request in the order above. */
const TIERS: [LimitPolicy, number, number, Outcome, Outcome, Outcome, Outcome][] = [
  ['NONE', 1, 1, 's', 's', 'p', 'sp'],
  ['NONE', 1, 0, 's', 's', 'p', 'sp'],
  ['NONE', 0, 1, 's', 's', 'p', 'sp'],
  ['NONE', 0, 0, 's', 's', 'p', 'sp'],
  ['BLOCK', 1, 1, 's', 's', 'p', 'sp'],
  ['BLOCK', 1, 0, 's', 's', 'denied', 's'],
  ['BLOCK', 0, 1, 'denied', 'denied', 'p', 'p'],
  ['BLOCK', 0, 0, 'denied', 'denied', 'denied', 'denied'],
  ['DOWNGRADE', 1, 1, 's', 's', 'p', 'sp'],
  ['DOWNGRADE', 1, 0, 's', 's', 'p>s', 'p>s'],
  ['DOWNGRADE', 0, 1, 'denied', 'denied', 'p', 'p'],
  ['DOWNGRADE', 0, 0, 'denied', 'denied', 'p>none', 'p>none'],
];

describe.each(TIERS)(
  'under %s with %i standard and %i premium calls left',
  (limitType, standardCalls, premiumCalls, ...outcomes) => {
    test.each(REQUESTS.map(([of, requested], column) => ({ of, requested, outcome: outcomes[column] as Outcome })))(
      'a request for $of is $outcome',
      ({ requested, outcome }) => {
        const { allowed, hints, admitted } = decide({ limitType, limits: { standardCalls, premiumCalls } }, requested);
        expect({
          standard: allowed.standard,
          premium: allowed.premium,
          tier: hints.suggestedModelTier,
          admitted,
          downgrade: hints.downgrade,
        }).toEqual(OUTCOMES[outcome]);
        expect(hints.policy).toBe(limitType);
      },
    );
  },
);

describe('a tier has something left', () => {
  test.each([
    ['the last call', { premiumCalls: 3 }, used({ premiumCalls: 2 }), true],
    ['no call', { premiumCalls: 3 }, used({ premiumCalls: 3 }), false],
    ['calls that open calls hold', { premiumCalls: 3 }, used({ premiumCalls: 1 }, { premiumCalls: 2 }), false],
    ['more used than allowed', { premiumCalls: 3 }, used({ premiumCalls: 9 }), false],
    ['the last token', { premiumTokens: 100 }, used({ premiumTokens: 99 }), true],
    ['no token', { premiumTokens: 100 }, used({ premiumTokens: 100 }), false],
    ['tokens that open calls hold', { premiumTokens: 100 }, used({ premiumTokens: 60 }, { premiumTokens: 40 }), false],
    ['calls, but no token', { premiumCalls: 5, premiumTokens: 100 }, used({ premiumTokens: 150 }), false],
    ['tokens, but no call', { premiumCalls: 5, premiumTokens: 100 }, used({ premiumCalls: 5 }), false],
    ['nothing used of an unlimited tier', {}, used({}), true],
    ['much used of an unlimited tier', {}, used({ premiumCalls: 1e9, premiumTokens: 1e12 }), true],
    ['a limit of none', { premiumCalls: 0 }, used({}), false],
    ['what the other tier used', { premiumCalls: 1 }, used({ standardCalls: 50, standardTokens: 50 }), true],
  ])('with %s: %o and %o is %s', (_of, limits, meters, left) => {
    expect(decide({ limits }, { premium: true }, meters).allowed.premium).toBe(left);
  });
});

describe('a request', () => {
  test('with only false fields means standard, like an empty one', () => {
    const nothing = { standard: false, premium: false, audio: false, image: false, search: false };
    expect(decide({}, nothing)).toMatchObject({ allowed: { standard: true, premium: false }, admitted: true });
    expect(decide({}, { reasoningLevel: 'LOW' })).toMatchObject({ allowed: { standard: true }, admitted: true });
  });

  test('is granted only what it requests', () => {
    expect(decide({ limitType: 'NONE' }, { premium: true }).allowed).toEqual({
      standard: false,
      premium: true,
      audio: false,
      image: false,
      search: false,
      tools: false,
      reasoningLevel: 'HIGH',
    });
  });

  test('for everything is granted by a plan without limits', () => {
    expect(decide({}, EVERYTHING)).toEqual({
      allowed: {
        ...{ standard: true, premium: true, audio: true, image: true, search: true, tools: true },
        reasoningLevel: 'HIGH',
      },
      hints: { suggestedModelTier: 'premium', reasoningLevel: 'HIGH', policy: 'BLOCK' },
      admitted: true,
      usedUp: [],
      onCredit: [],
    });
  });
});

describe('capabilities', () => {
  const none = { searches: 0, audioSeconds: 0 };
  test.each<[string, PlanChange, Requested, Requested, boolean]>([
    ['search alone, left', { limits: { searches: 1 } }, { search: true }, { search: true, standard: false }, true],
    ['search alone, exhausted', { limits: none }, { search: true }, { search: false, standard: false }, false],
    [
      'search alone, exhausted, informational',
      { limitType: 'NONE', limits: none },
      { search: true },
      { search: true },
      true,
    ],
    [
      'search alone, exhausted, no fallback',
      { limitType: 'DOWNGRADE', limits: none },
      { search: true },
      { search: false },
      false,
    ],
    ['audio alone, left', { limits: { audioSeconds: 0.5 } }, { audio: true }, { audio: true, standard: false }, true],
    ['audio alone, exhausted', { limits: none }, { audio: true }, { audio: false }, false],
    ['image alone', {}, { image: true }, { image: true, standard: false }, true],
    ['image alone, switched off', { features: { image: false } }, { image: true }, { image: false }, false],
    ['search switched off', { features: { search: false } }, { search: true }, { search: false }, false],
    ['tools', {}, { tools: true, standard: true }, { tools: true }, true],
    ['tools switched off', { features: { tools: false } }, { tools: true }, { tools: false }, false],
    [
      'tools of a version from before them',
      { features: { tools: undefined } },
      { tools: true, standard: true },
      { tools: true },
      true,
    ],
    ['audio switched off', { features: { audio: false } }, { audio: true }, { audio: false }, false],
    [
      'all switched off, informational limits',
      { limitType: 'NONE', features: { audio: false, image: false, search: false } },
      { audio: true, image: true, search: true },
      { audio: false, image: false, search: false },
      false,
    ],
    ['one of two left', { limits: none }, { search: true, image: true }, { search: false, image: true }, true],
    [
      'a capability without standard calls left',
      { limits: { standardCalls: 0 } },
      { image: true },
      { image: true, standard: false },
      true,
    ],
    [
      'standard and an exhausted search',
      { limits: none },
      { standard: true, search: true },
      { standard: true, search: false },
      true,
    ],
    [
      'premium and a switched-off image',
      { features: { image: false } },
      { premium: true, image: true },
      { premium: true, image: false },
      true,
    ],
    [
      'an exhausted tier and a search',
      { limits: { premiumCalls: 0 } },
      { premium: true, search: true },
      { premium: false },
      false,
    ],
    [
      'one exhausted tier of two and a search',
      { limits: { premiumCalls: 0 } },
      { standard: true, premium: true, search: true },
      { standard: true, premium: false, search: true },
      true,
    ],
  ])('%s', (_of, change, requested, allowed, admitted) => {
    const decision = decide(change, requested);
    expect(decision.allowed).toMatchObject(allowed);
    expect(decision.admitted).toBe(admitted);
    expect(decision.hints.downgrade).toBeUndefined();
  });

  test('requested alone suggest no model tier', () => {
    expect(decide({}, { image: true, search: true }).hints.suggestedModelTier).toBe('none');
  });
});

describe('the reasoning level', () => {
  /** The plan's ceiling, then the results of NONE, LOW, MEDIUM, HIGH and no request under it. */
  const CEILINGS: [ReasoningLevel, ReasoningLevel[]][] = [
    ['NONE', ['NONE', 'NONE', 'NONE', 'NONE', 'NONE']],
    ['LOW', ['NONE', 'LOW', 'LOW', 'LOW', 'LOW']],
    ['MEDIUM', ['NONE', 'LOW', 'MEDIUM', 'MEDIUM', 'MEDIUM']],
    ['HIGH', ['NONE', 'LOW', 'MEDIUM', 'HIGH', 'HIGH']],
  ];
  const wishes = ['NONE', 'LOW', 'MEDIUM', 'HIGH', undefined] as const;

  test.each(CEILINGS)('is the lower of the request and a ceiling of %s', (reasoningLevel, expected) => {
    const decisions = wishes.map((wish) => decide({ reasoningLevel }, { standard: true, reasoningLevel: wish }));
    expect(decisions.map(({ allowed }) => allowed.reasoningLevel)).toEqual(expected);
    expect(decisions.map(({ hints }) => hints.reasoningLevel)).toEqual(expected);
    for (const level of ['NONE', 'LOW', 'MEDIUM', 'HIGH'] as const) {
      expect(lowerLevel(level, reasoningLevel)).toBe(lowerLevel(reasoningLevel, level));
    }
  });

  test('is limited under an informational policy too', () => {
    expect(
      decide({ limitType: 'NONE', reasoningLevel: 'LOW' }, { reasoningLevel: 'HIGH' }).allowed.reasoningLevel,
    ).toBe('LOW');
  });
});

test.each(['NONE', 'BLOCK', 'DOWNGRADE'] as const)(
  'a canceled subscription is denied everything under %s, and offered nothing',
  (limitType) => {
    for (const requested of [{}, { premium: true }, { image: true }, EVERYTHING]) {
      expect(decide({ limitType }, requested, used({}), true)).toEqual({
        allowed: {
          ...{ standard: false, premium: false, audio: false, image: false, search: false, tools: false },
          reasoningLevel: 'NONE',
        },
        hints: { suggestedModelTier: 'none', reasoningLevel: 'NONE', policy: limitType },
        admitted: false,
        usedUp: [],
        onCredit: [],
      });
    }
  },
);
