/**
 * Promise: an application for OpenAI's API works with the gateway after changing base URL and key, and every answer is
 * metered.
 */
import {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { GatewayError, ModelList } from '../../src/contract/gateway/answers.ts';
import { countWords } from '../vendors/vendor.ts';
import { type GatewayTenant, NO_LIMITS, type Setting, startGateway } from './gateway-tenant.ts';

let setting: Setting;
let tenant: GatewayTenant;
beforeAll(async () => {
  setting = await startGateway();
  tenant = await setting.tenant();
});
afterAll(() => setting.stop());

const PROMPT = 'say hello [reply:6] [reasoning:4] [cached:2]';
const REPLY = 'héllo 世界 👋🏽 wörld héllo 世界';
const messages = [{ role: 'user' as const, content: PROMPT }];
/**
 * GPT-5.2 costs 1.75 in, 0.175 cached and 14 out, in USD per million: 2 of the prompt's tokens are cached, 10 come out.
 */
const COST = ((countWords(PROMPT) - 2) * 1.75 + 2 * 0.175 + 10 * 14) / 1e6;
const last = () => setting.vendor.requests.at(-1);

/** The error that a request was refused with. */
async function catchRefusal<Kind>(kind: new (...args: never[]) => Kind, request: Promise<unknown>): Promise<Kind> {
  const error = await request.then(
    () => null,
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(kind);
  return error as Kind;
}

describe('the official SDK', () => {
  test('chat', async () => {
    const { data, response } = await tenant.openai.chat.completions
      .create({ model: 'openai/gpt-5.2', messages })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe(REPLY);
    expect(data.usage).toMatchObject({ prompt_tokens: countWords(PROMPT), completion_tokens: 10 });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-llm-model-key': 'openai/gpt-5.2',
      'x-request-id': 'req_fake',
      'x-service-cost-usd': String(COST),
    });
    const call = await tenant.call(response.headers.get('x-service-call-id') ?? '');
    expect(call).toMatchObject({
      status: 'COMPLETED',
      costUSD: COST,
      modelUsed: 'gpt-5.2',
      providerUsed: 'openai',
      customerId: 'default',
    });
    expect(last()?.headers.authorization).toBe(`Bearer sk-openai-${'k'.repeat(20)}`);
  });

  test('chat, streamed: the vendor is asked for usage, which the caller does not see', async () => {
    const stream = await tenant.openai.chat.completions
      .create({ model: 'gpt-5.2', messages, stream: true })
      .withResponse();
    const chunks = await Array.fromAsync(stream.data);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(REPLY);
    expect(chunks.filter((chunk) => chunk.usage)).toEqual([]);
    expect(chunks.every((chunk) => chunk.choices.length > 0)).toBe(true);
    expect(last()?.body.stream_options).toEqual({ include_usage: true });
    // The caller's stream closes after the call has ended.
    expect(await tenant.call(stream.response.headers.get('x-service-call-id') ?? '')).toMatchObject({
      status: 'COMPLETED',
      costUSD: COST,
    });
  });

  test('chat, streamed with usage: the last chunk also has the cost', async () => {
    const stream = await tenant.openai.chat.completions.create({
      model: 'gpt-5.2',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 10, cost_usd: COST } });
    expect(chunks.filter((chunk) => chunk.usage)).toHaveLength(1);
  });

  test('chat, streamed from a vendor that refuses stream_options: it is asked without, and not asked again', async () => {
    const ask = async () => {
      const content = 'hi [fail:no-stream-options] [reply:3]';
      const stream = await tenant.openai.chat.completions.create({
        model: 'acme/some-model',
        messages: [{ role: 'user', content }],
        stream: true,
      });
      return (await Array.fromAsync(stream)).map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
    };
    const before = setting.vendor.requests.length;
    expect([await ask(), await ask()]).toEqual(['héllo 世界 👋🏽', 'héllo 世界 👋🏽']);
    const asked = setting.vendor.requests.slice(before).map(({ body }) => 'stream_options' in body);
    expect(asked).toEqual([true, false, false]);
  });

  test("the SDK's own headers reach the vendor, and labels come as headers of a client whose body is fixed", async () => {
    const openai = tenant.sdk({
      organization: 'org_1',
      project: 'proj_1',
      defaultHeaders: {
        'OpenAI-Beta': 'x=v1',
        'x-usage-customer-id': 'labelled',
        'x-usage-feature': 'chat',
        'x-usage-tags': 'web, beta',
      },
    });
    const { response } = await openai.chat.completions.create({ model: 'gpt-5.2', messages }).withResponse();
    expect(last()?.headers).toMatchObject({
      'openai-organization': 'org_1',
      'openai-project': 'proj_1',
      'openai-beta': 'x=v1',
      'user-agent': expect.stringMatching(/^callmeter\/\d/),
    });
    expect(Object.keys(last()?.headers ?? {}).filter((name) => /^x-(?:usage|stainless)/.test(name))).toEqual([]);
    expect(await tenant.call(response.headers.get('x-service-call-id') ?? '')).toMatchObject({
      customerId: 'labelled',
    });
    const wrong = openai.chat.completions.create({ model: 'gpt-5.2', messages }, { headers: { 'x-usage-tags': ',' } });
    expect((await catchRefusal(BadRequestError, wrong)).param).toBe('x-usage-tags');
  });

  test('a fallback says how each attempt ended', async () => {
    setting.vendor.fail('503');
    const { response } = await tenant.openai.chat.completions
      .create({ model: 'gpt-5.2', models: ['anthropic/claude-haiku-4-5'], messages } as never)
      .withResponse();
    expect(response.headers.get('x-service-attempts')).toBe('openai/gpt-5.2=503, anthropic/claude-haiku-4-5=200');
  });

  test('tools, whole and streamed', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } }];
    const request = { model: 'openai/gpt-5.2', messages: [{ role: 'user' as const, content: 'use it [tool]' }], tools };
    const plain = await tenant.openai.chat.completions.create(request);
    expect(plain.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'weather' } }] },
    });
    const runner = tenant.openai.chat.completions.stream(request);
    expect((await runner.finalChatCompletion()).choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { name: 'weather' },
    });
    expect(last()?.body.tools).toEqual(tools);
  });

  test('structured output', async () => {
    const response_format = zodResponseFormat(z.object({ answer: z.string() }), 'answer');
    const { choices } = await tenant.openai.chat.completions.parse({
      model: 'openai/gpt-5.2',
      messages,
      response_format,
    });
    expect(choices[0]?.message.parsed).toEqual({ answer: '42' });
  });

  test('responses, whole and streamed', async () => {
    const request = { model: 'openai/gpt-5.2', input: `${PROMPT} [searches:2]` };
    const { data, response } = await tenant.openai.responses.create(request).withResponse();
    expect(data.output_text).toBe(REPLY);
    expect(data.usage?.output_tokens).toBe(10);
    expect(await tenant.call(response.headers.get('x-service-call-id') ?? '')).toMatchObject({
      status: 'COMPLETED',
      pricingStatus: 'FINAL',
    });
    const events = await Array.fromAsync(await tenant.openai.responses.create({ ...request, stream: true }));
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { usage: { output_tokens: 10 } } });
  });

  test('embeddings', async () => {
    const { data, response } = await tenant.openai.embeddings
      .create({ model: 'text-embedding-3-small', input: ['one two', 'three'], encoding_format: 'float' })
      .withResponse();
    expect(data.data).toHaveLength(2);
    expect(response.headers.get('x-service-cost-usd')).toBe('0.00000006');
  });

  test('models', async () => {
    const { data } = await tenant.openai.models.list();
    const ids = data.map(({ id }) => id);
    expect(ids).toEqual(
      expect.arrayContaining(['openai/gpt-5.2', 'anthropic/claude-haiku-4-5', 'openai/text-embedding-3-small']),
    );
    expect(ids.filter((id) => !/^[a-z]+\/./.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await tenant.openai.models.retrieve('openai/gpt-5.2')).toMatchObject({
      id: 'openai/gpt-5.2',
      object: 'model',
      owned_by: 'openai',
    });
    expect((await catchRefusal(NotFoundError, tenant.openai.models.retrieve('openai/gpt-unheard-of'))).code).toBe(
      'model_not_found',
    );
    const only = await setting.tenant(NO_LIMITS, ['google']);
    const listed = ModelList.parse(await (await only.send('/v1/models', { method: 'GET' })).json());
    expect(new Set(listed.data.map(({ owned_by }) => owned_by))).toEqual(new Set(['google']));
  });

  test.each([
    ['anthropic/claude-haiku-4-5', '/v1/messages', 'anthropic'],
    ['claude-haiku-4-5', '/v1/messages', 'anthropic'],
    ['google/gemini-2.5-flash', '/v1beta/openai/chat/completions', 'google'],
    ['acme/some/model-7', '/v1/chat/completions', 'acme'],
  ])('%s goes to its vendor, with its name and its key', async (model, path, provider) => {
    const { data, response } = await tenant.openai.chat.completions.create({ model, messages }).withResponse();
    expect(data.choices[0]?.message.content).toBe(REPLY);
    expect(last()).toMatchObject({ path, body: { model: model.replace(`${provider}/`, '') } });
    const { authorization, 'x-api-key': key } = last()?.headers ?? {};
    expect(authorization ?? key).toContain(`sk-${provider}-`);
    expect(await tenant.call(response.headers.get('x-service-call-id') ?? '')).toMatchObject({
      status: 'COMPLETED',
      providerUsed: provider,
    });
  });

  test('thoughts that Google counts only in the total are billed', async () => {
    const { response } = await tenant.openai.chat.completions
      .create({ model: 'google/gemini-2.5-flash', messages })
      .withResponse();
    // 0.30 in and 2.50 out, in USD per million; Google's compatible answer does not tell cached tokens.
    expect(Number(response.headers.get('x-service-cost-usd'))).toBeCloseTo(
      (countWords(PROMPT) * 0.3 + 10 * 2.5) / 1e6,
      12,
    );
  });

  test('requests as other libraries write them: parts instead of text, nulls, unknown fields', async () => {
    const body = {
      model: 'openai/gpt-5.2',
      messages: [{ role: 'user', content: [{ type: 'text', text: PROMPT }] }],
      stream: true,
      stream_options: null,
      user: null,
      reasoning_effort: null,
      a_field: { of: 'tomorrow' },
    };
    const response = await tenant.send('/v1/chat/completions', {
      body,
      headers: { Accept: 'text/event-stream', 'User-Agent': 'ai-sdk/openai-compatible' },
    });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect((await response.text()).trimEnd().endsWith('data: [DONE]')).toBe(true);
    expect(last()?.body).toMatchObject({ a_field: { of: 'tomorrow' }, user: null });
  });
});

describe('who is metered', () => {
  const ask = (body: object, headers = {}) =>
    tenant.send('/v1/chat/completions', { body: { model: 'gpt-5.2', messages, ...body }, headers });
  const metered = async (response: Response) => {
    await response.text();
    return tenant.call(response.headers.get('x-service-call-id') ?? '');
  };

  test('the customer of the body, else of the header, else the default customer', async () => {
    const header = { 'x-usage-customer-id': 'by-header' };
    expect(await metered(await ask({ customer: 'by-body', user: 'u1' }, header))).toMatchObject({
      customerId: 'by-body',
      customerUserId: 'u1',
    });
    expect(await metered(await ask({}, header))).toMatchObject({ customerId: 'by-header', customerUserId: null });
    expect(await metered(await ask({}))).toMatchObject({ customerId: 'default' });
    const object = { customer_id: 'by-object', email: 'a@example.com', userId: 'u2' };
    expect(await metered(await ask({ customer: object }))).toMatchObject({
      customerId: 'by-object',
      customerUserId: 'u2',
    });
    expect((await tenant.customer('by-object')).subscription.customerEmail).toBe('a@example.com');
  });
});

describe('refusals', () => {
  test('a wrong field is named', async () => {
    for (const [wrong, param] of [
      [{ customer: '' }, 'customer.customerId'],
      [{ customer: 7 }, 'customer'],
      [{ tags: 'a' }, 'tags'],
      [{ model: '' }, 'model'],
      [{ messages: [] }, 'messages'],
      [{ reasoning_effort: 'huge' }, 'reasoning_effort'],
    ] as const) {
      const response = await tenant.send('/v1/chat/completions', { body: { model: 'gpt-5.2', messages, ...wrong } });
      expect(response.status).toBe(400);
      const { error } = GatewayError.parse(await response.json());
      expect(error).toMatchObject({ param, type: 'invalid_request_error', code: 'BAD_REQUEST' });
    }
  });

  test('an invalid key: AuthenticationError', async () => {
    const error = await catchRefusal(
      AuthenticationError,
      tenant.sdk({ apiKey: `utk-${'x'.repeat(43)}` }).models.list(),
    );
    expect(error).toMatchObject({ code: 'invalid_api_key', type: 'invalid_request_error' });
    expect(error.requestID).toMatch(/^[\da-f-]{36}$/);
  });

  test('a key without the scope: PermissionDeniedError that names it', async () => {
    const params = { org: tenant.organizationId };
    const { key } = (await tenant.operator.send('createKey', { params, body: { name: 'k', scopes: ['usage:read'] } }))
      .data;
    const error = await catchRefusal(
      PermissionDeniedError,
      tenant.sdk({ apiKey: key }).chat.completions.create({ model: 'gpt-5.2', messages }),
    );
    expect(error).toMatchObject({ code: 'API_KEY_SCOPE_REQUIRED', error: { requiredScope: 'gateway:invoke' } });
  });

  test('an unknown model: NotFoundError; a vendor without credentials, or without the endpoint: BadRequestError', async () => {
    const ask = (model: string) => tenant.openai.chat.completions.create({ model, messages });
    expect(await catchRefusal(NotFoundError, ask('gpt-unheard-of'))).toMatchObject({
      code: 'model_not_found',
      param: 'model',
    });
    expect((await catchRefusal(NotFoundError, ask('service/premium'))).code).toBe('model_not_found');
    expect((await catchRefusal(BadRequestError, ask('mistral/large'))).message).toContain('"mistral"');
    const response = tenant.openai.responses.create({ model: 'anthropic/claude-haiku-4-5', input: 'x' });
    expect((await catchRefusal(BadRequestError, response)).message).toContain('anthropic does not offer /v1/responses');
    const background = tenant.openai.responses.create({ model: 'gpt-5.2', input: 'x', background: true });
    expect((await catchRefusal(BadRequestError, background)).param).toBe('background');
  });

  test('an exhausted allowance: PermissionDeniedError, which the SDK does not repeat, and no vendor is asked', async () => {
    const poor = await setting.tenant({ name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 1 } });
    const ask = () => poor.sdk({ maxRetries: 2 }).chat.completions.create({ model: 'gpt-5.2', messages });
    await ask();
    const before = setting.vendor.requests.length;
    const error = await catchRefusal(PermissionDeniedError, ask());
    expect(error).toMatchObject({ code: 'ENTITLEMENT_DENIED', type: 'insufficient_quota' });
    expect(setting.vendor.requests.length).toBe(before);
    const { recentCalls, meters } = await poor.settled('default', 2);
    expect(recentCalls.map(({ status }) => status)).toEqual(['NOT_ALLOWED', 'COMPLETED']);
    expect(meters.premiumCalls?.used).toBe(1);
    // Another tier has its own allowance.
    expect((await poor.openai.chat.completions.create({ model: 'gpt-4o-mini', messages })).choices).toHaveLength(1);
  });

  test("a plan's rolling limit: RateLimitError with Retry-After", async () => {
    const slow = await setting.tenant({ ...NO_LIMITS, rollingCalls: { limit: 1, windowSeconds: 60 } });
    await slow.openai.chat.completions.create({ model: 'gpt-5.2', messages });
    const error = await catchRefusal(
      RateLimitError,
      slow.openai.chat.completions.create({ model: 'gpt-5.2', messages }),
    );
    expect(error.code).toBe('RATE_LIMITED');
    expect(Number(error.headers.get('retry-after'))).toBeGreaterThan(50);
  });
});

describe('browsers', () => {
  const session = async (body: object) => (await tenant.api.send('createClientSession', { body })).data.token;

  test('a session speaks for its own customer, on two routes', async () => {
    const browser = tenant.sdk({ apiKey: await session({ customerId: 'eve', customerUserId: 'u-9' }) });
    const { response } = await browser.chat.completions
      .create({ model: 'gpt-5.2', messages, user: 'somebody-else' })
      .withResponse();
    expect(await tenant.call(response.headers.get('x-service-call-id') ?? '')).toMatchObject({
      customerId: 'eve',
      customerUserId: 'u-9',
    });
    expect(last()?.body.user).toBe('u-9');
    expect((await browser.responses.create({ model: 'gpt-5.2', input: 'hi' })).output_text).not.toBe('');
    const other = browser.chat.completions.create({ model: 'gpt-5.2', messages, customer: 'adam' } as never);
    expect((await catchRefusal(PermissionDeniedError, other)).code).toBe('CUSTOMER_FORBIDDEN');
    for (const refused of [
      () => browser.models.list(),
      () => browser.batches.list(),
      () => browser.files.list(),
      () => browser.embeddings.create({ model: 'gpt-5.2', input: 'x' }),
    ]) {
      expect((await catchRefusal(PermissionDeniedError, refused())).code).toBe('API_KEY_SCOPE_REQUIRED');
    }
  });

  test('send a preflight and may read the answer, even a refusal', async () => {
    const headers = {
      Origin: 'https://app.example.com',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,x-stainless-os',
    };
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      const preflight = await fetch(`${setting.server.url}${path}`, { method: 'OPTIONS', headers });
      expect(preflight.status).toBe(204);
      expect(Object.fromEntries(preflight.headers)).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-headers': 'authorization,x-stainless-os',
      });
    }
    const answer = await tenant.send('/v1/chat/completions', {
      body: { model: 'gpt-5.2', messages },
      headers: { Origin: 'https://app.example.com' },
    });
    expect(answer.headers.get('access-control-expose-headers')).toContain('x-service-call-id');
    const refused = await fetch(`${setting.server.url}/v1/responses`, {
      method: 'POST',
      headers: { Origin: 'https://app.example.com' },
    });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, '*']);
    expect(
      (await fetch(`${setting.server.url}/v1/models`, { method: 'OPTIONS', headers })).headers.get(
        'access-control-allow-origin',
      ),
    ).toBeNull();
  });
});

describe('an idempotency key', () => {
  test('replays the stored answer without asking the vendor again', async () => {
    const ask = () =>
      tenant.openai.chat.completions
        .create({ model: 'gpt-5.2', messages }, { headers: { 'Idempotency-Key': 'k-plain' } })
        .withResponse();
    const first = await ask();
    const asked = setting.vendor.requests.length;
    const again = await ask();
    expect(setting.vendor.requests.length).toBe(asked);
    expect(again.data).toEqual(first.data);
    expect(again.response.headers.get('idempotency-replayed')).toBe('true');
    for (const name of ['x-service-call-id', 'x-service-cost-usd', 'x-llm-model-key', 'x-request-id']) {
      expect(again.response.headers.get(name)).toBe(first.response.headers.get(name));
    }
    expect(first.response.headers.get('x-service-call-id')).toBe('k-plain');
    const other = tenant.openai.chat.completions.create(
      { model: 'gpt-5.2', messages, seed: 1 },
      { headers: { 'Idempotency-Key': 'k-plain' } },
    );
    expect((await catchRefusal(ConflictError, other)).code).toBe('IDEMPOTENCY_KEY_CONFLICT');
  });

  test.each([
    ['hidden usage', {}],
    ['usage and cost', { stream_options: { include_usage: true } }],
  ])('replays a stream with %s', async (_name, more) => {
    const key = crypto.randomUUID();
    const ask = async () => {
      const body = { model: 'gpt-5.2', messages, stream: true, ...more };
      return (await tenant.send('/v1/chat/completions', { body, headers: { 'Idempotency-Key': key } })).text();
    };
    const first = await ask();
    const asked = setting.vendor.requests.length;
    expect(await ask()).toBe(first);
    expect(setting.vendor.requests.length).toBe(asked);
  });

  test('gets 409 with Retry-After while the call is under way, and its answer afterwards', async () => {
    const ask = () =>
      tenant.send('/v1/chat/completions', {
        body: { model: 'gpt-5.2', messages: [{ role: 'user', content: 'x [fail:slow]' }], stream: true },
        headers: { 'Idempotency-Key': 'k-flight' },
      });
    const first = await ask();
    const second = await ask();
    expect([second.status, second.headers.get('retry-after'), second.headers.get('x-should-retry')]).toEqual([
      409,
      '2',
      'true',
    ]);
    expect(GatewayError.parse(await second.json()).error.code).toBe('CALL_IN_FLIGHT');
    const text = await first.text();
    expect(await (await ask()).text()).toBe(text);
  });

  test('of an answer that was too large to store is refused for good', async () => {
    const ask = () =>
      tenant.send('/v1/chat/completions', {
        body: { model: 'gpt-5.2', messages: [{ role: 'user', content: 'x [fail:big]' }], stream: true },
        headers: { 'Idempotency-Key': 'k-big' },
      });
    await (await ask()).text();
    const again = await ask();
    expect([again.status, again.headers.get('x-should-retry')]).toEqual([409, 'false']);
    expect(GatewayError.parse(await again.json()).error).toMatchObject({
      code: 'CALL_ALREADY_FINALIZED',
      message: expect.stringContaining('2097152 bytes'),
    });
  });
});
