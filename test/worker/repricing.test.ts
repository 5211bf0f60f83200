/**
 * Promise: a call without a price gets the one that was in force when it ended, once a price is there: its cost, its tier, its
 * charge, and every sum follow; the record says what it was before. Twice is once, and a dry run changes nothing.
 */
import { evictDurableObject, runDurableObjectAlarm } from 'cloudflare:test';
import { expect, test } from 'vitest';
import type { Repricing } from '../../src/contract/corrections.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { fundedCustomer } from '../support/customer.ts';
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
const summary = async ({ api }: Tenant) => (await api.send('readUsageSummary', { query: { days: '1' } })).data;

async function reprice({ organizationId }: Tenant, body: object = {}, headers = {}): Promise<Repricing> {
  const params = { org: organizationId };
  const { jobId } = (await operator.send('startRepricing', { params, body: { ...AROUND, ...body }, headers })).data;
  const job = bindings.REPRICINGS.getByName(jobId);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const { data } = await operator.send('readRepricing', { params: { ...params, jobId } });
    if (data.status === 'COMPLETED') return data;
    await runDurableObjectAlarm(job);
    // What the job knows stands in its storage.
    await evictDurableObject(job);
  }
  throw new Error('the job did not end');
}

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

test('a call that only D1 has any more is repriced too, and a batch that is repeated counts the same', async () => {
  const tenant = await createTenant(operator, PLAN);
  await fundedCustomer(tenant, 'carol', {});
  const callId = await call(tenant, 'carol', { modelUsed: 'old-model' });
  await deliverToD1(tenant.organizationId, 'carol');
  const stub = bindings.CUSTOMERS.getByName(`${tenant.organizationId}:carol`);
  await price(tenant, 'old-model', { inputUsdPerMillion: 1, outputUsdPerMillion: 2 });
  const old = await stub.readCall(tenant.organizationId, callId);
  if (!old) throw new Error('the call is there');
  const card = {
    ...{ snapshotId: 's', provider: 'p', modelKey: 'm' },
    rates: [
      { component: 'input' as const, nanoUsdPerMillion: '1000000000' },
      { component: 'output' as const, nanoUsdPerMillion: '2000000000' },
    ],
  };
  const command = {
    ...{ organizationId: tenant.organizationId, jobId: 'job', reason: 'r', by: 'operator' },
    calls: [{ callId, price: { available: true as const, card }, old }],
  };
  const answer = await stub.repriceCalls(command);
  expect(answer).toEqual({ repriced: 1, differenceNanoUsd: '1200000' });
  expect(await stub.repriceCalls(command)).toEqual(answer);
  expect((await stub.readCall(tenant.organizationId, callId))?.corrections).toHaveLength(1);
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
