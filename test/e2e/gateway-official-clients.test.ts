/**
 * Promise: the official clients of the three vendors find what they look for as they come, and what is not there, or is not
 * understood, is told in the form that they read.
 */
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import { ApiError, GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AnthropicError, GatewayError, GoogleError } from '../../src/contract/gateway/answers.ts';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';
import { until } from './local-server.ts';

const GPT = 'openai/gpt-5.2';
const messages = [{ role: 'user' as const, content: 'hello' }];

let gateway: Setting;
let tenant: GatewayTenant;
beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.tenant();
});
afterAll(() => gateway?.stop());

describe('a path that no route has', () => {
  const anthropicVersion = { 'anthropic-version': '2023-06-01' };

  test.each(['/v1/complete', '/v1/organizations/usage_report/messages', '/v1/skills'])(
    "is told to Anthropic's clients in their form: %s",
    async (path) => {
      const answer = await tenant.send(path, { headers: anthropicVersion, body: {} });
      expect(answer.status).toBe(404);
      expect(AnthropicError.parse(await answer.json()).error).toMatchObject({
        type: 'not_found_error',
        message: expect.stringContaining(path),
      });
    },
  );

  test("is an error of the class of Anthropic's own SDK", async () => {
    const sdk = new Anthropic({ apiKey: tenant.key, baseURL: gateway.server.url, maxRetries: 0 });
    const thrown: unknown = await sdk.beta.skills.list().catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Anthropic.NotFoundError);
    expect(AnthropicError.parse((thrown as { error: unknown }).error).error.code).toBe('NOT_FOUND');
  });

  test("is told to Google's clients in theirs, and to all others in OpenAI's", async () => {
    const ofGoogle = await tenant.send('/v1/cachedContents', { method: 'GET', headers: { 'x-goog-api-key': 'any' } });
    expect([ofGoogle.status, GoogleError.parse(await ofGoogle.json()).error.status]).toEqual([404, 'NOT_FOUND']);
    const ofOpenAi = await tenant.send('/v1/complete', { body: {} });
    expect([ofOpenAi.status, GatewayError.parse(await ofOpenAi.json()).error.code]).toEqual([404, 'NOT_FOUND']);
  });

  test("does not change the form of OpenAI's routes, whichever headers a request has", async () => {
    const headers = { ...anthropicVersion, 'x-goog-api-key': 'any' };
    const answer = await tenant.send('/v1/chat/completions', { headers, body: { model: 'nobody/x', messages } });
    expect(GatewayError.parse(await answer.json()).error).toMatchObject({ code: 'VENDOR_NOT_CONFIGURED' });
  });
});

/** The call that an answer names, as lists have it. */
async function listedCall(answer: Response) {
  expect([answer.status, await answer.text()]).toMatchObject([200, expect.any(String)]);
  const callId = answer.headers.get('x-service-call-id');
  const find = async () => {
    const { items } = (await tenant.api.send('listCalls', { query: {} })).data;
    return items.find((item: { callId: string }) => item.callId === callId);
  };
  await until(async () => (await find()) !== undefined);
  return (await find()) as NonNullable<Awaited<ReturnType<typeof find>>>;
}

describe('a feature that is the empty text is no feature', () => {
  const featureOf = async (answer: Response) => (await listedCall(answer)).feature;

  test.each([
    ['/v1/chat/completions', { model: GPT, messages }],
    ['/v1/responses', { model: GPT, input: 'hello' }],
    ['/v1/messages', { model: 'claude-sonnet-5-5', max_tokens: 50, messages }],
    ['/v1beta/models/gemini-3.8-flash:generateContent', { contents: [{ parts: [{ text: 'hello' }] }] }],
  ])('in a body to %s', async (path, body) => {
    expect(await featureOf(await tenant.send(path, { body: { ...body, feature: '' } }))).toBeNull();
    expect(gateway.vendor.requests.at(-1)?.body).not.toHaveProperty('feature');
  });

  test('in a header, in which another one still counts', async () => {
    const body = { model: GPT, messages };
    const of = async (feature: string) =>
      featureOf(await tenant.send('/v1/chat/completions', { body, headers: { 'x-usage-feature': feature } }));
    expect(await of('')).toBeNull();
    expect(await of('search')).toBe('search');
  });

  test('a blank one is still refused by its name', async () => {
    const answer = await tenant.send('/v1/chat/completions', { body: { model: GPT, messages, feature: '  ' } });
    expect([answer.status, GatewayError.parse(await answer.json()).error.param]).toEqual([400, 'feature']);
  });

  test('with a session too', async () => {
    const session = await tenant.api.send('createGatewaySession', { body: { customerId: 'anna', feature: 'chat' } });
    const headers = { Authorization: `Bearer ${session.data.token}` };
    const answer = await tenant.send('/v1/chat/completions', { headers, body: { model: GPT, messages, feature: '' } });
    expect(await featureOf(answer)).toBe('chat');
  });
});

describe('text in our own headers that is not ASCII', () => {
  const asBytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
  const ask = (headers: Record<string, string>) =>
    tenant.send('/v1/chat/completions', { headers, body: { model: GPT, messages } });

  test.each(['müller', 'Zoë ✓', '山田', '👋🏽', 'Ã¼'])('is what the body would name, in UTF-8: %s', async (name) => {
    const answer = await ask({
      'x-usage-customer-id': asBytes(name),
      'x-usage-customer-user-id': asBytes(name),
      'x-usage-feature': asBytes(name),
      'x-usage-tags': asBytes(`${name},b`),
    });
    expect(await listedCall(answer)).toMatchObject({
      customerId: name,
      customerUserId: name,
      feature: name,
      tags: [name, 'b'],
    });
  });

  // As `fetch` writes a header: what came could not be told from other names.
  test.each(['x-usage-customer-id', 'x-usage-customer-user-id', 'x-usage-feature', 'x-usage-tags'])(
    'is refused in Latin-1, by the name of its header: %s',
    async (header) => {
      const answer = await ask({ [header]: 'müller' });
      expect([answer.status, GatewayError.parse(await answer.json()).error]).toMatchObject([400, { param: header }]);
    },
  );
});

describe('a body with a content coding', () => {
  /** As it travels: `fetch` would add `Accept-Encoding`. */
  function post(path: string, headers: Record<string, string>, body: Buffer) {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; headers: object; text: string }>();
    const sent = request(`${gateway.server.url}${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${tenant.key}`, 'Content-Type': 'application/json', ...headers },
    });
    sent.on('error', reject);
    sent.on('response', async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    sent.end(body);
    return promise;
  }
  const body = Buffer.from(JSON.stringify({ model: GPT, messages }));

  test.each([
    ['/v1/chat/completions', {}],
    ['/v1/messages', { 'Accept-Encoding': 'gzip' }],
    ['/v1beta/models/gemini-3.8-flash:generateContent', {}],
    ['/call_begin', { Accept: '*/*' }],
  ])('is refused at %s, with the coding that can be taken', async (path, headers) => {
    for (const coding of ['gzip', 'br', 'zstd', 'identity, gzip']) {
      const answer = await post(path, { ...headers, 'Content-Encoding': coding }, gzipSync(body));
      expect([answer.status, answer.headers]).toMatchObject([415, { 'accept-encoding': 'identity' }]);
      expect(answer.text).toContain('Content-Encoding');
    }
  });

  test('another media type is not about codings', async () => {
    const answer = await post('/v1/chat/completions', { 'Content-Type': 'text/plain' }, body);
    expect(answer.status).toBe(415);
    expect(answer.headers).not.toHaveProperty('accept-encoding');
  });

  test('identity is no coding', async () => {
    expect(await post('/v1/chat/completions', { 'Content-Encoding': 'Identity' }, body)).toMatchObject({ status: 200 });
  });
});

describe("ids of another vendor's tool calls, in a history that goes to Claude", () => {
  const CLAUDE = 'claude-sonnet-5-5';
  const IDS = ['functions.now:0', 'functions_now_0', 'functions now 0', 'call_1', 'é|{"x":1}', ''];
  const name = 'now';
  interface Block {
    type: string;
    id?: string;
    tool_use_id?: string;
  }
  /** The ids of the calls, and of the results, of the request that the vendor got last. */
  function sentIds() {
    const sent: { content: string | Block[] }[] = gateway.vendor.requests.at(-1)?.body.messages;
    const blocks = sent.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
    const of = (type: string) => blocks.filter((block) => block.type === type);
    return { calls: of('tool_use').map(({ id }) => id), results: of('tool_result').map((block) => block.tool_use_id) };
  }
  function expectTaken({ calls, results }: ReturnType<typeof sentIds>) {
    expect(calls).toHaveLength(IDS.length);
    for (const id of calls) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(new Set(calls).size).toBe(IDS.length);
    expect(results).toEqual(calls);
    expect(calls[IDS.indexOf('call_1')]).toBe('call_1');
  }

  test("are ids that it takes in OpenAI's form, each the same for call and result", async () => {
    const tool_calls = IDS.map((id) => ({ id, type: 'function' as const, function: { name, arguments: '{}' } }));
    const results = IDS.map((id) => ({ role: 'tool' as const, tool_call_id: id, content: 'noon' }));
    const tools = [{ type: 'function' as const, function: { name, parameters: { type: 'object', properties: {} } } }];
    const history = [...messages, { role: 'assistant' as const, content: null, tool_calls }, ...results];
    await tenant.openai.chat.completions.create({ model: CLAUDE, messages: history, tools });
    expectTaken(sentIds());
    const first = sentIds();
    const answer = await tenant.openai.chat.completions.create({
      model: CLAUDE,
      messages: [...history, { role: 'user', content: 'once more [tool]' }],
      tools,
    });
    // A prompt that is cached at the vendor stays the same.
    expect(sentIds()).toEqual(first);
    const said = answer.choices[0]?.message;
    expect(said?.tool_calls).toHaveLength(1);
  });

  test("are ids that it takes in Anthropic's own form, also when tokens are counted", async () => {
    const sdk = new Anthropic({ apiKey: tenant.key, baseURL: gateway.server.url, maxRetries: 0 });
    const history: Anthropic.MessageParam[] = [
      ...messages,
      { role: 'assistant', content: IDS.map((id) => ({ type: 'tool_use', id, name, input: {} })) },
      { role: 'user', content: IDS.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'noon' })) },
    ];
    const tools: Anthropic.Tool[] = [{ name, input_schema: { type: 'object' } }];
    await sdk.messages.create({ model: CLAUDE, max_tokens: 100, messages: history, tools });
    expectTaken(sentIds());
    const sent = sentIds();
    await sdk.messages.countTokens({ model: CLAUDE, messages: history, tools });
    expect(sentIds()).toEqual(sent);
  });
});

describe('when a vendor of Google says in its details that a client is to come back', () => {
  const RETRY = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.074824224s' };
  const QUOTA = {
    '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
    violations: [{ quotaMetric: 'requests', quotaValue: '5' }],
  };
  const error = {
    code: 429,
    message: 'You exceeded your quota.',
    status: 'RESOURCE_EXHAUSTED',
    details: [QUOTA, RETRY],
  };
  let busy: Loopback;
  let limited: GatewayTenant;
  beforeAll(async () => {
    limited = await gateway.tenant();
    busy = await serveOnLoopback(async (asked, response) => {
      for await (const _chunk of asked);
      const isCompatible = asked.url?.includes('/openai/') ?? false;
      response.writeHead(429, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isCompatible ? [{ error }] : { error }));
    });
    const body = { apiKey: 'any-key-will-do', baseUrl: `${busy.url}/v1beta` };
    const params = { org: limited.organizationId, provider: 'google' };
    expect((await gateway.server.operator.send('setVendor', { params, body })).status).toBe(200);
  });
  afterAll(() => busy?.close());

  test("Google's clients find it there, and in Retry-After", async () => {
    const google = new GoogleGenAI({ apiKey: limited.key, httpOptions: { baseUrl: gateway.server.url } });
    const ask = { model: 'gemini-3.8-flash', contents: 'hello' };
    for (const request of [() => google.models.generateContent(ask), () => google.models.generateContentStream(ask)]) {
      const thrown: unknown = await request().catch((failure: unknown) => failure);
      expect(thrown).toBeInstanceOf(ApiError);
      const { error: told } = GoogleError.parse(JSON.parse((thrown as ApiError).message));
      expect(told).toMatchObject({ code: 429, status: 'RESOURCE_EXHAUSTED' });
      expect(told.details).toEqual(expect.arrayContaining([QUOTA, RETRY]));
    }
    const answer = await limited.send('/v1beta/models/gemini-3.8-flash:generateContent', {
      body: { contents: [{ parts: [{ text: 'hello' }] }] },
    });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '35']);
  });

  test("OpenAI's clients find it in Retry-After", async () => {
    const thrown: unknown = await limited.openai.chat.completions
      .create({ model: 'google/gemini-3.8-flash', messages })
      .catch((failure: unknown) => failure);
    expect(thrown).toBeInstanceOf(OpenAI.RateLimitError);
    expect((thrown as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('35');
  });
});

describe("Google's client finds the models that it can ask for", () => {
  const GEMINI = 'gemini-3.8-flash';
  const client = (apiKey = tenant.key, apiVersion?: string) =>
    new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.server.url, ...(apiVersion && { apiVersion }) } });

  test.each([undefined, 'v1', 'v1beta'])('in pages, each once, whichever version it asks for: %s', async (version) => {
    const { models } = client(tenant.key, version);
    const listed = await Array.fromAsync(await models.list({ config: { pageSize: 3 } }));
    const names = listed.map(({ name }) => name);
    expect(names).toContain(`models/${GEMINI}`);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(3);
    // No model of another vendor is listed.
    expect(names.filter((name) => !/^models\/gem/.test(name ?? ''))).toEqual([]);
    const first = await models.list({ config: { pageSize: 3 } });
    expect(first.page.map(({ name }) => name)).toEqual(names.slice(0, 3));
    expect(await Array.fromAsync(await models.list())).toEqual(listed);
  });

  test('with their names, limits and what they can be asked for', async () => {
    const { models } = client();
    const listed = await Array.fromAsync(await models.list());
    const read = await models.get({ model: GEMINI });
    expect(read).toMatchObject({
      name: `models/${GEMINI}`,
      displayName: 'Gemini 3.8 Flash',
      inputTokenLimit: expect.any(Number),
      outputTokenLimit: expect.any(Number),
      supportedActions: ['generateContent', 'streamGenerateContent', 'countTokens'],
    });
    expect(listed.find(({ name }) => name === read.name)).toMatchObject({ displayName: read.displayName });
    const embedding = listed.find(({ name }) => name === 'models/gemini-embedding-2');
    expect(embedding?.supportedActions).toContain('embedContent');
    // A name with its vendor is the same model, and each that is listed can be asked.
    expect((await models.get({ model: `google/${GEMINI}` })).name).toBe(read.name);
    const { text } = await models.generateContent({ model: read.name ?? '', contents: 'say hello [reply:2]' });
    expect(text).toBe('héllo 世界');
  });

  test('only those of a key that is limited to some', async () => {
    const params = { org: tenant.organizationId };
    const body = { name: 'One model', models: [`google/${GEMINI}`] };
    const { key } = (await gateway.server.operator.send('createKey', { params, body })).data;
    const { models } = client(key);
    expect((await Array.fromAsync(await models.list())).map(({ name }) => name)).toEqual([`models/${GEMINI}`]);
    const thrown: unknown = await models.get({ model: 'gemini-3.5-flash' }).catch((error: unknown) => error);
    expect((thrown as ApiError).status).toBe(403);
  });

  test('and errors of its own class: a model, a vendor, a key, a page that is not there', async () => {
    const errorOf = async (asked: Promise<unknown>) => {
      const thrown = (await asked.catch((error: unknown) => error)) as ApiError;
      expect(thrown).toBeInstanceOf(ApiError);
      const { error } = GoogleError.parse(JSON.parse(thrown.message));
      return { status: thrown.status, word: error.status, message: error.message };
    };
    const { models } = client();
    expect(await errorOf(models.get({ model: 'gemini-of-nowhere' }))).toMatchObject({ status: 404, word: 'NOT_FOUND' });
    expect(await errorOf(models.get({ model: 'openai/gpt-5.2' }))).toMatchObject({ word: 'INVALID_ARGUMENT' });
    expect(await errorOf(client('nobody').models.list())).toMatchObject({ status: 401, word: 'UNAUTHENTICATED' });
    expect(await errorOf(models.list({ config: { pageToken: 'nowhere' } }))).toMatchObject({
      status: 400,
      message: expect.stringContaining('pageToken'),
    });
    expect(await errorOf(models.list({ config: { pageSize: -1 } }))).toMatchObject({
      status: 400,
      message: expect.stringContaining('pageSize'),
    });
  });

  test('and other clients still get their own form at the same address', async () => {
    const { data } = await tenant.openai.models.list();
    expect(data.map(({ id }) => id)).toContain(`google/${GEMINI}`);
    const ofAnthropic = await tenant.send('/v1/models', {
      method: 'GET',
      headers: { 'anthropic-version': '2023-06-01' },
    });
    expect(await ofAnthropic.json()).toMatchObject({ data: expect.any(Array), has_more: false });
    // A key in the address is not taken, because addresses are logged; the refusal has Google's form.
    const inAddress = await fetch(`${gateway.server.url}/v1/models?key=${tenant.key}`);
    expect([inAddress.status, GoogleError.parse(await inAddress.json()).error.status]).toEqual([
      401,
      'UNAUTHENTICATED',
    ]);
  });
});

describe("OpenAI's client compacts a conversation", () => {
  const asked = { model: 'gpt-5.2', input: 'a long talk [reply:6]' } as const;

  test('as a call with the usage that its vendor reports', async () => {
    const { data, response } = await tenant.openai.responses
      .compact({ ...asked, ...{ customer: 'compact' } })
      .withResponse();
    expect([data.object, data.output.at(-1)?.type]).toEqual(['response.compaction', 'compaction']);
    const request = gateway.vendor.requests.at(-1);
    expect([request?.path, request?.body]).toEqual(['/v1/responses/compact', asked]);
    const call = await tenant.call(response.headers.get('x-service-call-id') ?? '');
    expect(call).toMatchObject({ status: 'COMPLETED', pricingStatus: 'FINAL', customerId: 'compact' });
    // As a response with the same words.
    const whole = await tenant.openai.responses.create(asked).withResponse();
    expect(call.costUSD).toBe((await tenant.call(whole.response.headers.get('x-service-call-id') ?? '')).costUSD);
    expect(call.costUSD).toBeGreaterThan(0);
  });

  test('and a plan, a key or a vendor that does not allow it refuses it before the vendor is asked', async () => {
    const denied = await gateway.tenant({ name: 'None', limitType: 'BLOCK', limits: { premiumCalls: 0 } });
    const before = gateway.vendor.requests.length;
    await expect(denied.openai.responses.compact(asked)).rejects.toMatchObject({
      status: 403,
      code: 'ENTITLEMENT_DENIED',
    });
    await expect(tenant.openai.responses.compact({ ...asked, model: 'claude-sonnet-5-5' })).rejects.toMatchObject({
      status: 400,
      code: 'ENDPOINT_NOT_OFFERED',
    });
    const params = { org: tenant.organizationId };
    const body = { name: 'Another model', models: ['openai/gpt-4.1-mini'] };
    const { key } = (await gateway.server.operator.send('createKey', { params, body })).data;
    await expect(tenant.sdk({ apiKey: key }).responses.compact(asked)).rejects.toMatchObject({
      code: 'MODEL_NOT_ALLOWED',
    });
    expect(gateway.vendor.requests).toHaveLength(before);
  });

  test('on credit at a known bound of the output, and not without one', async () => {
    const paid = await gateway.tenant({
      name: 'Paid',
      limitType: 'BLOCK',
      limits: { standardCalls: 0, premiumCalls: 0 },
      payg: { enabled: true },
    });
    const params = { org: paid.organizationId, customerId: 'default' };
    await paid.api.send('provisionCustomer', { body: { customerId: 'default' } });
    const grant = { params, body: { kind: 'USD', amountUsd: '5' } };
    expect((await gateway.server.operator.send('grantCredit', grant)).status).toBe(200);
    const price = {
      params: { org: paid.organizationId, modelKey: 'openai/gpt-of-our-own' },
      body: { inputUsdPerMillion: 1, outputUsdPerMillion: 1 },
    };
    expect((await gateway.server.operator.send('setPrice', price)).status).toBe(200);
    expect((await paid.openai.responses.compact(asked)).object).toBe('response.compaction');
    await expect(paid.openai.responses.compact({ ...asked, model: 'openai/gpt-of-our-own' })).rejects.toMatchObject({
      status: 403,
      code: 'BOUND_UNKNOWN',
    });
  });
});

describe("OpenAI's client counts the tokens of an input", () => {
  const asked = { model: 'gpt-5.2', input: 'three small words' };

  test('at the vendor, without a call, also if the plan allows none', async () => {
    const denied = await gateway.tenant({ name: 'None', limitType: 'BLOCK', limits: { premiumCalls: 0 } });
    const { data, response } = await denied.openai.responses.inputTokens.count(asked).withResponse();
    expect(data).toEqual({ object: 'response.input_tokens', input_tokens: 3 });
    expect(response.headers.get('x-service-call-id')).toBeNull();
    const request = gateway.vendor.requests.at(-1);
    expect([request?.path, request?.body]).toEqual(['/v1/responses/input_tokens', asked]);
  });

  test('and is told what is missing, and where models of other vendors are counted', async () => {
    await expect(tenant.openai.responses.inputTokens.count({ input: 'x' })).rejects.toMatchObject({
      status: 400,
      param: 'model',
    });
    await expect(
      tenant.openai.responses.inputTokens.count({ ...asked, model: 'claude-sonnet-5-5' }),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining('/v1/messages/count_tokens') });
  });
});

test("a browser's session reaches neither, because the contract gives it two routes", async () => {
  const { token } = (await tenant.api.send('createClientSession', { body: { customerId: 'eve' } })).data;
  const { responses } = tenant.sdk({ apiKey: token });
  for (const ask of [responses.compact.bind(responses), responses.inputTokens.count.bind(responses.inputTokens)])
    await expect(ask({ model: 'gpt-5.2', input: 'x' })).rejects.toMatchObject({
      status: 403,
      code: 'API_KEY_SCOPE_REQUIRED',
    });
});
