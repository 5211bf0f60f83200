/**
 * Promise: the billing provider ends with what a history without the mistake would have told it, whatever fails on the
 * way.
 */
import { expect, test } from 'vitest';
import type { Reporter } from '../../durable-objects/customer/commands/settlement.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { usage } from '../unit/fixtures.ts';

const START = Date.UTC(2039, 5, 1, 12);
const MINUTE = 60_000;
const PLAN = {
  name: 'test',
  limitType: 'BLOCK',
  limits: { premiumCalls: 0, standardCalls: 0 },
  payg: { enabled: true, markupPercent: 0 },
};
const PRICE: ResolvedPrice = {
  available: true,
  card: rateCard({ input: '1000000000', output: '1' }),
};
const report = (inputTokens: number) => ({ usage: usage({ inputTokens }), modelUsed: 'm' });

/** A provider that answers as it is told, and writes down what it has taken. */
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
      expect(object.rows('charges')).toBe(0);
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

test('of a charge that the provider refused it gets no correction, and the balance gets it back', async () => {
  for (const isReversedFirst of [true, false])
    await withCall(async (object) => {
      const { taken, take } = provider({ status: 'REJECTED', reason: 'STRIPE_no_meter' });
      if (isReversedFirst) accepted(object.reverseCall('call', START + 1));
      await object.settle(START + MINUTE, take);
      if (!isReversedFirst) accepted(object.reverseCall('call', START + 2 * MINUTE));
      await object.settle(START + 9 * MINUTE, take);
      expect(taken).toEqual([]);
      expect(accepted(object.inspect(START + 10 * MINUTE)).wallet).toMatchObject({
        balanceUsd: '1',
        unsettledUsd: '0',
      });
      expect(object.seen('call')?.outcome?.charge).toMatchObject({ status: 'FAILED' });
    });
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
