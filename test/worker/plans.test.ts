/**
 * Plan changes, replenishment and lists over HTTP.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { deliverToD1, operator } from '../support/worker.ts';

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, {
    name: 'Free',
    limitType: 'BLOCK',
    limits: { standardCalls: 5, searches: 2 },
  });
  const params = { org: tenant.organizationId, planId: 'pro' };
  await operator.send('putPlan', {
    params,
    body: { name: 'Pro', limitType: 'DOWNGRADE', limits: { standardCalls: 20 } },
  });
});

let serial = 0;
async function use(customerId: string, calls: number): Promise<void> {
  for (let n = 0; n < calls; n += 1) {
    serial += 1;
    const callId = `plans-${serial}`;
    await tenant.api.send('beginCall', { body: { customerId }, headers: { 'Idempotency-Key': callId } });
    await tenant.api.send('endCall', { body: { callId } });
  }
}
const change = (customerId: string, body: object, headers = {}) =>
  tenant.api.send('changePlan', { params: { customerId }, body, headers });
const usage = async (customerId: string) => (await tenant.api.send('readUsage', { params: { customerId } })).data;

const preview = (customerId: string, query: Record<string, string>) =>
  operator.send('previewPlanChange', { params: { org: tenant.organizationId, customerId }, query });

describe('a preview of a plan change', () => {
  test.each(['IMMEDIATE_RESET', 'IMMEDIATE_PRORATED'])('by %s has what the change then leaves', async (strategy) => {
    const customerId = `previewed-${strategy}`;
    await use(customerId, 3);
    const was = await usage(customerId);
    const { before, after, ...shown } = (await preview(customerId, { planId: 'pro', strategy })).data;
    const expected = { isChange: true, usagePlanVersionId: 'pro:v1', appliesAt: null, dropsScheduled: false };
    expect(shown).toEqual({ ...expected, canceled: false });
    expect([before.usagePlanVersionId, before.meters]).toEqual(['test:v1', was.meters]);
    expect(await usage(customerId)).toEqual(was);
    await change(customerId, { planId: 'pro', strategy });
    const { subscription, meters } = await usage(customerId);
    expect([after.usagePlanVersionId, after.meters]).toEqual([subscription.usagePlanVersionId, meters]);
    expect((await preview(customerId, { planId: 'pro', strategy: 'IMMEDIATE_PRORATED' })).data.isChange).toBe(false);
  });

  test('at the next renewal says when it applies, and what is left then; a later one says that it drops it', async () => {
    const strategy = 'AT_NEXT_REPLENISH';
    await use('previewed-later', 3);
    const { appliesAt, after } = (await preview('previewed-later', { planId: 'pro', strategy })).data;
    expect(after.meters.standardCalls).toMatchObject({ used: 0, limit: 20 });
    const { pending } = (await change('previewed-later', { planId: 'pro', strategy })).data.subscription;
    expect(pending).toMatchObject({ usagePlanVersionId: after.usagePlanVersionId, effectiveAt: appliesAt });
    expect((await preview('previewed-later', { planId: 'test', strategy })).data.dropsScheduled).toBe(true);
  });

  test('is refused for what is unknown', async () => {
    await use('previewed-refused', 1);
    const refusals = [
      await preview('previewed-refused', { planId: 'nowhere' }),
      await preview('previewed-nobody', { planId: 'pro' }),
      await preview('previewed-refused', { planId: 'pro', strategy: 'SOON' }),
    ];
    expect(refusals.map(({ refusal }) => refusal.code)).toEqual([
      'PLAN_NOT_FOUND',
      'CUSTOMER_NOT_FOUND',
      'BAD_REQUEST',
    ]);
  });
});

describe('a plan change', () => {
  test('by default switches at once, with full allowances and a new cycle', async () => {
    await use('reset', 3);
    const before = await usage('reset');
    const { success, subscription } = (await change('reset', { planId: 'pro' })).data;
    expect([success, subscription.usagePlanVersionId, subscription.subscriptionVersion]).toEqual([true, 'pro:v1', 2]);
    expect(Date.parse(subscription.lastReplenishedAt)).toBeGreaterThan(
      Date.parse(before.subscription.lastReplenishedAt),
    );
    expect((await usage('reset')).meters).toMatchObject({
      standardCalls: { used: 0, limit: 20 },
      searches: { unlimited: true },
    });
  });

  test('prorated keeps usage and renewal date, and what is left is never negative', async () => {
    await use('prorated', 3);
    const { nextReplenishAt } = (await usage('prorated')).subscription;
    expect(
      (await change('prorated', { planId: 'pro', strategy: 'IMMEDIATE_PRORATED' })).data.subscription.nextReplenishAt,
    ).toBe(nextReplenishAt);
    expect((await usage('prorated')).meters.standardCalls).toMatchObject({ used: 3, remaining: 17 });
    await use('prorated', 4);
    await change('prorated', { planId: 'test', strategy: 'IMMEDIATE_PRORATED' });
    expect((await usage('prorated')).meters.standardCalls).toMatchObject({ used: 7, limit: 5, remaining: 0 });
  });

  test('at the next replenishment is pending, and the later change wins', async () => {
    await use('later', 1);
    const { subscription } = (await change('later', { planId: 'pro', strategy: 'AT_NEXT_REPLENISH' })).data;
    expect(subscription).toMatchObject({
      usagePlanVersionId: 'test:v1',
      pending: {
        usagePlanVersionId: 'pro:v1',
        strategy: 'AT_NEXT_REPLENISH',
        effectiveAt: subscription.nextReplenishAt,
      },
    });
    expect(
      (await change('later', { planId: 'test', strategy: 'AT_NEXT_REPLENISH' })).data.subscription.pending,
    ).toBeUndefined();
    await change('later', { planId: 'pro', strategy: 'AT_NEXT_REPLENISH' });
    const replenished = (await tenant.api.send('replenishCustomer', { params: { customerId: 'later' } })).data
      .subscription;
    expect(replenished).toMatchObject({ usagePlanVersionId: 'pro:v1' });
    expect(replenished.pending).toBeUndefined();
    expect((await usage('later')).meters.standardCalls?.used).toBe(0);
  });

  test.each(['IMMEDIATE_PRORATED', 'AT_NEXT_REPLENISH'])(
    'to the current plan by %s changes nothing',
    async (strategy) => {
      const customerId = `same-${strategy}`;
      await use(customerId, 2);
      const before = await usage(customerId);
      expect((await change(customerId, { planId: 'test', strategy })).data.subscription).toEqual(before.subscription);
      expect((await usage(customerId)).meters).toEqual(before.meters);
    },
  );

  test('as a reset to the current plan grants full allowances, starts a cycle and leaves credit, once under a key', async () => {
    const params = { org: tenant.organizationId, customerId: 'again' };
    const balances = async () => {
      const { credits, wallet } = (await operator.send('readCustomer', { params })).data;
      return { credits, wallet };
    };
    await use('again', 5);
    await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '25' } });
    await change('again', { planId: 'pro', strategy: 'AT_NEXT_REPLENISH' });
    const [before, credit] = [(await usage('again')).subscription, await balances()];
    const headers = { 'Idempotency-Key': 'reset-again' };
    const { subscription } = (await change('again', { planId: 'test' }, headers)).data;
    expect(subscription).toMatchObject({
      usagePlanVersionId: 'test:v1',
      subscriptionVersion: before.subscriptionVersion + 1,
    });
    expect(subscription.pending).toBeUndefined();
    for (const date of ['lastReplenishedAt', 'nextReplenishAt'] as const)
      expect(Date.parse(subscription[date])).toBeGreaterThan(Date.parse(before[date]));
    expect((await usage('again')).meters.standardCalls).toMatchObject({ used: 0, remaining: 5 });
    expect(await balances()).toEqual(credit);

    await use('again', 1);
    expect((await change('again', { planId: 'test' }, headers)).data.subscription).toEqual(subscription);
    expect((await usage('again')).meters.standardCalls?.used).toBe(1);
  });

  test('carries over open calls', async () => {
    await tenant.api.send('beginCall', { body: { customerId: 'open' }, headers: { 'Idempotency-Key': 'open-1' } });
    await change('open', { planId: 'pro' });
    expect((await usage('open')).meters.standardCalls).toMatchObject({ used: 1, limit: 20 });
    await tenant.api.send('endCall', { body: { callId: 'open-1' } });
    expect((await usage('open')).meters.standardCalls).toMatchObject({ used: 1 });
  });

  test('with a key replays, and refuses another payload', async () => {
    await use('keyed', 1);
    const headers = { 'Idempotency-Key': 'change-1' };
    const first = await change('keyed', { planId: 'pro' }, headers);
    await use('keyed', 2);
    const again = await change('keyed', { planId: 'pro' }, headers);
    expect(again.body.data).toEqual(first.body.data);
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    expect((await usage('keyed')).meters.standardCalls?.used).toBe(2);
    expect((await change('keyed', { planId: 'test' }, headers)).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    const once = { params: { customerId: 'keyed' }, headers: { 'Idempotency-Key': 'replenish-1' } };
    await tenant.api.send('replenishCustomer', once);
    await use('keyed', 1);
    await tenant.api.send('replenishCustomer', once);
    expect((await usage('keyed')).meters.standardCalls?.used).toBe(1);
  });

  test('is refused for an unknown plan, an unknown customer or a canceled one', async () => {
    await use('gone', 1);
    expect((await change('gone', { planId: 'platinum' })).refusal.code).toBe('PLAN_NOT_FOUND');
    expect((await change('gone', {})).refusal.message).toContain('planId');
    expect((await change('gone', { planId: 'pro', strategy: 'SOMEDAY' })).refusal.message).toContain('strategy');
    expect((await change('nobody', { planId: 'pro' })).refusal.code).toBe('SUBSCRIPTION_NOT_FOUND');
    await operator.send('cancelCustomer', { params: { org: tenant.organizationId, customerId: 'gone' } });
    expect((await change('gone', { planId: 'pro' })).refusal.code).toBe('SUBSCRIPTION_NOT_FOUND');
    expect((await tenant.api.send('replenishCustomer', { params: { customerId: 'gone' } })).refusal.code).toBe(
      'SUBSCRIPTION_NOT_FOUND',
    );
  });

  test('needs more than a provisioning key', async () => {
    const params = { org: tenant.organizationId };
    const { key } = (await operator.send('createKey', { params, body: { name: 'ck', prefix: 'ck-' } })).data;
    const sent = { params: { customerId: 'reset' }, body: { planId: 'pro' } };
    expect((await tenant.api.with(key).send('changePlan', sent)).refusal.requiredScope).toBe('customers:write');
  });
});

test('a customer who was never seen has no subscription, whatever is asked of it', async () => {
  const sent = { params: { customerId: 'nobody' } };
  const replies = [
    await tenant.api.send('readUsage', sent),
    await tenant.api.send('readUsageContext', sent),
    await tenant.api.send('readForecast', { ...sent, query: { metric: 'calls' } }),
    await tenant.api.send('changePlan', { ...sent, body: { planId: 'pro' } }),
    await tenant.api.send('replenishCustomer', sent),
  ];
  expect(replies.map(({ status, refusal }) => [status, refusal.code])).toEqual(
    replies.map(() => [404, 'SUBSCRIPTION_NOT_FOUND']),
  );
});

describe('lists', () => {
  test('customers by page, any part of id or name, and plan', async () => {
    const other = await createTenant(operator);
    const names = ['ann', 'anna', 'bob', '100%', 'Zoe'];
    for (const customerId of names) {
      await other.api.send('provisionCustomer', { body: { customerId, customerName: `Name of ${customerId}` } });
      await deliverToD1(other.organizationId, customerId);
    }
    const list = async (query: Record<string, string>) => (await other.api.send('listCustomers', { query })).data;
    const ids = async (query: Record<string, string>) => (await list(query)).items.map(({ customerId }) => customerId);
    expect(await ids({})).toEqual(names.toSorted());
    const first = await list({ limit: '2' });
    const second = await list({ limit: '2', cursor: first.nextCursor ?? '' });
    expect([...first.items, ...second.items].map(({ customerId }) => customerId)).toEqual(names.toSorted().slice(0, 4));
    expect(await ids({ search: 'ann' })).toEqual(['ann', 'anna']);
    expect(await ids({ search: 'name of B' })).toEqual(['bob']);
    expect(await ids({ search: '100%' })).toEqual(['100%']);
    expect(await ids({ search: '%' })).toEqual(['100%']);
    expect(await ids({ search: '_' })).toEqual([]);
    expect(await ids({ planId: 'test', search: 'z' })).toEqual(['Zoe']);
    expect(await ids({ planId: 'other' })).toEqual([]);
    expect((await first.items)[0]).toMatchObject({
      customerId: '100%',
      customerFriendlyName: 'Name of 100%',
      planId: 'test',
      canceled: false,
    });
  });

  test('usage plans in their newest version', async () => {
    const { items } = (await tenant.api.send('listUsagePlans')).data;
    expect(items).toEqual([
      {
        planId: 'pro',
        usagePlanVersionId: 'pro:v1',
        version: '1',
        name: 'Pro',
        limitType: 'DOWNGRADE',
        reasoningLevel: 'HIGH',
        isDefault: false,
      },
      {
        planId: 'test',
        usagePlanVersionId: 'test:v1',
        version: '1',
        name: 'Free',
        limitType: 'BLOCK',
        reasoningLevel: 'HIGH',
        isDefault: true,
      },
    ]);
  });
});

test('versions of a plan that are saved concurrently get consecutive numbers', async () => {
  const params = { org: tenant.organizationId, planId: 'contended' };
  const save = (standardCalls: number) =>
    operator.send('putPlan', { params, body: { name: 'Contended', limitType: 'BLOCK', limits: { standardCalls } } });
  const saved = await Promise.all([1, 2, 3, 4].map(save));
  expect(saved.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const { versions } = (await operator.send('readPlan', { params })).data;
  expect(versions.map(({ version }: { version: number }) => version)).toEqual([4, 3, 2, 1]);
});

describe('an archived plan', () => {
  const set = (id: 'archivePlan' | 'restorePlan', planId: string) =>
    operator.send(id, { params: { org: tenant.organizationId, planId } });
  const offered = async () => (await tenant.api.send('listUsagePlans')).data.items.map(({ planId }) => planId);

  test('takes no new subscription until it is restored; those who have it, or wait for it, keep it', async () => {
    const params = { org: tenant.organizationId, planId: 'seasonal' };
    const body = { name: 'Seasonal', limitType: 'BLOCK' as const, limits: { standardCalls: 30 } };
    await operator.send('putPlan', { params, body });
    await use('has-it', 1);
    await use('waits-for-it', 1);
    await use('wants-it', 1);
    await change('has-it', { planId: 'seasonal' });
    await change('waits-for-it', { planId: 'seasonal', strategy: 'AT_NEXT_REPLENISH' });
    expect(await offered()).toContain('seasonal');

    const archived = await set('archivePlan', 'seasonal');
    expect(archived.data.archivedAt).toEqual(expect.any(String));
    expect((await set('archivePlan', 'seasonal')).data.archivedAt).toBe(archived.data.archivedAt);
    expect((await operator.send('readPlan', { params })).data.archivedAt).toBe(archived.data.archivedAt);
    expect(await offered()).not.toContain('seasonal');
    expect((await change('wants-it', { planId: 'seasonal' })).status).toBe(409);
    expect((await preview('wants-it', { planId: 'seasonal' })).status).toBe(409);
    const update = { params: { org: tenant.organizationId }, body: { defaultPlanId: 'seasonal' } };
    expect((await operator.send('updateOrganization', update)).status).toBe(409);

    await use('has-it', 1);
    expect((await usage('has-it')).meters.standardCalls?.used).toBe(1);
    const replenished = await tenant.api.send('replenishCustomer', {
      params: { customerId: 'waits-for-it' },
      body: {},
    });
    expect(replenished.data.subscription.usagePlanVersionId).toBe('seasonal:v1');

    expect((await set('restorePlan', 'seasonal')).data.archivedAt).toBeNull();
    expect(await offered()).toContain('seasonal');
    expect((await change('wants-it', { planId: 'seasonal' })).status).toBe(200);
    const { items } = (await operator.send('listEvents', { query: { organizationId: tenant.organizationId } })).data;
    const told = items.map(({ action }) => action).filter((action) => /^plan\.(archive|restore)$/.test(action));
    expect(told).toEqual(['plan.restore', 'plan.archive']);
  });

  test('may be asked for by who has it, and by who repeats a request from before', async () => {
    const params = { org: tenant.organizationId, planId: 'retired' };
    await operator.send('putPlan', { params, body: { name: 'Retired', limitType: 'BLOCK' } });
    await use('stays', 1);
    await use('repeats', 1);
    await change('stays', { planId: 'retired' });
    await change('stays', { planId: 'pro', strategy: 'AT_NEXT_REPLENISH' });
    const request = { planId: 'retired', idempotencyKey: 'asked-before-it-was-archived' };
    const first = await change('repeats', request);
    await set('archivePlan', 'retired');
    expect((await change('stays', { planId: 'retired' })).data.subscription.pending).toBeUndefined();
    const again = await change('repeats', request);
    expect([again.status, again.headers.get('Idempotency-Replayed')]).toEqual([200, 'true']);
    expect(again.data).toEqual(first.data);
  });

  test('is never the default plan, whichever of two requests of the same moment comes first', async () => {
    for (let n = 0; n < 12; n += 1) {
      const params = { org: tenant.organizationId, planId: `contested-${n}` };
      await operator.send('putPlan', { params, body: { name: 'Contested', limitType: 'BLOCK' } });
      const body = { defaultPlanId: params.planId };
      const answers = await Promise.all([
        operator.send('archivePlan', { params }),
        operator.send('updateOrganization', { params, body }),
      ]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      const [plan, organization] = await Promise.all([
        operator.send('readPlan', { params }),
        operator.send('readOrganization', { params }),
      ]);
      expect(plan.data.archivedAt !== null).toBe(organization.data.defaultPlanId !== params.planId);
    }
  });

  test('is not the default plan, which is refused; nor is one that does not exist', async () => {
    const { defaultPlanId } = (await operator.send('readOrganization', { params: { org: tenant.organizationId } }))
      .data;
    expect((await set('archivePlan', defaultPlanId ?? '')).status).toBe(409);
    expect((await set('archivePlan', 'nowhere')).status).toBe(404);
  });
});
