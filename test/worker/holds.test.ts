/**
 * Promise: the holds of calls on credit share one balance among all of a customer's calls, to the last nano-USD; the
 * unspent part of a hold is free at once, and the vendor's figures replace an estimate once.
 */

import { describe, expect, test } from 'vitest';
import { DAY_TABLES } from '../../durable-objects/customer/tables/keys.ts';
import { Plan } from '../../src/contract/plans.ts';
import type { CallBound } from '../../src/domain/bound.ts';
import { asCallId } from '../../src/domain/ids.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { sendCommand } from '../../src/objects/command-text.ts';
import type { BeginServiceCallCommand, ExtendHoldCommand } from '../../src/objects/customer-commands.ts';
import { planOnCredit } from '../support/credit-plans.ts';
import { customerKey } from '../support/ids.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { customerStub } from '../support/worker.ts';
import { usage } from '../unit/fixtures.ts';

const START = Date.UTC(2039, 5, 1, 12);
const HOUR = 3_600_000;
/** Nothing but credit pays. */
const PLAN = planOnCredit();
/** A nano-USD for each token of input, ten for each of output. */
const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '1000000', output: '10000000' }) };
const bound = (change: Partial<CallBound> = {}): CallBound => ({
  tier: null,
  outputTokens: 4_000,
  answers: 1,
  inSteps: true,
  cost: { inputNanoUsd: '1000', outputNanoUsdPerMillion: '10000000' },
  ifLost: { modelUsed: 'm', inputTokens: 900, price: PRICE },
  ...change,
});
const used = (responseTokens: number) => ({ modelUsed: 'm', usage: usage({ inputTokens: 900, responseTokens }) });

const begin = (object: Clockwork, callId: string, atMs = START, change: Partial<CallBound> = {}, refusesHeld = false) =>
  object.begin(callId, atMs, {}, undefined, { bounds: [bound(change)], refusesHeld });
const wallet = (object: Clockwork, atMs = START) => accepted(object.inspect(atMs)).wallet;
/** With so many nano-USD. */
const withCredit = (
  nanoUsd: bigint,
  steps: (object: Clockwork) => Promise<void> | void,
  expiresAtMs: number | null = null,
) =>
  withObject(PLAN, async (object) => {
    object.begin('first', START);
    accepted(object.grant('USD', nanoUsd, START, { expiresAtMs }));
    await steps(object);
  });

describe('steps', () => {
  test('of many streams at a time share the balance, and hold no more than there is', async () => {
    const key = customerKey(crypto.randomUUID(), 'streams');
    const { organizationId, customerId } = key;
    const stub = customerStub(organizationId, customerId);
    const plan = { planId: 'p', usagePlanVersionId: 'p:v1', version: 1, plan: Plan.parse(PLAN) };
    const provisioning = {
      ...key,
      defaultPlan: JSON.stringify(plan),
      alerts: null,
      contact: {},
    };
    await stub.provision({ ...provisioning, idempotencyKey: null, fingerprint: '' });
    // Eight first steps of 11,240 nano-USD, and for 1,000 tokens more.
    const granted = 8n * 11_240n + 10_000n;
    const grant = { unit: 'USD', amount: granted.toString(), expiresAtMs: null, reference: null } as const;
    await stub.grant({ organizationId: organizationId, ...grant, idempotencyKey: null, fingerprint: '' });
    const beginOne = async (requestId: string) => {
      const command: BeginServiceCallCommand = {
        ...provisioning,
        key: { source: 'request', requestId },
        fingerprint: '',
        request: { requested: {}, pricingMode: 'standard', openedBy: requestId },
        tierHints: {},
        callType: 'API',
        bounds: [bound()],
        wantsAnswer: false,
      };
      const begun = JSON.parse(await stub.beginServiceCall(sendCommand<BeginServiceCallCommand>(command)));
      return begun.admission as { callId: string; credit: { heldTokens: number } };
    };
    const names = Array.from({ length: 8 }, () => crypto.randomUUID());
    const admissions = await Promise.all(names.map(beginOne));
    expect(admissions.map(({ credit }) => credit.heldTokens)).toEqual(names.map(() => 1_024));
    const extend = async (callId: string, outputTokens: number) => {
      const command: ExtendHoldCommand = { organizationId: organizationId, callId: asCallId(callId), outputTokens };
      return (await stub.extendHold(sendCommand<ExtendHoldCommand>(command))).heldTokens;
    };
    // All of them ask at the same time, and some more than once.
    const asked = [...admissions, ...admissions].map(({ callId }) => extend(callId, 2_048));
    const held = new Map<string, number>();
    for (const [index, tokens] of (await Promise.all(asked)).entries()) {
      const { callId = '' } = admissions[index % 8] ?? {};
      held.set(callId, Math.max(held.get(callId) ?? 0, tokens));
    }
    const more = [...held.values()].map((tokens) => tokens - 1_024);
    expect(more.reduce((sum, tokens) => sum + tokens, 0)).toBe(1_000);
    expect(more.every((tokens) => tokens === 0 || tokens >= 64)).toBe(true);
    const state = await stub.inspect({ organizationId: organizationId });
    if (!state.ok) throw new Error('there is an account');
    expect(state.data.wallet).toMatchObject({ availableUsd: '0' });
  });

  test('that are refused leave the call as it was, and what another gives back is there for the next', () =>
    withCredit(22_480n, (object) => {
      begin(object, 'one');
      begin(object, 'two');
      expect(object.extendHold('one', 2_048, START).heldTokens).toBe(1_024);
      accepted(object.end('two', START, used(24), PRICE));
      // 1,140 of the second call are to be paid.
      expect(object.extendHold('one', 2_048, START).heldTokens).toBe(2_034);
      expect(wallet(object)).toMatchObject({ heldUsd: '0.00002134', unsettledUsd: '0.00000114', availableUsd: '0' });
    }));

  test('are none for a call that has ended, timed out, was denied or never was', () =>
    withCredit(50_000n, (object) => {
      begin(object, 'ended');
      begin(object, 'overdue');
      begin(object, 'whole', START, { inSteps: false, outputTokens: 10 });
      accepted(object.end('ended', START, used(10), PRICE));
      const before = wallet(object, START);
      for (const callId of ['ended', 'whole', 'first', 'unknown']) {
        expect([callId, object.extendHold(callId, 2_048, START).heldTokens]).toEqual([callId, 0]);
      }
      expect(wallet(object, START)).toEqual(before);
      expect(object.extendHold('overdue', 2_048, START + HOUR).heldTokens).toBe(0);
      expect(object.seen('overdue')).toMatchObject({ status: 'TIMEOUT', credit: { heldNanoUsd: '0' } });
      expect(wallet(object, START + HOUR).heldUsd).toBe('0');
    }));

  test('survive an object that stops', () =>
    withCredit(100_000n, async (object) => {
      begin(object, 'one');
      expect(object.extendHold('one', 2_048, START).heldTokens).toBe(2_048);
      await object.restart();
      expect(object.extendHold('one', 2_048, START).heldTokens).toBe(2_048);
      expect(wallet(object).heldUsd).toBe('0.00002148');
      accepted(object.end('one', START, used(2_048), PRICE));
      expect(object.seen('one')?.credit).not.toHaveProperty('exceededNanoUsd');
    }));
});

test('who holds something learns when a call was last refused for want of credit', () =>
  withCredit(11_240n, (object) => {
    begin(object, 'one');
    // Before it was granted any.
    expect(object.extendHold('one', 0, START).creditRefusedAtMs).toBe(START);
    begin(object, 'two', START + 5);
    expect(object.extendHold('one', 0, START + 9)).toEqual({ heldTokens: 1_024, creditRefusedAtMs: START + 5 });
  }));

test('a call that waits for holds of others is refused without a trace, and its key is free', () =>
  withCredit(11_240n, (object) => {
    begin(object, 'one');
    const rows = () => [
      ...['calls', ...DAY_TABLES].map(object.rows),
      object.changes(),
      JSON.stringify(object.account()),
    ];
    const before = rows();
    const refused = begin(object, 'two', START, {}, true);
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'BALANCE_HELD', retryAfterSeconds: 1 } });
    expect([rows(), object.seen('two')]).toEqual([before, null]);
    // A call that would still not pass is denied, and recorded.
    const dear = { cost: { inputNanoUsd: '99999', outputNanoUsdPerMillion: '1' } };
    expect(accepted(begin(object, 'dear', START, dear, true)).denial?.code).toBe('CREDIT_REQUIRED');
    // A customer who does not repeat the request is denied with the same code.
    expect(accepted(begin(object, 'other')).denial?.code).toBe('BALANCE_HELD');
    object.void('one', START);
    expect(accepted(begin(object, 'two', START, {}, true)).denial).toBeUndefined();
    expect(object.seen('two')?.status).toBe('IN_PROGRESS');
  }));

describe('a call of which nothing is heard until its deadline', () => {
  const charged = (object: Clockwork, callId: string) => object.seen(callId)?.outcome?.charge?.amountNanoUsd;

  test('is recorded with what it held in steps at most, and the late figures replace that once', () =>
    withCredit(100_000n, async (object) => {
      begin(object, 'lost');
      object.wake(START + HOUR);
      expect(object.seen('lost')).toMatchObject({
        status: 'TIMEOUT',
        outcome: {
          usageSource: 'estimated',
          outputBasis: 'held',
          usage: { inputTokens: 900, responseTokens: 1_024 },
          calls: 1,
        },
      });
      expect(charged(object, 'lost')).toBe('11140');
      await object.settle(START + HOUR + 2_000);
      expect(wallet(object, START + HOUR + 2_000)).toMatchObject({ balanceUsd: '0.00008886', heldUsd: '0' });

      const end = (tokens: number) =>
        object.endServiceCall('lost', START + HOUR + 3_000, used(tokens), { price: PRICE });
      expect(end(100)).toMatchObject({ ok: true, costNanoUsd: '1900' });
      const after = [object.seen('lost'), object.account()];
      expect(after[0]).toMatchObject({ status: 'COMPLETED', corrections: [{ charge: { amountNanoUsd: '-9240' } }] });
      // The same again, and other figures.
      expect(end(100)).toMatchObject({ costNanoUsd: '1900' });
      expect(end(777)).toMatchObject({ costNanoUsd: '1900' });
      expect([object.seen('lost'), object.account()]).toEqual(after);
      await object.settle(START + HOUR + 9_000);
      expect(wallet(object, START + HOUR + 9_000)).toMatchObject({ balanceUsd: '0.0000981', openCharges: 0 });
    }));

  test('has its bound, whatever the customer’s answers of the model were before', () =>
    withCredit(10n ** 9n, (object) => {
      const plain = { inSteps: false, outputTokens: 900 };
      for (let index = 0; index < 100; index += 1) {
        begin(object, `short-${index}`, START, plain);
        accepted(object.end(`short-${index}`, START, used(1), PRICE));
      }
      begin(object, 'lost', START, plain);
      object.wake(START + HOUR);
      expect(object.seen('lost')?.outcome).toMatchObject({ usage: { responseTokens: 900 }, outputBasis: 'bound' });
    }));

  test('counts in the period of its deadline, however late the object wakes', () =>
    withObject({ ...PLAN, limits: { standardCalls: 5 }, replenish: { every: 2, unit: 'HOUR' } }, async (object) => {
      begin(object, 'lost', START);
      const { meters } = accepted(object.inspect(START + 3 * HOUR));
      expect(object.seen('lost')?.finishedAtMs).toBe(START + HOUR);
      expect(meters.standardCalls).toMatchObject({ used: 0, remaining: 5 });
    }));
});

describe('a credit that expires', () => {
  test('between use and settlement pays what was used in time, and no more', () =>
    withCredit(
      50_000n,
      async (object) => {
        begin(object, 'one', START, { outputTokens: 100 });
        accepted(object.end('one', START + 900, used(100), PRICE));
        expect(wallet(object, START + 1_000)).toMatchObject({ balanceUsd: '0.0000019', availableUsd: '0' });
        await object.settle(START + 2_000);
        expect(wallet(object, START + 2_000)).toMatchObject({ balanceUsd: '0', openCharges: 0 });
        expect(object.account()?.wallet).toMatchObject({ overdraft: '0', credits: [] });
      },
      START + 1_000,
    ));

  test('while a call is open pays that call, and what the call does not need goes with its hold', () =>
    withCredit(
      50_000n,
      async (object) => {
        begin(object, 'one', START, { outputTokens: 100 });
        expect(wallet(object, START + 2_000)).toMatchObject({
          balanceUsd: '0.000002',
          heldUsd: '0.000002',
          availableUsd: '0',
        });
        expect(accepted(begin(object, 'two', START + 2_000)).denial?.code).toBe('CREDIT_REQUIRED');
        accepted(object.end('one', START + 3_000, used(10), PRICE));
        expect(wallet(object, START + 3_000)).toMatchObject({
          balanceUsd: '0.000001',
          heldUsd: '0',
          availableUsd: '0',
        });
        await object.settle(START + 5_000);
        expect(object.account()?.wallet).toMatchObject({ overdraft: '0', credits: [] });
      },
      START + 1_000,
    ));
});

test('a credit that is revoked pays what is held of it, and what is not needed does not come back', () =>
  withObject(PLAN, async (object) => {
    object.begin('first', START);
    const { creditId } = accepted(object.grant('USD', 50_000n, START));
    begin(object, 'one', START, { outputTokens: 100 });
    expect(accepted(object.revoke(creditId, START)).revoked).toBe('0.000048');
    accepted(object.end('one', START + 1, used(10), PRICE));
    expect(wallet(object, START + 2)).toMatchObject({ balanceUsd: '0.000001', availableUsd: '0' });
    await object.settle(START + 5_000);
    expect(object.account()?.wallet).toMatchObject({ overdraft: '0', credits: [] });
  }));

test('a call and a batch that the version before stored are read, held in steps, and end with what they used', async () => {
  await withCredit(1_000_000n, async (object) => {
    accepted(begin(object, 'old'));
    const lines = {
      count: 2,
      isPriced: true,
      costNanoUsd: '20000',
      highestCostNanoUsd: '10000',
      outputTokens: 2_000,
      highestOutputTokens: 1_000,
      costliest: { inputTokens: 10, outputTokens: 1_000 },
    };
    expect(object.holdBatch('batch', { lines: { standard: lines } }, START)).toEqual({ ok: true });
    // The field that the previous version did not store.
    object.query("UPDATE calls SET record = json_remove(record, '$.credit.heldForInputNanoUsd')");
    await object.restart();
    const { credit } = object.seen('old') ?? {};
    expect(credit?.steps?.heldTokens).toBe(1_024);
    expect(credit).not.toHaveProperty('heldForInputNanoUsd');
    expect(object.extendHold('old', 2_000, START).heldTokens).toBe(2_000);
    accepted(object.end('old', START, used(1_500), PRICE));
    expect(object.seen('old')?.outcome?.charge).toMatchObject({ amountNanoUsd: '15900' });
    const more = { modelUsed: 'm', usage: usage({ inputTokens: 10, responseTokens: 100 }) };
    const line = { requestName: 'batch', tier: 'standard' } as const;
    expect(object.recordServiceCall('line-1', START, more, { line, price: PRICE }).ok).toBe(true);
    object.endBatch('batch', START, 1);
    await object.settle(START);
    // The line in half, as a batch; the other line, which nobody read, by the costliest one that was held.
    expect(wallet(object)).toMatchObject({ heldUsd: '0' });
    expect(Number(wallet(object).balanceUsd)).toBeLessThan(0.001 - 0.0000159);
  });
});
