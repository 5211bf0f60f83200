/**
 * Promise: credit pays for nothing that has no rate or no bound. Such a request is refused before its vendor is asked,
 * with the field and the component, on every route; or it is asked in a form that cannot incur the cost. An allowance
 * pays for the same request, and an organization can open single names.
 */

import { describe, expect, test } from 'vitest';
import { TWO_RATES } from '../support/credit-plans.ts';
import { fundedCustomer } from '../support/customer.ts';
import { ask, completion, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

const MODEL = 'openai/talker';
const plan = (calls: number) => ({
  name: 'P',
  limitType: 'BLOCK',
  limits: { standardCalls: calls, premiumCalls: calls },
  payg: { enabled: true, markupPercent: 0 },
});

async function tenantWith(components: object[] = TWO_RATES, calls = 0, vendorBody: object = {}) {
  const tenant = await newTenant(plan(calls));
  const params = { org: tenant.organizationId };
  const set = await operator.send('setVendor', {
    params: { ...params, provider: 'openai' },
    body: { apiKey: `sk-${tenant.organizationId}`, baseUrl: 'https://vendor.example.com/v1', ...vendorBody },
  });
  expect(set.status).toBe(200);
  const priced = await operator.send('setPrice', { params: { ...params, modelKey: MODEL }, body: { components } });
  expect(priced.status).toBe(200);
  return { tenant, customer: await fundedCustomer(tenant, 'default', { usd: '5' }) };
}

/** The bodies that reach the vendor. */
function sent(): Record<string, unknown>[] {
  const bodies: Record<string, unknown>[] = [];
  vendor.answers = (_url, body) => {
    bodies.push(body);
    return Response.json(completion(body.model));
  };
  return bodies;
}

const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
const sound = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };
const withParts = (...parts: object[]) => ({ messages: [{ role: 'user', content: parts }] });

describe('on credit, chat completions', () => {
  test.each<[string, object, { code: string; component: string; param?: string }]>([
    [
      'a field that nobody knows',
      { top_k: 5 },
      { code: 'BOUND_UNKNOWN', component: 'field:chat/top_k', param: 'top_k' },
    ],
    [
      'a member that nobody knows',
      { messages: [{ role: 'user', content: 'x', from_tomorrow: 1 }] },
      {
        code: 'BOUND_UNKNOWN',
        component: 'field:chat/messages.*.from_tomorrow',
        param: 'messages.0.from_tomorrow',
      },
    ],
    [
      'a part that nobody knows',
      withParts({ type: 'hologram', hologram: {} }),
      { code: 'BOUND_UNKNOWN', component: 'field:chat/messages.*.content.*.type', param: 'messages.0.content.0.type' },
    ],
    ['a service tier without rates', { service_tier: 'flex' }, { code: 'MODEL_NOT_PRICED', component: 'serviceTier' }],
    [
      'one that has no rates anywhere',
      { service_tier: 'scale' },
      { code: 'MODEL_NOT_PRICED', component: 'serviceTier' },
    ],
    ['sound in', withParts(sound), { code: 'MODEL_NOT_PRICED', component: 'audioInput' }],
    [
      'sound out',
      { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
      { code: 'MODEL_NOT_PRICED', component: 'audioOutput' },
    ],
    ['a web search', { web_search_options: {} }, { code: 'MODEL_NOT_PRICED', component: 'webSearch' }],
    [
      'a moderation model',
      { moderation: { model: 'omni-moderation-latest' } },
      { code: 'MODEL_NOT_PRICED', component: 'otherModel', param: 'moderation' },
    ],
  ])('%s is refused before the vendor is asked', async (_what, body, error) => {
    const { tenant, customer } = await tenantWith(TWO_RATES, 0, { kind: 'openai' });
    const bodies = sent();
    const { response } = await ask(tenant.key, { model: MODEL, ...body });
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([403, 'false']);
    expect(await response.json()).toMatchObject({ error });
    expect(bodies).toEqual([]);
    expect(await customer.wallet()).toMatchObject({ balanceUsd: '5', heldUsd: '0' });
  });

  test('an allowance pays for the same request as it is', async () => {
    const { tenant } = await tenantWith(TWO_RATES, 10, { kind: 'openai' });
    const bodies = sent();
    for (const body of [{ top_k: 5 }, { service_tier: 'flex' }, withParts(sound), { web_search_options: {} }])
      expect((await ask(tenant.key, { model: MODEL, ...body })).response.status).toBe(200);
    expect(bodies.map(({ service_tier: tier }) => tier)).toEqual([undefined, 'flex', undefined, undefined]);
  });

  test('a picture is text to vendors that do not tell the two apart', async () => {
    const { tenant } = await tenantWith();
    sent();
    expect((await ask(tenant.key, { model: MODEL, ...withParts(image) })).response.status).toBe(200);
  });

  test('each kind of vendor has fields of its own', async () => {
    const { tenant } = await tenantWith(TWO_RATES, 0, { kind: 'compatible' });
    sent();
    const body = { model: MODEL, top_k: 5, min_p: 0.1, chat_template_kwargs: { enable_thinking: false } };
    expect((await ask(tenant.key, body)).response.status).toBe(200);
  });

  test('the organization opens single names, and everything', async () => {
    const { tenant } = await tenantWith(TWO_RATES, 0, { kind: 'openai' });
    const bodies = sent();
    const params = { org: tenant.organizationId };
    const status = async (body: object) => (await ask(tenant.key, { model: MODEL, ...body })).response.status;
    expect(await status({ top_k: 5 })).toBe(403);
    const body = { creditOpen: ['field:chat/top_k', 'component:webSearch'] };
    expect((await operator.send('updateOrganization', { params, body })).status).toBe(200);
    await expect.poll(() => status({ top_k: 5 })).toBe(200);
    expect(await status({ top_k: 5, web_search_options: {} })).toBe(200);
    expect(await status({ top_k: 5, min_p: 1 })).toBe(403);
    await operator.send('updateOrganization', { params, body: { creditOpen: ['*'] } });
    await expect.poll(() => status({ top_k: 5, min_p: 1, service_tier: 'flex' })).toBe(200);
    expect(bodies).toHaveLength(3);
  });

  test('of several models the one runs whose request is priced and bounded', async () => {
    const { tenant } = await tenantWith(TWO_RATES, 0, { kind: 'openai' });
    const flex = ['input', 'output'].map((component) => ({
      component,
      per: 1_000_000,
      usd: '1',
      when: { serviceTier: 'flex' },
    }));
    const params = { org: tenant.organizationId, modelKey: 'openai/flexible' };
    await operator.send('setPrice', { params, body: { components: [...TWO_RATES, ...flex] } });
    const bodies = sent();
    const body = { model: MODEL, models: ['openai/flexible'], service_tier: 'flex' };
    await expect.poll(async () => (await ask(tenant.key, body)).response.status).toBe(200);
    expect(bodies).toMatchObject([{ model: 'flexible', service_tier: 'flex' }]);
  });
});

describe('what is made safe', () => {
  test('the tier of OpenAI is the standard one, and the answer says so', async () => {
    const { tenant } = await tenantWith(TWO_RATES, 0, { kind: 'openai' });
    const bodies = sent();
    for (const body of [{}, { service_tier: 'auto' }]) {
      const { response } = await ask(tenant.key, { model: MODEL, ...body });
      expect(response.headers.get('x-service-changed')).toBe('service_tier=default');
      const params = { callId: response.headers.get('x-service-call-id') ?? '' };
      expect((await tenant.api.send('readCall', { params })).data).toMatchObject({ changed: ['service_tier=default'] });
    }
    expect(bodies).toMatchObject([{ service_tier: 'default' }, { service_tier: 'default' }]);
  });

  test('stands in the record after the call is amended', async () => {
    const { tenant } = await tenantWith(TWO_RATES, 0, { kind: 'openai' });
    sent();
    const { response } = await ask(tenant.key, { model: MODEL });
    const params = { callId: response.headers.get('x-service-call-id') ?? '' };
    const body = { reason: 'misread usage', modelUsed: MODEL, inputTokens: 1 };
    expect((await tenant.api.send('amendCall', { params, body })).status).toBe(200);
    expect((await tenant.api.send('readCall', { params })).data).toMatchObject({
      corrections: [{ kind: 'AMENDED' }],
      changed: ['service_tier=default'],
    });
  });

  test('a bound of 0 is none, so that the plan bounds the output', async () => {
    const { tenant } = await tenantWith(TWO_RATES, 0, { kind: 'openai' });
    const bodies = sent();
    expect((await ask(tenant.key, { model: MODEL, max_completion_tokens: 0 })).response.status).toBe(200);
    expect(bodies).toMatchObject([{ max_completion_tokens: 16_384 }]);
  });

  test('nothing is changed if an allowance pays', async () => {
    const { tenant } = await tenantWith(TWO_RATES, 10, { kind: 'openai' });
    const bodies = sent();
    const { response } = await ask(tenant.key, { model: MODEL });
    expect(response.headers.get('x-service-changed')).toBeNull();
    expect(bodies[0]).not.toHaveProperty('service_tier');
  });
});

test('a call in one request is refused with the place in its body, and made safe', async () => {
  const { tenant } = await tenantWith(TWO_RATES, 0, { kind: 'openai' });
  const bodies = sent();
  const url = 'https://vendor.example.com/v1/chat/completions';
  const messages = [{ role: 'user', content: 'x' }];
  const call = (body: object) =>
    tenant.api.send('makeCall', {
      body: {
        customerId: 'default',
        vendor: { url, provider: 'openai', body: { model: 'talker', messages, ...body } },
      },
    });
  const refused = await call({ from_tomorrow: 1 });
  expect(refused.status).toBe(403);
  expect(refused.refusal).toMatchObject({
    code: 'BOUND_UNKNOWN',
    component: 'field:chat/from_tomorrow',
    param: 'vendor.body.from_tomorrow',
  });
  expect(bodies).toEqual([]);
  expect((await call({})).status).toBe(200);
  expect(bodies).toMatchObject([{ service_tier: 'default', max_completion_tokens: 16_384 }]);
});

test('a batch is refused at its creation, with the number of the line; the vendor runs its lines as they are', async () => {
  const { tenant, customer } = await tenantWith(TWO_RATES, 0, { kind: 'openai' });
  const url = '/v1/chat/completions';
  const messages = [{ role: 'user', content: 'x' }];
  const line = (body: object) =>
    `${JSON.stringify({ method: 'POST', url, body: { model: 'talker', messages, ...body } })}\n`;
  let content = '';
  let created = 0;
  vendor.answers = (address, { metadata }) => {
    if (address.endsWith('/content')) return new Response(content);
    created += 1;
    return Response.json({ id: `batch_${created}`, status: 'validating', metadata });
  };
  const create = async (...lines: string[]) => {
    content = lines.join('');
    const body = { input_file_id: 'file_in', endpoint: url };
    const { response } = await ask(tenant.key, body, bindings, '/v1/batches');
    return { status: response.status, body: await response.json() };
  };
  const bounded = line({ max_completion_tokens: 10 });
  expect(await create(bounded, bounded, line({ max_completion_tokens: 10, from_tomorrow: 1 }))).toMatchObject({
    status: 403,
    body: {
      error: {
        code: 'BOUND_UNKNOWN',
        param: 'body.from_tomorrow',
        component: 'field:chat/from_tomorrow',
        message: expect.stringContaining('line 3'),
      },
    },
  });
  // Nothing can be added to a line.
  expect(await create(bounded, line({}))).toMatchObject({
    status: 403,
    body: { error: { code: 'BOUND_UNKNOWN', component: 'output', message: expect.stringContaining('line 2') } },
  });
  expect([created, await customer.wallet()]).toMatchObject([0, { heldUsd: '0' }]);
  expect((await create(bounded)).status).toBe(200);
  expect(created).toBe(1);
});

test('what has no rate is named in the cost, whoever pays', async () => {
  const { tenant } = await tenantWith(TWO_RATES, 10, { kind: 'openai' });
  vendor.answers = (_url, body) => Response.json({ ...completion(body.model), object: 'chat.completion' });
  const { response, rest } = await ask(tenant.key, { model: MODEL, moderation: { model: 'm' }, from_tomorrow: 1 });
  await rest();
  const params = { callId: response.headers.get('x-service-call-id') ?? '' };
  expect((await tenant.api.send('readCall', { params })).data.costBreakdown?.assumptions).toEqual([
    'otherModel: asked for, no rate is known, not included in the cost',
    'field:chat/from_tomorrow: asked for, no rate is known, not included in the cost',
  ]);
});

test('a header and a member of the query that nobody knows are fields too, whose names are not told', async () => {
  const { tenant } = await tenantWith(TWO_RATES, 0, { kind: 'openai' });
  const bodies = sent();
  const url = 'https://vendor.example.com/v1/chat/completions';
  const body = { model: 'talker', messages: [{ role: 'user', content: 'x' }] };
  const refusal = async (vendorRequest: object) => {
    const { refusal } = await tenant.api.send('makeCall', {
      body: { customerId: 'default', vendor: { url, provider: 'openai', body, ...vendorRequest } },
    });
    return refusal;
  };
  expect(await refusal({ headers: { Authorization: 'Bearer x', 'X-Service-Tier': 'priority' } })).toMatchObject({
    code: 'BOUND_UNKNOWN',
    component: 'field:chat/headers',
    param: 'vendor.headers',
  });
  expect(await refusal({ url: `${url}?service_tier=priority` })).toMatchObject({
    component: 'field:chat/query',
    param: 'vendor.url',
  });
  expect(bodies).toEqual([]);
});
