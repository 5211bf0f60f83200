/**
 * Money over HTTP: credits and their ledger, calls on credit with holds and markup, and settlement as GET /calls tells
 * it.
 */
import { runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { fundedCustomer } from '../support/customer.ts';
import { accepted, withObject } from '../support/object.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';
import { usage } from '../unit/fixtures.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2027, 0, 31, 12);

/** One call of each tier is included. */
const PLAN = {
  name: 'As you go',
  limitType: 'BLOCK',
  limits: { standardCalls: 1, premiumCalls: 1 },
  payg: { enabled: true, markupPercent: 20 },
};
/** On gpt-4o: 1,000 x 2.50 + 500 x 10.00 USD per million = 0.0075 USD; with the markup 0.009. */
const USED = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 };
const PREMIUM = { requested: { premium: true } };
const NOT_ON_CREDIT = {
  usingCredit: false,
  chargedUsd: null,
  chargeNanoUsd: null,
  markupPercent: null,
  settlementStatus: null,
  settlementFailureReason: null,
};

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, PLAN);
});

let serial = 0;
async function customer(name: string, { of = tenant, ...funds }: { usd?: string; of?: Tenant } = {}) {
  serial += 1;
  const customerId = `${name}-${serial}`;
  const begin = async (body: object = PREMIUM) => {
    serial += 1;
    const headers = { 'Idempotency-Key': `credit-${serial}` };
    return (await of.api.send('beginCall', { body: { customerId, ...body }, headers })).data;
  };
  const end = async (callId: string, body: object = USED) =>
    (await of.api.send('endCall', { body: { callId, ...body } })).data;
  return {
    ...(await fundedCustomer(of, customerId, funds)),
    customerId,
    begin,
    end,
    call: async (body: object = USED) => {
      const { callId } = await begin();
      await end(callId, body);
      return callId;
    },
  };
}
const read = async (callId: string, { api }: Tenant = tenant) =>
  (await api.send('readCall', { params: { callId } })).data;
const payg = async (callId: string, of: Tenant = tenant) => (await read(callId, of)).payg;

describe('a grant', () => {
  test('adds to the balance of its unit, and appears in the spending order and in the ledger', async () => {
    const { grant, inspect } = await customer('grants');
    const later = new Date(Date.now() + 60 * HOUR).toISOString();
    const sooner = new Date(Date.now() + 50 * HOUR).toISOString();
    const forGood = (await grant({ kind: 'USD', amountUsd: '25.00', reference: 'invoice 1' })).data;
    expect(forGood).toEqual({ creditId: expect.any(String), balanceUsd: '25' });
    const second = (await grant({ kind: 'USD', amountUsd: '0.000000001', expiresAt: later })).data;
    expect(second.balanceUsd).toBe('25.000000001');
    const units = (await grant({ kind: 'METER', meterSlot: 'CUSTOM2', units: 7, expiresAt: sooner })).data;
    // The plan has no such meter.
    const warnings = [expect.stringContaining('7 purchased units of CUSTOM2 pay for nothing')];
    expect(units).toEqual({ creditId: expect.any(String), unitsRemaining: 7, warnings });

    const { wallet, credits, ledger } = await inspect();
    expect(wallet).toEqual({
      balanceUsd: '25.000000001',
      heldUsd: '0',
      unsettledUsd: '0',
      availableUsd: '25.000000001',
      units: { CUSTOM1: 0, CUSTOM2: 7, AGENTIC_API: 0 },
      openCharges: 0,
    });
    expect(credits.map(({ creditId }) => creditId)).toEqual([units.creditId, second.creditId, forGood.creditId]);
    expect(credits[0]).toMatchObject({
      unit: 'CUSTOM2',
      granted: '7',
      remaining: '7',
      expiresAt: sooner,
      reference: null,
    });
    expect(credits[2]).toMatchObject({
      unit: 'USD',
      granted: '25',
      remaining: '25',
      expiresAt: null,
      reference: 'invoice 1',
    });
    expect(ledger.map(({ unit, cause, amount, balance }) => [unit, cause, amount, balance])).toEqual([
      ['CUSTOM2', 'GRANT', '7', '7'],
      ['USD', 'GRANT', '0.000000001', '25.000000001'],
      ['USD', 'GRANT', '25', '25'],
    ]);
    expect(ledger.map(({ entryId }) => entryId)).toEqual([3, 2, 1]);
    expect(ledger[2]).toMatchObject({ creditId: forGood.creditId, reference: 'invoice 1' });
  });

  test('with a key is made once, and its response replayed; another payload or customer is 409', async () => {
    const { grant, wallet } = await customer('keyed');
    const headers = { 'Idempotency-Key': `grant-${crypto.randomUUID()}` };
    const body = { kind: 'USD', amountUsd: '5.00' };
    const first = await grant(body, headers);
    await grant({ kind: 'USD', amountUsd: '1.00' });
    const again = await grant(body, headers);
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    expect([again.body.result, again.body.data]).toEqual([first.body.result, first.body.data]);
    expect((await wallet()).balanceUsd).toBe('6');
    expect((await grant({ ...body, amountUsd: '6.00' }, headers)).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    const other = await customer('keyed');
    expect((await other.grant(body, headers)).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    expect([(await wallet()).balanceUsd, (await other.wallet()).balanceUsd]).toEqual(['6', '0']);
  });

  test('with one key is made once even if ten arrive together', async () => {
    const { grant, inspect } = await customer('together');
    const headers = { 'Idempotency-Key': `grant-${crypto.randomUUID()}` };
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => grant({ kind: 'USD', amountUsd: '5.00' }, headers)),
    );
    expect(new Set(replies.map(({ data }) => data.creditId)).size).toBe(1);
    expect((await inspect()).ledger).toHaveLength(1);
  });

  test('is in the event log', async () => {
    const { grant, params } = await customer('logged');
    const { creditId } = (await grant({ kind: 'USD', amountUsd: '5.00', reference: 'r' })).data;
    const { items } = (await operator.send('listEvents', { query: { organizationId: params.org } })).data;
    expect(items[0]).toMatchObject({ action: 'credit.grant', subject: params.customerId, before: null });
    expect(items[0]?.after).toMatchObject({ creditId, amountUsd: '5.00', reference: 'r' });
  });

  test('is 404 for an unknown customer and one of another organization, and provisions nobody', async () => {
    const { customerId } = await customer('mine');
    const other = await createTenant(operator, PLAN);
    const grant = (org: string, name: string) =>
      operator.send('grantCredit', { params: { org, customerId: name }, body: { kind: 'USD', amountUsd: '1' } });
    const replies = await Promise.all([
      grant(tenant.organizationId, 'nobody'),
      grant(other.organizationId, customerId),
    ]);
    for (const { status, refusal } of replies) expect([status, refusal.code]).toEqual([404, 'CUSTOMER_NOT_FOUND']);
    expect((await grant('no-such-organization', customerId)).status).toBe(404);
    expect((await tenant.api.send('readUsage', { params: { customerId: 'nobody' } })).status).toBe(404);
  });

  const usd = { kind: 'USD', amountUsd: '1' };
  const units = { kind: 'METER', meterSlot: 'CUSTOM1', units: 1 };
  test.each([
    ['kind', {}],
    ['kind', { ...usd, kind: 'EUR' }],
    ['amountUsd', { kind: 'USD' }],
    ['amountUsd', { ...usd, amountUsd: 25 }],
    ['amountUsd', { ...usd, amountUsd: '' }],
    ['amountUsd', { ...usd, amountUsd: '0' }],
    ['amountUsd', { ...usd, amountUsd: '0.000000000' }],
    ['amountUsd', { ...usd, amountUsd: '-1' }],
    ['amountUsd', { ...usd, amountUsd: '1e3' }],
    ['amountUsd', { ...usd, amountUsd: ' 1' }],
    ['amountUsd', { ...usd, amountUsd: '1,5' }],
    ['amountUsd', { ...usd, amountUsd: '1.0000000001' }],
    ['amountUsd', { ...usd, amountUsd: '10000000.01' }],
    ['meterSlot', { ...units, meterSlot: 'CUSTOM3' }],
    ['meterSlot', { kind: 'METER', units: 1 }],
    ['units', { ...units, units: 0 }],
    ['units', { ...units, units: -5 }],
    ['units', { ...units, units: 1.5 }],
    ['units', { ...units, units: '5' }],
    ['units', { ...units, units: 2 ** 53 }],
    ['expiresAt', { ...usd, expiresAt: 'tomorrow' }],
    ['expiresAt', { ...usd, expiresAt: '2027-02-30T00:00:00Z' }],
    ['expiresAt', { ...usd, expiresAt: new Date(Date.now() - 1).toISOString() }],
    ['reference', { ...usd, reference: '' }],
    ['reference', { ...usd, reference: 'x'.repeat(201) }],
  ])('is 400 that names %s and its rule for %j', async (field, body) => {
    const { grant, inspect } = await customer('bad');
    const { status, refusal } = await grant(body);
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    const [detail] = refusal.details as { path: string; message: string }[];
    expect(detail).toEqual({ path: field, message: expect.stringMatching(/\w{2,}/) });
    expect(refusal.message).toContain(detail?.message);
    expect((await inspect()).ledger).toEqual([]);
  });

  test('of more units than a safe integer is refused', async () => {
    const { grant, wallet } = await customer('many');
    const body = { kind: 'METER', meterSlot: 'AGENTIC_API', units: 1_000_000_000_000_000 };
    for (let n = 0; n < 9; n += 1) expect((await grant(body)).status).toBe(200);
    expect((await grant(body)).refusal).toMatchObject({ code: 'BAD_REQUEST', details: [{ path: 'units' }] });
    expect((await wallet()).units.AGENTIC_API).toBe(9_000_000_000_000_000);
  });

  test('is refused while the customer has a hundred credits, and accepted when one is used up', async () => {
    await withObject(PLAN, async (object) => {
      accepted(object.begin('open', START));
      for (let n = 0; n < 100; n += 1)
        accepted(object.grant('USD', 1n, START, { expiresAtMs: n === 0 ? START + HOUR : null }));
      expect(object.grant('USD', 1n, START)).toMatchObject({ ok: false, refusal: { code: 'CONFLICT' } });
      expect(accepted(object.grant('USD', 1n, START + HOUR)).balanceUsd).toBe('0.0000001'); // the hundred nano-USD again: one had expired
    });
  });
});

describe('a revocation', () => {
  const revoke = (params: { org: string; customerId: string }, creditId: string, body: object = { reason: 'a typo' }) =>
    operator.send('revokeCredit', { params: { ...params, creditId }, body });

  test('takes back what is not spent; a second one gets the same answer, and the event log has one', async () => {
    const { grant, inspect, params, call, settle } = await customer('revoked', { usd: '1' });
    const { creditId } = (await grant({ kind: 'USD', amountUsd: '25.00' })).data;
    await call();
    await call();
    const first = await revoke(params, creditId);
    expect(first.data).toEqual({ creditId, unit: 'USD', revoked: '25', balance: '1', reason: 'a typo' });
    await settle();
    const again = await revoke(params, creditId, { reason: 'another reason' });
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    expect([again.body.result.code, again.data]).toEqual(['CREDIT_REVOKED', first.data]);
    const { wallet, ledger } = await inspect();
    expect(wallet.balanceUsd).toBe('0.991');
    expect(ledger.filter(({ cause }) => cause === 'REVOKE')).toMatchObject([
      { unit: 'USD', amount: '-25', balance: '1', creditId, reference: 'a typo' },
    ]);
    const { items } = (await operator.send('listEvents', { query: { organizationId: params.org } })).data;
    expect(items.filter(({ action }) => action === 'credit.revoke')).toMatchObject([
      { subject: params.customerId, after: { creditId, revoked: '25' } },
    ]);
  });

  test('is known from D1 after the object has forgotten the entries', async () => {
    const { grant, params, settle, customerId } = await customer('long-ago');
    const { creditId } = (await grant({ kind: 'METER', meterSlot: 'CUSTOM1', units: 9 })).data;
    await grant({ kind: 'METER', meterSlot: 'CUSTOM1', units: 1 });
    const first = await revoke(params, creditId);
    expect(first.data).toMatchObject({ unit: 'CUSTOM1', revoked: '9', balance: '1' });
    await settle();
    await runInDurableObject(customerStub(params.org, customerId), (_, state) => {
      state.storage.sql.exec("DELETE FROM ledger WHERE record ->> 'creditId' = ?", creditId);
    });
    expect((await revoke(params, creditId)).data).toEqual(first.data);
  });

  test('of a credit of which nothing is left is 409, of an unknown one 404, and neither changes anything', async () => {
    const { params, inspect, call, settle } = await customer('spent', { usd: '0.01' });
    const { creditId = '' } = (await inspect()).credits[0] ?? {};
    await call();
    await call({ ...USED, responseTokens: 600 });
    // A pending charge will take all of it.
    expect((await revoke(params, creditId)).refusal.code).toBe('CONFLICT');
    await settle();
    expect((await revoke(params, creditId)).refusal.code).toBe('CONFLICT');
    expect((await revoke(params, 'no-such-credit')).refusal.code).toBe('NOT_FOUND');
    expect((await revoke({ ...params, customerId: 'nobody' }, creditId)).refusal.code).toBe('CUSTOMER_NOT_FOUND');
    expect((await inspect()).ledger.map(({ cause }) => cause)).toEqual(['SPEND', 'SPEND', 'GRANT']);
  });

  test.each([{}, { reason: '' }, { reason: 'x'.repeat(201) }])('is 400 that names the reason for %j', async (body) => {
    const { params, inspect } = await customer('reason', { usd: '1' });
    const { creditId = '' } = (await inspect()).credits[0] ?? {};
    const { refusal } = await revoke(params, creditId, body);
    expect([refusal.code, (refusal.details as { path: string }[])[0]?.path]).toEqual(['BAD_REQUEST', 'reason']);
    expect((await inspect()).ledger).toHaveLength(1);
  });
});

describe('a credit', () => {
  test('expires exactly at its instant, by alarm, with a ledger entry dated at that instant', async () => {
    await withObject(PLAN, async (object) => {
      accepted(object.begin('open', START));
      accepted(object.grant('USD', 5_000n, START, { expiresAtMs: START + HOUR / 2 }));
      accepted(object.grant('CUSTOM1', 9n, START, { expiresAtMs: START + HOUR / 2 }));
      expect(await object.alarm()).toBeLessThanOrEqual(START + HOUR / 2);
      object.housekeep(START + HOUR / 2 - 1);
      expect(accepted(object.inspect(START + HOUR / 2 - 1)).wallet.balanceUsd).toBe('0.000005');
      object.housekeep(START + HOUR / 2 + 1_000);
      const { wallet, credits, ledger } = accepted(object.inspect(START + HOUR / 2 + 1_000));
      expect([wallet.balanceUsd, wallet.units.CUSTOM1, credits]).toEqual(['0', 0, []]);
      expect(ledger.slice(0, 2).map(({ at, cause, amount, balance }) => [at, cause, amount, balance])).toEqual(
        expect.arrayContaining([
          [new Date(START + HOUR / 2).toISOString(), 'EXPIRY', '-0.000005', '0'],
          [new Date(START + HOUR / 2).toISOString(), 'EXPIRY', '-9', '0'],
        ]),
      );
    });
  });

  test('that expires soonest is spent first, then the oldest', async () => {
    await withObject(
      { ...PLAN, customMeters: { CUSTOM1: { label: 'Pages', funding: { credits: true } } } },
      async (object) => {
        accepted(object.begin('open', START));
        const granted = [null, START + 3 * HOUR, START + 2 * HOUR, null].map((expiresAtMs, n) =>
          accepted(object.grant('CUSTOM1', 10n, START + n, { expiresAtMs })),
        );
        const [oldest, later, sooner, newest] = granted.map(({ creditId }) => creditId);
        accepted(object.increment(35, START + HOUR));
        const { credits, ledger } = accepted(object.inspect(START + HOUR));
        expect(credits).toMatchObject([{ creditId: newest, remaining: '5' }]);
        const spent = ledger.filter(({ cause }) => cause === 'SPEND').toReversed();
        expect(spent.map(({ creditId, amount }) => [creditId, amount])).toEqual([
          [sooner, '-10'],
          [later, '-10'],
          [oldest, '-10'],
          [newest, '-5'],
        ]);
      },
    );
  });

  test('and every other change of a balance is in D1, where the entries sum to the balance', async () => {
    const { customerId, call, wallet, settle, params } = await customer('ledger', { usd: '0.02' });
    for (const responseTokens of [500, 500, 1_500]) await call({ ...USED, responseTokens });
    await settle();
    const sql =
      'SELECT amount, balance FROM credit_entries WHERE organization_id = ? AND customer_id = ? ORDER BY entry_id';
    const { results } = await bindings.DB.prepare(sql)
      .bind(params.org, customerId)
      .all<{ amount: string; balance: string }>();
    const sum = results.reduce((total, { amount }) => total + BigInt(amount), 0n);
    // 0.02 less two calls on credit, at 0.009 and 0.021
    expect([sum, results.at(-1)?.balance]).toEqual([-10_000_000n, '-10000000']);
    expect((await wallet()).balanceUsd).toBe('-0.01');
  });
});

describe('pay-as-you-go', () => {
  test('pays when the allowance is used up: cost with markup, PENDING and then POSTED', async () => {
    const { begin, end, wallet, settle, handedOver, customerId } = await customer('main', { usd: '1' });
    const included = (await begin()).callId;
    await end(included);
    expect(await payg(included)).toEqual(NOT_ON_CREDIT);

    await handedOver();
    const begun = await begin();
    expect(begun).toMatchObject({ allowed: { premium: true }, entitlementHints: { suggestedModelTier: 'premium' } });
    expect(await read(begun.callId)).toMatchObject({
      status: 'IN_PROGRESS',
      payg: { ...NOT_ON_CREDIT, usingCredit: true, markupPercent: 20 },
    });
    const ended = await end(begun.callId);
    expect(ended).toMatchObject({ costUsdNano: '7500000', costUSD: 0.0075, metered: { calls: 1, tokens: 500 } });
    const charged = { usingCredit: true, chargedUsd: 0.009, chargeNanoUsd: '9000000', markupPercent: 20 };
    expect(await payg(begun.callId)).toEqual({
      ...charged,
      settlementStatus: 'PENDING',
      settlementFailureReason: null,
    });
    expect(await wallet()).toMatchObject({
      balanceUsd: '1',
      unsettledUsd: '0.009',
      availableUsd: '0.991',
      openCharges: 1,
    });
    await settle();
    expect(await payg(begun.callId)).toEqual({ ...charged, settlementStatus: 'POSTED', settlementFailureReason: null });
    expect(await wallet()).toMatchObject({
      balanceUsd: '0.991',
      unsettledUsd: '0',
      availableUsd: '0.991',
      openCharges: 0,
    });
    // A call on credit takes nothing of the allowance.
    const { meters } = (await tenant.api.send('readUsage', { params: { customerId } })).data;
    expect(meters.premiumCalls).toMatchObject({ used: 1, remaining: 0 });
  });

  test('is denied without a balance, and if the plan has none', async () => {
    const { call, begin } = await customer('poor');
    await call();
    const denied = await begin();
    expect(denied.allowed.premium).toBe(false);
    expect(await read(denied.callId)).toMatchObject({ status: 'NOT_ALLOWED', payg: NOT_ON_CREDIT });

    const of = await createTenant(operator, { ...PLAN, payg: { enabled: false } });
    const rich = await customer('rich', { usd: '100', of });
    await rich.call();
    expect((await rich.begin()).allowed.premium).toBe(false);
  });

  test('pays for premium before DOWNGRADE offers standard, and never for a canceled customer', async () => {
    const of = await createTenant(operator, { ...PLAN, limitType: 'DOWNGRADE', limits: { premiumCalls: 0 } });
    const { begin, call, params } = await customer('downgrade', { usd: '0.02', of });
    const paid = await begin();
    expect([paid.allowed.premium, paid.entitlementHints.downgrade]).toEqual([true, undefined]);
    await call();
    expect(await begin()).toMatchObject({
      allowed: { premium: false, standard: true },
      entitlementHints: { downgrade: { reason: 'PREMIUM_QUOTA_EXHAUSTED', fallbackTier: 'standard' } },
    });
    await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '10' } });
    await operator.send('cancelCustomer', { params });
    expect((await begin()).allowed).toMatchObject({ premium: false, standard: false });
  });

  test('a call that reports more than it held overdraws the balance and says so; the next one is denied until a credit repays it', async () => {
    const { call, begin, grant, inspect, wallet, settle } = await customer('overdraft', { usd: '0.01' });
    await call();
    const last = await call({ ...USED, responseTokens: 1_300 });
    expect(await payg(last)).toMatchObject({ chargedUsd: 0.0186, heldUsd: 0.01 });
    // Denied at once: a charge that is under way is not promised to anybody else.
    expect((await begin()).allowed.premium).toBe(false);
    await settle();
    expect((await payg(last)).settlementStatus).toBe('POSTED');
    expect((await wallet()).balanceUsd).toBe('-0.0086');
    expect((await inspect()).ledger[0]).toMatchObject({
      cause: 'SPEND',
      amount: '-0.0086',
      balance: '-0.0086',
      creditId: null,
    });
    expect((await begin()).allowed.premium).toBe(false);
    expect((await grant({ kind: 'USD', amountUsd: '0.0086' })).data.balanceUsd).toBe('0');
    expect((await begin()).allowed.premium).toBe(false);
    expect((await grant({ kind: 'USD', amountUsd: '0.5' })).data.balanceUsd).toBe('0.5');
    expect((await begin()).allowed.premium).toBe(true);
  });

  test('a call without a known price has a charge FAILED with PRICE_UNAVAILABLE, and charges nothing', async () => {
    const { call, begin, end, wallet, settle } = await customer('unpriced', { usd: '1' });
    await call();
    const { callId } = await begin();
    await end(callId, { modelUsed: 'no-such-model', responseTokens: 5, isPremium: true });
    const failed = { settlementStatus: 'FAILED', settlementFailureReason: 'PRICE_UNAVAILABLE' };
    const expected = { ...NOT_ON_CREDIT, usingCredit: true, markupPercent: 20, ...failed };
    expect(await read(callId)).toMatchObject({ pricingStatus: 'UNAVAILABLE', costUsdNano: null, payg: expected });
    await settle();
    expect(await payg(callId)).toEqual(expected);
    expect(await wallet()).toMatchObject({ balanceUsd: '1', unsettledUsd: '0', openCharges: 0 });
  });

  test('charges the cost after batch pricing, and a failed call for what it used', async () => {
    const { call, begin, end } = await customer('batch', { usd: '1' });
    await call();
    expect((await payg(await call({ ...USED, pricingMode: 'batch' }))).chargeNanoUsd).toBe('4500000');
    expect(
      (await payg(await call({ ...USED, error: { code: 'overloaded', message: 'try later' } }))).chargeNanoUsd,
    ).toBe('9000000');
    const { callId } = await begin();
    await end(callId, { modelUsed: 'gpt-4o', error: { code: 'refused', message: 'nothing ran' } });
    expect(await payg(callId)).toMatchObject({
      usingCredit: true,
      chargeNanoUsd: '0',
      chargedUsd: 0,
      settlementStatus: 'POSTED',
    });
  });

  test('pays at the end for a tier that the call was not allowed and whose allowance is used up', async () => {
    const { call, begin, end } = await customer('other-tier', { usd: '1' });
    await call();
    const { callId } = await begin({ requested: { standard: true } });
    expect((await payg(callId)).usingCredit).toBe(false);
    await end(callId);
    expect(await payg(callId)).toMatchObject({ usingCredit: true, chargeNanoUsd: '9000000' });
  });

  test('charges once, however often the end is sent', async () => {
    const { call, begin, wallet, settle } = await customer('replayed', { usd: '1' });
    await call();
    const { callId } = await begin();
    const ends = Array.from({ length: 8 }, () => tenant.api.send('endCall', { body: { callId, ...USED } }));
    expect(new Set((await Promise.all(ends)).map(({ status }) => status))).toEqual(new Set([200]));
    await settle();
    await tenant.api.send('endCall', { body: { callId, ...USED } });
    expect(await wallet()).toMatchObject({ balanceUsd: '0.991', unsettledUsd: '0' });
  });
});

describe('a hold', () => {
  test('of more than the available amount is denied, of all of it is allowed and released by the end', async () => {
    const { call, begin, end, wallet } = await customer('hold', { usd: '1' });
    await call();
    expect((await begin({ ...PREMIUM, holdUsd: 1.000000001 })).allowed.premium).toBe(false);
    const { callId } = await begin({ ...PREMIUM, holdUsd: 1 });
    expect(await wallet()).toMatchObject({ balanceUsd: '1', heldUsd: '1', availableUsd: '0' });
    expect((await begin()).allowed.premium).toBe(false);
    await end(callId);
    expect(await wallet()).toMatchObject({ heldUsd: '0', availableUsd: '0.991' });
  });

  test('is released by a failure, and is zero if the allowance pays', async () => {
    const { begin, end, wallet } = await customer('hold-failed', { usd: '1' });
    const included = await begin({ ...PREMIUM, holdUsd: 0.4 });
    expect((await wallet()).heldUsd).toBe('0');
    await end(included.callId);
    const { callId } = await begin({ ...PREMIUM, holdUsd: 0.4 });
    expect((await wallet()).heldUsd).toBe('0.4');
    await end(callId, { error: { code: 'overloaded', message: 'try later' } });
    expect(await wallet()).toMatchObject({ heldUsd: '0', availableUsd: '1' });
  });

  test('keeps concurrent calls within the balance: 10 of 30 that hold a tenth each', async () => {
    const { call, begin, wallet } = await customer('hold-crowd', { usd: '1' });
    await call();
    const begins = await Promise.all(Array.from({ length: 30 }, () => begin({ ...PREMIUM, holdUsd: 0.1 })));
    expect(begins.filter(({ allowed }) => allowed.premium)).toHaveLength(10);
    expect(await wallet()).toMatchObject({ heldUsd: '1', availableUsd: '0' });
  });

  test('is released by the timeout; an end that comes late is still charged, on the terms of the begin', async () => {
    await withObject({ ...PLAN, limits: { premiumCalls: 0 } }, async (object) => {
      accepted(object.begin('first', START));
      accepted(object.grant('USD', 1_000_000_000n, START));
      const requested = { premium: true };
      expect(accepted(object.begin('held', START, { requested, holdUsd: 1 })).allowed.premium).toBe(true);
      expect(accepted(object.inspect(START + HOUR - 1)).wallet).toMatchObject({ heldUsd: '1', availableUsd: '0' });
      object.housekeep(START + HOUR);
      expect(object.call('held', START + HOUR)?.status).toBe('TIMEOUT');
      expect(accepted(object.inspect(START + HOUR)).wallet).toMatchObject({ heldUsd: '0', availableUsd: '1' });

      accepted(object.end('held', START + 2 * HOUR, { usage: usage({ responseTokens: 5 }), isPremium: true }));
      const charge = object.call('held', START + 2 * HOUR)?.outcome?.charge;
      expect(charge).toMatchObject({ status: 'FAILED', failureReason: 'PRICE_UNAVAILABLE', markupPercent: 20 });
      expect(accepted(object.inspect(START + 2 * HOUR)).wallet).toMatchObject({ heldUsd: '0', availableUsd: '1' });
    });
  });
});
