/**
 * Promise: the kind of a vendor decides its requests: the kind that was set, otherwise that of its address, otherwise
 * that of its whole name; on credit OpenAI and Azure get one name of the output bound, and compatible vendors get the
 * oldest.
 */

import { describe, expect, test } from 'vitest';
import type { Tenant } from '../support/api.ts';
import { planOnCredit, TWO_RATES } from '../support/credit-plans.ts';
import { fundedCustomer } from '../support/customer.ts';
import { ask, completion, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

const ON_CREDIT = planOnCredit({ maxOutputTokens: 100 });

const setVendor = ({ organizationId }: Tenant, provider: string, body: object) =>
  operator.send('setVendor', {
    params: { org: organizationId, provider },
    body: { apiKey: 'sk-test', ...body },
  });

/** A customer on credit, and its organization's vendors, each with a model that has a price. */
async function onCredit(vendors: Record<string, object>) {
  const tenant = await newTenant(ON_CREDIT);
  for (const [provider, body] of Object.entries(vendors)) {
    expect((await setVendor(tenant, provider, body)).status).toBe(200);
    const params = { org: tenant.organizationId, modelKey: `${provider}/talker` };
    expect((await operator.send('setPrice', { params, body: { components: TWO_RATES } })).status).toBe(200);
  }
  await fundedCustomer(tenant, 'default', { usd: '5' });
  return tenant;
}

/** The names of the output bound that vendors are sent, with their values. */
function boundsSent(): object[] {
  const sent: object[] = [];
  vendor.answers = (_url, body) => {
    const names = ['max_completion_tokens', 'max_tokens'].filter((name) => name in body);
    sent.push(Object.fromEntries(names.map((name) => [name, body[name]])));
    return Response.json(completion(body.model));
  };
  return sent;
}

const VENDORS = {
  'azure-north': { baseUrl: 'https://north.example.com/openai/v1', kind: 'azure' },
  'openai-eu': { baseUrl: 'https://eu.api.openai.com/v1' },
  'my-openai': { baseUrl: 'https://proxy.example.com/v1' },
};
const NEWEST = [
  [{}, { max_completion_tokens: 100 }],
  [{ max_tokens: 50 }, { max_tokens: 50 }],
  [{ max_tokens: 500 }, { max_tokens: 100 }],
  [{ max_tokens: 50, max_completion_tokens: 70 }, { max_completion_tokens: 50 }],
] as const;
const OLDEST = [
  [{}, { max_tokens: 100 }],
  [{ max_completion_tokens: 50 }, { max_completion_tokens: 50, max_tokens: 50 }],
] as const;

describe('a request on credit has the bound under a name that its vendor knows', () => {
  test.each([
    ['azure-north', NEWEST],
    ['openai-eu', NEWEST],
    ['my-openai', OLDEST],
  ])('through the gateway to %s', async (provider, cases) => {
    const tenant = await onCredit(VENDORS);
    const sent = boundsSent();
    for (const [body] of cases) {
      const { response, rest } = await ask(tenant.key, { model: `${provider}/talker`, ...body });
      await rest();
      expect(response.status).toBe(200);
    }
    expect(sent).toEqual(cases.map(([, bounds]) => bounds));
  });

  test.each([
    ['that is registered there, whatever it is called', 'https://north.example.com/openai/v1', 'nobody', NEWEST],
    ['of a known host, whatever it is called', 'https://eu.api.openai.com/v1', 'my-openai', NEWEST],
    ['that nobody knows, whatever it is called', 'https://elsewhere.example.com/v1', 'openai', OLDEST],
  ])('by POST /call to a vendor %s', async (_what, baseUrl, provider, cases) => {
    const tenant = await onCredit(VENDORS);
    const params = { org: tenant.organizationId, modelKey: 'talker' };
    expect((await operator.send('setPrice', { params, body: { components: TWO_RATES } })).status).toBe(200);
    const sent = boundsSent();
    for (const [bounds] of cases) {
      const body = { model: 'talker', messages: [], ...bounds };
      const call = { customerId: 'default', vendor: { url: `${baseUrl}/chat/completions`, provider, body } };
      expect((await tenant.api.send('makeCall', { body: call })).data.vendor?.status).toBe(200);
    }
    expect(sent).toEqual(cases.map(([, bounds]) => bounds));
  });
});

test('a new vendor is of the kind that is set, else of that of its address, else of that of its whole name', async () => {
  const tenant = await newTenant();
  const registered = async (provider: string, body: object) => (await setVendor(tenant, provider, body)).data.kind;
  const proxy = { baseUrl: 'https://proxy.example.com/v1' };
  expect(await registered('google', {})).toBe('google');
  expect(await registered('north', { baseUrl: 'https://north.openai.azure.com/openai/v1' })).toBe('azure');
  expect(await registered('openai', { baseUrl: 'https://openrouter.ai/api/v1' })).toBe('openrouter');
  expect(await registered('anthropic', proxy)).toBe('anthropic');
  expect(await registered('claude', { ...proxy, kind: 'anthropic' })).toBe('anthropic');
  // A PUT replaces the whole vendor.
  expect(await registered('claude', proxy)).toBe('compatible');
  const read = await operator.send('readVendor', { params: { org: tenant.organizationId, provider: 'north' } });
  expect(read.data.kind).toBe('azure');
  const refused = await setVendor(tenant, 'north', { ...proxy, kind: 'Azure' });
  const message = 'must be one of openai, anthropic, google, azure, bedrock, vertex, openrouter, compatible';
  expect(refused.refusal).toMatchObject({ code: 'BAD_REQUEST', details: [{ path: 'kind', message }] });
});

test('the kind decides which endpoints a vendor has and in which form chat is asked for', async () => {
  const tenant = await newTenant();
  await setVendor(tenant, 'claude-proxy', { baseUrl: 'https://proxy.example.com/v1', kind: 'anthropic' });
  const urls: string[] = [];
  vendor.answers = (url, { model }) => {
    urls.push(url);
    return Response.json({
      ...{ id: 'm', type: 'message', role: 'assistant', model, stop_reason: 'end_turn' },
      ...{ content: [{ type: 'text', text: 'hi' }], usage: { input_tokens: 10, output_tokens: 4 } },
    });
  };
  const chat = await ask(tenant.key, { model: 'claude-proxy/c' });
  expect([chat.response.status, urls]).toEqual([200, ['https://proxy.example.com/v1/messages']]);
  const other = await ask(tenant.key, { model: 'claude-proxy/c', input: 'x' }, bindings, '/v1/responses');
  expect(await other.response.json()).toMatchObject({ error: { code: 'ENDPOINT_NOT_OFFERED' } });
});

test('a vendor that a version without kinds registers during an upgrade is of the kind that its name had there', async () => {
  const tenant = await newTenant();
  await setVendor(tenant, 'anthropic', { baseUrl: 'https://proxy.example.com/v1', kind: 'compatible' });
  await bindings.DB.prepare('UPDATE vendor_credentials SET kind = NULL WHERE organization_id = ?')
    .bind(tenant.organizationId)
    .run();
  const { data } = await operator.send('listVendors', { params: { org: tenant.organizationId } });
  expect(data.items.map(({ provider, kind }) => [provider, kind])).toEqual([
    ['anthropic', 'anthropic'],
    ['openai', 'openai'],
  ]);
});
