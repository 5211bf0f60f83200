/**
 * Corrections over HTTP: a wrong record is taken back once, by the organization or the operator, and every reading of
 * the record shows it.
 */

import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { asCallId, asOrganizationId } from '../../src/domain/ids.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { fundedCustomer } from '../support/customer.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

const TIERS = [
  { upTo: '5', priceUsd: '0.20', per: '1' },
  { upTo: null, priceUsd: '0.10', per: '1' },
];
const PLAN = {
  name: 'As you go',
  limitType: 'BLOCK',
  limits: { standardCalls: 1, premiumCalls: 1 },
  payg: { enabled: true, markupPercent: 20 },
  customMeters: {
    CUSTOM1: {
      label: 'Pages',
      included: 10,
      funding: { credits: true, payg: true },
      overage: { model: 'GRADUATED', tiers: TIERS },
    },
  },
};

let tenant: Tenant;
let org: string;
beforeAll(async () => {
  tenant = await createTenant(operator, PLAN);
  org = tenant.organizationId;
});

async function customer(funds: { usd?: string; units?: number } = { usd: '10', units: 5 }) {
  const customerId = `corrected-${crypto.randomUUID()}`;
  const increment = async (amount: number) =>
    (await tenant.api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount } })).data.eventId;
  return { ...(await fundedCustomer(tenant, customerId, funds)), customerId, increment };
}
const events = async (customerId: string) => {
  const { items } = (await operator.send('listEvents', { query: { organizationId: org, limit: '200' } })).data;
  return items.filter(({ subject }) => subject === customerId);
};

describe('a reversed increment', () => {
  const reverse = (eventId: string, body: object = { reason: 'sent twice' }) =>
    tenant.api.send('reverseMeterEvent', { params: { eventId }, body });

  test('gives back from the margin: overage at its tiers, then credits, then included units', async () => {
    const { customerId, increment, inspect, settle, wallet } = await customer();
    const mistake = await increment(13);
    await increment(10);
    await settle();
    // 10 included, 5 from credits, 5 at 0.20 and 3 at 0.10.
    expect(await wallet()).toMatchObject({ balanceUsd: '8.7', units: { CUSTOM1: 0 } });

    const { data } = await reverse(mistake);
    expect(data).toEqual({
      eventId: mistake,
      customerId,
      meterSlot: 'CUSTOM1',
      amount: 13,
      reversedAt: expect.any(String),
      reason: 'sent twice',
      by: 'api',
      returned: { included: 0, credits: 5, overage: 8, unfunded: 0 },
      refundUsd: 1.3,
      refundNanoUsd: '1300000000',
    });
    // USD can be spent when it is there again.
    expect(await wallet()).toMatchObject({ availableUsd: '8.7', unsettledUsd: '0', units: { CUSTOM1: 5 } });
    await settle();
    expect(await wallet()).toMatchObject({ balanceUsd: '10', availableUsd: '10', units: { CUSTOM1: 5 } });
    const { ledger, meters } = await inspect();
    expect(meters.customMeter1).toMatchObject({ used: 10, remaining: 0 });
    expect(ledger.filter(({ cause }) => cause === 'RETURN').map(({ unit, amount }) => [unit, amount])).toEqual([
      ['USD', '1.3'],
      ['CUSTOM1', '5'],
    ]);
    // The next unit is the first that is not included.
    const next = await tenant.api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount: 6 } });
    expect(next.data.meter).toMatchObject({ periodUsageBefore: '10', periodUsageAfter: '16' });
    expect(next.data.meter.overagePricingComponents).toMatchObject([{ tierIndex: 0, unitsExact: '1' }]);
  });

  test('is reversed once: a second reversal gets the first answer, also after the object has removed it', async () => {
    const { customerId, increment, inspect, settle } = await customer();
    const eventId = await increment(20);
    await settle();
    const first = await reverse(eventId);
    await settle();
    const before = (await inspect()).ledger.length;
    const again = await reverse(eventId, { reason: 'another reason' });
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    expect([again.body.result, again.data]).toEqual([first.body.result, first.data]);
    await runInDurableObject(customerStub(org, customerId), (_, state) => {
      state.storage.sql.exec('DELETE FROM meter_events');
    });
    expect((await reverse(eventId)).data).toEqual(first.data);
    expect((await inspect()).ledger).toHaveLength(before);
  });

  test('is found with its customer at once, in D1 later, and corrected there', async () => {
    const { customerId, increment, settle, wallet } = await customer();
    const [early, late] = [await increment(1), await increment(20)];
    expect((await reverse(early)).refusal.code).toBe('NOT_FOUND');
    expect((await reverse(early, { reason: 'r', customerId: 'nobody' })).refusal.code).toBe('NOT_FOUND');
    expect((await reverse(early, { reason: 'r', customerId })).data).toMatchObject({ eventId: early });
    await settle();
    await runInDurableObject(customerStub(org, customerId), (_, state) => {
      state.storage.sql.exec('DELETE FROM meter_events');
    });
    expect((await reverse(late)).data).toMatchObject({ returned: { included: 10, credits: 5, overage: 5 } });
    await settle();
    expect((await wallet()).balanceUsd).toBe('10');
    const { results } = await bindings.DB.prepare(
      'SELECT event_id, reversed_at_ms, settlement_status FROM meter_events WHERE customer_id = ?',
    )
      .bind(customerId)
      .all();
    expect(results).toHaveLength(2);
    for (const row of results) expect(row.reversed_at_ms).toBeGreaterThan(0);
  });

  test('is not taken from a history that lacks an earlier correction', async () => {
    const { customerId, increment, settle } = await customer();
    const eventId = await increment(20);
    await settle();
    await reverse(eventId);
    // D1 has the event as it was; the object has removed it.
    await runInDurableObject(customerStub(org, customerId), (_, state) => {
      state.storage.sql.exec('DELETE FROM meter_events');
    });
    expect(await reverse(eventId)).toMatchObject({ status: 503, refusal: { code: 'SERVICE_UNAVAILABLE' } });
    await settle();
  });

  test('of another organization is 404, and a reason is asked for', async () => {
    const { customerId, increment, settle, wallet } = await customer();
    const eventId = await increment(20);
    await settle();
    const other = await createTenant(operator, PLAN);
    for (const body of [{ reason: 'r' }, { reason: 'r', customerId }]) {
      const { status, refusal } = await other.api.send('reverseMeterEvent', { params: { eventId }, body });
      expect([status, refusal.code]).toEqual([404, 'NOT_FOUND']);
    }
    const { refusal } = await reverse(eventId, {});
    expect([refusal.code, (refusal.details as { path: string }[])[0]?.path]).toEqual(['BAD_REQUEST', 'reason']);
    expect((await wallet()).balanceUsd).toBe('9');
  });

  test('by the operator is in the event log, once', async () => {
    const { customerId, increment } = await customer();
    const params = { org, eventId: await increment(20) };
    const body = { reason: 'a support case', customerId };
    for (let sent = 0; sent < 2; sent += 1)
      expect((await operator.send('operatorReverseMeterEvent', { params, body })).data.by).toBe('operator');
    expect((await events(customerId)).filter(({ action }) => action === 'meter_event.reverse')).toHaveLength(1);
  });
});

/** On gpt-4o: 1,000 x 2.50 + 500 x 10.00 USD per million = 0.0075 USD; with the markup 0.009. */
const USED = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 };

async function caller(funds: { usd?: string } = { usd: '1' }, of = tenant) {
  const customerId = `caller-${crypto.randomUUID()}`;
  const funded = await fundedCustomer(of, customerId, funds);
  const begin = async () => {
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    const body = { customerId, requested: { premium: true } };
    return (await of.api.send('beginCall', { body, headers })).data.callId;
  };
  const call = async (body: object = USED) => {
    const callId = await begin();
    await of.api.send('endCall', { body: { callId, ...body } });
    return callId;
  };
  return { ...funded, customerId, begin, call };
}
const forget = (customerId: string) =>
  runInDurableObject(customerStub(org, customerId), (_, state) => {
    state.storage.sql.exec('DELETE FROM calls');
  });
const read = async (callId: string) => (await tenant.api.send('readCall', { params: { callId } })).data;
/** As if the call had begun long ago. */
const timeOut = async (customerId: string, callId: string) => {
  await runInDurableObject(customerStub(org, customerId), (_, state) => {
    state.storage.sql.exec(`UPDATE account SET begin_figures = json_set(begin_figures, '$.listed[0][1]', 1)`);
    state.storage.sql.exec(
      `UPDATE calls SET record = json_set(record, '$.deadlineAtMs', ?) WHERE call_id = ?`,
      Date.now() - 1,
      callId,
    );
  });
  await evictDurableObject(customerStub(org, customerId));
  await operator.send('readCustomer', { params: { org, customerId } });
  expect((await read(callId)).status).toBe('TIMEOUT');
};

describe('a reversed call', () => {
  const reverse = (callId: string, body: object = { reason: 'a test call' }) =>
    tenant.api.send('reverseCall', { params: { callId }, body });

  test('gives the allowance back, and says so wherever it is read', async () => {
    const { customerId, call, begin, inspect } = await caller({});
    const callId = await call();
    const before = await read(callId);
    const { data } = await reverse(callId);
    expect(data).toEqual({
      callId,
      customerId,
      status: 'COMPLETED',
      reversedAt: expect.any(String),
      reason: 'a test call',
      by: 'api',
      costUsdNano: '7500000',
      returned: { premiumCalls: 1, premiumTokens: 500 },
      refundUsd: 0,
      refundNanoUsd: '0',
    });
    const { meters, recentCalls } = await inspect();
    expect(meters.premiumCalls).toMatchObject({ used: 0, remaining: 1 });
    expect(recentCalls).toMatchObject([{ callId, reversedAt: data.reversedAt }]);
    const correction = { kind: 'REVERSED', at: data.reversedAt, reason: 'a test call', by: 'api' };
    expect(await read(callId)).toEqual({
      ...before,
      reversedAt: data.reversedAt,
      corrections: [{ ...correction, costUsdNano: '7500000', chargeNanoUsd: null, differenceNanoUsd: '0' }],
    });
    const next = await tenant.api.send('readUsage', { params: { customerId } });
    expect(next.data.allowed.premium).toBe(true);
    await begin();
  });

  test('on credit gives the balance back what it paid, whether that was settled or not', async () => {
    const { call, wallet, settle, handedOver, inspect } = await caller();
    await call();
    const [settled, pending] = [await call(), await call()];
    await settle();
    await handedOver();
    expect((await wallet()).balanceUsd).toBe('0.982');
    expect((await reverse(settled)).data).toMatchObject({ refundUsd: 0.009, refundNanoUsd: '9000000', returned: {} });
    const later = await call();
    await reverse(later);
    await reverse(pending);
    // A returned amount can be spent when it has arrived.
    expect(await wallet()).toMatchObject({ unsettledUsd: '0.009', availableUsd: '0.973' });
    await settle();
    expect(await wallet()).toMatchObject({ balanceUsd: '1', unsettledUsd: '0', availableUsd: '1', openCharges: 0 });
    const { ledger, credits } = await inspect();
    expect(ledger.filter(({ cause }) => cause === 'RETURN').map(({ amount }) => amount)).toEqual(
      Array.from({ length: 3 }, () => '0.009'),
    );
    expect(credits).toMatchObject([{ granted: '1', remaining: '1' }]);
    expect((await read(settled)).corrections).toMatchObject([
      { chargeNanoUsd: '9000000', differenceNanoUsd: '-9000000' },
    ]);
  });

  test('is reversed once, also by two at a time, and after only D1 has it', async () => {
    const { customerId, call, settle, wallet } = await caller();
    await call();
    const [young, old] = [await call(), await call()];
    await settle();
    const answers = await Promise.all(Array.from({ length: 5 }, () => reverse(young)));
    for (const { data } of answers) expect(data).toEqual(answers[0]?.data);
    expect(answers.filter(({ headers }) => headers.get('Idempotency-Replayed') === 'true')).toHaveLength(4);
    await forget(customerId);
    // The object knows of a correction that D1 does not have yet.
    expect((await reverse(young)).refusal?.code).toBe('SERVICE_UNAVAILABLE');
    const first = await reverse(old);
    await settle();
    await forget(customerId);
    expect((await reverse(old, { reason: 'another' })).data).toEqual(first.data);
    expect((await read(old)).reversedAt).toBe(first.data.reversedAt);
    expect((await wallet()).balanceUsd).toBe('1');
  });

  test('that is open, denied or unknown, or of another organization, is refused and changes nothing', async () => {
    const { call, begin, inspect } = await caller({});
    const open = await begin();
    expect(await reverse(open)).toMatchObject({ status: 409, refusal: { code: 'CONFLICT' } });
    // The open one has reserved the only call.
    const denied = await call();
    expect(await reverse(denied)).toMatchObject({ status: 409, refusal: { code: 'CONFLICT' } });
    expect(await reverse('no-such-call')).toMatchObject({ status: 404, refusal: { code: 'CALL_NOT_FOUND' } });
    const other = await createTenant(operator, PLAN);
    const theirs = await other.api.send('reverseCall', { params: { callId: open }, body: { reason: 'r' } });
    expect(theirs).toMatchObject({ status: 404, refusal: { code: 'CALL_NOT_FOUND' } });
    await tenant.api.send('endCall', { body: { callId: open, ...USED } });
    const { status, refusal } = await reverse(open, { reason: ' ' });
    expect([status, (refusal.details as { path: string }[])[0]?.path]).toEqual([400, 'reason']);
    expect((await inspect()).meters.premiumCalls).toMatchObject({ used: 1 });
  });

  test('still replays its end, and takes no other', async () => {
    const { call } = await caller({});
    const callId = await call();
    await reverse(callId);
    const again = await tenant.api.send('endCall', { body: { callId, ...USED } });
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    const other = await tenant.api.send('endCall', { body: { callId, ...USED, responseTokens: 1 } });
    expect(other.refusal.code).toBe('CALL_ALREADY_FINALIZED');
  });

  test('by the operator is in the event log, once', async () => {
    const { customerId, call } = await caller({});
    const params = { org, callId: await call() };
    for (let sent = 0; sent < 2; sent += 1) {
      const { data } = await operator.send('operatorReverseCall', { params, body: { reason: 'a support case' } });
      expect(data.by).toBe('operator');
    }
    expect((await events(customerId)).filter(({ action }) => action === 'call.reverse')).toHaveLength(1);
  });
});

describe('an amended call', () => {
  const amend = (callId: string, body: object, headers: Record<string, string> = {}) =>
    tenant.api.send('amendCall', { params: { callId }, body: { reason: 'misread usage', ...body }, headers });
  const RIGHT = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 100 };

  test('takes from the allowance what it should have taken, and keeps what it said before', async () => {
    const { customerId, call, inspect } = await caller({});
    const callId = await call();
    const { data } = await amend(callId, RIGHT);
    expect(data).toEqual({
      callId,
      customerId,
      status: 'COMPLETED',
      amendedAt: expect.any(String),
      reason: 'misread usage',
      by: 'api',
      pricingStatus: 'FINAL',
      costUsdNano: '3500000',
      previousCostUsdNano: '7500000',
      returned: { premiumCalls: 1, premiumTokens: 500 },
      taken: { premiumCalls: 1, premiumTokens: 100 },
      differenceUsd: 0,
      differenceNanoUsd: '0',
    });
    expect((await inspect()).meters.premiumTokens).toMatchObject({ used: 100 });
    const shown = await read(callId);
    expect(shown).toMatchObject({ costUsdNano: '3500000', status: 'COMPLETED' });
    expect(shown.corrections).toMatchObject([{ kind: 'AMENDED', costUsdNano: '7500000', differenceNanoUsd: '0' }]);
    expect(shown.reversedAt).toBeUndefined();
  });

  test('on credit pays the difference, up and down, and settles', async () => {
    const { call, wallet, settle } = await caller();
    await call();
    const callId = await call();
    await settle();
    expect((await amend(callId, RIGHT)).data).toMatchObject({ differenceNanoUsd: '-4800000', differenceUsd: -0.0048 });
    expect((await read(callId)).payg).toMatchObject({ chargeNanoUsd: '4200000' });
    await settle();
    expect((await wallet()).availableUsd).toBe('0.9958');
    expect((await read(callId)).payg).toMatchObject({ chargeNanoUsd: '4200000', settlementStatus: 'POSTED' });
    const raised = await amend(callId, { ...RIGHT, responseTokens: 1_000, reason: 'another' });
    expect(raised.data).toMatchObject({ differenceNanoUsd: '10800000' });
    await settle();
    expect(await wallet()).toMatchObject({ balanceUsd: '0.985', unsettledUsd: '0' });
    await tenant.api.send('reverseCall', { params: { callId }, body: { reason: 'no call at all' } });
    await settle();
    expect(await wallet()).toMatchObject({ balanceUsd: '1', unsettledUsd: '0', openCharges: 0 });
    expect((await read(callId)).corrections).toHaveLength(3);
  });

  test('is amended once: the same again, with or without a key, gets the first answer', async () => {
    const { call, inspect } = await caller();
    await call();
    const callId = await call();
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    const first = await amend(callId, RIGHT, headers);
    for (const again of [await amend(callId, RIGHT, headers), await amend(callId, { ...RIGHT, reason: 'r' })]) {
      expect(again.headers.get('Idempotency-Replayed')).toBe('true');
      expect(again.data).toEqual(first.data);
    }
    expect((await amend(callId, USED, headers)).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    expect((await inspect()).wallet.openCharges).toBe(2);
    expect((await read(callId)).corrections).toHaveLength(1);
  });

  test('that only D1 has is amended there, and every sum follows', async () => {
    const of = await createTenant(operator, PLAN);
    const { call, settle, customerId } = await caller({ usd: '1' }, of);
    const callId = await call();
    await settle();
    await runInDurableObject(customerStub(of.organizationId, customerId), (_, state) => {
      state.storage.sql.exec('DELETE FROM calls');
    });
    const body = { reason: 'misread usage', ...RIGHT, error: { code: 'E', message: 'failed' } };
    expect((await of.api.send('amendCall', { params: { callId }, body })).data.status).toBe('FAILED');
    await settle();
    const summary = (await of.api.send('readUsageSummary')).data;
    expect(summary.totals).toMatchObject({ calls: 1, outputTokens: 100, costUsdNano: '3500000' });
    expect((await of.api.send('readCall', { params: { callId } })).data.status).toBe('FAILED');
  });

  test('is refused while it is open and after it was reversed', async () => {
    const { begin } = await caller({});
    const open = await begin();
    expect(await amend(open, RIGHT)).toMatchObject({ status: 409, refusal: { code: 'CONFLICT' } });
    await tenant.api.send('endCall', { body: { callId: open, ...USED } });
    await tenant.api.send('reverseCall', { params: { callId: open }, body: { reason: 'r' } });
    expect(await amend(open, RIGHT)).toMatchObject({ status: 409, refusal: { code: 'CONFLICT' } });
    expect(await amend('no-such-call', RIGHT)).toMatchObject({ status: 404, refusal: { code: 'CALL_NOT_FOUND' } });
  });

  test('keeps its model, and so its price and charge, if figures alone are named', async () => {
    const { call, wallet, settle } = await caller();
    await call();
    const callId = await call({ ...USED, providerUsed: 'openai', cachedInputTokens: 5 });
    await settle();
    const { data } = await amend(callId, { inputTokens: 7, responseTokens: 5 });
    // 2 x 2.50 + 5 x 1.25 + 5 x 10.00 USD per million; with the markup a fifth more.
    expect(data).toMatchObject({ pricingStatus: 'FINAL', costUsdNano: '61250' });
    expect(await read(callId)).toMatchObject({ modelUsed: 'gpt-4o', providerUsed: 'openai', costUsdNano: '61250' });
    await settle();
    expect((await wallet()).balanceUsd).toBe('0.9999265');
  });

  const readOutcome = async (customerId: string, callId: string) =>
    (await customerStub(org, customerId).readCall(asOrganizationId(org), asCallId(callId)))?.outcome;
  /** Whatever the end of a call can report beside parts, in the rates that the model has. */
  const FULL = {
    ...{ providerUsed: 'openai', modelUsed: 'gpt-4o-realtime-preview', isPremium: false, pricingMode: 'standard' },
    ...{ reasoningEffort: 'low', reasoningEffortSource: 'provider_request', reasoningMode: 'auto' },
    ...{ reasoningBudgetTokens: 9, requestedServiceTier: 'auto', vendorReportedCostUSD: 0.5 },
    ...{ inputTokens: 1_000, cachedInputTokens: 200, cacheWriteInputTokens: 0, audioInputTokens: 100 },
    ...{ responseTokens: 500, reasoningTokens: 50, audioOutputTokens: 20, searches: 2, audio: 1, audioSeconds: 3 },
    toolUses: { fileSearch: 1, codeMinutes: 2 },
    error: { code: 'E', message: 'it failed' },
  };

  test('stays as it was in all that is not named, whichever field is', async () => {
    const { call, customerId } = await caller({ usd: '5' });
    await call();
    const callId = await call(FULL);
    const shown = async () => {
      const { corrections: _corrections, payg, ...rest } = await read(callId);
      return { ...rest, chargeNanoUsd: payg.chargeNanoUsd };
    };
    const before = await shown();
    const recorded = async () => {
      const outcome = await readOutcome(customerId, callId);
      return { ...outcome, charge: outcome?.charge?.amountNanoUsd };
    };
    const outcome = await recorded();
    for (const [field, value] of Object.entries(FULL)) {
      const { status, data } = await amend(callId, { [field]: value });
      expect([field, status, data?.differenceNanoUsd]).toEqual([field, 200, '0']);
      expect(await shown(), field).toEqual(before);
      expect(await recorded(), field).toEqual(outcome);
    }
  });

  test('may lose an error, the word on its tier and the cost by its vendor: they are null', async () => {
    const { call, customerId } = await caller();
    await call();
    const callId = await call(FULL);
    const { data } = await amend(callId, { error: null, isPremium: null, vendorReportedCostUSD: null });
    expect(data).toMatchObject({ status: 'COMPLETED', pricingStatus: 'FINAL' });
    expect(await readOutcome(customerId, callId)).toMatchObject({ error: null, tier: 'premium' });
    expect((await read(callId)).vendorReportedCostUSD).toBeUndefined();
  });

  test.each([
    ['cachedInputTokens', 'inputTokens', { inputTokens: 199 }],
    ['audioInputTokens', 'inputTokens', { inputTokens: 99, cachedInputTokens: 0 }],
    ['reasoningTokens', 'responseTokens', { responseTokens: 49 }],
    ['cachedInputTokens', 'inputTokens', { cachedInputTokens: 1_001 }],
  ])('whose %s no longer fit its %s is 400 that names both, and nothing changes', async (part, whole, body) => {
    const { call } = await caller({});
    const callId = await call(FULL);
    const before = await read(callId);
    const { status, refusal } = await amend(callId, body);
    const [detail] = refusal.details as { path: string; message: string }[];
    expect([status, detail?.path]).toEqual([400, part]);
    expect(detail?.message).toContain(whole);
    expect(await read(callId)).toEqual(before);
  });

  test.each([
    ['a model without a price', { modelUsed: 'a-model-of-nobody' }],
    ['tokens without a rate', { audioInputTokens: 10 }],
    ['conditions without a rate', { speed: 'fast' }],
  ])('that has a price is 409 with %s, and nothing changes', async (_, body) => {
    const { call, wallet, settle } = await caller();
    await call();
    const callId = await call();
    await settle();
    const before = [await read(callId), await wallet()];
    const { status, refusal } = await amend(callId, body);
    expect([status, refusal.code]).toEqual([409, 'PRICE_UNAVAILABLE']);
    expect(refusal.pricingUnavailableReason).toMatch(/_NOT_IN_CATALOG/);
    expect([await read(callId), await wallet()]).toEqual(before);
  });

  test('that had no price may have none as amended', async () => {
    const { call } = await caller({});
    const callId = await call({ ...USED, modelUsed: 'a-model-of-nobody' });
    const { data } = await amend(callId, { responseTokens: 9 });
    expect(data).toMatchObject({ pricingStatus: 'UNAVAILABLE', costUsdNano: null });
    expect((await amend(callId, { modelUsed: 'gpt-4o' })).data).toMatchObject({ costUsdNano: '2590000' });
  });

  test.each([
    ['reason', { reason: '' }],
    ['inputTokens', { inputTokens: -1 }],
    ['cachedInputTokens', { inputTokens: 1, cachedInputTokens: 2 }],
    ['error', { error: { code: 'E' } }],
  ])('is 400 that names %s', async (field, body) => {
    const { call } = await caller({});
    const callId = await call();
    const { status, refusal } = await amend(callId, { ...RIGHT, ...body });
    expect(status).toBe(400);
    expect((refusal.details as { path: string }[])[0]?.path).toMatch(new RegExp(`^${field}`));
    expect((await read(callId)).corrections).toBeUndefined();
  });

  test('that timed out is ended by the amendment, and counts and is charged from then on', async () => {
    const { customerId, call, begin, wallet, settle, inspect } = await caller();
    await call();
    const callId = await begin();
    await timeOut(customerId, callId);
    const { data } = await amend(callId, RIGHT);
    expect(data).toMatchObject({ status: 'COMPLETED', previousCostUsdNano: null, differenceNanoUsd: '4200000' });
    expect((await amend(callId, RIGHT)).headers.get('Idempotency-Replayed')).toBe('true');
    await settle();
    expect((await wallet()).balanceUsd).toBe('0.9958');
    expect(await read(callId)).toMatchObject({
      status: 'COMPLETED',
      costUsdNano: '3500000',
      payg: { settlementStatus: 'POSTED' },
    });
    await tenant.api.send('reverseCall', { params: { callId }, body: { reason: 'no call at all' } });
    await settle();
    expect((await wallet()).balanceUsd).toBe('1');
    expect((await inspect()).wallet.openCharges).toBe(0);
  });

  test('takes 50 corrections, then 409 and nothing changes; its reversal passes', async () => {
    const { call, inspect } = await caller({});
    const callId = await call();
    for (let n = 1; n <= 50; n += 1) expect((await amend(callId, { inputTokens: n })).status).toBe(200);
    const before = await read(callId);
    const { status, refusal } = await amend(callId, { inputTokens: 51 });
    expect([status, refusal.code]).toEqual([409, 'CONFLICT']);
    expect((await amend(callId, { inputTokens: 50 })).headers.get('Idempotency-Replayed')).toBe('true');
    expect(await read(callId)).toEqual(before);
    expect(before.corrections).toHaveLength(50);
    const reversed = await tenant.api.send('reverseCall', { params: { callId }, body: { reason: 'r' } });
    expect(reversed.status).toBe(200);
    expect((await read(callId)).corrections).toHaveLength(51);
    expect((await inspect()).meters.premiumCalls).toMatchObject({ used: 0 });
  });

  test('with parts takes as many as its record holds, and its history follows', async () => {
    const { call, settle } = await caller({});
    const callId = await call();
    const long = '\u20ac'.repeat(200);
    const parts = Array.from({ length: 32 }, () => ({ modelUsed: 'gpt-4o', providerUsed: long }));
    const next = (inputTokens: number) => amend(callId, { inputTokens, providerUsed: long, parts });
    let amended = 0;
    let answer = await next(0);
    for (; answer.status === 200; answer = await next(amended)) amended += 1;
    expect(amended).toBeGreaterThan(3);
    expect([answer.status, answer.refusal.code]).toEqual([409, 'CONFLICT']);
    const reversed = await tenant.api.send('reverseCall', { params: { callId }, body: { reason: 'r' } });
    expect(reversed.status).toBe(200);
    await settle();
    const row = bindings.DB.prepare('SELECT reversed_at_ms FROM calls WHERE organization_id = ? AND call_id = ?');
    expect(await row.bind(org, callId).first('reversed_at_ms')).toBeGreaterThan(0);
  });

  test('by the operator is in the event log, once', async () => {
    const { customerId, call } = await caller({});
    const params = { org, callId: await call() };
    for (let sent = 0; sent < 2; sent += 1) {
      const { data } = await operator.send('operatorAmendCall', {
        params,
        body: { reason: 'a support case', ...RIGHT },
      });
      expect(data.by).toBe('operator');
    }
    expect((await events(customerId)).filter(({ action }) => action === 'call.amend')).toHaveLength(1);
  });
});

describe('an end that comes after the object has removed its call', () => {
  const end = (callId: string) => tenant.api.send('endCall', { body: { callId, ...USED } });
  const amend = (callId: string) =>
    tenant.api.send('amendCall', { params: { callId }, body: { reason: 'too late', ...USED } });

  test('is 409 that names the amendment, which records it', async () => {
    const { customerId, begin, call, settle, wallet, inspect } = await caller();
    await call();
    const callId = await begin();
    await timeOut(customerId, callId);
    await settle();
    await forget(customerId);
    const { status, refusal } = await end(callId);
    expect([status, refusal.code, refusal.status]).toEqual([409, 'CALL_ALREADY_FINALIZED', 'TIMEOUT']);
    expect(refusal.message).toContain('/amend');
    expect((await amend(callId)).data).toMatchObject({ costUsdNano: '7500000', differenceNanoUsd: '9000000' });
    await settle();
    expect((await wallet()).balanceUsd).toBe('0.991');
    expect((await inspect()).recentCalls).toMatchObject([{ callId, status: 'COMPLETED' }]);
    expect((await end(callId)).refusal).toMatchObject({ code: 'CALL_ALREADY_FINALIZED', status: 'COMPLETED' });
  });

  test('of a reversed call is 409 and names none; of an unknown call it is 404', async () => {
    const { customerId, call, settle } = await caller({});
    const callId = await call();
    await tenant.api.send('reverseCall', { params: { callId }, body: { reason: 'r' } });
    await settle();
    await forget(customerId);
    const { refusal } = await end(callId);
    expect(refusal.code).toBe('CALL_ALREADY_FINALIZED');
    expect(refusal.message).not.toContain('amend');
    expect((await end('no-such-call')).refusal.code).toBe('CALL_NOT_FOUND');
    const other = await createTenant(operator, PLAN);
    expect((await other.api.send('endCall', { body: { callId, ...USED } })).refusal.code).toBe('CALL_NOT_FOUND');
  });
});
