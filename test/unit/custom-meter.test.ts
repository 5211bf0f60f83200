/**
 * Custom meters by examples whose figures were computed by hand, in the comments beside them.
 */

import { describe, expect, test } from 'vitest';
import { type Account, replenishDue, replenishNow } from '../../src/domain/account.ts';
import { incrementMeter, priceOverage } from '../../src/domain/custom-meter.ts';
import type { MeterSlot } from '../../src/domain/meters.ts';
import type { CustomMeter, OverageTier } from '../../src/domain/plan.ts';
import { addUnsettled, type CreditUnit, grantCredit, sumBalance } from '../../src/domain/wallet.ts';
import { account, plan } from './fixtures.ts';

/** 0.01 USD each up to 10, 0.07 for three up to 25, then 0.001 each. */
const TIERS: OverageTier[] = [
  { upTo: '10', priceUsd: '0.01', per: '1' },
  { upTo: '25', priceUsd: '0.07', per: '3' },
  { upTo: null, priceUsd: '0.001', per: '1' },
];

const meter = (change: Partial<CustomMeter> = {}): CustomMeter => ({
  enabled: true,
  label: 'pages',
  included: 5,
  unlimited: false,
  funding: { credits: true, payg: true },
  overage: { model: 'GRADUATED', tiers: TIERS },
  ...change,
});

const customer = (custom: CustomMeter, payg = true): Account =>
  account(
    plan({
      customMeters: { CUSTOM1: custom, AGENTIC_API: meter({ included: 1 }) },
      payg: { enabled: payg, markupPercent: 50 },
    }),
  );

function granted(to: Account, unit: CreditUnit, amount: bigint): Account {
  const text = amount.toString();
  const credit = {
    creditId: unit,
    unit,
    granted: text,
    remaining: text,
    grantedAtMs: 0,
    expiresAtMs: null,
    reference: null,
  };
  return { ...to, wallet: grantCredit(to.wallet, credit) };
}

let serial = 0;
function increment(on: Account, amount: number, slot: MeterSlot = 'CUSTOM1') {
  serial += 1;
  const incremented = incrementMeter(
    on,
    { slot, amount },
    { eventId: `event-${serial}`, chargeId: `charge-${serial}` },
    1,
  );
  if (!incremented) throw new Error('the slot is not enabled');
  return incremented;
}

const tierUnits = (components: { tierIndex: number; unitsExact: string }[]) =>
  components.map((part) => [part.tierIndex, part.unitsExact]);

describe('a graduated price', () => {
  test.each([
    // 4 x 10,000,000.
    ['within the first tier', 0n, 4n, 40_000_000n, [[0, '4']]],
    // Exactly to the border: the 10th unit is the last of the first tier. 10 x 10,000,000.
    ['up to a border', 0n, 10n, 100_000_000n, [[0, '10']]],
    // The 11th unit alone: 70,000,000 / 3 = 23,333,333.33, rounded down.
    ['just over a border', 10n, 11n, 23_333_333n, [[1, '1']]],
    // The 12th: 46,666,666.67 for two, rounded to 46,666,667, less the 23,333,333 of the first.
    ['for the unit after it', 11n, 12n, 23_333_334n, [[1, '1']]],
    // 2 x 10,000,000 and three for 70,000,000.
    [
      'across a border',
      8n,
      13n,
      90_000_000n,
      [
        [0, '2'],
        [1, '3'],
      ],
    ],
    // 10 x 10,000,000, then 15 / 3 x 70,000,000 = 350,000,000, then 5 x 1,000,000.
    [
      'across all tiers',
      0n,
      30n,
      455_000_000n,
      [
        [0, '10'],
        [1, '15'],
        [2, '5'],
      ],
    ],
    // 9,007,199,254,740,991 less 25 units at 1,000,000, and the 450,000,000 of the 25.
    [
      'for the largest increment',
      0n,
      9_007_199_254_740_991n,
      9_007_199_254_741_416_000_000n,
      [
        [0, '10'],
        [1, '15'],
        [2, '9007199254740966'],
      ],
    ],
  ] as const)('costs by hand %s', (_where, before, after, cost, units) => {
    const { components, totalNanoUsd } = priceOverage(TIERS, { before, after });
    expect(totalNanoUsd).toBe(cost);
    expect(tierUnits(components)).toEqual(units);
  });

  test('has the rate and the last unit of the tier for each component', () => {
    expect(priceOverage(TIERS, { before: 24n, after: 26n }).components).toEqual([
      { tierIndex: 1, upTo: '25', unitsExact: '1', priceNanoUsd: '70000000', priceQuantity: '3' },
      { tierIndex: 2, upTo: null, unitsExact: '1', priceNanoUsd: '1000000', priceQuantity: '1' },
    ]);
  });

  test('a thousand units at 1 nano-USD for three cost 333, one at a time or all at once', () => {
    const price = [{ upTo: null, priceUsd: '0.000000001', per: '3' }];
    // 1000 / 3 = 333.33. One by one they cost 0, 1, 0, 0, 1, 0, ...: 333 as well, and never a thousand times 0.
    let total = 0n;
    for (let unit = 0n; unit < 1000n; unit += 1n)
      total += priceOverage(price, { before: unit, after: unit + 1n }).totalNanoUsd;
    expect([total, priceOverage(price, { before: 0n, after: 1000n }).totalNanoUsd]).toEqual([333n, 333n]);
  });
});

describe('an increment', () => {
  test('uses the allowance, then credits, then the balance, without a markup', () => {
    const start = granted(granted(customer(meter()), 'CUSTOM1', 4n), 'USD', 1_000_000_000n);
    // 5 included + 4 credits + 12 overage: 10 x 10,000,000 + two of 70,000,000 / 3 = 46,666,667. The plan's markup is
    // for calls.
    const { account: after, event } = increment(start, 21);
    expect(event.funding).toEqual({ included: 5, credits: 4, overage: 12, unfunded: 0 });
    expect(tierUnits(event.components)).toEqual([
      [0, '10'],
      [1, '2'],
    ]);
    expect(event.charge).toMatchObject({ amountNanoUsd: '146666667', status: 'PENDING', markupPercent: null });
    expect([after.wallet.unsettled, sumBalance(after.wallet, 'USD'), sumBalance(after.wallet, 'CUSTOM1')]).toEqual([
      '146666667',
      1_000_000_000n,
      0n,
    ]);
    const totals = { usage: '21', overage: '12', credits: '4', unfunded: '0', charged: '146666667', increments: 1 };
    expect(after.slots).toEqual({ CUSTOM1: totals });
    expect([event.period, event.totalsAfter]).toEqual([0, totals]);
  });

  test('of the last included unit is allowed, and the next one is blocked if nothing else pays', () => {
    const { account: after, event } = increment(customer(meter({ funding: { credits: false, payg: false } })), 5);
    expect(event.funding).toEqual({ included: 5, credits: 0, overage: 0, unfunded: 0 });
    expect(increment(after, 1).event.funding).toEqual({ included: 0, credits: 0, overage: 0, unfunded: 1 });
  });

  test('that is blocked counts in the usage of the period, but in no tier', () => {
    const { account: blocked } = increment(customer(meter()), 8);
    const { event } = increment(granted(blocked, 'USD', 1n), 2);
    expect([event.periodUsageBefore, event.periodUsageAfter, tierUnits(event.components)]).toEqual([
      '8',
      '10',
      [[0, '2']],
    ]);
  });

  test.each([
    ['the plan is not pay-as-you-go', customer(meter(), false)],
    ["the balance is not among the meter's funding", customer(meter({ funding: { credits: true, payg: false } }))],
    ['the meter has no price', customer(meter({ overage: undefined }))],
  ])('goes on no balance where %s', (_why, start) => {
    expect(increment(granted(start, 'USD', 10n ** 9n), 7).event).toMatchObject({
      funding: { included: 5, credits: 0, overage: 0, unfunded: 2 },
      charge: null,
      components: [],
    });
  });

  test('can use a balance of one nano-USD, but not an unsettled amount', () => {
    const start = granted(customer(meter({ included: 0 })), 'USD', 1n);
    const { account: after, event } = increment(start, 3);
    expect([event.funding.overage, after.wallet.unsettled]).toEqual([3, '30000000']);
    expect(increment(after, 1).event.funding.unfunded).toBe(1);
    expect(increment({ ...start, wallet: addUnsettled(start.wallet, 1n) }, 1).event.funding.unfunded).toBe(1);
  });

  test('with a price of zero has a settled charge', () => {
    const free = meter({ included: 0, overage: { model: 'SINGLE', priceUsd: '0', per: '1' } });
    const { account: after, event } = increment(granted(customer(free), 'USD', 1n), 3);
    expect(event.charge).toMatchObject({ amountNanoUsd: '0', status: 'POSTED' });
    expect(after.wallet.unsettled).toBe('0');
  });

  test('of an unlimited meter is recorded, consumes no allowance and costs nothing', () => {
    const start = granted(granted(customer(meter({ unlimited: true })), 'CUSTOM1', 4n), 'USD', 10n ** 9n);
    const { account: after, event } = increment(start, 1_000_000);
    expect(event).toMatchObject({ unlimited: true, charge: null, components: [], periodUsageAfter: '1000000' });
    expect(event.funding).toEqual({ included: 0, credits: 0, overage: 0, unfunded: 0 });
    expect([after.wallet, after.meters]).toEqual([start.wallet, start.meters]);
  });

  test('of a missing or disabled slot is rejected', () => {
    const ids = { eventId: 'e', chargeId: 'c' };
    const off = customer(meter({ enabled: false }));
    expect(incrementMeter(off, { slot: 'CUSTOM1', amount: 1 }, ids, 1)).toBeNull();
    expect(incrementMeter(off, { slot: 'CUSTOM2', amount: 1 }, ids, 1)).toBeNull();
  });

  test('does not affect other slots: each has its own allowance, credits and tiers', () => {
    const start = granted(granted(customer(meter()), 'CUSTOM1', 4n), 'USD', 10n ** 9n);
    const { account: after } = increment(start, 20);
    // One included, none bought for this slot, two of overage from the start of its own tiers.
    const { event } = increment(after, 3, 'AGENTIC_API');
    expect(event).toMatchObject({ funding: { included: 1, credits: 0, overage: 2 }, periodUsageBefore: '0' });
    expect(tierUnits(event.components)).toEqual([[0, '2']]);
  });

  test('counts beyond 2^53 in exact decimals', () => {
    const { account: once } = increment(customer(meter({ unlimited: true })), Number.MAX_SAFE_INTEGER);
    const { event } = increment(once, Number.MAX_SAFE_INTEGER);
    expect([event.periodUsageBefore, event.periodUsageAfter]).toEqual(['9007199254740991', '18014398509481982']);
  });
});

describe('the tiers of a period', () => {
  /** 5 included and 11 of overage: one into the second tier. */
  const used = increment(granted(customer(meter()), 'USD', 10n ** 12n), 16);

  test('continue from increment to increment', () => {
    expect(tierUnits(used.event.components)).toEqual([
      [0, '10'],
      [1, '1'],
    ]);
    expect(tierUnits(increment(used.account, 15).event.components)).toEqual([
      [1, '14'],
      [2, '1'],
    ]);
  });

  test('start again with the next period or a replenishment; charges stay', () => {
    const boundaryMs = used.account.subscription.nextReplenishAtMs;
    expect(replenishDue(used.account, boundaryMs - 1)).toBe(used.account);
    for (const next of [replenishDue(used.account, boundaryMs), replenishNow(used.account, 2)]) {
      const { event } = increment(next, 7);
      expect(event.funding).toEqual({ included: 5, credits: 0, overage: 2, unfunded: 0 });
      // 2 x 10,000,000, as in the beginning.
      expect([tierUnits(event.components), event.charge?.amountNanoUsd]).toEqual([[[0, '2']], '20000000']);
      expect([event.periodUsageBefore, event.periodUsageAfter]).toEqual(['0', '7']);
      // 100,000,000 + 23,333,333 of the period before.
      expect(next.wallet.unsettled).toBe('123333333');
    }
  });
});
