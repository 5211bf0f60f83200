/**
 * Custom meters over HTTP: the answer to an increment, its payer, and the refusals (contract 4.10).
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { KeyPrefix } from '../../src/contract/scopes.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { fundedCustomer } from '../support/customer.ts';
import { bindings, operator, storeOlderPlan } from '../support/worker.ts';

const SAFE_MAX = Number.MAX_SAFE_INTEGER;

const GRADUATED = {
  model: 'GRADUATED',
  tiers: [
    { upTo: '5', priceUsd: '0.01', per: '1' },
    { upTo: '20', priceUsd: '0.004', per: '3' },
    { upTo: null, priceUsd: '0.001', per: '1' },
  ],
};
const PAGES = { label: 'Pages', included: 10, funding: { credits: true, payg: true }, overage: GRADUATED };
const PLAN = {
  name: 'Metered',
  limitType: 'BLOCK',
  // No call is included, one may begin in a second, and a markup applies to calls: none of it affects custom meters.
  limits: { standardCalls: 0, premiumCalls: 0 },
  rollingCalls: { limit: 1, windowSeconds: 60 },
  payg: { enabled: true, markupPercent: 50 },
  customMeters: {
    CUSTOM1: PAGES,
    CUSTOM2: { ...PAGES, label: 'Images', included: 2, overage: { model: 'SINGLE', priceUsd: '0.02', per: '10' } },
    AGENTIC_API: { label: 'Requests', unlimited: true },
  },
};

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, PLAN);
});

/** A new customer of the tenant, with the operator's initial grants. */
async function customer(
  customerId: string,
  { of = tenant, ...funds }: { usd?: string; units?: number; of?: Tenant } = {},
) {
  const funded = await fundedCustomer(of, customerId, funds);
  const send = (body: object, headers = {}) =>
    of.api.send('incrementMeter', { body: { customerId, ...body }, headers });
  return {
    ...funded,
    send,
    use: async (amount: number, meterSlot = 'CUSTOM1') => (await send({ meterSlot, amount })).data,
    meters: async () => (await of.api.send('readUsage', { params: { customerId } })).data.meters,
  };
}

const component = (
  tierIndex: number,
  upTo: string | null,
  unitsExact: string,
  priceNanoUsd: string,
  priceQuantity: string,
) => ({
  tierIndex,
  upTo,
  unitsExact,
  priceNanoUsd,
  priceQuantity,
});

describe('an increment', () => {
  test('has every response field, uses the included units to the last one, and is blocked after it', async () => {
    const { send, use, meters } = await customer('fields');
    const first = await send({ meterSlot: 'CUSTOM1', amount: 4 });
    expect(first.body.result).toMatchObject({ status: 'ACCEPTED', code: 'CUSTOM_METER_SUCCESS' });
    expect(first.data).toEqual({
      success: true,
      eventId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      meterSlot: 'CUSTOM1',
      amount: 4,
      blocked: false,
      meter: {
        remaining: 6,
        limit: 10,
        used: 4,
        unlimited: false,
        ratio: 0.6,
        label: 'Pages',
        periodUsageBefore: '0',
        periodUsageAfter: '4',
        overagePricingModel: 'GRADUATED',
        overagePricingComponents: [],
      },
    });
    expect(await use(6)).toMatchObject({
      blocked: false,
      meter: { remaining: 0, used: 10, ratio: 0, periodUsageAfter: '10' },
    });
    expect(await use(1)).toMatchObject({
      success: true,
      blocked: true,
      meter: { remaining: 0, used: 10, periodUsageBefore: '10', periodUsageAfter: '11', overagePricingComponents: [] },
    });
    expect((await meters()).customMeter1).toEqual({ remaining: 0, limit: 10, used: 10, unlimited: false, ratio: 0 });
    expect((await meters()).customMeter2?.used).toBe(0);
  });

  test('that is funded only in part is blocked, and counted completely', async () => {
    const { use } = await customer('part');
    expect(await use(12)).toMatchObject({ blocked: true, meter: { used: 10, periodUsageAfter: '12' } });
  });

  test('of an unlimited meter uses no allowance, costs nothing, and is exact beyond 2^53', async () => {
    const { use, wallet, meters } = await customer('unlimited', { usd: '1' });
    await use(SAFE_MAX, 'AGENTIC_API');
    const { blocked, meter } = await use(SAFE_MAX, 'AGENTIC_API');
    expect([blocked, meter]).toEqual([
      false,
      {
        remaining: SAFE_MAX,
        limit: null,
        used: 0,
        unlimited: true,
        ratio: null,
        label: 'Requests',
        periodUsageBefore: '9007199254740991',
        periodUsageAfter: '18014398509481982',
        overagePricingModel: 'SINGLE',
        overagePricingComponents: [],
      },
    ]);
    expect((await meters()).agenticApi).toMatchObject({ used: 0, limit: null, unlimited: true, ratio: null });
    expect(await wallet()).toMatchObject({ balanceUsd: '1', unsettledUsd: '0', openCharges: 0 });
  });

  test('uses no allowance of an unlimited meter that was limited earlier in the period', async () => {
    const params = { org: tenant.organizationId, planId: 'unlimited' };
    const customMeters = { CUSTOM1: { ...PAGES, unlimited: true } };
    await operator.send('putPlan', { params, body: { ...PLAN, name: 'Unlimited', customMeters } });
    const { use } = await customer('lifted');
    await use(7);
    const strategy = 'IMMEDIATE_PRORATED';
    await tenant.api.send('changePlan', { params: { customerId: 'lifted' }, body: { planId: 'unlimited', strategy } });
    expect((await use(5)).meter).toMatchObject({
      used: 0,
      limit: null,
      unlimited: true,
      ratio: null,
      periodUsageBefore: '7',
    });
  });

  test('reaches D1 with its customer, source, funding and charge status', async () => {
    const { send, settle } = await customer('projected', { usd: '1', units: 3 });
    const { eventId } = (
      await send({
        meterSlot: 'CUSTOM1',
        amount: 15,
        customerUserId: 'user-1',
        customerUserName: 'Ann',
        feature: 'export',
        tags: ['a', 'b'],
        metadata: { depth: { of: [1, 'x', null] } },
      })
    ).data;
    await settle();
    const row = await bindings.DB.prepare('SELECT * FROM meter_events WHERE event_id = ?').bind(eventId).first();
    expect(row).toMatchObject({
      organization_id: tenant.organizationId,
      customer_id: 'projected',
      customer_user_id: 'user-1',
      feature: 'export',
      slot: 'CUSTOM1',
      amount: 15,
      usage_plan_version_id: 'test:v1',
      included: 10,
      credits: 3,
      overage: 2,
      unfunded: 0,
      charge_nano_usd: '20000000',
      settlement_status: 'POSTED',
    });
    expect(JSON.parse(String(row?.record))).toMatchObject({
      tags: ['a', 'b'],
      metadata: { depth: { of: [1, 'x', null] } },
      charge: { status: 'POSTED', markupPercent: null, failureReason: null },
    });
  });
});

describe('funding', () => {
  test('comes from the allowance, then credits of the slot, then the balance at graduated prices', async () => {
    const { use, wallet, settle } = await customer('order', { usd: '0.05', units: 3 });
    expect(await use(11)).toMatchObject({ blocked: false, meter: { used: 10, overagePricingComponents: [] } });
    expect(await wallet()).toMatchObject({ balanceUsd: '0.05', units: { CUSTOM1: 2 } });
    const mixed = await use(5); // two of credit, three of the balance
    expect(mixed).toMatchObject({
      blocked: false,
      meter: { overagePricingComponents: [component(0, '5', '3', '10000000', '1')] },
    });
    expect(await wallet()).toMatchObject({ availableUsd: '0.02', units: { CUSTOM1: 0 } });
    // Overage units 4 to 22: across both borders. The last one may overdraw.
    const across = await use(19);
    expect(across.blocked).toBe(false);
    expect(across.meter.overagePricingComponents).toEqual([
      component(0, '5', '2', '10000000', '1'),
      component(1, '20', '15', '4000000', '3'),
      component(2, null, '2', '1000000', '1'),
    ]);
    expect(across.meter).toMatchObject({ used: 10, periodUsageBefore: '16', periodUsageAfter: '35' });
    expect(await use(1)).toMatchObject({
      blocked: true,
      meter: { overagePricingComponents: [], periodUsageAfter: '36' },
    });
    await settle();
    // 5 x 0.01 + 15 / 3 x 0.004 + 2 x 0.001 = 0.072
    expect(await wallet()).toMatchObject({
      balanceUsd: '-0.022',
      unsettledUsd: '0',
      availableUsd: '-0.022',
      openCharges: 0,
    });
    expect((await use(1)).blocked).toBe(true);
  });

  test('unit by unit costs the same as all at once, to the nano-USD', async () => {
    const [atOnce, drops] = await Promise.all([customer('at-once', { usd: '1' }), customer('drops', { usd: '1' })]);
    const { overagePricingComponents } = (await atOnce.use(32)).meter;
    expect(overagePricingComponents.map(({ unitsExact }) => unitsExact)).toEqual(['5', '15', '2']);
    for (let n = 0; n < 32; n += 1) expect((await drops.use(1)).blocked).toBe(false);
    await Promise.all([atOnce.settle(), drops.settle()]);
    expect((await atOnce.wallet()).balanceUsd).toBe('0.928');
    expect((await drops.wallet()).balanceUsd).toBe('0.928');
  });

  test('a single price is one tier without an upper bound', async () => {
    const { use, wallet } = await customer('single', { usd: '1' });
    expect((await use(9, 'CUSTOM2')).meter).toMatchObject({
      overagePricingModel: 'SINGLE',
      overagePricingComponents: [component(0, null, '7', '20000000', '10')],
    });
    expect((await wallet()).unsettledUsd).toBe('0.014');
  });

  test("credits of one slot never pay for another's units", async () => {
    const { use, wallet } = await customer('foreign-credit', { units: 50 });
    expect((await use(3, 'CUSTOM2')).blocked).toBe(true);
    expect((await wallet()).units).toEqual({ CUSTOM1: 50, CUSTOM2: 0, AGENTIC_API: 0 });
  });

  test('tier progress and usage begin again with the period', async () => {
    const { use } = await customer('period', { usd: '5' });
    await use(10 + 18);
    expect((await use(1)).meter.overagePricingComponents).toEqual([component(1, '20', '1', '4000000', '3')]);
    await tenant.api.send('replenishCustomer', { params: { customerId: 'period' } });
    expect((await use(11)).meter).toMatchObject({
      used: 10,
      periodUsageBefore: '0',
      periodUsageAfter: '11',
      overagePricingComponents: [component(0, '5', '1', '10000000', '1')],
    });
  });

  // Versions from before a plan with the first or the last was refused.
  test.each([
    ['the plan is not pay-as-you-go', { payg: { enabled: false } }],
    ['the meter is not', { customMeters: { CUSTOM1: { funding: { payg: false } } } }],
    ['there is no price', { customMeters: { CUSTOM1: { overage: null } } }],
  ])('never comes from the balance if %s', async (_, change) => {
    const of = await createTenant(operator, PLAN);
    await storeOlderPlan(of, change);
    const { use, wallet } = await customer('unpaid', { usd: '100', units: 2, of });
    expect((await use(12)).blocked).toBe(false);
    expect((await use(1)).blocked).toBe(true);
    expect(await wallet()).toMatchObject({ balanceUsd: '100', unsettledUsd: '0' });
  });

  test('never comes from credits if the meter accepts none', async () => {
    const of = await createTenant(operator, {
      ...PLAN,
      customMeters: { CUSTOM1: { ...PAGES, funding: { payg: true } } },
    });
    const { use, wallet } = await customer('saved', { units: 5, of });
    expect((await use(11)).blocked).toBe(true);
    expect((await wallet()).units.CUSTOM1).toBe(5);
  });

  test.each(['NONE', 'BLOCK', 'DOWNGRADE'])('is the same under %s', async (limitType) => {
    const of = await createTenant(operator, { ...PLAN, limitType });
    const { use } = await customer('policy', { usd: '0.01', of });
    expect([(await use(10)).blocked, (await use(1)).blocked, (await use(1)).blocked]).toEqual([false, false, true]);
  });
});

describe('an idempotency key', () => {
  const body = { meterSlot: 'CUSTOM1', amount: 2, feature: 'f', tags: ['t'], metadata: { a: 1, b: [2] } };

  test('replays the stored answer, and changes nothing', async () => {
    const { send, meters } = await customer('keyed');
    const headers = { 'Idempotency-Key': 'meter-1' };
    const first = await send(body, headers);
    await send({ meterSlot: 'CUSTOM1', amount: 1 });
    const again = await send(
      { ...body, metadata: { b: [2], a: 1 } },
      { ...headers, 'x-usage-correlation-id': 'again' },
    );
    expect([first.headers.get('Idempotency-Replayed'), again.headers.get('Idempotency-Replayed')]).toEqual([
      null,
      'true',
    ]);
    expect([again.body.result, again.body.data]).toEqual([first.body.result, first.body.data]);
    expect(again.body.correlationId).toBe('again');
    expect((await meters()).customMeter1?.used).toBe(3);
  });

  test.each([
    ['amount', { amount: 3 }],
    ['slot', { meterSlot: 'CUSTOM2' }],
    ['feature', { feature: 'g' }],
    ['tags', { tags: ['t', 'u'] }],
    ['metadata', { metadata: { a: 1 } }],
    ['user', { customerUserId: 'u' }],
  ])('is 409 with another %s', async (name, change) => {
    const { send, meters } = await customer(`conflict-${name}`);
    const headers = { 'Idempotency-Key': `conflict-${name}` };
    await send(body, headers);
    const { status, refusal } = await send({ ...body, ...change }, headers);
    expect([status, refusal.code]).toEqual([409, 'IDEMPOTENCY_KEY_CONFLICT']);
    expect(await meters()).toMatchObject({ customMeter1: { used: 2 }, customMeter2: { used: 0 } });
  });

  test('comes from the header, then idempotencyKey, then idempotency', async () => {
    const { send, meters } = await customer('sources');
    const increment = { meterSlot: 'CUSTOM1', amount: 1 };
    await send({ ...increment, idempotencyKey: 'k2', idempotency: 'k3' }, { 'Idempotency-Key': 'k1' });
    const replayed = async (more: object) =>
      (await send({ ...increment, ...more })).headers.get('Idempotency-Replayed') === 'true';
    expect(await replayed({ idempotencyKey: 'k2', idempotency: 'k1' })).toBe(false);
    expect(await replayed({ idempotency: 'k3' })).toBe(false);
    for (const key of ['k1', 'k2', 'k3']) expect(await replayed({ idempotency: key })).toBe(true);
    expect((await meters()).customMeter1?.used).toBe(3);
  });

  test('is optional: without one every increment is new', async () => {
    const { use, meters } = await customer('keyless');
    const events = [await use(1), await use(1)].map(({ eventId }) => eventId);
    expect(new Set(events).size).toBe(2);
    expect((await meters()).customMeter1?.used).toBe(2);
  });

  test('counts once, however many retries arrive at the same time', async () => {
    const { send, meters } = await customer('racing');
    const replies = await Promise.all(Array.from({ length: 30 }, () => send(body, { 'Idempotency-Key': 'race' })));
    expect(new Set(replies.map(({ data }) => data.eventId)).size).toBe(1);
    expect(replies.filter(({ headers }) => headers.get('Idempotency-Replayed') === null)).toHaveLength(1);
    expect((await meters()).customMeter1?.used).toBe(2);
  });

  test('of a refused increment stays free, and does not collide with the keys of calls', async () => {
    const headers = { 'Idempotency-Key': 'free-1' };
    const increment = { customerId: 'not-yet', meterSlot: 'CUSTOM1', amount: 1 };
    const early = await tenant.api.send('incrementMeter', { body: increment, headers });
    expect(early.refusal.code).toBe('SUBSCRIPTION_NOT_FOUND');
    expect((await tenant.api.send('beginCall', { body: { customerId: 'not-yet' }, headers })).status).toBe(200);
    const late = await tenant.api.send('incrementMeter', { body: increment, headers });
    expect(late.data.blocked).toBe(false);
    expect(late.headers.get('Idempotency-Replayed')).toBeNull();
  });
});

describe('access', () => {
  test.each([
    ['customer_id', { customer_id: 'spelled', customer_user_id: 'u' }],
    ['the nested object', { customer: { id: 'spelled', userId: 'u' } }],
    ['the nested object in snake_case', { customer: { customer_id: 'spelled', user_id: 'u' } }],
    [
      'several, of which camelCase wins',
      { customerId: 'spelled', customerUserId: 'u', customer_id: 'other', customer: { id: 'third' } },
    ],
  ])('a customer is found by %s, and it is one payload', async (_, identity) => {
    await tenant.api.send('provisionCustomer', { body: { customerId: 'spelled' } });
    const increment = { meterSlot: 'CUSTOM2', amount: 1, idempotencyKey: 'spelled-1' };
    const plain = await tenant.api.send('incrementMeter', {
      body: { customerId: 'spelled', customerUserId: 'u', ...increment },
    });
    const spelled = await tenant.api.send('incrementMeter', { body: { ...identity, ...increment } });
    expect(spelled.data).toEqual(plain.data);
    expect(spelled.headers.get('Idempotency-Replayed')).toBe('true');
  });

  test.each<[KeyPrefix, number]>([
    ['cmp-', 200],
    ['ck-', 200],
    ['ak-', 200],
    ['gk-', 403],
    ['ek-', 403],
  ])('a legacy key %s is answered %i', async (prefix, status) => {
    const { send } = await customer(`legacy-${prefix}`);
    const body = { name: 'legacy', prefix };
    const { key } = (await operator.send('createKey', { params: { org: tenant.organizationId }, body })).data;
    const reply = await send({ meterSlot: 'CUSTOM1', amount: 1 }, { Authorization: `Bearer ${key}` });
    expect(reply.status).toBe(status);
    if (status === 403)
      expect(reply.refusal).toMatchObject({ code: 'API_KEY_SCOPE_REQUIRED', requiredScope: 'usage:write' });
    if (prefix !== 'cmp-') return;
    const begin = await tenant.api.send('beginCall', {
      body: { customerId: 'x' },
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(begin.refusal.code).toBe('API_KEY_SCOPE_REQUIRED');
  });

  test('an unknown customer, a canceled one and one of another organization are the same 404, and none is provisioned', async () => {
    const increment = (api: Tenant['api'], customerId: string) =>
      api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount: 1 } });
    await customer('canceled');
    await operator.send('cancelCustomer', { params: { org: tenant.organizationId, customerId: 'canceled' } });
    await customer('mine');
    const other = await createTenant(operator, PLAN);
    const replies = [
      await increment(tenant.api, 'nobody'),
      await increment(tenant.api, 'canceled'),
      await increment(other.api, 'mine'),
    ];
    for (const { status, refusal } of replies) expect([status, refusal.code]).toEqual([404, 'SUBSCRIPTION_NOT_FOUND']);
    expect(new Set(replies.map(({ body }) => JSON.stringify(body.error))).size).toBe(1);
    expect((await tenant.api.send('readUsage', { params: { customerId: 'nobody' } })).refusal.code).toBe(
      'SUBSCRIPTION_NOT_FOUND',
    );
    await operator.send('reactivateCustomer', { params: { org: tenant.organizationId, customerId: 'canceled' } });
    expect((await increment(tenant.api, 'canceled')).data.meter.used).toBe(1);
  });
});

describe('bad input', () => {
  test.each([
    ['amount', { amount: 0 }],
    ['amount', { amount: -1 }],
    ['amount', { amount: 1.5 }],
    ['amount', { amount: 2 ** 53 }],
    ['amount', { amount: 1e300 }],
    ['amount', { amount: '1' }],
    ['amount', { amount: null }],
    ['amount', { amount: undefined }],
    ['amount', { amount: true }],
    ['meterSlot', { meterSlot: 'CUSTOM3' }],
    ['meterSlot', { meterSlot: 'custom1' }],
    ['meterSlot', { meterSlot: undefined }],
    ['customerId', { customerId: undefined }],
    ['customerId', { customerId: '' }],
    ['customerUserId', { customerUserId: 5 }],
    ['feature', { feature: ' ' }],
    ['tags.0', { tags: [1] }],
    ['tags', { tags: Array(51).fill('t') }],
    ['metadata', { metadata: 'text' }],
    ['metadata', { metadata: [] }],
    ['metadata', { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, n])) }],
    ['metadata', { metadata: { long: 'x'.repeat(8_192) } }],
  ])('names %s in %j, and records nothing', async (field, change) => {
    const body = { customerId: 'bad', meterSlot: 'CUSTOM1', amount: 1, ...change };
    await tenant.api.send('provisionCustomer', { body: { customerId: 'bad' } });
    const { status, refusal } = await tenant.api.send('incrementMeter', { body });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
    expect((await tenant.api.send('readUsage', { params: { customerId: 'bad' } })).data.meters.customMeter1?.used).toBe(
      0,
    );
  });

  test('an amount that JSON.parse rounds to a safe integer is accepted, and one beyond is not', async () => {
    await tenant.api.send('provisionCustomer', { body: { customerId: 'rounded' } });
    const send = (amount: string) =>
      tenant.api.send('incrementMeter', {
        body: `{"customerId":"rounded","meterSlot":"AGENTIC_API","amount":${amount}}`,
      });
    expect((await send('1e2')).data.meter.periodUsageAfter).toBe('100');
    expect((await send('9007199254740993')).refusal.code).toBe('BAD_REQUEST');
  });

  test.each([
    ['is not in the plan', 'CUSTOM2', undefined],
    ['is switched off', 'CUSTOM1', { ...PAGES, enabled: false }],
  ])('a slot that %s is 400 METER_NOT_ENABLED, and leaves its key free', async (_, meterSlot, CUSTOM1) => {
    const of = await createTenant(operator, { ...PLAN, customMeters: { ...(CUSTOM1 && { CUSTOM1 }) } });
    const { send } = await customer('disabled', { usd: '1', of });
    const headers = { 'Idempotency-Key': 'disabled-1' };
    const { status, refusal } = await send({ meterSlot, amount: 1 }, headers);
    expect([status, refusal.code]).toEqual([400, 'METER_NOT_ENABLED']);
    expect(refusal.details).toEqual([{ path: 'meterSlot', message: expect.stringContaining(meterSlot) }]);
    await operator.send('putPlan', { params: { org: of.organizationId, planId: 'on' }, body: PLAN });
    await of.api.send('changePlan', { params: { customerId: 'disabled' }, body: { planId: 'on' } });
    expect((await send({ meterSlot, amount: 1 }, headers)).data.blocked).toBe(false);
  });
});
