/**
 * Promise: a call without a price gets the one that was in force when it ended, once a price is there: its cost, its
 * tier, its charge, and every sum follow; the record has its earlier state. A second run changes nothing, and neither
 * does a dry run.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { expect, test, vi } from 'vitest';
import type { Repricing } from '../../src/contract/corrections.ts';
import { asCallId, asOrganizationId } from '../../src/domain/ids.ts';
import { findOldCalls, listCalls } from '../../src/history/calls.ts';
import { findUnpricedCalls } from '../../src/history/unpriced-calls.ts';
import { faultyEnv } from '../scenario/faulty-bindings.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { forgetCalls } from '../support/archive.ts';
import { fundedCustomer } from '../support/customer.ts';
import { queryPlansOf } from '../support/query-plans.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';

const PLAN = {
  name: 'As you go',
  limitType: 'BLOCK',
  limits: { standardCalls: 1, premiumCalls: 2 },
  payg: { enabled: true, markupPercent: 20 },
};
const HOUR = 3_600_000;
const ROUNDS_MAX = 50;
const AROUND = {
  from: new Date(Date.now() - HOUR).toISOString(),
  to: new Date(Date.now() + HOUR).toISOString(),
};

async function call({ api }: Tenant, customerId: string, body: object): Promise<string> {
  const { callId } = (await api.send('beginCall', { body: { customerId, feature: `${Math.random()}` } })).data;
  await api.send('endCall', { body: { callId, inputTokens: 1_000, responseTokens: 100, ...body } });
  return callId;
}
const read = async ({ api }: Tenant, callId: string) => (await api.send('readCall', { params: { callId } })).data;
const price = ({ organizationId }: Tenant, modelKey: string, body: object) =>
  operator.send('setPrice', { params: { org: organizationId, modelKey }, body });
const summary = async ({ api }: Tenant) => (await api.send('readUsageSummary')).data;

async function start({ organizationId }: Tenant, body: object = {}, headers = {}): Promise<string> {
  const params = { org: organizationId };
  return (await operator.send('startRepricing', { params, body: { ...AROUND, ...body }, headers })).data.jobId;
}

async function completed({ organizationId }: Tenant, jobId: string): Promise<Repricing> {
  const job = bindings.REPRICINGS.getByName(jobId);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const { data } = await operator.send('readRepricing', { params: { org: organizationId, jobId } });
    if (data.status === 'COMPLETED') return data;
    await runDurableObjectAlarm(job);
    // The job's knowledge is in its storage.
    await evictDurableObject(job);
  }
  throw new Error('the job did not end');
}

const reprice = async (tenant: Tenant, body?: object, headers?: object) =>
  completed(tenant, await start(tenant, body, headers));

test('calls are found by their ids, however many others the organization has', async () => {
  const plans = await queryPlansOf((env) =>
    findOldCalls(env, asOrganizationId(crypto.randomUUID()), ['one', 'two'].map(asCallId)),
  );
  expect(plans).toContain('SEARCH calls USING INDEX sqlite_autoindex_calls_1 (organization_id=? AND call_id=?)');
});

test('calls that lack a price, or are charged by their hold, are found by their index', async () => {
  const of = { organizationId: asOrganizationId(crypto.randomUUID()), fromMs: 0, toMs: HOUR, names: null };
  const plans = await queryPlansOf((env) => findUnpricedCalls(env, of, null, 10));
  expect(plans.join()).toContain('USING INDEX calls_unpriced');
  const filter = { priced: false } as const;
  const page = { limit: 10, after: null };
  const lists = await queryPlansOf((env) => listCalls(env, of.organizationId, filter, page));
  expect(lists.join()).toContain('USING INDEX calls_unpriced');
});

test('a call gets the price of the day on which it ended, with its tier, its charge and the sums', async () => {
  const tenant = await createTenant(operator, PLAN);
  const customer = await fundedCustomer(tenant, 'alice', { usd: '10' });
  const deliver = () => deliverToD1(tenant.organizationId, 'alice');
  // The first call is on the allowance of the standard tier, the second on credit: its charge cannot be made.
  const first = await call(tenant, 'alice', { modelUsed: 'house-model' });
  const second = await call(tenant, 'alice', { modelUsed: 'HOUSE-model' });
  const other = await call(tenant, 'alice', { modelUsed: 'another-model' });
  const lost = await call(tenant, 'alice', { modelUsed: 'house-model', audioInputTokens: 5 });
  await deliver();
  expect((await read(tenant, second)).payg).toMatchObject({
    settlementStatus: 'FAILED',
    settlementFailureReason: 'PRICE_UNAVAILABLE',
  });
  expect((await summary(tenant)).totals.unpricedCalls).toBe(4);

  await price(tenant, 'house-model', {
    inputUsdPerMillion: 9,
    outputUsdPerMillion: 9,
    effectiveFrom: new Date(Date.now() + HOUR).toISOString(),
  });
  expect(await reprice(tenant)).toMatchObject({ total: 4, done: 4, repriced: 0, differenceUSD: 0 });
  await price(tenant, 'house-model', { inputUsdPerMillion: 1, outputUsdPerMillion: 2 });
  await price(tenant, 'another-model', { inputUsdPerMillion: 1, outputUsdPerMillion: 2 });

  const before = await customer.inspect();
  expect(await reprice(tenant, { modelKey: 'house-model', dryRun: true })).toMatchObject({
    ...{ dryRun: true, total: 3, done: 3, repriced: 2, differenceUSD: 0.0024, differenceNanoUsd: '2400000' },
  });
  expect((await customer.inspect()).meters).toEqual(before.meters);
  expect((await read(tenant, first)).pricingStatus).toBe('UNAVAILABLE');

  const headers = { 'Idempotency-Key': 'the-price-came' };
  const done = await reprice(tenant, { modelKey: 'house-model' }, headers);
  expect(done).toMatchObject({
    total: 3,
    done: 3,
    repriced: 2,
    differenceNanoUsd: '2400000',
    failures: 0,
    lastError: null,
  });
  expect(await reprice(tenant, { modelKey: 'house-model' }, headers), 'the same job').toEqual(done);
  await customer.settle();
  await deliver();
  expect(await read(tenant, first)).toMatchObject({
    pricingStatus: 'FINAL',
    costUsdNano: '1200000',
    corrections: [{ kind: 'REPRICED', reason: 'its price became known', by: 'operator' }],
  });
  // 20 % more than the cost.
  expect((await read(tenant, second)).payg).toMatchObject({ chargeNanoUsd: '1440000', settlementStatus: 'POSTED' });
  expect((await customer.wallet()).balanceUsd).toBe('9.99856');
  expect((await read(tenant, other)).pricingStatus, 'of another model').toBe('UNAVAILABLE');
  expect((await read(tenant, lost)).pricingStatus, 'its audio has no rate').toBe('UNAVAILABLE');
  const sums = (await summary(tenant)).totals;
  expect([sums.unpricedCalls, sums.costUsdNano]).toEqual([2, '2400000']);

  expect(await reprice(tenant, { modelKey: 'house-model' }), 'again').toMatchObject({ total: 1, repriced: 0 });
  expect((await customer.wallet()).balanceUsd).toBe('9.99856');
});

test('the tier that the price tells takes its allowance, and the suggested one gets it back', async () => {
  const tenant = await createTenant(operator, { ...PLAN, limits: { standardCalls: 5, premiumCalls: 5 } });
  const customer = await fundedCustomer(tenant, 'bob', {});
  await call(tenant, 'bob', { modelUsed: 'dear-model' });
  await call(tenant, 'bob', { modelUsed: 'dear-model', isPremium: false });
  await deliverToD1(tenant.organizationId, 'bob');
  const used = async () => {
    const { meters } = await customer.inspect();
    return [meters.standardCalls?.used, meters.premiumCalls?.used];
  };
  const before = await used();
  await price(tenant, 'dear-model', { inputUsdPerMillion: 1, outputUsdPerMillion: 50 });
  expect((await reprice(tenant)).repriced).toBe(2);
  const [standard = 0, premium = 0] = before;
  expect([standard + premium, await used()]).toEqual([2, [1, 1]]);
});

test('a batch whose answers were lost counts the same when it is repeated, whether its calls are in D1 alone or not', async () => {
  const tenant = await createTenant(operator, PLAN);
  for (const customerId of ['carol', 'dave']) await fundedCustomer(tenant, customerId, {});
  const report = { modelUsed: 'old-model' };
  const callIds = [await call(tenant, 'carol', report), await call(tenant, 'dave', report)];
  const deliver = async () => {
    for (const customerId of ['carol', 'dave']) await deliverToD1(tenant.organizationId, customerId);
  };
  await deliver();
  await forgetCalls(tenant, 'carol');
  await price(tenant, 'old-model', { inputUsdPerMillion: 1, outputUsdPerMillion: 2 });

  const jobId = crypto.randomUUID();
  const job = bindings.REPRICINGS.getByName(jobId);
  const { organizationId } = tenant;
  const period = { fromMs: Date.parse(AROUND.from), toMs: Date.parse(AROUND.to) };
  let asked = 0;
  const env = faultyEnv((_, operation) => {
    if (operation !== 'repriceCalls') return null;
    asked += 1;
    // Carol's first answer, and Dave's when Carol's object was asked again.
    return asked === 1 || asked === 3 ? 'commits and throws' : null;
  });
  await runInDurableObject(job, (instance) =>
    Object.assign(instance, { env }).start({
      ...{ jobId, organizationId, ...period, modelKey: null, dryRun: false, by: 'operator' },
    }),
  );
  for (let round = 0; round < ROUNDS_MAX && asked < 3; round += 1) await runDurableObjectAlarm(job);
  // D1 knows it of both.
  await deliver();
  expect(await completed(tenant, jobId)).toMatchObject({
    ...{ total: 2, done: 2, repriced: 2, differenceNanoUsd: '2400000', failures: 2 },
  });
  for (const callId of callIds) expect((await read(tenant, callId)).corrections).toHaveLength(1);
});

test('a job that is done can be read for 30 days, and its object is empty then', async () => {
  const tenant = await createTenant(operator, PLAN);
  const jobId = await start(tenant);
  await completed(tenant, jobId);
  const job = bindings.REPRICINGS.getByName(jobId);
  const doneMs = Date.now();
  const entriesAfter = async (ms: number) => {
    vi.spyOn(Date, 'now').mockImplementation(() => doneMs + ms);
    await runDurableObjectAlarm(job);
    vi.restoreAllMocks();
    return runInDurableObject(job, async (_, { storage }) => (await storage.list()).size);
  };
  expect(await entriesAfter(30 * 24 * HOUR - 60_000)).toBe(1);
  expect(await entriesAfter(30 * 24 * HOUR + 1)).toBe(0);
});

test.each([
  ['from', { from: 'soon' }],
  ['to', { to: '2020-01-01T00:00:00Z' }],
  ['dryRun', { dryRun: 'yes' }],
])('a broken %s is refused', async (path, body) => {
  const tenant = await createTenant(operator);
  const params = { org: tenant.organizationId };
  const { refusal } = await operator.send('startRepricing', { params, body: { ...AROUND, ...body } });
  expect(refusal).toMatchObject({ code: 'BAD_REQUEST', details: [{ path }] });
});
