/**
 * The migration of a plan's customers to its newest version: the customers that it moves, those that it leaves, and
 * that it always finishes.
 */

import { evictDurableObject, runDurableObjectAlarm } from 'cloudflare:test';
import { describe, expect, test, vi } from 'vitest';
import type { PlanMigration } from '../../src/contract/operator-customers.ts';
import { asCustomerId } from '../../src/domain/ids.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, customerStub, deliverToD1, operator } from '../support/worker.ts';

/** A walk is repeated after three seconds. */
const ROUNDS_MAX = 200;
const ROUND_MS = 100;
/** More than one batch of the job. */
const CUSTOMERS = 210;

const FIRST = { name: 'First', limitType: 'BLOCK', limits: { standardCalls: 5 } };
const SECOND = { name: 'Second', limitType: 'BLOCK', limits: { standardCalls: 20 } };
const THIRD = { name: 'Third', limitType: 'BLOCK', limits: { standardCalls: 30 } };
const OTHER = { name: 'Other', limitType: 'DOWNGRADE' };

async function newTenant(): Promise<Tenant> {
  const tenant = await createTenant(operator, FIRST);
  await put(tenant, 'other', OTHER);
  return tenant;
}

async function put({ organizationId }: Tenant, planId: string, body: object): Promise<void> {
  expect((await operator.send('putPlan', { params: { org: organizationId, planId }, body })).status).toBe(200);
}

/** Provisions the customers on the default plan; lists and migrations know them then. */
async function provision(tenant: Tenant, ...customerIds: string[]): Promise<void> {
  for (const customerId of customerIds) await tenant.api.send('provisionCustomer', { body: { customerId } });
  await project(tenant, ...customerIds);
}

async function project({ organizationId }: Tenant, ...customerIds: string[]): Promise<void> {
  for (const customerId of customerIds) await deliverToD1(organizationId, customerId);
}

async function change(tenant: Tenant, customerId: string, planId: string, strategy: string): Promise<void> {
  expect((await tenant.api.send('changePlan', { params: { customerId }, body: { planId, strategy } })).status).toBe(
    200,
  );
  await project(tenant, customerId);
}

async function migrate({ organizationId }: Tenant, when: string, headers = {}): Promise<string> {
  const params = { org: organizationId, planId: 'test' };
  return (await operator.send('migratePlan', { params, body: { when }, headers })).data.jobId;
}

async function progress({ organizationId }: Tenant, jobId: string): Promise<PlanMigration> {
  return (await operator.send('readMigration', { params: { org: organizationId, jobId } })).data;
}

const jobStub = (jobId: string) => bindings.PLAN_MIGRATIONS.getByName(jobId);

/** Fires the job's alarm until it is done. */
async function completed(tenant: Tenant, jobId: string): Promise<PlanMigration> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    await runDurableObjectAlarm(jobStub(jobId));
    const state = await progress(tenant, jobId);
    if (state.status === 'COMPLETED') return state;
    await scheduler.wait(ROUND_MS);
  }
  throw new Error('the migration did not end');
}

/** Waits until D1 has so many customers on the version. */
async function projected({ organizationId }: Tenant, usagePlanVersionId: string, customers: number): Promise<void> {
  const sql = 'SELECT COUNT(*) AS n FROM customers WHERE organization_id = ? AND usage_plan_version_id = ?';
  await vi.waitUntil(
    async () =>
      (await bindings.DB.prepare(sql).bind(organizationId, usagePlanVersionId).first<{ n: number }>())?.n === customers,
    { timeout: ROUNDS_MAX * ROUND_MS, interval: ROUND_MS },
  );
}

const usage = async ({ api }: Tenant, customerId: string) =>
  (await api.send('readUsage', { params: { customerId } })).data;
const versions = async (tenant: Tenant, customerId: string) => {
  const { subscription } = await usage(tenant, customerId);
  return [subscription.usagePlanVersionId, subscription.pending?.usagePlanVersionId ?? null];
};

// Most of the time each of them waits for a second walk.
describe.concurrent('a migration', () => {
  test('NOW keeps usage, renewal date and pending changes to another plan; it also moves canceled subscriptions', async () => {
    const tenant = await newTenant();
    await provision(tenant, 'plain', 'leaving', 'canceled', 'elsewhere', 'arriving');
    for (const id of ['now-1', 'now-2']) {
      await tenant.api.send('beginCall', { body: { customerId: 'plain' }, headers: { 'Idempotency-Key': id } });
    }
    await tenant.api.send('endCall', { body: { callId: 'now-1' } });
    await change(tenant, 'leaving', 'other', 'AT_NEXT_REPLENISH');
    await change(tenant, 'elsewhere', 'other', 'IMMEDIATE_RESET');
    await change(tenant, 'arriving', 'other', 'IMMEDIATE_RESET');
    await change(tenant, 'arriving', 'test', 'AT_NEXT_REPLENISH');
    await operator.send('cancelCustomer', { params: { org: tenant.organizationId, customerId: 'canceled' } });
    const before = await usage(tenant, 'plain');
    await put(tenant, 'test', SECOND);
    const bystander = await newTenant();
    await provision(bystander, 'plain');
    await put(bystander, 'test', SECOND);

    const jobId = await migrate(tenant, 'NOW');
    const done = await completed(tenant, jobId);
    expect(done).toMatchObject({
      jobId,
      planId: 'test',
      usagePlanVersionId: 'test:v2',
      when: 'NOW',
      status: 'COMPLETED',
      total: 4,
      migrated: 4,
      failures: 0,
      lastError: null,
    });
    expect(Date.parse(done.finishedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(done.startedAt));
    const after = await usage(tenant, 'plain');
    expect(after.meters.standardCalls).toMatchObject({ used: 2, limit: 20, remaining: 18 });
    expect(after.subscription).toMatchObject({
      id: before.subscription.id,
      usagePlanVersionId: 'test:v2',
      planVersion: '2',
      lastReplenishedAt: before.subscription.lastReplenishedAt,
      nextReplenishAt: before.subscription.nextReplenishAt,
      subscriptionVersion: before.subscription.subscriptionVersion + 1,
    });
    expect(await versions(tenant, 'leaving')).toEqual(['test:v2', 'other:v1']);
    expect(await versions(tenant, 'canceled')).toEqual(['test:v2', null]);
    expect((await usage(tenant, 'canceled')).canceled).toBe(true);
    expect(await versions(tenant, 'elsewhere')).toEqual(['other:v1', null]);
    expect(await versions(tenant, 'arriving')).toEqual(['other:v1', 'test:v2']);
    expect(await versions(bystander, 'plain')).toEqual(['test:v1', null]);
    // The call that was open when its plan moved ends as any other.
    expect((await tenant.api.send('endCall', { body: { callId: 'now-2' } })).data.status).toBe('COMPLETED');
    expect((await usage(tenant, 'plain')).meters.standardCalls?.used).toBe(2);
  });

  test('AT_NEXT_REPLENISH sets a pending change, keeps other pending changes, and applies at the replenishment', async () => {
    const tenant = await newTenant();
    await provision(tenant, 'plain', 'leaving', 'canceled');
    await change(tenant, 'leaving', 'other', 'AT_NEXT_REPLENISH');
    await operator.send('cancelCustomer', { params: { org: tenant.organizationId, customerId: 'canceled' } });
    await put(tenant, 'test', SECOND);
    const first = await completed(tenant, await migrate(tenant, 'AT_NEXT_REPLENISH'));
    expect(first).toMatchObject({ total: 2, migrated: 2, failures: 0 });
    expect(await versions(tenant, 'plain')).toEqual(['test:v1', 'test:v2']);
    expect(await versions(tenant, 'leaving')).toEqual(['test:v1', 'other:v1']);
    expect(await versions(tenant, 'canceled')).toEqual(['test:v1', 'test:v2']);

    // A version that follows before the replenishment takes the place of the one that is pending.
    await put(tenant, 'test', THIRD);
    expect(await completed(tenant, await migrate(tenant, 'AT_NEXT_REPLENISH'))).toMatchObject({
      total: 2,
      migrated: 2,
    });
    expect(await versions(tenant, 'plain')).toEqual(['test:v1', 'test:v3']);
    const replenished = (await tenant.api.send('replenishCustomer', { params: { customerId: 'plain' } })).data
      .subscription;
    expect(replenished).toMatchObject({ usagePlanVersionId: 'test:v3', planName: 'Third' });
    expect(replenished.pending).toBeUndefined();
  });

  test('completes although a newer version was published meanwhile, and moves nobody back', async () => {
    const tenant = await newTenant();
    await provision(tenant, 'old');
    await put(tenant, 'test', SECOND);
    const jobId = await migrate(tenant, 'NOW');
    await put(tenant, 'test', THIRD);
    await provision(tenant, 'newest');
    expect(await completed(tenant, jobId)).toMatchObject({ usagePlanVersionId: 'test:v2', failures: 0 });
    expect(await versions(tenant, 'newest')).toEqual(['test:v3', null]);
    expect(await versions(tenant, 'old')).toEqual(['test:v2', null]);
  });

  test('includes a customer whose row was not yet in D1 when it began', async () => {
    const tenant = await newTenant();
    await put(tenant, 'test', SECOND);
    // Like an isolate that still uses the previous version: the operator's change waits for those, D1 does not.
    await customerStub(tenant.organizationId, 'late').provision({
      organizationId: tenant.organizationId,
      customerId: asCustomerId('late'),
      defaultPlan: JSON.stringify({
        planId: 'test',
        usagePlanVersionId: 'test:v1',
        version: 1,
        plan: (await operator.send('readPlan', { params: { org: tenant.organizationId, planId: 'test' } })).data
          .versions[1]?.plan,
      }),
      contact: {},
      alerts: null,
      idempotencyKey: null,
      fingerprint: '',
    });
    const jobId = await migrate(tenant, 'NOW');
    await runDurableObjectAlarm(jobStub(jobId));
    expect((await progress(tenant, jobId)).total).toBe(0);
    await project(tenant, 'late');
    await completed(tenant, jobId);
    expect(await versions(tenant, 'late')).toEqual(['test:v2', null]);
  });

  test('without customers to move is completed', async () => {
    const tenant = await newTenant();
    await provision(tenant, 'current');
    expect(await completed(tenant, await migrate(tenant, 'NOW'))).toMatchObject({
      total: 0,
      migrated: 0,
      unchanged: 0,
    });
  });
});

describe('a job', () => {
  test('is started once per key, and 409 for the key with another payload', async () => {
    const tenant = await newTenant();
    await provision(tenant, 'one');
    await put(tenant, 'test', SECOND);
    const headers = { 'Idempotency-Key': `migrate-${crypto.randomUUID()}` };
    const jobIds = await Promise.all(Array.from({ length: 5 }, () => migrate(tenant, 'NOW', headers)));
    expect(new Set(jobIds).size).toBe(1);
    const send = (body: object, more = {}) =>
      operator.send('migratePlan', {
        params: { org: tenant.organizationId, planId: 'test' },
        body,
        headers: { ...headers, ...more },
      });
    const again = await send({ when: 'NOW' });
    expect([again.data.jobId, again.headers.get('Idempotency-Replayed')]).toEqual([jobIds[0], 'true']);
    expect((await send({ when: 'AT_NEXT_REPLENISH' })).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    expect(await migrate(tenant, 'NOW')).not.toBe(jobIds[0]);
    await completed(tenant, jobIds[0] ?? '');
  });

  test('is 404 for an unknown plan, organization or job, and for a job of another organization', async () => {
    const [tenant, other] = await Promise.all([newTenant(), newTenant()]);
    const jobId = await migrate(tenant, 'NOW');
    const start = (org: string, planId: string) =>
      operator.send('migratePlan', { params: { org, planId }, body: { when: 'NOW' } });
    expect((await start(tenant.organizationId, 'nope')).refusal.code).toBe('PLAN_NOT_FOUND');
    expect((await start('nope', 'test')).status).toBe(404);
    const reads = await Promise.all(
      [jobId, 'no-such-job'].map((id) =>
        operator.send('readMigration', { params: { org: other.organizationId, jobId: id } }),
      ),
    );
    expect(reads.map(({ status }) => status)).toEqual([404, 404]);
    expect(new Set(reads.map(({ body }) => JSON.stringify(body.error))).size).toBe(1);
    const params = { org: tenant.organizationId, planId: 'test' };
    for (const body of [{}, { when: 'LATER' }, { when: null }]) {
      expect((await operator.send('migratePlan', { params, body })).refusal.details).toMatchObject([{ path: 'when' }]);
    }
  });

  test(`moves ${CUSTOMERS} customers, with its progress readable, across restarts of its object`, {
    timeout: 90_000,
  }, async () => {
    const tenant = await newTenant();
    const ids = Array.from({ length: CUSTOMERS }, (_, n) => `many-${String(n).padStart(3, '0')}`);
    await Promise.all(ids.map((customerId) => tenant.api.send('provisionCustomer', { body: { customerId } })));
    await projected(tenant, 'test:v1', CUSTOMERS);
    await put(tenant, 'test', SECOND);
    const jobId = await migrate(tenant, 'NOW');
    expect(await progress(tenant, jobId)).toMatchObject({ status: 'RUNNING', total: CUSTOMERS, finishedAt: null });
    let moved = 0;
    for (let restart = 0; restart < 3; restart += 1) {
      await evictDurableObject(jobStub(jobId));
      const { migrated, unchanged } = await progress(tenant, jobId);
      expect(migrated + unchanged).toBeGreaterThanOrEqual(moved);
      moved = migrated + unchanged;
      await runDurableObjectAlarm(jobStub(jobId));
    }
    const done = await completed(tenant, jobId);
    expect(done).toMatchObject({ total: CUSTOMERS, failures: 0, lastError: null });
    // A customer moved by a batch whose count a restart lost is found unchanged.
    expect(done.migrated).toBeLessThanOrEqual(CUSTOMERS);
    expect(done.migrated + done.unchanged).toBeGreaterThanOrEqual(CUSTOMERS);
    await projected(tenant, 'test:v2', CUSTOMERS);
  });
});
