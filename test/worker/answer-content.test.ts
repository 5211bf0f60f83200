/**
 * Promise: the content of an answer decides its kind, and not its headers: events, JSON, and errors that say 200. An
 * error before any output costs nothing unless it reports usage, and the next model is tried; after output it is a
 * broken stream.
 */
import { describe, expect, test } from 'vitest';
import { ask, BASE_URL, completion, mockVendor, newTenant, readStoredCall, usage, vendor } from '../support/gateway.ts';
import { bindings } from '../support/worker.ts';

mockVendor();

const chunk = (delta: object, more: object = {}) => ({
  object: 'chat.completion.chunk',
  model: 'gpt-5.2',
  choices: [{ index: 0, delta }],
  ...more,
});
const sse = (...events: (object | string)[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
const STREAM = sse(chunk({ content: 'hello' }), { ...chunk({}), choices: [], usage }, '[DONE]');
const WHOLE = JSON.stringify(completion('gpt-5.2'));
const typed = (text: string, type: string | null, status = 200) => {
  const response = new Response(text, { status, headers: type === null ? {} : { 'Content-Type': type } });
  if (type === null) response.headers.delete('Content-Type');
  return response;
};

describe('events and JSON', () => {
  test.each<[string, boolean, string, string | null, string]>([
    ['events where JSON was asked for', false, STREAM, 'application/json', 'text/event-stream'],
    ['events that call themselves text', true, STREAM, 'text/plain', 'text/event-stream'],
    ['events without a type', true, STREAM, null, 'text/event-stream'],
    ['events after a comment', true, `: waiting\n\n${STREAM}`, 'application/octet-stream', 'text/event-stream'],
    ['JSON where events were asked for', true, WHOLE, 'application/json', 'application/json'],
    ['JSON that calls itself events', true, WHOLE, 'text/event-stream', 'application/json'],
    ['JSON that calls itself text', false, WHOLE, 'text/plain', 'application/json'],
    [
      'JSON after white space that keeps the connection',
      false,
      `\n\n   \n${WHOLE}`,
      'application/json',
      'application/json',
    ],
  ])('%s are charged as they report', async (_, stream, text, type, told) => {
    const tenant = await newTenant();
    vendor.answers = () => typed(text, type);
    const { response, callId, rest } = await ask(tenant.key, { stream });
    expect([response.status, response.headers.get('Content-Type')?.startsWith(told)]).toEqual([200, true]);
    await response.text();
    await rest();
    const call = await readStoredCall(tenant, callId);
    expect([call?.status, call?.outcome?.usageSource, call?.outcome?.usage.inputTokens]).toEqual([
      'COMPLETED',
      undefined,
      10,
    ]);
  });

  test('through POST /call the same', async () => {
    const tenant = await newTenant();
    for (const [responseType, text] of [
      ['json', STREAM],
      ['text', WHOLE],
      ['text', STREAM],
    ]) {
      vendor.answers = () => typed(text as string, 'text/plain');
      const asked = { url: `${BASE_URL}/chat/completions`, responseType, body: { model: 'gpt-5.2', messages: [] } };
      const { data } = await tenant.api.send('makeCall', { body: { customerId: 'default', vendor: asked } });
      expect(data.vendor).toMatchObject({ ok: true, status: 200 });
      expect(data.endUsage).toMatchObject({ inputTokens: 10, responseTokens: 4, usageSource: 'reported' });
    }
  });
});

const OVERLOADED = { error: { message: 'the model is overloaded', type: 'overloaded_error', code: 503 } };

describe('an error that says 200, before any output', () => {
  test.each<[string, boolean, string]>([
    ['whole', false, JSON.stringify(OVERLOADED)],
    ["in a choice, as OpenRouter's", false, JSON.stringify({ choices: [{ error: { message: 'no', code: 503 } }] })],
    ['in a list, as Google writes it', false, JSON.stringify([OVERLOADED])],
    ['as the first event', true, sse(OVERLOADED)],
    ['as the first event, after comments', true, `: OPENROUTER PROCESSING\n\n: x\n\n${sse(OVERLOADED)}`],
    ['as an event of its name', true, 'event: error\ndata: {"message":"no","code":503}\n\n'],
    ['whole, where events were asked for', true, JSON.stringify(OVERLOADED)],
  ])('%s is the error of the vendor, is free, and has the next model tried', async (_, stream, text) => {
    const tenant = await newTenant();
    const models: unknown[] = [];
    vendor.answers = (_url, { model }) => {
      models.push(model);
      return typed(text, text.startsWith('{') || text.startsWith('[') ? 'application/json' : 'text/event-stream');
    };
    const alone = await ask(tenant.key, { stream });
    expect(alone.response.status).toBe(503);
    expect(await alone.response.json()).toMatchObject({ error: { message: expect.any(String) } });
    await alone.rest();
    const call = await readStoredCall(tenant, alone.callId);
    expect(call).toMatchObject({ status: 'FAILED', outcome: { usage: { inputTokens: 0, responseTokens: 0 } } });
    expect(call?.outcome?.price).toMatchObject({ status: 'FINAL', costNanoUsd: '0' });
    const first = vendor.answers;
    vendor.answers = (url, body, sent) =>
      body.model === 'gpt-5.2' ? first(url, body, sent) : typed(WHOLE, 'application/json');
    models.length = 0;
    const both = await ask(tenant.key, { model: 'openai/gpt-5.2', models: ['openai/gpt-4o-mini'] });
    expect(both.response.status).toBe(200);
    expect(both.response.headers.get('x-llm-model-key')).toContain('gpt-4o-mini');
  });

  test('is charged if it reports usage', async () => {
    const tenant = await newTenant();
    vendor.answers = () => Response.json({ ...OVERLOADED, model: 'gpt-5.2', usage });
    const { response, callId, rest } = await ask(tenant.key, {});
    expect(response.status).toBe(503);
    await rest();
    expect((await readStoredCall(tenant, callId))?.outcome?.usage).toMatchObject({
      inputTokens: 10,
      responseTokens: 4,
    });
  });

  test('in the middle of events that have no output yet is free too', async () => {
    const tenant = await newTenant();
    vendor.answers = () => typed(sse(chunk({ role: 'assistant', content: '' }), OVERLOADED), 'text/event-stream');
    const { response, callId, rest } = await ask(tenant.key, { stream: true });
    await response.text().catch(() => undefined);
    await rest();
    const call = await readStoredCall(tenant, callId);
    expect([call?.status, call?.outcome?.usage.inputTokens]).toEqual(['FAILED', 0]);
  });

  test.each<[string, string, object]>([
    [
      'a picture of a chat',
      'chat/completions',
      chunk({ images: [{ type: 'image_url', image_url: { url: 'data:' } }] }),
    ],
    ['sound of a chat', 'chat/completions', chunk({ audio: { id: 'a', data: 'AAAA' } })],
    ['sound of a response', 'responses', { type: 'response.audio.delta', delta: 'AAAA' }],
    ['a picture of a response', 'responses', { type: 'response.image_generation_call.partial_image', b64: 'AAAA' }],
    ['an event that nobody knows', 'responses', { type: 'response.hologram.delta', hologram: 'AAAA' }],
    ['an event without a type', 'chat/completions', { hologram: 'AAAA' }],
    [
      'a picture of Google',
      'chat/completions',
      { candidates: [{ content: { parts: [{ inlineData: { data: 'AA' } }] } }] },
    ],
  ])('after %s is charged, though nothing is counted', async (_, path, event) => {
    const tenant = await newTenant();
    vendor.answers = () => typed(sse(event, OVERLOADED), 'text/event-stream');
    const asked = path === 'responses' ? { input: 'x', messages: undefined } : {};
    const { response, callId, rest } = await ask(tenant.key, { stream: true, ...asked }, bindings, `/v1/${path}`);
    expect(response.status).toBe(200);
    await response.text().catch(() => undefined);
    await rest();
    const call = await readStoredCall(tenant, callId);
    expect(call).toMatchObject({ status: 'FAILED', outcome: { usageSource: 'estimated' } });
    expect(call?.outcome?.usage.inputTokens).toBeGreaterThan(0);
    expect(call?.outcome?.price).not.toMatchObject({ costNanoUsd: '0' });
  });

  test('of a response that failed passes as it is, and is free', async () => {
    const tenant = await newTenant();
    const failed = { object: 'response', status: 'failed', error: { code: 'server_error', message: 'no' }, output: [] };
    vendor.answers = () => Response.json(failed);
    const { response, callId, rest } = await ask(
      tenant.key,
      { input: 'x', messages: undefined },
      bindings,
      '/v1/responses',
    );
    expect([response.status, await response.json()]).toEqual([200, failed]);
    await rest();
    expect(await readStoredCall(tenant, callId)).toMatchObject({
      status: 'FAILED',
      outcome: { usage: { inputTokens: 0 } },
    });
  });

  test('through POST /call is a warning, with the status as it came, and free', async () => {
    const tenant = await newTenant();
    for (const text of [JSON.stringify(OVERLOADED), sse(OVERLOADED)]) {
      vendor.answers = () => typed(text, 'application/json');
      const asked = { url: `${BASE_URL}/chat/completions`, body: { model: 'gpt-5.2', messages: [] } };
      const { body } = await tenant.api.send('makeCall', { body: { customerId: 'default', vendor: asked } });
      expect(body).toMatchObject({
        result: { code: 'CALL_VENDOR_WARNING' },
        data: { vendor: { ok: false, status: 200 }, endUsage: { inputTokens: 0, responseTokens: 0 } },
      });
    }
  });
});

test('an error after output is a broken stream, charged for what was shown', async () => {
  const tenant = await newTenant();
  const words = 'one two three four five six seven eight';
  vendor.answers = () => typed(sse(chunk({ content: words }), OVERLOADED), 'text/event-stream');
  const { response, callId, rest } = await ask(tenant.key, { stream: true });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain(words);
  await rest();
  const call = await readStoredCall(tenant, callId);
  expect(call).toMatchObject({ status: 'FAILED', outcome: { usageSource: 'estimated' } });
  expect(call?.outcome?.usage.responseTokens).toBeGreaterThanOrEqual(8);
  expect(call?.outcome?.usage.responseTokens).toBeLessThan(20);
});

test('words beside an answer that look like an error do not make it one', async () => {
  const tenant = await newTenant();
  for (const error of [null, {}, '', false]) {
    vendor.answers = () => Response.json({ ...completion('gpt-5.2'), error });
    const { response, callId, rest } = await ask(tenant.key, {});
    expect(response.status).toBe(200);
    await rest();
    expect((await readStoredCall(tenant, callId))?.status).toBe('COMPLETED');
  }
});
