/**
 * Promise: clients of OpenAI's API meet the gateway as they would meet the vendor: their bodies and headers arrive, the
 * vendor's headers come back, and a stream works at vendors that do not know `stream_options`.
 */
import { createExecutionContext } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { GatewayError } from '../../src/contract/gateway/answers.ts';
import { SERVICE_VERSION } from '../../src/platform/version.ts';
import type { Tenant } from '../support/api.ts';
import {
  answers,
  ask,
  BASE_URL,
  completion,
  mockVendor,
  newTenant,
  readStoredCall,
  usage,
  vendor,
} from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

const app = createApp();
type Keyed = Tenant & { key: string };

/** Sends a body as it is written. */
const sendText = (key: string, body: string, headers: Record<string, string> = {}, path = '/v1/chat/completions') =>
  app.request(
    path,
    {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
      body,
    },
    bindings,
    createExecutionContext(),
  );

async function createSession({ key }: Keyed): Promise<string> {
  return (await operator.with(key).send('createClientSession', { body: { customerId: 's' } })).data.token;
}

const setVendor = ({ organizationId }: Tenant, more: object) =>
  operator.send('setVendor', {
    params: { org: organizationId, provider: 'openai' },
    body: { apiKey: 'sk-test', baseUrl: BASE_URL, ...more },
  });

const chunk = (more: object) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...more })}\n\n`;
const TEXT = chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] });
const USAGE = chunk({ choices: [], usage });
const BESIDE = chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage });
const events = (...parts: string[]) =>
  new Response(`${parts.join('')}data: [DONE]\n\n`, { headers: { 'content-type': 'text/event-stream' } });

/** Streams, and refuses `stream_options` in a vendor's words. */
function refusing(
  status = 422,
  words: object = { detail: [{ loc: ['body', 'stream_options'], msg: 'Extra inputs' }] },
) {
  const asked: Record<string, unknown>[] = [];
  vendor.answers = (_url, body) => {
    asked.push(body);
    return 'stream_options' in body ? Response.json(words, { status }) : events(TEXT, USAGE);
  };
  return asked;
}

test.each([
  [422, { detail: [{ loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }] }],
  [400, { error: { message: 'Unknown parameter: stream_options' } }],
])('a vendor that refuses stream_options with %d is asked without it, and remembered', async (status, words) => {
  const tenant = await newTenant();
  const asked = refusing(status, words);
  const first = await ask(tenant.key, { stream: true });
  // Usage that the vendor sends unasked is not removed.
  expect([first.response.status, await first.response.text()]).toEqual([200, `${TEXT}${USAGE}data: [DONE]\n\n`]);
  await first.rest();
  expect(asked.map((body) => 'stream_options' in body)).toEqual([true, false]);
  expect(await readStoredCall(tenant, first.callId)).toMatchObject({
    status: 'COMPLETED',
    outcome: { usage: { inputTokens: 10, responseTokens: 4 } },
  });
  await (await ask(tenant.key, { stream: true })).response.text();
  expect(asked.map((body) => 'stream_options' in body)).toEqual([true, false, false]);
});

test('what the caller itself asks for is neither repeated nor remembered, and no other refusal is', async () => {
  const tenant = await newTenant();
  const asked = refusing();
  const own = await ask(tenant.key, { stream: true, stream_options: { include_usage: true } });
  expect([own.response.status, asked.length]).toEqual([422, 1]);
  vendor.answers = (_url, body) => {
    asked.push(body);
    return Response.json({ error: { message: 'stream_options and messages are wrong' } }, { status: 400 });
  };
  for (let index = 0; index < 2; index += 1)
    expect((await ask(tenant.key, { stream: true })).response.status).toBe(400);
  expect(asked.map((body) => 'stream_options' in body)).toEqual([true, true, false, true, false]);
  vendor.answers = (_url, body) => {
    asked.push(body);
    return Response.json({ error: { message: 'no such thing' } }, { status: 400 });
  };
  expect((await ask(tenant.key, { stream: true })).response.status).toBe(400);
  expect(asked).toHaveLength(6);
});

test('of a stream only the chunk of usage is taken out that the gateway asked for, also from a stored stream', async () => {
  const tenant = await newTenant();
  vendor.answers = () => events(TEXT, BESIDE, USAGE);
  const headers = { 'Idempotency-Key': crypto.randomUUID() };
  for (let index = 0; index < 2; index += 1) {
    const { response, rest } = await ask(tenant.key, { stream: true }, bindings, undefined, headers);
    expect(await response.text()).toBe(`${TEXT}${BESIDE}data: [DONE]\n\n`);
    await rest();
  }
  vendor.answers = () => events(TEXT, USAGE);
  const asking = await ask(tenant.key, { stream: true, stream_options: { include_usage: true } });
  expect(await asking.response.text()).toContain('"cost_usd":0.0000735');
});

test("vendors see the service's name, the caller's headers for them, and the vendor's fixed headers", async () => {
  const tenant = await newTenant();
  const fixed = { 'openai-project': 'proj_fixed', 'helicone-cache-enabled': 'true' };
  expect((await setVendor(tenant, { headers: fixed })).data.headers).toEqual(fixed);
  const seen: Record<string, string>[] = [];
  vendor.answers = (url, body, { headers }) => {
    seen.push(headers);
    return answers(url, body);
  };
  const own = {
    'OpenAI-Beta': 'assistants=v2',
    'OpenAI-Organization': 'org_1',
    'OpenAI-Project': 'proj_1',
    'X-Client-Request-Id': 'c-1',
    'anthropic-beta': 'b',
    'anthropic-version': '2023-06-01',
    'x-other': 'stays',
    cookie: 'stays',
  };
  await ask(tenant.key, {}, bindings, undefined, own);
  expect(seen[0]).toEqual({
    'user-agent': `callmeter/${SERVICE_VERSION}`,
    authorization: 'Bearer sk-test',
    'content-type': 'application/json',
    'openai-beta': 'assistants=v2',
    'openai-organization': 'org_1',
    'x-client-request-id': 'c-1',
    'anthropic-beta': 'b',
    'anthropic-version': '2023-06-01',
    ...fixed,
  });
  const session = await ask(await createSession(tenant), {}, bindings, undefined, own);
  expect(session.response.status).toBe(200);
  expect(seen[1]).toEqual({
    'user-agent': `callmeter/${SERVICE_VERSION}`,
    authorization: 'Bearer sk-test',
    'content-type': 'application/json',
    ...fixed,
  });
});

test('fixed headers cannot set credentials, or what the connection and the body say, and are bounded', async () => {
  const tenant = await newTenant();
  const refused: Record<string, string>[] = [
    { authorization: 'Bearer x' },
    { 'x-api-key': 'x' },
    { 'api-key': 'x' },
    { 'helicone-auth': 'x' },
    { 'x-goog-api-key': 'x' },
    { cookie: 'x' },
    { host: 'x' },
    { 'content-length': '1' },
    { 'content-type': 'text/plain' },
    { 'x-forwarded-for': 'x' },
    { 'cf-ray': 'x' },
    { 'X-Upper': 'x' },
    { 'x-a': '' },
    { 'x-a': 'line\nbreak' },
    { 'x-a': 'x'.repeat(501) },
    Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`x-${index}`, 'x'])),
  ];
  for (const headers of refused) {
    const { refusal } = await setVendor(tenant, { headers });
    const [detail] = refusal.details as { path: string }[];
    expect([refusal.code, detail?.path]).toEqual(['BAD_REQUEST', expect.stringMatching(/^headers/)]);
  }
  const { organizationId: org } = tenant;
  expect((await operator.send('readVendor', { params: { org, provider: 'openai' } })).data.headers).toBeUndefined();
});

test('what a vendor says of limits comes back with success, error and stream, to browsers only when to retry', async () => {
  const tenant = await newTenant();
  const said = {
    'x-ratelimit-remaining-requests': '9',
    'openai-processing-ms': '12',
    'anthropic-ratelimit-tokens-remaining': '7',
    'retry-after': '3',
    'retry-after-ms': '3000',
  };
  const hidden = { 'set-cookie': 'a=b', 'x-other': 'x', 'openaix-y': 'x' };
  const headers = { ...said, ...hidden };
  const token = await createSession(tenant);
  for (const [status, body, stream] of [
    [200, completion('gpt-5.2'), false],
    [429, { error: { message: 'slow down' } }, false],
    [503, { error: { message: 'away' } }, false],
    [400, { error: { message: 'wrong' } }, true],
  ] as const) {
    vendor.answers = () => Response.json(body, { status, headers });
    const { response } = await ask(tenant.key, { stream });
    expect([response.status, Object.fromEntries(response.headers)]).toMatchObject([status, said]);
    for (const name of Object.keys(hidden)) expect(response.headers.get(name)).toBeNull();
  }
  vendor.answers = () =>
    new Response(`${TEXT}data: [DONE]\n\n`, { headers: { ...headers, 'content-type': 'text/event-stream' } });
  for (const [key, isBrowser] of [
    [tenant.key, false],
    [token, true],
  ] as const) {
    const { response } = await ask(key, { stream: true });
    await response.text();
    const passed = Object.fromEntries(response.headers);
    expect(passed).toMatchObject({ 'retry-after': '3', 'retry-after-ms': '3000' });
    expect(passed['openai-processing-ms']).toBe(isBrowser ? undefined : '12');
  }
});

test('customer, user, feature and tags can come as headers', async () => {
  const tenant = await newTenant();
  vendor.answers = answers;
  const headers = { 'x-usage-customer-user-id': 'u-1', 'x-usage-feature': 'chat', 'x-usage-tags': 'web, beta' };
  const { callId } = await ask(tenant.key, {}, bindings, undefined, headers);
  expect(await readStoredCall(tenant, callId)).toMatchObject({
    customerUserId: 'u-1',
    feature: 'chat',
    tags: ['web', 'beta'],
  });
  const body = await ask(tenant.key, { feature: 'mine', tags: ['x'], user: 'u-2' }, bindings, undefined, headers);
  expect(await readStoredCall(tenant, body.callId)).toMatchObject({
    customerUserId: 'u-2',
    feature: 'mine',
    tags: ['x'],
  });
  const bad = await ask(tenant.key, {}, bindings, undefined, { 'x-usage-tags': ',' });
  expect([bad.response.status, await bad.response.json()]).toMatchObject([
    400,
    { error: { code: 'BAD_REQUEST', param: 'x-usage-tags' } },
  ]);
  const session = await ask(await createSession(tenant), {}, bindings, undefined, { 'x-usage-feature': 'chat' });
  expect([session.response.status, await session.response.json()]).toMatchObject([
    400,
    { error: { code: 'FIELD_NOT_ALLOWED', param: 'x-usage-feature' } },
  ]);
});

test('a body reaches the vendor byte for byte, but for what the service changes', async () => {
  const tenant: Keyed = await newTenant();
  const texts: string[] = [];
  vendor.answers = (url, body, sent) => {
    texts.push(sent.text);
    return answers(url, body);
  };
  const rest = '"seed": 9223372036854775807,\n "messages":[{"role":"user","content":"caf\\u00e9","x":1.0}]';
  await sendText(tenant.key, `{"model":"openai/gpt-5.2", ${rest}, "stream": false , "new": [1E2] }`);
  expect(texts.pop()).toBe(`{"model":"gpt-5.2", ${rest}, "stream": false , "new": [1E2] }`);
  const foreign = '"customer":"a","conversationId":"c","conversationTitle":"t","projectId":"p","compress":true';
  await sendText(tenant.key, `{${foreign},"feature":"f","tags":["t"],"models":[],"model":"gpt-5.2",${rest}}`);
  expect(texts.pop()).toBe(`{"model":"gpt-5.2",${rest}}`);
  vendor.answers = (_url, _body, { text }) => {
    texts.push(text);
    return events(TEXT, USAGE);
  };
  await (await sendText(tenant.key, `{"model":"gpt-5.2",${rest},"stream":true}`)).text();
  expect(texts.pop()).toBe(`{"model":"gpt-5.2",${rest},"stream":true,"stream_options":{"include_usage":true}}`);
  // The vendor might read the other one of two members with one name than the one that was checked.
  await (await sendText(tenant.key, `{"model":"gpt-5.2",${rest},"stream":true,"max_tokens":9,"max_tokens":1}`)).text();
  expect(texts.pop()).toContain('"max_tokens":1,');
  expect(texts).toEqual([]);
});

describe('a path under /v1/', () => {
  const get = async (path: string, method = 'GET', key = '') => {
    const headers = key === '' ? undefined : { Authorization: `Bearer ${key}` };
    const response = await app.request(
      path,
      { method, ...(headers && { headers }) },
      bindings,
      createExecutionContext(),
    );
    return { response, body: await response.json<{ error: Record<string, unknown> }>() };
  };

  test.each(['/v1/audio/voices', '/v1/', '/v1/chat', '/v1/compression/none', '/v1/chat/completions//'])(
    '%s is no route, which is said in the words of OpenAI, with what there is',
    async (path) => {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const { response, body } = await get(path, method);
        expect([response.status, response.headers.get('x-request-id')]).toEqual([404, expect.any(String)]);
        expect(GatewayError.parse(body).error).toMatchObject({
          type: 'invalid_request_error',
          code: 'NOT_FOUND',
          message: expect.stringContaining('POST /v1/chat/completions'),
        });
      }
    },
  );

  test('answers with a slash at its end as without', async () => {
    const tenant = await newTenant();
    vendor.answers = answers;
    const { response } = await ask(tenant.key, { customer: null }, bindings, '/v1/chat/completions/');
    expect([response.status, await response.json()]).toMatchObject([200, { object: 'chat.completion' }]);
    expect((await get('/v1/models/', 'GET', tenant.key)).response.status).toBe(200);
    const wrong = await get('/v1/chat/completions/');
    expect([wrong.response.status, wrong.response.headers.get('allow')]).toEqual([405, 'POST']);
    const redirected = await app.request('/call_begin/', {}, bindings, createExecutionContext());
    expect([redirected.status, redirected.headers.get('location')]).toEqual([
      308,
      expect.stringMatching(/\/call_begin$/),
    ]);
  });

  test('without a valid key is 401 in the words of OpenAI', async () => {
    const { response, body } = await get('/v1/models', 'GET', `utk-${'x'.repeat(43)}`);
    expect([response.status, body.error]).toMatchObject([
      401,
      { type: 'invalid_request_error', code: 'invalid_api_key' },
    ]);
  });
});

test('null is absent: the customer, and what is said of it', async () => {
  const tenant = await newTenant();
  vendor.answers = answers;
  const nulls = { customer: null, feature: null, tags: null, user: null, models: null };
  expect((await ask(tenant.key, nulls)).response.status).toBe(200);
  const { response, callId } = await ask(tenant.key, { customer: { id: null, userId: 'u', name: null, email: null } });
  expect(response.status).toBe(200);
  expect(await readStoredCall(tenant, callId)).toMatchObject({ customerUserId: 'u' });
});

describe('a fallback', () => {
  const other = 'https://other.example.com/v1';
  const answersBy = (status: number) => (url: string, body: Record<string, unknown>) =>
    url.startsWith(other) ? answers(url, body) : Response.json({ error: { message: 'away' } }, { status });

  test('says which models were tried and how each ended, in answers, streams and failures', async () => {
    const tenant = await newTenant();
    const { organizationId: org } = tenant;
    const body = { apiKey: 'sk-other', baseUrl: other };
    await operator.send('setVendor', { params: { org, provider: 'acme' }, body });
    vendor.answers = answersBy(503);
    const fallback = { model: 'openai/gpt-5.2', models: ['acme/one'] };
    const { response } = await ask(tenant.key, fallback);
    expect([response.status, response.headers.get('x-service-attempts')]).toEqual([
      200,
      'openai/gpt-5.2=503, acme/one=200',
    ]);
    vendor.answers = (url) =>
      url.startsWith(other) ? events(TEXT, USAGE) : Response.json({ error: { message: 'x' } }, { status: 429 });
    const streamed = await ask(tenant.key, { ...fallback, stream: true });
    expect(streamed.response.headers.get('x-service-attempts')).toBe('openai/gpt-5.2=429, acme/one=200');
    await streamed.response.text();
    vendor.answers = () => Response.json({ error: { message: 'x' } }, { status: 500 });
    const failed = await ask(tenant.key, fallback);
    expect([failed.response.status, failed.response.headers.get('x-service-attempts')]).toEqual([
      500,
      'openai/gpt-5.2=500, acme/one=500',
    ]);
    vendor.answers = answers;
    expect((await ask(tenant.key, fallback)).response.headers.get('x-service-attempts')).toBeNull();
  });

  test("a vendor's failure under a key is not worth repeating: a retry gets the stored answer", async () => {
    const tenant = await newTenant();
    vendor.answers = answersBy(429);
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    for (let index = 0; index < 2; index += 1) {
      const { response } = await ask(tenant.key, {}, bindings, undefined, headers);
      expect([response.status, response.headers.get('x-should-retry')]).toEqual([429, 'false']);
    }
    expect((await ask(tenant.key, {})).response.headers.get('x-should-retry')).toBeNull();
  });
});

test('answers and streams of a deprecated model say so, and those of others do not', async () => {
  const tenant = await newTenant();
  vendor.answers = (url, body) => (body.stream === true ? events(TEXT, USAGE) : answers(url, body));
  for (const stream of [false, true]) {
    const { response } = await ask(tenant.key, { model: 'gpt-4o-mini-2024-07-18', stream });
    await response.text();
    expect(Object.fromEntries(response.headers)).toMatchObject({
      deprecation: '@1791936000',
      sunset: 'Thu, 14 Jan 2027 00:00:00 GMT',
      link: '</v1/model-alternatives/openai/gpt-4o-mini-2024-07-18>; rel="successor-version"',
    });
    const other = await ask(tenant.key, { stream });
    await other.response.text();
    expect(['deprecation', 'sunset', 'link'].map((name) => other.response.headers.get(name))).toEqual([
      null,
      null,
      null,
    ]);
  }
});
