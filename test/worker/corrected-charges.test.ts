/**
 * Promise: the billing provider ends with the amounts of a history without the mistake, whatever fails on the way.
 */

import { expect, test } from 'vitest';
import type { Reporter } from '../../durable-objects/customer/commands/settlement.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { planOnCredit } from '../support/credit-plans.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { usage } from '../unit/fixtures.ts';

const START = Date.UTC(2039, 5, 1, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const REFUSED = { status: 'REJECTED', reason: 'STRIPE_resource_missing' } as const;
const LOST = { status: 'RETRY', reason: 'STRIPE_api_error_503', retryAfterMs: null } as const;
const PLAN = planOnCredit();
const PRICE: ResolvedPrice = {
  available: true,
  card: rateCard({ input: '1000000000', output: '1' }),
};
const report = (inputTokens: number) => ({ usage: usage({ inputTokens }), modelUsed: 'm' });

/** A provider with given answers that writes down its accepted charges. */
function provider(...answers: Awaited<ReturnType<Reporter>>[]) {
  const taken: { chargeId: string; amountNanoUsd: bigint; atMs: number }[] = [];
  const take: Reporter = async ({ chargeId, amountNanoUsd, atMs }) => {
    const answer = answers.shift() ?? { status: 'REPORTED' };
    if (answer.status === 'REPORTED') taken.push({ chargeId, amountNanoUsd, atMs });
    return answer;
  };
  return { taken, take, sum: () => taken.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n) };
}

function withCall(steps: (object: Clockwork) => Promise<void>) {
  return withObject(
    PLAN,
    async (object) => {
      object.begin('first', START);
      accepted(object.grant('USD', 10n ** 9n, START));
      accepted(object.begin('call', START));
      accepted(object.end('call', START, report(5_000), PRICE));
      await steps(object);
      expect(accepted(object.inspect(START + 10 * DAY)).wallet.openCharges).toBe(0);
    },
    { stripeCustomerId: 'cus_1' },
  );
}

test('a reversed charge is reported, and then taken back at the time of the correction', async () => {
  await withCall(async (object) => {
    const { taken, take } = provider();
    await object.settle(START + MINUTE, take);
    accepted(object.reverseCall('call', START + 2 * MINUTE));
    await object.settle(START + 3 * MINUTE, take);
    expect(taken).toMatchObject([
      { amountNanoUsd: 5_000_000n, atMs: START },
      { amountNanoUsd: -5_000_000n, atMs: START + 2 * MINUTE },
    ]);
    expect(new Set(taken.map(({ chargeId }) => chargeId)).size).toBe(2);
    expect(object.seen('call')?.corrections).toMatchObject([
      { previous: { charge: { status: 'POSTED' } }, charge: { status: 'POSTED', amountNanoUsd: '-5000000' } },
    ]);
  });
});

test('a correction waits for the charge that it corrects, while the provider is away', async () => {
  await withCall(async (object) => {
    const away = { status: 'RETRY', reason: 'away', retryAfterMs: 10 * MINUTE } as const;
    const { taken, take, sum } = provider(away);
    await object.settle(START + MINUTE, take);
    accepted(object.amendCall('call', START + 2 * MINUTE, report(2_000), PRICE));
    await object.settle(START + 3 * MINUTE, take);
    expect(taken).toEqual([]);
    await object.settle(START + 20 * MINUTE, take);
    await object.settle(START + 40 * MINUTE, take);
    expect(taken.map(({ amountNanoUsd }) => amountNanoUsd)).toEqual([5_000_000n, -3_000_000n]);
    accepted(object.reverseCall('call', START + 41 * MINUTE));
    await object.settle(START + 60 * MINUTE, take);
    expect(sum()).toBe(0n);
  });
});

test('of a charge that the provider does not have it gets no correction, and the balance gets it back', async () => {
  for (const isReversedFirst of [true, false])
    await withCall(async (object) => {
      const { taken, take } = provider(...(isReversedFirst ? [] : [REFUSED]));
      if (isReversedFirst) accepted(object.reverseCall('call', START + 1));
      await object.settle(START + MINUTE, take);
      if (!isReversedFirst) accepted(object.reverseCall('call', START + 2 * MINUTE));
      await object.settle(START + 9 * MINUTE, take);
      expect(taken).toEqual([]);
      expect(accepted(object.inspect(START + 10 * MINUTE))).toMatchObject({
        wallet: { balanceUsd: '1', unsettledUsd: '0' },
        failedCharges: [],
      });
    });
});

test('a charge whose outcome was unknown, and that was then refused, is reported as what an amendment made of it', async () => {
  await withCall(async (object) => {
    const { taken, take, sum } = provider(LOST, REFUSED);
    await object.settle(START + MINUTE, take);
    await object.settle(START + 2 * MINUTE, take);
    expect(object.seen('call')?.outcome?.charge).toMatchObject({ status: 'FAILED', failureReason: REFUSED.reason });
    accepted(object.amendCall('call', START + 3 * MINUTE, report(4_000), PRICE));
    expect(object.seen('call')?.outcome?.charge).toMatchObject({ status: 'PENDING' });
    await object.settle(START + 4 * MINUTE, take);
    expect(sum()).toBe(4_000_000n);
    expect(object.seen('call')).toMatchObject({
      outcome: { charge: { status: 'POSTED' } },
      billed: { cus_1: '4000000' },
    });
    accepted(object.reverseCall('call', START + 5 * MINUTE));
    await object.settle(START + 6 * MINUTE, take);
    expect(taken.map(({ amountNanoUsd }) => amountNanoUsd)).toEqual([4_000_000n, -4_000_000n]);
    expect(new Set(taken.map(({ chargeId }) => chargeId)).size).toBe(2);
  });
});

test('a reversal takes back all that the provider has, also if it refused a correction before', async () => {
  await withCall(async (object) => {
    const { taken, take } = provider({ status: 'REPORTED' }, REFUSED);
    await object.settle(START + MINUTE, take);
    accepted(object.amendCall('call', START + 2 * MINUTE, report(4_000), PRICE));
    await object.settle(START + 3 * MINUTE, take);
    accepted(object.reverseCall('call', START + 4 * MINUTE));
    await object.settle(START + 5 * MINUTE, take);
    expect(taken.map(({ amountNanoUsd }) => amountNanoUsd)).toEqual([5_000_000n, -5_000_000n]);
  });
});

test('a refused charge is listed, tried again within the window, and POSTED when the provider takes it after all', async () => {
  await withCall(async (object) => {
    const { taken, take } = provider(REFUSED, REFUSED);
    await object.settle(START + MINUTE, take);
    await object.settle(START + 2 * MINUTE, take);
    const failed = { subject: 'call', subjectId: 'call', stripeCustomerId: 'cus_1', amountUsd: '0.005' };
    expect(accepted(object.inspect(START + 3 * MINUTE))).toMatchObject({
      wallet: { openCharges: 0 },
      failedCharges: [{ ...failed, reason: REFUSED.reason, nextAttemptAt: expect.any(String) }],
    });
    expect(object.query(`SELECT 1 FROM events WHERE record ->> '$.type' = 'charge.failed'`)).toHaveLength(1);
    await object.settle(START + 3 * HOUR, take);
    expect(taken).toHaveLength(1);
    expect(accepted(object.inspect(START + 3 * HOUR)).failedCharges).toEqual([]);
    expect(object.seen('call')?.outcome?.charge).toMatchObject({ status: 'POSTED', failureReason: null });
  });
});

test('a charge that is refused for the whole window is tried no more, and stays listed', async () => {
  await withCall(async (object) => {
    const { taken, take } = provider(REFUSED, REFUSED);
    await object.settle(START + MINUTE, take);
    await object.settle(START + DAY, take);
    await object.settle(START + 3 * DAY, take);
    expect(taken).toEqual([]);
    expect(accepted(object.inspect(START + 3 * DAY)).failedCharges).toMatchObject([{ nextAttemptAt: null }]);
    accepted(object.amendCall('call', START + 3 * DAY, report(2_000), PRICE));
    await object.settle(START + 4 * DAY, take);
    expect(taken.map(({ amountNanoUsd }) => amountNanoUsd)).toEqual([2_000_000n]);
    expect(accepted(object.inspect(START + 4 * DAY)).failedCharges).toEqual([]);
  });
});

test('what may be at the provider after the window is listed, and neither sent again nor corrected there', async () => {
  for (const isAskedLate of [true, false])
    await withCall(async (object) => {
      const { taken, take } = provider(LOST, ...(isAskedLate ? [LOST] : []));
      await object.settle(START + MINUTE, take);
      // Beyond the window it is not even asked.
      if (isAskedLate) await object.settle(START + 22 * HOUR, take);
      await object.settle(START + 25 * HOUR, take);
      accepted(object.reverseCall('call', START + 26 * HOUR));
      await object.settle(START + 27 * HOUR, take);
      await object.settle(START + 4 * DAY, take);
      expect(taken).toEqual([]);
      const reason = 'STRIPE_outcome_unknown';
      expect(accepted(object.inspect(START + 4 * DAY)).failedCharges).toMatchObject([
        { amountUsd: '-0.005', reason, nextAttemptAt: null },
        { amountUsd: '0.005', reason, nextAttemptAt: null },
      ]);
      expect(object.seen('call')?.outcome?.charge).toMatchObject({ status: 'FAILED', failureReason: reason });
    });
});

test('a charge that was queued under a key waits for one, and so does its correction', async () => {
  await withCall(async (object) => {
    await object.settle(START + MINUTE);
    accepted(object.amendCall('call', START + 2 * MINUTE, report(4_000), PRICE));
    await object.settle(START + 3 * MINUTE);
    await object.settle(START + 9 * DAY);
    object.housekeep(START + 9 * DAY);
    expect(object.seen('call')?.outcome?.charge).toMatchObject({ status: 'PENDING' });
    expect(accepted(object.inspect(START + 9 * DAY)).wallet).toMatchObject({ balanceUsd: '0.996', openCharges: 2 });
    const { taken, take } = provider();
    await object.settle(START + 9 * DAY + HOUR, take);
    expect(taken.map(({ amountNanoUsd }) => amountNanoUsd)).toEqual([4_000_000n]);
    expect(object.seen('call')?.outcome?.charge).toMatchObject({ status: 'POSTED' });
  });
});

test('an increment whose charge was refused, and that is then reversed, leaves nothing at the provider', async () => {
  const overage = { model: 'SINGLE', priceUsd: '0.001', per: '1' };
  const customMeters = { CUSTOM1: { label: 'Pages', funding: { payg: true }, overage } };
  await withObject(
    { ...PLAN, customMeters },
    async (object) => {
      object.begin('first', START);
      accepted(object.grant('USD', 10n ** 9n, START));
      const [refused, taken] = [accepted(object.increment(3, START)), accepted(object.increment(4, START))];
      const stripe = provider(REFUSED);
      await object.settle(START + MINUTE, stripe.take);
      expect(stripe.sum()).toBe(4_000_000n);
      accepted(object.reverseMeterEvent(refused.eventId, START + 2 * MINUTE));
      await object.settle(START + 2 * HOUR, stripe.take);
      expect(stripe.sum()).toBe(4_000_000n);
      accepted(object.reverseMeterEvent(taken.eventId, START + 2 * HOUR));
      await object.settle(START + 3 * HOUR, stripe.take);
      expect(stripe.sum()).toBe(0n);
    },
    { stripeCustomerId: 'cus_1' },
  );
});

test('an amendment does not move a charge to another customer of the provider', async () => {
  await withCall(async (object) => {
    const { take } = provider();
    await object.settle(START + MINUTE, take);
    const other = { ...report(2_000), stripeCustomerId: 'cus_2' };
    expect(object.amendCall('call', START + 2 * MINUTE, other, PRICE)).toMatchObject({
      ok: false,
      refusal: { code: 'BAD_REQUEST', members: { details: [{ path: 'stripeCustomerId' }] } },
    });
    expect(object.seen('call')?.corrections).toBeUndefined();
    accepted(object.amendCall('call', START + 2 * MINUTE, { ...other, stripeCustomerId: 'cus_1' }, PRICE));
    await object.settle(START + 3 * MINUTE, take);
  });
});
