/**
 * Promise: vendors' odd answers are charged by their content, in any form, from vendors that are asked directly or by
 * translation; nothing of them stays in the memory of the isolate, and no caller sees its vendor's key.
 */

import { createExecutionContext, runDurableObjectAlarm, waitOnExecutionContext } from 'cloudflare:test';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { forgetAll } from '../../src/platform/isolate-memory.ts';
import { HeldBytes } from '../../src/vendors/answer-memory.ts';
import { readUsage, StreamUsage } from '../../src/vendors/usage.ts';
import type { Tenant } from '../support/api.ts';
import { planOnCredit } from '../support/credit-plans.ts';
import { fundedCustomer } from '../support/customer.ts';
import {
  accountOf,
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
afterEach(forgetAll);

const MEGABYTE = 1024 * 1024;
const EVENTS = 'text/event-stream';
const JSON_TYPE = 'application/json';
const typed = (body: string | ReadableStream, type: string) =>
  new Response(body, { headers: { 'Content-Type': type } });
const sse = (...events: (object | string)[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
const chunk = (delta: object, more: object = {}) => ({
  object: 'chat.completion.chunk',
  model: 'gpt-5.2',
  choices: [{ index: 0, delta }],
  ...more,
});
const ANTHROPIC = 'https://api.anthropic.com/v1';
const GOOGLE = 'https://generativelanguage.googleapis.com/v1beta';

async function withVendor(tenant: Tenant, provider: string, baseUrl: string, apiKey = 'sk-test') {
  const params = { org: tenant.organizationId, provider };
  expect((await operator.send('setVendor', { params, body: { apiKey, baseUrl } })).status).toBe(200);
}

/** Adds a vendor of Anthropic's kind and one of Google's, each with a model `golden` at 10 USD a million tokens. */
async function withPricedVendors(tenant: Tenant) {
  for (const [provider, baseUrl] of [
    ['anthropic', ANTHROPIC],
    ['google', GOOGLE],
  ] as const) {
    await withVendor(tenant, provider, baseUrl);
    const params = { org: tenant.organizationId, modelKey: `${provider}/golden` };
    const components = ['input', 'output'].map((component) => ({ component, per: 1_000_000, usd: '10' }));
    expect((await operator.send('setPrice', { params, body: { components } })).status).toBe(200);
  }
}

const CREDIT = planOnCredit({ maxOutputTokens: 10_000 });

async function onCredit() {
  const tenant = await newTenant(CREDIT);
  const components = ['input', 'output'].map((component) => ({ component, per: 1_000_000, usd: '10' }));
  for (const modelKey of ['openai/gpt-5.2', 'openai/gpt-4o-mini']) {
    const params = { org: tenant.organizationId, modelKey };
    expect((await operator.send('setPrice', { params, body: { components } })).status).toBe(200);
  }
  await fundedCustomer(tenant, 'default', { usd: '10' });
  return tenant;
}

/** Bodies that say 200 and are errors, as vendors and servers write them. */
const ERRORS: [string, object][] = [
  ["MiniMax's state", { id: 'x', choices: null, base_resp: { status_code: 1002, status_msg: 'rate limit' } }],
  ["vLLM's members", { object: 'error', message: 'engine is dead', type: 'InternalServerError', code: 500 }],
  ["Cloudflare's envelope", { result: null, success: false, errors: [{ code: 7000, message: 'no route' }] }],
  ["Anthropic's", { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
  ["Google's", { error: { code: 503, status: 'UNAVAILABLE', message: 'the model is overloaded' } }],
  ["Ollama's", { error: 'model runner has stopped' }],
];

describe('an error that says 200', () => {
  test.each(ERRORS)('%s: is free on credit by every way', async (_, error) => {
    const tenant = await onCredit();
    const callIds = new Set<string>();
    for (const [text, type] of [
      [JSON.stringify(error), JSON_TYPE],
      [sse(error), EVENTS],
    ] as const) {
      vendor.answers = () => typed(text, type);
      for (const stream of [false, true]) {
        const { response, callId, rest } = await ask(tenant.key, { stream });
        expect(response.status).toBeGreaterThanOrEqual(400);
        await response.text();
        await rest();
        callIds.add(callId);
      }
      for (const responseType of ['json', 'text']) {
        const asked = {
          url: `${BASE_URL}/chat/completions`,
          provider: 'openai',
          responseType,
          body: { model: 'gpt-5.2', messages: [{ role: 'user', content: 'x' }], max_tokens: 100 },
        };
        const { body } = await tenant.api.send('makeCall', { body: { customerId: 'default', vendor: asked } });
        expect(body).toMatchObject({ result: { code: 'CALL_VENDOR_WARNING' }, data: { vendor: { status: 200 } } });
        callIds.add(String(body.data.begin.callId));
      }
    }
    expect((await accountOf(tenant)).wallet).toMatchObject({ held: '0', unsettled: '0' });
    expect(callIds.size).toBe(8);
    for (const callId of callIds) {
      const { status, outcome } = (await readStoredCall(tenant, callId)) ?? {};
      expect([status, outcome?.usage.inputTokens]).toEqual(['FAILED', 0]);
      expect(outcome?.price).toMatchObject({ costNanoUsd: '0' });
      expect(outcome?.charge?.amountNanoUsd ?? '0').toBe('0');
    }
  });

  test('as lines of a batch they are free, and one beside an answer is charged', async () => {
    const tenant = await onCredit();
    const bodies: object[] = [
      ...ERRORS.map(([, body]) => body),
      { ...completion('gpt-5.2'), error: { message: 'late' } },
    ];
    const ids = bodies.map((_, index) => `line-${index}`);
    let requestName = '';
    vendor.answers = (url, { metadata }) => {
      const asked = { model: 'gpt-5.2', messages: [{ role: 'user', content: 'x' }], max_tokens: 100 };
      if (url.endsWith('/files/file_in/content'))
        return new Response(
          ids.map((id) => JSON.stringify({ custom_id: id, url: '/v1/chat/completions', body: asked })).join('\n'),
        );
      if (metadata) {
        requestName = (metadata as { service_request_id: string }).service_request_id;
        return Response.json({ id: 'batch_e', status: 'validating', metadata });
      }
      return url.endsWith('/batches/batch_e')
        ? Response.json({ id: 'batch_e', status: 'completed', output_file_id: 'file_out' })
        : new Response(
            bodies
              .map((body, index) => JSON.stringify({ custom_id: ids[index], response: { status_code: 200, body } }))
              .join('\n'),
          );
    };
    const batch = { input_file_id: 'file_in', endpoint: '/v1/chat/completions' };
    expect((await ask(tenant.key, batch, bindings, '/v1/batches')).response.status).toBe(200);
    await runDurableObjectAlarm(bindings.GATEWAY_BATCHES.getByName(`${tenant.organizationId}:${requestName}`));
    const inputs = await Promise.all(
      ids.map(async (id) => {
        const { status, outcome } = (await readStoredCall(tenant, `batch:batch_e:${id}`)) ?? {};
        return [status, outcome?.usage.inputTokens, outcome?.usageSource];
      }),
    );
    expect(inputs).toEqual([...ERRORS.map(() => ['FAILED', 0, undefined]), ['FAILED', 10, undefined]]);
  });

  test('with text beside it, in the first event, is a broken stream that is charged for its text', async () => {
    const tenant = await newTenant();
    const error = { message: 'the provider is gone', code: 502 };
    vendor.answers = () => typed(sse(chunk({ content: 'one two three four five six' }, { error })), EVENTS);
    const { response, callId, rest } = await ask(tenant.key, { stream: true });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('three');
    await rest();
    const call = await readStoredCall(tenant, callId);
    expect([call?.status, call?.outcome?.usageSource]).toEqual(['FAILED', 'estimated']);
    expect(call?.outcome?.usage.responseTokens).toBeGreaterThanOrEqual(5);
  });

  test.each<[string, object]>([
    ['whole', { ...completion('gpt-5.2'), choices: [], error: { message: 'no' } }],
    [
      'in the first event of a response',
      {
        type: 'response.failed',
        response: {
          object: 'response',
          model: 'gpt-5.2',
          error: { code: 'server_error', message: 'no' },
          usage: { input_tokens: 10, output_tokens: 4 },
        },
      },
    ],
  ])('%s, with usage, is charged at its own model beside the one that answered', async (_, error) => {
    const tenant = await onCredit();
    vendor.answers = (_url, { model }) =>
      model === 'gpt-5.2' ? typed(sse(error), EVENTS) : Response.json(completion(model));
    const { response, callId, rest } = await ask(tenant.key, {
      model: 'openai/gpt-5.2',
      models: ['openai/gpt-4o-mini'],
      max_tokens: 100,
    });
    expect(response.status).toBe(200);
    await rest();
    const { outcome } = (await readStoredCall(tenant, callId)) ?? {};
    // Both together.
    expect(outcome?.usage).toMatchObject({ inputTokens: 20, responseTokens: 8 });
    expect(outcome?.parts).toMatchObject([
      { modelUsed: 'gpt-4o-mini', usage: { inputTokens: 10, responseTokens: 4 } },
      { modelUsed: 'gpt-5.2', usage: { inputTokens: 10, responseTokens: 4 } },
    ]);
    expect(outcome?.charge?.amountNanoUsd).toBe(String(2 * 14 * 10_000));
  });

  test.each<[string, object]>([
    ['vectors', { object: 'list', data: [{ embedding: [1] }], error: { message: 'one input was cut' } }],
    ['a transcription', { text: 'hello', error: { message: 'the rest is noise' } }],
    ['a ranking', { results: [{ index: 0 }], error: { message: 'two documents were left out' } }],
  ])('beside %s does not make it free', async (_, answer) => {
    const tenant = await newTenant();
    vendor.answers = () => Response.json(answer);
    const { response, callId, rest } = await ask(
      tenant.key,
      { input: 'x', messages: undefined },
      bindings,
      '/v1/embeddings',
    );
    expect([response.status, await response.json()]).toEqual([200, answer]);
    await rest();
    const call = await readStoredCall(tenant, callId);
    expect([call?.status, call?.outcome?.price]).toMatchObject(['FAILED', { status: 'UNAVAILABLE' }]);
    const asked = { url: `${BASE_URL}/embeddings`, provider: 'openai', body: { model: 'gpt-5.2', input: 'x' } };
    const { data } = await tenant.api.send('makeCall', { body: { customerId: 'default', vendor: asked } });
    expect(data.end?.usageSource).toBe('estimated');
    expect(Number(data.end?.costUsdNano)).toBeGreaterThan(0);
  });

  test('a retry under its key gets the same error, and the vendor is not asked again', async () => {
    const tenant = await newTenant();
    let asked = 0;
    vendor.answers = () => {
      asked += 1;
      return typed(sse({ error: { message: 'overloaded', code: 503 } }), EVENTS);
    };
    const more = { 'Idempotency-Key': 'k-1' };
    const first = await ask(tenant.key, { stream: true }, bindings, '/v1/chat/completions', more);
    const text = await first.response.text();
    await first.rest();
    const again = await ask(tenant.key, { stream: true }, bindings, '/v1/chat/completions', more);
    expect([first.response.status, again.response.status, await again.response.text(), asked]).toEqual([
      503,
      503,
      text,
      1,
    ]);
  });
});

describe("a vendor's key", () => {
  const KEY = 'f00dfeed-0123456789-f00dfeed';
  const words = { message: `the key ${KEY} is over its limit`, code: 'overloaded' };
  test.each<[string, string, string, object]>([
    ['first event', sse({ error: words }), EVENTS, { stream: true }],
    ['later event', sse(chunk({ content: 'hello' }), { error: words }), EVENTS, { stream: true }],
    [
      'later event, where usage is asked for',
      sse(chunk({ content: 'hello' }), { error: words }),
      EVENTS,
      { stream: true, stream_options: { include_usage: true } },
    ],
    [
      'named event',
      `${sse(chunk({ content: 'hello' }))}event: error\ndata: ${JSON.stringify(words)}\n\n`,
      EVENTS,
      { stream: true },
    ],
    ['whole error', JSON.stringify({ error: words }), JSON_TYPE, {}],
    ['error beside an answer', JSON.stringify({ ...completion('gpt-5.2'), error: words }), JSON_TYPE, {}],
    [
      'failed response',
      JSON.stringify({ object: 'response', status: 'failed', error: words, output: [] }),
      JSON_TYPE,
      {},
    ],
  ])('in a %s reaches neither the caller nor the record', async (_, text, type, body) => {
    const tenant = await newTenant();
    await withVendor(tenant, 'openai', BASE_URL, KEY);
    vendor.answers = () => typed(text, type);
    const { response, callId, rest } = await ask(tenant.key, body);
    const told = await response.text().catch(String);
    await rest();
    expect(told).not.toContain(KEY);
    expect(told).toContain('over its limit');
    const call = await readStoredCall(tenant, callId);
    expect(call?.status).toBe('FAILED');
    expect(JSON.stringify(call)).not.toContain(KEY);
  });
});

describe('chat that is translated to Anthropic', () => {
  const MESSAGE = {
    id: 'msg',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [{ type: 'text', text: 'hello' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 10, output_tokens: 4 },
  };
  const AS_EVENTS = sse(
    { type: 'message_start', message: { ...MESSAGE, content: [], usage: { input_tokens: 10, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
    { type: 'message_stop' },
  );
  const chat = async (text: string | ReadableStream, type: string, stream: boolean) => {
    const tenant = await newTenant();
    await withVendor(tenant, 'anthropic', ANTHROPIC);
    vendor.answers = () => typed(text, type);
    const { response, callId, rest } = await ask(tenant.key, {
      model: 'anthropic/claude-sonnet-4-5',
      stream,
      max_tokens: 50,
    });
    const told = await response.text();
    await rest();
    return { status: response.status, told, call: await readStoredCall(tenant, callId) };
  };

  test.each([
    ['events where JSON was asked for', AS_EVENTS, JSON_TYPE, false],
    ['events that call themselves text', AS_EVENTS, 'text/plain', true],
    ['JSON where events were asked for', JSON.stringify(MESSAGE), EVENTS, true],
    ['JSON that calls itself text', JSON.stringify(MESSAGE), 'text/plain', false],
  ])('%s: is a completion, charged as reported', async (_, text, type, stream) => {
    const { status, told, call } = await chat(text, type, stream);
    expect(status).toBe(200);
    expect(told).toMatch(/"object":"chat\.completion/);
    expect(told).toContain('hello');
    expect(call).toMatchObject({ status: 'COMPLETED', outcome: { usage: { inputTokens: 10, responseTokens: 4 } } });
    expect(call?.outcome?.usageSource).toBeUndefined();
  });

  test.each([
    [
      'whole',
      JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
      JSON_TYPE,
      false,
    ],
    [
      'first event',
      `event: error\n${sse({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })}`,
      EVENTS,
      true,
    ],
    [
      'first event where JSON was asked for',
      sse({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
      EVENTS,
      false,
    ],
  ])('an error inside 200, %s, is free and in the form of OpenAI', async (_, text, type, stream) => {
    const { status, told, call } = await chat(text, type, stream);
    expect(status).toBe(503);
    expect(JSON.parse(told)).toMatchObject({ error: { message: 'Overloaded' } });
    expect(call).toMatchObject({ status: 'FAILED', outcome: { usage: { inputTokens: 0, responseTokens: 0 } } });
  });
});

/** Whether nothing is held in the isolate: all of it can be had. */
function expectAllFree() {
  const whole = [10, 10, 10, 2].map((megabytes) => {
    const held = new HeldBytes();
    return held.take(megabytes * MEGABYTE) && held;
  });
  const recorded = [10, 6].map((megabytes) => {
    const held = new HeldBytes('recorded');
    return held.take(megabytes * MEGABYTE) && held;
  });
  for (const held of [...whole, ...recorded]) {
    expect(held).not.toBe(false);
    if (held) held.release();
  }
}

/** So many bytes in pieces, followed by nothing, a break, or an end. */
function long(head: string, pieces: number, then: 'silence' | 'break' | 'end', tail = ''): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = -1;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        at += 1;
        if (at === 0) controller.enqueue(encoder.encode(head));
        else if (at <= pieces) controller.enqueue(encoder.encode('A'.repeat(MEGABYTE / 4)));
        else if (then === 'break') controller.error(new Error('reset'));
        else if (then === 'silence') await new Promise(() => undefined);
        else {
          controller.enqueue(encoder.encode(tail));
          controller.close();
        }
      },
    },
    { highWaterMark: 0 },
  );
}

const PICTURE = '{"object":"chat.completion","model":"gpt-5.2","choices":[{"index":0,"message":{"content":"';
const PICTURE_EVENT =
  'data: {"object":"chat.completion.chunk","model":"gpt-5.2","choices":[{"index":0,"delta":{"content":"';

describe('the memory of an isolate', () => {
  test.each<[string, string, boolean, string, number, 'break' | 'end', string, string]>([
    ['JSON that breaks off while it is held', '/v1/chat/completions', false, PICTURE, 8, 'break', '', JSON_TYPE],
    ['JSON that breaks off while it passes', '/v1/chat/completions', false, PICTURE, 40, 'break', '', JSON_TYPE],
    ['JSON that passes', '/v1/chat/completions', false, PICTURE, 48, 'end', '"}}]}', JSON_TYPE],
    ['an event that breaks off while it is held', '/v1/chat/completions', true, PICTURE_EVENT, 20, 'break', '', EVENTS],
    [
      'an event that is longer than can be held',
      '/v1/chat/completions',
      true,
      PICTURE_EVENT,
      48,
      'end',
      '"}}]}\n\n',
      EVENTS,
    ],
  ])('has all back after %s', async (_, path, stream, head, pieces, then, tail, type) => {
    const tenant = await newTenant();
    vendor.answers = () => typed(long(head, pieces, then, tail), type);
    const options = stream ? { stream_options: { include_usage: true } } : {};
    for (const key of [{}, { 'Idempotency-Key': 'k' }] as Record<string, string>[]) {
      const { response, rest } = await ask(tenant.key, { stream, ...options }, bindings, path, key);
      await response.arrayBuffer().catch(() => undefined);
      await rest();
      expectAllFree();
    }
  });

  test('holds what a slow caller has not read of a large answer, and has it back when the caller leaves', async () => {
    const tenant = await newTenant();
    vendor.answers = () => typed(long(PICTURE, 48, 'end', '"}}]}'), JSON_TYPE);
    const asked = await Promise.all([1, 2, 3, 4, 5, 6].map(() => ask(tenant.key, {})));
    // Six times almost four MiB.
    const refused = await ask(tenant.key, {});
    expect([refused.response.status, refused.response.headers.get('Retry-After')]).toEqual([503, '1']);
    for (const { response } of asked) await response.body?.cancel();
    for (const { rest } of asked) await rest();
    expectAllFree();
  });

  test('has all back of an event that is whole only after its caller has left', async () => {
    const tenant = await newTenant();
    vendor.answers = () => typed(long(PICTURE_EVENT, 20, 'end', '"}}]}\n\ndata: [DONE]\n\n'), EVENTS);
    const { response, rest } = await ask(tenant.key, { stream: true, stream_options: { include_usage: true } });
    const reader = response.body?.getReader();
    const reading = reader?.read().catch(() => undefined);
    await scheduler.wait(20);
    await reader?.cancel();
    await reading;
    await rest();
    expectAllFree();
  });
});

const FASTER = 20;
/** Long waits are shorter. */
function soon() {
  const wait = setTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms = 0) =>
    wait(work, ms < 5_000 ? ms : ms / FASTER)) as typeof setTimeout);
}

/** Sends a request, and leaves after a while, if at all; returns the record. */
async function begin(
  tenant: Awaited<ReturnType<typeof newTenant>>,
  leavesMs: number | null,
  body: object = { model: 'gpt-5.2', messages: [{ role: 'user', content: 'x' }], stream: true },
  path = '/v1/chat/completions',
) {
  const context = createExecutionContext();
  const caller = new AbortController();
  const headers = { Authorization: `Bearer ${tenant.key}`, 'Content-Type': JSON_TYPE };
  const request = { method: 'POST', headers, body: JSON.stringify(body), signal: caller.signal };
  const asked = createApp().request(path, request, bindings, context);
  if (leavesMs !== null) setTimeout(() => caller.abort(), leavesMs);
  const response = await asked;
  // A caller that leaves a stream reads no more of it.
  const told = leavesMs !== null && response.ok ? '' : await response.text().catch(String);
  await waitOnExecutionContext(context);
  return { response, told, call: await readStoredCall(tenant, response.headers.get('x-service-call-id') ?? '') };
}

function signalled(answer: (signal: AbortSignal | undefined) => Response | Promise<Response>) {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (_url, init) =>
    answer((init as { signal?: AbortSignal } | undefined)?.signal),
  );
}

describe('answers of 12 MiB', () => {
  const IMAGE = '{"type":"image_generation_call","id":"ig","status":"completed","result":"';
  const RESPONSE = '{"id":"r","object":"response","model":"gpt-5.2","status":"completed","output":[';
  const RESPONSE_END = '"}],"usage":{"input_tokens":10,"output_tokens":4,"total_tokens":14}}';
  const FIRST = sse({ type: 'response.created', response: { object: 'response', model: 'gpt-5.2', output: [] } });
  const GEMINI = '{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"';
  const GEMINI_END = '"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":4}}';
  const MESSAGE = '{"type":"message","model":"golden","content":[{"type":"text","text":"';
  const MESSAGE_END = '"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":4}}';
  const gemini = { contents: [{ role: 'user', parts: [{ text: 'x' }] }], generationConfig: { maxOutputTokens: 900 } };
  const message = { model: 'anthropic/golden', messages: [{ role: 'user', content: 'x' }], max_tokens: 900 };
  const response = { model: 'gpt-5.2', input: 'x', max_output_tokens: 900, store: false };
  const content = '/v1beta/models/google/golden';

  test.each<[string, string, object, string, string, string]>([
    ['a response', '/v1/responses', response, RESPONSE + IMAGE, RESPONSE_END, JSON_TYPE],
    [
      'the last event of a response',
      '/v1/responses',
      { ...response, stream: true },
      `${FIRST}data: {"type":"response.completed","response":${RESPONSE}${IMAGE}`,
      `${RESPONSE_END}}\n\n`,
      EVENTS,
    ],
    ['content of Google', `${content}:generateContent`, gemini, GEMINI, GEMINI_END, JSON_TYPE],
    [
      'an event of Google',
      `${content}:streamGenerateContent?alt=sse`,
      gemini,
      `data: ${GEMINI}`,
      `${GEMINI_END}\n\n`,
      EVENTS,
    ],
    ['a list of Google', `${content}:streamGenerateContent`, gemini, `[${GEMINI}`, `${GEMINI_END}]`, JSON_TYPE],
    ['a message', '/v1/messages', message, MESSAGE, MESSAGE_END, JSON_TYPE],
  ])(
    '%s passes and is charged as reported, on credit too, and is not kept for a retry',
    async (_, path, body, head, tail, type) => {
      for (const tenant of [await newTenant(), await onCredit()]) {
        await withPricedVendors(tenant);
        vendor.answers = () => typed(long(head, 48, 'end', tail), type);
        const asked = { messages: undefined, model: undefined, ...body };
        const key = { 'Idempotency-Key': 'large' };
        const { response: answer, callId, rest } = await ask(tenant.key, asked, bindings, path, key);
        expect(answer.status).toBe(200);
        expect((await answer.arrayBuffer()).byteLength).toBe(head.length + 12 * MEGABYTE + tail.length);
        await rest();
        const call = await readStoredCall(tenant, callId);
        expect(call).toMatchObject({ status: 'COMPLETED', outcome: { usage: { inputTokens: 10, responseTokens: 4 } } });
        expect(call?.outcome?.usageSource).toBeUndefined();
        const again = await ask(tenant.key, asked, bindings, path, key);
        expect([again.response.status, await again.response.text()]).toEqual([
          409,
          expect.stringMatching(/CALL_ALREADY_FINALIZED|not kept/),
        ]);
        expectAllFree();
      }
    },
  );

  test.each([
    ['json', GEMINI, GEMINI_END, JSON_TYPE],
    ['text', GEMINI, GEMINI_END, JSON_TYPE],
    ['text', `data: ${GEMINI}`, `${GEMINI_END}\n\n`, EVENTS],
    ['json', `data: ${GEMINI}`, `${GEMINI_END}\n\n`, JSON_TYPE],
  ])(
    'by POST /call as %s are charged as reported, and told to be too large',
    async (responseType, head, tail, type) => {
      const tenant = await newTenant();
      vendor.answers = () => typed(long(head, 48, 'end', tail), type);
      const url = `${GOOGLE}/models/gemini-2.5-flash:generateContent`;
      const asked = { url, provider: 'google', responseType, body: gemini };
      const { body } = await tenant.api.send('makeCall', { body: { customerId: 'default', vendor: asked } });
      expect(body).toMatchObject({
        result: { code: 'CALL_VENDOR_WARNING' },
        data: {
          vendor: { ok: false, error: { details: { code: 'VENDOR_ANSWER_TOO_LARGE' } } },
          endUsage: { inputTokens: 10, responseTokens: 4, usageSource: 'reported' },
        },
      });
      expectAllFree();
    },
  );
});

describe('before the first event', () => {
  /** Comments, and then whatever the test says. */
  const waiting = (signal: AbortSignal | undefined, text: string, afterMs: number) => {
    const encoder = new TextEncoder();
    return new ReadableStream<Uint8Array>({
      async start(controller) {
        signal?.addEventListener('abort', () => controller.error(signal.reason), { once: true });
        const comments = setInterval(() => {
          try {
            controller.enqueue(encoder.encode(': waiting\n\n'));
          } catch {
            clearInterval(comments);
          }
        }, 50);
        await scheduler.wait(afterMs);
        clearInterval(comments);
        if (signal?.aborted) return;
        controller.enqueue(encoder.encode(text));
        controller.close();
      },
    });
  };
  const ANSWER = sse(chunk({ content: 'hi' }), { ...chunk({}), choices: [], usage }, '[DONE]');

  test('a caller that leaves ends the call: with the figures that come in time', async () => {
    soon();
    const tenant = await newTenant();
    signalled((signal) => typed(waiting(signal, ANSWER, 300), EVENTS));
    const { call } = await begin(tenant, 30);
    expect(call).toMatchObject({ status: 'COMPLETED', outcome: { usage: { inputTokens: 10, responseTokens: 4 } } });
  });

  test('a caller that leaves ends the call: as left, if none come', async () => {
    soon();
    const tenant = await newTenant();
    signalled((signal) => typed(waiting(signal, ANSWER, 60_000), EVENTS));
    const { call } = await begin(tenant, 30);
    expect(call).toMatchObject({ status: 'FAILED', outcome: { error: { code: 'CLIENT_LEFT' } } });
  });

  test('a vendor that breaks off is a broken answer, and one that is slow passes as it comes', async () => {
    soon();
    const tenant = await newTenant();
    signalled(() => {
      let isBegun = false;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (isBegun) controller.error(new Error('reset'));
          else controller.enqueue(new TextEncoder().encode(': waiting\n\ndata: {"cho'));
          isBegun = true;
        },
      });
      return typed(body, EVENTS);
    });
    const broken = await begin(tenant, null);
    expect(broken.response.status).toBe(502);
    expect(broken.call).toMatchObject({ status: 'FAILED', outcome: { error: { code: 'VENDOR_ANSWER_BROKEN' } } });
    signalled((signal) => typed(waiting(signal, ANSWER, 1_500), EVENTS));
    const slow = await begin(tenant, null);
    expect([slow.response.status, slow.told.startsWith(': waiting')]).toEqual([200, true]);
    expect(slow.call).toMatchObject({ status: 'COMPLETED', outcome: { usage: { inputTokens: 10 } } });
    signalled((signal) => typed(waiting(signal, sse({ error: { message: 'late', code: 503 } }), 1_500), EVENTS));
    const late = await begin(tenant, null);
    expect(late.response.status).toBe(200);
    expect(late.call).toMatchObject({ status: 'FAILED', outcome: { usage: { inputTokens: 0, responseTokens: 0 } } });
  });
});

describe('a call on credit that its caller leaves, whose vendor thinks on', () => {
  const PROMPT = [{ role: 'user', content: 'Say something.' }];
  const CONTENTS = [{ role: 'user', parts: [{ text: 'Say something.' }] }];
  /** It sends this, and is then silent until it is left. */
  const opens = (events: string) => (signal: AbortSignal | undefined) =>
    typed(
      new ReadableStream<Uint8Array>({
        start(controller) {
          if (events !== '') controller.enqueue(new TextEncoder().encode(events));
          signal?.addEventListener('abort', () => controller.error(signal.reason), { once: true });
        },
      }),
      EVENTS,
    );
  const thinks = (signal: AbortSignal | undefined) =>
    new Promise<Response>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  const begun = sse({
    type: 'message_start',
    message: { type: 'message', model: 'golden', content: [], usage: { input_tokens: 77, output_tokens: 1 } },
  });
  const onCreditEverywhere = async () => {
    const tenant = await onCredit();
    await withPricedVendors(tenant);
    return tenant;
  };

  test.each<[string, string, object, (signal: AbortSignal | undefined) => Response | Promise<Response>, number]>([
    ['a message', '/v1/messages', { model: 'anthropic/golden', messages: PROMPT, max_tokens: 900 }, thinks, 900],
    [
      'the stream of a message, once it has begun',
      '/v1/messages',
      { model: 'anthropic/golden', messages: PROMPT, max_tokens: 900, stream: true },
      opens(begun),
      900,
    ],
    [
      'a chat that is translated',
      '/v1/chat/completions',
      { model: 'anthropic/golden', messages: PROMPT, max_tokens: 900 },
      thinks,
      900,
    ],
    [
      'content of Google',
      '/v1beta/models/google/golden:generateContent',
      { contents: CONTENTS, generationConfig: { maxOutputTokens: 900 } },
      thinks,
      900,
    ],
    [
      'a stream of Google',
      '/v1beta/models/google/golden:streamGenerateContent?alt=sse',
      { contents: CONTENTS, generationConfig: { maxOutputTokens: 900 } },
      opens(': waiting\n\n'),
      900,
    ],
    [
      'three answers',
      '/v1/chat/completions',
      { model: 'gpt-5.2', messages: PROMPT, n: 3, max_completion_tokens: 900 },
      thinks,
      2_700,
    ],
    [
      'a response',
      '/v1/responses',
      { model: 'gpt-5.2', input: 'Say something.', max_output_tokens: 900, store: false },
      thinks,
      900,
    ],
  ])('%s costs its bound, because there was time for it', async (_, path, body, vendorAnswers, tokens) => {
    soon();
    const [now, start] = [Date.now.bind(Date), Date.now()];
    vi.spyOn(Date, 'now').mockImplementation(() => Math.floor(start + (now() - start) * FASTER));
    const tenant = await onCreditEverywhere();
    signalled(vendorAnswers);
    const { call, told } = await begin(tenant, 100, body, path);
    expect([call?.status, told.includes('refused')]).toEqual(['FAILED', false]);
    const { usage: used, error, charge } = call?.outcome ?? {};
    expect([error?.code, used?.responseTokens]).toEqual(['CLIENT_LEFT', tokens]);
    expect(used?.inputTokens).toBeGreaterThan(10);
    expect(charge?.amountNanoUsd).toBe(String(((used?.inputTokens ?? 0) + tokens) * 10_000));
    expect((await accountOf(tenant)).wallet.held).toBe('0');
  });
});

describe('figures that make no sense change no other', () => {
  const message = (figures: object) => ({
    type: 'message',
    model: 'claude-sonnet-4-5',
    content: [{ type: 'text', text: 'x' }],
    usage: figures,
  });
  test.each<[string, object, object]>([
    ['no output', message({ input_tokens: 10 }), { inputTokens: 10, unclear: ['responseTokens'] }],
    ['no prompt', message({ output_tokens: 4 }), { responseTokens: 4, unclear: ['inputTokens'] }],
    [
      'a prompt in words',
      message({ input_tokens: 'ten', output_tokens: 4 }),
      { responseTokens: 4, unclear: ['inputTokens'] },
    ],
    [
      'a cache below zero',
      message({ input_tokens: 10, output_tokens: 4, cache_read_input_tokens: -1 }),
      { responseTokens: 4 },
    ],
    [
      'a count of Google beyond all',
      { candidates: [], usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1e12 } },
      { inputTokens: 10, unclear: ['responseTokens'] },
    ],
    [
      'thoughts of Google below zero',
      { candidates: [], usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 4, thoughtsTokenCount: -1 } },
      { inputTokens: 10 },
    ],
  ])('%s', (_, answer, expected) => expect(readUsage(answer)).toMatchObject(expected));

  test.each<[string, object[], number]>([
    ['an empty block of text', [{ type: 'content_block_start', content_block: { type: 'text', text: '' } }], 0],
    ['no block', [], 0],
    [
      'a block of text',
      [
        { type: 'content_block_start', content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', delta: { text: 'I' } },
      ],
      10,
    ],
    ['a call of a tool', [{ type: 'content_block_start', content_block: { type: 'tool_use', name: 'f' } }], 10],
  ])('a refusal after %s is billed by whether there was output', (_, blocks, input) => {
    const stream = new StreamUsage();
    stream.push(
      sse(
        {
          type: 'message_start',
          message: { model: 'claude-sonnet-4-5', usage: { input_tokens: 10, output_tokens: 0 } },
        },
        ...blocks,
        { type: 'message_delta', delta: { stop_reason: 'refusal' }, usage: { output_tokens: 0 } },
        { type: 'message_stop' },
      ),
    );
    expect(stream.usage()?.inputTokens).toBe(input);
  });
});

test('streams of Google have their first event judged too, and JSON is what it is', async () => {
  const tenant = await newTenant();
  await withVendor(tenant, 'google', GOOGLE);
  const path = '/v1beta/models/google/golden:streamGenerateContent?alt=sse';
  const body = { model: undefined, messages: undefined, contents: [{ role: 'user', parts: [{ text: 'x' }] }] };
  const whole = {
    candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 },
  };
  for (const [text, type, status, input] of [
    [JSON.stringify(whole), EVENTS, 200, 10],
    [JSON.stringify([whole]), EVENTS, 200, 10],
    [sse(whole), JSON_TYPE, 200, 10],
    [sse({ error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'no' } }), EVENTS, 429, 0],
    [JSON.stringify([{ error: { code: 503, status: 'UNAVAILABLE', message: 'no' } }]), EVENTS, 503, 0],
  ] as const) {
    vendor.answers = () => typed(text, type);
    const { response, callId, rest } = await ask(tenant.key, body, bindings, path);
    await response.text();
    await rest();
    const call = await readStoredCall(tenant, callId);
    expect([response.status, call?.outcome?.usage.inputTokens]).toEqual([status, input]);
  }
});
