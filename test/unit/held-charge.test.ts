/**
 * The charge of a call with a use that has no rate, and its settlement when a rate comes: plain examples.
 */

import { describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { beginCall, extendSteps } from '../../src/domain/begin-call.ts';
import type { CallBound } from '../../src/domain/bound.ts';
import { type BeginRequest, type Call, endCall, timeOutCall } from '../../src/domain/call.ts';
import type { CallReport } from '../../src/domain/call-report.ts';
import { amendCall, repriceCall, reverseCall } from '../../src/domain/correct-call.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { endLostCall } from '../../src/domain/lost-call.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { grantCredit } from '../../src/domain/wallet.ts';
import { rateCard } from '../support/rate-cards.ts';
import { account, type PartialUsage, plan, usage } from './fixtures.ts';

/** A nano-USD for each token of input, ten for each of output. */
const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '1000000', output: '10000000' }) };
const NONE: ResolvedPrice = { available: false, reason: 'MODEL_NOT_IN_CATALOG' };
const FUNDS = '100000';
const WHY = { atMs: 9, reason: 'a rate came', by: 'operator' };
const IDS = { chargeId: 'again', differenceId: 'difference' };
const IF_LOST = { inputTokens: 100, price: PRICE };
/** Holds 1,000 for the input and 5,000 for the output. */
const BOUND: CallBound = {
  tier: null,
  outputTokens: 500,
  answers: 1,
  inSteps: false,
  cost: { inputNanoUsd: '1000', outputNanoUsdPerMillion: '10000000' },
  ifLost: IF_LOST,
};
const UNPRICED: CallBound = { ...BOUND, cost: null, ifLost: { ...IF_LOST, price: NONE } };
/** A request that the service makes. */
const MADE = { openedBy: 'request' };

function begun(bounds: CallBound[], request: Partial<BeginRequest> = MADE, markupPercent = 0) {
  const content = plan({
    limits: { standardCalls: 0, premiumCalls: 0 },
    payg: { enabled: true, markupPercent },
  });
  const credit = { creditId: 'c', unit: 'USD', granted: FUNDS, remaining: FUNDS } as const;
  const opened = account(content);
  const wallet = grantCredit(opened.wallet, { ...credit, grantedAtMs: 0, expiresAtMs: null, reference: null });
  const asked: BeginRequest = { requested: {}, pricingMode: 'standard', ...request };
  return beginCall(
    { ...opened, wallet },
    asCallId('call'),
    asked,
    { bounds, usualCharge: () => 700n },
    { deadlineAtMs: 1_000, nowMs: 0 },
  );
}

function ended(
  from: { account: Account; call: Call },
  used: PartialUsage,
  price = PRICE,
  more: Partial<CallReport> = {},
) {
  const report = { modelUsed: 'm', usage: usage(used), ...more };
  return endCall(from.account, from.call, report, price, 'charge', 5);
}

const presentCharge = ({ call }: { call: Call }) => {
  const { amountNanoUsd = null, basis = null, status = null } = call.outcome?.charge ?? {};
  return [amountNanoUsd, basis, status];
};
const finalCost = ({ call }: { call: Call }) =>
  call.outcome?.price.status === 'FINAL' ? call.outcome.price.costNanoUsd : null;

describe('a call of which something has no rate', () => {
  test('without any rate for its conditions is charged all that was held', () => {
    const flex = ended(begun([BOUND]), { inputTokens: 100, responseTokens: 10, serviceTier: 'flex' });
    expect([finalCost(flex), ...presentCharge(flex)]).toEqual([null, '6000', 'HELD', 'PENDING']);
    expect([flex.account.wallet.held, flex.account.wallet.unsettled]).toEqual(['0', '6000']);
  });

  test('is charged exactly on the side that has its rates, and by the hold on the other', () => {
    const heard = ended(begun([BOUND]), { inputTokens: 100, audioInputTokens: 1, responseTokens: 10 });
    expect(presentCharge(heard)).toEqual(['1100', 'HELD', 'PENDING']);
    const spoken = ended(begun([BOUND]), { inputTokens: 100, responseTokens: 10, audioOutputTokens: 1 });
    expect(presentCharge(spoken)).toEqual(['5100', 'HELD', 'PENDING']);
    const marked = ended(begun([BOUND], MADE, 50), { inputTokens: 100, responseTokens: 10, audioOutputTokens: 1 });
    expect(presentCharge(marked)[0]).toBe('7650');
  });

  test('costs its lines if the vendor exceeded what was held', () => {
    const much = ended(begun([BOUND]), { inputTokens: 3_001, audioInputTokens: 1, responseTokens: 10 });
    expect(presentCharge(much)).toEqual(['3100', 'HELD', 'PENDING']);
  });

  test('is charged by its hold for a use without a rate too, of which the cost is known without it', () => {
    const searched = ended(begun([BOUND]), { inputTokens: 100, responseTokens: 10, searches: 1 });
    expect([finalCost(searched), ...presentCharge(searched)]).toEqual(['200', '1100', 'HELD', 'PENDING']);
  });

  test('costs the whole hold if it began before the sides of a hold were told apart', () => {
    const { account: from, call } = begun([BOUND]);
    const { heldForInputNanoUsd: _sides, ...before } = call.credit ?? { tiers: [], markupPercent: 0, heldNanoUsd: '0' };
    const old = ended({ account: from, call: { ...call, credit: before } }, { inputTokens: 1, audioInputTokens: 1 });
    expect(presentCharge(old)).toEqual(['6000', 'HELD', 'PENDING']);
    const amendment = {
      report: { usage: usage({ inputTokens: 2, audioInputTokens: 2 }) },
      price: PRICE,
      fingerprint: 'f',
    };
    const amended = amendCall(old.account, old.call, amendment, WHY, IDS);
    expect(amended?.correction.charge, 'what was held is remembered').toBeNull();
  });

  test('in steps costs the steps that were held by its end, with the input beside them', () => {
    const { account: from, call } = begun([{ ...BOUND, outputTokens: 4_000, inSteps: true }]);
    const extended = extendSteps(from, call, 2_048);
    if (!extended) throw new Error('the call is open, and held in steps');
    const spoken = { inputTokens: 100, responseTokens: 10, audioOutputTokens: 1 };
    expect(presentCharge(ended({ account: from, call }, spoken))).toEqual(['10340', 'HELD', 'PENDING']);
    expect(presentCharge(ended(extended, spoken))).toEqual(['20580', 'HELD', 'PENDING']);
  });

  test('of a model without a price is charged what was asked to be held, else the usual charge', () => {
    expect(presentCharge(ended(begun([UNPRICED]), { inputTokens: 1 }, NONE))).toEqual(['700', 'HELD', 'PENDING']);
    const asked = begun([UNPRICED], { ...MADE, holdUsd: 0.000001 });
    expect(presentCharge(ended(asked, { inputTokens: 1 }, NONE))).toEqual(['1000', 'HELD', 'PENDING']);
  });

  test('that its caller makes and reports is not charged by a hold that nothing bounds', () => {
    const reported = ended(begun([], {}), { inputTokens: 1 }, NONE);
    expect(presentCharge(reported)).toEqual([null, null, 'FAILED']);
    const { ifLost: _lost, ...estimated } = BOUND;
    expect(presentCharge(ended(begun([estimated], {}), { inputTokens: 1 }, NONE))).toEqual(['6000', 'HELD', 'PENDING']);
    const made = ended(begun([{ ...estimated, cost: null }], MADE), { inputTokens: 1 }, NONE);
    expect(presentCharge(made), 'it ran before its begin').toEqual([null, null, 'FAILED']);
  });

  test('has no charge if it failed without usage, and its price if the vendor says what it cost', () => {
    const error = { code: 'E', message: 'refused' };
    expect(ended(begun([UNPRICED]), {}, NONE, { error }).call.outcome?.charge).toBeNull();
    const vendorReported = { nanoUsd: '42', isUsed: true };
    const told = ended(begun([BOUND]), { inputTokens: 1, serviceTier: 'flex' }, PRICE, { vendorReported });
    expect(presentCharge(told)).toEqual(['42', null, 'PENDING']);
  });

  test('of which nothing was heard is charged by its hold, at the deadline and when its figures come', () => {
    const { account: from, call } = begun([UNPRICED]);
    if (!call.ifLost) throw new Error('the service makes the call');
    const lost = endLostCall(from, call, call.ifLost, 'charge');
    expect([lost.call.status, ...presentCharge(lost)]).toEqual(['TIMEOUT', '700', 'HELD', 'PENDING']);
    const reported = begun([], {});
    const late = timeOutCall(reported.account, reported.call);
    expect(presentCharge(ended(late, { inputTokens: 1 }, NONE))).toEqual([null, null, 'FAILED']);
    expect(late.call.credit?.heldAtEndNanoUsd, 'what was at stake').toBe('700');
  });
});

describe('a charge by the hold', () => {
  const flex = () => ended(begun([BOUND]), { inputTokens: 100, responseTokens: 10, serviceTier: 'flex' });
  const withFlex = (output: string): ResolvedPrice => {
    const card = rateCard({ input: '1000000', output: '10000000' });
    const when = { serviceTier: 'flex' } as const;
    card.rates.push({ component: 'input', nanoUsdPerMillion: '500000', when });
    card.rates.push({ component: 'output', nanoUsdPerMillion: output, when });
    return { available: true, card };
  };

  test('is settled to the price when one comes: what was too much comes back', () => {
    const { account: from, call } = flex();
    expect(repriceCall(from, call, { price: PRICE, jobId: 'job' }, WHY, IDS), 'still no rate').toBeNull();
    const repriced = repriceCall(from, call, { price: withFlex('5000000'), jobId: 'job' }, WHY, IDS);
    expect(repriced?.correction).toMatchObject({ kind: 'REPRICED', charge: { amountNanoUsd: '-5900' } });
    expect(repriced && presentCharge(repriced)).toEqual(['100', null, 'PENDING']);
  });

  test('that is the price to the cent is one from then on', () => {
    const { account: from, call } = flex();
    const repriced = repriceCall(from, call, { price: withFlex('595000000'), jobId: 'job' }, WHY, IDS);
    expect([repriced?.correction.charge, ...(repriced ? presentCharge(repriced) : [])]).toEqual([
      null,
      '6000',
      null,
      'PENDING',
    ]);
  });

  test('stands if an amendment reports what has no rate either, and comes back if the call is reversed', () => {
    const { account: from, call } = flex();
    const amend = (used: PartialUsage) =>
      amendCall(from, call, { report: { usage: usage(used) }, price: PRICE, fingerprint: 'f' }, WHY, IDS);
    expect(amend({ inputTokens: 1, serviceTier: 'flex' })?.correction.charge?.amountNanoUsd).toBe('-5000');
    expect(amend({ inputTokens: 1, responseTokens: 1, serviceTier: 'flex' })?.correction.charge).toBeNull();
    expect(amend({ inputTokens: 1, responseTokens: 1 })?.correction.charge?.amountNanoUsd).toBe('-5989');
    expect(reverseCall(from, call, WHY, 'back').correction.charge?.amountNanoUsd).toBe('-6000');
  });
});
