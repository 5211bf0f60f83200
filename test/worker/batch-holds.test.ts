/**
 * Promise: batches and plain calls together never exceed a limit or a balance, in any order; and the part that a batch
 * does not need is freed with each line, at its end, or at its expiry.
 */
import { describe, expect, test } from 'vitest';
import { usageSource } from '../../src/domain/call.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { BATCHES_MAX } from '../../src/objects/batch-commands.ts';
import { accountOf, ask, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { bindings, operator } from '../support/worker.ts';
import { usage } from '../unit/fixtures.ts';

mockVendor();

const START = Date.UTC(2027, 2, 1);
const HOUR = 3_600_000;
/** How long a batch keeps its hold. */
const EXPIRY = 48 * HOUR;
const CENT = 10_000_000n;
/** A token of output costs two cents, in a batch one. */
const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '0', output: '20000000000000' }) };

/** So many lines of the premium tier, each with so many tokens of output at most. */
const buildLines = (count: number, tokens = 1) => ({
  premium: {
    ...{ count, isPriced: true, outputTokens: count * tokens, highestOutputTokens: tokens },
    costNanoUsd: (CENT * BigInt(count * tokens)).toString(),
    highestCostNanoUsd: (CENT * BigInt(tokens)).toString(),
    costliest: { inputTokens: 0, outputTokens: tokens },
  },
});
const PAYG = { name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 0 }, payg: { enabled: true, markupPercent: 0 } };
const limitedPlan = (limits: object) => ({ name: 'P', limitType: 'BLOCK', limits });

/** Whether a plain call of the premium tier is admitted, or why not. */
function begin(object: Clockwork, id: string, more: Parameters<Clockwork['begin']>[2] = {}, atMs = START) {
  const { denial, allowed } = accepted(
    object.begin(id, atMs, { requested: { premium: true, ...more.requested }, ...more }),
  );
  return denial ?? allowed.premium;
}
/** Grants the customer so many cents. */
function fund(object: Clockwork, cents: bigint, more: Parameters<Clockwork['grant']>[3] = {}) {
  accepted(object.begin('first', START));
  object.void('first', START);
  accepted(object.grant('USD', cents * CENT, START, more));
}
/** Whether a batch is admitted, or why not. */
function hold(object: Clockwork, name: string, batch: Parameters<Clockwork['holdBatch']>[1], atMs = START) {
  const admission = object.holdBatch(name, batch, atMs);
  if (admission.ok) return true;
  return 'denial' in admission ? admission.denial : admission.refusal;
}
const record = (object: Clockwork, requestName: string, line: string, responseTokens: number, atMs = START) => {
  const of = { line: { requestName, tier: 'premium' as const }, price: PRICE };
  return object.recordServiceCall(line, atMs, { modelUsed: 'made/up', usage: usage({ responseTokens }) }, of);
};
/** The held cents, and the reservations of a meter. */
const heldBy = (object: Clockwork, meter: 'premiumCalls' | 'premiumTokens' | 'searches' = 'premiumCalls') => {
  const account = object.account();
  return { cents: BigInt(account?.wallet.held ?? 0) / CENT, reserved: account?.meters.reserved[meter] ?? 0 };
};

describe('a call limit', () => {
  test('is one for plain calls and batches, from both sides', async () => {
    await withObject(limitedPlan({ premiumCalls: 5 }), async (object) => {
      expect(hold(object, 'a', { lines: buildLines(3) })).toBe(true);
      expect([begin(object, '1'), begin(object, '2')]).toEqual([true, true]);
      const used = { code: 'ALLOWANCE_EXHAUSTED', meter: 'premiumCalls' };
      expect(begin(object, '3')).toMatchObject(used);
      expect(hold(object, 'b', { lines: buildLines(1) })).toMatchObject({ ...used, exceeds: { lines: 1, left: 0 } });
      expect(accepted(object.usage(START)).meters.premiumCalls).toMatchObject({ used: 5, remaining: 0 });
      object.end('1', START, { error: { code: 'E', message: 'failed' } });
      expect(hold(object, 'b', { lines: buildLines(2) })).toMatchObject({ exceeds: { lines: 2, left: 1 } });
      expect(hold(object, 'b', { lines: buildLines(1) })).toBe(true);
      object.endBatch('a', START);
      expect(hold(object, 'c', { lines: buildLines(3) })).toBe(true);
      expect(begin(object, '4')).toMatchObject(used);
    });
  });

  test('is not exceeded by concurrent begins and batches, and is used up', async () => {
    const tenant = await newTenant(limitedPlan({ premiumCalls: 40 }));
    vendor.answers = (url, { metadata }) =>
      url.endsWith('/content')
        ? new Response(`${JSON.stringify({ body: { model: 'gpt-5.2' } })}\n`.repeat(10))
        : Response.json({ id: `batch_${crypto.randomUUID()}`, status: 'validating', metadata });
    const body = { input_file_id: 'file_in', endpoint: '/v1/chat/completions' };
    const batches = Array.from({ length: 6 }, async () => {
      const { response } = await ask(tenant.key, body, bindings, '/v1/batches');
      expect([200, 403]).toContain(response.status);
      return response.status === 200 ? 10 : 0;
    });
    const begins = Array.from({ length: 30 }, async () => {
      const begun = await tenant.api.send('beginCall', {
        body: { customerId: 'default', requested: { premium: true }, feature: crypto.randomUUID() },
      });
      return begun.data.allowed.premium ? 1 : 0;
    });
    const admitted = await Promise.all<number>([...batches, ...begins]);
    expect(admitted.reduce((sum, calls) => sum + calls, 0)).toBe(40);
    expect((await accountOf(tenant)).reserved.premiumCalls).toBe(40);
  });
});

test('a search limit is one for plain calls and batches; a line that searched frees one', async () => {
  await withObject(limitedPlan({ searches: 3 }), async (object) => {
    const searching = { requested: { premium: true, search: true }, needs: ['search' as const] };
    expect(hold(object, 'a', { lines: buildLines(2), searches: 2, needs: ['search'] })).toBe(true);
    expect(begin(object, '1', searching)).toBe(true);
    expect(begin(object, '2', searching)).toMatchObject({ code: 'ALLOWANCE_EXHAUSTED', meter: 'searches' });
    expect(hold(object, 'b', { lines: buildLines(1), searches: 1, needs: ['search'] })).toMatchObject({
      meter: 'searches',
    });
    const of = { line: { requestName: 'a', tier: 'premium' as const }, price: PRICE };
    object.recordServiceCall('line', START, { modelUsed: 'made/up', usage: usage({ searches: 1 }) }, of);
    expect(heldBy(object, 'searches').reserved).toBe(2);
    expect(begin(object, '3', searching)).toMatchObject({ meter: 'searches' });
    object.endBatch('a', START);
    expect(begin(object, '4', searching)).toBe(true);
  });
});

describe('a balance', () => {
  test('is one for plain calls and batches, from both sides', async () => {
    await withObject(PAYG, async (object) => {
      fund(object, 10n);
      expect(hold(object, 'a', { lines: buildLines(6) })).toBe(true);
      expect(begin(object, '1', { holdUsd: 0.03 })).toBe(true);
      expect(begin(object, '2', { holdUsd: 0.02 })).toMatchObject({
        ...{ code: 'BALANCE_HELD', neededUsd: 0.02, availableUsd: 0.009999994, openCalls: 1, openBatches: 1 },
        message: 'The call needs $0.02, and $0.00999 is available; 1 open call and 1 batch hold $0.09.',
      });
      expect(hold(object, 'b', { lines: buildLines(2) })).toMatchObject({
        ...{ code: 'BALANCE_HELD', meter: 'premiumCalls', limit: 0, used: 0, open: { calls: 1, batches: 1 } },
        money: { neededNanoUsd: '20000002', availableNanoUsd: '9999994', maxTokensThatPass: null },
        resetsAtMs: null,
      });
      expect(hold(object, 'b', { lines: buildLines(10) })).toMatchObject({ code: 'CREDIT_REQUIRED' });
      object.void('1', START);
      expect(hold(object, 'b', { lines: buildLines(2) })).toBe(true);
      object.endBatch('a', START);
      expect(begin(object, '3', { holdUsd: 0.07 })).toBe(true);
    });
  });

  test('is not exceeded by concurrent begins and batches, and nothing is refused that it covers', async () => {
    const tenant = await newTenant(PAYG);
    const params = { org: tenant.organizationId, customerId: 'default' };
    const body = { input_file_id: 'file_in', endpoint: '/v1/chat/completions' };
    // 10,000 tokens of GPT-5.2's output cost 7 cents in a batch.
    const line = JSON.stringify({ url: '/v1/chat/completions', body: { model: 'gpt-5.2', max_tokens: 10_000 } });
    vendor.answers = (url, { metadata }) =>
      url.endsWith('/content')
        ? new Response(line)
        : Response.json({ id: `batch_${crypto.randomUUID()}`, status: 'validating', metadata });
    await tenant.api.send('provisionCustomer', { body: { customerId: 'default' } });
    await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '1' } });
    const batches = Array.from({ length: 10 }, async () => {
      const { response } = await ask(tenant.key, body, bindings, '/v1/batches');
      if (response.status !== 200) {
        expect(response.status).toBe(429);
        expect(response.headers.get('x-should-retry')).toBe('true');
        const { error } = (await response.json()) as { error: Record<string, unknown> };
        expect(error).toMatchObject({ code: 'BALANCE_HELD', meter: 'premiumCalls', maxTokensThatPass: null });
        expect(error.message).toMatch(/The call needs \$0\.\d+, and \$0\.\d+ is available; \d.* holds? \$0\.\d+\.$/);
      }
      return response.status === 200;
    });
    const begins = Array.from({ length: 10 }, async () => {
      const asked = {
        customerId: 'default',
        requested: { premium: true },
        holdUsd: 0.07,
        feature: crypto.randomUUID(),
      };
      return (await tenant.api.send('beginCall', { body: asked })).data.allowed.premium;
    });
    const admitted = (await Promise.all([...batches, ...begins])).filter(Boolean).length;
    const held = Number((await accountOf(tenant)).wallet.held) / 1e9;
    expect(held).toBeLessThanOrEqual(1);
    expect(held).toBeGreaterThan(1 - 0.0701);
    expect(admitted).toBeGreaterThanOrEqual(13);
  });

  test('pays what is recorded of a batch from what it held, also of a credit that expired meanwhile', async () => {
    await withObject(PAYG, async (object) => {
      fund(object, 10n, { expiresAtMs: START + HOUR });
      expect(hold(object, 'a', { lines: buildLines(4) })).toBe(true);
      const later = START + 2 * HOUR;
      object.wake(later);
      expect(heldBy(object)).toMatchObject({ cents: 4n });
      for (const line of ['1', '2', '3']) expect(record(object, 'a', line, 1, later).ok).toBe(true);
      object.endBatch('a', later);
      await object.settle(later + HOUR);
      object.wake(later + 2 * HOUR);
      const wallet = object.account()?.wallet;
      expect([wallet?.overdraft, wallet?.held, wallet?.credits]).toEqual(['0', '0', []]);
    });
  });

  test('pays for no line whose model has no price', async () => {
    await withObject(PAYG, async (object) => {
      fund(object, 1n);
      const { premium } = buildLines(1);
      const lines = { premium: { ...premium, isPriced: false, costNanoUsd: '0', highestCostNanoUsd: '0' } };
      const gap = { code: 'MODEL_NOT_PRICED', model: 'unknown', component: 'model', param: 'model' } as const;
      expect(object.holdBatch('a', { lines }, START, { premium: { line: 7, gap } })).toMatchObject({
        refusal: {
          code: 'MODEL_NOT_PRICED',
          message: expect.stringContaining('line 7'),
          members: { param: 'body.model' },
        },
      });
      expect(heldBy(object)).toEqual({ cents: 0n, reserved: 0 });
    });
  });
});

describe('what a batch holds', () => {
  test('is free line by line, once for each line, and at the end', async () => {
    await withObject({ ...PAYG, limits: { premiumCalls: 2 } }, async (object) => {
      fund(object, 100n);
      expect(hold(object, 'a', { lines: buildLines(5, 10) })).toBe(true);
      expect(heldBy(object)).toEqual({ cents: 30n, reserved: 2 });
      const steps = [
        ['1', { cents: 30n, reserved: 1 }],
        ['1', { cents: 30n, reserved: 1 }],
        ['2', { cents: 30n, reserved: 0 }],
        ['3', { cents: 20n, reserved: 0 }],
        ['4', { cents: 10n, reserved: 0 }],
      ] as const;
      for (const [line, expected] of steps) {
        expect(record(object, 'a', line, 4).ok).toBe(true);
        expect(heldBy(object)).toEqual(expected);
      }
      object.endBatch('a', START);
      expect(heldBy(object)).toEqual({ cents: 0n, reserved: 0 });
      expect(object.account()?.meters.consumed).toMatchObject({ premiumCalls: 2 });
      await object.settle(START + HOUR);
      expect(object.account()?.wallet.credits[0]?.remaining).toBe((92n * CENT).toString());
      expect(object.rows('batch_holds')).toBe(0);
    });
  });

  test('includes the output if the plan reserves it', async () => {
    const reserving = { ...limitedPlan({ premiumTokens: 100 }), reserveOutputTokens: 10 };
    await withObject(reserving, async (object) => {
      expect(hold(object, 'a', { lines: buildLines(3, 20) })).toBe(true);
      expect(heldBy(object, 'premiumTokens').reserved).toBe(60);
      expect(hold(object, 'b', { lines: buildLines(3, 20) })).toMatchObject({ exceeds: { lines: 3, left: 2 } });
      record(object, 'a', '1', 5);
      expect(heldBy(object, 'premiumTokens').reserved).toBe(40);
      expect(hold(object, 'b', { lines: buildLines(2, 20) })).toBe(true);
    });
  });

  test('is held once, however often the request is sent, and differently if the request has changed', async () => {
    await withObject(limitedPlan({ premiumCalls: 5 }), async (object) => {
      for (let time = 0; time < 3; time += 1) expect(hold(object, 'a', { lines: buildLines(4) })).toBe(true);
      expect(heldBy(object).reserved).toBe(4);
      expect(hold(object, 'a', { lines: buildLines(5) })).toBe(true);
      expect(heldBy(object).reserved).toBe(5);
    });
  });

  test('outlives the usage period and a restart of the object', async () => {
    const daily = { ...limitedPlan({ premiumCalls: 5 }), replenish: { every: 1, unit: 'DAY' } };
    await withObject(daily, async (object) => {
      expect(hold(object, 'a', { lines: buildLines(4) })).toBe(true);
      await object.restart();
      object.wake(START + 25 * HOUR);
      expect(hold(object, 'b', { lines: buildLines(2) }, START + 25 * HOUR)).toMatchObject({ exceeds: { left: 1 } });
    });
  });

  test('is given back at its expiry by the alarm; lines after that are recorded as they come', async () => {
    await withObject({ ...PAYG, limits: { premiumCalls: 1 } }, async (object) => {
      fund(object, 10n);
      expect(hold(object, 'a', { lines: buildLines(3) })).toBe(true);
      const { pending } = object.outbox();
      expect(pending).toBeGreaterThan(0);
      object.wake(START + EXPIRY - 1);
      expect(heldBy(object)).toEqual({ cents: 2n, reserved: 1 });
      object.wake(START + EXPIRY);
      expect(heldBy(object)).toEqual({ cents: 0n, reserved: 0 });
      for (const line of ['1', '2']) record(object, 'a', line, 1, START + EXPIRY + 1);
      expect(object.account()?.meters.consumed).toMatchObject({ premiumCalls: 1 });
      expect(object.account()?.wallet.unsettled).toBe(CENT.toString());
      expect(heldBy(object)).toEqual({ cents: 0n, reserved: 0 });
      // The hold of the third line is still known.
      object.endBatch('a', START + EXPIRY + 2, 3);
      await object.settle(START + EXPIRY + 2 + HOUR);
      expect(object.account()?.wallet.credits[0]?.remaining).toBe((8n * CENT).toString());
    });
  });

  test('of an abandoned batch is forgotten, but not within 30 days', async () => {
    await withObject(limitedPlan({ premiumCalls: 5 }), async (object) => {
      expect(hold(object, 'a', { lines: buildLines(3) })).toBe(true);
      object.wake(START + EXPIRY);
      object.housekeep(START + 30 * 24 * HOUR);
      expect(object.rows('batch_holds')).toBe(1);
      object.housekeep(START + 34 * 24 * HOUR);
      expect(object.rows('batch_holds')).toBe(0);
    });
  });

  test('wakes the object when it expires', async () => {
    await withObject({ ...limitedPlan({}), replenish: null }, async (object) => {
      expect(hold(object, 'a', { lines: buildLines(1) })).toBe(true);
      await object.deliver(bindings.DB, START);
      await object.restart();
      object.housekeep(START + 40_000);
      expect(await object.alarm()).toBe(START + EXPIRY);
    });
  });
});

test('a customer has at most 1,000 batches that hold something', async () => {
  await withObject(limitedPlan({}), async (object) => {
    for (let index = 0; index < BATCHES_MAX; index += 1)
      object.holdBatch(`batch-${index}`, { lines: buildLines(1) }, START);
    expect(hold(object, 'more', { lines: buildLines(1) })).toMatchObject({ code: 'RATE_LIMITED' });
    expect(hold(object, 'batch-7', { lines: buildLines(2) })).toBe(true);
    object.endBatch('batch-0', START);
    expect(hold(object, 'more', { lines: buildLines(1) })).toBe(true);
    expect(heldBy(object).reserved).toBe(BATCHES_MAX + 1);
  });
});

describe('lines that ran and cannot be read', () => {
  /** The records of a batch's lines, the ones on the allowance first. */
  const recordsOf = (object: Clockwork) =>
    accepted(object.inspect(START))
      .recentCalls.map(({ callId }) => object.seen(callId))
      .flatMap((call) => (call?.outcome ? [{ call, outcome: call.outcome }] : []))
      .filter(({ outcome }) => outcome.usageSource === 'estimated')
      .sort((a, b) => (b.outcome.consumed.premiumCalls ?? 0) - (a.outcome.consumed.premiumCalls ?? 0));

  test('count as the calls and tokens that were reserved, or are charged what was held, and say that they are estimated', async () => {
    const plan = { ...PAYG, limits: { premiumCalls: 2 }, reserveOutputTokens: 1 };
    await withObject(plan, async (object) => {
      fund(object, 100n);
      expect(hold(object, 'a', { lines: buildLines(5, 10), searches: 1 })).toBe(true);
      record(object, 'a', '1', 4);
      object.endBatch('a', START, 3);
      object.endBatch('a', START, 3);
      const [onAllowance, onCredit, ...more] = recordsOf(object);
      expect(more).toEqual([]);
      expect(onAllowance?.outcome).toMatchObject({
        ...{ tier: 'premium', calls: 1, charge: null, modelUsed: 'gpt-5.2' },
        consumed: { premiumCalls: 1, premiumTokens: 10, searches: 1 },
        price: { status: 'FINAL', costNanoUsd: (10n * CENT).toString() },
      });
      expect(onCredit?.outcome).toMatchObject({
        ...{ calls: 2, consumed: {}, price: { costNanoUsd: (20n * CENT).toString() } },
        charge: { amountNanoUsd: (20n * CENT).toString() },
      });
      for (const { call } of [onAllowance, onCredit].flatMap((one) => one ?? []))
        expect([call.status, usageSource(call)]).toEqual(['COMPLETED', 'estimated']);
      expect(object.account()?.meters).toMatchObject({
        consumed: { premiumCalls: 2, premiumTokens: 14 },
        reserved: { premiumCalls: 0, premiumTokens: 0, searches: 0 },
      });
      await object.settle(START + HOUR);
      expect(object.account()?.wallet).toMatchObject({ held: '0', credits: [{ remaining: (80n * CENT).toString() }] });
    });
  });

  test('are reversed like any call, and give everything back', async () => {
    await withObject({ ...PAYG, limits: { premiumCalls: 1 } }, async (object) => {
      fund(object, 10n);
      expect(hold(object, 'a', { lines: buildLines(2) })).toBe(true);
      object.endBatch('a', START, 2);
      await object.settle(START + HOUR);
      for (const { call } of recordsOf(object)) expect(object.reverseCall(call.callId, START).ok).toBe(true);
      await object.settle(START + HOUR);
      expect(object.account()?.meters.consumed.premiumCalls).toBe(0);
      expect(object.account()?.wallet.credits[0]?.remaining).toBe((10n * CENT).toString());
    });
  });
});
