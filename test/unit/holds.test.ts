/**
 * The hold of a call on credit, the reason of its denial, and the record of a lost call: plain examples.
 */

import { describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { admitCall, beginCall, extendSteps, outputTokensByTier } from '../../src/domain/begin-call.ts';
import {
  type CallBound,
  costAtMost,
  costBound,
  costOfPrompt,
  type Demand,
  promptCost,
  withPromptTokens,
} from '../../src/domain/bound.ts';
import { type BeginRequest, type Call, endCall, timeOutCall } from '../../src/domain/call.ts';
import {
  affordableTokens,
  computeHold,
  OUTPUT_TOKENS_MAX_DEFAULT,
  percentile95,
  usualCharge,
} from '../../src/domain/hold.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { type Estimate, endLostCall, withEstimate } from '../../src/domain/lost-call.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { availableUsd } from '../../src/domain/wallet.ts';
import { rateCard } from '../support/rate-cards.ts';
import { account, type PlanChange, plan, usage, withBalance } from './fixtures.ts';

const CENT = 10_000_000n;
const DEADLINE = 3_600_000;
/** A nano-USD for each token of input, ten for each of output. */
const RATES = { input: '1000000', output: '10000000' };
const PRICE: ResolvedPrice = { available: true, card: rateCard(RATES) };
const TEXT: Demand = {
  inputTokens: 1_000,
  input: [],
  output: [],
  outputBeside: 0,
  uses: {},
  serviceTiers: ['standard'],
  speeds: ['standard'],
  anyRegion: false,
  rates: [],
  open: [],
};

/** A call that costs `input`, and ten nano-USD for each output token. */
function bound(input: number, change: Partial<CallBound> = {}): CallBound {
  return {
    tier: null,
    outputTokens: 500,
    answers: 1,
    inSteps: false,
    cost: { inputNanoUsd: String(input), outputNanoUsdPerMillion: '10000000' },
    ...change,
  };
}

/** Only credit pays, with this much of it. */
function onCredit(nanoUsd: bigint, change: PlanChange = {}): Account {
  const limits = { standardCalls: 0, premiumCalls: 0 };
  const opened = account(
    plan({ payg: { enabled: true, markupPercent: 0 }, ...change, limits: { ...limits, ...change.limits } }),
  );
  return withBalance(opened, nanoUsd);
}

function begin(from: Account, bounds: CallBound[], request: Partial<BeginRequest> = {}, usual: bigint = CENT) {
  const asked: BeginRequest = { requested: {}, pricingMode: 'standard', ...request };
  return beginCall(
    from,
    asCallId('call'),
    asked,
    { bounds, usualCharge: () => usual },
    { deadlineAtMs: DEADLINE, nowMs: 0 },
  );
}

const LOST = { modelUsed: 'm', inputTokens: 900, price: PRICE };
const heldNanoUsd = ({ credit }: Call) => BigInt(credit?.heldNanoUsd ?? 0);

describe('the bound of a cost', () => {
  test('of text is the input and so many output tokens', () => {
    const cost = costBound(rateCard(RATES), TEXT, 'standard');
    // A nano-USD more for each line that may be rounded up.
    expect(cost).toEqual({ inputNanoUsd: '1018', outputNanoUsdPerMillion: '10000000' });
    expect(costAtMost(cost, 500)).toBe(6_018n);
    expect(costAtMost(cost, 0)).toBe(1_018n);
  });

  test('has the rates of a long prompt only if the prompt may be long', () => {
    const card = rateCard(RATES, [{ inputTokensAbove: 1_000, rates: { input: '2000000', output: '15000000' } }]);
    expect(costBound(card, TEXT, 'standard').outputNanoUsdPerMillion).toBe('10000000');
    const long = costBound(card, { ...TEXT, inputTokens: 1_001 }, 'standard');
    expect(long).toEqual({ inputNanoUsd: '2020', outputNanoUsdPerMillion: '15000000' });
  });

  test('scales what has no rate for a long prompt as the input is scaled', () => {
    const card = rateCard({ ...RATES, cacheWrite: '1250000' }, [
      { inputTokensAbove: 100, rates: { input: '2000000' } },
    ]);
    const marked = { ...TEXT, input: ['cacheWrite'] as const };
    expect(costBound(card, marked, 'standard')).toEqual({ inputNanoUsd: '2518', outputNanoUsdPerMillion: '20000000' });
  });

  test('has the rates of a service tier and of a speed only if they were asked for', () => {
    const card = rateCard(RATES);
    card.rates.push(
      { component: 'output', nanoUsdPerMillion: '20000000', when: { serviceTier: 'priority' } },
      { component: 'output', nanoUsdPerMillion: '60000000', when: { speed: 'fast' } },
    );
    const output = (demand: Partial<Demand>) =>
      costBound(card, { ...TEXT, ...demand }, 'standard').outputNanoUsdPerMillion;
    expect(output({})).toBe('10000000');
    expect(output({ serviceTiers: ['standard', 'priority'] })).toBe('20000000');
    expect(output({ serviceTiers: ['standard', 'flex'] })).toBe('10000000');
    expect(output({ speeds: ['standard', 'fast'] })).toBe('60000000');
  });

  test('has what a region costs more only if the call may run in one', () => {
    const card = rateCard(RATES, [], { regionalPercent: 110 });
    const plain = { inputNanoUsd: '1018', outputNanoUsdPerMillion: '10000000' };
    const dearer = { inputNanoUsd: '1118', outputNanoUsdPerMillion: '11000000' };
    expect(costBound(card, TEXT, 'standard')).toEqual(plain);
    expect(costBound(card, { ...TEXT, anyRegion: true }, 'standard')).toEqual(dearer);
    // The name of the model says it.
    expect(costBound({ ...card, region: 'eu' }, TEXT, 'standard')).toEqual(dearer);
  });

  test('has the rates of a region only if the call may run in it, and adds nothing to them', () => {
    const card = rateCard(RATES, [], { regionalPercent: 110 });
    card.rates.push({ component: 'output', nanoUsdPerMillion: '30000000', when: { region: 'eu' } });
    const output = (region: string | undefined, anyRegion: boolean) =>
      costBound({ ...card, region }, { ...TEXT, anyRegion }, 'standard').outputNanoUsdPerMillion;
    expect(output(undefined, false)).toBe('10000000');
    expect(output('us', false)).toBe('11000000');
    expect(output('eu', false)).toBe('30000000');
    expect(output(undefined, true)).toBe('30000000');
  });

  test('has the rates of the cache only if the vendor may use it', () => {
    const card = rateCard({ ...RATES, cacheWrite: '1250000', cacheWrite1h: '2000000' });
    const input = (...components: Demand['input']) =>
      costBound(card, { ...TEXT, input: components }, 'standard').inputNanoUsd;
    expect(input()).toBe('1018');
    expect(input('cacheWrite')).toBe('1268');
    expect(input('cacheWrite', 'cacheWrite1h')).toBe('2018');
  });

  test('loses the rates of a long prompt once its tokens are known to be fewer', () => {
    const card = rateCard(RATES, [{ inputTokensAbove: 200_000, rates: { input: '2000000', output: '15000000' } }]);
    const prompt = promptCost(card, { ...TEXT, inputTokens: 250_000 }, 'standard');
    const long = bound(0, { prompt, cost: costOfPrompt(prompt, 250_000) });
    expect(long.cost).toEqual({ inputNanoUsd: '500018', outputNanoUsdPerMillion: '15000000' });
    const known = { inputNanoUsd: '90018', outputNanoUsdPerMillion: '10000000' };
    expect(withPromptTokens(long, 90_000).cost).toEqual(known);
    expect(withPromptTokens(long, 200_000).cost?.outputNanoUsdPerMillion).toBe('10000000');
    expect(withPromptTokens(long, 200_001).cost?.outputNanoUsdPerMillion).toBe('15000000');
  });

  test('has the uses of tools, and images and audio if there can be some', () => {
    const card = rateCard({ ...RATES, audioOutput: '80000000', imageOutput: '30000000', webSearch: '10000000000' });
    expect(costBound(card, { ...TEXT, uses: { webSearch: 3 } }, 'standard').inputNanoUsd).toBe('31018');
    const output = (...components: Demand['output']) =>
      costBound(card, { ...TEXT, output: components }, 'standard').outputNanoUsdPerMillion;
    expect(output()).toBe('10000000');
    expect(output('imageOutput')).toBe('30000000');
    expect(output('imageOutput', 'audioOutput')).toBe('80000000');
    expect(costBound(card, { ...TEXT, outputBeside: 1_000 }, 'standard').inputNanoUsd).toBe('11018');
  });
});

describe('what is held', () => {
  const hold = (bounds: CallBound[], maxOutputTokens?: number | null, askedNanoUsd: bigint | null = null) => {
    const { plan: content } = onCredit(0n, { payg: { enabled: true, markupPercent: 0, maxOutputTokens } }).subscription
      .plan;
    return computeHold(bounds, content, {
      markupPercent: 0,
      askedNanoUsd,
      usualCharge: () => CENT,
      expectedCharge: () => null,
    });
  };

  test('bounds the output by the request, by the plan, and by 16,384 tokens if the plan is silent', () => {
    expect(hold([bound(0)]).outputTokens).toBe(500);
    expect(hold([bound(0)], 100).outputTokens).toBe(100);
    expect(hold([bound(0, { outputTokens: 128_000 })]).outputTokens).toBe(OUTPUT_TOKENS_MAX_DEFAULT);
    expect(hold([bound(0, { outputTokens: null })]).outputTokens).toBe(OUTPUT_TOKENS_MAX_DEFAULT);
    expect(hold([bound(0, { outputTokens: null })], 300).outputTokens).toBe(300);
  });

  test('leaves the output to request and model if the plan says so', () => {
    expect(hold([bound(0, { outputTokens: 128_000 })], null).outputTokens).toBe(128_000);
    expect(hold([bound(0, { outputTokens: null })], null).outputTokens).toBe(OUTPUT_TOKENS_MAX_DEFAULT);
  });

  test('is so much for each answer, and nothing for the output of an embedding', () => {
    expect(hold([bound(7, { answers: 4 })])).toMatchObject({ outputTokens: 2_000, nanoUsd: 20_007n });
    expect(hold([bound(7, { answers: 4 })], 100)).toMatchObject({ outputTokens: 400, nanoUsd: 4_007n });
    expect(hold([bound(7, { outputTokens: 0 })])).toMatchObject({ outputTokens: 0, leastNanoUsd: 7n, nanoUsd: 7n });
  });

  test('is at least 64 and at first 1,024 output tokens if the output is held in steps', () => {
    const inSteps = { inSteps: true, outputTokens: 4_000 };
    expect(hold([bound(7, inSteps)])).toMatchObject({ leastNanoUsd: 647n, nanoUsd: 10_247n, outputTokens: 4_000 });
    // No more than the whole.
    expect(hold([bound(7, { inSteps: true, outputTokens: 10 })])).toMatchObject({ leastNanoUsd: 107n, nanoUsd: 107n });
  });

  test('suffices for each of several models, in steps only if all of them are', () => {
    const dear = bound(5, { cost: { inputNanoUsd: '5', outputNanoUsdPerMillion: '40000000' }, outputTokens: 2_000 });
    const both = [bound(900, { inSteps: true }), dear];
    expect(hold(both)).toMatchObject({ leastNanoUsd: 80_900n, nanoUsd: 80_900n, cost: null, outputTokens: 2_000 });
    const steps = both.map((each) => ({ ...each, inSteps: true }));
    expect(hold(steps)).toMatchObject({ leastNanoUsd: 900n + 2_560n, nanoUsd: 900n + 40_960n });
  });

  test('of a stream whose model thinks is the whole bound, or else what makes an answer of use', () => {
    const thinking = { thinks: true, fitsBalance: true, outputTokens: 4_000 };
    expect(hold([bound(7, thinking)])).toMatchObject({
      leastNanoUsd: 12_807n,
      nanoUsd: 40_007n,
      outputTokens: 4_000,
      inSteps: false,
    });
    // For each answer, and no more than request and plan allow.
    expect(hold([bound(7, { ...thinking, answers: 2 })])).toMatchObject({ leastNanoUsd: 25_607n, nanoUsd: 80_007n });
    expect(hold([bound(7, { ...thinking, outputTokens: 900 })]).leastNanoUsd).toBe(9_007n);
    expect(hold([bound(7, thinking)], 500).leastNanoUsd).toBe(5_007n);
    // Beside a model that could be held in steps; but not beside one that gives a whole answer.
    expect(hold([bound(7, { inSteps: true }), bound(7, thinking)])).toMatchObject({
      leastNanoUsd: 12_807n,
      inSteps: false,
    });
    expect(hold([bound(7), bound(7, thinking)])).toMatchObject({ leastNanoUsd: 40_007n, cost: null });
  });

  test('is what the caller asks for if that is more, or if nothing else is known', () => {
    expect(hold([bound(7)], undefined, 10_000n).nanoUsd).toBe(10_000n);
    expect(hold([bound(7)], undefined, 1n).nanoUsd).toBe(5_007n);
    expect(hold([], undefined, 1n)).toMatchObject({ nanoUsd: 1n, outputTokens: null });
    expect(hold([bound(7, { cost: null })], undefined, 1n)).toMatchObject({ nanoUsd: 1n, outputTokens: null });
  });

  test('is the usual charge if nothing is known: the 95th percentile with the markup, a cent at least', () => {
    expect(hold([])).toMatchObject({ leastNanoUsd: CENT, nanoUsd: CENT });
    const costs = Array.from({ length: 100 }, (_, index) => BigInt(index + 1) * CENT);
    expect(usualCharge(costs, 0)).toBe(95n * CENT);
    expect(usualCharge(costs, 10)).toBe((95n * CENT * 11n) / 10n);
    expect(usualCharge([1n], 0)).toBe(CENT);
    expect(usualCharge([], 0)).toBe(CENT);
  });

  test('takes the least value that 95 % of them do not exceed', () => {
    expect(percentile95([])).toBeNull();
    expect(percentile95([7])).toBe(7);
    expect(percentile95([30, 4, 200])).toBe(200);
    expect(percentile95(Array.from({ length: 20 }, (_, index) => index + 1))).toBe(19);
    expect(percentile95(Array.from({ length: 21 }, (_, index) => index + 1))).toBe(20);
  });

  test('affords as many tokens as the balance covers', () => {
    const cost = { inputNanoUsd: '100', outputNanoUsdPerMillion: '10000000' };
    expect(affordableTokens(cost, { markupPercent: 0, wanted: 50, availableNanoUsd: 600n })).toBe(50);
    expect(affordableTokens(cost, { markupPercent: 0, wanted: 50, availableNanoUsd: 599n })).toBe(49);
    expect(affordableTokens(cost, { markupPercent: 100, wanted: 50, availableNanoUsd: 600n })).toBe(20);
    expect(affordableTokens(cost, { markupPercent: 0, wanted: 50, availableNanoUsd: 109n })).toBe(0);
  });
});

describe('the begin of a call on credit', () => {
  test('holds its bound, with the markup, and says how long the answer may be', () => {
    const {
      account: after,
      call,
      denial,
    } = begin(onCredit(12_000n, { payg: { enabled: true, markupPercent: 100 } }), [bound(1_000)]);
    expect(denial).toBeNull();
    expect(call.credit).toEqual({
      tiers: ['standard'],
      markupPercent: 100,
      heldNanoUsd: '12000',
      heldForInputNanoUsd: '2000',
      outputTokens: 500,
    });
    expect([availableUsd(after.wallet), outputTokensByTier(call)]).toEqual([0n, { standard: 500 }]);
  });

  test('of a stream begins with a smaller step if the balance covers no whole one, down to 64 tokens', () => {
    const stream = [bound(1_000, { inSteps: true, outputTokens: 4_000 })];
    expect(begin(onCredit(100_000n), stream).call.credit).toMatchObject({
      heldNanoUsd: '11240',
      steps: { heldTokens: 1_024 },
    });
    const small = begin(onCredit(2_005n), stream).call.credit;
    expect(small).toMatchObject({ heldNanoUsd: '2005', outputTokens: 4_000, steps: { heldTokens: 100 } });
    expect(begin(onCredit(1_640n), stream).call.credit).toMatchObject({ steps: { heldTokens: 64 } });
    expect(begin(onCredit(1_639n), stream).denial).toMatchObject({
      code: 'CREDIT_REQUIRED',
      meter: 'standardCalls',
      limit: 0,
      used: 0,
    });
  });

  test('of a stream whose model thinks takes the tokens that the balance affords, in one hold, down to 1,280', () => {
    const thinking = { thinks: true, fitsBalance: true, outputTokens: 4_000, ifLost: LOST };
    const begun = (available: bigint, change: Partial<CallBound> = {}) =>
      begin(onCredit(available), [bound(1_000, { ...thinking, ...change })]);
    const whole = begun(41_001n).call;
    expect(whole.credit).toMatchObject({ heldNanoUsd: '41000', outputTokens: 4_000 });
    const less = begun(21_009n);
    expect(less.call.credit).toMatchObject({ heldNanoUsd: '21009', outputTokens: 2_000 });
    expect(less.call.credit).not.toHaveProperty('steps');
    expect([outputTokensByTier(less.call), less.call.ifLost?.outputTokensMax]).toEqual([{ standard: 2_000 }, 2_000]);
    expect(extendSteps(less.account, less.call, 3_000)).toBeNull();
    expect(begun(13_800n).call.credit).toMatchObject({ outputTokens: 1_280 });
    expect(begun(13_799n).denial?.code).toBe('CREDIT_REQUIRED');
    expect(begun(26_599n, { answers: 2 }).denial?.code).toBe('CREDIT_REQUIRED');
    expect(begun(26_600n, { answers: 2 }).call.credit).toMatchObject({ outputTokens: 2_560 });
    // An amount that others hold may be free later.
    const busy = begin(onCredit(20_000n), [bound(10_000)]).account;
    expect(begin(busy, [bound(1_000, thinking)]).denial?.code).toBe('BALANCE_HELD');
    // A caller's own, higher hold leaves the tokens as they are.
    const asked = begin(onCredit(50_000n), [bound(1_000, thinking)], { holdUsd: 0.00005 }).call;
    expect(asked.credit).toMatchObject({ heldNanoUsd: '50000', outputTokens: 4_000 });
  });

  test('holds what the dearest of its models may cost, of the tiers that credit pays', () => {
    const models = [bound(1_000, { tier: 'standard' }), bound(9_000, { tier: 'premium' })];
    const both = { requested: { standard: true, premium: true } };
    const { call } = begin(onCredit(50_000n), models, both);
    expect([call.credit?.tiers, heldNanoUsd(call)]).toEqual([['standard', 'premium'], 14_000n]);
    // The allowance of the standard tier is left: credit pays for the other alone.
    const paid = begin(onCredit(50_000n, { limits: { standardCalls: 5, premiumCalls: 0 } }), models, both).call;
    expect([paid.credit?.tiers, heldNanoUsd(paid), paid.reserved]).toEqual([
      ['premium'],
      14_000n,
      { standardCalls: 1 },
    ]);
    // A model that costs more than the balance is not allowed.
    const { call: cheap } = begin(onCredit(6_000n), models, both);
    expect([cheap.allowed.premium, cheap.credit?.tiers, heldNanoUsd(cheap)]).toEqual([false, ['standard'], 6_000n]);
  });

  test('lets go of the lower tier if one is held in steps and the other whole, and both together do not fit', () => {
    const models = [
      bound(1_000, { tier: 'standard', inSteps: true, outputTokens: 4_000 }),
      bound(1_000, { tier: 'premium', outputTokens: 100 }),
    ];
    const { call } = begin(onCredit(3_000n), models, { requested: { standard: true, premium: true } });
    expect([call.status, call.credit?.tiers, heldNanoUsd(call)]).toEqual(['IN_PROGRESS', ['premium'], 2_000n]);
  });

  test('holds a model that stands in for another only if the plan downgrades', () => {
    const models = [
      bound(1_000, { tier: 'premium', ifLost: { modelUsed: 'dear', inputTokens: 1, price: PRICE } }),
      bound(500, { tier: 'standard', onDowngrade: true, ifLost: { modelUsed: 'cheap', inputTokens: 1, price: PRICE } }),
    ];
    const plans = { limitType: 'DOWNGRADE' as const };
    const premium = { requested: { premium: true }, runsOn: ['standard' as const, 'premium' as const] };
    const rich = begin(onCredit(50_000n, plans), models, premium).call;
    expect([rich.credit?.tiers, heldNanoUsd(rich), rich.ifLost?.modelUsed]).toEqual([['premium'], 6_000n, 'dear']);
    const poor = begin(onCredit(5_500n, plans), models, premium).call;
    expect([poor.credit?.tiers, heldNanoUsd(poor), poor.ifLost?.modelUsed]).toEqual([['standard'], 5_500n, 'cheap']);
  });

  test('reserves of an allowance the bound of the output, no more than the plan says and than is left', () => {
    const reserved = (reserveOutputTokens: number, standardTokens: number | null, ...bounds: CallBound[]) => {
      const content = plan({ reserveOutputTokens, limits: { standardTokens } });
      return begin(account(content), bounds).call.reserved.standardTokens;
    };
    expect(reserved(2_000, null, bound(0))).toBe(500);
    expect(reserved(2_000, null, bound(0, { answers: 3 }))).toBe(1_500);
    expect(reserved(100, null, bound(0))).toBe(100);
    expect(reserved(2_000, 60, bound(0))).toBe(60);
    expect(reserved(2_000, null, bound(0, { outputTokens: null }))).toBe(2_000);
    expect(reserved(2_000, null)).toBe(2_000);
    // The highest bound of those that may run on credit for the tier.
    expect(reserved(2_000, null, bound(0, { outputTokens: 30, tier: 'standard' }), bound(0, { tier: 'premium' }))).toBe(
      30,
    );
  });
});

describe('the steps of an open call', () => {
  const stream = (available: bigint, outputTokens = 4_000) =>
    begin(onCredit(available), [bound(1_000, { inSteps: true, outputTokens })]);
  const extend = ({ account: from, call }: { account: Account; call: Call }, wanted: number) => {
    const extended = extendSteps(from, call, wanted);
    if (!extended) throw new Error('the call is open');
    return extended;
  };

  test('hold as many tokens as are wanted, up to the bound', () => {
    const next = extend(stream(100_000n), 2_048);
    expect([next.heldTokens, heldNanoUsd(next.call)]).toEqual([2_048, 21_480n]);
    const last = extend(next, 9_999);
    expect([last.heldTokens, heldNanoUsd(last.call), availableUsd(last.account.wallet)]).toEqual([
      4_000,
      41_000n,
      59_000n,
    ]);
    expect(extend(last, 9_999).account).toBe(last.account);
  });

  test('are smaller if the balance ends, and none is smaller than 64 tokens', () => {
    const small = extend(stream(12_240n), 2_048);
    expect([small.heldTokens, heldNanoUsd(small.call)]).toEqual([1_124, 12_240n]);
    const refused = stream(11_879n);
    expect(extend(refused, 2_048)).toEqual({ account: refused.account, call: refused.call, heldTokens: 1_024 });
    expect(extend(stream(11_880n), 2_048).heldTokens).toBe(1_088);
  });

  test('are smaller than that if no more remains to the bound', () => {
    expect(extend(stream(100_000n, 1_030), 2_054).heldTokens).toBe(1_030);
    expect(extend(stream(11_299n, 1_030), 2_054).heldTokens).toBe(1_024);
  });

  test('are not taken for a call that has ended or is not held in steps', () => {
    const { account: from, call } = stream(100_000n);
    expect(extendSteps(from, timeOutCall(from, call).call, 2_048)).toBeNull();
    const whole = begin(onCredit(100_000n), [bound(1_000)]);
    expect(extendSteps(whole.account, whole.call, 2_048)).toBeNull();
  });

  test('are free again at the end, and a charge above them says what was held', () => {
    const { account: from, call } = stream(100_000n);
    const end = (responseTokens: number) =>
      endCall(from, call, { usage: usage({ inputTokens: 1_000, responseTokens }) }, PRICE, 'charge', 5);
    const kept = end(1_024);
    expect([kept.account.wallet.held, kept.account.wallet.unsettled]).toEqual(['0', '11240']);
    expect(kept.call.credit).toEqual({
      tiers: ['standard'],
      markupPercent: 0,
      heldNanoUsd: '0',
      heldForInputNanoUsd: '1000',
      heldAtEndNanoUsd: '11240',
      outputTokens: 4_000,
    });
    expect(end(1_025).call.credit).toMatchObject({ heldNanoUsd: '0', exceededNanoUsd: '11240' });
  });
});

describe('a denial', () => {
  const denial = (from: Account, request: Partial<BeginRequest> = {}, bounds = [bound(1_000)]) =>
    begin(from, bounds, request).denial;
  const used = (content: PlanChange) => account(plan(content));

  test('names what is used up, of the tier that was wanted most', () => {
    expect(denial(used({ limits: { standardCalls: 0 } }))).toEqual({
      code: 'ALLOWANCE_EXHAUSTED',
      meter: 'standardCalls',
      limit: 0,
      used: 0,
    });
    expect(denial(used({ limits: { standardTokens: 0 } }))).toEqual({
      code: 'ALLOWANCE_EXHAUSTED',
      meter: 'standardTokens',
      limit: 0,
      used: 0,
    });
    const both = { requested: { standard: true, premium: true } };
    expect(denial(used({ limits: { standardCalls: 0, premiumTokens: 0 } }), both)).toEqual({
      code: 'ALLOWANCE_EXHAUSTED',
      meter: 'premiumTokens',
      limit: 0,
      used: 0,
    });
  });

  test('tells a capability that the plan lacks from one that is used up', () => {
    const search = { requested: { search: true } };
    expect(denial(used({ features: { search: false } }), search)).toEqual({
      code: 'CAPABILITY_NOT_IN_PLAN',
      capability: 'search',
    });
    expect(denial(used({ limits: { searches: 0 } }), search)).toEqual({
      code: 'ALLOWANCE_EXHAUSTED',
      meter: 'searches',
      capability: 'search',
      limit: 0,
      used: 0,
    });
    const needed = { requested: { standard: true, image: true }, needs: ['image' as const] };
    expect(denial(used({ features: { image: false } }), needed)).toEqual({
      code: 'CAPABILITY_NOT_IN_PLAN',
      capability: 'image',
    });
  });

  test('has the figures of the meter at that moment, with what open calls hold of it', () => {
    const used = {
      ...account(plan({ limits: { standardCalls: 5 } })),
      meters: { consumed: { standardCalls: 3 }, reserved: { standardCalls: 2 } },
    };
    const { call, denial } = begin(used, []);
    expect(denial).toEqual({ code: 'ALLOWANCE_EXHAUSTED', meter: 'standardCalls', limit: 5, used: 5 });
    expect(call.denial).toEqual(denial);
    expect(admitCall(begin(used, [])).call).not.toHaveProperty('denial');
  });

  test('says that the subscription is canceled before anything else', () => {
    const from = used({ limits: { standardCalls: 0 } });
    const canceled = { ...from, subscription: { ...from.subscription, canceledAtMs: 1 } };
    expect(denial(canceled)).toEqual({ code: 'SUBSCRIPTION_CANCELED' });
  });

  test('asks for credit if there is too little of it, and to wait if open calls hold what is needed', () => {
    expect(denial(onCredit(0n))).toMatchObject({ code: 'CREDIT_REQUIRED', meter: 'standardCalls', limit: 0, used: 0 });
    expect(denial(onCredit(5_999n))).toMatchObject({ code: 'CREDIT_REQUIRED', money: { neededNanoUsd: '6000' } });
    const busy = begin(onCredit(7_000n), [bound(1_000)]).account;
    expect(denial(busy)).toMatchObject({ code: 'BALANCE_HELD', meter: 'standardCalls', limit: 0, used: 0 });
    expect(denial(busy, {}, [bound(2_001)])).toMatchObject({
      code: 'CREDIT_REQUIRED',
      meter: 'standardCalls',
      limit: 0,
      used: 0,
    });
  });

  test('does not ask to wait for a balance that is not above zero without the holds either', () => {
    const busy = begin(onCredit(7_000n), [bound(1_000)]).account;
    const broke = { ...busy, wallet: { ...busy.wallet, unsettled: '7000' } };
    expect(denial(broke, { holdUsd: 0 }, [])).toMatchObject({
      code: 'CREDIT_REQUIRED',
      meter: 'standardCalls',
      limit: 0,
      used: 0,
    });
  });

  test('of a model of another tier than was requested says so', () => {
    expect(denial(used({}), { requested: { standard: true }, runsOn: ['premium'] })).toEqual({
      code: 'TIER_NOT_REQUESTED',
    });
  });
});

describe('a call that was lost', () => {
  const ifLost = LOST;
  const opened = (change: Partial<CallBound> = {}) => begin(onCredit(100_000n), [bound(1_000, { ifLost, ...change })]);
  const lost = ({ account: from, call }: { account: Account; call: Call }) => {
    if (!call.ifLost) throw new Error('the service makes the call');
    return endLostCall(from, call, call.ifLost, 'charge');
  };

  test('is a timeout with the most that its vendor can have used, charged and said to be estimated', () => {
    const most = { ...ifLost, inputTokensMax: 2_000 };
    const { account: after, call } = lost(opened({ ifLost: most, outputTokens: 100 }));
    expect(call).toMatchObject({ status: 'TIMEOUT', finishedAtMs: DEADLINE, ifLost: undefined });
    expect(call.outcome).toMatchObject({
      usage: { inputTokens: 2_000, responseTokens: 100 },
      usageSource: 'estimated',
      outputBasis: 'bound',
      calls: 1,
      charge: { amountNanoUsd: '3000' },
      error: { code: 'CALL_TIMEOUT' },
    });
    expect([after.wallet.held, after.wallet.unsettled]).toEqual(['0', '3000']);
  });

  test('counts the prompt by its estimate if it began before its bound was kept', () => {
    expect(lost(opened()).call.outcome?.usage.inputTokens).toBe(900);
  });

  test('has its bound, for each of its answers', () => {
    expect(lost(opened()).call.outcome?.usage.responseTokens).toBe(500);
    expect(lost(opened({ answers: 2 })).call.outcome?.usage.responseTokens).toBe(1_000);
  });

  test('in steps has no more than it holds', () => {
    const stream = opened({ inSteps: true, outputTokens: 4_000 });
    const { call } = lost(stream);
    expect(call.outcome).toMatchObject({ usage: { responseTokens: 1_024 }, outputBasis: 'held' });
    expect(BigInt(call.outcome?.charge?.amountNanoUsd ?? 0)).toBeLessThanOrEqual(heldNanoUsd(stream.call));
    expect(call.credit?.exceededNanoUsd).toBeUndefined();
  });

  const estimate: Estimate = {
    usage: usage({ inputTokens: 900, responseTokens: 70 }),
    source: 'estimated',
    isWhole: false,
    price: PRICE,
  };
  const report = { modelUsed: 'm', usage: usage({ searches: 2 }) };
  const none: ResolvedPrice = { available: false, reason: 'USAGE_NOT_REPORTED' };
  const ended = (call: Call, change: Partial<Estimate>) =>
    withEstimate(call, { report, price: none }, { ...estimate, ...change });

  test('has our count of the text that came whole', () => {
    expect(ended(opened().call, { isWhole: true })).toEqual({
      report: {
        modelUsed: 'm',
        usage: usage({ inputTokens: 900, responseTokens: 70, searches: 2 }),
        usageSource: 'estimated',
        outputBasis: 'text',
      },
      price: PRICE,
    });
  });

  test('has what its time allows if that is more than its text, within its bound; the record says which', () => {
    const broken = { outputTokensMax: 3_000, worked: { ms: 2_000, answers: 1 } };
    const told = (change: Partial<Estimate>) => {
      const { usage: used, usageSource, outputBasis } = ended(opened().call, { ...broken, ...change }).report;
      return [used.responseTokens, usageSource, outputBasis];
    };
    expect(told({ outputRate: 120 })).toEqual([240, 'estimated', 'time']);
    expect(told({ source: 'partial' })).toEqual([1_000, 'partial', 'time']);
    expect(told({ outputRate: 20 })).toEqual([70, 'estimated', 'text']);
    expect(told({ outputRate: 5_000 })).toEqual([3_000, 'estimated', 'bound']);
    expect(told({ worked: undefined })).toEqual([3_000, 'estimated', 'bound']);
    const stream = opened({ inSteps: true, outputTokens: 4_000 }).call;
    const held = ended(stream, { ...broken, outputRate: 600 }).report;
    expect(held).toMatchObject({ usage: { responseTokens: 1_024 }, outputBasis: 'held' });
  });

  test('that comes after the deadline is never more than what was counted then', () => {
    const stream = opened({ inSteps: true, outputTokens: 4_000 });
    const { ifLost: lostThen } = stream.call;
    if (!lostThen) throw new Error('the service makes the call');
    const lost = endLostCall(stream.account, stream.call, lostThen, 'charge').call;
    expect(lost.outcome?.usage.responseTokens).toBe(1_024);
    const late = { outputTokensMax: 3_000, outputRate: 600, worked: { ms: 60_000, answers: 1 } };
    expect(ended(lost, late).report.usage.responseTokens).toBe(1_024);
    expect(ended(lost, { ...late, worked: { ms: 1_000, answers: 1 } }).report.usage.responseTokens).toBe(600);
  });

  test('has what it held in steps only if credit pays for the tier that ran', () => {
    const { credit, ...stream } = opened({ inSteps: true, outputTokens: 4_000, tier: 'standard' }).call;
    if (!credit?.steps) throw new Error('it is held in steps');
    const onAllowance: Call = { ...stream, credit: { ...credit, tiers: ['premium'] } };
    const broken = { outputTokensMax: 3_000, worked: { ms: 100, answers: 1 } };
    expect(ended(onAllowance, broken).report).toMatchObject({ usage: { responseTokens: 70 }, outputBasis: 'text' });
  });

  test('is not estimated if its whole answer came and an allowance pays', () => {
    const free = begin(account(plan()), [bound(1_000, { ifLost })]).call;
    expect(ended(free, { isWhole: true })).toEqual({ report, price: none });
    expect(ended(free, { isWhole: false }).report.usageSource).toBe('estimated');
    expect(ended(opened().call, { isWhole: true }).report.usageSource).toBe('estimated');
    expect(withEstimate(free, { report, price: none }, undefined)).toEqual({ report, price: none });
  });
});
