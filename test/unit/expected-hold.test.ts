/**
 * Promise: a plan with expected holds holds the usual share that the customer's answers of the model cost of their
 * bounds, if an exact plan would hold more; the vendor gets the same bound, and the charge is the same as on an exact
 * plan.
 */

import { describe, expect, test } from 'vitest';
import { beginCall, outputTokensByTier } from '../../src/domain/begin-call.ts';
import type { CallBound } from '../../src/domain/bound.ts';
import { type BeginRequest, type Call, endCall } from '../../src/domain/call.ts';
import { expectedCharge, SHARES_LEAST, SHARES_MAX, shareOfBound, withShare } from '../../src/domain/expected-hold.ts';
import type { BoundAndStep } from '../../src/domain/hold.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { endLostCall } from '../../src/domain/lost-call.ts';
import type { HoldPolicy } from '../../src/domain/plan.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { availableUsd } from '../../src/domain/wallet.ts';
import { rateCard } from '../support/rate-cards.ts';
import { account, plan, usage, withBalance } from './fixtures.ts';

/** A nano-USD for each token of input, ten for each of output. */
const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '1000000', output: '10000000' }) };
const DEADLINE = 3_600_000;
/** 1,000,000 nano-USD for the prompt and 40,000 for the output. */
const BOUND: CallBound = {
  model: 'm',
  tier: null,
  outputTokens: 4_000,
  answers: 1,
  inSteps: false,
  cost: { inputNanoUsd: '1000000', outputNanoUsdPerMillion: '10000000' },
  ifLost: { modelUsed: 'm', inputTokens: 1_000_000, price: PRICE },
};
const EXPECTED = { holds: 'EXPECTED' } as const;
/** So many answers that came to a twentieth of their bounds. */
const cached = (answers: number) => Array.from({ length: answers }, () => 50_000);

function begin(
  available: bigint,
  change: Partial<CallBound> = {},
  { holds, shares = cached(20), markupPercent = 0, ...request }: Partial<BeginRequest> & Terms = EXPECTED,
) {
  const limits = { standardCalls: 0, premiumCalls: 0 };
  const opened = account(plan({ limits, payg: { enabled: true, markupPercent, holds } }));
  const from = withBalance(opened, available);
  const expected = {
    bounds: [{ ...BOUND, ...change }],
    usualCharge: () => 1n,
    expectedCharge: (model: string, most: BoundAndStep) => expectedCharge(model === 'm' ? shares : [], most),
  };
  return beginCall(from, asCallId('call'), { requested: {}, pricingMode: 'standard', ...request }, expected, {
    deadlineAtMs: DEADLINE,
    nowMs: 0,
  });
}

interface Terms {
  holds?: HoldPolicy | undefined;
  shares?: number[];
  markupPercent?: number;
}

const heldNanoUsd = ({ credit }: Call) => BigInt(credit?.heldNanoUsd ?? 0);

describe('what is expected', () => {
  test('is the 95th percentile of the shares, from 20 answers on, and at least a step', () => {
    const shares = Array.from({ length: SHARES_LEAST }, (_, index) => (index + 1) * 10_000);
    expect(expectedCharge(shares, { boundNanoUsd: 1_000_000n, stepNanoUsd: 0n })).toBe(190_000n);
    expect(expectedCharge(shares.slice(1), { boundNanoUsd: 1_000_000n, stepNanoUsd: 0n })).toBeNull();
    expect(expectedCharge(shares, { boundNanoUsd: 1_000_000n, stepNanoUsd: 200_000n })).toBe(200_000n);
    // Rounded up.
    expect(expectedCharge(cached(20), { boundNanoUsd: 10n, stepNanoUsd: 0n })).toBe(1n);
  });

  test('comes from the last hundred answers whose usage is reported and which the balance paid at their price', () => {
    const expectation = { model: 'm', boundNanoUsd: '1000', isHeld: false };
    const charge = {
      chargeId: 'c',
      amountNanoUsd: '30',
      markupPercent: 0,
      status: 'PENDING',
      failureReason: null,
    } as const;
    const share = (change: object, usageSource?: 'estimated') =>
      shareOfBound(expectation, { charge: { ...charge, ...change }, usageSource });
    expect(share({})).toBe(30_000);
    expect(share({ amountNanoUsd: '2000' })).toBe(1_000_000);
    expect(share({}, 'estimated')).toBeNull();
    expect(share({ basis: 'HELD' })).toBeNull();
    expect(share({ amountNanoUsd: null })).toBeNull();
    expect(share({ amountNanoUsd: '0' })).toBeNull();
    expect(shareOfBound(expectation, { charge: null, usageSource: undefined })).toBeNull();
    const many = Array.from({ length: 150 }, (_, index) => index).reduce(withShare, [] as number[]);
    expect([many.length, many[0], many.at(-1)]).toEqual([SHARES_MAX, 50, 149]);
  });
});

describe('a call on a plan with expected holds', () => {
  test('holds what is expected, and is sent the bound of an exact plan', () => {
    const expected = begin(5_000_000n).call;
    const exact = begin(5_000_000n, {}, { holds: 'EXACT' }).call;
    expect([heldNanoUsd(expected), heldNanoUsd(exact)]).toEqual([52_000n, 1_040_000n]);
    expect(outputTokensByTier(expected)).toEqual(outputTokensByTier(exact));
    expect(expected.ifLost).toEqual(exact.ifLost);
    expect(expected.credit?.expectation).toEqual({ model: 'm', boundNanoUsd: '1040000', isHeld: true });
    expect(exact.credit).not.toHaveProperty('expectation');
  });

  test('holds a step at least, with the markup, and what the caller asks for', () => {
    const one = Array.from({ length: 20 }, () => 1);
    expect(heldNanoUsd(begin(5_000_000n, {}, { ...EXPECTED, shares: one, markupPercent: 100 }).call)).toBe(20_480n);
    expect(heldNanoUsd(begin(5_000_000n, {}, { ...EXPECTED, holdUsd: 0.0007 }).call)).toBe(700_000n);
    expect(heldNanoUsd(begin(5_000_000n, {}, { ...EXPECTED, holdUsd: 0.002 }).call)).toBe(2_000_000n);
  });

  test.each([
    ['too few answers', { ...EXPECTED, shares: cached(19) }, {}],
    ['answers of another model', EXPECTED, { model: 'other' }],
    ['no name of a model', EXPECTED, { model: undefined }],
    ['a plan from before', {}, {}],
  ])('holds as on an exact plan with %s', (_what, terms, change) => {
    expect(heldNanoUsd(begin(5_000_000n, change as Partial<CallBound>, terms).call)).toBe(1_040_000n);
  });

  test('never holds more than on an exact plan: a stream takes steps if its first one is less', () => {
    const stream = { inSteps: true, cost: { inputNanoUsd: '1000', outputNanoUsdPerMillion: '10000000' } };
    const steps = begin(5_000_000n, stream, { ...EXPECTED, shares: Array.from({ length: 20 }, () => 900_000) }).call;
    expect(steps.credit).toMatchObject({ heldNanoUsd: '11240', steps: { heldTokens: 1_024 } });
    expect(steps.credit?.expectation).toEqual({ model: 'm', boundNanoUsd: '41000', isHeld: false });
    const whole = begin(5_000_000n, { inSteps: true }).call;
    expect(whole.credit).toMatchObject({ heldNanoUsd: '52000', outputTokens: 4_000 });
    expect(whole.credit).not.toHaveProperty('steps');
  });

  test('is refused only if an exact plan refuses it too', () => {
    expect(begin(51_999n).denial?.code).toBe('CREDIT_REQUIRED');
    expect(begin(52_000n).denial).toBeNull();
    // Less than is expected, but enough for some output: that is held exactly.
    const thinking = {
      ...{ thinks: true, fitsBalance: true },
      cost: { inputNanoUsd: '1000', outputNanoUsdPerMillion: '10000000' },
    };
    const dear = { ...EXPECTED, shares: Array.from({ length: 20 }, () => 900_000) };
    expect(heldNanoUsd(begin(36_900n, thinking, dear).call)).toBe(36_900n);
    expect(begin(36_900n, thinking, dear).call.credit).toMatchObject({
      outputTokens: 4_000,
      expectation: { isHeld: true },
    });
    expect(begin(21_000n, thinking, dear).call.credit).toMatchObject({
      ...{ heldNanoUsd: '21000', outputTokens: 2_000 },
      expectation: { boundNanoUsd: '21000', isHeld: false },
    });
  });

  test('is charged in full, above what was held, and the record says what that was', () => {
    const { account: from, call } = begin(100_000n);
    const report = { modelUsed: 'm', usage: usage({ inputTokens: 1_000_000, responseTokens: 4_000 }) };
    const { account: after, call: ended } = endCall(from, call, report, PRICE, 'charge', 1);
    expect(ended.outcome?.charge?.amountNanoUsd).toBe('1040000');
    expect(ended.credit).toMatchObject({ heldAtEndNanoUsd: '52000', exceededNanoUsd: '52000' });
    expect(availableUsd(after.wallet)).toBe(-940_000n);
    if (!call.ifLost) throw new Error('the service makes it');
    const lost = endLostCall(from, call, call.ifLost, 'charge').call;
    expect(lost.outcome?.charge?.amountNanoUsd).toBe('1040000');
  });

  test('is charged by its bound if something has no rate, as on an exact plan', () => {
    const none: ResolvedPrice = { available: false, reason: 'MODEL_NOT_IN_CATALOG' };
    const charged = (holds: HoldPolicy) => {
      const { account: from, call } = begin(5_000_000n, {}, { holds });
      const report = { modelUsed: 'm', usage: usage({ inputTokens: 10, responseTokens: 4 }) };
      return endCall(from, call, report, none, 'charge', 1).call.outcome?.charge;
    };
    expect(charged('EXPECTED')).toMatchObject({ amountNanoUsd: '1040000', basis: 'HELD' });
    expect(charged('EXPECTED')).toEqual(charged('EXACT'));
  });
});
