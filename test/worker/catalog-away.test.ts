/**
 * Promise: a call that was priced while the published catalog could not be read says so, and a repricing gives it the published
 * price; one that was priced by the published catalog keeps its price.
 */
import { createExecutionContext, evictDurableObject, runDurableObjectAlarm } from 'cloudflare:test';
import { beforeAll, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import type { Env } from '../../src/env.ts';
import { Api, createTenant, type Tenant } from '../support/api.ts';
import { fundedCustomer } from '../support/customer.ts';
import { bindings, operator } from '../support/worker.ts';
import { ORIGIN } from './console-visitor.ts';

const PLAN = {
  name: 'As you go',
  limitType: 'BLOCK',
  limits: { standardCalls: 0, premiumCalls: 0 },
  payg: { enabled: true },
};
const HOUR = 3_600_000;
const ROUNDS_MAX = 50;
const STANDS_IN = /^the published catalog could not be read/;

const away: Env = {
  ...bindings,
  KV: { get: () => Promise.reject(new Error('KV is away')) } as unknown as KVNamespace,
};
const app = createApp();
let tenant: Tenant;
let throughAway: Api;

beforeAll(async () => {
  tenant = await createTenant(operator, PLAN);
  const fetchAway = (url: string, init?: RequestInit) =>
    Promise.resolve(app.fetch(new Request(url, init), away, createExecutionContext()));
  const key = await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'away' } });
  throughAway = new Api(fetchAway, ORIGIN, key.data.key);
  // As published, gpt-4o costs twice as much for its output.
  const models = BUILT_IN_CATALOG.models.map((model) =>
    model.model.startsWith('gpt-4o') && model.pricing?.outputUsdPerMillion === 10
      ? { ...model, pricing: { ...model.pricing, outputUsdPerMillion: 20 } }
      : model,
  );
  const published = await operator.send('publishCatalog', { body: { models, version: '2027-01-20' } as never });
  expect(published.body).toMatchObject({ result: { code: 'CATALOG_PUBLISHED' } });
});

async function reprice(body: object = {}) {
  const params = { org: tenant.organizationId };
  const [from, to] = [Date.now() - HOUR, Date.now() + HOUR].map((atMs) => new Date(atMs).toISOString());
  const { jobId } = (await operator.send('startRepricing', { params, body: { from, to, ...body } as never })).data;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const { data } = await operator.send('readRepricing', { params: { ...params, jobId } });
    if (data.status === 'COMPLETED') return data;
    await runDurableObjectAlarm(bindings.REPRICINGS.getByName(jobId));
    await evictDurableObject(bindings.REPRICINGS.getByName(jobId));
  }
  throw new Error('the job did not end');
}

const read = async (callId: string) => (await tenant.api.send('readCall', { params: { callId } })).data;

test('on credit, with parts, and of the allowance, once', async () => {
  const { settle, wallet } = await fundedCustomer(tenant, 'alice', { usd: '10' });
  const call = async (api: Api, body: object) => {
    const begun = await api.send('beginCall', { body: { customerId: 'alice', feature: `${Math.random()}` } });
    const used = { inputTokens: 1_000, responseTokens: 100 };
    const { status, data } = await api.send('endCall', { body: { callId: begun.data.callId, ...used, ...body } });
    expect(status).toBe(200);
    return data;
  };
  const own = await call(throughAway, { modelUsed: 'gpt-4o' });
  expect(own).toMatchObject({ pricingStatus: 'FINAL', costUsdNano: '3500000' });
  expect(own.costBreakdown?.assumptions).toEqual([expect.stringMatching(STANDS_IN)]);
  const part = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 100 };
  const withPart = await call(throughAway, { modelUsed: 'gpt-4o', parts: [part] });
  const right = await call(tenant.api, { modelUsed: 'gpt-4o' });
  expect(right).toMatchObject({ costUsdNano: '4500000', costBreakdown: { assumptions: [] } });
  await settle();

  expect(await reprice({ dryRun: true })).toMatchObject({ total: 2, repriced: 2, differenceNanoUsd: '3000000' });
  expect((await read(own.callId)).costUsdNano).toBe('3500000');
  expect(await reprice({ modelKey: 'gpt-4o' })).toMatchObject({ total: 2, repriced: 2, differenceNanoUsd: '3000000' });
  for (const [callId, cost] of [
    [own.callId, '4500000'],
    [withPart.callId, '9000000'],
  ] as const) {
    const { costUsdNano, costBreakdown, corrections } = await read(callId);
    expect([costUsdNano, costBreakdown?.assumptions]).toEqual([cost, []]);
    expect(corrections).toMatchObject([{ kind: 'REPRICED' }]);
  }
  await settle();
  expect((await wallet()).balanceUsd).toBe('9.982');
  expect(await reprice()).toMatchObject({ total: 0, repriced: 0 });
  const { items } = (await tenant.api.send('listCalls')).data;
  expect(items.map(({ chargeBasis }) => chargeBasis)).toEqual([null, null, null]);
});
