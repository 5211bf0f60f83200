/**
 * Promise: a model without a price is for nobody who could run it at somebody else's cost: sessions do not use it, and
 * credit does not pay for it, unless the organization allows both. A refusal changes nothing.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Tenant } from '../support/api.ts';
import { answers, ask, BASE_URL, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { operator } from '../support/worker.ts';

mockVendor();

const UNPRICED = 'openai/no-such-model';
/** The first standard call is on the allowance; then the balance pays. */
const PAYG = {
  name: 'P',
  limitType: 'BLOCK',
  limits: { standardCalls: 1, premiumCalls: 1 },
  payg: { enabled: true, markupPercent: 20 },
};

type GatewayTenant = Tenant & { key: string };

let requests: string[];
beforeEach(() => {
  requests = [];
  vendor.answers = (url, body) => {
    requests.push(String(body.model ?? url));
    return answers(url, body);
  };
});

const customerParams = ({ organizationId }: Tenant, customerId = 'default') => ({ org: organizationId, customerId });
const readCustomer = (tenant: Tenant, customerId?: string) =>
  operator.send('readCustomer', { params: customerParams(tenant, customerId) });
const allow = async (tenant: Tenant, allowUnpricedModels = true) =>
  (await operator.send('updateOrganization', { params: { org: tenant.organizationId }, body: { allowUnpricedModels } }))
    .data;
const createSession = async ({ api, key }: GatewayTenant) =>
  (await api.with(key).send('createClientSession', { body: { customerId: 'alice' } })).data.token;
const price = (tenant: Tenant, modelKey: string) =>
  operator.send('setPrice', {
    params: { org: tenant.organizationId, modelKey },
    body: { inputUsdPerMillion: 1, outputUsdPerMillion: 2 },
  });

async function refusedBy(response: Response) {
  const { error } = (await response.json()) as { error: { code: string; message: string; param: string | null } };
  return { status: response.status, retry: response.headers.get('x-should-retry'), ...error };
}

/** A tenant whose customer `default` has used its allowance, and has a balance. */
async function onCredit(): Promise<GatewayTenant> {
  const tenant = await newTenant(PAYG);
  for (const premium of [false, true]) {
    const began = await tenant.api.send('beginCall', {
      body: { customerId: 'default', requested: { premium, standard: !premium } },
    });
    const modelUsed = premium ? 'gpt-4o' : 'gpt-4o-mini';
    await tenant.api.send('endCall', {
      body: { callId: began.data.callId, modelUsed, inputTokens: 1, responseTokens: 1 },
    });
  }
  const grant = await operator.send('grantCredit', {
    params: customerParams(tenant),
    body: { kind: 'USD', amountUsd: '1' },
  });
  expect(grant.status).toBe(200);
  requests = [];
  return tenant;
}

/** The customer's data that a refusal must not change. */
async function state(tenant: Tenant) {
  const { openCalls, recentCalls, wallet, meters } = (await readCustomer(tenant)).data;
  return { openCalls, calls: recentCalls.length, wallet, meters };
}

describe('a session', () => {
  test('may use only models with a price, at any place in the list; no call begins', async () => {
    const tenant = await newTenant();
    const token = await createSession(tenant);
    for (const models of [{ model: UNPRICED }, { model: 'gpt-5.2', models: [UNPRICED] }]) {
      const { response } = await ask(token, models);
      expect(await refusedBy(response)).toMatchObject({
        status: 403,
        code: 'MODEL_NOT_PRICED',
        param: 'model',
        retry: 'false',
        message: expect.stringContaining(UNPRICED),
      });
    }
    expect(requests).toEqual([]);
    expect((await readCustomer(tenant, 'alice')).status).toBe(404);
    expect((await ask(token, {})).response.status).toBe(200);
    expect((await ask(tenant.key, { model: UNPRICED })).response.status).toBe(200);
  });

  test('may use a model with an own price of its organization, or any model if the organization allows it', async () => {
    const tenant = await newTenant();
    const token = await createSession(tenant);
    expect((await price(tenant, 'no-such-model')).status).toBe(200);
    expect((await ask(token, { model: UNPRICED })).response.status).toBe(200);
    expect((await ask(token, { model: 'openai/another' })).response.status).toBe(403);
    expect(await allow(tenant)).toMatchObject({ allowUnpricedModels: true });
    // In force with the answer of the change.
    expect((await ask(token, { model: 'openai/another' })).response.status).toBe(200);
    expect(await allow(tenant, false)).toMatchObject({ allowUnpricedModels: false });
    expect((await ask(token, { model: 'openai/another' })).response.status).toBe(403);
  });

  test('the same rule applies to a mapped model', async () => {
    const tenant = await newTenant();
    const token = await createSession(tenant);
    const body = { standard: ['openai/gpt-4o-mini', UNPRICED], premium: [] };
    await operator.send('setModels', { params: { org: tenant.organizationId }, body });
    expect(await refusedBy((await ask(token, { model: 'service/standard' })).response)).toMatchObject({
      code: 'MODEL_NOT_PRICED',
    });
  });
});

describe('if credit would pay', () => {
  test('the gateway refuses a model without a price; nothing is held or stored, and the key stays free', async () => {
    const tenant = await onCredit();
    const before = await state(tenant);
    for (const headers of [{}, { 'Idempotency-Key': 'k-1' }] as Record<string, string>[]) {
      const { response } = await ask(tenant.key, { model: UNPRICED }, undefined, undefined, headers);
      expect(await refusedBy(response)).toMatchObject({
        status: 403,
        code: 'MODEL_NOT_PRICED',
        retry: 'false',
        message: expect.stringContaining(UNPRICED),
      });
    }
    expect([requests, await state(tenant)]).toEqual([[], before]);
    const { response } = await ask(tenant.key, {}, undefined, undefined, { 'Idempotency-Key': 'k-1' });
    expect(response.status).toBe(200);
  });

  test('of several models, those with a price run, and the call is refused only if none has one', async () => {
    const tenant = await onCredit();
    const { response } = await ask(tenant.key, { model: UNPRICED, models: ['gpt-4o-mini'] });
    expect(response.status).toBe(200);
    expect(requests).toHaveLength(1);
    const none = await ask(tenant.key, { model: UNPRICED, models: ['openai/no-such-model-2'] });
    expect(await refusedBy(none.response)).toMatchObject({ status: 403, code: 'MODEL_NOT_PRICED' });
    expect(requests).toHaveLength(1);
  });

  test('if the organization allows it, such a call is charged what was held, because its cost is unknown', async () => {
    const tenant = await onCredit();
    await allow(tenant);
    const { response, callId } = await ask(tenant.key, { model: UNPRICED });
    expect(response.status).toBe(200);
    expect((await tenant.api.send('readCall', { params: { callId } })).data).toMatchObject({
      pricingStatus: 'UNAVAILABLE',
      payg: { usingCredit: true, basis: 'HELD', chargeNanoUsd: '10000000', settlementFailureReason: null },
    });
  });

  test('a call that the allowance pays for needs no price, also on a pay-as-you-go plan', async () => {
    const tenant = await newTenant(PAYG);
    expect((await ask(tenant.key, { model: UNPRICED })).response.status).toBe(200);
    expect(await refusedBy((await ask(tenant.key, { model: UNPRICED })).response)).toMatchObject({
      code: 'CREDIT_REQUIRED',
    });
  });

  const url = `${BASE_URL}/chat/completions`;
  test.each([
    ['a vendor whose model has no price', { vendor: { url, body: { model: 'no-such-model' } } }, 'no-such-model'],
    [
      'a model in the path',
      { vendor: { url: 'https://vendor.example.com/v1/models/no-such:generateContent', body: {} } },
      'no-such',
    ],
    ['a vendor of which no model is named', { vendor: { url, body: { messages: [] } } }, 'names no model'],
    [
      'a tier that is asserted',
      { vendor: { url, body: { model: 'no-such-model' } }, usage: { isPremium: true } },
      'no-such-model',
    ],
    [
      'reported usage of a model without a price',
      { usage: { modelUsed: 'no-such-model', responseTokens: 5 } },
      'no-such-model',
    ],
    ['reported usage of no model', { usage: { responseTokens: 5 } }, 'names no model'],
  ])('POST /call refuses %s', async (_, body, named) => {
    const tenant = await onCredit();
    const before = await state(tenant);
    const headers = { 'Idempotency-Key': 'k-1' };
    const { status, refusal } = await tenant.api.send('makeCall', {
      body: { customerId: 'default', ...body },
      headers,
    });
    expect([status, refusal.code, refusal.message]).toEqual([403, 'MODEL_NOT_PRICED', expect.stringContaining(named)]);
    expect([requests, await state(tenant)]).toEqual([[], before]);
    const priced = { customerId: 'default', vendor: { url, body: { model: 'gpt-4o-mini' } } };
    expect((await tenant.api.send('makeCall', { body: priced, headers })).status).toBe(200);
    await allow(tenant);
    expect((await tenant.api.send('makeCall', { body: { customerId: 'default', ...body } })).status).toBe(200);
  });

  test('POST /call_begin, which has no model, is not affected', async () => {
    const tenant = await onCredit();
    expect((await tenant.api.send('beginCall', { body: { customerId: 'default' } })).data.allowed.standard).toBe(true);
  });
});
