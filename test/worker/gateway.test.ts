/**
 * Promise: a vendor's work is recorded, even if the customer's object cannot be reached when the call ends, or the
 * service itself fails.
 */
import { createExecutionContext, evictDurableObject, waitOnExecutionContext } from 'cloudflare:test';
import { describe, expect, test, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Env } from '../../src/env.ts';
import { Api } from '../support/api.ts';
import { answers, ask, completion, mockVendor, newTenant, readStoredCall, usage, vendor } from '../support/gateway.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

mockVendor();

const app = createApp();

/** The bindings, with customers' objects whose `endServiceCall` fails so many times. */
function failing(times: number, failure = new Error('the object is away')): { env: Env; ends(): number } {
  let ends = 0;
  const stubOf = (stub: object) =>
    new Proxy(stub, {
      get(target, name) {
        if (name !== 'endServiceCall') return Reflect.get(target, name, target);
        return (command: unknown) => {
          ends += 1;
          if (ends <= times) throw failure;
          return (target as { endServiceCall(command: unknown): unknown }).endServiceCall(command);
        };
      },
    });
  const CUSTOMERS = {
    getByName: (name: string) => stubOf(bindings.CUSTOMERS.getByName(name)),
  } as unknown as Env['CUSTOMERS'];
  return { env: { ...bindings, CUSTOMERS }, ends: () => ends };
}

test('the runtime reaches vendors only over the public internet and signals that a caller has left', () => {
  const { Cloudflare: runtime } = globalThis as unknown as {
    Cloudflare: { compatibilityFlags: Record<string, boolean> };
  };
  const { global_fetch_strictly_public, enable_request_signal } = runtime.compatibilityFlags;
  expect([global_fetch_strictly_public, enable_request_signal]).toEqual([true, true]);
});

test('if the object is unavailable when the call ends, the caller gets its answer and the usage is recorded later', async () => {
  vendor.answers = answers;
  const tenant = await newTenant();
  const { env, ends } = failing(2);
  const { response, callId, rest } = await ask(tenant.key, {}, env);
  expect(response.status).toBe(200);
  expect(response.headers.get('x-service-cost-usd')).toBeNull();
  expect((await readStoredCall(tenant, callId))?.status).toBe('IN_PROGRESS');
  await rest();
  expect(ends()).toBe(3);
  expect(await readStoredCall(tenant, callId)).toMatchObject({
    status: 'COMPLETED',
    outcome: { usage: { inputTokens: 10, responseTokens: 4 } },
  });
});

describe('a call whose object is evicted before its end', () => {
  test('is recorded, and answered with its cost', async () => {
    vendor.answers = answers;
    const tenant = await newTenant();
    await ask(tenant.key, {});
    vendor.answers = async (url, body) => {
      await evictDurableObject(customerStub(tenant.organizationId, 'default'));
      return answers(url, body);
    };
    const { response, callId, rest } = await ask(tenant.key, { feature: 'evicted' });
    expect([response.status, response.headers.get('x-service-cost-usd')]).toEqual([200, '0.0000735']);
    await rest();
    const outcome = { usage: { inputTokens: 10, responseTokens: 4 } };
    expect(await readStoredCall(tenant, callId)).toMatchObject({ status: 'COMPLETED', feature: 'evicted', outcome });
    const params = { org: tenant.organizationId, customerId: 'default' };
    const { openCalls, meters } = (await operator.send('readCustomer', { params })).data;
    expect([openCalls, meters.premiumCalls?.used]).toEqual([0, 2]);
  });

  test('is recorded once if the answer to its end is lost', async () => {
    vendor.answers = answers;
    const tenant = await newTenant();
    await ask(tenant.key, {});
    const { organizationId } = tenant;
    vendor.answers = async (url, body) => {
      await evictDurableObject(customerStub(organizationId, 'default'));
      return answers(url, body);
    };
    let ends = 0;
    const losing = (stub: object) =>
      new Proxy(stub, {
        get(target, name) {
          if (name !== 'endServiceCall') return Reflect.get(target, name, target);
          return async (command: unknown) => {
            const ended = await (target as { endServiceCall(command: unknown): Promise<unknown> }).endServiceCall(
              command,
            );
            ends += 1;
            if (ends === 1) throw Object.assign(new Error('the answer is lost'), { retryable: true });
            return ended;
          };
        },
      });
    const CUSTOMERS = {
      getByName: (name: string) => losing(bindings.CUSTOMERS.getByName(name)),
    } as unknown as Env['CUSTOMERS'];
    const { response } = await ask(tenant.key, {}, { ...bindings, CUSTOMERS });
    expect([response.status, response.headers.get('x-service-cost-usd'), ends]).toEqual([200, '0.0000735', 2]);
    const { meters } = (await operator.send('readCustomer', { params: { org: organizationId, customerId: 'default' } }))
      .data;
    expect(meters.premiumCalls?.used).toBe(2);
  });

  test('does not bring back a customer who was erased in the meantime', async () => {
    vendor.answers = answers;
    const tenant = await newTenant();
    await ask(tenant.key, {});
    const params = { org: tenant.organizationId, customerId: 'default' };
    vendor.answers = async (url, body) => {
      await operator.send('eraseCustomer', { params });
      return answers(url, body);
    };
    const { response, rest } = await ask(tenant.key, {});
    expect(response.status).toBe(200);
    await rest();
    expect((await operator.send('readCustomer', { params })).status).toBe(404);
  });

  test('stays in progress and keeps its reservation if nobody ends it', async () => {
    vendor.answers = answers;
    const tenant = await newTenant();
    await ask(tenant.key, {});
    const stub = customerStub(tenant.organizationId, 'default');
    const asked = Promise.withResolvers<void>();
    vendor.answers = () => {
      asked.resolve();
      return new Promise(() => undefined);
    };
    void ask(tenant.key, {}).catch(() => undefined);
    await asked.promise;
    await evictDurableObject(stub);
    const params = { org: tenant.organizationId, customerId: 'default' };
    const { openCalls, recentCalls, meters } = (await operator.send('readCustomer', { params })).data;
    expect([openCalls, recentCalls.length, meters.premiumCalls?.used]).toEqual([1, 2, 2]);
  });
});

test('if the object is unavailable when a stream ends, the usage is recorded later', async () => {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'gpt-5.2', choices: [], ...more })}\n\n`;
  vendor.answers = () =>
    new Response(`${chunk({ choices: [{ index: 0, delta: { content: 'hi' } }] })}${chunk({ usage })}data: [DONE]\n\n`, {
      headers: { 'Content-Type': 'text/event-stream' },
    });
  const tenant = await newTenant();
  const { response, callId, rest } = await ask(tenant.key, { stream: true }, failing(1).env);
  expect(await response.text()).toContain('[DONE]');
  await rest();
  expect(await readStoredCall(tenant, callId)).toMatchObject({
    status: 'COMPLETED',
    outcome: { usage: { responseTokens: 4 } },
  });
});

const NOT_REPORTED = { status: 'UNAVAILABLE', reason: 'USAGE_NOT_REPORTED' };
const ESTIMATED = { status: 'FINAL' };

test.each<[string, object[], string, string | undefined, object]>([
  ['stopped, without usage or mark', [{ finish_reason: 'stop' }], 'COMPLETED', undefined, NOT_REPORTED],
  ['never stopped', [{}], 'FAILED', 'VENDOR_STREAM_CUT', ESTIMATED],
  [
    'stopped for one of two answers',
    [{ finish_reason: 'stop' }, { index: 1 }],
    'FAILED',
    'VENDOR_STREAM_CUT',
    ESTIMATED,
  ],
])(
  'a stream that closed and had %s is recorded with the right status and price',
  async (_, choices, status, code, price) => {
    const parts = choices.map((choice) => ({
      object: 'chat.completion.chunk',
      model: 'gpt-5.2',
      choices: [{ index: 0, delta: {}, ...choice }],
    }));
    const text = parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join('');
    vendor.answers = () => new Response(text, { headers: { 'Content-Type': 'text/event-stream' } });
    const tenant = await newTenant();
    const { response, callId, rest } = await ask(tenant.key, { stream: true });
    const answered = await response.text();
    // The caller is told of a failure as well.
    expect(answered.startsWith(text)).toBe(true);
    expect(answered.slice(text.length)).toEqual(code === undefined ? '' : expect.stringContaining(`"code":"${code}"`));
    await rest();
    const call = await readStoredCall(tenant, callId);
    expect([call?.status, call?.outcome?.error?.code]).toEqual([status, code]);
    expect(call?.outcome?.price).toMatchObject(price);
  },
);

describe.each([1_000_000_001, -1, '7'])('a vendor that reports %j tokens', (figure) => {
  const implausible = { ...usage, prompt_tokens: figure };

  test.each([false, true])(
    'has its answer passed on, and its prompt counted at the bound (stream: %s)',
    async (stream) => {
      const chunk = {
        object: 'chat.completion.chunk',
        model: 'gpt-5.2',
        choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }],
      };
      const text = `data: ${JSON.stringify({ ...chunk, usage: implausible })}\n\ndata: [DONE]\n\n`;
      vendor.answers = () =>
        stream
          ? new Response(text, { headers: { 'Content-Type': 'text/event-stream' } })
          : Response.json({ ...completion('gpt-5.2'), usage: implausible });
      const tenant = await newTenant();
      const { response, callId, rest } = await ask(
        tenant.key,
        stream ? { stream, stream_options: { include_usage: true } } : {},
      );
      expect(response.status).toBe(200);
      const answered = await response.text();
      expect(answered).toContain(JSON.stringify(implausible));
      expect(answered).toContain('hi');
      await rest();
      const call = await readStoredCall(tenant, callId);
      expect(call).toMatchObject({
        status: 'COMPLETED',
        outcome: {
          price: { status: 'FINAL' },
          usageSource: 'partial',
          unclear: ['inputTokens'],
          usage: { responseTokens: usage.completion_tokens },
        },
      });
      // Never less than a token for each four bytes, nor more than one for each byte and the frame.
      expect(call?.outcome?.usage.inputTokens).toBeGreaterThan(5);
      expect(call?.outcome?.usage.inputTokens).toBeLessThan(500);
    },
  );

  test('has its answer passed on by POST /call too', async () => {
    vendor.answers = () => Response.json({ ...completion('gpt-5.2'), usage: implausible });
    const { api } = await newTenant();
    const asked = { url: 'https://api.openai.com/v1/chat/completions', body: { model: 'gpt-5.2' } };
    const { data } = await api.send('makeCall', { body: { customerId: 'default', vendor: asked } });
    expect(data.vendor).toMatchObject({ ok: true, body: { usage: implausible } });
    expect(data.end).toMatchObject({
      status: 'COMPLETED',
      pricingStatus: 'FINAL',
      usageSource: 'partial',
      unclear: ['inputTokens'],
      usage: { responseTokens: usage.completion_tokens },
    });
    const { inputTokens } = data.end?.usage ?? {};
    expect(inputTokens).toBeGreaterThan(5);
    expect(data.endUsage).toMatchObject({ inputTokens, tokens: usage.completion_tokens, usageSource: 'partial' });
  });
});

test('POST /call refuses a report of more tokens than any call has, and names the field', async () => {
  const { api } = await newTenant();
  const { refusal } = await api.send('makeCall', {
    body: { customerId: 'default', usage: { inputTokens: 1_000_000_001 } },
  });
  expect([refusal.code, refusal.message]).toEqual([
    'BAD_REQUEST',
    expect.stringMatching(/^usage.inputTokens: .*1000000000/),
  ]);
});

describe('POST /call', () => {
  const make = async (
    { key }: { key: string },
    env: Env,
    idempotencyKey: string,
    { responseType = 'json', ...more }: { responseType?: string; max_completion_tokens?: number } = {},
  ) => {
    const context = createExecutionContext();
    const api = new Api(
      async (url, init) => app.request(url, init as RequestInit, env, context),
      'https://service.test',
      key,
    );
    const asked = {
      url: 'https://api.openai.com/v1/chat/completions',
      body: { model: 'gpt-5.2', ...more },
      responseType,
    };
    const headers = { 'Idempotency-Key': idempotencyKey };
    const reply = await api.send('makeCall', { body: { customerId: 'default', vendor: asked }, headers });
    return { reply, rest: () => waitOnExecutionContext(context) };
  };

  test("returns the vendor's answer although the object is unavailable, and ends the call later", async () => {
    let asked = 0;
    vendor.answers = (url, body) => {
      asked += 1;
      return answers(url, body);
    };
    const tenant = await newTenant();
    const { env, ends } = failing(2);
    const { reply, rest } = await make(tenant, env, 'away');
    expect(reply.body.result).toMatchObject({ code: 'CALL_SUCCESS', message: expect.stringContaining('GET /calls/') });
    expect(reply.data).toMatchObject({
      vendor: { ok: true, status: 200, body: { id: 'c' } },
      endUsage: { inputTokens: 10, tokens: 4 },
    });
    expect(reply.data).not.toHaveProperty('end');
    expect((await make(tenant, bindings, 'away')).reply.refusal.code).toBe('CALL_IN_FLIGHT');
    await rest();
    expect(ends()).toBe(3);
    expect(await readStoredCall(tenant, 'away')).toMatchObject({
      status: 'COMPLETED',
      outcome: { usage: { inputTokens: 10, responseTokens: 4 } },
    });
    const again = (await make(tenant, bindings, 'away')).reply;
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    expect(again.data).toMatchObject({ ...reply.data, end: { status: 'COMPLETED', metered: { tokens: 4 } } });
    expect(asked).toBe(1);
  });

  test('gives up on an object that stays unavailable: attempts are bounded, usage is logged, and the call times out', async () => {
    vendor.answers = answers;
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
    expect(logged.map((text) => JSON.parse(text))).toMatchObject([
      { event: 'call_end_lost', callId: 'gone', usage: { inputTokens: 10 } },
    ]);
    expect((await readStoredCall(tenant, 'gone'))?.deadlineAtMs).toBeLessThan(Date.now() + 100_000);
  });

  const SSE = 'text/event-stream; charset=utf-8';
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'gpt-5.2', choices: [{ index: 0, delta: {}, ...more }] })}\n\n`;
  const begun = chunk({});
  const figures = begun.replace('"choices"', `"usage":{"prompt_tokens":9,"completion_tokens":1},"choices"`);
  const estimated = { pricingStatus: 'FINAL', usageSource: 'estimated', metered: { calls: 1 } };

  test.each<[string, string, string, string, object]>([
    ['no event', '', SSE, 'VENDOR_STREAM_CUT', estimated],
    ['comments alone', ': ping\n\n', SSE, 'VENDOR_STREAM_CUT', estimated],
    ['an event in two', begun.slice(0, 40), SSE, 'VENDOR_STREAM_CUT', estimated],
    ['no reason to stop', begun, SSE, 'VENDOR_STREAM_CUT', estimated],
    [
      'the usage so far',
      figures,
      SSE,
      'VENDOR_STREAM_CUT',
      { pricingStatus: 'FINAL', usageSource: 'partial', usage: { inputTokens: 9, responseTokens: 1 } },
    ],
    ['half a document', '{"choices":[{"mess', 'application/json', 'VENDOR_ANSWER_BROKEN', estimated],
  ])(
    'fails with the reported or estimated usage if an answer ended early on an intact connection (%s)',
    async (...given) => {
      const [name, body, contentType, code, end] = given;
      const tenant = await newTenant();
      for (const responseType of ['json', 'text', 'stream']) {
        vendor.answers = () => new Response(body, { headers: { 'Content-Type': contentType } });
        const key = `${name} ${responseType}`.replaceAll(' ', '-');
        // Limits the possible loss to the reported usage, whatever time the answer takes.
        const { reply } = await make(tenant, bindings, key, { responseType, max_completion_tokens: 1 });
        expect(reply.body.result.code).toBe('CALL_VENDOR_WARNING');
        expect(reply.data.vendor).toMatchObject({ ok: false, status: 200, body });
        expect(reply.data.end).toMatchObject({ status: 'FAILED', error: { code }, ...end });
      }
    },
  );

  test.each([
    ['a stream that stopped, without usage or mark', chunk({ finish_reason: 'stop' }), SSE],
    ['a stream in a form of its own', 'data: {"token":"hello"}\n\n', SSE],
    ['plain text', '[draft] hello', 'text/plain'],
    ['documents in lines', '{"response":"a"}\n{"done":true}\n', 'application/x-ndjson'],
  ])('succeeds with %s', async (_, body, contentType) => {
    vendor.answers = () => new Response(body, { headers: { 'Content-Type': contentType } });
    const { data } = (await make(await newTenant(), bindings, 'whole', { responseType: 'stream' })).reply;
    expect([data.vendor?.ok, data.vendor?.body, data.end?.status]).toEqual([true, body, 'COMPLETED']);
  });
});

test('a fault of ours ends the call and reveals nothing', async () => {
  vendor.answers = answers;
  const tenant = await newTenant();
  // The secret under which the vendor's key was sealed is gone: storage refuses, in the middle of an admitted call.
  const { VENDOR_KEY_SECRET: _lost, ...env } = bindings;
  const { response, rest } = await ask(tenant.key, {}, env as Env);
  expect(response.status).toBe(503);
  expect(((await response.json()) as { error: { code: string } }).error.code).toBe('SERVICE_UNAVAILABLE');
  await rest();
  const params = { org: tenant.organizationId, customerId: 'default' };
  const { openCalls, recentCalls, meters } = (await operator.send('readCustomer', { params })).data;
  expect([openCalls, recentCalls[0]?.status, recentCalls[0]?.costUSD, meters.premiumCalls?.used]).toEqual([
    0,
    'FAILED',
    0,
    0,
  ]);
});

test('the effort that ran is recorded with its source', async () => {
  vendor.answers = (url, { model, reasoning }) =>
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
    const outcome = (await readStoredCall(tenant, callId))?.outcome;
    return [outcome?.reasoningEffort, outcome?.reasoningEffortSource];
  };
  expect(await recorded({ reasoning_effort: 'low' })).toEqual(['low', 'provider_request']);
  // The plan's ceiling is MEDIUM; GPT-5.2 has no `minimal`.
  expect(await recorded({ reasoning_effort: 'high' })).toEqual(['medium', 'gateway_config']);
  expect(await recorded({ reasoning_effort: 'minimal' })).toEqual(['low', 'gateway_config']);
  expect(await recorded({})).toEqual([undefined, undefined]);
  const input = { input: 'x' };
  expect(await recorded({ ...input, reasoning: { effort: 'xhigh' } }, '/v1/responses')).toEqual([
    'medium',
    'provider_response',
  ]);
});
