/**
 * A customer's outlook in words: the next payer, and the limit that runs out first.
 */
import { describe, expect, test } from 'vitest';
import { payerSentences, runsOutFirst } from '../../src/console/customer/outlook-words.ts';
import type { Outlook } from '../../src/readings/forecast/outlook.ts';
import { plan } from './fixtures.ts';

const NOW = Date.parse('2026-11-25T12:00:00Z');
const at = (day: string) => Date.parse(`${day}T12:00:00Z`);

const pays = { by: 'allowance' } as const;
const used = { meter: 'premiumCalls', used: 100, limit: 100, isUsedUp: true, runsOutAtMs: null } as const;
const balance = {
  balanceNanoUsd: 12_400_000_000n,
  availableNanoUsd: 12_400_000_000n,
  chargedLatestWeekUsd: 10,
  runsOutAtMs: null,
  lastsUntilMs: at('2026-12-04'),
};

function outlook(more: Partial<Outlook>): Outlook {
  return {
    plan: plan({ name: 'Pro', limits: { premiumCalls: 100 } }),
    isCanceled: false,
    renewsAtMs: at('2026-12-01'),
    tiers: [
      { tier: 'standard', payer: pays },
      { tier: 'premium', payer: pays },
    ],
    capabilities: [],
    slots: [],
    meters: [{ ...used, used: 10, isUsedUp: false }],
    balance: null,
    isForecast: true,
    ...more,
  };
}

const premium = (payer: Outlook['tiers'][number]['payer']): Outlook['tiers'] => [
  { tier: 'standard', payer: pays },
  { tier: 'premium', payer },
];
const said = (more: Partial<Outlook>) => payerSentences(outlook(more), NOW).map(({ text }) => text);

describe('what pays next', () => {
  test('is one sentence if the allowance pays for all', () => {
    expect(said({})).toEqual(["The plan's allowance pays for every call."]);
    const tiers = premium({ by: 'nobody', reason: 'ALLOWANCE_EXHAUSTED', instead: null });
    expect(said({ plan: plan({ name: 'Free', limits: { premiumCalls: 0 } }), tiers, meters: [] })).toEqual([
      "The plan's allowance pays for what it includes.",
      'Free includes no premium calls.',
    ]);
  });

  test('is the balance once an allowance is used up, with how long it lasts', () => {
    expect(said({ tiers: premium({ by: 'balance' }), meters: [used], balance })).toEqual([
      'The allowance of premium calls is used up: the balance of $12.40 pays.',
      "At the last 7 days' rate the balance lasts until 4 Dec.",
    ]);
    const gone = { ...balance, runsOutAtMs: at('2026-11-29') };
    expect(said({ tiers: premium({ by: 'balance' }), meters: [used], balance: gone })[1]).toBe(
      'At the forecast pace the balance lasts until 29 Nov.',
    );
  });

  test('is nobody only if the next call would be denied', () => {
    const unpaid = (reason: 'ALLOWANCE_EXHAUSTED' | 'CREDIT_REQUIRED' | 'BALANCE_HELD') =>
      said({ tiers: premium({ by: 'nobody', reason, instead: null }), meters: [used], balance });
    expect(unpaid('ALLOWANCE_EXHAUSTED')).toEqual([
      'The allowance of premium calls is used up, and nothing else pays: premium calls are denied until 1 Dec.',
    ]);
    expect(unpaid('CREDIT_REQUIRED')[0]).toContain('nothing is left of the balance');
    expect(unpaid('BALANCE_HELD')[0]).toContain('open calls hold the balance');
    expect(said({ tiers: premium({ by: 'counted' }), meters: [used] })).toEqual([
      'The allowance of premium calls is used up: usage goes on, and is counted.',
    ]);
    const instead = { tier: 'standard', payer: pays } as const;
    expect(said({ tiers: premium({ by: 'nobody', reason: 'ALLOWANCE_EXHAUSTED', instead }), meters: [used] })).toEqual([
      'The allowance of premium calls is used up: standard models answer instead until 1 Dec.',
    ]);
    expect(said({ isCanceled: true })).toEqual([
      'The subscription is canceled: calls are denied until it is reactivated.',
    ]);
  });
});

test('"Paid" stands only if the balance or purchased units pay', () => {
  const badge = (more: Partial<Outlook>) => payerSentences(outlook(more), NOW)[0]?.badge;
  const slot = (payer: Outlook['slots'][number]['payer']): Partial<Outlook> => ({
    slots: [{ slot: 'CUSTOM1', payer, units: 5n }],
    meters: [{ ...used, meter: 'customMeter1' }],
  });
  expect(badge({ tiers: premium({ by: 'balance' }), meters: [used], balance })).toBe('Paid');
  expect(badge(slot({ by: 'units' }))).toBe('Paid');
  // The policy NONE, beyond the limit.
  expect(badge({ tiers: premium({ by: 'counted' }), meters: [used] })).toBe('Counted');
  expect(badge(slot({ by: 'nobody', reason: 'ALLOWANCE_EXHAUSTED' }))).toBe('Not paid');
  expect(badge({})).toBe('Allowance');
  expect(payerSentences(outlook({ plan: plan({}), meters: [] }), NOW)).toEqual([
    { text: 'The plan limits no calls: nothing is charged for them.', tone: 'good', badge: 'Unlimited' },
  ]);
});

describe('what runs out first', () => {
  const first = (more: Partial<Outlook>) => runsOutFirst(outlook(more), NOW);

  test('is the earliest end before the renewal, of a meter or of the balance', () => {
    const meters = [{ ...used, isUsedUp: false, runsOutAtMs: at('2026-11-29') }];
    expect(first({ meters })).toEqual({ value: 'In 4 days', note: 'Premium calls, about 29 Nov', of: 'meters' });
    const sooner = { ...balance, runsOutAtMs: at('2026-11-27') };
    expect(first({ meters, balance: sooner })).toMatchObject({ note: 'The balance, about 27 Nov', of: 'balance' });
  });

  test('is now if something is used up that nobody pays for, and not if credit pays', () => {
    const tiers = premium({ by: 'nobody', reason: 'ALLOWANCE_EXHAUSTED', instead: null });
    expect(first({ tiers, meters: [used] })).toMatchObject({ value: 'Now', note: 'Premium calls: used up' });
    expect(first({ tiers: premium({ by: 'balance' }), meters: [used], balance })).toEqual({
      value: 'Not before renewal',
      note: "the balance lasts until 4 Dec at the last 7 days' rate",
      of: 'balance',
    });
    // A meter that a plan never included does not run out.
    expect(first({ tiers, meters: [] }).value).not.toBe('Now');
  });

  test('is nothing before the renewal, unlimited, or not known', () => {
    expect(first({})).toEqual({ value: 'Not before renewal', note: 'on 1 Dec', of: 'meters' });
    expect(first({ meters: [] }).value).toBe('Never');
    expect(first({ isForecast: false }).value).toBe('Not known yet');
    expect(first({ isCanceled: true }).value).toBe('Canceled');
  });
});
