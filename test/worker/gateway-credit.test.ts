/**
 * Promise: on credit, a request to a model holds the most that it may cost before the vendor is asked, the vendor gets
 * that bound, and nothing is spent beyond the balance.
 */

import { expect, test } from 'vitest';
import { planOnCredit, TWO_RATES } from '../support/credit-plans.ts';
import { type FundedCustomer, fundedCustomer } from '../support/customer.ts';
import { answers, ask, completion, mockVendor, newTenant, readStoredCall, vendor } from '../support/gateway.ts';
import { operator } from '../support/worker.ts';

mockVendor();

/** 2 USD a million tokens in, 10 USD a million out, by the organization's own price; a model whose output all shows. */
const MODEL = 'openai/gpt-4o-mini';
/** Not all of its output shows. */
const THINKER = 'openai/gpt-5.2';
const ON_CREDIT = planOnCredit({ maxOutputTokens: 4_096 });
/** USD of an output token. */
const TOKEN = 10 / 1_000_000;

async function onCredit(usd: string, model = MODEL) {
  const tenant = await newTenant(ON_CREDIT);
  const params = { org: tenant.organizationId, modelKey: model };
  expect((await operator.send('setPrice', { params, body: { components: TWO_RATES } })).status).toBe(200);
  return { tenant, customer: await fundedCustomer(tenant, 'default', { usd }) };
}

/** The hold while the vendor works, and the output bound that it got. */
function watchHold(customer: FundedCustomer): { held: number; sent: unknown } {
  const seen: { held: number; sent: unknown } = { held: 0, sent: undefined };
  vendor.answers = async (_url, body) => {
    seen.held = await readWalletUsd(customer, 'heldUsd');
    seen.sent = body.max_completion_tokens;
    return Response.json(completion(body.model));
  };
  return seen;
}

const readWalletUsd = async (customer: FundedCustomer, of: 'balanceUsd' | 'heldUsd') =>
  Number((await customer.wallet())[of]);

test('the bound is held while the vendor works, and is free when the answer has come', async () => {
  const { tenant, customer } = await onCredit('1');
  const seen = watchHold(customer);
  const { response, callId, rest } = await ask(tenant.key, { model: MODEL });
  await rest();
  expect([response.status, seen.sent, response.headers.get('x-service-max-output-tokens')]).toEqual([
    200,
    4_096,
    '4096',
  ]);
  // The output's bound, and the prompt by its bytes.
  expect(seen.held).toBeGreaterThan(4_096 * TOKEN);
  expect(seen.held).toBeLessThan(4_096 * TOKEN + 0.002);
  expect((await readStoredCall(tenant, callId))?.outcome?.charge?.amountNanoUsd).toBe('60000');
  await customer.settle();
  expect(await customer.wallet()).toMatchObject({ heldUsd: '0', balanceUsd: '0.99994' });
});

test("a request's own lower bound is what is held and sent, for each of its answers", async () => {
  const { tenant, customer } = await onCredit('1');
  const seen = watchHold(customer);
  const { response } = await ask(tenant.key, { model: MODEL, max_completion_tokens: 100, n: 3 });
  expect([seen.sent, response.headers.get('x-service-max-output-tokens')]).toEqual([100, null]);
  expect(seen.held).toBeGreaterThan(300 * TOKEN);
  expect(seen.held).toBeLessThan(300 * TOKEN + 0.002);
});

test('402 says that the balance does not cover the bound; no vendor is asked', async () => {
  const { tenant } = await onCredit('0.02');
  const { response } = await ask(tenant.key, { model: MODEL });
  expect([response.status, response.headers.get('x-should-retry')]).toEqual([402, 'false']);
  expect(await response.json()).toMatchObject({ error: { code: 'CREDIT_REQUIRED', type: 'insufficient_quota' } });
  vendor.answers = answers;
  expect((await ask(tenant.key, { model: MODEL, max_completion_tokens: 1_000 })).response.status).toBe(200);
});

test('429 says that open calls hold the balance; nothing is recorded, and the same key passes when they have ended', async () => {
  const { tenant, customer } = await onCredit('0.06');
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: asked, resolve: begun } = Promise.withResolvers<void>();
  vendor.answers = async (_url, body) => {
    begun();
    await released;
    return Response.json(completion(body.model));
  };
  const first = ask(tenant.key, { model: MODEL });
  await asked;
  const retried = () => ask(tenant.key, { model: MODEL }, undefined, undefined, { 'Idempotency-Key': 'again' });
  const { response } = await retried();
  expect([response.status, response.headers.get('Retry-After'), response.headers.get('x-should-retry')]).toEqual([
    429,
    '1',
    'true',
  ]);
  expect(await response.json()).toMatchObject({ error: { code: 'BALANCE_HELD' } });
  expect((await customer.inspect()).recentCalls).toHaveLength(1);
  release();
  await (await first).rest();
  expect((await retried()).response.status).toBe(200);
});

/** A stream of so many words, each a token, that never says its usage. */
function words(count: number): Response {
  const chunk = (delta: object) =>
    `data: ${JSON.stringify({ id: 's', object: 'chat.completion.chunk', created: 1, model: 'talker', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent === count) controller.close();
      else controller.enqueue(new TextEncoder().encode(chunk({ content: 'word ' })));
      sent += 1;
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
}

/** A stream of so many tokens, with one word shown. */
function thoughts(completion_tokens: number): Response {
  const chunk = { id: 's', object: 'chat.completion.chunk', created: 1, model: 'thinker' };
  const choices = [{ index: 0, delta: { content: 'word' }, finish_reason: 'stop' }];
  const usage = { prompt_tokens: 10, completion_tokens, total_tokens: 10 + completion_tokens };
  const events = [
    { ...chunk, choices },
    { ...chunk, choices: [], usage },
  ].map((event) => JSON.stringify(event));
  const text = [...events, '[DONE]'].map((event) => `data: ${event}\n\n`).join('');
  return new Response(text, { headers: { 'Content-Type': 'text/event-stream' } });
}

test('a stream takes steps while text flows, ends regularly if the balance ends, and is charged what it held at most', async () => {
  // The prompt and some 2,000 tokens.
  const { tenant, customer } = await onCredit('0.02');
  vendor.answers = () => words(4_000);
  const { response, callId, rest } = await ask(tenant.key, { model: MODEL, stream: true });
  expect(response.status).toBe(200);
  const text = await response.text();
  await rest();
  const events = text.split('\n\n').filter((event) => event !== '');
  expect(events.at(-1)).toBe('data: [DONE]');
  expect(JSON.parse((events.at(-2) ?? '').slice(6))).toMatchObject({
    choices: [{ finish_reason: 'length' }],
    service: { code: 'BALANCE_EXHAUSTED' },
  });
  const call = await readStoredCall(tenant, callId);
  expect(call).toMatchObject({ status: 'COMPLETED', outcome: { usageSource: 'estimated', error: null } });
  expect(call?.outcome?.usage.responseTokens).toBeGreaterThan(1_500);
  await customer.settle();
  const left = await readWalletUsd(customer, 'balanceUsd');
  expect(left).toBeGreaterThanOrEqual(0);
  // Less than the smallest step.
  expect(left).toBeLessThan(64 * TOKEN + 0.001);
});

test('a small balance serves many short streams at once', async () => {
  const { tenant, customer } = await onCredit('0.2');
  vendor.answers = () => words(20);
  const asked = await Promise.all(Array.from({ length: 12 }, () => ask(tenant.key, { model: MODEL, stream: true })));
  expect(asked.map(({ response }) => response.status)).toEqual(asked.map(() => 200));
  await Promise.all(asked.map(async ({ response }) => response.text()));
  await Promise.all(asked.map(({ rest }) => rest()));
  await customer.settle();
  expect(await readWalletUsd(customer, 'balanceUsd')).toBeGreaterThan(0.15);
});

test('a stream of a model that thinks has the output that the balance affords, one after the other until less is of use', async () => {
  const { tenant, customer } = await onCredit('0.23', THINKER);
  const sent: number[] = [];
  vendor.answers = (_url, body) => {
    const most = Number(body.max_completion_tokens);
    sent.push(most);
    return thoughts(most);
  };
  const stream = () => ask(tenant.key, { model: THINKER, stream: true });
  let refused: Response | null = null;
  while (!refused && sent.length < 20) {
    const { response, rest } = await stream();
    if (response.status === 200) {
      const told = response.headers.get('x-service-max-output-tokens');
      expect(told).toBe(String(sent.at(-1)));
      await response.text();
      await rest();
      await customer.settle();
    } else refused = response;
  }
  expect([refused?.status, await refused?.json()]).toMatchObject([402, { error: { code: 'CREDIT_REQUIRED' } }]);
  const less = sent.filter((tokens) => tokens < 4_096);
  expect([sent.length - less.length, less.length, sent.every((tokens) => tokens >= 1_280)]).toEqual([5, 1, true]);
  const left = await readWalletUsd(customer, 'balanceUsd');
  expect(left).toBeGreaterThanOrEqual(0);
  expect(left).toBeLessThan(1_280 * TOKEN + 0.002);
  // A whole answer needs its whole bound.
  expect((await customer.grant({ kind: 'USD', amountUsd: '0.03' })).status).toBe(200);
  expect((await ask(tenant.key, { model: THINKER })).response.status).toBe(402);
  expect((await stream()).response.status).toBe(200);
});

test('of hundreds of begins at once, a cent admits one', async () => {
  const { tenant, customer } = await onCredit('0.01');
  const begin = (n: number) =>
    tenant.api.send('beginCall', { body: { customerId: 'default' }, headers: { 'Idempotency-Key': `k-${n}` } });
  const replies = await Promise.all(Array.from({ length: 300 }, (_, n) => begin(n)));
  // After 60 denials in a minute, further ones are refused.
  const begun = replies.flatMap((reply) => (reply.status === 200 ? [reply.data] : []));
  const [admitted, ...denied] = begun.sort((a, b) => Number(b.allowed.standard) - Number(a.allowed.standard));
  expect([admitted?.allowed.standard, denied.some(({ allowed }) => allowed.standard)]).toEqual([true, false]);
  expect(new Set(denied.map(({ denial }) => denial?.code))).toEqual(new Set(['BALANCE_HELD']));
  expect(await readWalletUsd(customer, 'heldUsd')).toBe(0.01);
});

test('a begin with an estimate holds what its model may cost, and says that it is denied if credit does not cover it', async () => {
  const { tenant, customer } = await onCredit('0.05');
  const begin = async (estimate: object, key: string) =>
    (
      await tenant.api.send('beginCall', {
        body: { customerId: 'default', requested: { premium: true }, estimate },
        headers: { 'Idempotency-Key': key },
      })
    ).data;
  const first = await begin({ model: MODEL, inputTokens: 1_000, maxOutputTokens: 500 }, 'first');
  expect([first.allowed.premium, first.denial]).toEqual([true, undefined]);
  expect(first.vendorHints).toMatchObject({ maxResponseTokens: 500 });
  expect(await readWalletUsd(customer, 'heldUsd')).toBeCloseTo(0.007, 6);
  const second = await begin({ model: MODEL, inputTokens: 20_000, maxOutputTokens: 4_096 }, 'second');
  expect(second).toMatchObject({
    allowed: { premium: false },
    denial: { code: 'CREDIT_REQUIRED', meter: 'premiumCalls' },
  });
});

test.each([
  ['prompt_tokens', 'inputTokens', false],
  ['prompt_tokens', 'inputTokens', true],
  ['completion_tokens', 'responseTokens', false],
  ['completion_tokens', 'responseTokens', true],
] as const)(
  '%s that makes no sense cost their bound (%s, stream: %s), within what was held',
  async (name, figure, stream) => {
    const { tenant, customer } = await onCredit('1');
    const usage = { prompt_tokens: 10, completion_tokens: 4, [name]: 'many' };
    vendor.answers = (_url, { model }) => {
      const chunk = { object: 'chat.completion.chunk', model };
      const choices = [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }];
      const events = `data: ${JSON.stringify({ ...chunk, choices, usage })}\n\ndata: [DONE]\n\n`;
      return stream
        ? new Response(events, { headers: { 'Content-Type': 'text/event-stream' } })
        : Response.json({ ...completion(model), usage });
    };
    const { response, callId, rest } = await ask(tenant.key, { model: MODEL, max_completion_tokens: 300, stream });
    await response.text();
    await rest();
    const call = await readStoredCall(tenant, callId);
    const { usage: recorded, charge, unclear } = call?.outcome ?? {};
    expect(unclear).toEqual([figure]);
    const other = figure === 'inputTokens' ? { responseTokens: 4 } : { inputTokens: 10, responseTokens: 300 };
    expect(recorded).toMatchObject(other);
    const nanoUsd = BigInt(charge?.amountNanoUsd ?? -1);
    expect(nanoUsd).toBe(BigInt((recorded?.inputTokens ?? 0) * 2_000 + (recorded?.responseTokens ?? 0) * 10_000));
    expect(nanoUsd).toBeGreaterThan(10n * 2_000n);
    expect(nanoUsd).toBeLessThanOrEqual(BigInt(call?.credit?.heldAtEndNanoUsd ?? 0));
    await customer.settle();
    expect((await customer.wallet()).heldUsd).toBe('0');
  },
);
