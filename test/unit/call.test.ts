/**
 * The life of a call keeps its books: an end or a timeout gives back the holds of its begin, and only real usage is
 * consumed.
 */

import { describe, expect, test } from 'vitest';
import { type Account, replenishDue } from '../../src/domain/account.ts';
import { summarize } from '../../src/domain/allowances.ts';
import { beginCall } from '../../src/domain/begin-call.ts';
import {
  type BeginRequest,
  type Call,
  canEnd,
  endCall,
  excessiveOfSession,
  recordCompression,
  refuseCall,
  timeOutCall,
} from '../../src/domain/call.ts';
import type { CallReport } from '../../src/domain/call-report.ts';
import { asCallId } from '../../src/domain/ids.ts';
import type { Quantities } from '../../src/domain/meters.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { rateCard } from '../support/rate-cards.ts';
import { account, NO_USAGE, NOTHING_KNOWN, outputBound, type PlanChange, plan, usage } from './fixtures.ts';

const NOW = 1_000_000;
const DEADLINE = 4_600_000;
const UNKNOWN: ResolvedPrice = { available: false, reason: 'MODEL_NOT_IN_CATALOG' };

/** Input at 2.50 USD per million, output as given in nano-USD per million. */
function priced(output: string): ResolvedPrice {
  const named = { snapshotId: 'a/b@1', provider: 'a', modelKey: 'a/b' };
  return { available: true, card: rateCard({ input: '2500000000', output }, [], named) };
}
const CHEAP = priced('4000000000');
const DEAR = priced('10000000000');

interface Begin extends Partial<BeginRequest> {
  consumed?: Quantities;
  reserved?: Quantities;
}

function begin(change: PlanChange, { consumed = {}, reserved = {}, ...request }: Begin = {}) {
  return beginCall(
    account(plan(change), { consumed, reserved }),
    asCallId('c1'),
    { requested: {}, pricingMode: 'standard', ...request },
    NOTHING_KNOWN,
    { deadlineAtMs: DEADLINE, nowMs: NOW },
  );
}

function end(begun: { account: Account; call: Call }, request: Partial<CallReport> = {}, price = UNKNOWN) {
  const ended = endCall(begun.account, begun.call, { usage: NO_USAGE, ...request }, price, 'charge', NOW + 1_000);
  const { outcome } = ended.call;
  if (!outcome) throw new Error('an ended call has an outcome');
  return { ...ended, outcome, meters: ended.account.meters };
}

/** Quantities without the zeros, which mean the same as nothing. */
function some(quantities: Quantities): Quantities {
  return Object.fromEntries(Object.entries(quantities).filter(([, amount]) => amount !== 0));
}

const BOTH = { standard: true, premium: true };
const SEARCHING = { standard: true, search: true };

describe('begin', () => {
  test.each<[string, PlanChange, Begin, Quantities]>([
    ['one standard call where nothing is requested', {}, {}, { standardCalls: 1 }],
    ['one premium call', {}, { requested: { premium: true } }, { premiumCalls: 1 }],
    ['one call of each tier where both are allowed', {}, { requested: BOTH }, { standardCalls: 1, premiumCalls: 1 }],
    ['only the tier that is allowed', { limits: { premiumCalls: 0 } }, { requested: BOTH }, { standardCalls: 1 }],
    [
      'a standard call for a downgraded one',
      { limitType: 'DOWNGRADE', limits: { premiumCalls: 0 } },
      { requested: { premium: true } },
      { standardCalls: 1 },
    ],
    ['nothing for a capability alone', {}, { requested: { image: true } }, {}],
    ['nothing for a denied call', { limits: { standardCalls: 0 } }, {}, {}],
    [
      'one search beside its tier, where the request can search',
      {},
      { requested: SEARCHING, needs: ['search'] },
      { standardCalls: 1, searches: 1 },
    ],
    ['one search where the caller asks for it', {}, { requested: SEARCHING }, { standardCalls: 1, searches: 1 }],
    ['one search alone', {}, { requested: { search: true } }, { searches: 1 }],
    [
      'no search where none is left, and the tier all the same',
      { limits: { searches: 0 } },
      { requested: SEARCHING },
      { standardCalls: 1 },
    ],
    [
      'nothing of images and audio',
      {},
      { requested: { standard: true, image: true, audio: true }, needs: ['image', 'audio'] },
      { standardCalls: 1 },
    ],
    [
      'nothing where what the request needs is not allowed',
      { limits: { searches: 0 } },
      { requested: SEARCHING, needs: ['search'] },
      {},
    ],
    [
      'nothing where one of its needs is switched off',
      { features: { audio: false } },
      { requested: { ...SEARCHING, audio: true }, needs: ['search', 'audio'] },
      {},
    ],
    [
      'a call beyond an informational limit',
      { limitType: 'NONE', limits: { standardCalls: 0 } },
      {},
      { standardCalls: 1 },
    ],
  ])('holds %s', (_of, change, request, held) => {
    const { call, account: after } = begin(change, request);
    expect(call.reserved).toEqual(held);
    expect(after.meters).toEqual({ consumed: {}, reserved: held });
  });

  test('opens an allowed call until its deadline, and finishes a denied one at once', () => {
    expect(begin({}).call).toMatchObject({
      callId: 'c1',
      customerId: 'customer',
      status: 'IN_PROGRESS',
      startedAtMs: NOW,
      deadlineAtMs: DEADLINE,
      finishedAtMs: null,
      usagePlanVersionId: 'plan-v1',
      suggestedTier: 'standard',
      outcome: null,
    });
    expect(begin({ limits: { standardCalls: 0 } }).call).toMatchObject({
      status: 'NOT_ALLOWED',
      finishedAtMs: NOW,
      suggestedTier: 'none',
    });
  });

  test('denies everything after the subscription is canceled, and reserves nothing', () => {
    const canceled = account(plan());
    canceled.subscription.canceledAtMs = 5;
    const { call, account: after } = beginCall(
      canceled,
      asCallId('c1'),
      { requested: {}, pricingMode: 'standard' },
      NOTHING_KNOWN,
      { deadlineAtMs: DEADLINE, nowMs: NOW },
    );
    expect([call.status, call.reserved, after.meters.reserved]).toEqual(['NOT_ALLOWED', {}, {}]);
  });

  test('admits as many concurrent calls as searches remain, and each end consumes its own count', () => {
    let current = account(plan({ limits: { searches: 2 } }));
    const request: BeginRequest = { requested: SEARCHING, needs: ['search'], pricingMode: 'standard' };
    const begun = ['a', 'b', 'c'].map((callId) => {
      const one = beginCall(current, asCallId(callId), request, NOTHING_KNOWN, { deadlineAtMs: DEADLINE, nowMs: NOW });
      current = one.account;
      return one;
    });
    expect(begun.map(({ call }) => call.status)).toEqual(['IN_PROGRESS', 'IN_PROGRESS', 'NOT_ALLOWED']);
    const [first, second] = begun.map(({ call }) => call);
    if (!first || !second) throw new Error('two calls were begun');
    const none = endCall(current, first, { usage: NO_USAGE, modelUsed: 'm' }, UNKNOWN, 'charge', NOW);
    const many = endCall(none.account, second, { usage: usage({ searches: 5 }) }, UNKNOWN, 'charge', NOW);
    expect([some(many.account.meters.reserved), many.account.meters.consumed.searches]).toEqual([{}, 5]);
  });

  test('adds to the reservations of other open calls, does not mutate its input, and increments the revision', () => {
    const before = account(plan(), { consumed: { standardCalls: 4 }, reserved: { standardCalls: 2 } });
    const { account: after, call } = beginCall(
      before,
      asCallId('c1'),
      { requested: {}, pricingMode: 'standard' },
      NOTHING_KNOWN,
      { deadlineAtMs: DEADLINE, nowMs: NOW },
    );
    expect(after.meters).toEqual({ consumed: { standardCalls: 4 }, reserved: { standardCalls: 3 } });
    expect([before.revision, after.revision, call.revision]).toEqual([1, 2, 2]);
    expect(before.meters.reserved).toEqual({ standardCalls: 2 });
  });
});

describe('reserved output tokens', () => {
  test.each<[string, PlanChange, Begin, Quantities, number | null]>([
    ['none where the plan reserves none', { limits: { standardTokens: 100 } }, {}, { standardCalls: 1 }, null],
    [
      'in full while enough is left',
      { reserveOutputTokens: 40, limits: { standardTokens: 100 } },
      {},
      { standardCalls: 1, standardTokens: 40 },
      40,
    ],
    [
      'what is left where that is less',
      { reserveOutputTokens: 40, limits: { standardTokens: 100 } },
      { consumed: { standardTokens: 50 }, reserved: { standardTokens: 39 } },
      { standardCalls: 1, standardTokens: 11 },
      11,
    ],
    [
      'in full where tokens are unlimited',
      { reserveOutputTokens: 40 },
      {},
      { standardCalls: 1, standardTokens: 40 },
      40,
    ],
    [
      'in full where limits are informational',
      { limitType: 'NONE', reserveOutputTokens: 40, limits: { standardTokens: 10 } },
      {},
      { standardCalls: 1, standardTokens: 40 },
      40,
    ],
    [
      'of both tiers, with the figure of the suggested one',
      { reserveOutputTokens: 40, limits: { standardTokens: 7, premiumTokens: 30 } },
      { requested: BOTH },
      { standardCalls: 1, premiumCalls: 1, standardTokens: 7, premiumTokens: 30 },
      30,
    ],
    ['none for a denied call', { reserveOutputTokens: 40, limits: { standardTokens: 0 } }, {}, {}, null],
    ['none for a capability alone', { reserveOutputTokens: 40 }, { requested: { image: true } }, {}, null],
  ])('are held %s', (_of, change, request, held, maxResponseTokens) => {
    const begun = begin(change, request);
    expect(begun.call.reserved).toEqual(held);
    expect(outputBound(begun.call)).toBe(maxResponseTokens);
  });

  test('make a token limit exact: the second call gets the rest, the third is denied until the first ends', () => {
    const change = { reserveOutputTokens: 60, limits: { standardTokens: 100 } };
    const first = begin(change);
    const next = (account: Account, callId: string) =>
      beginCall(account, asCallId(callId), { requested: {}, pricingMode: 'standard' }, NOTHING_KNOWN, {
        deadlineAtMs: DEADLINE,
        nowMs: NOW,
      });
    const second = next(first.account, 'c2');
    const third = next(second.account, 'c3');
    expect([outputBound(first.call), outputBound(second.call), third.call.status]).toEqual([60, 40, 'NOT_ALLOWED']);
    const ended = end({ account: third.account, call: first.call }, { usage: usage({ responseTokens: 25 }) });
    const fourth = next(ended.account, 'c4');
    // 25 are consumed and 40 still held by the second call: 35 are left.
    expect([fourth.call.status, outputBound(fourth.call)]).toEqual(['IN_PROGRESS', 35]);
  });
});

describe('end', () => {
  test('releases all reservations of begin, and consumes the usage', () => {
    const change = { reserveOutputTokens: 40 };
    const ended = end(
      begin(change, { requested: BOTH, reserved: { premiumCalls: 5 } }),
      { usage: usage({ responseTokens: 12 }) },
      CHEAP,
    );
    expect(some(ended.meters.reserved)).toEqual({ premiumCalls: 5 });
    expect(ended.meters.consumed).toEqual({ standardCalls: 1, standardTokens: 12 });
    expect(ended.call).toMatchObject({ status: 'COMPLETED', finishedAtMs: NOW + 1_000 });
    expect(ended.call.reserved).toEqual({});
  });

  test('consumes output tokens, but not input, cache or reasoning tokens', () => {
    const used = usage({
      inputTokens: 900,
      cachedInputTokens: 200,
      cacheWriteInputTokens: 100,
      responseTokens: 50,
      reasoningTokens: 30,
    });
    expect(end(begin({}), { usage: used }).outcome.consumed).toEqual({ standardCalls: 1, standardTokens: 50 });
  });

  test('consumes searches and seconds of audio', () => {
    const used = usage({ searches: 2, audioSeconds: 0.3, audio: 1 });
    const ended = end(
      begin({}, { requested: { standard: true, search: true, audio: true }, consumed: { audioSeconds: 0.1 } }),
      {
        usage: used,
      },
    );
    expect(ended.outcome.consumed).toEqual({ standardCalls: 1, searches: 2, audioSeconds: 0.3 });
    expect(ended.meters.consumed).toEqual({ standardCalls: 1, searches: 2, audioSeconds: 0.4 });
  });

  test.each<[string, Partial<CallReport>, ResolvedPrice, Begin, string]>([
    ['the price, above 4.00 USD', {}, DEAR, {}, 'premium'],
    ['the price, exactly 4.00 USD', {}, CHEAP, { requested: { premium: true } }, 'standard'],
    ['isPremium false over a dear price', { isPremium: false }, DEAR, { requested: { premium: true } }, 'standard'],
    ['isPremium true over a cheap price', { isPremium: true }, CHEAP, {}, 'premium'],
    ['isPremium true without a price', { isPremium: true }, UNKNOWN, {}, 'premium'],
    ['the suggested tier without a price', {}, UNKNOWN, { requested: { premium: true } }, 'premium'],
    ['the suggested tier of both without a price', {}, UNKNOWN, { requested: BOTH }, 'premium'],
    [
      'standard where no tier was suggested and there is no price',
      {},
      UNKNOWN,
      { requested: { image: true } },
      'standard',
    ],
  ])('bills the tier by %s', (_of, request, price, begun, tier) => {
    const ended = end(begin({}, begun), { modelUsed: 'm', usage: usage({ responseTokens: 9 }), ...request }, price);
    expect(ended.outcome.tier).toBe(tier);
    expect(ended.meters.consumed).toEqual({ [`${tier}Calls`]: 1, [`${tier}Tokens`]: 9 });
    expect(some(ended.meters.reserved)).toEqual({});
  });

  test('of a failed call without usage consumes nothing', () => {
    const ended = end(begin({}), { error: { code: 'TIMEOUT', message: 'upstream timed out' } });
    expect(ended.call.status).toBe('FAILED');
    expect([ended.outcome.consumed, ended.outcome.error]).toEqual([
      {},
      { code: 'TIMEOUT', message: 'upstream timed out' },
    ]);
    expect([ended.meters.consumed, some(ended.meters.reserved)]).toEqual([{}, {}]);
  });

  test.each<[Partial<typeof NO_USAGE>, Quantities]>([
    [{ inputTokens: 1 }, { standardCalls: 1 }],
    [{ responseTokens: 5 }, { standardCalls: 1, standardTokens: 5 }],
    [{ searches: 1 }, { standardCalls: 1, searches: 1 }],
  ])('of a failed call that used %o consumes it, for the money was spent', (used, consumed) => {
    expect(end(begin({}), { error: { code: 'x', message: 'y' }, usage: usage(used) }).outcome.consumed).toEqual(
      consumed,
    );
  });

  test('of a completed call without usage still consumes the call', () => {
    expect(end(begin({})).outcome.consumed).toEqual({ standardCalls: 1 });
  });

  test('of a call that requested only a capability consumes no model call, unless a model ran', () => {
    const image = () => begin({}, { requested: { image: true } });
    expect(end(image()).outcome.consumed).toEqual({});
    expect(end(image(), { usage: usage({ searches: 1 }) }).outcome.consumed).toEqual({ searches: 1 });
    expect(end(image(), { modelUsed: 'gpt-image-1' }).outcome.consumed).toEqual({ standardCalls: 1 });
    expect(end(image(), { usage: usage({ inputTokens: 3 }) }).outcome.consumed).toEqual({ standardCalls: 1 });
  });

  test('records the reported fields only', () => {
    const told = {
      providerUsed: 'openai',
      modelUsed: 'gpt-4o',
      reasoningEffort: 'low',
      reasoningBudgetTokens: 64,
    } as const;
    expect(end(begin({}), told).outcome).toMatchObject({ ...told, endedAtMs: NOW + 1_000 });
    expect(end(begin({})).outcome).toMatchObject({
      providerUsed: null,
      modelUsed: null,
      reasoningEffort: undefined,
      error: null,
    });
    expect(end(begin({})).call.compression).toBeUndefined();
  });

  test('sanitizes the code and message of an error', () => {
    const error = { code: 'sk-abcdefghijklmnop', message: 'bad key sk-abcdefghijklmnop' };
    expect(end(begin({}), { error }).outcome.error).toEqual({ code: '[credential]', message: 'bad key [credential]' });
  });

  test('uses the Stripe customer of the request, else of the account, else none', () => {
    const begun = begin({});
    const known = { ...begun, account: { ...begun.account, contact: { stripeCustomerId: 'cus_account' } } };
    expect(end(known, { stripeCustomerId: 'cus_call' }).outcome.stripeCustomerId).toBe('cus_call');
    expect(end(known).outcome.stripeCustomerId).toBe('cus_account');
    expect(end(begun).outcome.stripeCustomerId).toBeNull();
  });
});

describe('the price of an ended call', () => {
  const used = usage({ inputTokens: 1_000, responseTokens: 500 });

  test.each([
    { begun: 'standard', ended: undefined, mode: 'standard', nano: '7500000' },
    { begun: 'batch', ended: undefined, mode: 'batch', nano: '3750000' },
    { begun: 'batch', ended: 'standard', mode: 'standard', nano: '7500000' },
    { begun: 'standard', ended: 'batch', mode: 'batch', nano: '3750000' },
  ] as const)('begun $begun and ended $ended is that of $mode', ({ begun, ended, mode, nano }) => {
    const { call, outcome } = end(begin({}, { pricingMode: begun }), { usage: used, pricingMode: ended }, DEAR);
    expect([call.pricingMode, outcome.pricingMode]).toEqual([begun, mode]);
    expect(outcome.price).toMatchObject({
      status: 'FINAL',
      costNanoUsd: nano,
      breakdown: { standardCostUsdNano: '7500000' },
    });
  });

  test('batch halves the money and not the allowance', () => {
    expect(end(begin({}, { pricingMode: 'batch' }), { usage: used }, DEAR).meters.consumed).toEqual({
      premiumCalls: 1,
      premiumTokens: 500,
    });
  });

  test('is unavailable with a reason, never zero, if the model has no price', () => {
    expect(end(begin({}), { usage: used }, UNKNOWN).outcome.price).toEqual({
      status: 'UNAVAILABLE',
      reason: 'MODEL_NOT_IN_CATALOG',
    });
  });
});

describe('compression savings', () => {
  const counts = { provider: 'toon', originalTokens: 1_000, compressedTokens: 600, techniques: ['columns'] };
  test.each([
    // 400 saved tokens at 2,500 nano-USD.
    { of: 'a saving', change: {}, price: DEAR, savedTokens: 400, ratio: 0.4, avoided: '1000000' },
    { of: 'a saving at an unknown price', change: {}, price: UNKNOWN, savedTokens: 400, ratio: 0.4, avoided: null },
    {
      of: 'a prompt that grew',
      change: { compressedTokens: 1_001 },
      price: DEAR,
      savedTokens: 0,
      ratio: 0,
      avoided: '0',
    },
    {
      of: 'an empty prompt',
      change: { originalTokens: 0, compressedTokens: 0 },
      price: DEAR,
      savedTokens: 0,
      ratio: 0,
      avoided: '0',
    },
  ])('of $of are derived from the counts', ({ change, price, savedTokens, ratio, avoided }) => {
    const promptCompression = { ...counts, ...change };
    const stored = { ...promptCompression, savedTokens, tokenSavingsRatio: ratio };
    const { account, call } = end(begin({}), { promptCompression }, price);
    expect(call.compression).toEqual({ ...stored, inputCostAvoidedNanoUsd: avoided, recordedAtMs: NOW + 1_000 });
    // Reported after the end, they come to the same; reported before it, to the same once it has ended.
    const after = recordCompression(
      account,
      { ...call, compression: undefined } as never,
      promptCompression,
      NOW + 2_000,
    );
    expect(after.compression).toEqual({ ...stored, inputCostAvoidedNanoUsd: avoided, recordedAtMs: NOW + 2_000 });
    const begun = begin({});
    const before = recordCompression(begun.account, begun.call, promptCompression, NOW + 500);
    expect(before.compression).toEqual({ ...stored, inputCostAvoidedNanoUsd: null, recordedAtMs: NOW + 500 });
    expect([before.account.revision, before.call.revision]).toEqual([
      begun.account.revision + 1,
      begun.account.revision + 1,
    ]);
    const carried = end({ ...begun, ...before }, {}, price).call.compression;
    expect(carried).toEqual({ ...stored, inputCostAvoidedNanoUsd: avoided, recordedAtMs: NOW + 500 });
  });

  test('of a session are bounded by the input of an ended call, and by nothing known of an open one', () => {
    const tokens = (originalTokens: number, compressedTokens: number) => ({
      ...counts,
      originalTokens,
      compressedTokens,
    });
    const open = begin({});
    expect(excessiveOfSession(open.call, tokens(1_000, 900))).toBeNull();
    const { call } = end(open, { usage: usage({ inputTokens: 800 }) });
    expect(excessiveOfSession(call, tokens(1_600, 800))).toBeNull();
    expect(excessiveOfSession(call, tokens(900, 801))).toEqual({ field: 'compressedTokens', max: 800 });
    expect(excessiveOfSession(call, tokens(1_601, 800))).toEqual({ field: 'originalTokens', max: 1_600 });
    const denied = begin({ limits: { standardCalls: 0 } });
    expect(canEnd(denied.call)).toBe(false);
    expect(excessiveOfSession(denied.call, tokens(0, 0))).toBeNull();
    expect(excessiveOfSession(denied.call, tokens(1, 1))).toEqual({ field: 'compressedTokens', max: 0 });
  });

  test("of the end win over those recorded before, and batch halves the cost avoided as it halves the call's", () => {
    const begun = begin({}, { pricingMode: 'batch' });
    const before = recordCompression(begun.account, begun.call, { ...counts, provider: 'heuristic' }, NOW + 500);
    const promptCompression = { ...counts, compressedTokens: 999 };
    expect(end({ ...begun, ...before }, { promptCompression }, DEAR).call.compression).toMatchObject({
      provider: 'toon',
      savedTokens: 1,
      inputCostAvoidedNanoUsd: '1250',
      recordedAtMs: NOW + 1_000,
    });
  });
});

describe('timeout', () => {
  test('releases all reservations, consumes nothing, and is dated at the deadline', () => {
    const begun = begin(
      { reserveOutputTokens: 40 },
      { requested: BOTH, consumed: { standardCalls: 2 }, reserved: { standardCalls: 1 } },
    );
    const { account: after, call } = timeOutCall(begun.account, begun.call);
    expect(call).toMatchObject({ status: 'TIMEOUT', finishedAtMs: DEADLINE, outcome: null });
    expect(call.reserved).toEqual({});
    expect(after.meters.consumed).toEqual({ standardCalls: 2 });
    expect(some(after.meters.reserved)).toEqual({ standardCalls: 1 });
    expect([after.revision, call.revision]).toEqual([3, 3]);
  });

  test('makes room for another call', () => {
    const begun = begin({ limits: { standardCalls: 1 } });
    const request: BeginRequest = { requested: {}, pricingMode: 'standard' };
    expect(
      beginCall(begun.account, asCallId('c2'), request, NOTHING_KNOWN, { deadlineAtMs: DEADLINE, nowMs: NOW }).call
        .status,
    ).toBe('NOT_ALLOWED');
    const timedOut = timeOutCall(begun.account, begun.call);
    expect(
      beginCall(timedOut.account, asCallId('c2'), request, NOTHING_KNOWN, { deadlineAtMs: DEADLINE, nowMs: NOW }).call
        .status,
    ).toBe('IN_PROGRESS');
  });

  test('does not prevent a late end, which is consumed and priced once and releases nothing twice', () => {
    const begun = begin({}, { reserved: { standardCalls: 1 } });
    const ended = end(
      timeOutCall(begun.account, begun.call),
      { usage: usage({ inputTokens: 1_000, responseTokens: 500 }) },
      DEAR,
    );
    expect(ended.call.status).toBe('COMPLETED');
    expect(ended.meters.consumed).toEqual({ premiumCalls: 1, premiumTokens: 500 });
    expect(some(ended.meters.reserved)).toEqual({ standardCalls: 1 });
    expect(ended.outcome.price).toMatchObject({ status: 'FINAL', costNanoUsd: '7500000' });
  });
});

test('a withdrawn admission releases all reservations, consumes nothing, and cannot end', () => {
  const begun = begin(
    { reserveOutputTokens: 40 },
    { requested: BOTH, consumed: { standardCalls: 2 }, reserved: { standardCalls: 1 } },
  );
  const { account: after, call } = refuseCall(begun.account, begun.call, NOW + 5);
  expect(call).toMatchObject({ status: 'NOT_ALLOWED', finishedAtMs: NOW + 5, outcome: null });
  expect([call.reserved, canEnd(call)]).toEqual([{}, false]);
  expect([after.meters.consumed, some(after.meters.reserved)]).toEqual([{ standardCalls: 2 }, { standardCalls: 1 }]);
  expect([after.revision, call.revision]).toEqual([3, 3]);
});

test('an end is recorded once, while the call is open or after it timed out', () => {
  const begun = begin({});
  const timedOut = timeOutCall(begun.account, begun.call).call;
  const completed = end(begun).call;
  const failed = end(begun, { error: { code: 'a', message: 'b' } }).call;
  const denied = begin({ limits: { standardCalls: 0 } }).call;
  expect([begun.call, timedOut, completed, failed, denied].map(canEnd)).toEqual([true, true, false, false, false]);
});

describe('a call that is open at a replenishment', () => {
  const limits = { standardCalls: 2, standardTokens: 1_000 };
  const begun = () => {
    const open = begin({ limits, reserveOutputTokens: 400 }, { consumed: { standardCalls: 1, standardTokens: 100 } });
    const account = replenishDue(open.account, open.account.subscription.nextReplenishAtMs);
    expect(account).not.toBe(open.account);
    return { ...open, account };
  };
  const usedUnits = ({ subscription, meters }: Account, name: 'standardCalls' | 'standardTokens') =>
    summarize(subscription.plan.plan, meters, name).used;

  test('keeps its reservations in the new period, of which nothing else is used', () => {
    const { account } = begun();
    expect(some(account.meters.consumed)).toEqual({});
    expect([usedUnits(account, 'standardCalls'), usedUnits(account, 'standardTokens')]).toEqual([1, 400]);
  });

  test('counts in the period in which it ends, with what it used', () => {
    const { account } = end(begun(), { usage: usage({ inputTokens: 10, responseTokens: 30 }) });
    expect(some(account.meters.reserved)).toEqual({});
    expect([usedUnits(account, 'standardCalls'), usedUnits(account, 'standardTokens')]).toEqual([1, 30]);
  });

  test('releases them there if it times out', () => {
    const open = begun();
    const { account } = timeOutCall(open.account, open.call);
    expect([usedUnits(account, 'standardCalls'), usedUnits(account, 'standardTokens')]).toEqual([0, 0]);
  });
});
