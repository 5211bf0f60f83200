/**
 * Promise: what a vendor did is recorded, also when the customer's object is away as the call ends, the service itself
 * fails, or the object that meters a batch is stopped in the middle.
 */
import { createExecutionContext, evictDurableObject, runDurableObjectAlarm, waitOnExecutionContext } from 'cloudflare:test';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Env } from '../../src/env.ts';
import type { WatchedBatch } from '../../src/gateway/batch-metering.ts';
import { createTenant, type Tenant } from '../support/api.ts';
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

async function ask(key: string, body: object, env: Env = bindings, path = '/v1/chat/completions') {
  const context = createExecutionContext();
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const request = {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'gpt-5.2', messages: [{ role: 'user', content: 'x' }], ...body }),
  };
  const response = await app.request(path, request, env, context);
  return { response, callId: response.headers.get('x-service-call-id') ?? '', rest: () => waitOnExecutionContext(context) };
}

/** The bindings, with objects of customers whose `end` fails so many times. */
function failing(times: number, failure = new Error('the object is away')): { env: Env; ends(): number } {
  let ends = 0;
  const stubOf = (stub: object) =>
    new Proxy(stub, {
      get(target, name) {
        if (name !== 'end') return Reflect.get(target, name, target);
        return (command: unknown) => {
          ends += 1;
          if (ends <= times) throw failure;
          return (target as { end(command: unknown): unknown }).end(command);
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
  vendor = (url) => {
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
  const batch: WatchedBatch = {
    organizationId: tenant.organizationId,
    batchId: 'batch_1',
    begin: { customerId: 'default', feature: 'nightly', pricingMode: 'batch' },
    model: 'gpt-5.2',
  };
  const address = () => bindings.GATEWAY_BATCHES.getByName(`${tenant.organizationId}:batch_1`);
  await address().watch(batch);
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
  // Watching again what is watched changes nothing.
  await address().watch({ ...batch, begin: { customerId: 'somebody-else' } });
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
