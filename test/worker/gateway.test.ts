/**
 * Promise: what a vendor did is recorded, also when the customer's object is away as the call ends, the service itself
 * fails, or the object that meters a batch is stopped in the middle.
 */
import {
  createExecutionContext,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { GatewayBatch } from '../../durable-objects/gateway-batch.ts';
import { createApp } from '../../src/app.ts';
import type { Env } from '../../src/env.ts';
import { sha256Hex } from '../../src/platform/hash.ts';
import { claimKey } from '../../src/storage/objects.ts';
import { Api, createTenant, type Tenant } from '../support/api.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

const app = createApp();
const PLAN = { name: 'P', limitType: 'BLOCK', reasoningLevel: 'MEDIUM', limits: { premiumCalls: 1_000 } };
const BASE_URL = 'https://vendor.example.com/v1';

type Vendor = (url: string, body: Record<string, unknown>) => Response | Promise<Response>;
let vendor: Vendor;
beforeEach(() => {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
    const { body } = (init ?? {}) as { body?: unknown };
    return vendor(String(url), typeof body === 'string' ? JSON.parse(body) : {});
  });
});
afterEach(() => vi.restoreAllMocks());

async function newTenant(): Promise<Tenant & { key: string }> {
  const tenant = await createTenant(operator, PLAN);
  const params = { org: tenant.organizationId };
  const set = await operator.send('setVendor', {
    params: { ...params, provider: 'openai' },
    body: { apiKey: 'sk-test', baseUrl: BASE_URL },
  });
  expect(set.status).toBe(200);
  const { key } = (await operator.send('createKey', { params, body: { name: 'gateway' } })).data;
  return { ...tenant, key };
}

const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 };
const completion = (model: unknown) => ({
  id: 'c',
  object: 'chat.completion',
  model,
  choices: [{ index: 0, message: { content: 'hi' } }],
  usage,
});
const answers: Vendor = (_url, { model }) => Response.json(completion(model));

async function ask(key: string, body: object, env: Env = bindings, path = '/v1/chat/completions', more: Record<string, string> = {}) {
  const context = createExecutionContext();
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...more };
  const request = {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'gpt-5.2', messages: [{ role: 'user', content: 'x' }], ...body }),
  };
  const response = await app.request(path, request, env, context);
  return { response, callId: response.headers.get('x-service-call-id') ?? '', rest: () => waitOnExecutionContext(context) };
}

/** The bindings, with objects of customers whose `finish` fails so many times. */
function failing(times: number, failure = new Error('the object is away')): { env: Env; ends(): number } {
  let ends = 0;
  const stubOf = (stub: object) =>
    new Proxy(stub, {
      get(target, name) {
        if (name !== 'finish') return Reflect.get(target, name, target);
        return (command: unknown) => {
          ends += 1;
          if (ends <= times) throw failure;
          return (target as { finish(command: unknown): unknown }).finish(command);
        };
      },
    });
  const CUSTOMERS = { getByName: (name: string) => stubOf(bindings.CUSTOMERS.getByName(name)) } as unknown as Env['CUSTOMERS'];
  return { env: { ...bindings, CUSTOMERS }, ends: () => ends };
}

const callOf = async ({ organizationId }: Tenant, callId: string) =>
  customerStub(organizationId, 'default').readCall(organizationId, callId);

test('an object that is away as the call ends: the caller has its answer, and the usage is recorded afterwards', async () => {
  vendor = answers;
  const tenant = await newTenant();
  const { env, ends } = failing(2);
  const { response, callId, rest } = await ask(tenant.key, {}, env);
  expect(response.status).toBe(200);
  expect(response.headers.get('x-service-cost-usd')).toBeNull();
  expect((await callOf(tenant, callId))?.status).toBe('IN_PROGRESS');
  await rest();
  expect(ends()).toBe(3);
  expect(await callOf(tenant, callId)).toMatchObject({ status: 'COMPLETED', outcome: { usage: { inputTokens: 10, responseTokens: 4 } } });
});

describe('a plain call that its object held in memory alone, and forgot before the end', () => {
  test('is recorded from its end, and answered with its cost', async () => {
    vendor = answers;
    const tenant = await newTenant();
    await ask(tenant.key, {});
    vendor = async (url, body) => {
      await evictDurableObject(customerStub(tenant.organizationId, 'default'));
      return answers(url, body);
    };
    const { response, callId, rest } = await ask(tenant.key, { feature: 'forgotten' });
    expect([response.status, response.headers.get('x-service-cost-usd')]).toEqual([200, '0.0000735']);
    await rest();
    const outcome = { usage: { inputTokens: 10, responseTokens: 4 } };
    expect(await callOf(tenant, callId)).toMatchObject({ status: 'COMPLETED', feature: 'forgotten', outcome });
    const params = { org: tenant.organizationId, customerId: 'default' };
    const { openCalls, meters } = (await operator.send('readCustomer', { params })).data;
    expect([openCalls, meters.premiumCalls?.used]).toEqual([0, 2]);
  });

  test('is recorded once where the answer to that is lost too', async () => {
    vendor = answers;
    const tenant = await newTenant();
    await ask(tenant.key, {});
    const { organizationId } = tenant;
    vendor = async (url, body) => {
      await evictDurableObject(customerStub(organizationId, 'default'));
      return answers(url, body);
    };
    let records = 0;
    const losing = (stub: object) =>
      new Proxy(stub, {
        get(target, name) {
          if (name !== 'record') return Reflect.get(target, name, target);
          return async (...commands: unknown[]) => {
            const recorded = await (target as { record(...commands: unknown[]): Promise<unknown> }).record(...commands);
            records += 1;
            if (records === 1) throw Object.assign(new Error('the answer is lost'), { retryable: true });
            return recorded;
          };
        },
      });
    const CUSTOMERS = { getByName: (name: string) => losing(bindings.CUSTOMERS.getByName(name)) } as unknown as Env['CUSTOMERS'];
    const { response } = await ask(tenant.key, {}, { ...bindings, CUSTOMERS });
    expect([response.status, response.headers.get('x-service-cost-usd'), records]).toEqual([200, '0.0000735', 2]);
    const { meters } = (await operator.send('readCustomer', { params: { org: organizationId, customerId: 'default' } })).data;
    expect(meters.premiumCalls?.used).toBe(2);
  });

  test('does not bring back a customer who was erased in the meantime', async () => {
    vendor = answers;
    const tenant = await newTenant();
    await ask(tenant.key, {});
    const params = { org: tenant.organizationId, customerId: 'default' };
    vendor = async (url, body) => {
      await operator.send('eraseCustomer', { params });
      return answers(url, body);
    };
    const { response, rest } = await ask(tenant.key, {});
    expect(response.status).toBe(200);
    await rest();
    expect((await operator.send('readCustomer', { params })).status).toBe(404);
  });

  test('is no call where nobody ends it', async () => {
    vendor = answers;
    const tenant = await newTenant();
    await ask(tenant.key, {});
    const stub = customerStub(tenant.organizationId, 'default');
    const asked = Promise.withResolvers<void>();
    vendor = () => {
      asked.resolve();
      return new Promise(() => undefined);
    };
    void ask(tenant.key, {}).catch(() => undefined);
    await asked.promise;
    await evictDurableObject(stub);
    const params = { org: tenant.organizationId, customerId: 'default' };
    const { openCalls, recentCalls, meters } = (await operator.send('readCustomer', { params })).data;
    expect([openCalls, recentCalls.length, meters.premiumCalls?.used]).toEqual([0, 1, 1]);
  });
});

test('the same of a stream', async () => {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'gpt-5.2', choices: [], ...more })}\n\n`;
  vendor = () =>
    new Response(`${chunk({ choices: [{ index: 0, delta: { content: 'hi' } }] })}${chunk({ usage })}data: [DONE]\n\n`, {
      headers: { 'Content-Type': 'text/event-stream' },
    });
  const tenant = await newTenant();
  const { response, callId, rest } = await ask(tenant.key, { stream: true }, failing(1).env);
  expect(await response.text()).toContain('[DONE]');
  await rest();
  expect(await callOf(tenant, callId)).toMatchObject({ status: 'COMPLETED', outcome: { usage: { responseTokens: 4 } } });
});

test.each<[string, object[], string, string | undefined]>([
  ['stopped, without usage or mark', [{ finish_reason: 'stop' }], 'COMPLETED', undefined],
  ['never stopped', [{}], 'FAILED', 'VENDOR_STREAM_CUT'],
  ['stopped for one of two answers', [{ finish_reason: 'stop' }, { index: 1 }], 'FAILED', 'VENDOR_STREAM_CUT'],
])('a stream that is closed and had %s is recorded as what it was', async (_, choices, status, code) => {
  const parts = choices.map((choice) => ({
    object: 'chat.completion.chunk',
    model: 'gpt-5.2',
    choices: [{ index: 0, delta: {}, ...choice }],
  }));
  const text = parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join('');
  vendor = () => new Response(text, { headers: { 'Content-Type': 'text/event-stream' } });
  const tenant = await newTenant();
  const { response, callId, rest } = await ask(tenant.key, { stream: true });
  expect(await response.text()).toBe(text);
  await rest();
  const call = await callOf(tenant, callId);
  expect([call?.status, call?.outcome?.error?.code]).toEqual([status, code]);
  expect(call?.outcome?.price).toEqual({ status: 'UNAVAILABLE', reason: 'USAGE_NOT_REPORTED' });
});

describe('POST /call', () => {
  const make = async ({ key }: { key: string }, env: Env, idempotencyKey: string, responseType = 'json') => {
    const context = createExecutionContext();
    const api = new Api(async (url, init) => app.request(url, init as RequestInit, env, context), 'https://service.test', key);
    const asked = { url: 'https://api.openai.com/v1/chat/completions', body: { model: 'gpt-5.2' }, responseType };
    const headers = { 'Idempotency-Key': idempotencyKey };
    const reply = await api.send('makeCall', { body: { customerId: 'default', vendor: asked }, headers });
    return { reply, rest: () => waitOnExecutionContext(context) };
  };

  test('answers with what the vendor said although the object is away, and is ended afterwards', async () => {
    let asked = 0;
    vendor = (url, body) => {
      asked += 1;
      return answers(url, body);
    };
    const tenant = await newTenant();
    const { env, ends } = failing(2);
    const { reply, rest } = await make(tenant, env, 'away');
    expect(reply.body.result).toMatchObject({ code: 'CALL_SUCCESS', message: expect.stringContaining('GET /calls/') });
    expect(reply.data).toMatchObject({ vendor: { ok: true, status: 200, body: { id: 'c' } }, endUsage: { inputTokens: 10, tokens: 4 } });
    expect(reply.data).not.toHaveProperty('end');
    expect((await make(tenant, bindings, 'away')).reply.refusal.code).toBe('CALL_IN_FLIGHT');
    await rest();
    expect(ends()).toBe(3);
    expect(await callOf(tenant, 'away')).toMatchObject({ status: 'COMPLETED', outcome: { usage: { inputTokens: 10, responseTokens: 4 } } });
    const again = (await make(tenant, bindings, 'away')).reply;
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    expect(again.data).toMatchObject({ ...reply.data, end: { status: 'COMPLETED', metered: { tokens: 4 } } });
    expect(asked).toBe(1);
  });

  test('of an object that stays away: the tries are bounded, what was used is in the log, and the call times out', async () => {
    vendor = answers;
    const logged: string[] = [];
    vi.spyOn(console, 'error').mockImplementation((text) => void logged.push(String(text)));
    const tenant = await newTenant();
    const waits: number[] = [];
    vi.spyOn(scheduler, 'wait').mockImplementation(async (ms) => void waits.push(ms));
    const { env, ends } = failing(Number.POSITIVE_INFINITY);
    const { reply, rest } = await make(tenant, env, 'gone');
    expect(reply.data.vendor?.ok).toBe(true);
    await rest();
    expect([ends(), waits.length]).toEqual([7, 6]);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(30_000);
    expect(logged.map((text) => JSON.parse(text))).toMatchObject([{ event: 'call_end_lost', callId: 'gone', usage: { inputTokens: 10 } }]);
    expect((await callOf(tenant, 'gone'))?.deadlineAtMs).toBeLessThan(Date.now() + 100_000);
  });

  const SSE = 'text/event-stream; charset=utf-8';
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'gpt-5.2', choices: [{ index: 0, delta: {}, ...more }] })}\n\n`;
  const begun = chunk({});
  const figures = begun.replace('"choices"', `"usage":{"prompt_tokens":9,"completion_tokens":1},"choices"`);
  const unknown = { pricingStatus: 'UNAVAILABLE', pricingUnavailableReason: 'USAGE_NOT_REPORTED', metered: { calls: 0 } };

  test.each<[string, string, string, string, object]>([
    ['no event', '', SSE, 'VENDOR_STREAM_CUT', unknown],
    ['comments alone', ': ping\n\n', SSE, 'VENDOR_STREAM_CUT', unknown],
    ['an event in two', begun.slice(0, 40), SSE, 'VENDOR_STREAM_CUT', unknown],
    ['no reason to stop', begun, SSE, 'VENDOR_STREAM_CUT', unknown],
    ['the usage so far', figures, SSE, 'VENDOR_STREAM_CUT', { pricingStatus: 'FINAL', usage: { inputTokens: 9, responseTokens: 1 } }],
    ['half a document', '{"choices":[{"mess', 'application/json', 'VENDOR_ANSWER_BROKEN', unknown],
  ])('of an answer that ended early although its connection did not break (%s) has failed, with what was reported', async (...given) => {
    const [name, body, contentType, code, end] = given;
    const tenant = await newTenant();
    for (const responseType of ['json', 'text', 'stream']) {
      vendor = () => new Response(body, { headers: { 'Content-Type': contentType } });
      const { reply } = await make(tenant, bindings, `${name} ${responseType}`.replaceAll(' ', '-'), responseType);
      expect(reply.body.result.code).toBe('CALL_VENDOR_WARNING');
      expect(reply.data.vendor).toMatchObject({ ok: false, status: 200, body });
      expect(reply.data.end).toMatchObject({ status: 'FAILED', error: { code }, ...end });
    }
  });

  test.each([
    ['a stream that stopped, without usage or mark', chunk({ finish_reason: 'stop' }), SSE],
    ['a stream in a form of its own', 'data: {"token":"hello"}\n\n', SSE],
    ['words', '[draft] hello', 'text/plain'],
    ['documents in lines', '{"response":"a"}\n{"done":true}\n', 'application/x-ndjson'],
  ])('of %s is whole', async (_, body, contentType) => {
    vendor = () => new Response(body, { headers: { 'Content-Type': contentType } });
    const { data } = (await make(await newTenant(), bindings, 'whole', 'stream')).reply;
    expect([data.vendor?.ok, data.vendor?.body, data.end?.status]).toEqual([true, body, 'COMPLETED']);
  });
});

test('a fault of ours ends the call, and says nothing of itself', async () => {
  vendor = answers;
  const tenant = await newTenant();
  // The secret under which the vendor's key was sealed is gone: storage refuses, in the middle of an admitted call.
  const { VENDOR_KEY_SECRET: _lost, ...env } = bindings;
  const { response, rest } = await ask(tenant.key, {}, env as Env);
  expect(response.status).toBe(503);
  expect(((await response.json()) as { error: { code: string } }).error.code).toBe('SERVICE_UNAVAILABLE');
  await rest();
  const params = { org: tenant.organizationId, customerId: 'default' };
  const { openCalls, recentCalls, meters } = (await operator.send('readCustomer', { params })).data;
  expect([openCalls, recentCalls[0]?.status, recentCalls[0]?.costUSD, meters.premiumCalls?.used]).toEqual([0, 'FAILED', 0, 0]);
});

test('the effort that ran is recorded, with how it is known', async () => {
  vendor = (url, { model, reasoning }) =>
    url.endsWith('/responses')
      ? Response.json({
          object: 'response',
          model,
          status: 'completed',
          error: null,
          output: [],
          reasoning,
          usage: { input_tokens: 1, output_tokens: 1 },
        })
      : Response.json(completion(model));
  const tenant = await newTenant();
  const recorded = async (body: object, path?: string) => {
    const { callId, rest } = await ask(tenant.key, body, bindings, path);
    await rest();
    const outcome = (await callOf(tenant, callId))?.outcome;
    return [outcome?.reasoningEffort, outcome?.reasoningEffortSource];
  };
  expect(await recorded({ reasoning_effort: 'low' })).toEqual(['low', 'provider_request']);
  // The plan's ceiling is MEDIUM; GPT-5.2 has no `minimal`.
  expect(await recorded({ reasoning_effort: 'high' })).toEqual(['medium', 'gateway_config']);
  expect(await recorded({ reasoning_effort: 'minimal' })).toEqual(['low', 'gateway_config']);
  expect(await recorded({})).toEqual([undefined, undefined]);
  const input = { input: 'x' };
  expect(await recorded({ ...input, reasoning: { effort: 'xhigh' } }, '/v1/responses')).toEqual(['medium', 'provider_response']);
});

test('a batch whose metering breaks off goes on where it was, and no line counts twice', async () => {
  const tenant = await newTenant();
  const lines = Array.from({ length: 60 }, (_, index) => {
    const body = completion('gpt-5.2');
    return JSON.stringify({ custom_id: `line-${index}`, response: { status_code: 200, body }, error: null });
  });
  let finished = false;
  let breaksAfter: number | null = 45;
  const reads: string[] = [];
  let requestName = '';
  vendor = (url, { metadata }) => {
    if (url.endsWith('/files/file_in/content')) return new Response(JSON.stringify({ body: { model: 'gpt-5.2' } }));
    if (metadata) {
      requestName = (metadata as { service_request_id: string }).service_request_id;
      return Response.json({ id: 'batch_1', status: 'validating', metadata });
    }
    reads.push(url.slice(BASE_URL.length));
    if (url.endsWith('/batches/batch_1'))
      return Response.json({ id: 'batch_1', status: finished ? 'completed' : 'in_progress', output_file_id: 'file_out' });
    if (breaksAfter === null) return new Response(lines.join('\n'));
    const some = new TextEncoder().encode(`${lines.slice(0, breaksAfter).join('\n')}\n`);
    let sent = false;
    // The lines are taken before the connection breaks.
    return new Response(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          if (sent) controller.error(new Error('connection lost'));
          else controller.enqueue(some);
          sent = true;
        },
      }),
    );
  };
  const body = { input_file_id: 'file_in', endpoint: '/v1/chat/completions', feature: 'nightly' };
  expect((await ask(tenant.key, body, bindings, '/v1/batches')).response.status).toBe(200);
  const address = () => bindings.GATEWAY_BATCHES.getByName(`${tenant.organizationId}:${requestName}`);
  const params = { org: tenant.organizationId, customerId: 'default' };
  // Nobody, before the first line.
  const calls = async () => (await operator.send('readCustomer', { params })).body.data?.meters.premiumCalls.used ?? 0;

  expect(await runDurableObjectAlarm(address())).toBe(true);
  expect([reads, await calls()]).toEqual([['/batches/batch_1'], 0]);

  finished = true;
  await address().hurry();
  await runDurableObjectAlarm(address());
  expect(await calls()).toBe(40);

  breaksAfter = null;
  await evictDurableObject(address());
  await address().hurry();
  await runDurableObjectAlarm(address());
  expect(await calls()).toBe(lines.length);
  const call = await callOf(tenant, 'batch:batch_1:line-0');
  expect(call).toMatchObject({ status: 'COMPLETED', feature: 'nightly', pricingMode: 'batch', outcome: { providerUsed: 'openai' } });

  // Finished is finished: nobody asks the vendor again.
  const asked = reads.length;
  await address().hurry();
  await runDurableObjectAlarm(address());
  expect([reads.length, await calls()]).toEqual([asked, lines.length]);
});

test('a batch that the vendor never began: its key waits for a minute, and then is free, with all that it held', async () => {
  const tenant = await newTenant();
  const line = `${JSON.stringify({ body: { model: 'gpt-5.2' } })}\n`;
  let reachable = false;
  const names: string[] = [];
  vendor = (url, { metadata }) => {
    if (url.endsWith('/content')) return new Response(line.repeat(600));
    if (url.includes('/batches?')) return Response.json({ object: 'list', data: [], has_more: false });
    names.push((metadata as { service_request_id: string }).service_request_id);
    if (!reachable) throw new TypeError('connection lost');
    return Response.json({ id: `batch_of_${names.length}`, status: 'validating', metadata });
  };
  const create = async (key?: string) => {
    const headers: Record<string, string> = key === undefined ? {} : { 'Idempotency-Key': key };
    const body = { input_file_id: 'file_in', endpoint: '/v1/chat/completions' };
    const { response } = await ask(tenant.key, body, bindings, '/v1/batches', headers);
    return [response.status, ((await response.json()) as { error?: { code: string } }).error?.code];
  };
  expect(await create('once')).toEqual([502, 'VENDOR_UNREACHABLE']);
  const address = () => bindings.GATEWAY_BATCHES.getByName(`${tenant.organizationId}:${names[0]}`);
  reachable = true;
  expect(await runDurableObjectAlarm(address())).toBe(true);
  // 600 of 1,000 are held: nobody knows yet.
  expect(await create()).toEqual([403, 'ENTITLEMENT_DENIED']);
  expect(await create('once')).toEqual([409, 'CALL_IN_FLIGHT']);
  expect(names).toHaveLength(1);

  const later = Date.now() + 61_000;
  vi.spyOn(Date, 'now').mockImplementation(() => later);
  expect(await runDurableObjectAlarm(address())).toBe(true);
  expect(await runInDurableObject(address(), (_, { storage }) => storage.list().then(({ size }) => size))).toBe(0);
  expect(await create('once')).toEqual([200, undefined]);
  expect(names).toEqual([names[0], names[0]]);
  expect(await create()).toEqual([403, 'ENTITLEMENT_DENIED']);
});

type Batch = DurableObjectStub<GatewayBatch>;

/** How many entries the object of a batch holds, with its alarm. */
const entriesOf = (stub: Batch) =>
  runInDurableObject(stub, async (_, { storage }) => (await storage.list()).size + ((await storage.getAlarm()) === null ? 0 : 1));
const batchOf = ({ organizationId }: Tenant, name: string) => bindings.GATEWAY_BATCHES.getByName(`${organizationId}:${name}`);
const batchesOf = (tenant: Tenant, customerId: string) => batchOf(tenant, `customer:${customerId}`);

describe('an erasure of a customer with batches', () => {
  const input = () => new Response(JSON.stringify({ body: { model: 'gpt-5.2' } }));
  const output = JSON.stringify({ custom_id: 'line', response: { status_code: 200, body: completion('gpt-5.2') }, error: null });
  const erase = async ({ organizationId: org }: Tenant, customerId: string) =>
    (await operator.send('eraseCustomer', { params: { org, customerId } })).data.erased;
  const begin = (tenant: Tenant & { key: string }, customerId: string, headers: Record<string, string> = {}) => {
    const customer = { customerId, customerEmail: `${customerId}@example.com` };
    return ask(tenant.key, { input_file_id: 'file_in', endpoint: '/v1/chat/completions', customer }, bindings, '/v1/batches', headers);
  };
  const usageOf = (tenant: Tenant, customerId: string) => tenant.api.send('readUsage', { params: { customerId } });

  test('leaves nothing of a finished one and of one that is under way, whose lines do not bring the customer back', async () => {
    const tenant = await newTenant();
    const names: string[] = [];
    vendor = (url, { metadata }) => {
      if (url.endsWith('/files/file_in/content')) return input();
      if (url.endsWith('/files/file_out/content')) return new Response(output);
      if (metadata) names.push((metadata as { service_request_id: string }).service_request_id);
      const id = metadata ? `batch_${names.length}` : url.split('/').at(-1);
      return Response.json({ id, metadata, status: id === 'batch_1' ? 'completed' : 'in_progress', output_file_id: 'file_out' });
    };
    for (const customerId of ['gone', 'gone', 'stays']) expect((await begin(tenant, customerId)).response.status).toBe(200);
    const [finished, running, other] = names.map((name) => batchOf(tenant, name)) as [Batch, Batch, Batch];
    await runDurableObjectAlarm(finished);
    expect((await usageOf(tenant, 'gone')).data.meters.premiumCalls?.used).toBe(1);

    expect(await erase(tenant, 'gone')).toMatchObject({ object: true, batches: 2 });
    for (const stub of [finished, running, batchesOf(tenant, 'gone')]) expect(await entriesOf(stub)).toBe(0);
    for (const stub of [other, batchesOf(tenant, 'stays')]) expect(await entriesOf(stub)).toBeGreaterThan(0);
    expect((await usageOf(tenant, 'gone')).refusal.code).toBe('CUSTOMER_NOT_FOUND');
    expect(await runDurableObjectAlarm(running)).toBe(false);
    expect((await usageOf(tenant, 'stays')).data.customerId).toBe('stays');
  });

  test('while its lines are metered: none of them is recorded any more, and nothing is written again', async () => {
    const tenant = await newTenant();
    const lines = Promise.withResolvers<void>();
    const read = Promise.withResolvers<void>();
    let name = '';
    vendor = async (url, { metadata }) => {
      if (url.endsWith('/files/file_in/content')) return input();
      if (metadata) name = (metadata as { service_request_id: string }).service_request_id;
      if (!url.endsWith('/files/file_out/content'))
        return Response.json({ id: 'batch_1', metadata, status: 'completed', output_file_id: 'file_out' });
      read.resolve();
      await lines.promise;
      return new Response(output);
    };
    expect((await begin(tenant, 'metered')).response.status).toBe(200);
    const metering = runDurableObjectAlarm(batchOf(tenant, name));
    await read.promise;
    expect(await erase(tenant, 'metered')).toMatchObject({ batches: 1 });
    lines.resolve();
    await metering;
    expect((await usageOf(tenant, 'metered')).refusal.code).toBe('CUSTOMER_NOT_FOUND');
    for (const stub of [batchOf(tenant, name), batchesOf(tenant, 'metered')]) expect(await entriesOf(stub)).toBe(0);
    // Nor is the line's id claimed: whoever comes next may have it.
    const claim = await claimKey(bindings, tenant.organizationId, 'batch:batch_1:line', 'another');
    expect(claim).toMatchObject({ customerId: 'another', fresh: true });
  });

  test('while the vendor is asked: the caller gets the batch, and nobody remembers whose it was', async () => {
    const tenant = await newTenant();
    const answered = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<string>();
    vendor = async (url, { metadata }) => {
      if (url.endsWith('/files/file_in/content')) return input();
      asked.resolve((metadata as { service_request_id: string }).service_request_id);
      await answered.promise;
      return Response.json({ id: 'batch_1', metadata, status: 'validating' });
    };
    const begun = begin(tenant, 'hasty');
    const name = await asked.promise;
    expect(await erase(tenant, 'hasty')).toMatchObject({ batches: 1 });
    answered.resolve();
    expect((await begun).response.status).toBe(200);
    for (const stub of [batchOf(tenant, name), batchesOf(tenant, 'hasty')]) expect(await entriesOf(stub)).toBe(0);
  });

  test('before the vendor is asked: it is not asked any more, and the request may be sent again', async () => {
    const tenant = await newTenant();
    const names: string[] = [];
    vendor = (url, { metadata }) => {
      if (url.endsWith('/files/file_in/content')) return input();
      names.push((metadata as { service_request_id: string }).service_request_id);
      return Response.json({ id: 'batch_1', metadata, status: 'validating' });
    };
    const name = `key-${await sha256Hex('nightly')}`;
    const admit = async (stub: Batch, batch: Parameters<GatewayBatch['hold']>[0]) => {
      const refusal = await stub.hold(batch);
      await erase(tenant, 'early');
      return refusal;
    };
    const erasing = {
      getByName(of: string) {
        const stub = bindings.GATEWAY_BATCHES.getByName(of);
        return { hold: (batch: Parameters<GatewayBatch['hold']>[0]) => admit(stub, batch), forget: (of: string) => stub.forget(of) };
      },
    };
    const setBatches = (GATEWAY_BATCHES: unknown) =>
      runInDurableObject(batchOf(tenant, name), (batch) => void Object.assign(batch, { env: { ...bindings, GATEWAY_BATCHES } }));
    await setBatches(erasing);
    const headers = { 'Idempotency-Key': 'nightly' };
    const { response } = await begin(tenant, 'early', headers);
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([409, 'CONFLICT']);
    expect(names).toEqual([]);
    for (const stub of [batchOf(tenant, name), batchesOf(tenant, 'early')]) expect(await entriesOf(stub)).toBe(0);

    await setBatches(bindings.GATEWAY_BATCHES);
    expect((await begin(tenant, 'early', headers)).response.status).toBe(200);
    expect(names).toEqual([name]);
  });

  test('waits for an admission that is under way, and erases that batch too', async () => {
    const tenant = await newTenant();
    const { organizationId } = tenant;
    const name = 'once-admitted';
    await runInDurableObject(batchOf(tenant, name), (_, { storage }) => storage.put('asked', 'something'));
    const stub = batchesOf(tenant, 'waiting');
    const admission = stub.hold({ organizationId, requestName: name, begin: { customerId: 'waiting' }, lines: { premium: 1 } });
    expect(await stub.eraseRequests(organizationId)).toEqual({ erased: 1, more: false });
    expect(await admission).toBeNull();
    for (const left of [batchOf(tenant, name), stub]) expect(await entriesOf(left)).toBe(0);
  });

  test('reaches them all, however many they are', async () => {
    const tenant = await newTenant();
    await tenant.api.send('provisionCustomer', { body: { customerId: 'busy' } });
    const names = Array.from({ length: 230 }, (_, index) => `once-${index}`);
    await runInDurableObject(batchesOf(tenant, 'busy'), async (_, { storage }) => {
      for (const name of names) await storage.put(`request:${name}`, true);
    });
    for (const name of names) await runInDurableObject(batchOf(tenant, name), (_, { storage }) => storage.put('asked', 'something'));
    expect(await erase(tenant, 'busy')).toMatchObject({ batches: 230 });
    for (const name of names) expect(await entriesOf(batchOf(tenant, name))).toBe(0);
    expect(await entriesOf(batchesOf(tenant, 'busy'))).toBe(0);
  });

  test('has nothing left to find 30 days after a batch has ended', async () => {
    const tenant = await newTenant();
    let name = '';
    vendor = (url, { metadata }) => {
      if (url.endsWith('/files/file_in/content')) return input();
      if (metadata) name = (metadata as { service_request_id: string }).service_request_id;
      return url.endsWith('/files/file_out/content')
        ? new Response(output)
        : Response.json({ id: 'batch_1', metadata, status: 'completed', output_file_id: 'file_out' });
    };
    expect((await begin(tenant, 'old')).response.status).toBe(200);
    await runDurableObjectAlarm(batchOf(tenant, name));
    expect(await entriesOf(batchesOf(tenant, 'old'))).toBe(1);
    const later = Date.now() + 30 * 24 * 3_600_000 + 1;
    vi.spyOn(Date, 'now').mockImplementation(() => later);
    await runDurableObjectAlarm(batchOf(tenant, name));
    for (const stub of [batchOf(tenant, name), batchesOf(tenant, 'old')]) expect(await entriesOf(stub)).toBe(0);
  });
});

test('while D1 is away a batch is refused as such, nothing is asked of the vendor, and the same request works later', async () => {
  const tenant = await newTenant();
  let asked = 0;
  vendor = (url, { metadata }) => {
    asked += 1;
    if (url.endsWith('/content')) return new Response(JSON.stringify({ body: { model: 'gpt-5.2' } }));
    return Response.json({ id: 'batch_1', status: 'validating', metadata });
  };
  const object = batchOf(tenant, `key-${await sha256Hex('nightly')}`);
  const setDatabase = (DB: unknown) => runInDurableObject(object, (batch) => void Object.assign(batch, { env: { ...bindings, DB } }));
  const create = () =>
    ask(tenant.key, { input_file_id: 'file_in', endpoint: '/v1/chat/completions' }, bindings, '/v1/batches', {
      'Idempotency-Key': 'nightly',
    });

  await setDatabase({
    prepare() {
      throw new Error('D1 is away');
    },
  });
  const { response } = await create();
  expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
  expect([response.headers.get('Retry-After'), asked]).toEqual(['1', 0]);

  await setDatabase(bindings.DB);
  expect((await create()).response.status).toBe(200);
  expect(asked).toBe(2);
});
