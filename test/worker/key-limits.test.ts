/**
 * Promise: a key that is limited to models or features pays for nothing else. Anything outside is refused before a
 * change, on every surface; usage that has already happened is recorded all the same; and a limit is in force when its
 * change is acknowledged, for the sessions of the key too.
 */
import { createExecutionContext, runDurableObjectAlarm, waitOnExecutionContext } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { ModelOperation } from '../../src/contract/gateway/operations.ts';
import { type Operation, operations } from '../../src/contract/operations.ts';
import { COUNTING } from '../../src/gateway/dialects/counting.ts';
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts';
import type { Api, Tenant } from '../support/api.ts';
import { answers, ask, BASE_URL, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

mockVendor();

const PLAN = {
  name: 'P',
  limitType: 'NONE',
  customMeters: { CUSTOM1: { label: 'Pages', unlimited: true } },
};
const MAPPINGS = {
  standard: ['anthropic/claude-haiku-4-5', 'openai/gpt-4o-mini'],
  premium: ['openai/gpt-5.2', 'openai/gpt-4o'],
};
const CHAT = '/v1/chat/completions';

let tenant: Tenant & { key: string };
let params: { org: string };
beforeAll(async () => {
  tenant = await newTenant(PLAN);
  params = { org: tenant.organizationId };
  const vendors = ['anthropic', 'google'].map((provider) =>
    operator.send('setVendor', { params: { ...params, provider }, body: { apiKey: 'sk-test', baseUrl: BASE_URL } }),
  );
  const jina = { apiKey: 'sk-test', baseUrl: 'https://jina.example.com/v1', passthrough: ['/v1/rerank', '/v1/jobs/*'] };
  const set = await Promise.all([
    ...vendors,
    operator.send('setVendor', { params: { ...params, provider: 'jina' }, body: jina }),
    operator.send('setModels', { params, body: MAPPINGS }),
  ]);
  expect(set.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

interface Limits {
  models?: string[] | null;
  features?: string[] | null;
}

async function limited(limits: Limits, more: object = {}) {
  const body = { name: 'limited', ...limits, ...more };
  const { key, keyId } = (await operator.send('createKey', { params, body })).data;
  const change = async (to: Limits) => {
    const changed = await operator.send('updateKey', { params: { ...params, keyId }, body: to });
    return changed.data;
  };
  return { key, keyId, api: operator.with(key), change };
}

/** Each test has a customer of its own; a refused one is never created. */
const stranger = () => `c-${crypto.randomUUID()}`;
const isThere = async (customerId: string) =>
  (await tenant.api.send('readUsage', { params: { customerId } })).status === 200;

async function gateway(key: string, body: object, path = CHAT, headers: Record<string, string> = {}) {
  const { response, callId, rest } = await ask(key, body, bindings, path, headers);
  // biome-ignore lint/suspicious/noExplicitAny: each API has errors of its own form
  const json = (await response.json()) as any;
  await rest();
  return { status: response.status, headers: response.headers, json, error: json.error, callId };
}

const app = createApp();
async function get(key: string, path: string, headers: Record<string, string> = {}) {
  const context = createExecutionContext();
  const response = await app.request(
    path,
    { headers: { Authorization: `Bearer ${key}`, ...headers } },
    bindings,
    context,
  );
  // biome-ignore lint/suspicious/noExplicitAny: each API has answers of its own form
  const json = (await response.json()) as any;
  await waitOnExecutionContext(context);
  return { status: response.status, json };
}

describe('a key that is limited to models', () => {
  /** The fields that the endpoints need, all in one body. */
  const BODY = {
    ...{ messages: [{ role: 'user', content: 'x' }], input: 'x', prompt: 'x', voice: 'alloy', max_tokens: 5 },
    ...{ contents: [{ parts: [{ text: 'x' }] }], content: { parts: [{ text: 'x' }] }, requests: [{}] },
  };
  const endpoints = [...Object.values(DIALECTS), ...Object.values(COUNTING)].map(({ operation }) => operation);

  async function request(key: string, { path, form }: ModelOperation & { form?: true }, model: string) {
    const customerId = stranger();
    const headers = { Authorization: `Bearer ${key}`, 'x-usage-customer-id': customerId };
    const form_ = new FormData();
    form_.set('model', model);
    for (const field of ['file', 'image']) form_.set(field, new File(['x'], 'x.png', { type: 'image/png' }));
    form_.set('prompt', 'x');
    const body = form ? form_ : JSON.stringify({ ...BODY, ...(path.includes('{model}') ? {} : { model }) });
    const context = createExecutionContext();
    const response = await app.request(
      path.replace('{model}', model),
      { method: 'POST', headers: { ...headers, ...(form ? {} : { 'Content-Type': 'application/json' }) }, body },
      bindings,
      context,
    );
    const json = (await response.json()) as { error: Record<string, unknown> };
    await waitOnExecutionContext(context);
    return { status: response.status, json, customerId };
  }

  test.each(endpoints.map((operation) => [operation.operationId, operation] as const))(
    'is refused any other at %s, in the form of its API, and no vendor is asked',
    async (_id, operation) => {
      const { key } = await limited({ models: ['openai/gpt-4.1', 'service/standard'] });
      const { status, json, customerId } = await request(key, operation as ModelOperation, 'gpt-5.2');
      const message =
        'the model "gpt-5.2" is not allowed: the API key is limited to the models openai/gpt-4.1, service/standard';
      const isGoogle = operation.path.startsWith('/v1beta/');
      const code = isGoogle ? (json.error.details as { reason: string }[])[0]?.reason : json.error.code;
      expect([status, code, json.error.message]).toEqual([403, 'MODEL_NOT_ALLOWED', message]);
      expect(globalThis.fetch).not.toHaveBeenCalled();
      expect(await isThere(customerId)).toBe(false);
    },
  );

  test('may run each of its models under every name that means it', async () => {
    vendor.answers = answers;
    const { key } = await limited({ models: ['gpt-4o', 'openai/gpt-5.2'] });
    for (const model of ['gpt-4o', 'openai/gpt-4o', 'gpt-5.2', 'openai/gpt-5.2'])
      expect((await gateway(key, { model })).status).toBe(200);
    for (const model of ['gpt-4o-mini', 'anthropic/gpt-4o', 'gpt-4.1'])
      expect((await gateway(key, { model })).error).toMatchObject({ code: 'MODEL_NOT_ALLOWED', param: 'model' });
  });

  test('skips the models of fallbacks and mappings that it is not for, and is refused if none is left', async () => {
    const asked: unknown[] = [];
    vendor.answers = (url, body) => {
      asked.push(body.model);
      return answers(url, body);
    };
    const { key } = await limited({ models: ['gpt-4o', 'gpt-4o-mini'] });
    const run = async (body: object) => (await gateway(key, body)).status;
    expect(await run({ model: 'gpt-5.2', models: ['openai/gpt-4o'] })).toBe(200);
    expect(await run({ model: 'service/premium' })).toBe(200);
    expect(await run({ model: 'service/standard' })).toBe(200);
    expect(asked).toEqual(['gpt-4o', 'gpt-4o', 'gpt-4o-mini']);
    const narrow = await limited({ models: ['gpt-4o-mini'] });
    const refused = await gateway(narrow.key, { model: 'gpt-5.2', models: ['gpt-4o'] });
    expect([refused.status, refused.error.code, refused.error.param]).toEqual([403, 'MODEL_NOT_ALLOWED', 'model']);
    // Standard models only stand in for premium ones, and are not enough by themselves.
    expect((await gateway(narrow.key, { model: 'service/premium' })).error.code).toBe('MODEL_NOT_ALLOWED');
    expect(asked).toHaveLength(3);
  });

  test('may run what is mapped to a mapping on its list, under any name', async () => {
    vendor.answers = answers;
    const { key } = await limited({ models: ['service/premium'] });
    for (const model of ['service/premium', 'gpt-4o', 'openai/gpt-5.2'])
      expect((await gateway(key, { model })).status).toBe(200);
    for (const model of ['service/standard', 'gpt-4o-mini'])
      expect((await gateway(key, { model })).error.code).toBe('MODEL_NOT_ALLOWED');
  });

  test('is refused a tool that runs another model', async () => {
    const { key } = await limited({ models: ['gpt-5.2'] });
    const tools = [{ type: 'image_generation', model: 'gpt-image-1' }];
    const { status, error } = await gateway(key, { input: 'x', tools }, '/v1/responses');
    expect([status, error.code, error.param]).toEqual([403, 'MODEL_NOT_ALLOWED', 'tools']);
    vendor.answers = answers;
    const own = [{ type: 'function', function: { name: 'f', parameters: { model: 'gpt-4o' } } }];
    expect((await gateway(key, { tools: own })).status).toBe(200);
  });

  test('lists and reads its models alone, in the forms of both APIs', async () => {
    const { key } = await limited({ models: ['service/premium', 'gpt-4o-2024-11-20', 'acme/x', 'claude-haiku-4-5'] });
    const listed = async (headers = {}) =>
      (await get(key, '/v1/models', headers)).json.data.map(({ id }: { id: string }) => id).sort();
    // No vendor has the name acme, so nothing of it can be run.
    expect(await listed()).toEqual([
      'anthropic/claude-haiku-4-5',
      'openai/gpt-4o',
      'openai/gpt-4o-2024-11-20',
      'openai/gpt-5.2',
      'service/premium',
      'service/standard',
    ]);
    const bare = await limited({ models: ['gpt-4.1'] });
    expect((await get(bare.key, '/v1/models')).json.data).toMatchObject([{ id: 'openai/gpt-4.1' }]);
    const anthropic = { 'anthropic-version': '2023-06-01' };
    expect(await listed(anthropic)).toContain('claude-haiku-4-5');
    expect(await listed(anthropic)).not.toContain('claude-sonnet-5');
    for (const headers of [{}, anthropic]) {
      const { status, json } = await get(key, '/v1/models/claude-sonnet-5', headers);
      expect([status, json.error.code]).toEqual([403, 'MODEL_NOT_ALLOWED']);
    }
    expect((await get(key, '/v1/models/gpt-4o')).json.id).toBe('openai/gpt-4o');
    expect((await get(key, '/v1/models/gpt-unheard-of')).status).toBe(404);
  });

  test('is refused an open path that names another model anywhere, or none', async () => {
    const { key } = await limited({ models: ['jina/small'] });
    const run = async (path: string, body: object) =>
      gateway(key, { messages: undefined, ...body }, `/v1/passthrough/jina${path}`);
    for (const [path, body] of [
      ['/v1/rerank', { model: 'large' }],
      ['/v1/rerank', { model: undefined }],
      ['/v1/rerank', { model: 7 }],
      ['/v1/rerank?model=large', { model: 'small' }],
      ['/v1/rerank', { model: 'small', models: ['large'] }],
      ['/v1/rerank', { model: 'small', tools: [{ model: 'large' }] }],
      ['/v1/jobs/models/large:run', { model: 'small' }],
      ['/v1/jobs/models/large%3Arun', { model: 'small' }],
      ['/v1/jobs/deployments/large/run', { model: 'small' }],
    ] as const) {
      const { status, error } = await run(path, body);
      expect([path, status, error.code]).toEqual([path, 403, 'MODEL_NOT_ALLOWED']);
    }
    vendor.answers = () => Response.json({ usage: { prompt_tokens: 1, total_tokens: 1 } });
    expect((await run('/v1/rerank', { model: 'small' })).status).toBe(200);
    expect((await run('/v1/rerank', { model: 'jina/small' })).status).toBe(200);
    // Reads a call that already runs.
    expect((await get(key, '/v1/passthrough/jina/v1/jobs/1')).status).toBe(200);
  });

  test('is refused a unified call to another model, and one that names none', async () => {
    const { api } = await limited({ models: ['gpt-4o-mini', 'acme/large'] });
    const call = (vendor_: object, more: object = {}) => {
      const customerId = stranger();
      const body = { customerId, vendor: { url: 'https://api.example.com/v1/chat', ...vendor_ }, ...more };
      return api.send('makeCall', { body }).then((reply) => ({ reply, customerId }));
    };
    for (const request of [
      { body: { model: 'gpt-4o' } },
      { body: { model: 'gpt-4o-mini' }, provider: 'azure' },
      { body: { model: 'large' } },
      { body: {} },
      { url: 'https://api.example.com/v1beta/models/gemini-2.5-pro:generateContent', body: { model: 'gpt-4o-mini' } },
    ]) {
      const { reply, customerId } = await call(request);
      expect([reply.status, reply.refusal.code]).toEqual([403, 'MODEL_NOT_ALLOWED']);
      expect(reply.refusal.details).toMatchObject([{ path: 'vendor.body.model' }]);
      expect(await isThere(customerId)).toBe(false);
    }
    vendor.answers = answers;
    for (const request of [
      { body: { model: 'gpt-4o-mini' } },
      { body: { model: 'gpt-4o-mini' }, provider: 'OpenAI' },
      { body: { model: 'large' }, provider: 'acme' },
    ])
      expect((await call(request)).reply.data.vendor?.ok).toBe(true);
  });

  test('begins with an estimate of its own models alone, and is hinted at no other', async () => {
    const { api } = await limited({ models: ['gpt-4o'] });
    const begin = (body: object) => api.send('beginCall', { body: { customerId: stranger(), ...body } });
    const { refusal } = await begin({ estimate: { model: 'gpt-5.2', inputTokens: 1 } });
    expect([refusal.code, refusal.details]).toEqual([
      'MODEL_NOT_ALLOWED',
      [expect.objectContaining({ path: 'estimate.model' })],
    ]);
    expect((await begin({ estimate: { model: 'gpt-4o', inputTokens: 1 } })).status).toBe(200);
    const { data } = await begin({ requested: { premium: true } });
    expect(data).toMatchObject({
      models: { standard: [], premium: ['openai/gpt-4o'] },
      vendorHints: { preferredModel: 'openai/gpt-4o' },
    });
  });

  test('records what has happened with any model, with its exact cost', async () => {
    const { api } = await limited({ models: ['gpt-4o-mini'] });
    const { callId } = (await api.send('beginCall', { body: { customerId: stranger() } })).data;
    const used = { modelUsed: 'gpt-4o', inputTokens: 100, responseTokens: 10 };
    const { data } = await api.send('endCall', { body: { callId, ...used } });
    // 100 tokens at 2,500 nano-USD and 10 at 10,000.
    expect([data.status, data.modelUsed, data.costUsdNano]).toEqual(['COMPLETED', 'gpt-4o', '350000']);
    const reported = await api.send('makeCall', { body: { customerId: stranger(), usage: used } });
    expect(reported.data.end?.costUsdNano).toBe('350000');
  });
});

describe('a batch under a key that is limited to models', () => {
  const line = (model: string, more: object = {}) =>
    JSON.stringify({ custom_id: model, method: 'POST', url: CHAT, body: { model, messages: [], ...more } });

  async function create(key: string, file: string) {
    const created: unknown[] = [];
    vendor.answers = (url, body) => {
      if (url.endsWith('/content')) return new Response(file);
      created.push(body);
      return Response.json({ id: 'batch_1', status: 'validating', metadata: body.metadata });
    };
    const customer = stranger();
    const answer = await gateway(key, { input_file_id: 'f', endpoint: CHAT, customer }, '/v1/batches');
    return { ...answer, created, customer };
  }

  test.each([
    ['another model', line('gpt-5.2'), 'gpt-5.2'],
    ['a model that the catalog does not know', line('gpt-unheard-of'), 'gpt-unheard-of'],
    [
      'a tool with another model',
      line('gpt-4o', { tools: [{ type: 'image_generation', model: 'gpt-image-1' }] }),
      'gpt-image-1',
    ],
  ])('is refused by the line with %s, and holds nothing', async (_what, text, name) => {
    const { key } = await limited({ models: ['openai/my-model', 'gpt-4o'] });
    const { status, error, created, customer } = await create(key, `${line('gpt-4o')}\n${text}\n`);
    expect([status, error.code, error.param, created]).toEqual([403, 'MODEL_NOT_ALLOWED', 'input_file_id', []]);
    expect(error.message).toBe(
      `line 2 of the input file: the model "${name}" is not allowed: the API key is limited to the models openai/my-model, gpt-4o`,
    );
    expect(await isThere(customer)).toBe(false);
  });

  test('begins with its models, as the vendor names them', async () => {
    const { key } = await limited({ models: ['service/premium', 'openai/my-model', 'ft:own'] });
    const file = ['gpt-4o', 'gpt-5.2', 'my-model', 'ft:own'].map((model) => line(model)).join('\n');
    const { status, created, customer } = await create(key, file);
    expect([status, created.length]).toEqual([200, 1]);
    const { metadata } = created[0] as { metadata: { service_request_id: string } };
    const name = `${tenant.organizationId}:${metadata.service_request_id}`;
    await runDurableObjectAlarm(bindings.GATEWAY_BATCHES.getByName(name));
    expect(await isThere(customer)).toBe(true);
  });
});

/** The operations that spend: a request of the feature. */
const SPENDS: Partial<
  Record<
    string,
    (api: Api, customerId: string, feature: object) => Promise<{ status: number; body: { error?: { code: string } } }>
  >
> = {
  beginCall: (api, customerId, feature) => api.send('beginCall', { body: { customerId, ...feature } }),
  makeCall: (api, customerId, feature) =>
    api.send('makeCall', { body: { customerId, ...feature, usage: { modelUsed: 'gpt-4o', inputTokens: 1 } } }),
  incrementMeter: async (api, customerId, feature) => {
    await tenant.api.send('provisionCustomer', { body: { customerId } });
    return api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount: 1, ...feature } });
  },
  storeSample: (api, customerId, feature) =>
    api.send('storeSample', { body: { customerId, provider: 'p', input: 'x', ...feature } }),
  createClientSession: (api, customerId, feature) =>
    api.send('createClientSession', { body: { customerId, ...feature } }),
  createGatewaySession: (api, customerId, feature) =>
    api.send('createGatewaySession', { body: { customerId, ...feature } }),
};
/** The operations that change the record of a call or an event: its own feature counts. */
const RECORDED = ['endCall', 'compressPrompt', 'reverseCall', 'amendCall', 'reverseMeterEvent'];
/** The operations that change something without spending under a feature. */
const NO_SPENDING = [
  ...['provisionCustomer', 'changePlan', 'replenishCustomer', 'createEmbedSession', 'decideSampling'],
  ...['authorizeCompression', 'saveCompressionProfile', 'startCompressionJob'],
  ...['putOwnWebhook', 'deleteOwnWebhook', 'rotateOwnWebhook', 'testOwnWebhook', 'replayOwnWebhook', 'sendOwnDelivery'],
];

describe('a key that is limited to features', () => {
  const OTHERS = [{}, { feature: 'other' }, { feature: 'Chat' }, { feature: null }];

  test('is known to every operation that changes something', () => {
    const changing = Object.values<Operation>(operations)
      .filter(({ security, method }) => security.kind === 'apiKey' && method !== 'GET')
      .map(({ operationId }) => operationId);
    expect([...Object.keys(SPENDS), ...RECORDED, ...NO_SPENDING].sort()).toEqual(changing.sort());
  });

  test.each(Object.entries(SPENDS))('spends on no other by %s, and on its own', async (_id, spend) => {
    if (!spend) throw new Error('there is no request');
    const { api } = await limited({ features: ['chat', 'search'] });
    for (const other of OTHERS) {
      const customerId = stranger();
      const { status, body } = await spend(api, customerId, other);
      expect([status, body.error?.code]).toEqual([403, 'FEATURE_NOT_ALLOWED']);
      const { items } = (await tenant.api.send('listCalls', { query: { customerId } })).data;
      expect(items).toEqual([]);
    }
    for (const feature of ['chat', 'search']) expect((await spend(api, stranger(), { feature })).status).toBe(200);
  });

  test('says which features are open, and where the field is', async () => {
    const { api } = await limited({ features: ['chat', 'search'] });
    const begin = async (feature: object) =>
      (await api.send('beginCall', { body: { customerId: 'c', ...feature } })).refusal;
    const open = 'the API key is limited to the features chat, search';
    for (const [feature, message] of [
      [{ feature: 'other' }, `the feature "other" is not allowed: ${open}`],
      [{}, `the request names no feature: ${open}`],
    ] as const)
      expect(await begin(feature)).toMatchObject({ message, details: [{ path: 'feature', message }] });
    const many = await limited({ features: Array.from({ length: 12 }, (_, n) => `f${n}`) });
    const { message } = (await many.api.send('beginCall', { body: { customerId: 'c' } })).refusal;
    expect(message).toMatch(/f0, f1, .*f9 and 2 more$/);
  });

  test.each([
    CHAT,
    '/v1/messages',
    '/v1/responses',
    '/v1beta/models/gpt-4o:generateContent',
    '/v1/batches',
    '/v1/passthrough/jina/v1/rerank',
  ])('is refused at %s without one of its features, in body and header, and no vendor is asked', async (path) => {
    const { key } = await limited({ features: ['chat'] });
    const body = { input: 'x', contents: [], max_tokens: 1, input_file_id: 'f', endpoint: CHAT };
    const requests: [object, Record<string, string>][] = [
      [{}, {}],
      [{ feature: 'other' }, {}],
      [{ feature: 'other' }, { 'x-usage-feature': 'chat' }],
      [{}, { 'x-usage-feature': 'other' }],
    ];
    for (const [fields, headers] of requests) {
      const customer = stranger();
      const { status, json } = await gateway(key, { ...body, customer, ...fields }, path, headers);
      expect(status).toBe(403);
      expect(JSON.stringify(json)).toContain('FEATURE_NOT_ALLOWED');
      expect(await isThere(customer)).toBe(false);
    }
    expect(globalThis.fetch).not.toHaveBeenCalled();
  });

  test('runs calls of the gateway under its features, named by body or header', async () => {
    vendor.answers = answers;
    const { key } = await limited({ features: ['chat'] });
    expect((await gateway(key, { feature: 'chat' })).status).toBe(200);
    expect((await gateway(key, {}, CHAT, { 'x-usage-feature': 'chat' })).status).toBe(200);
  });

  test('changes the record of no call that was begun under another, and that of its own', async () => {
    const { api } = await limited({ features: ['chat'] });
    const begun = async (feature?: string) => {
      const customerId = stranger();
      return {
        customerId,
        callId: (await tenant.api.send('beginCall', { body: { customerId, feature } })).data.callId,
      };
    };
    const end = (callId: string, of = api) =>
      of.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 9 } });
    const compress = (callId: string) => {
      const promptCompression = { provider: 'toon', originalTokens: 2, compressedTokens: 1, techniques: [] };
      return api.send('compressPrompt', { body: { callId, promptCompression } });
    };
    const amend = (callId: string) =>
      api.send('amendCall', { params: { callId }, body: { reason: 'r', modelUsed: 'gpt-4o', inputTokens: 8 } });
    const reverse = (callId: string) => api.send('reverseCall', { params: { callId }, body: { reason: 'r' } });
    for (const feature of ['other', undefined]) {
      const { callId, customerId } = await begun(feature);
      const read = () => customerStub(tenant.organizationId, customerId).readCall(tenant.organizationId, callId);
      for (const change of [compress, end]) {
        const before = await read();
        expect((await change(callId)).refusal.code).toBe('FEATURE_NOT_ALLOWED');
        expect(await read()).toEqual(before);
      }
      expect((await end(callId, tenant.api)).status).toBe(200);
      for (const change of [amend, reverse]) {
        const before = await read();
        expect((await change(callId)).refusal.code).toBe('FEATURE_NOT_ALLOWED');
        expect(await read()).toEqual(before);
      }
    }
    const { callId } = await begun('chat');
    for (const change of [compress, end, amend, reverse]) expect((await change(callId)).status).toBe(200);
  });

  test('reverses no increment of another', async () => {
    const { api } = await limited({ features: ['chat'] });
    const customerId = stranger();
    await tenant.api.send('provisionCustomer', { body: { customerId } });
    const reversed = async (feature: string) => {
      const body = { customerId, meterSlot: 'CUSTOM1', amount: 1, feature };
      const { eventId } = (await tenant.api.send('incrementMeter', { body })).data;
      return api.send('reverseMeterEvent', { params: { eventId }, body: { customerId, reason: 'r' } });
    };
    expect((await reversed('other')).refusal.code).toBe('FEATURE_NOT_ALLOWED');
    expect((await reversed('chat')).status).toBe(200);
  });

  test('reads what its scopes permit, of every feature', async () => {
    const { api } = await limited({ features: ['chat'], models: ['gpt-4o'] });
    const customerId = stranger();
    const { callId } = (await tenant.api.send('beginCall', { body: { customerId, feature: 'other' } })).data;
    expect((await api.send('readCall', { params: { callId } })).data.callId).toBe(callId);
    expect((await api.send('readUsage', { params: { customerId } })).status).toBe(200);
    expect((await api.send('listCalls', { query: { feature: 'other' } })).status).toBe(200);
  });
});

describe('a session of a limited key', () => {
  const create = (api: Api, body: object) => api.send('createClientSession', { body: { customerId: 'ann', ...body } });

  test('is created only for a feature of its key, and for names of which the key opens something', async () => {
    const { api } = await limited({ models: ['gpt-4o'], features: ['chat'] });
    expect((await create(api, {})).refusal.code).toBe('FEATURE_NOT_ALLOWED');
    const { refusal } = await create(api, { feature: 'chat', models: ['gpt-4o', 'gpt-5.2'] });
    expect([refusal.code, refusal.details]).toEqual([
      'MODEL_NOT_ALLOWED',
      [expect.objectContaining({ path: 'models.1' })],
    ]);
    expect((await create(api, { feature: 'chat', models: ['service/premium'] })).status).toBe(200);
  });

  test('is never wider than its key, also if the key is narrowed later, and is not told the lists', async () => {
    vendor.answers = answers;
    const { api, change } = await limited({});
    const { token } = (await create(api, { feature: 'chat', models: ['gpt-4o', 'gpt-5.2'] })).data;
    const all = (await create(api, { feature: 'chat' })).data.token;
    const run = async (of: string, model: string) => (await gateway(of, { model, customer: 'ann' })).status;
    expect(await run(token, 'gpt-5.2')).toBe(200);
    await change({ models: ['gpt-4o', 'gpt-4o-mini'] });
    expect([await run(token, 'gpt-4o'), await run(token, 'gpt-5.2')]).toEqual([200, 403]);
    // The session's own list still counts.
    expect([await run(token, 'gpt-4o-mini'), await run(all, 'gpt-4o-mini')]).toEqual([403, 200]);
    expect((await gateway(all, { model: 'gpt-5.2' })).error).toMatchObject({
      code: 'MODEL_NOT_ALLOWED',
      message: 'the model "gpt-5.2" is not allowed: the API key of the session is limited to other models',
    });
    await change({ features: ['secret'] });
    expect((await gateway(all, { model: 'gpt-4o' })).error).toMatchObject({
      code: 'FEATURE_NOT_ALLOWED',
      message: 'the feature "chat" is not allowed: the API key of the session is limited to other features',
    });
    await change({ models: null, features: null });
    expect(await run(token, 'gpt-5.2')).toBe(200);
  });
});

describe("an operator's change of limits", () => {
  const read = async (keyId: string) => (await operator.send('readKey', { params: { ...params, keyId } })).data;

  test('is shown, copied by a rotation, in the event log, and removed by null', async () => {
    const limits = { models: ['gpt-4o', 'service/standard'], features: ['chat'] };
    const body = { name: 'n', ...limits, models: [...limits.models, 'gpt-4o'] };
    const created = (await operator.send('createKey', { params, body })).data;
    const { keyId } = created;
    expect(created).toMatchObject(limits);
    expect(await read(keyId)).toMatchObject(limits);
    const listed = (await operator.send('listKeys', { params })).data.items.find((key) => key.keyId === keyId);
    expect(listed).toMatchObject(limits);
    const rotated = (await operator.send('rotateKey', { params: { ...params, keyId }, body: {} })).data;
    expect([rotated, await read(rotated.keyId)]).toMatchObject([limits, limits]);
    const patch = { params: { ...params, keyId }, body: { models: null } };
    expect((await operator.send('updateKey', patch)).data).toMatchObject({ models: null, features: ['chat'] });
    const { items } = (await operator.send('listEvents', { query: { organizationId: params.org } })).data;
    const event = items.find(({ action, subject }) => action === 'key.update' && subject === keyId);
    expect(event).toMatchObject({ before: limits, after: { models: null, features: ['chat'] } });
    expect(await read((await limited({})).keyId)).toMatchObject({ models: null, features: null });
  });

  test('is in force when it is acknowledged, while the key is in use', async () => {
    vendor.answers = answers;
    const { key, change } = await limited({});
    const sendStatus = async (model: string) => (await gateway(key, { model })).status;
    for (const [models, expected] of [
      [['gpt-4o'], 403],
      [['gpt-4o', 'gpt-5.2'], 200],
      [['gpt-4o-mini'], 403],
      [null, 200],
    ] as const) {
      const using = Promise.all(Array.from({ length: 5 }, () => sendStatus('gpt-5.2')));
      await change({ models: models && [...models] });
      expect(await sendStatus('gpt-5.2')).toBe(expected);
      await using;
    }
  });

  test.each([
    ['models', { models: [] }],
    ['models', { models: Array.from({ length: 51 }, (_, n) => `m${n}`) }],
    ['models.0', { models: ['x'.repeat(331)] }],
    ['features.1', { features: ['a', ' '] }],
    ['features', { features: 'chat' }],
    ['models', { models: ['gpt-4o'], prefix: 'ek-' }],
    ['features', { features: ['chat'], prefix: 'ek-' }],
  ])('is refused by %s of %j', async (path, body) => {
    const { refusal } = await operator.send('createKey', { params, body: { name: 'n', ...body } });
    expect([refusal.code, (refusal.details as { path: string }[])[0]?.path]).toEqual(['BAD_REQUEST', path]);
  });

  test('is refused for a key of the widget', async () => {
    const { keyId, change } = await limited({}, { prefix: 'ek-' });
    await expect(change({ features: ['chat'] })).rejects.toThrow('an ek- key runs no models');
    expect(await read(keyId)).toMatchObject({ features: null });
  });
});
