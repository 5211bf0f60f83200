/**
 * Credit that cannot pay says so: in the answer to its grant, in the customer's readings, in the console and in the
 * widget, as long as it exists. A plan whose funding contradicts itself is refused; older versions go on.
 */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { fundedCustomer, widgetText } from '../support/customer.ts';
import { operator, storeOlderPlan } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const OVERAGE = { model: 'SINGLE', priceUsd: '0.01' };
const PAYG = { enabled: true, markupPercent: 10 };
const PLANS = {
  flat: { name: 'Flat', limitType: 'BLOCK', limits: { premiumCalls: 5 }, customMeters: { CUSTOM1: { included: 5 } } },
  payg: {
    name: 'Payg',
    limitType: 'BLOCK',
    limits: { premiumCalls: 5 },
    payg: PAYG,
    customMeters: { CUSTOM1: { label: 'Pages', funding: { credits: true, payg: true }, overage: OVERAGE } },
  },
  open: { name: 'Open', limitType: 'NONE', payg: PAYG },
  unlimited: {
    name: 'Unlimited',
    limitType: 'BLOCK',
    customMeters: { CUSTOM1: { unlimited: true, funding: { credits: true } } },
  },
} as const;

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, PLANS.flat);
  for (const [planId, body] of Object.entries(PLANS))
    await operator.send('putPlan', { params: { org: tenant.organizationId, planId }, body });
});

async function customerOn(planId: keyof typeof PLANS) {
  const customerId = crypto.randomUUID();
  const funded = await fundedCustomer(tenant, customerId);
  const change = (to: keyof typeof PLANS, strategy = 'IMMEDIATE_PRORATED') =>
    tenant.api.send('changePlan', { params: { customerId }, body: { planId: to, strategy } });
  await change(planId);
  return { ...funded, customerId, change };
}

const USD = { kind: 'USD', amountUsd: '5' };
const UNITS = { kind: 'METER', meterSlot: 'CUSTOM1', units: 300 };

describe('a grant', () => {
  test.each([
    ['flat', USD, '$5.00 of credit pays for nothing: the plan Flat (flat:v1) has no pay-as-you-go (payg.enabled).'],
    [
      'open',
      USD,
      '$5.00 of credit pays for nothing: in the plan Open (open:v1) no tier has a limit of calls or tokens',
    ],
    ['flat', UNITS, '300 purchased units of CUSTOM1 pay for nothing: customMeters.CUSTOM1.funding.credits is off in'],
    [
      'open',
      UNITS,
      '300 purchased units of CUSTOM1 pay for nothing: the plan Open (open:v1) has no customMeters.CUSTOM1',
    ],
    [
      'unlimited',
      UNITS,
      '300 purchased units of CUSTOM1 pay for nothing: customMeters.CUSTOM1 is unlimited in the plan',
    ],
  ] as const)('to a customer of the plan %s warns of %o', async (planId, body, warning) => {
    const { grant, inspect } = await customerOn(planId);
    const { warnings = [] } = (await grant(body)).data;
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(warning);
    expect(warnings[0]).toMatch(/Change the customer to a plan .*, or change this plan and migrate its customers\.$/);
    const stored = await inspect();
    expect(stored.credits).toHaveLength(1);
    expect(stored.warnings).toEqual(warnings);
  });

  test('that pays has no warning, and neither has one that a scheduled plan lets pay before it expires', async () => {
    const { grant, change } = await customerOn('payg');
    expect((await grant(USD)).data).not.toHaveProperty('warnings');
    expect((await grant(UNITS)).data).not.toHaveProperty('warnings');
    const waiting = await customerOn('flat');
    await waiting.change('payg', 'AT_NEXT_REPLENISH');
    expect((await waiting.grant(USD)).data).not.toHaveProperty('warnings');
    const brief = { ...UNITS, expiresAt: new Date(Date.now() + 60_000).toISOString() };
    expect((await waiting.grant(brief)).data.warnings?.[0]).toContain('funding.credits is off in the plan Flat');
    // A plan without it is scheduled.
    const { warnings = [] } = (await change('flat', 'AT_NEXT_REPLENISH')).data;
    expect(warnings.map((text) => text.replace(/\d{4}-\S+Z/, 'DATE'))).toEqual([
      expect.stringMatching(/^From DATE on, \$5\.00 of credit pays for nothing: the plan Flat \(flat:v1\) has no pay/),
      expect.stringMatching(/^From DATE on, 300 purchased units of CUSTOM1 pay for nothing: /),
    ]);
  });

  test('that repays an overdraft alone, or that a retry sends again, says what the first said', async () => {
    const { customerId, grant, change, wallet } = await customerOn('payg');
    await grant({ kind: 'USD', amountUsd: '0.01' });
    await tenant.api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount: 500 } });
    await vi.waitFor(async () => expect((await wallet()).openCharges).toBe(0), { timeout: 30_000, interval: 200 });
    expect((await change('flat')).data).not.toHaveProperty('warnings');
    expect((await grant({ kind: 'USD', amountUsd: '2' })).data).not.toHaveProperty('warnings');
    const headers = { 'Idempotency-Key': `grant-${customerId}` };
    const first = (await grant(USD, headers)).data;
    expect(first.warnings?.[0]).toContain('$2.01 of credit pays for nothing');
    expect((await grant(USD, headers)).data).toEqual(first);
  });

  test('to a canceled customer says that the subscription is', async () => {
    const { params, grant } = await customerOn('payg');
    await operator.send('cancelCustomer', { params });
    expect((await grant(USD)).data.warnings).toEqual([
      '$5.00 of credit pays for nothing while the subscription is canceled: reactivate it if the customer is to use it.',
    ]);
  });
});

test('is said by every reading of the customer until the credit can pay or is gone', async () => {
  const { customerId, params, grant, change } = await customerOn('flat');
  const { creditId, warnings } = (await grant(USD)).data;
  const context = async () =>
    (await tenant.api.send('readUsageContext', { params: { customerId }, query: { includeForecast: 'false' } })).data
      .funding.warnings;
  expect((await tenant.api.send('readUsage', { params: { customerId } })).data.warnings).toEqual(warnings);
  expect(await context()).toEqual(warnings);
  expect((await change('payg')).data).not.toHaveProperty('warnings');
  expect(await context()).toBeUndefined();
  expect((await change('flat')).data.warnings).toEqual(warnings);
  const revoked = { params: { ...params, creditId }, body: { reason: 'a mistake' } };
  expect((await operator.send('revokeCredit', revoked)).status).toBe(200);
  expect(await context()).toBeUndefined();
});

test('is said by the console after the grant, in the wallet, and before a change of the plan', async () => {
  const visitor = new Visitor();
  await visitor.signIn();
  const { params, customerId, change } = await customerOn('flat');
  const path = `/console/organizations/${params.org}/customers/${customerId}`;
  const granted = await visitor.submit(`${path}/credit`, `${path}/credit`, { kind: 'USD', amountUsd: '5' });
  expect(granted.status).toBe(303);
  const wallet = await visitor.read(new URL(granted.headers.get('Location') ?? '', 'https://x').href.slice(9));
  expect(wallet.text).toContain('The credit is granted.');
  expect(wallet.text).toContain(
    'Credit that cannot pay. $5.00 of credit pays for nothing: the plan Flat (flat:v1) has no',
  );
  await change('payg');
  expect((await visitor.read(`${path}?tab=wallet`)).text).not.toContain('cannot pay');
  const preview = await visitor.read(`${path}/plan?planId=flat&strategy=IMMEDIATE_PRORATED`);
  expect(preview.text).toContain('Credit that cannot pay. $5.00 of credit pays for nothing');
});

test('is said by the widget in plain words', async () => {
  const { customerId, grant, change } = await customerOn('flat');
  const shown = () => widgetText(tenant, customerId);
  expect(await shown()).not.toContain('cannot be used');
  await grant(USD);
  await grant(UNITS);
  const text = await shown();
  expect(text).toContain('You have $5.00 of credit. This credit cannot be used on your plan.');
  expect(text).toContain('You have 300 bought units of CUSTOM1. They cannot be used on your plan.');
  expect(text).not.toMatch(/payg|migrate|Flat \(/);
  await change('open');
  expect(await shown()).toContain('You have 300 bought units. They cannot be used on your plan.');
  await change('payg');
  expect(await shown()).not.toContain('cannot be used');
});

describe('a plan', () => {
  const put = (body: object, planId = 'tried') =>
    operator.send('putPlan', { params: { org: tenant.organizationId, planId }, body });
  const base = { name: 'Tried', limitType: 'BLOCK', limits: { premiumCalls: 5 } };

  test.each([
    [
      'customMeters.CUSTOM2.funding.payg: needs payg.enabled',
      { customMeters: { CUSTOM2: { funding: { payg: true }, overage: OVERAGE } } },
    ],
    [
      'customMeters.AGENTIC_API.overage: is required if funding.payg is true',
      { payg: PAYG, customMeters: { AGENTIC_API: { funding: { payg: true, credits: true } } } },
    ],
    [
      'customMeters.CUSTOM1.overage: is required if funding.payg is true',
      { customMeters: { CUSTOM1: { enabled: false, unlimited: true, funding: { payg: true } } } },
    ],
  ])('is refused for %s', async (rule, change) => {
    const refused = await put({ ...base, ...change });
    expect(refused.status).toBe(400);
    const details = refused.refusal.details as { path: string; message: string }[];
    expect(details.map(({ path, message }) => `${path}: ${message}`)).toContainEqual(expect.stringContaining(rule));
  });

  test.each([
    ['payg.enabled has no effect', { limits: {}, payg: PAYG }],
    ['payg.markupPercent is added to nothing', { payg: { markupPercent: 5 } }],
    [
      'customMeters.CUSTOM1.overage is charged to nobody',
      { payg: PAYG, customMeters: { CUSTOM1: { overage: OVERAGE } } },
    ],
    [
      'customMeters.CUSTOM1.funding has no effect',
      { customMeters: { CUSTOM1: { unlimited: true, funding: { credits: true } } } },
    ],
  ])('is saved with the warning that %s, the second time too', async (warning, change) => {
    const saved = (await put({ ...base, ...change })).data;
    expect(saved.warnings).toEqual([expect.stringContaining(warning)]);
    expect((await put({ ...base, ...change })).data).toEqual(saved);
    const visitor = new Visitor();
    await visitor.signIn();
    const page = await visitor.read(`/console/organizations/${tenant.organizationId}/plans/tried`);
    expect(page.text).toContain(`Funding that has no effect. ${warning}`);
  });

  test('that can pay is saved without a warning', async () => {
    expect((await put(PLANS.payg)).data).not.toHaveProperty('warnings');
    expect((await put(PLANS.flat)).data).not.toHaveProperty('warnings');
  });

  test('from before the rule goes on: it is read, shown, used, migrated and edited', async () => {
    const older = await createTenant(operator, {
      ...PLANS.payg,
      payg: { enabled: true },
      customMeters: { CUSTOM1: { included: 2, funding: { payg: true }, overage: OVERAGE } },
    });
    await storeOlderPlan(older, { payg: { enabled: false }, customMeters: { CUSTOM1: { overage: null } } });
    const params = { org: older.organizationId, planId: 'test' };
    const { plan } = (await operator.send('readPlan', { params })).data;
    expect(plan.customMeters.CUSTOM1).toMatchObject({ funding: { payg: true } });
    expect(plan.customMeters.CUSTOM1).not.toHaveProperty('overage');
    const funded = await fundedCustomer(older, 'c', { usd: '5' });
    const increment = { body: { customerId: 'c', meterSlot: 'CUSTOM1', amount: 3 } };
    expect((await older.api.send('incrementMeter', increment)).data.blocked).toBe(true);
    const visitor = new Visitor();
    await visitor.signIn();
    const path = `/console/organizations/${older.organizationId}/plans`;
    expect((await visitor.read(`${path}/test`)).text).toContain('customMeters.CUSTOM1.funding.payg needs payg.enabled');
    // The form shows each rule at its field.
    const again = await visitor.submit(`${path}/test/edit`, `${path}/test`, {});
    expect(again.status).toBe(400);
    expect(again.html).toContain('id="f-customMeters-CUSTOM1-overage"');
    expect(again.html).toContain('id="f-customMeters-CUSTOM1-funding-payg-error"');
    const body = { ...plan, payg: { enabled: true }, customMeters: { CUSTOM1: { included: 2 } } };
    expect((await operator.send('putPlan', { params, body })).data.version).toBe(2);
    const { jobId } = (await operator.send('migratePlan', { params, body: { when: 'NOW' } })).data;
    await vi.waitFor(
      async () => {
        const job = { params: { org: older.organizationId, jobId } };
        expect((await operator.send('readMigration', job)).data).toMatchObject({ status: 'COMPLETED', failures: 0 });
      },
      { timeout: 30_000, interval: 200 },
    );
    expect((await funded.inspect()).subscription.usagePlanVersionId).toBe('test:v2');
  });
});
