/**
 * Promise: a call whose vendor reported no usage is charged the most that the vendor can have used in its time, and not
 * the usual amount of the payer's own answers; an honest caller who leaves early pays about the received part, and the
 * record names the basis.
 *
 * Time runs twenty times as fast, because a vendor is read on for 25 s after its caller has left.
 */

import { env as bindings, createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { configDatabase } from '../../src/config/database.ts';
import type { Env } from '../../src/env.ts';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import { highestOutputRate } from '../../src/history/output-rates.ts';
import { outputRates } from '../../src/history/schema/index.ts';
import { planOnCredit, TWO_RATES } from '../support/credit-plans.ts';
import { fundedCustomer } from '../support/customer.ts';
import { BASE_URL, newTenant, readStoredCall } from '../support/gateway.ts';
import { operator } from '../support/worker.ts';

const app = createApp();
const env = bindings as unknown as Env;
const FASTER = 20;
/** Shorter waits, such as that for D1, are as long as ever. */
const LONG_MS = 5_000;
const DAY_MS = 86_400_000;

const ON_CREDIT = planOnCredit({ maxOutputTokens: 100_000 });
/** A model whose thoughts do not show, so its streams are not held in steps. */
const THINKER = 'openai/gpt-5.2';
const CATALOG_KEY = 'openai/gpt-5.2-2025-12-11';
const TALKER = 'openai/gpt-4o-mini';

type Vendor = (signal: AbortSignal, body: { model: string }) => Response | Promise<Response>;
let vendor: Vendor;
/** Resolves when the vendor is asked next. */
let whenAsked = Promise.withResolvers<void>();

beforeEach(() => {
  const [now, start, wait] = [Date.now.bind(Date), Date.now(), setTimeout];
  vi.spyOn(Date, 'now').mockImplementation(() => Math.floor(start + (now() - start) * FASTER));
  const faster = (work: () => void, ms = 0) => wait(work, ms < LONG_MS ? ms : ms / FASTER);
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(faster as typeof setTimeout);
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (_url, init) => {
    const { signal, body } = init as { signal: AbortSignal; body: string };
    whenAsked.resolve();
    return vendor(signal, JSON.parse(body));
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await configDatabase(env).delete(outputRates);
});

async function onCredit(baseUrl = BASE_URL) {
  const tenant = await newTenant(ON_CREDIT);
  const of = { org: tenant.organizationId, provider: 'openai' };
  const body = { apiKey: 'sk-test', baseUrl };
  expect((await operator.send('setVendor', { params: of, body })).status).toBe(200);
  for (const modelKey of [THINKER, TALKER]) {
    const params = { org: tenant.organizationId, modelKey };
    expect((await operator.send('setPrice', { params, body: { components: TWO_RATES } })).status).toBe(200);
  }
  return { tenant, customer: await fundedCustomer(tenant, 'default', { usd: '100' }) };
}

type Tenant = Awaited<ReturnType<typeof onCredit>>['tenant'];

/** Waits, in the faster time. */
const pass = (ms: number) => scheduler.wait(ms / FASTER);

/** Sends a request, and leaves after a while, if at all. Returns the record of the call. */
async function recorded(tenant: Tenant, body: object, staysMs?: number, timeoutMs = 600_000) {
  const context = createExecutionContext();
  const caller = new AbortController();
  const headers = { Authorization: `Bearer ${tenant.key}`, 'Content-Type': 'application/json' };
  const messages = [{ role: 'user', content: 'Say something.' }];
  const text = JSON.stringify({ model: THINKER, messages, ...body });
  whenAsked = Promise.withResolvers<void>();
  const asked = app.request(
    '/v1/chat/completions',
    { method: 'POST', headers, body: text, signal: caller.signal },
    { ...env, GATEWAY_TIMEOUT_MS: timeoutMs },
    context,
  );
  if (staysMs !== undefined) {
    await whenAsked.promise;
    await pass(staysMs);
    caller.abort();
  }
  const response = await asked;
  if (staysMs === undefined || response.status !== 200) await response.text().catch(() => undefined);
  await waitOnExecutionContext(context);
  const call = await readStoredCall(tenant, response.headers.get('x-service-call-id') ?? '');
  const { outcome } = call ?? {};
  if (!outcome) throw new Error('the call has ended');
  const { usage, usageSource, outputBasis, charge, error } = outcome;
  const seconds = (outcome.endedAtMs - (call?.startedAtMs ?? 0)) / 1000;
  return { ...usage, usageSource, outputBasis, usd: Number(charge?.amountNanoUsd) / 1e9, code: error?.code, seconds };
}

/** It thinks until it is left. */
const thinks: Vendor = (signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

/** So many words at once, each a token; then it does what the test sets. */
function stream(
  words: number,
  then: (controller: ReadableStreamDefaultController<Uint8Array>) => Promise<void> | void,
) {
  const chunk = (delta: object) =>
    `data: ${JSON.stringify({ id: 's', object: 'chat.completion.chunk', created: 1, model: 'gpt', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(chunk({ content: 'word '.repeat(words) })));
      await then(controller);
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
}
const staysSilent = () => undefined;
const breaksOffAfter = (ms: number) => async (controller: ReadableStreamDefaultController<Uint8Array>) => {
  await pass(ms);
  controller.error(new Error('reset'));
};

/** A whole answer with so many tokens, after a while. */
const answersWith =
  (completion_tokens: number, afterMs: number): Vendor =>
  async (_, { model }) => {
    await pass(afterMs);
    const usage = { prompt_tokens: 10, completion_tokens, total_tokens: 10 + completion_tokens };
    return Response.json({
      id: 'c',
      object: 'chat.completion',
      model,
      choices: [{ index: 0, message: { content: 'hi' } }],
      usage,
    });
  };

const between = (value: number, least: number, most: number) => {
  expect(value).toBeGreaterThanOrEqual(least);
  expect(value).toBeLessThanOrEqual(most);
};

test('a plain call that is left costs its seconds at 500 tokens, and twenty answers of one token before change nothing', async () => {
  const { tenant } = await onCredit();
  vendor = answersWith(1, 0);
  for (let index = 0; index < 20; index += 1) expect(await recorded(tenant, {})).toMatchObject({ responseTokens: 1 });
  vendor = thinks;
  const left = await recorded(tenant, {}, 1_500);
  console.log(`plain call left after 1.5 s: ${left.responseTokens} tokens, $${left.usd}, ${left.seconds} s`);
  expect(left).toMatchObject({ usageSource: 'estimated', outputBasis: 'time', code: 'CLIENT_LEFT' });
  between(left.responseTokens, 25 * 500, Math.ceil(left.seconds * 500));
  // The prompt by its bytes, with a vendor's text around it: some four times our count.
  between(left.inputTokens, 330, 420);
  expect(left.usd).toBeCloseTo((left.inputTokens * 2 + left.responseTokens * 10) / 1e6, 9);
});

test('a stream that is left while its model thinks costs its seconds, at most its bound', async () => {
  const { tenant } = await onCredit();
  vendor = () => stream(0, staysSilent);
  const left = await recorded(tenant, { stream: true }, 1_500);
  console.log(`stream left while it thinks: ${left.responseTokens} tokens, $${left.usd}, ${left.seconds} s`);
  expect(left).toMatchObject({ outputBasis: 'time', code: 'CLIENT_LEFT' });
  between(left.responseTokens, 25 * 500, Math.ceil(left.seconds * 500));
  const bounded = await recorded(tenant, { stream: true, max_completion_tokens: 900 }, 1_500);
  expect(bounded).toMatchObject({ responseTokens: 900, outputBasis: 'bound' });
});

test('an abandoned stream of 300 tokens costs what its vendor reports if it ends in time, else what was held for it', async () => {
  const { tenant } = await onCredit();
  const figures = { prompt_tokens: 12, completion_tokens: 300, total_tokens: 312 };
  const end = { id: 's', object: 'chat.completion.chunk', model: 'gpt', choices: [], usage: figures };
  vendor = () =>
    stream(150, async (controller) => {
      await pass(6_000);
      const stop = { ...end, choices: [{ index: 0, delta: { content: 'word '.repeat(150) }, finish_reason: 'stop' }] };
      const text = `data: ${JSON.stringify({ ...stop, usage: null })}\n\ndata: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`;
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    });
  const read = await recorded(tenant, { model: TALKER, stream: true }, 3_000);
  console.log(`abandoned, its vendor ends: ${read.responseTokens} tokens, $${read.usd}`);
  expect(read).toMatchObject({ inputTokens: 12, responseTokens: 300, usageSource: undefined });
  vendor = () => stream(300, staysSilent);
  const left = await recorded(tenant, { model: TALKER, stream: true }, 3_000);
  console.log(`abandoned, its vendor goes on in silence: ${left.responseTokens} tokens, $${left.usd}`);
  expect(left).toMatchObject({ responseTokens: 1_024, outputBasis: 'held', code: 'CLIENT_LEFT' });
});

test('a vendor that breaks off is charged for what came, or for its time', async () => {
  const { tenant } = await onCredit();
  vendor = () => stream(300, breaksOffAfter(500));
  const soon = await recorded(tenant, { stream: true });
  expect(soon).toMatchObject({ code: 'VENDOR_STREAM_CUT', usageSource: 'estimated' });
  // Our count of 300 words.
  between(soon.responseTokens, 240, Math.max(310, 500 * Math.floor(soon.seconds)));
  vendor = () => stream(300, breaksOffAfter(8_000));
  const late = await recorded(tenant, { stream: true });
  expect(late).toMatchObject({ outputBasis: 'time', code: 'VENDOR_STREAM_CUT', usageSource: 'estimated' });
  between(late.responseTokens, 8 * 500, Math.ceil(late.seconds * 500));
});

test('a vendor that does not answer in time is charged for the time that it had', async () => {
  const { tenant } = await onCredit();
  vendor = thinks;
  const late = await recorded(tenant, {}, undefined, 30_000);
  expect(late).toMatchObject({ code: 'VENDOR_TIMEOUT', usageSource: 'estimated', outputBasis: 'time' });
  // Its time begins once it is asked.
  between(late.responseTokens, 29 * 500, Math.ceil(late.seconds * 500));
});

test('the rate is the highest that any organization was answered at; slow, short and hasty answers and vendors of a tenant’s own tell nothing', async () => {
  const [one, other] = [await onCredit('https://api.openai.com/v1'), await onCredit()];
  const ended = async (answer: Vendor, more = {}, { tenant, customer } = one) => {
    vendor = answer;
    const { seconds } = await recorded(tenant, more);
    await customer.settle();
    return seconds;
  };
  // A tenant's own vendor may report anything.
  await ended(answersWith(2_400, 2_000), {}, other);
  await ended(answersWith(250, 2_000));
  // As from a cache.
  await ended(answersWith(90_000, 2_000));
  await ended(answersWith(900, 0));
  expect(await highestOutputRate(env, CATALOG_KEY, Date.now())).toBeUndefined();
  // Eight answers at a time are not eight times as fast.
  const seconds = await ended(answersWith(8 * 2_400, 20_000), { n: 8 });
  const rate = (await highestOutputRate(env, CATALOG_KEY, Date.now())) ?? 0;
  between(rate, Math.max(100, Math.floor(2_400 / seconds)), 125);
  await ended(answersWith(300, 30_000));
  expect(await highestOutputRate(env, CATALOG_KEY, Date.now()), 'a slow answer').toBe(rate);
  vendor = thinks;
  const left = await recorded(other.tenant, {}, 1_500);
  console.log(`left after 1.5 s, ${rate} tokens a second seen: ${left.responseTokens} tokens, $${left.usd}`);
  expect(left.outputBasis).toBe('time');
  between(left.responseTokens, 25 * rate, Math.ceil(left.seconds * rate));
});

test('rates of days that are not recent any more are forgotten, and a database that is away may have had the highest', async () => {
  const now = Date.now();
  const day = now - (now % DAY_MS);
  const rows = [
    { modelKey: CATALOG_KEY, dayMs: day - 14 * DAY_MS, tokensPerSecond: 4_000 },
    { modelKey: CATALOG_KEY, dayMs: day - 13 * DAY_MS, tokensPerSecond: 300 },
    { modelKey: CATALOG_KEY, dayMs: day, tokensPerSecond: 200 },
  ];
  await configDatabase(env).insert(outputRates).values(rows);
  expect(await highestOutputRate(env, CATALOG_KEY, now)).toBe(300);
  expect(await highestOutputRate(env, TALKER, now)).toBeUndefined();
  await deleteExpired(env, now);
  expect(await configDatabase(env).select().from(outputRates)).toHaveLength(2);
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  const away = {
    prepare: () => {
      throw new Error('D1 is away');
    },
  } as unknown as D1Database;
  expect(await highestOutputRate({ ...env, DB: away }, CATALOG_KEY, now)).toBe(5_000);
});
