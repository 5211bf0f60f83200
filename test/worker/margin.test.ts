/**
 * Promise: a margin follows from the calls, the custom meters and the plans: of a customer through begin and end,
 * credit, reversal and a change of plan, of an organization by feature, model, plan and customer; and D1's sums equal
 * those over its calls.
 */

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { asCustomerId } from '../../src/domain/ids.ts';
import { formatUsd } from '../../src/domain/money.ts';
import { readCustomerEarnings, readCustomersEarnings } from '../../src/readings/margin/customer-earnings.ts';
import type { Earnings } from '../../src/readings/margin/earnings.ts';
import { readOrganizationMargin } from '../../src/readings/margin/organization-margin.ts';
import { createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { bindings, deliverToD1, operator, worker } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const USD = 1_000_000_000n;
/** September 2031, which has thirty days. */
const START = Date.UTC(2031, 8, 1);
const END = Date.UTC(2031, 9, 1);
const WINDOW = { fromMs: START, toMs: END };
const CUSTOMERS = ['alpha', 'beta', 'gamma'];

/** One premium call is included; credit pays the others, with half of their cost on top. */
const PLAN = {
  name: 'Pro',
  limitType: 'BLOCK',
  limits: { premiumCalls: 1 },
  payg: { enabled: true, markupPercent: 50 },
  customMeters: {
    CUSTOM1: { included: 1, funding: { payg: true }, overage: { model: 'SINGLE', priceUsd: '0.25' } },
  },
  priceUsd: '30',
};
const CALL_COST = 2_500_000_000n;

let tenant: Tenant;

async function call(callId: string, customerId: string, feature: string, atMs: number, modelUsed = 'gpt-4o') {
  vi.setSystemTime(atMs);
  const body = { customerId, feature, requested: { premium: true } };
  await tenant.api.send('beginCall', { body, headers: { 'Idempotency-Key': callId } });
  const end = { callId, modelUsed, inputTokens: 1_000_000, responseTokens: 0 };
  expect([callId, (await tenant.api.send('endCall', { body: end })).status]).toEqual([callId, 200]);
}

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  tenant = await createTenant(operator, PLAN);
  const org = tenant.organizationId;
  await operator.send('putPlan', { params: { org, planId: 'free' }, body: { name: 'Free', limitType: 'NONE' } });
  for (const customerId of CUSTOMERS) await tenant.api.send('provisionCustomer', { body: { customerId } });
  const credit = { kind: 'USD', amountUsd: '1000' };
  await operator.send('grantCredit', { params: { org, customerId: 'alpha' }, body: credit });
  await call('included', 'alpha', 'chat', START + DAY);
  await call('charged', 'alpha', 'chat', START + 2 * DAY);
  await call('mistake', 'alpha', 'search', START + 2 * DAY + HOUR);
  await call('unpriced', 'alpha', 'search', START + 3 * DAY, 'no-such-model');
  await call('other', 'beta', 'search', START + 4 * DAY);
  vi.setSystemTime(START + 5 * DAY);
  const increment = { customerId: 'alpha', meterSlot: 'CUSTOM1', amount: 3, feature: 'search' };
  expect((await tenant.api.send('incrementMeter', { body: increment })).status).toBe(200);
  vi.setSystemTime(START + 15 * DAY);
  await operator.send('operatorChangePlan', {
    params: { org, customerId: 'beta' },
    body: { planId: 'free', strategy: 'IMMEDIATE_PRORATED' },
  });
  await call('after', 'beta', 'search', START + 16 * DAY);
  await operator.send('operatorReverseCall', { params: { org, callId: 'mistake' }, body: { reason: 'a test' } });
  vi.setSystemTime(START + 20 * DAY);
  await operator.send('cancelCustomer', { params: { org, customerId: 'gamma' } });
  vi.setSystemTime(END + HOUR);
  for (const customerId of CUSTOMERS) await deliverToD1(org, customerId);
});
afterAll(() => {
  vi.useRealTimers();
});

const ofCustomer = (customerId: string, window = WINDOW, nowMs = Date.now()) =>
  readCustomerEarnings(
    bindings,
    { organizationId: tenant.organizationId, customerId: asCustomerId(customerId) },
    window,
    nowMs,
  );

const figures = ({ costNanoUsd, chargedNanoUsd, planNanoUsd, calls, unpricedCalls }: Earnings) => ({
  ...{ costNanoUsd, chargedNanoUsd, planNanoUsd, calls, unpricedCalls },
});

/** One call and two increments of the meter are charged; the reversed call costs and earns nothing. */
const ALPHA = {
  costNanoUsd: 2n * CALL_COST,
  chargedNanoUsd: (CALL_COST * 3n) / 2n + USD / 2n,
  planNanoUsd: 30n * USD,
  calls: 3,
  unpricedCalls: 1,
};
/** Half of the month on the plan with a price. */
const BETA = { costNanoUsd: 2n * CALL_COST, chargedNanoUsd: 0n, planNanoUsd: 15n * USD, calls: 2, unpricedCalls: 0 };
const GAMMA = { costNanoUsd: 0n, chargedNanoUsd: 0n, planNanoUsd: 20n * USD, calls: 0, unpricedCalls: 0 };

describe('a customer', () => {
  test('earns what was charged and the price of its plan for the time, and keeps what they leave of the cost', async () => {
    const read = await ofCustomer('alpha');
    expect(read && figures(read.total)).toEqual(ALPHA);
    expect(read?.total.revenueNanoUsd).toBe(ALPHA.chargedNanoUsd + ALPHA.planNanoUsd);
    expect(read?.total.marginNanoUsd).toBe(ALPHA.chargedNanoUsd + ALPHA.planNanoUsd - ALPHA.costNanoUsd);
    expect(read?.isPlanPriced).toBe(true);
  });

  test('has days that add up to the whole, each with what happened on it', async () => {
    const read = await ofCustomer('alpha');
    expect(read?.days).toHaveLength(30);
    expect(read?.days[1]).toMatchObject({
      startMs: START + DAY,
      costNanoUsd: CALL_COST,
      chargedNanoUsd: 0n,
      planNanoUsd: USD,
    });
    expect(read?.days[2]).toMatchObject({ costNanoUsd: CALL_COST, chargedNanoUsd: (CALL_COST * 3n) / 2n });
    expect(read?.days[5]).toMatchObject({ costNanoUsd: 0n, chargedNanoUsd: USD / 2n, marginNanoUsd: USD + USD / 2n });
    expect(read?.days.reduce((sum, { marginNanoUsd }) => sum + marginNanoUsd, 0n)).toBe(read?.total.marginNanoUsd);
  });

  test('earns the price of each plan for the time that it had it', async () => {
    const read = await ofCustomer('beta');
    expect(read && figures(read.total)).toEqual(BETA);
    expect(read?.isPlanPriced).toBe(false);
    expect(read?.days.map(({ planNanoUsd }) => planNanoUsd)).toEqual([...Array(15).fill(USD), ...Array(15).fill(0n)]);
  });

  test('earns nothing while its subscription is canceled, nor by time that has not passed', async () => {
    const gamma = await ofCustomer('gamma');
    expect(gamma && figures(gamma.total)).toEqual(GAMMA);
    const half = await ofCustomer('alpha', WINDOW, START + 15 * DAY);
    expect(half?.total.planNanoUsd).toBe(15n * USD);
  });

  test('is read with others in the same figures; nobody is there who does not exist', async () => {
    const read = await readCustomersEarnings(
      bindings,
      tenant.organizationId,
      [...CUSTOMERS, 'nobody'],
      WINDOW,
      Date.now(),
    );
    expect([...read].map(([id, earnings]) => [id, figures(earnings)])).toEqual([
      ['alpha', ALPHA],
      ['beta', BETA],
      ['gamma', GAMMA],
    ]);
    expect(await ofCustomer('nobody')).toBeNull();
  });
});

describe('an organization', () => {
  const read = (groupsMax = 10) =>
    readOrganizationMargin(bindings, tenant.organizationId, WINDOW, {
      by: ['plan', 'feature', 'model'],
      groupsMax,
      nowMs: Date.now(),
    });

  test('is the sum of its customers', async () => {
    const { total, customers, customersWithoutPrice } = await read();
    expect(figures(total)).toEqual({
      costNanoUsd: ALPHA.costNanoUsd + BETA.costNanoUsd,
      chargedNanoUsd: ALPHA.chargedNanoUsd,
      planNanoUsd: 65n * USD,
      calls: 5,
      unpricedCalls: 1,
    });
    expect([customers, customersWithoutPrice]).toEqual([3, 1]);
  });

  test('has features and models with what they cost and charged, and a share of the plans by completed calls', async () => {
    const { features, models, truncated } = await read();
    expect(truncated).toEqual([]);
    expect(features.map((feature) => ({ key: feature.key, ...figures(feature) }))).toEqual(
      [
        {
          ...{ key: 'search', calls: 3, unpricedCalls: 1 },
          costNanoUsd: 2n * CALL_COST,
          chargedNanoUsd: USD / 2n,
          planNanoUsd: 39n * USD,
        },
        {
          ...{ key: 'chat', calls: 2, unpricedCalls: 0 },
          costNanoUsd: 2n * CALL_COST,
          chargedNanoUsd: (CALL_COST * 3n) / 2n,
          planNanoUsd: 26n * USD,
        },
      ].sort((a, b) => Number(b.costNanoUsd - a.costNanoUsd) || b.calls - a.calls),
    );
    expect(models.map(({ key, chargedNanoUsd, planNanoUsd }) => ({ key, chargedNanoUsd, planNanoUsd }))).toEqual([
      { key: 'openai/gpt-4o-2024-08-06', chargedNanoUsd: (CALL_COST * 3n) / 2n, planNanoUsd: 52n * USD },
      { key: 'no-such-model', chargedNanoUsd: 0n, planNanoUsd: 13n * USD },
    ]);
    const short = await read(1);
    expect(short.truncated).toEqual(['feature', 'model']);
    expect(short.features).toHaveLength(1);
  });

  test('has plans with what their customers used while they had them', async () => {
    const { plans } = await read();
    expect(plans?.map((plan) => ({ planId: plan.planId, customers: plan.customers, ...figures(plan) }))).toEqual([
      {
        planId: 'test',
        customers: 2,
        ...figures(await totalOf('alpha')),
        costNanoUsd: 3n * CALL_COST,
        planNanoUsd: 65n * USD,
        calls: 4,
      },
      {
        planId: 'free',
        customers: 1,
        ...{ costNanoUsd: CALL_COST, chargedNanoUsd: 0n, planNanoUsd: 0n, calls: 1, unpricedCalls: 0 },
      },
    ]);
  });

  const totalOf = async (customerId: string) => (await ofCustomer(customerId))?.total as Earnings;
});

const DATES = { from: '2031-09-01', to: '2031-10-01' };

test('a customer whom D1 does not have yet earns what its plan says, and nobody else does', async () => {
  const { organizationId, api } = await createTenant(operator, PLAN);
  vi.setSystemTime(END + HOUR);
  await api.send('provisionCustomer', { body: { customerId: 'new' } });
  await deliverToD1(organizationId, 'new');
  const read = (customerId: string) =>
    readCustomerEarnings(
      bindings,
      { organizationId, customerId: asCustomerId(customerId) },
      { fromMs: END, toMs: END + DAY },
      END + 2 * HOUR,
    );
  const known = await read('new');
  expect(known?.total.planNanoUsd).toBeGreaterThan(0n);
  // As it was before the delivery.
  await bindings.DB.prepare('DELETE FROM customers WHERE organization_id = ?').bind(organizationId).run();
  expect(await read('new')).toEqual(known);
  expect(await read('nobody')).toBeNull();
  const erased = await operator.send('eraseCustomer', { params: { org: organizationId, customerId: 'new' } });
  expect([erased.status, await read('new')]).toEqual([200, null]);
});

test('the operator API has the same figures, as numbers and exact, and refuses who is not there', async () => {
  const org = tenant.organizationId;
  const { data } = await operator.send('readOrganizationMargin', { params: { org }, query: DATES });
  expect(data).toMatchObject({ customers: 3, customersWithoutPrice: 1, truncated: [] });
  expect(data.totals).toMatchObject({
    costUSD: 10,
    chargedUSD: 4.25,
    planUSD: 65,
    revenueUSD: 69.25,
    marginUSD: 59.25,
  });
  expect(data.totals.marginUsdNano).toBe('59250000000');
  expect(data.byPlan?.map(({ planId, marginUSD }) => [planId, marginUSD])).toEqual([
    ['test', 61.75],
    ['free', -2.5],
  ]);
  const one = { params: { org, customerId: 'beta' }, query: { ...DATES, timezone: 'Europe/Berlin' } };
  const beta = (await operator.send('readCustomerMargin', one)).data;
  expect(beta).toMatchObject({ planPriceKnown: false, totals: { costUSD: 5, planUSD: 15, marginUSD: 10 } });
  expect(beta.byDay).toHaveLength(30);
  const nobody = await operator.send('readCustomerMargin', { params: { org, customerId: 'nobody' } });
  expect([nobody.status, nobody.refusal.code]).toEqual([404, 'CUSTOMER_NOT_FOUND']);
  const broken = await operator.send('readOrganizationMargin', {
    params: { org },
    query: { ...DATES, to: '2031-08-01' },
  });
  expect([broken.status, (broken.refusal.details as { path: string }[])[0]?.path]).toEqual([400, 'to']);
});

describe('the list of all customers', () => {
  type Query = Record<string, string>;
  const list = (query: Query, org = tenant.organizationId) =>
    operator.send('listCustomerMargins', { params: { org }, query: { ...DATES, ...query } });
  const ids = async (query: Query) => (await list(query)).data.items.map(({ customerId }) => customerId);

  test('has each with the figures of its own margin, the lowest first, and their exact sum', async () => {
    const { data } = await list({});
    expect(data.items.map(({ customerId, marginUSD }) => [customerId, marginUSD])).toEqual([
      ['beta', 10],
      ['gamma', 20],
      ['alpha', 29.25],
    ]);
    for (const { customerId, planPriceKnown, ...figures } of data.items) {
      const own = { params: { org: tenant.organizationId, customerId }, query: DATES };
      const { totals, ...of } = (await operator.send('readCustomerMargin', own)).data;
      expect([customerId, figures, planPriceKnown]).toEqual([customerId, totals, of.planPriceKnown]);
      expect(data.period).toEqual(of.period);
    }
    const whole = (
      await operator.send('readOrganizationMargin', {
        params: { org: tenant.organizationId },
        query: DATES,
      })
    ).data;
    expect(data).toMatchObject({ customers: 3, customersWithoutPrice: 1, nextCursor: null, totals: whole.totals });
  });

  test('sorts by each figure in both orders, and customers without one are last', async () => {
    const rising = {
      margin: ['beta', 'gamma', 'alpha'],
      marginPercent: ['beta', 'alpha', 'gamma'],
      revenue: ['beta', 'gamma', 'alpha'],
      charged: ['beta', 'gamma', 'alpha'],
      plan: ['beta', 'gamma', 'alpha'],
      cost: ['gamma', 'alpha', 'beta'],
      calls: ['gamma', 'beta', 'alpha'],
      customerId: ['alpha', 'beta', 'gamma'],
    };
    for (const [sort, expected] of Object.entries(rising))
      expect([sort, await ids({ sort, order: 'ascending' })]).toEqual([sort, expected]);
    expect(await ids({ sort: 'customerId', order: 'descending' })).toEqual(['gamma', 'beta', 'alpha']);
    // Customers with the same figure are ordered by id in both orders.
    expect(await ids({ sort: 'cost' })).toEqual(['alpha', 'beta', 'gamma']);
    expect(await ids({ sort: 'charged' })).toEqual(['alpha', 'beta', 'gamma']);
    // On the last day of the month, only alpha earns something.
    const day = { from: '2031-09-30', sort: 'marginPercent' };
    expect(await ids(day)).toEqual(['alpha', 'beta']);
    expect(await ids({ ...day, order: 'descending' })).toEqual(['alpha', 'beta']);
    const { items } = (await list(day)).data;
    expect(items.map(({ marginPercent }) => marginPercent)).toEqual([100, null]);
  });

  test('comes in pages that have every customer once, whatever the order, each with the sum of all', async () => {
    for (const sort of ['margin', 'marginPercent', 'charged', 'customerId']) {
      for (const order of ['ascending', 'descending']) {
        const whole = (await list({ sort, order })).data;
        const found: string[] = [];
        for (let cursor: string | null | undefined; cursor !== null; ) {
          const { data } = await list({ sort, order, limit: '1', ...(cursor && { cursor }) });
          expect(data).toMatchObject({ customers: 3, totals: whole.totals });
          found.push(...data.items.map(({ customerId }) => customerId));
          cursor = data.nextCursor;
        }
        expect([sort, order, found]).toEqual([sort, order, whole.items.map(({ customerId }) => customerId)]);
      }
    }
  });

  test('refuses a cursor of another order, and names the field', async () => {
    const { nextCursor } = (await list({ limit: '1' })).data;
    for (const query of [{ sort: 'cost' }, { order: 'descending' }]) {
      const { status, refusal } = await list({ ...query, cursor: nextCursor ?? '' });
      expect([status, (refusal.details as { path: string }[])[0]?.path]).toEqual([400, 'cursor']);
    }
  });

  test('is a CSV of all of them, with every digit', async () => {
    const path = `/operator/organizations/${tenant.organizationId}/margin/customers`;
    const query = new URLSearchParams({ ...DATES, sort: 'cost', limit: '1' });
    const response = await worker.fetch(`https://callmeter.test${path}?${query}`, {
      headers: { Authorization: `Bearer ${OPERATOR_TOKEN}`, Accept: 'text/csv' },
    });
    expect(response.headers.get('content-type')).toContain('text/csv');
    const [head, ...lines] = (await response.text()).trimEnd().split('\r\n');
    expect(head).toBe(
      'customerId,planPriceKnown,calls,unpricedCalls,costUSD,chargedUSD,planUSD,revenueUSD,marginUSD,marginPercent,costUsdNano,chargedUsdNano,planUsdNano,revenueUsdNano,marginUsdNano',
    );
    expect(lines).toEqual([
      'alpha,true,3,1,5,4.25,30,34.25,29.25,85.4,5000000000,4250000000,30000000000,34250000000,29250000000',
      'beta,false,2,0,5,0,15,15,10,66.6,5000000000,0,15000000000,15000000000,10000000000',
      'gamma,true,0,0,0,0,20,20,20,100,0,0,20000000000,20000000000,20000000000',
    ]);
  });

  test('sums what each customer earned as it is rounded, which is the whole to a nano-dollar of each', async () => {
    const { organizationId: org, api } = await createTenant(operator, { ...PLAN, priceUsd: '10' });
    vi.setSystemTime(START);
    for (const customerId of ['one', 'two', 'three']) {
      await api.send('provisionCustomer', { body: { customerId } });
      await deliverToD1(org, customerId);
    }
    vi.setSystemTime(END + HOUR);
    const query = { from: '2031-09-01', to: '2031-09-02' };
    const { data } = await list(query, org);
    const whole = (await operator.send('readOrganizationMargin', { params: { org }, query })).data;
    // A third of a dollar each.
    expect(data.items.map(({ planUsdNano }) => planUsdNano)).toEqual(Array(3).fill('333333333'));
    expect([data.totals.planUsdNano, whole.totals.planUsdNano]).toEqual(['999999999', '1000000000']);
  });

  test('is refused in words if there are too many customers to read each, and the whole is read all the same', async () => {
    const { organizationId: org, api } = await createTenant(operator, PLAN);
    vi.setSystemTime(END + HOUR);
    await api.send('provisionCustomer', { body: { customerId: 'one' } });
    await deliverToD1(org, 'one');
    const resize = (customers: number) =>
      bindings.DB.prepare('UPDATE organization_sizes SET customers = ? WHERE organization_id = ?')
        .bind(customers, org)
        .run();
    await resize(10_000);
    expect((await list({}, org)).status).toBe(200);
    await resize(10_001);
    const { status, refusal } = await list({}, org);
    expect([status, refusal.code, refusal.message]).toEqual([
      409,
      'CONFLICT',
      expect.stringContaining('at most 10,000 customers'),
    ]);
    const whole = await operator.send('readOrganizationMargin', { params: { org } });
    expect([whole.status, whole.data.byPlan]).toEqual([200, null]);
    const visitor = new Visitor();
    await visitor.signIn();
    const { text } = await visitor.read(`/console/organizations/${org}/margin?by=customer`);
    expect(text).toContain('Too many customers');
    expect(text).toContain('From plans');
  });
});

describe('a list of calls', () => {
  const CHARGED: Record<string, [number | null, string | null]> = {
    included: [2.5, null],
    charged: [2.5, '3750000000'],
    // Reversed: the balance has it back.
    mistake: [2.5, null],
    // On credit, and without a price nothing is charged.
    unpriced: [null, null],
    other: [2.5, null],
    after: [2.5, null],
  };
  /** The charges of custom meters. */
  const INCREMENTS = USD / 2n;

  test('has what the balance pays for each call beside its cost, as the call itself says, and as the margin sums it', async () => {
    const params = { org: tenant.organizationId };
    const { items } = (await operator.send('listOrganizationCalls', { params })).data;
    const found = Object.fromEntries(items.map((item) => [item.callId, [item.costUSD, item.chargedUsdNano]]));
    expect(found).toEqual(CHARGED);
    expect(items.find(({ callId }) => callId === 'charged')?.chargedUSD).toBe(3.75);
    const { payg } = (await tenant.api.send('readCall', { params: { callId: 'charged' } })).data;
    expect([payg.chargeNanoUsd, payg.chargedUsd]).toEqual(['3750000000', 3.75]);
    const sum = items.reduce((all, { chargedUsdNano }) => all + BigInt(chargedUsdNano ?? 0), INCREMENTS);
    const { totals } = (await operator.send('readOrganizationMargin', { params, query: DATES })).data;
    expect(totals.chargedUsdNano).toBe(sum.toString());
    const own = (await tenant.api.send('listCalls')).data;
    expect(own.items.map(({ chargedUsdNano }) => chargedUsdNano)).toEqual(items.map((item) => item.chargedUsdNano));
  });

  test('has the charges in its CSV', async () => {
    const response = await worker.fetch(
      `https://callmeter.test/operator/organizations/${tenant.organizationId}/calls`,
      {
        headers: { Authorization: `Bearer ${OPERATOR_TOKEN}`, Accept: 'text/csv' },
      },
    );
    const [head = [], ...lines] = (await response.text())
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(','));
    const cell = (line: readonly string[], title: string) => line[head.indexOf(title)];
    expect(Object.fromEntries(lines.map((line) => [cell(line, 'callId'), cell(line, 'chargedUsdNano')]))).toEqual(
      Object.fromEntries(Object.entries(CHARGED).map(([callId, [, charged]]) => [callId, charged ?? ''])),
    );
    const charged = lines.find((line) => cell(line, 'callId') === 'charged') ?? [];
    expect([cell(charged, 'costUSD'), cell(charged, 'chargedUSD')]).toEqual(['2.5', '3.75']);
  });

  test('has them in the console as a column and as a sum, in the explorer and on the customer page', async () => {
    const visitor = new Visitor();
    await visitor.signIn();
    const path = `/console/organizations/${tenant.organizationId}`;
    for (const shown of [`${path}/calls`, `${path}/customers/alpha?tab=calls`]) {
      const { html, text } = await visitor.read(shown);
      expect([shown, text]).toEqual([shown, expect.stringMatching(/Charged \$3\.75 to balances/)]);
      expect([shown, html.split('<data value="3.75"')]).toEqual([shown, expect.objectContaining({ length: 3 })]);
      expect(html).toMatch(/<th[^>]*>Charged<\/th>/);
    }
  });
});

test('the console shows revenue and margin beside the cost; a loss is said, and no price is not zero', async () => {
  const visitor = new Visitor();
  await visitor.signIn();
  const path = `/console/organizations/${tenant.organizationId}`;
  const usage = await visitor.read(`${path}?${new URLSearchParams(DATES)}`);
  expect(usage.html).toContain('<data value="59.25"');
  expect(usage.text).toContain('no plan price set for 1 customer');
  expect(usage.text).toContain('at most: 1 call without a price');
  const marginPath = `${path}/margin?${new URLSearchParams(DATES)}`;
  expect(usage.html).toContain(`href="${marginPath.replaceAll('&', '&amp;')}"`);
  const lists = {
    plan: /Pro\s+\$7\.50\s+1 call without a price\s+\$69\.25\s+\$61\.75\s+at most\s+89\.1%/,
    feature: /search\s+\$5\.00\s+1 call without a price/,
    model: /no-such-model\s+no price\s+1 call without a price/,
  };
  for (const [by, row] of Object.entries(lists)) {
    const { text } = await visitor.read(`${marginPath}&by=${by}`);
    expect(text).toContain(`Margin by ${by}`);
    expect(text).toMatch(row);
  }
  expect((await visitor.read(marginPath)).text).toMatch(/loss\s+-\$2\.50/);
  expect((await visitor.read(`${path}?days=1`)).html).toContain(`href="${path}/margin?days=1"`);
  for (const [dates, rule] of Object.entries({
    'from=yesterday': /From: must be a date/,
    'from=2031-09-02&to=2031-09-01': /To: /,
  })) {
    const broken = await visitor.send(`${path}/margin?${dates}`);
    expect([broken.status, broken.text.slice(-120)]).toEqual([400, expect.stringMatching(rule)]);
  }
  const alpha = await visitor.read(`${path}?${new URLSearchParams({ ...DATES, customerId: 'alpha' })}`);
  expect(alpha.html).toContain('<data value="29.25"');
  const narrowed = await visitor.read(`${path}?${new URLSearchParams({ ...DATES, feature: 'chat' })}`);
  expect(narrowed.text).not.toContain('Revenue');
  const free = await visitor.read(`${path}/plans/free`);
  expect(free.text).toContain('Margin of 30 days');
  expect(free.text).toContain('no price set');
  expect((await visitor.read(`${path}/plans/test`)).text).toContain('$30');
});

test('the console has each customer in a table that sorts, a chart of both ends, and a file', async () => {
  const visitor = new Visitor();
  await visitor.signIn();
  const path = `/console/organizations/${tenant.organizationId}`;
  const days = { from: '2031-09-16', to: '2031-10-01' };
  const query = new URLSearchParams({ ...days, by: 'customer' });
  const { html, text } = await visitor.read(`${path}/margin?${query}`);
  // In the second half of the month, beta has no price, and costs a call.
  const rows = ['beta', 'gamma', 'alpha'];
  const places = rows.map((customerId) => html.indexOf(`>${customerId}</a> <a`));
  expect(places.every((place, index) => place > (places[index - 1] ?? 0))).toBe(true);
  expect(text).toMatch(/beta → \$2\.50 \$0\.00 \$0\.00 no price set \$0\.00 loss -\$2\.50 –/);
  expect(text).toMatch(/alpha → \$0\.00 \$0\.00 \$15\.00 \$15\.00 \$15\.00 100\.0%/);
  expect(text).toContain('no plan price set for 1 customer');
  // The sum of all: plans of 20 dollars less a call.
  expect(html).toContain('<data value="17.5"');
  const own = `${path}?${new URLSearchParams({ ...days, customerId: 'beta' })}`.replaceAll('&', '&amp;');
  // In the table, in the chart, and in the figures below it.
  expect(html.split(`href="${own}"`)).toHaveLength(4);
  expect(text).toContain('3 customers, the lowest margin first.');
  expect(html).toContain('aria-label="beta loss -$2.50"');
  const descending = new URLSearchParams({ ...days, by: 'customer', sort: 'margin', order: 'descending' });
  expect(html).toContain(`href="${path}/margin?${descending}"`.replaceAll('&', '&amp;'));
  const turned = await visitor.read(`${path}/margin?${descending}`);
  expect(turned.html.indexOf('>alpha</a> <a')).toBeLessThan(turned.html.indexOf('>beta</a> <a'));
  expect(turned.html).toMatch(/aria-sort="descending"[^>]*><a[^>]*>Margin</);
  const file = await visitor.send(`${path}/margin?${query}&format=csv`);
  expect(file.html.split('\r\n').map((line) => line.split(',')[0])).toEqual(['customerId', ...rows, '']);
  const broken = await visitor.send(`${path}/margin?${query}&sort=size`);
  expect([broken.status, broken.text]).toEqual([400, expect.stringContaining('Sort: ')]);
  const lost = await visitor.send(`${path}/margin?${query}&cursor=YWJj`);
  expect([lost.status, lost.text]).toEqual([400, expect.stringContaining('Cursor: ')]);
});

test('a customer has the same margin of 30 days on every page of the console, to the last digit', async () => {
  vi.setSystemTime(END + HOUR);
  const visitor = new Visitor();
  await visitor.signIn();
  const path = `/console/organizations/${tenant.organizationId}`;
  const { total } = (await ofCustomer('alpha', { fromMs: END - 29 * DAY, toMs: END + DAY })) ?? {};
  // 29 days of September, an hour of October, and the charges, less the cost.
  const margin = formatUsd(total?.marginNanoUsd ?? 0n);
  expect(margin).toMatch(/^28\.29\d{7}$/);
  for (const shown of [
    `${path}/margin?by=customer`,
    `${path}/customers`,
    `${path}/customers/alpha?period=30d`,
    `${path}?customerId=alpha&days=30`,
  ])
    expect([shown, (await visitor.read(shown)).html]).toEqual([
      shown,
      expect.stringContaining(`<data value="${margin}"`),
    ]);
});

test('a price alone makes the next version of a plan, through the form, and null is no price', async () => {
  const visitor = new Visitor();
  await visitor.signIn();
  const org = tenant.organizationId;
  const path = `/console/organizations/${org}/plans/free`;
  const saved = await visitor.submit(`${path}/edit`, path, { priceUsd: '$4.50' });
  expect(saved.status).toBe(303);
  const params = { org, planId: 'free' };
  expect((await operator.send('readPlan', { params })).data).toMatchObject({ version: 2, plan: { priceUsd: '4.50' } });
  expect((await visitor.submit(`${path}/edit`, path, { priceUsd: 'much' })).text).toContain(
    'must be a decimal number of USD',
  );
  const body = { name: 'Free', limitType: 'NONE', priceUsd: null };
  expect((await operator.send('putPlan', { params, body })).data.version).toBe(3);
  const { plan } = (await operator.send('readPlan', { params })).data;
  expect('priceUsd' in plan).toBe(false);
  expect((await operator.send('putPlan', { params, body: { name: 'Free', limitType: 'NONE' } })).data.version).toBe(3);
});
