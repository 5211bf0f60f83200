/**
 * The hold of a batch is enough for its lines in any order, and not more than they need.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AdmittedLine,
  admitLine,
  afterLine,
  type BatchHold,
  decideBatch,
  giveBackLine,
  holdBatch,
  type Lines,
  type LinesByTier,
  releaseBatch,
  sumHeld,
} from '../../src/domain/batch-hold.ts';
import { beginCall } from '../../src/domain/begin-call.ts';
import { endCall } from '../../src/domain/call.ts';
import { asCallId } from '../../src/domain/ids.ts';
import type { Plan } from '../../src/domain/plan.ts';
import { unreadLines } from '../../src/domain/unread-lines.ts';
import { availableUsd, type Credit, grantCredit } from '../../src/domain/wallet.ts';
import { metadataFull, taggedBody } from '../../src/gateway/batches/creation.ts';
import { batchModel, withLine } from '../../src/gateway/batches/line-bounds.ts';
import { rateCard } from '../support/rate-cards.ts';
import { account, NOTHING_KNOWN, type PartialUsage, plan, usage } from './fixtures.ts';

const EXPIRES = 1_000_000;
const NOW = 0;
const LIMITS = { efforts: [], reasons: false, contextTokens: undefined, maxOutputTokens: undefined };
/** In a batch a token of output costs a thousand nano-USD, and nothing else costs anything. */
const CARD = rateCard({ input: '0', output: '2000000000' });
const TOKEN = 1_000n;
const NOTHING_OPEN = { allowUnpricedModels: false, creditOpen: [] };

/** Lines of the standard tier with these bounds of their outputs. */
function buildLines(bounds: readonly number[]): LinesByTier {
  const model = batchModel({ kind: 'openai' }, { available: true, card: CARD }, LIMITS);
  return bounds.reduce<LinesByTier>(
    (lines, max_tokens) =>
      withLine(lines, model, { path: '/v1/chat/completions', model: 'm', body: { max_tokens } }, NOTHING_OPEN).lines,
    {},
  );
}

const customer = (content: Plan, balance = 0n) => {
  const fresh = account(content);
  const credit: Credit = {
    ...{ creditId: 'c', unit: 'USD' as const, remaining: '0', grantedAtMs: 0, expiresAtMs: null, reference: null },
    granted: (balance * TOKEN).toString(),
  };
  return balance === 0n ? fresh : { ...fresh, wallet: grantCredit(fresh.wallet, credit) };
};
const PAYG = { enabled: true, markupPercent: 10 };
const wants = (lines: LinesByTier, searches = 0) => ({ lines, searches, needs: [] });

/** In tokens; the bounds of a cost are some nano-USD above it. */
const inTokens = (nanoUsd: bigint) => nanoUsd / TOKEN;

/** The hold of the batch; throws if it is denied. */
function held(of: ReturnType<typeof customer>, lines: LinesByTier): BatchHold {
  const decided = decideBatch(of, wants(lines), { expiresAtMs: EXPIRES, nowMs: NOW });
  if (!decided.ok) throw new Error(decided.denial.code);
  return decided.hold;
}

/** Records a line with so many tokens of output. */
function record(before: ReturnType<typeof customer>, hold: BatchHold, tokens: number, used: PartialUsage = {}) {
  const request = { requested: { standard: true }, pricingMode: 'batch' } as const;
  const decision = beginCall(before, asCallId('call'), request, NOTHING_KNOWN, { deadlineAtMs: EXPIRES, nowMs: 1 });
  const { decision: admitted, share }: AdmittedLine = admitLine(before, decision, hold, 'standard');
  const report = { modelUsed: 'm', usage: usage({ responseTokens: tokens, ...used }) };
  const ended = endCall(admitted.account, admitted.call, report, { available: true, card: CARD }, 'charge', 2);
  const { outcome } = ended.call;
  if (!outcome) throw new Error('a call that ended has an outcome');
  const after = afterLine(hold, 'standard', outcome);
  return { account: giveBackLine(ended.account, share, hold, after), hold: after, outcome, call: ended.call };
}

describe('what some of the lines hold', () => {
  test('is all lines together, or that many of the largest one, whichever is less', () => {
    const lines = buildLines([100, 10, 10]);
    const balance = 1_000n;
    for (const [calls, cost] of [
      [0, 120n],
      [1, 120n],
      [2, 100n],
      [3, 0n],
    ] as const) {
      const of = customer(
        plan({ limits: { standardCalls: calls }, payg: { enabled: true, markupPercent: 0 } }),
        balance,
      );
      const { reserved, nanoUsd } = sumHeld(held(of, lines));
      expect([reserved.standardCalls, inTokens(nanoUsd)]).toEqual([calls, cost]);
    }
  });

  const outputs = fc.array(fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 0, max: 100 })), {
    minLength: 1,
    maxLength: 12,
  });

  test('covers the lines in any order: balance, calls and tokens never go below zero, and all is free at the end', () => {
    fc.assert(
      fc.property(
        outputs,
        fc.nat(12),
        fc.bigInt({ min: 0n, max: 4_000n }),
        fc.nat(2_000),
        (all, calls, balance, tokens) => {
          const of = customer(
            plan({ limits: { standardCalls: calls, standardTokens: tokens }, payg: PAYG, reserveOutputTokens: 1 }),
            balance,
          );
          const lines = buildLines(all.map(([bound]) => bound));
          const decided = decideBatch(of, wants(lines), { expiresAtMs: EXPIRES, nowMs: NOW });
          if (!decided.ok) return;
          let state = { account: holdBatch(of, decided.hold), hold: decided.hold };
          const shuffled = [...all].sort(([, a], [, b]) => a - b);
          for (const [bound, percent] of shuffled) {
            const next = record(state.account, state.hold, Math.floor((bound * percent) / 100));
            const { wallet, meters } = next.account;
            expect(availableUsd(wallet)).toBeGreaterThanOrEqual(0n);
            for (const [name, limit] of [
              ['standardCalls', calls],
              ['standardTokens', tokens],
            ] as const)
              expect((meters.consumed[name] ?? 0) + (meters.reserved[name] ?? 0)).toBeLessThanOrEqual(limit);
            expect(next.call.credit?.exceededNanoUsd).toBeUndefined();
            state = next;
          }
          expect(sumHeld(state.hold)).toEqual({
            reserved: { searches: 0, standardCalls: 0, standardTokens: 0 },
            nanoUsd: 0n,
          });
          expect(state.account.wallet.held).toBe('0');
        },
      ),
    );
  });

  test('is never more after a line than before, and free when the batch is over', () => {
    fc.assert(
      fc.property(outputs, (all) => {
        const of = customer(plan({ limits: { standardCalls: 0 }, payg: PAYG }), 1_000_000n);
        const hold = held(of, buildLines(all.map(([bound]) => bound)));
        const next = record(holdBatch(of, hold), hold, 0);
        expect(sumHeld(next.hold).nanoUsd).toBeLessThanOrEqual(sumHeld(hold).nanoUsd);
        expect(releaseBatch(next.account, next.hold)).toMatchObject({ wallet: { held: '0' } });
      }),
    );
  });

  test.each([0n, 1_000n])(
    'lines that an allowance was held for are not charged although its tokens are used up meanwhile (balance %d)',
    (balance) => {
      const of = customer(plan({ limits: { standardTokens: 10 }, payg: PAYG }), balance);
      const hold = held(of, buildLines([8, 8, 8]));
      let state = { account: holdBatch(of, hold), hold };
      for (let line = 0; line < 3; line += 1) {
        const next = record(state.account, state.hold, 8);
        expect(next.outcome.charge).toBeNull();
        state = next;
      }
    },
  );

  test('a line of which something has no rate is charged all that it held', () => {
    const of = customer(plan({ limits: { standardCalls: 0 }, payg: PAYG }), 1_000_000n);
    const hold = held(of, buildLines([8, 8]));
    const { outcome } = record(holdBatch(of, hold), hold, 2, { audioOutputTokens: 1 });
    const share = sumHeld(held(of, buildLines([8]))).nanoUsd;
    expect(outcome).toMatchObject({
      price: { status: 'UNAVAILABLE' },
      charge: { basis: 'HELD', amountNanoUsd: String(share) },
    });
  });

  test('a call that a failed line did not take is free for the lines after it, before credit pays', () => {
    const of = customer(plan({ limits: { standardCalls: 1 }, payg: PAYG }), 1_000n);
    const hold = held(of, buildLines([10, 10]));
    const failed = {
      ...record(holdBatch(of, hold), hold, 0),
      account: holdBatch(of, hold),
    };
    // The failed line used nothing, so it took no call.
    const free = giveBackLine(failed.account, { reserved: {}, nanoUsd: 0n }, hold, failed.hold);
    expect(record(free, failed.hold, 5).outcome).toMatchObject({ charge: null, consumed: { standardCalls: 1 } });
  });
});

describe('a batch is denied', () => {
  const denial = (of: ReturnType<typeof customer>, lines: LinesByTier, searches = 0) => {
    const decided = decideBatch(of, wants(lines, searches), { expiresAtMs: EXPIRES, nowMs: NOW });
    return decided.ok ? null : decided.denial;
  };
  const lines = buildLines([100, 100]);

  test('for want of calls, of tokens that the plan reserves, or of searches; a plan that only informs denies nothing', () => {
    const exceeds = { kind: 'standard', lines: 2, left: 1 };
    expect(denial(customer(plan({ limits: { standardCalls: 1 } })), lines)).toMatchObject({
      ...{ code: 'ALLOWANCE_EXHAUSTED', meter: 'standardCalls', exceeds },
    });
    const reserving = plan({ limits: { standardTokens: 199 }, reserveOutputTokens: 10 });
    expect(denial(customer(reserving), lines)).toMatchObject({ code: 'ALLOWANCE_EXHAUSTED', exceeds });
    expect(denial(customer(plan({ limits: { standardTokens: 199 } })), lines)).toBeNull();
    expect(denial(customer(plan({ limits: { searches: 1 } })), lines, 2)).toMatchObject({
      ...{ meter: 'searches', exceeds: { kind: 'search', lines: 2, left: 1 } },
    });
    const informing = plan({ limitType: 'NONE', limits: { standardCalls: 1, searches: 1 } });
    expect(denial(customer(informing), lines, 2)).toBeNull();
    expect(sumHeld(held(customer(informing), lines)).reserved.standardCalls).toBe(2);
  });

  test('for want of credit, or because open calls hold it', () => {
    const payg = plan({ limits: { standardCalls: 0 }, payg: PAYG });
    expect(denial(customer(payg, 220n), lines)).toMatchObject({ code: 'CREDIT_REQUIRED' });
    expect(denial(customer(payg, 221n), lines)).toBeNull();
    const of = customer(payg, 300n);
    expect(denial(holdBatch(of, held(of, buildLines([100]))), lines)).toMatchObject({ code: 'BALANCE_HELD' });
    expect(denial(customer(payg), buildLines([])), 'without lines').toBeNull();
  });
});

describe('the bound of a line', () => {
  const at = (body: Record<string, unknown>, card = CARD, maxOutputTokens?: number): Lines | undefined => {
    const model = batchModel({ kind: 'openai' }, { available: true, card }, { ...LIMITS, maxOutputTokens });
    return withLine({}, model, { path: '/v1/chat/completions', model: 'm', body }, NOTHING_OPEN).lines.standard;
  };

  test("is the request's own or else the model's; if neither bounds it, the usual one stands for it", () => {
    expect(at({ max_tokens: 7, n: 3 })?.outputTokens).toBe(21);
    expect(at({}, CARD, 50)?.outputTokens).toBe(50);
    expect(at({})?.outputTokens).toBe(16_384);
  });

  test('is at the rates for batches, or else half of the others, whatever service tier the line asks for', () => {
    const output = { component: 'output', nanoUsdPerMillion: '2000000000' } as const;
    const priority = { ...output, nanoUsdPerMillion: '9000000000', when: { serviceTier: 'priority' } } as const;
    const batch = { ...output, nanoUsdPerMillion: '500000000', when: { serviceTier: 'batch' } } as const;
    const body = { max_tokens: 100, service_tier: 'priority' };
    const costs = [{ rates: [output, priority] }, { rates: [output, batch] }].map((more) =>
      inTokens(BigInt(at(body, { ...CARD, ...more })?.costNanoUsd ?? 0)),
    );
    expect(costs).toEqual([100n, 50n]);
  });

  test('of a model without a price is nothing', () => {
    const model = batchModel({ kind: 'openai' }, { available: false, reason: 'MODEL_NOT_IN_CATALOG' }, LIMITS);
    const request = { path: '/v1/chat/completions', model: 'm', body: { max_tokens: 7 } };
    expect(withLine({}, model, request, NOTHING_OPEN).lines.standard).toMatchObject({
      count: 1,
      isPriced: false,
      costNanoUsd: '0',
    });
  });
});

test('lines that cannot be read are told by tier and by what pays, and cost no more than is held', () => {
  const of = customer(plan({ limits: { standardCalls: 2 }, payg: PAYG, reserveOutputTokens: 1 }), 10_000n);
  const hold = held(of, buildLines([100, 20, 20, 20]));
  const parts = unreadLines(hold, 3);
  expect(parts.map(({ payer, lines }) => [payer, lines])).toEqual([
    ['allowance', 2],
    ['credit', 1],
  ]);
  expect(unreadLines(hold, Number.MAX_SAFE_INTEGER).reduce((sum, { lines }) => sum + lines, 0)).toBe(4);
  const total = unreadLines(hold, 4).reduce((sum, { costNanoUsd }) => sum + (costNanoUsd ?? 0n), 0n);
  expect(total).toBeLessThanOrEqual(BigInt(hold.tiers.standard?.costNanoUsd ?? 0));
  expect(unreadLines(hold, 0)).toEqual([]);
});

describe("a request's name in its metadata", () => {
  test("is added to the caller's entries and replaces one of the same name", () => {
    expect(taggedBody({ x: 1 }, 'n')).toEqual({ x: 1, metadata: { service_request_id: 'n' } });
    expect(taggedBody({ metadata: null }, 'n')).toEqual({ metadata: { service_request_id: 'n' } });
    expect(taggedBody({ metadata: { a: 'b', service_request_id: 'forged' } }, 'n')).toEqual({
      metadata: { a: 'b', service_request_id: 'n' },
    });
  });

  test('needs room, and metadata of another form is left to the vendor', () => {
    const entries = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
    expect(Object.keys(taggedBody({ metadata: entries(15) }, 'n')?.metadata as object)).toHaveLength(16);
    expect(taggedBody({ metadata: entries(16) }, 'n')).toBeNull();
    expect(metadataFull().status).toBe(400);
    for (const metadata of ['x', 7, ['a']]) expect(taggedBody({ metadata }, 'n')).toEqual({ metadata });
  });
});
