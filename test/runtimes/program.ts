/**
 * An application's use of the client library, as a plain program for any runtime. It prints a line of JSON for each
 * check, and exits with 1 if one failed.
 *
 * It is built with `callmeter/client` and the vendors' SDKs as packages that the runtime itself loads.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import express, { type Request as ExpressRequest } from 'express';
import { Hono } from 'hono';
import OpenAI from 'openai';
import { compressPrompt } from '../../src/client/compression.ts';
import { callOf, callPerRequest as expressCalls } from '../../src/client/express.ts';
import { type CallVariables, callPerRequest as honoCalls } from '../../src/client/hono.ts';
import { type Client, type ClientOptions, createClient, isCallmeterError } from '../../src/client/index.ts';
import { createSampler } from '../../src/client/sampling.ts';
import {
  isCallDeniedError,
  modelByTier,
  wrapAnthropic,
  wrapFetch,
  wrapGoogle,
  wrapOpenAI,
} from '../../src/client/vendors.ts';

const { SERVICE_URL = '', LOSSY_URL = '', VENDOR_URL = '', CALLMETER_KEY = '', RUN = '' } = process.env;
const RECORDED_MS_MAX = 20_000;
const POLL_MS = 50;
const MODEL = 'gpt-6-luna';
const QUESTION = 'What is the capital of France?';
const USAGE = { providerUsed: 'openai', modelUsed: MODEL, inputTokens: 1_200, responseTokens: 350 };

const clientAt = (baseUrl: string, options: Partial<ClientOptions> = {}): Client =>
  createClient({ apiKey: CALLMETER_KEY, baseUrl, ...options });
const callmeter = clientAt(SERVICE_URL);
const lossy = clientAt(LOSSY_URL, { retry: { baseDelayMs: 1 } });
const order = (what: 'lose' | 'hang', count: number) => fetch(`${LOSSY_URL}/-/${what}/${count}`, { method: 'PUT' });
/** A customer of this run's own. */
const customer = (name: string) => `${RUN}-${name}`;

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => assert.fail(`it did not fail: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

async function callmeterFailureOf(promise: Promise<unknown>) {
  const error = await failureOf(promise);
  assert.ok(isCallmeterError(error), String(error));
  return error;
}

/** The calls of a customer, when as many are recorded and have ended. */
async function endedCalls(customerId: string, count: number) {
  const giveUpAtMs = Date.now() + RECORDED_MS_MAX;
  for (;;) {
    const { items } = await callmeter.listCalls({ customerId });
    const ended = items.filter(({ status }) => status !== 'IN_PROGRESS');
    if (ended.length === count) return ended;
    if (Date.now() > giveUpAtMs) assert.fail(`${ended.length} of ${items.length} calls have ended, not ${count}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** The customer's only call has ended with that usage. */
async function hasUsage(customerId: string, used: { inputTokens?: number | undefined; output?: number | undefined }) {
  const [call] = await endedCalls(customerId, 1);
  assert.equal(call?.status, 'COMPLETED');
  assert.ok(used.output !== undefined && used.output > 0);
  assert.deepEqual([call.inputTokens, call.responseTokens], [used.inputTokens, used.output]);
}

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const openaiFor = (customerId: string) =>
  wrapOpenAI(new OpenAI({ apiKey: 'any', baseURL: `${VENDOR_URL}/v1`, maxRetries: 0 }), { callmeter, customerId });
const chat = (content: string) => ({ model: MODEL, messages: [{ role: 'user' as const, content }] });

type Checks = Record<string, () => Promise<void>>;

/** These run at the same time. */
const CHECKS: Checks = {
  'a call begins, ends and has its exact price': async () => {
    const outcome = await callmeter.withCall({ customerId: customer('pair'), feature: 'chat' }, (call) => {
      call.setUsage(USAGE);
      return 'the answer';
    });
    assert.ok(!outcome.denied);
    assert.deepEqual([outcome.value, outcome.endError, outcome.ended?.status], ['the answer', null, 'COMPLETED']);
    const { costUSD, status } = await callmeter.readCall({ callId: outcome.begun.callId });
    assert.ok(outcome.ended && outcome.ended.costUSD > 0);
    assert.deepEqual([status, costUSD], ['COMPLETED', outcome.ended.costUSD]);
  },
  'a call that goes out of scope without usage has failed': async () => {
    const customerId = customer('scope');
    {
      await using call = await callmeter.startCall({ customerId });
      assert.ok(call.allowed.standard);
    }
    assert.deepEqual(
      (await endedCalls(customerId, 1)).map(({ status }) => status),
      ['FAILED'],
    );
  },
  'the same key is the same call; with another payload it is a conflict': async () => {
    const idempotencyKey = customer('key');
    const begin = { customerId: customer('idempotent') };
    const first = await callmeter.beginCall(begin, { idempotencyKey });
    assert.equal(first.callId, idempotencyKey);
    assert.deepEqual(await callmeter.beginCall(begin, { idempotencyKey }), first);
    const { code, responseStatus, details } = await callmeterFailureOf(
      callmeter.beginCall({ ...begin, feature: 'other' }, { idempotencyKey }),
    );
    assert.deepEqual([code, responseStatus, details?.code], ['SERVICE_BAD_REQUEST', 409, 'IDEMPOTENCY_KEY_CONFLICT']);
  },
  "OpenAI's SDK is metered": async () => {
    const customerId = customer('openai');
    const { usage } = await openaiFor(customerId).chat.completions.create(chat(QUESTION));
    await hasUsage(customerId, { inputTokens: usage?.prompt_tokens, output: usage?.completion_tokens });
  },
  "a stream of OpenAI's SDK is metered": async () => {
    const customerId = customer('openai-stream');
    const request = { ...chat(QUESTION), stream: true as const, stream_options: { include_usage: true } };
    const chunks = await allOf(await openaiFor(customerId).chat.completions.create(request));
    const usage = chunks.at(-1)?.usage;
    assert.ok(chunks.length > 2);
    await hasUsage(customerId, { inputTokens: usage?.prompt_tokens, output: usage?.completion_tokens });
  },
  'a stream that its reader leaves is metered': async () => {
    const customerId = customer('left');
    const stream = await openaiFor(customerId).chat.completions.create({ ...chat(`long\n${QUESTION}`), stream: true });
    for await (const _chunk of stream) break;
    const [call] = await endedCalls(customerId, 1);
    assert.ok(call && (call.responseTokens ?? 0) > 0, JSON.stringify(call));
  },
  "a stream of Anthropic's SDK is metered": async () => {
    const customerId = customer('anthropic');
    const own = new Anthropic({ apiKey: 'any', baseURL: VENDOR_URL, maxRetries: 0 });
    const anthropic = wrapAnthropic(own, { callmeter, customerId });
    const request = { model: 'claude-haiku-5-5', max_tokens: 200, messages: chat(QUESTION).messages };
    const { usage } = await anthropic.messages.stream(request).finalMessage();
    await hasUsage(customerId, { inputTokens: usage.input_tokens, output: usage.output_tokens });
  },
  "a stream of Google's SDK is metered": async () => {
    const customerId = customer('google');
    const own = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: VENDOR_URL } });
    const google = wrapGoogle(own, { callmeter, customerId });
    const request = { model: 'gemini-3.6-flash', contents: QUESTION };
    const usage = (await allOf(await google.models.generateContentStream(request))).at(-1)?.usageMetadata;
    const output = (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0);
    await hasUsage(customerId, { inputTokens: usage?.promptTokenCount, output });
  },
  'a wrapped fetch is metered': async () => {
    const customerId = customer('fetch');
    const metered = wrapFetch(fetch, { callmeter, customerId });
    const headers = { Authorization: 'Bearer any', 'Content-Type': 'application/json' };
    const body = JSON.stringify({ model: 'text-embedding-3-small', input: QUESTION });
    const response = await metered(`${VENDOR_URL}/v1/embeddings`, { method: 'POST', headers, body });
    const { usage } = (await response.json()) as { usage: { prompt_tokens: number } };
    const [call] = await endedCalls(customerId, 1);
    assert.deepEqual([call?.status, call?.inputTokens], ['COMPLETED', usage.prompt_tokens]);
  },
  'a call that the plan does not allow asks no vendor': async () => {
    const customerId = customer('denied');
    await callmeter.provisionCustomer({ customerId });
    await callmeter.changePlan({ customerId, planId: 'empty' });
    const model = modelByTier({ premium: 'gpt-6-sol', standard: MODEL });
    const error = await failureOf(openaiFor(customerId).chat.completions.create({ ...chat(QUESTION), model }));
    assert.ok(isCallDeniedError(error) && !error.retryable, String(error));
    assert.deepEqual([error.hints.policy, error.allowed.standard], ['BLOCK', false]);
    const outcome = await callmeter.withCall({ customerId }, () => assert.fail('the handler ran'));
    assert.ok(outcome.denied);
  },
  'an abort ends a request to the vendor, and the call has failed': async () => {
    const customerId = customer('aborted');
    const controller = new AbortController();
    const abortingFetch: typeof fetch = (input, init) => {
      setTimeout(() => controller.abort(), 100);
      return fetch(input, init);
    };
    const own = new OpenAI({ apiKey: 'any', baseURL: `${VENDOR_URL}/v1`, maxRetries: 0, fetch: abortingFetch });
    const request = chat(`slow\n${QUESTION}`);
    const openai = wrapOpenAI(own, { callmeter, customerId });
    const asked = openai.chat.completions.create(request, { signal: controller.signal });
    assert.ok((await failureOf(asked)) instanceof OpenAI.APIUserAbortError);
    const [call] = await endedCalls(customerId, 1);
    assert.equal(call?.status, 'FAILED');
  },
  'failures have their code, their status and the field': async () => {
    const stranger = await callmeterFailureOf(
      clientAt(SERVICE_URL, { apiKey: `utk-${'x'.repeat(43)}` }).listCustomers(),
    );
    assert.deepEqual(
      [stranger.code, stranger.responseStatus, stranger.retryable, 'status' in stranger],
      ['SERVICE_AUTH_ERROR', 401, false, false],
    );
    const missing = await callmeterFailureOf(callmeter.readCall({ callId: customer('nowhere') }));
    assert.deepEqual([missing.responseStatus, missing.details?.code], [404, 'CALL_NOT_FOUND']);
    const wrong = await callmeterFailureOf(callmeter.beginCall({ customerId: 'x'.repeat(256) }));
    assert.equal(wrong.details?.details?.[0]?.path, 'customerId');
    const unreachable = clientAt('http://127.0.0.1:9', { retry: { attempts: 2, baseDelayMs: 1 } });
    const away = await callmeterFailureOf(unreachable.beginCall({ customerId: 'alice' }));
    assert.deepEqual([away.code, away.retryable, away.responseStatus], ['SERVICE_NETWORK_ERROR', true, undefined]);
  },
  'the model lookup answers without a key': async () => {
    const anybody = createClient({ baseUrl: SERVICE_URL });
    const { lifecycle, alternatives } = await anybody.lookUpModel('openai/gpt-4o', { purpose: 'retirement' });
    assert.match(lifecycle.status, /^(ACTIVE|DEPRECATED|RETIRED)$/);
    assert.ok(alternatives.length > 0);
    assert.ok((await anybody.discoverModels()).providers.includes('anthropic'));
  },
  'a sample that the policy selects is stored': async () => {
    const sampler = createSampler(callmeter);
    const offer = { customerId: customer('sampled'), provider: 'openai', input: QUESTION, output: 'Paris' };
    const { decision, stored, error } = await sampler.offer({ ...offer, feature: 'chat' });
    assert.deepEqual([decision.reason, typeof stored?.sampleId, error], ['SELECTED', 'string', null]);
    assert.equal((await sampler.decide({ feature: 'private' })).reason, 'FEATURE_EXCLUDED');
  },
  'a prompt is shortened, and its savings are recorded': async () => {
    const orders = JSON.stringify([{ id: 1, city: 'Ulm', cents: 1_999 }], null, 2);
    const prompt = [
      { role: 'user', content: `You are an analyst. Here are the orders:\n\n${orders}\n\nWhich is large?` },
    ];
    await callmeter.withCall({ customerId: customer('compressed') }, async ({ callId }) => {
      const { originalTokens, compressedTokens, recorded } = await compressPrompt(callmeter, { callId, prompt });
      assert.ok(compressedTokens < originalTokens);
      assert.deepEqual([recorded?.callId, recorded?.updated], [callId, true]);
    });
  },
  'a request to a Hono application is a call': async () => {
    const customerId = customer('hono');
    const app = new Hono<{ Variables: CallVariables }>();
    app.use(honoCalls({ callmeter, begin: () => ({ customerId }) }));
    app.get('/', (c) => {
      c.get('call').setUsage(USAGE);
      return c.text('the answer');
    });
    assert.equal(await (await app.request('/')).text(), 'the answer');
    assert.deepEqual(
      (await endedCalls(customerId, 1)).map(({ status }) => status),
      ['COMPLETED'],
    );
  },
  'a request to an Express application is a call, and a wrong key is an error of 500': async () => {
    const stranger = clientAt(SERVICE_URL, { apiKey: `utk-${'x'.repeat(43)}` });
    const begin = (request: ExpressRequest) => ({ customerId: customer(request.path.slice(1)) });
    const app = express();
    app.set('env', 'test');
    app.get('/express', expressCalls({ callmeter, begin }), (_request, response) => {
      callOf(response).setUsage(USAGE);
      response.send('the answer');
    });
    app.get('/wrong', expressCalls({ callmeter: stranger, begin }));
    const server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      assert.equal(await (await fetch(`${url}/express`)).text(), 'the answer');
      const refused = await fetch(`${url}/wrong`);
      await refused.text();
      assert.equal(refused.status, 500);
    } finally {
      server.closeAllConnections();
      server.close();
    }
    const [call] = await endedCalls(customer('express'), 1);
    assert.equal(call?.status, 'COMPLETED');
  },
};

/** These share the connection that fails, and run one after the other. */
const FAILING_CONNECTION: Checks = {
  'answers that are lost are asked for again, and counted once': async () => {
    const customerId = customer('lost');
    await callmeter.provisionCustomer({ customerId });
    await order('lose', 2);
    const outcome = await lossy.withCall({ customerId }, async (call) => {
      await order('lose', 2);
      call.setUsage(USAGE);
    });
    assert.ok(!outcome.denied);
    assert.deepEqual([outcome.ended?.status, outcome.ended?.metered?.calls], ['COMPLETED', 1]);
    const { meters } = await callmeter.readUsage({ customerId });
    assert.equal((meters.standardCalls?.used ?? 0) + (meters.premiumCalls?.used ?? 0), 1);
  },
  'an abort ends a request to the service, with its reason': async () => {
    const reason = new Error('no longer wanted');
    const controller = new AbortController();
    controller.abort(reason);
    const customerId = customer('pair');
    assert.equal(await failureOf(callmeter.readUsage({ customerId }, { signal: controller.signal })), reason);
    const late = new AbortController();
    await order('hang', 1);
    setTimeout(() => late.abort(reason), 100);
    assert.equal(await failureOf(lossy.readUsage({ customerId }, { signal: late.signal })), reason);
  },
  'an answer that does not come in time is asked for again': async () => {
    await order('hang', 1);
    const told: string[] = [];
    const hurried = clientAt(LOSSY_URL, { retry: { baseDelayMs: 1 }, onEvent: ({ type }) => told.push(type) });
    const { alias } = await hurried
      .lookUpModel('openai/gpt-4o', { response: 'light' }, { timeoutMs: 2_000 })
      .then(({ recommendedModelKey }) => ({ alias: recommendedModelKey }));
    assert.deepEqual([told, typeof alias], [['retry'], 'string']);
  },
};

async function passes([name, check]: [string, () => Promise<void>]): Promise<boolean> {
  const startMs = performance.now();
  const problem = await check().then(
    () => null,
    (error: Error) => error.stack ?? String(error),
  );
  console.log(JSON.stringify({ name, ms: Math.round(performance.now() - startMs), problem }));
  return problem === null;
}

const passed = await Promise.all(Object.entries(CHECKS).map(passes));
for (const check of Object.entries(FAILING_CONNECTION)) passed.push(await passes(check));
// A connection that a check left open must not keep the program alive.
process.exit(passed.every(Boolean) ? 0 : 1);
