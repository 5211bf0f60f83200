/**
 * The charge of a call with parts if a part has no price, the payer of each part, and the effect of a correction: plain
 * examples.
 */

import { describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { beginCall } from '../../src/domain/begin-call.ts';
import type { CallBound } from '../../src/domain/bound.ts';
import { type BeginRequest, type Call, endCall } from '../../src/domain/call.ts';
import type { PricedPart } from '../../src/domain/call-parts.ts';
import { amendCall, repriceCall, reverseCall } from '../../src/domain/correct-call.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { withEstimate, withLostAttempts } from '../../src/domain/lost-call.ts';
import { costMultiplier, inMode, type ResolvedPrice } from '../../src/domain/pricing.ts';
import { grantCredit } from '../../src/domain/wallet.ts';
import { rateCard } from '../support/rate-cards.ts';
import { account, type PartialUsage, type PlanChange, plan, usage } from './fixtures.ts';

/** A nano-USD for each token of input, ten for each of output. */
const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '1000000', output: '10000000' }) };
/** The price of a premium model: a thousand times as much. */
const DEAR: ResolvedPrice = {
  available: true,
  card: rateCard({ input: '1000000000', output: '50000000000' }, [], { modelKey: 'made/dear' }),
};
const NONE: ResolvedPrice = { available: false, reason: 'MODEL_NOT_IN_CATALOG' };
const FUNDS = '100000000';
const WHY = { atMs: 9, reason: 'why', by: 'operator' };
const IDS = { chargeId: 'again', differenceId: 'difference' };
/** Holds 1,000 for the input and 5,000 for the output. */
const BOUND: CallBound = {
  ...{ tier: null, outputTokens: 500, answers: 1, inSteps: false },
  cost: { inputNanoUsd: '1000', outputNanoUsdPerMillion: '10000000' },
  ifLost: { inputTokens: 100, price: PRICE },
};

function begun(change: PlanChange, request: Partial<BeginRequest> = {}) {
  const content = plan({ payg: { enabled: true, markupPercent: 10 }, ...change });
  const credit = { creditId: 'c', unit: 'USD', granted: FUNDS, remaining: FUNDS } as const;
  const opened = account(content);
  const wallet = grantCredit(opened.wallet, { ...credit, grantedAtMs: 0, expiresAtMs: null, reference: null });
  const asked: BeginRequest = { requested: {}, pricingMode: 'standard', openedBy: 'request', ...request };
  return beginCall(
    { ...opened, wallet, onBalance: { calls: 0, nanoUsd: '0' } },
    asCallId('call'),
    asked,
    { bounds: [BOUND], usualCharge: () => 700n },
    { deadlineAtMs: 1_000, nowMs: 0 },
  );
}

const part = (modelUsed: string, used: PartialUsage, price: ResolvedPrice): PricedPart => ({
  ...{ modelUsed, usage: usage(used), price },
});

function ended(from: { account: Account; call: Call }, price: ResolvedPrice, parts: PricedPart[]) {
  const report = { modelUsed: 'own', usage: usage({ inputTokens: 100, responseTokens: 10 }), parts };
  return endCall(from.account, from.call, report, price, 'charge', 5);
}

const presentCharge = ({ call }: { call: Call }) => {
  const { amountNanoUsd = null, basis = null, status = null } = call.outcome?.charge ?? {};
  return [amountNanoUsd, basis, status];
};
const ALL_ON_CREDIT = { limits: { standardCalls: 0, premiumCalls: 0 } };
const STANDARD_INCLUDED = { limits: { standardCalls: 5, premiumCalls: 0 } };

describe('on credit', () => {
  test('each part is charged exactly, with the markup once on their sum', () => {
    const from = begun(ALL_ON_CREDIT);
    // 200 of its own, and 105 of the part.
    const { call } = ended(from, PRICE, [part('other', { inputTokens: 95, responseTokens: 1 }, PRICE)]);
    expect(presentCharge({ call })).toEqual(['336', null, 'PENDING']);
  });

  test('a part without a price is charged by the hold, and the others exactly', () => {
    const from = begun(ALL_ON_CREDIT);
    const held = BigInt(from.call.credit?.heldNanoUsd ?? 0);
    const other = part('other', { inputTokens: 95, responseTokens: 1 }, NONE);
    const one = ended(from, PRICE, [other]);
    expect(one.call.outcome?.price).toEqual({ status: 'UNAVAILABLE', reason: 'MODEL_NOT_IN_CATALOG' });
    expect(presentCharge(one)).toEqual([(held + 220n).toString(), 'HELD', 'PENDING']);
    expect(presentCharge(ended(from, PRICE, [other, other])), 'each of them').toEqual([
      (2n * held + 220n).toString(),
      'HELD',
      'PENDING',
    ]);
    const own = ended(from, NONE, [part('other', { inputTokens: 95, responseTokens: 1 }, PRICE)]);
    expect(presentCharge(own)).toEqual([(held + 116n).toString(), 'HELD', 'PENDING']);
    const prices = { price: PRICE, parts: [{ modelUsed: 'other', price: PRICE }], jobId: 'job' };
    const repriced = repriceCall(one.account, one.call, prices, WHY, IDS);
    expect(repriced && presentCharge(repriced)).toEqual(['336', null, 'PENDING']);
    expect(repriced?.correction.charge?.amountNanoUsd).toBe((336n - held - 220n).toString());
  });

  test('if nothing is held for what has no price, what has one is charged all the same', () => {
    const from = begun(ALL_ON_CREDIT);
    const { heldForInputNanoUsd: _sides, ...credit } = from.call.credit ?? {
      tiers: [],
      markupPercent: 0,
      heldNanoUsd: '0',
    };
    const { ifLost: _ifLost, ...call } = from.call;
    const advised = { account: from.account, call: { ...call, credit } };
    expect(presentCharge(ended(advised, PRICE, [part('other', { inputTokens: 1 }, NONE)]))).toEqual([
      '220',
      null,
      'PENDING',
    ]);
    expect(presentCharge(ended(advised, NONE, [part('other', { inputTokens: 1 }, NONE)]))).toEqual([
      null,
      null,
      'FAILED',
    ]);
  });
});

describe('in a batch', () => {
  const listed = (price: ResolvedPrice): ResolvedPrice => {
    if (!price.available) return price;
    const { card } = price;
    const rates = card.rates.map((rate) => ({ ...rate, when: { serviceTier: 'batch' as const } }));
    return { available: true, card: { ...card, rates: [...card.rates, ...rates] } };
  };
  const used = { inputTokens: 95, responseTokens: 1 };
  const vendorReported = { nanoUsd: '333', isUsed: true };

  // 200 of its own and 105 of the part, which are halved unless the price lists rates for batches.
  test.each([
    ['all is halved', {}, PRICE, PRICE, '153', 0.5],
    ['rates for batches are listed', {}, listed(PRICE), listed(PRICE), '305', 1],
    ['a part is halved', {}, listed(PRICE), PRICE, '253', 1],
    ['the answer is halved', {}, PRICE, listed(PRICE), '205', 1],
    ['the vendor has a figure of its own', { vendorReported }, PRICE, PRICE, '386', 1],
  ] as const)('the cost is the standard cost times the multiplier, and the lines sum to it: %s', (...row) => {
    const [, more, price, other, cost, multiplier] = row;
    const from = begun(ALL_ON_CREDIT, { pricingMode: 'batch' });
    const report = { modelUsed: 'own', usage: usage({ inputTokens: 100, responseTokens: 10 }), ...more };
    const parts = [part('other', used, other)];
    const { call } = endCall(from.account, from.call, { ...report, parts }, price, 'charge', 5);
    const final = call.outcome?.price;
    if (final?.status !== 'FINAL') throw new Error('it has a price');
    expect([final.costNanoUsd, costMultiplier(final, 'batch')]).toEqual([cost, multiplier]);
    const { lines, standardCostUsdNano } = final.breakdown;
    const sum = lines.reduce((all, line) => all + BigInt(line.costUsdNano), 0n);
    expect(standardCostUsdNano).toBe(sum.toString());
    expect(inMode(sum, multiplier === 0.5 ? 'batch' : 'standard', {})).toBe(BigInt(cost));
  });
});

describe('a standard answer from the allowance after a dear attempt on credit', () => {
  const from = begun(STANDARD_INCLUDED);
  const whole = ended(from, PRICE, [part('dear', { inputTokens: 10, responseTokens: 2 }, DEAR)]);
  const DEAR_COST = 110_000n * 110n;
  const amount = (DEAR_COST / 100n).toString();

  test('is charged for the attempt alone, and counts as a call of the allowance', () => {
    expect(presentCharge(whole)).toEqual([amount, null, 'PENDING']);
    expect(whole.call.outcome?.consumed).toEqual({ standardCalls: 1, standardTokens: 10 });
    expect(whole.account.onBalance).toEqual({ calls: 0, nanoUsd: amount });
  });

  test('is paid by the same payers after an amendment, and given back to them by a reversal', () => {
    const dear = part('dear', { inputTokens: 10, responseTokens: 4 }, DEAR);
    const report = { modelUsed: 'own', usage: usage({ responseTokens: 30 }), parts: [dear] };
    const amended = amendCall(whole.account, whole.call, { report, price: PRICE, fingerprint: 'f' }, WHY, IDS);
    expect(amended?.call.outcome?.consumed).toEqual({ standardCalls: 1, standardTokens: 30 });
    expect(amended?.correction.charge?.amountNanoUsd).toBe(((100_000n * 110n) / 100n).toString());
    if (!amended) throw new Error('the call can be amended');
    const reversed = reverseCall(amended.account, amended.call, WHY, 'back');
    expect(reversed.correction.charge?.amountNanoUsd).toBe(((-210_000n * 110n) / 100n).toString());
    expect(reversed.account.onBalance).toEqual({ calls: 0, nanoUsd: '0' });
    expect(reversed.account.meters.consumed).toMatchObject({ standardCalls: 0, standardTokens: 0 });
  });
});

test('attempts whose answers did not come are parts by estimate: the whole is provisional, and their output at most its bound', () => {
  const from = begun(ALL_ON_CREDIT);
  const estimate = {
    ...({ usage: usage({ inputTokens: 100 }), source: 'estimated', isWhole: false, outputTokensMax: 400 } as const),
    price: PRICE,
  };
  const answered = { report: { modelUsed: 'own', usage: usage({ inputTokens: 1, responseTokens: 1 }) }, price: PRICE };
  const attempts = [
    { modelUsed: 'slow', estimate },
    { modelUsed: 'fast', estimate: { ...estimate, worked: { ms: 2_500, answers: 1 }, outputRate: 100 } },
  ];
  const ending = withEstimate(from.call, answered, undefined);
  const { report, price } = withLostAttempts(from.call, ending, attempts);
  const { outcome } = endCall(from.account, from.call, report, price, 'charge', 5).call;
  expect(
    outcome?.parts?.map(({ modelUsed, usage: used, usageSource }) => [modelUsed, used.responseTokens, usageSource]),
  ).toEqual([
    ['own', 1, undefined],
    ['slow', 400, 'estimated'],
    ['fast', 250, 'estimated'],
  ]);
  expect([outcome?.usage.responseTokens, outcome?.usageSource]).toEqual([651, 'partial']);
});

test('a call that was kept before there were parts reads, and is corrected, as one without', () => {
  const from = begun(ALL_ON_CREDIT);
  const { account: after, call } = ended(from, NONE, []);
  const old = JSON.parse(JSON.stringify(call)) as Call;
  expect('parts' in (old.outcome ?? {})).toBe(false);
  const repriced = repriceCall(after, old, { price: PRICE, jobId: 'job' }, WHY, IDS);
  expect(repriced?.call.outcome?.price).toMatchObject({ status: 'FINAL', costNanoUsd: '200' });
});
